"""Weighted means and scatters that can be merged."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np


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


__all__ = ["Moments"]
