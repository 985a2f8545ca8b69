"""Rows that a cone program can do without: far from the margin a multiplier is known, zero beyond it, the cost short of it.

A program takes time in proportion to its rows, and a handful of them is at the margin. Which ones, a hinge problem guesses
in a hundredth of the time; every certificate is of all rows, and shows where the guess was wrong.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import numpy as np

from ..hinge.entry import solve
from ..problem import Batch, Options, Quadratics
from ..rows import Dense
from .margin import MarginData

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
