"""The first pass: classes, moments, a sample, and what every chunk looked like."""

from __future__ import annotations

import zlib
from dataclasses import dataclass, replace
from functools import reduce
from numbers import Real

import numpy as np

from . import strategy
from .chunk import ChangedChunkError, Chunk
from .moments import Moments
from .sample import Sample, keys


@dataclass(frozen=True)
class Look:
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

    def __call__(self, chunk: Chunk) -> Overview:
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
            _plain(labels[code]): ClassOverview(part, Sample.of(drawn[code], float(rates[code])))
            for code, part in moments.items()
        }
        dtype = labels.dtype if seen else None
        return Overview(seen, {chunk.index: number}, chunk.X.shape[1], self.sample_rows, dtype).thinned()

    def _moments(self, chunk, X, weight):
        with np.errstate(over="ignore", invalid="ignore"):
            found = Moments.of(X, weight, full=self.full)
        if not np.isfinite(found.scatter).all():
            what = "NaN or infinity" if not np.isfinite(X).all() else "values so large that their squares overflow"
            raise ValueError(f"chunk {chunk.index}: X contains {what}.")
        return found


@dataclass(frozen=True, eq=False)
class ClassOverview:
    """Moments and sample of one class."""

    moments: Moments
    sample: Sample

    def merged(self, other: ClassOverview, most: int) -> ClassOverview:
        return ClassOverview(self.moments.merged(other.moments), self.sample.merged(other.sample, most))


@dataclass(frozen=True, eq=False)
class Overview:
    """What the first pass found.

    Attributes
    ----------
    seen : dict of label to ClassOverview
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

    def merged(self, other: Overview) -> Overview:
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

    def thinned(self) -> Overview:
        """With as many sampled rows of every class as its share."""
        return self.cut(self.sample_rows // max(1, len(self.seen)))

    def cut(self, most: int) -> Overview:
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

    def of_class(self, label) -> ClassOverview:
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


__all__ = ["ClassOverview", "Look", "Overview", "names_of"]
