"""The first pass over the chunks: classes, moments, a random sample, and a fingerprint of every chunk.

In order: mergeable moments, a mergeable sample, the summary of a chunk and of all data, and a triangular factor of the rows
for data whose scatter matrix has lost its smallest directions to rounding (a pass of its own).
"""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real
from typing import Any

import numpy as np

from . import heuristics
from .sources import ChangedChunkError, Chunk, ChunkSource


@dataclass(frozen=True, eq=False)
class Moments:
    """Weighted mean, scatter and range of a set of rows.

    Attributes
    ----------
    rows : int
    total : float
        Sum of the weights.
    mean, low, high : ndarrays of shape (d,)
        Weighted mean, smallest and largest entry of every column.
    scatter : ndarray of shape (d, d) or (d,)
        Scatter about the mean, or its diagonal only.

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
        """Compute the moments of rows; with the diagonal of the scatter only unless `full`."""
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
        """Merge the moments of two disjoint sets of rows [1]_.

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
        """Multiply all weights by a factor."""
        return Moments(self.rows, factor * self.total, self.mean, factor * self.scatter, self.low, self.high)

    def trimmed(self) -> Moments:
        """Set the scatter of constant columns to exact zeros, so that nobody divides by their rounding errors."""
        scatter, constant = self.scatter.copy(), self.low == self.high
        scatter[constant] = 0.0
        if scatter.ndim == 2:
            scatter[:, constant] = 0.0
        return Moments(self.rows, self.total, self.mean, scatter, self.low, self.high)


# -- A random sample that every chunk draws on its own ----------------------------------------------------------------


_STEP = np.uint64(0x9E3779B97F4A7C15)
_FIRST, _SECOND = np.uint64(0xBF58476D1CE4E5B9), np.uint64(0x94D049BB133111EB)
_CHUNK = np.uint64(40)  # bits for the rows of a chunk


def keys(index: int, places: np.ndarray) -> np.ndarray:
    """Deterministic pseudo-random numbers in [0, 1) for rows of a chunk (splitmix64)."""
    state = ((np.uint64(index) << _CHUNK) + places.astype(np.uint64) + np.uint64(1)) * _STEP
    state = (state ^ (state >> np.uint64(30))) * _FIRST
    state = (state ^ (state >> np.uint64(27))) * _SECOND
    return (state ^ (state >> np.uint64(31))) / 2.0**64


@dataclass(frozen=True, eq=False)
class Sample:
    """All rows of some chunks whose key is below a threshold: a sample without replacement, whose rate is the threshold.

    Attributes
    ----------
    X : ndarray of shape (m, d)
    weight, keys : ndarrays of shape (m,)
    threshold : float
        1.0 if the sample holds all rows.
    """

    X: np.ndarray
    weight: np.ndarray
    keys: np.ndarray
    threshold: float = 1.0

    def __len__(self) -> int:
        return len(self.keys)

    @classmethod
    def of(cls, parts: list, threshold: float) -> Sample:
        """Join (X, weight, keys) of some blocks, whose keys are all below a threshold."""
        X, weight, keys = (np.concatenate(columns) for columns in zip(*parts, strict=True))
        return cls(X, weight, keys, threshold)

    def below(self, threshold: float) -> Sample:
        """Lower the threshold, which drops rows."""
        if threshold >= self.threshold:
            return self
        kept = np.flatnonzero(self.keys < threshold)
        return Sample(self.X[kept], self.weight[kept], self.keys[kept], threshold)

    def cut(self, most: int) -> Sample:
        """Keep at most `most` rows, those of the smallest keys."""
        return self if len(self) <= most else self.below(float(np.partition(self.keys, most)[most]))

    def merged(self, other: Sample, most: int) -> Sample:
        """Join two samples at the lower threshold, and keep at most `most` rows."""
        threshold = min(self.threshold, other.threshold)
        parts = [(part.X, part.weight, part.keys) for part in (self.below(threshold), other.below(threshold))]
        return Sample.of(parts, threshold).cut(most)


# -- The first pass ---------------------------------------------------------------------------------------------------


