"""A triangular factor of the rows, for data whose scatter has lost its smallest directions to rounding."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .chunk import Chunk
from .overview import names_of


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


__all__ = ["Factor", "Factorise", "row_factor"]
