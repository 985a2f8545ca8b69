"""Weighted means and scatters that can be merged."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real

import numpy as np

from . import heuristics as strategy
from .sources import ChangedChunkError, Chunk


@dataclass(frozen=True, eq=False)
class Moments:
    """Of some rows.

    Attributes
    ----------
    rows : int
    total : float
        Sum of the weights.
    mean, low, high : ndarrays of shape (d,)
        Weighted mean, smallest and largest entry of every column.
    scatter : ndarray of shape (d, d) or (d,)
        About the mean; the diagonal alone where no more was asked for.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0], [1.0], [5.0]])
    >>> both = Moments.of(X[:1], np.ones(1)).merged(Moments.of(X[1:], np.ones(2)))
    >>> both.mean.tolist(), both.scatter.tolist()
    ([2.0], [[14.0]])
    """

    rows: int
    total: float
    mean: np.ndarray
    scatter: np.ndarray
    low: np.ndarray
    high: np.ndarray

    @classmethod
    def of(cls, X: np.ndarray, weight: np.ndarray, *, full: bool = True) -> Moments:
        total = weight.sum()
        mean = weight @ X / total
        Z = X - mean
        if not full:
            scatter = weight @ Z**2
        elif (weight == 1.0).all():
            scatter = Z.T @ Z
        else:
            scatter = (Z.T * weight) @ Z
        return cls(len(X), float(total), mean, scatter, X.min(axis=0), X.max(axis=0))

    def merged(self, other: Moments) -> Moments:
        """Of both [1]_.

        References
        ----------
        .. [1] T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance: analysis and
           recommendations", The American Statistician 37 (1983).
        """
        total = self.total + other.total
        step = other.mean - self.mean
        between = np.outer(step, step) if self.scatter.ndim == 2 else step**2
        return Moments(
            self.rows + other.rows,
            total,
            self.mean + step * (other.total / total),
            self.scatter + other.scatter + between * (self.total * other.total / total),
            np.minimum(self.low, other.low),
            np.maximum(self.high, other.high),
        )

    def weighted(self, factor: float) -> Moments:
        """With all weights multiplied."""
        return Moments(self.rows, factor * self.total, self.mean, factor * self.scatter, self.low, self.high)

    def trimmed(self) -> Moments:
        """With exact zeros for columns that hold one value only, so that nobody divides by their rounding errors."""
        scatter, constant = self.scatter.copy(), self.low == self.high
        scatter[constant] = 0.0
        if scatter.ndim == 2:
            scatter[:, constant] = 0.0
        return Moments(self.rows, self.total, self.mean, scatter, self.low, self.high)


# -- A random sample of rows that chunks draw without knowing of each other -------------------------------------------


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_CHUNK = np.uint64(40)  # bits for the rows of a chunk


def keys(index: int, places: np.ndarray) -> np.ndarray:
    """Numbers in [0, 1) for rows of a chunk, which look random and are always the same (splitmix64)."""
    state = ((np.uint64(index) << _CHUNK) + places.astype(np.uint64) + np.uint64(1)) * _STEP
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return (state ^ (state >> np.uint64(31))) / 2.0**64


@dataclass(frozen=True, eq=False)
class Sample:
    """Every row of some chunks whose key is below a threshold: a sample without replacement, at the threshold's rate.

    Attributes
    ----------
    X : ndarray of shape (m, d)
    weight, keys : ndarrays of shape (m,)
    threshold : float
        1.0 where all rows are here.
    """

    X: np.ndarray
    weight: np.ndarray
    keys: np.ndarray
    threshold: float = 1.0

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, parts: list, threshold: float) -> Sample:
        """Of (X, weight, keys) of some blocks, whose keys are all below a threshold."""
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)), threshold)

    def below(self, threshold: float) -> Sample:
        if threshold >= self.threshold:
            return self
        kept = np.flatnonzero(self.keys < threshold)
        return Sample(self.X[kept], self.weight[kept], self.keys[kept], threshold)

    def cut(self, most: int) -> Sample:
        """At most so many rows, those of the smallest keys."""
        return self if len(self) <= most else self.below(float(np.partition(self.keys, most)[most]))

    def merged(self, other: Sample, most: int) -> Sample:
        threshold = min(self.threshold, other.threshold)
        parts = [(part.X, part.weight, part.keys) for part in (self.below(threshold), other.below(threshold))]
        return Sample.of(parts, threshold).cut(most)


# -- The first pass: classes, moments, a sample, and what every chunk looked like -------------------------------------


@dataclass(frozen=True)
class FirstPass:
    """What the first pass does with a chunk.

    Parameters
    ----------
    sample_rows : int
        Most rows to sample, of all classes together.
    share : float, default=inf
        Most rows to sample of a chunk, over those that it has.
    full : bool, default=True
        Whether scatter matrices are needed, or variances only.
    """

    sample_rows: int
    share: float = np.inf
    full: bool = True

    def __call__(self, chunk: Chunk) -> DataSummary:
        labels, counts = chunk.labels()
        most = min(self.sample_rows, self.share * len(chunk.y) + strategy.BALANCE) / max(1, len(labels))
        rates = np.minimum(1.0, strategy.SPARE * most / counts)
        names, number = names_of(labels), 0
        moments, drawn = {}, {code: [] for code in range(len(labels))}
        for block in chunk.blocks(labels):
            number = (number + block.fingerprint(names)) % 2**64
            found = keys(chunk.index, block.places)
            for code in range(len(labels)):
                rows = np.flatnonzero(block.codes == code)
                if not len(rows):
                    continue
                part = self._moments(chunk, block.X[rows], block.weight[rows])
                moments[code] = moments[code].merged(part) if code in moments else part
                rows = rows[found[rows] < rates[code]]
                drawn[code].append((block.X[rows], block.weight[rows], found[rows]))
        seen = {
            _plain(labels[code]): ClassSummary(part, Sample.of(drawn[code], float(rates[code])))
            for code, part in moments.items()
        }
        dtype = labels.dtype if seen else None
        return DataSummary(seen, {chunk.index: number}, chunk.X.shape[1], self.sample_rows, dtype).thinned()

    def _moments(self, chunk, X, weight):
        with np.errstate(over="ignore", invalid="ignore"):
            found = Moments.of(X, weight, full=self.full)
        if not np.isfinite(found.scatter).all():
            what = "NaN or infinity" if not np.isfinite(X).all() else "values so large that their squares overflow"
            raise ValueError(f"chunk {chunk.index}: X contains {what}.")
        return found


@dataclass(frozen=True, eq=False)
class ClassSummary:
    """Moments and sample of one class."""

    moments: Moments
    sample: Sample

    def merged(self, other: ClassSummary, most: int) -> ClassSummary:
        return ClassSummary(self.moments.merged(other.moments), self.sample.merged(other.sample, most))


@dataclass(frozen=True, eq=False)
class DataSummary:
    """What the first pass found.

    Attributes
    ----------
    seen : dict of label to ClassSummary
    fingerprints : dict of number of the chunk to its fingerprint
    n_features : int
    sample_rows : int
        Most rows of the sample, shared equally among the classes, so that rare ones are not missed.
    dtype : dtype or None
        Of the labels.
    """

    seen: dict
    fingerprints: dict
    n_features: int
    sample_rows: int
    dtype: np.dtype | None = None

    def merged(self, other: DataSummary) -> DataSummary:
        empty = [not part.seen for part in (self, other)]
        if not any(empty) and self.n_features != other.n_features:
            raise ValueError(
                f"chunks {min(self.fingerprints)} and {min(other.fingerprints)} differ in their number of columns: "
                f"{self.n_features} and {other.n_features}."
            )
        most = self.sample_rows // max(1, len({*self.seen, *other.seen}))
        seen = dict(self.seen)
        for label, part in other.seen.items():
            seen[label] = seen[label].merged(part, most) if label in seen else part
        dtypes = [part.dtype for part in (self, other) if part.dtype is not None]
        dtype = np.result_type(*dtypes) if dtypes else None
        width = other.n_features if empty[0] else self.n_features
        return replace(
            self, seen=seen, fingerprints=self.fingerprints | other.fingerprints, n_features=width, dtype=dtype
        ).thinned()

    def thinned(self) -> DataSummary:
        """With as many sampled rows of every class as its share."""
        return self.cut(self.sample_rows // max(1, len(self.seen)))

    def cut(self, most: int) -> DataSummary:
        """With at most so many sampled rows of every class."""
        return replace(self, seen={k: replace(v, sample=v.sample.cut(most)) for k, v in self.seen.items()})

    @property
    def classes(self) -> np.ndarray:
        """The labels, sorted."""
        try:
            found = sorted(self.seen)
        except TypeError:
            raise ValueError(f"y mixes kinds of labels that have no order: {list(self.seen)[:5]}.") from None
        return np.array(found, dtype=self.dtype)

    @property
    def rows(self) -> int:
        return sum(part.moments.rows for part in self.seen.values())

    def of_class(self, label) -> ClassSummary:
        return self.seen[_plain(label)]

    def moments(self) -> list[Moments]:
        """One for each class."""
        return [self.of_class(label).moments for label in self.classes]

    def samples(self) -> list[Sample]:
        return [self.of_class(label).sample for label in self.classes]

    def pooled(self, factors: np.ndarray) -> Moments:
        """Of all rows, those of every class weighted by a factor."""
        parts = [part.weighted(f) for part, f in zip(self.moments(), factors, strict=True)]
        return reduce(Moments.merged, parts).trimmed()

    def within(self, factors: np.ndarray) -> np.ndarray:
        """The pooled within-class scatter."""
        return sum(part.weighted(f).trimmed().scatter for part, f in zip(self.moments(), factors, strict=True))

    def check(self, fingerprints: dict):
        """Raise a ChangedChunkError unless a later pass has read the same rows."""
        for index in self.fingerprints.keys() | fingerprints.keys():
            if self.fingerprints.get(index) != fingerprints.get(index):
                raise ChangedChunkError(
                    f"chunk {index} gave other rows than when it was first read. A fit reads the data several times, and "
                    "certifies nothing about data that change: store them first (persist, to_parquet, to_zarr), or fix "
                    "the seed of what draws them."
                )


def names_of(labels: np.ndarray) -> np.ndarray:
    """A number for each label, which does not depend on the other labels, their type, the process or the machine."""
    plain = [_plain(label) for label in labels]
    texts = [repr(float(label) if isinstance(label, Real) else label) for label in plain]
    return np.array([zlib.crc32(text.encode()) for text in texts], dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _plain(label):
    """A label as Python's own number or text."""
    return label.item() if hasattr(label, "item") else label