@dataclass(frozen=True)
class FirstPass:
    """Task of the first pass: summarise a chunk.

    Parameters
    ----------
    sample_rows : int
        Most rows to sample, of all classes together.
    share : float, default=inf
        Largest fraction of a chunk's rows to sample.
    full : bool, default=True
        Compute scatter matrices, not only variances.
    """

    sample_rows: int
    share: float = np.inf
    full: bool = True

    def __call__(self, chunk: Chunk) -> DataSummary:
        labels, counts = chunk.labels()
        most = min(self.sample_rows, self.share * len(chunk.y) + heuristics.MIN_CHUNK_ROWS) / max(1, len(labels))
        rates = np.minimum(1.0, heuristics.OVERSAMPLING * most / counts)
        names, fingerprint = names_of(labels), 0
        moments: dict[int, Moments] = {}
        drawn: dict[int, list] = {code: [] for code in range(len(labels))}
        for block in chunk.blocks(labels):
            fingerprint = (fingerprint + block.fingerprint(names)) % 2**64
            block_keys = keys(chunk.index, block.places)
            for code in range(len(labels)):
                rows = np.flatnonzero(block.codes == code)
                if not len(rows):
                    continue
                part = self._moments(chunk, block.X[rows], block.weight[rows])
                moments[code] = moments[code].merged(part) if code in moments else part
                rows = rows[block_keys[rows] < rates[code]]
                drawn[code].append((block.X[rows], block.weight[rows], block_keys[rows]))
        by_class = {
            _plain(labels[code]): ClassSummary(part, Sample.of(drawn[code], float(rates[code])))
            for code, part in moments.items()
        }
        dtype = labels.dtype if by_class else None
        return DataSummary(by_class, {chunk.index: fingerprint}, chunk.n_features, self.sample_rows, dtype).thinned()

    def _moments(self, chunk, X, weight):
        with np.errstate(over="ignore", invalid="ignore"):
            moments = Moments.of(X, weight, full=self.full)
        if not np.isfinite(moments.scatter).all():
            what = "NaN or infinity" if not np.isfinite(X).all() else "values so large that their squares overflow"
            raise ValueError(f"chunk {chunk.index}: X contains {what}.")
        return moments


@dataclass(frozen=True, eq=False)
class ClassSummary:
    """Moments and sample of one class."""

    moments: Moments
    sample: Sample

    def merged(self, other: ClassSummary, most: int) -> ClassSummary:
        return ClassSummary(self.moments.merged(other.moments), self.sample.merged(other.sample, most))


