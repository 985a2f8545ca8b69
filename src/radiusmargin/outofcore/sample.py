"""A random sample of rows that chunks draw without knowing of each other."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

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


__all__ = ["Sample", "keys"]