# -- A triangular factor of the rows, for data whose scatter has lost its smallest directions to rounding -------------


@dataclass(frozen=True, eq=False)
class Factorise:
    """What a pass does with a chunk to have the factor of the scatter, total or within groups of classes.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    factors : ndarray of shape (n_classes,)
        Weights of the classes.
    groups : ndarray of shape (n_classes,)
        Number of the group that a class belongs to: each has a mean of its own.
    means : ndarray of shape (n_groups, d)
        About which rows are taken before anything else; they need not be exact.
    """

    classes: np.ndarray
    factors: np.ndarray
    groups: np.ndarray
    means: np.ndarray

    def __call__(self, chunk: Chunk) -> Factor:
        groups, d = self.means.shape
        names, number, R = names_of(self.classes), 0, np.empty((0, groups + d))
        for block in chunk.blocks(self.classes):
            number = (number + block.fingerprint(names)) % 2**64
            own = self.groups[block.codes]
            root = np.sqrt(block.weight * self.factors[block.codes])[:, None]
            # What columns of ones take out in front is what the means are off by.
            rows = np.hstack([np.eye(groups)[own], block.X - self.means[own]])
            R = np.linalg.qr(np.vstack([R, root * rows]), mode="r")
        return Factor(R, {chunk.index: number})


@dataclass(frozen=True, eq=False)
class Factor:
    """Of some chunks: the last rows and columns of R are a factor of their scatter."""

    R: np.ndarray
    fingerprints: dict

    def merged(self, other: Factor) -> Factor:
        R = np.linalg.qr(np.vstack([self.R, other.R]), mode="r")
        return Factor(R, self.fingerprints | other.fingerprints)


def row_factor(source, overview, factors: np.ndarray, *, within: bool = False) -> np.ndarray:
    """A of at most d rows, of which ``A'A`` is the scatter of all rows, or that within the classes: one pass."""
    K = len(overview.classes)
    groups = np.arange(K) if within else np.zeros(K, dtype=int)
    means = [part.mean for part in overview.moments()] if within else [overview.pooled(factors).mean]
    found = source.reduce(Factorise(overview.classes, factors, groups, np.array(means)), "row-factor")
    overview.check(found.fingerprints)
    return found.R[len(means) :, len(means) :]


__all__ = [
    "ClassSummary",
    "DataSummary",
    "Factor",
    "Factorise",
    "FirstPass",
    "Moments",
    "Sample",
    "keys",
    "names_of",
    "row_factor",
]
