"""Active sets of the conic programs: the rows near the margin, and the farthest pairs of rows.

Far from the margin a multiplier is known: zero beyond it, the cost on the wrong side. A program takes time in proportion to
its rows, and few of them are at the margin. A hinge problem guesses which ones in a hundredth of the time. Every certificate
is about all rows, and shows where the guess was wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..hinge import solve
from ..problem import Batch, Dense, Options, Quadratics
from .program import MarginData

PART_OF_ROWS = 8  # one row in so many is active, and one for each feature: more are rarely at the margin
GUESSES, GUESS = 12, Options(1e-4, 200)  # most hinge problems of a guess, and how well they are solved


@dataclass(frozen=True, eq=False)
class ActiveSet:
    """Rows whose multipliers are variables (`free`). The others are fixed: at their cost if `full`, else at zero."""

    free: np.ndarray
    full: np.ndarray

    @classmethod
    def all_rows(cls, n: int) -> ActiveSet:
        """Make all n rows active."""
        return cls(np.ones(n, dtype=bool), np.zeros(n, dtype=bool))

    @property
    def is_partial(self) -> bool:
        """True if some multipliers are fixed."""
        return not self.free.all()

    def fixed(self, c: np.ndarray) -> np.ndarray:
        """Values of the fixed multipliers, and zero for the others."""
        return np.where(self.full, c, 0.0)

    def whole(self, values: np.ndarray, c: np.ndarray) -> np.ndarray:
        """All multipliers, from the `values` of the free ones."""
        alpha = self.fixed(c)
        alpha[self.free] = values
        return alpha

    def misplaces(self, slack: np.ndarray) -> bool:
        """Return True if a row with a fixed multiplier lies on the other side of the margin; ``slack = 1 - y f``."""
        return bool(self._misplaced(slack).any())

    def _misplaced(self, slack):
        return ~self.free & (self.full != (slack > 0.0))

    def widened(self, slack: np.ndarray, d: int, also: np.ndarray | bool = False) -> ActiveSet:
        """Add the misplaced rows, the rows near the margin and those in `also`.

        No row is removed, so that the multipliers found before remain feasible.
        """
        free = self.free | self._misplaced(slack) | _near(slack, d) | also
        return ActiveSet(free, self.full & ~free)


def guess_active_set(
    data: MarginData, norm: np.ndarray, next_norm: Callable[[np.ndarray], np.ndarray | None]
) -> ActiveSet:
    """Rows near the margin of an SVM with ``1/2 sum_k norm_k w_k^2``; all rows if leaving some out saves little.

    `next_norm` returns a better norm for a solution w, or None if the last one is good enough.
    """
    n, d = data.Z.shape
    if not saves(n, d) or abs(data.y.sum()) == n:
        return ActiveSet.all_rows(n)
    rows = Dense(data.Z + data.offset)
    for _ in range(GUESSES):
        batch = Batch(rows, data.y[None], data.c, np.ones(1), Quadratics(norm[None]), intercept=data.fit_intercept)
        svm = solve(batch, GUESS).of(0)[0]
        if not svm.converged:
            return ActiveSet.all_rows(n)
        if (better := next_norm(svm.coef)) is None:
            break
        norm = better
    return active_set_near(1.0 - data.y * (rows.X @ svm.coef + svm.intercept), d)


def active_set_near(slack: np.ndarray, d: int, also: np.ndarray | bool = False) -> ActiveSet:
    """Rows near the margin, where ``slack = 1 - y f``, and those in `also`."""
    free = _near(slack, d) | also
    return ActiveSet(free, ~free & (slack > 0.0))


def saves(n: int, d: int) -> bool:
    """Return True if there are so many rows that leaving some out saves time."""
    return 2 * _n_near(n, d) < n


def _n_near(n, d):
    return max(d + 1, n // PART_OF_ROWS)


def _near(slack, d):
    distance = np.abs(slack)
    return distance <= np.partition(distance, _n_near(len(slack), d))[_n_near(len(slack), d)]


# -- The farthest pairs of points, in O(n) memory ---------------------------------------------------------------------


BLOCK = 2**20  # entries of a block of distances


def squared_differences(X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """``d2_ijk = (x_ik - x_jk)^2`` for each pair, of shape (m, d)."""
    return (X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2


def extreme_pairs(X: np.ndarray) -> np.ndarray:
    """Pairs of the rows of the smallest and largest value of each feature, without repetition.

    >>> extreme_pairs(np.array([[0.0, 5.0], [1.0, 6.0], [3.0, 4.0]]))
    array([[0, 2],
           [1, 2]])
    """
    pairs = np.column_stack([X.argmin(axis=0), X.argmax(axis=0)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def far_pairs(V: np.ndarray, threshold: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows whose squared distance exceeds `threshold`, farthest first, and those squared distances.

    The first pair is the farthest of all. At most `limit` pairs are returned, no two with a row in common. By the triangle
    inequality the distances of both rows from the centre add up to ``sqrt(threshold)`` or more, so that only rows far enough
    from it are compared, block by block.

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
    order = order[distance[order] > threshold * (1.0 + 1e-12)]  # excludes, up to rounding, pairs found before
    pairs: list[tuple[int, int]] = []
    used: set[int] = set()
    for i in order:
        j = partner[i]
        if not {i, j} & used:
            used |= {i, j}
            pairs.append((i, j))
            if len(pairs) == limit:
                break
    farthest = np.sort(candidates[np.array(pairs, dtype=int).reshape(-1, 2)], axis=1)
    return farthest, squared_differences(V, farthest).sum(axis=1)


def _farthest_partners(V: np.ndarray, norms: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """Index of the farthest row of smaller or equal index for each row, and the squared distance; zero if none is in reach.

    Rows are sorted by norm, the largest first. Only pairs whose norms add up to at least `reach` are compared.
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
