"""Rows that a cone program can do without: far from the margin a multiplier is known, zero beyond it, the cost short of it.

A program takes time in proportion to its rows, and a handful of them is at the margin. Which ones, a hinge problem guesses
in a hundredth of the time; every certificate is of all rows, and shows where the guess was wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..hinge import solve
from ..problem import Batch, Dense, Options, Quadratics
from .program import MarginData

PART_OF_ROWS = 8  # one in so many is looked at, and one for each feature: more are hardly at the margin
GUESSES, GUESS = 12, Options(1e-4, 200)  # hinge problems at most, and how well they are solved


@dataclass(frozen=True, eq=False)
class Sifting:
    """Which multipliers are looked for; the others are fixed, at their cost where `full`, else at zero."""

    free: np.ndarray
    full: np.ndarray

    @classmethod
    def none(cls, n: int) -> Sifting:
        """All rows are looked at."""
        return cls(np.ones(n, dtype=bool), np.zeros(n, dtype=bool))

    @property
    def is_partial(self) -> bool:
        return not self.free.all()

    def held(self, c: np.ndarray) -> np.ndarray:
        """The multipliers that are fixed, and zero for the others."""
        return np.where(self.full, c, 0.0)

    def whole(self, values: np.ndarray, c: np.ndarray) -> np.ndarray:
        """All multipliers, from those that were looked for."""
        alpha = self.held(c)
        alpha[self.free] = values
        return alpha

    def is_wrong(self, slack: np.ndarray) -> bool:
        """Whether a row with a fixed multiplier lies on the other side of the margin; ``slack = 1 - y f``."""
        return bool(self._wrong(slack).any())

    def _wrong(self, slack):
        return ~self.free & (self.full != (slack > 0.0))

    def widened(self, slack: np.ndarray, d: int, also: np.ndarray | bool = False) -> Sifting:
        """With these rows too, those that are near the margin now, and others that are asked for.

        Other rows stay where they are, so that the multipliers found before remain among those to choose from.
        """
        free = self.free | self._wrong(slack) | _near(slack, d) | also
        return Sifting(free, self.full & ~free)


def sifted(data: MarginData, norm: np.ndarray, next_norm: Callable[[np.ndarray], np.ndarray | None]) -> Sifting:
    """The rows near the margin of an SVM with ``1/2 sum_k norm_k w_k^2``; all of them where that saves little.

    `next_norm` gives a better norm for the w that was found, or None.
    """
    n, d = data.Z.shape
    if not saves(n, d) or abs(data.y.sum()) == n:
        return Sifting.none(n)
    rows = Dense(data.Z + data.offset)
    for _ in range(GUESSES):
        batch = Batch(rows, data.y[None], data.c, np.ones(1), Quadratics(norm[None]), intercept=data.fit_intercept)
        svm = solve(batch, GUESS).of(0)[0]
        if not svm.converged:
            return Sifting.none(n)
        if (norm := next_norm(svm.coef)) is None:
            break
    return sifted_by(1.0 - data.y * (rows.X @ svm.coef + svm.intercept), d)


def sifted_by(slack: np.ndarray, d: int, also: np.ndarray | bool = False) -> Sifting:
    """The rows near a margin, ``slack = 1 - y f``, and others that are asked for."""
    free = _near(slack, d) | also
    return Sifting(free, ~free & (slack > 0.0))


def saves(n: int, d: int) -> bool:
    """Whether there are so many rows that leaving some out saves time."""
    return 2 * _n_near(n, d) < n


def _n_near(n, d):
    return max(d + 1, n // PART_OF_ROWS)


def _near(slack, d):
    distance = np.abs(slack)
    return distance <= np.partition(distance, _n_near(len(slack), d))[_n_near(len(slack), d)]


# -- The farthest pairs of a set of points, exactly, without ever forming all of them ---------------------------------


BLOCK = 2**20  # entries of a block of distances


def squared_differences(X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """``d2_ijk = (x_ik - x_jk)^2`` for each pair, of shape (m, d)."""
    return (X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2


def extreme_pairs(X: np.ndarray) -> np.ndarray:
    """For each feature the rows of its smallest and largest value, without repetition.

    >>> extreme_pairs(np.array([[0.0, 5.0], [1.0, 6.0], [3.0, 4.0]]))
    array([[0, 2],
           [1, 2]])
    """
    pairs = np.column_stack([X.argmin(axis=0), X.argmax(axis=0)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def far_pairs(V: np.ndarray, threshold: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows whose squared distance exceeds `threshold`, farthest first, and those squared distances.

    The first pair is the farthest of all; up to `limit` come back, no two with a row in common. By the
    triangle inequality both rows of such a pair are together ``sqrt(threshold)`` from the centre: the rows that are far
    enough from it are compared by blocks, in O(n) memory, each with those that are far enough for it.

    >>> far_pairs(np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 4.0], [4.0, 0.0]]), threshold=20.0, limit=9)
    (array([[0, 1],
           [2, 3]]), array([50., 32.]))
    """
    V = V - (V.min(axis=0) + V.max(axis=0)) / 2
    norms = np.sqrt((V**2).sum(axis=1))
    reach = np.sqrt(threshold) * (1.0 - 1e-9)
    candidates = np.flatnonzero(norms >= reach - norms.max())
    candidates = candidates[np.argsort(-norms[candidates], kind="stable")]
    partner, distance = _farthest_partners(V[candidates], norms[candidates], reach)
    order = np.argsort(-distance, kind="stable")
    order = order[distance[order] > threshold * (1.0 + 1e-12)]  # not the known pairs again, by rounding
    pairs, used = [], set()
    for i in order:
        j = partner[i]
        if not {i, j} & used:
            used |= {i, j}
            pairs.append((i, j))
            if len(pairs) == limit:
                break
    pairs = np.array(pairs, dtype=int).reshape(-1, 2)
    found = np.sort(candidates[pairs], axis=1)
    return found, squared_differences(V, found).sum(axis=1)


def _farthest_partners(V: np.ndarray, norms: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """For each row, which earlier or equal row is farthest from it, and the squared distance; zero where none is so far.

    The rows come with the largest norm first, and only pairs whose norms add up to `reach` are looked at.
    """
    n, squares = len(V), (V**2).sum(axis=1)
    partner, distance = np.zeros(n, dtype=int), np.zeros(n)
    step = max(1, BLOCK // max(n, 1))
    for start in range(0, n, step):
        stop = min(start + step, n)
        last = min(stop, np.searchsorted(-norms, norms[start] - reach, side="right"))
        if last == 0:
            break
        block = V[start:stop] @ (-2.0 * V[:last].T)
        block += squares[:last]
        partner[start:stop] = block.argmax(axis=1)
        distance[start:stop] = block.max(axis=1) + squares[start:stop]
    return partner, distance
