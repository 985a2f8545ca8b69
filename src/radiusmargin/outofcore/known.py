"""Rows that the driver has in memory: a sample of those in the chunks."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .overview import Overview
from .probe import Probe, Rows


@dataclass(frozen=True, eq=False)
class Known:
    """Sampled rows of a problem.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        In the user's units.
    y, c : ndarrays of shape (m,)
        Labels, and costs that make up for the rows that are not here.
    counts : ndarray of shape (m,)
        How many rows each stands for.
    codes : ndarray of shape (m,)
        Numbers of their classes.
    complete : bool
        Whether these are all.
    """

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    counts: np.ndarray
    codes: np.ndarray
    complete: bool

    @classmethod
    def of(cls, signs: np.ndarray, overview: Overview) -> Known:
        """With the weights of the rows as their costs."""
        parts, complete = [], True
        for code, (moments, sample) in enumerate(zip(overview.moments(), overview.samples(), strict=True)):
            if signs[code] == 0:
                continue
            # By weight, not by rows: the problem of the sample has the right weight for each class.
            weight = sample.weight * (moments.total / sample.weight.sum())
            counts = np.full(len(sample), moments.rows / len(sample))
            order = np.argsort(sample.keys, kind="stable")
            label, codes = np.full(len(sample), signs[code]), np.full(len(sample), code, dtype=np.int32)
            parts.append((sample.X[order], label, weight[order], counts, codes))
            complete &= len(sample) == moments.rows
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)), complete)

    def priced(self, costs: np.ndarray) -> Known:
        """The same rows with the costs of their classes, as a problem has them."""
        return replace(self, c=self.c * costs[self.codes])

    def half(self, i) -> Known:
        """Every other row; the keys, by which those of a class are sorted, are random."""
        rows = slice(i, None, 2)
        parts = self.X[rows], self.y[rows], 2 * self.c[rows], 2 * self.counts[rows], self.codes[rows]
        return Known(*parts, complete=False)

    def ask(self, probe: Probe):
        """What these rows answer to a probe."""
        tally = probe.tally()
        tally.add(Rows(self.X, self.y, self.c, self.lack(probe.coef, probe.intercept)))
        return tally.answer(len(self.y))

    def lack(self, coef, intercept) -> np.ndarray:
        """What the rows lack of the margin: z = 1 - y (w'x + b)."""
        return 1.0 - self.y * (self.X @ coef + intercept)

    def moved(self, here, there) -> float:
        """How much the scores change (root mean square) from one separator (coef, intercept) to another."""
        return self.size(self.X @ (there[0] - here[0]) + there[1] - here[1])

    def size(self, values) -> float:
        """Root mean square over the rows that these stand for."""
        return float(np.sqrt(self.counts @ values**2 / self.counts.sum()))


__all__ = ["Known"]
