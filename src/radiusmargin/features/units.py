"""Units that the features are put in before a kernel sees them: standardised, or by their ranks."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.preprocessing import QuantileTransformer

from ..geometry.tempered import standardised

MOST_QUANTILES = 100


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

    Long tails and outliers become what their place in the order is; weights of the rows are not looked at for that.
    """

    before: Standard  # the transformer compares with absolute thresholds
    quantiles: QuantileTransformer
    after: Standard

    @classmethod
    def of(cls, X, weight) -> Ranks:
        before = Standard.of(X, weight)
        quantiles = QuantileTransformer(
            n_quantiles=min(MOST_QUANTILES, len(weight)), output_distribution="normal", subsample=None
        )
        return cls(before, quantiles, Standard.of(quantiles.fit_transform(before.rows(X)), weight))

    def rows(self, X):
        return self.after.rows(self.quantiles.transform(self.before.rows(X)))


@dataclass(frozen=True, eq=False)
class InUnits:
    """A fitted space of features that are in other units than the user's."""

    space: Any
    units: Units

    def rows(self, X):
        return self.space.rows(self.units.rows(X))

    def scores(self, X, coef):
        return self.space.scores(self.units.rows(X), coef)
