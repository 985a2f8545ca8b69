"""Rows that the driver has in memory: a sample of those in the chunks."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ...problems import ChunkedProblem
from .probe import Probe, Rows


@dataclass(frozen=True, eq=False)
class Known:
    """Rows of a problem that the driver has: the sample.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        In the user's units.
    y, c : ndarrays of shape (m,)
        Labels, and costs that make up for the rows that are not here.
    counts : ndarray of shape (m,)
        How many rows each stands for.
    complete : bool
        Whether these are all.
    """

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    counts: np.ndarray
    complete: bool

    @classmethod
    def of(cls, problem: ChunkedProblem, overview) -> Known:
        parts, complete = [], True
        for moments, sample, y, cost in zip(
            overview.moments(), overview.samples(), problem.signs, problem.costs, strict=True
        ):
            if y == 0:
                continue
            # By weight, not by rows: the problem of the sample has the right weight for each class.
            factor, ones = cost * moments.total / sample.weight.sum(), np.ones(len(sample))
            order = np.argsort(sample.keys, kind="stable")
            parts.append(
                (sample.X[order], y * ones, factor * sample.weight[order], ones * (moments.rows / len(sample)))
            )
            complete &= len(sample) == moments.rows
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)), complete)

    def half(self, i) -> Known:
        """Every other row; the keys, by which they are sorted, are random."""
        rows = slice(i, None, 2)
        return Known(self.X[rows], self.y[rows], 2 * self.c[rows], 2 * self.counts[rows], False)

    def ask(self, probe: Probe):
        """What these rows answer to a probe."""
        tally = probe.tally()
        tally.add(Rows(self.X, self.y, self.c, self.lack(probe.coef, probe.intercept)))
        return tally.answer(len(self.y))

    def lack(self, coef, intercept) -> np.ndarray:
        """What the rows lack of the margin: z = 1 - y (w'x + b)."""
        return 1.0 - self.y * (self.X @ coef + intercept)

    def size(self, values) -> float:
        """Root mean square over the rows that these stand for."""
        return float(np.sqrt(self.counts @ values**2 / self.counts.sum()))


__all__ = ["Known"]