@dataclass(frozen=True, eq=False)
class DataSummary:
    """Result of the first pass.

    Attributes
    ----------
    by_class : dict of label to ClassSummary
    fingerprints : dict of chunk number to fingerprint
    n_features : int
    sample_rows : int
        Most rows of the sample. Classes have equal shares, so that rare ones are not missed.
    dtype : dtype or None
        Type of the labels.
    """

    by_class: dict
    fingerprints: dict
    n_features: int
    sample_rows: int
    dtype: np.dtype | None = None

    def merged(self, other: DataSummary) -> DataSummary:
        """Combine with the summary of later chunks."""
        empty = [not part.by_class for part in (self, other)]
        if not any(empty) and self.n_features != other.n_features:
            raise ValueError(
                f"chunks {min(self.fingerprints)} and {min(other.fingerprints)} differ in their number of columns: "
                f"{self.n_features} and {other.n_features}."
            )
        most = self.sample_rows // max(1, len({*self.by_class, *other.by_class}))
        by_class = dict(self.by_class)
        for label, part in other.by_class.items():
            by_class[label] = by_class[label].merged(part, most) if label in by_class else part
        dtypes = [part.dtype for part in (self, other) if part.dtype is not None]
        dtype = np.result_type(*dtypes) if dtypes else None
        width = other.n_features if empty[0] else self.n_features
        return replace(
            self, by_class=by_class, fingerprints=self.fingerprints | other.fingerprints, n_features=width, dtype=dtype
        ).thinned()

    def thinned(self) -> DataSummary:
        """Reduce the sample of every class to its share of `sample_rows`."""
        return self.cut(self.sample_rows // max(1, len(self.by_class)))

    def cut(self, most: int) -> DataSummary:
        """Keep at most `most` sampled rows of every class."""
        return replace(self, by_class={k: replace(v, sample=v.sample.cut(most)) for k, v in self.by_class.items()})

    @property
    def classes(self) -> np.ndarray:
        """Sorted labels."""
        try:
            labels = sorted(self.by_class)
        except TypeError:
            raise ValueError(
                f"y mixes labels of types that cannot be sorted together: {list(self.by_class)[:5]}."
            ) from None
        return np.array(labels, dtype=self.dtype)

    @property
    def rows(self) -> int:
        """Number of rows of positive weight."""
        return sum(part.moments.rows for part in self.by_class.values())

    def moments(self) -> list[Moments]:
        """Moments of each class, in the order of `classes`."""
        return [self.by_class[_plain(label)].moments for label in self.classes]

    def samples(self) -> list[Sample]:
        """Sample of each class, in the order of `classes`."""
        return [self.by_class[_plain(label)].sample for label in self.classes]

    def pooled(self, factors: np.ndarray) -> Moments:
        """Moments of all rows, with a factor on the weights of each class."""
        parts = [part.weighted(f) for part, f in zip(self.moments(), factors, strict=True)]
        return reduce(Moments.merged, parts).trimmed()

    def within(self, factors: np.ndarray) -> np.ndarray:
        """Pooled within-class scatter, with a factor on the weights of each class."""
        parts = [part.weighted(f).trimmed().scatter for part, f in zip(self.moments(), factors, strict=True)]
        return np.sum(parts, axis=0)

    def check(self, fingerprints: dict):
        """Raise a ChangedChunkError unless a later pass has read the same rows."""
        for index in self.fingerprints.keys() | fingerprints.keys():
            if self.fingerprints.get(index) != fingerprints.get(index):
                raise ChangedChunkError(
                    f"chunk {index} has other rows than when it was first read. A fit reads the data several times and "
                    "cannot certify a result for data that change: store them first (persist, to_parquet, to_zarr), or "
                    "fix the seed of the function that generates them."
                )


def names_of(labels: np.ndarray) -> np.ndarray:
    """Odd number for each label; it does not depend on the other labels, their type, the process or the machine."""
    plain = [_plain(label) for label in labels]
    texts = [repr(float(label) if isinstance(label, Real) else label) for label in plain]
    return np.array([zlib.crc32(text.encode()) for text in texts], dtype=np.uint64) * np.uint64(2) + np.uint64(1)


def _plain(label):
    """Convert a NumPy scalar to Python's own type."""
    return label.item() if hasattr(label, "item") else label


# -- A triangular factor of the rows ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Factorise:
    """Task of a pass: QR factor of a chunk's centred rows, whose product with itself is the scatter.

    Parameters
    ----------
    classes : ndarray of shape (n_classes,)
    factors : ndarray of shape (n_classes,)
        Weights of the classes.
    groups : ndarray of shape (n_classes,)
        Group of each class. Every group has a mean of its own: one group for the total scatter, one per class for that
        within classes.
    means : ndarray of shape (n_groups, d)
        Approximate means, subtracted first; the factorisation removes what they are off by.
    """

    classes: np.ndarray
    factors: np.ndarray
    groups: np.ndarray
    means: np.ndarray

    def __call__(self, chunk: Chunk) -> Factor:
        groups, d = self.means.shape
        names, fingerprint, R = names_of(self.classes), 0, np.empty((0, groups + d))
        for block in chunk.blocks(self.classes):
            fingerprint = (fingerprint + block.fingerprint(names)) % 2**64
            group = self.groups[block.codes]
            root = np.sqrt(block.weight * self.factors[block.codes])[:, None]
            # Eliminating the columns of ones in front removes the errors of the means.
            rows = np.hstack([np.eye(groups)[group], block.X - self.means[group]])
            R = _triangular(R, root * rows)
        return Factor(R, {chunk.index: fingerprint})


@dataclass(frozen=True, eq=False)
class Factor:
    """QR factor of some chunks. The last d rows and columns of R are a factor of their scatter."""

    R: np.ndarray
    fingerprints: dict

    def merged(self, other: Factor) -> Factor:
        """Combine with the factor of later chunks."""
        return Factor(_triangular(self.R, other.R), self.fingerprints | other.fingerprints)


def _triangular(*rows) -> np.ndarray:
    """R of the QR factorisation of stacked rows."""
    R: Any = np.linalg.qr(np.vstack(rows), mode="r")  # NumPy declares another type
    return R


def row_factor(source: ChunkSource, summary: DataSummary, factors: np.ndarray, *, within: bool = False) -> np.ndarray:
    """Compute A of at most d rows such that ``A'A`` is the total or the within-class scatter, in one pass."""
    K = len(summary.classes)
    groups = np.arange(K) if within else np.zeros(K, dtype=int)
    means = [part.mean for part in summary.moments()] if within else [summary.pooled(factors).mean]
    factor = source.reduce(Factorise(summary.classes, factors, groups, np.array(means)), "row-factor")
    summary.check(factor.fingerprints)
    return factor.R[len(means) :, len(means) :]


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
