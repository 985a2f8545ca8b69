"""Units that the features are put in before a kernel sees them: standardised, or by their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import ndtri

from ..geometry.tempered import standardised

QUANTILES = 100


class Units(Protocol):
    """What spaces ask of units."""

    def rows(self, X):
        """Checked rows in these units."""


@dataclass(frozen=True, eq=False)
class Standard:
    """Features minus `mean`, over `scale`. Sparse rows are not shifted, which no kernel of distances can tell."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X, weight) -> Standard:
        """Mean zero and deviation one over weighted rows; what is constant becomes zero."""
        found = standardised(X, weight)
        return cls(found.mean, np.where(found.scale > 0, found.scale, 1.0))

    def rows(self, X):
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1 / self.scale))
        return (X - self.mean) / self.scale


@dataclass(frozen=True, eq=False)
class Ranks:
    """Features by their ranks among training rows, as deviations of a normal variable, standardised.

    Long tails and outliers become what their place in the order is. Between quantiles a rank is interpolated, and equal
    values have their middle rank. A weight of two equals a repeated row.
    """

    quantiles: np.ndarray  # (q, d)
    standard: Standard | None = None

    @classmethod
    def of(cls, X, weight) -> Ranks:
        ranks = cls(weighted_quantiles(X, weight, np.linspace(0, 1, QUANTILES)))
        return cls(ranks.quantiles, Standard.of(ranks.deviations(X), weight))

    def rows(self, X):
        return self.standard.rows(self.deviations(X))

    def deviations(self, X):
        shares = np.linspace(0, 1, len(self.quantiles))
        ranks = np.empty(X.shape)
        for k, places in enumerate(self.quantiles.T):
            from_below = np.interp(X[:, k], places, shares)
            from_above = 1 - np.interp(-X[:, k], -places[::-1], shares)
            ranks[:, k] = (from_below + from_above) / 2
        edge = 0.5 / len(shares)
        return ndtri(np.clip(ranks, edge, 1 - edge))


@dataclass(frozen=True, eq=False)
class Linear:
    """``root @ x`` of every row: units in which distances are those of the metric ``root.T @ root``."""

    root: np.ndarray

    def rows(self, X):
        return X @ self.root.T


@dataclass(frozen=True, eq=False)
class InUnits:
    """A fitted space of features that are in other units than the user's."""

    space: Any
    units: Units

    def rows(self, X):
        return self.space.rows(self.units.rows(X))

    def scores(self, X, coef):
        return self.space.scores(self.units.rows(X), coef)


def weighted_quantiles(X, weight, shares):
    """The smallest values of every column that at least such shares of the weight do not exceed, of shape (shares, columns).

    >>> weighted_quantiles(np.array([[3.0], [1.0], [2.0]]), np.array([1.0, 1.0, 2.0]), [0.0, 0.25, 0.5, 1.0]).ravel().tolist()
    [1.0, 1.0, 2.0, 3.0]
    """
    order = np.argsort(X, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0) / weight.sum()
    places = [np.searchsorted(column, np.asarray(shares) - 1e-12) for column in below.T]  # sums are rounded
    columns = np.take_along_axis(X, order, axis=0).T
    return np.column_stack([column[np.minimum(i, len(column) - 1)] for column, i in zip(columns, places, strict=True)])
