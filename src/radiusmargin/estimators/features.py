"""The feature space in which a model is linear.

First the scalings that a kernel may need (`Standardizer`, `RankTransform`, `LinearMap`); then the spaces: `Raw` (the data), `Mapped`
(explicit features) and `Expansion` (a kernel, whose features are not formed); last `FeatureChoice`, which builds a space from an
estimator's parameters.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field, fields, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from scipy.special import ndtri
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from .._checks import check_kernel_matrix
from .._types import Gamma
from ..kernels import KernelFunction, kernel_on
from ..scatter import RANK_TOL, TemperedScatter, standardised, tempered_of, tempered_scatter, uncorrelated_scatter
from ..solvers import Kernel, kernel_scores
from .dimension_path import LeadingFeatures
from .kernel_map import KernelMap

QUANTILES = 100
FEW_ROWS = 8


class Scaling(Protocol):
    """Interface of a fitted scaling."""

    def rows(self, X):
        """Scale validated rows."""


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Subtract `mean` and divide by `scale`. Sparse rows are not shifted: kernels of distances do not change by it."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X, weight, groups=None) -> Standardizer:
        """Fit to weighted rows: mean zero and deviation one; a constant feature becomes zero.

        Indicators of one category column (`groups`, see `TrainingData`) keep a common scale: any two categories are equally far
        apart, and the column has the mean squared distance of a standardised number.
        """
        found = standardised(X, weight)
        scale = np.where(found.scale > 0, found.scale, 1.0)
        if groups is not None:
            indicators, own = groups >= 0, groups[groups >= 0]
            size = np.ptp(X[:, indicators], axis=0)  # one, or the distance of their ranks
            shares = np.divide(found.scale[indicators], size, out=np.zeros(len(own)), where=size > 0) ** 2
            spread = np.sqrt(np.bincount(own, shares))[own]
            scale[indicators] = np.where(size > 0, size * spread, 1.0)
        return cls(found.mean, scale)

    def rows(self, X):
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1 / self.scale))
        return (X - self.mean) / self.scale


@dataclass(frozen=True, eq=False)
class RankTransform:
    """Replace features by the normal quantiles of their ranks among the training rows, standardised.

    Long tails and outliers then count by their order only. Ranks are interpolated between quantiles, and equal values have their
    middle rank. A weight of two equals a repeated row.
    """

    quantiles: np.ndarray  # (q, d)
    standard: Standardizer | None = None

    @classmethod
    def of(cls, X, weight, groups=None) -> RankTransform:
        ranks = cls(weighted_quantiles(X, weight, np.linspace(0, 1, QUANTILES)))
        return cls(ranks.quantiles, Standardizer.of(ranks.deviations(X), weight, groups))

    def rows(self, X):
        return self.standard.rows(self.deviations(X))

    def deviations(self, X):
        ranks = self._ranks_together(X) if len(X) <= FEW_ROWS else self._ranks(X)
        edge = 0.5 / len(self.quantiles)
        return ndtri(np.clip(ranks, edge, 1 - edge))

    def _ranks(self, X):
        """Return middle ranks, column by column."""
        shares = np.linspace(0, 1, len(self.quantiles))
        ranks = np.empty(X.shape)
        for k, places in enumerate(self.quantiles.T):
            from_below = np.interp(X[:, k], places, shares)
            from_above = 1 - np.interp(-X[:, k], -places[::-1], shares)
            ranks[:, k] = (from_below + from_above) / 2
        return ranks

    def _ranks_together(self, X):
        """Return the same for few rows, by comparing them with all quantiles: ten times as fast for one row of 64 columns."""
        q, columns = len(self.quantiles), np.arange(X.shape[1])
        first = (self.quantiles < X[:, None, :]).sum(axis=1)  # quantile not below
        last = (self.quantiles <= X[:, None, :]).sum(axis=1) - 1  # last one not above
        below, above = np.clip(np.minimum(first, last), 0, q - 1), np.clip(np.maximum(first, last), 0, q - 1)
        low, high = self.quantiles[below, columns], self.quantiles[above, columns]
        between = np.divide(X - low, high - low, out=np.full(X.shape, 0.5), where=high > low)
        return (below + np.clip(between, 0, 1) * (above - below)) / (q - 1)


@dataclass(frozen=True, eq=False)
class LinearMap:
    """Map every row to ``root @ x``, where distances are those of the metric ``root.T @ root``."""

    root: np.ndarray

    def rows(self, X):
        return X @ self.root.T


@dataclass(frozen=True, eq=False)
class ScaledSpace:
    """A space that was fitted to scaled rows, for rows in the user's units."""

    space: Any
    units: Scaling  # the name that model files have

    def rows(self, X):
        return self.space.rows(self.units.rows(X))

    def scores(self, X, coef):
        return self.space.scores(self.units.rows(X), coef)


def weighted_quantiles(X, weight, shares):
    """Return the weighted quantiles of every column, of shape (shares, columns): the smallest value at or below which a share lies.

    >>> weighted_quantiles(np.array([[3.0], [1.0], [2.0]]), np.array([1.0, 1.0, 2.0]), [0.0, 0.25, 0.5, 1.0]).ravel().tolist()
    [1.0, 1.0, 2.0, 3.0]
    """
    order = np.argsort(X, axis=0, kind="stable")
    below = np.cumsum(weight[order], axis=0) / weight.sum()
    places = [np.searchsorted(column, np.asarray(shares) - 1e-12) for column in below.T]  # sums are rounded
    columns = np.take_along_axis(X, order, axis=0).T
    return np.column_stack([column[np.minimum(i, len(column) - 1)] for column, i in zip(columns, places, strict=True)])


# -- Feature spaces: the data, explicit features, or a kernel --------------------------------------------------------------


class FeatureSpace(Protocol):
    """Interface of a fitted feature space."""

    def rows(self, X):
        """Return the features of other validated rows."""

    def scores(self, X, coef: np.ndarray) -> np.ndarray:
        """Return scores (n, K) of validated rows for separators (K, d), without intercepts."""


class ExplicitSpace(FeatureSpace, Protocol):
    """Interface of a feature space whose features are formed."""

    def fit(self, X, weight: np.ndarray):
        """Fit to validated training rows, and return their features."""

    def tempered(self, rows, codes, weight: np.ndarray, kind: str, rank_tol: float) -> TemperedScatter:
        """Compute the scatter of the training features, without directions of less spread than a tolerance."""


class Raw:
    """The data as they are; the regulariser standardises them."""

    def fit(self, X, weight):
        return X

    def rows(self, X):
        return X

    def scores(self, X, coef):
        return np.asarray(X @ coef.T)

    def tempered(self, rows, codes, weight, kind, rank_tol):
        return tempered_of(rows, weight, codes if kind == "within" else None, rank_tol=rank_tol)


class Mapped:
    """Explicit features of a kernel map, or of a transformer in its place. They are not standardised."""

    def __init__(self, transformer):
        self.transformer = transformer

    def fit(self, X, weight):
        if isinstance(self.transformer, KernelMap):
            return self.transformer.fit_features(X, weight)
        extra = {"sample_weight": weight} if has_fit_parameter(self.transformer, "sample_weight") else {}
        return self.transformer.fit_transform(X, **extra)

    def rows(self, X):
        return self.transformer.transform(X)

    def scores(self, X, coef):
        if not isinstance(self.transformer, KernelMap):
            return np.asarray(self.rows(X) @ coef.T)
        # A map has all its columns, but a candidate of a search may use only the leading ones.
        missing = self.transformer.n_components_ - coef.shape[1]
        return self.transformer.transform_times(X, np.pad(coef, ((0, 0), (0, missing))).T)

    def tempered(self, rows, codes, weight, kind, rank_tol):
        if kind == "total" and isinstance(self.transformer, KernelMap):  # its components are uncorrelated
            return uncorrelated_scatter(self.transformer.eigenvalues_[: rows.shape[1]], weight.sum(), rank_tol)
        if not isinstance(self.transformer, (KernelMap, LeadingFeatures)):
            rank_tol = 0.0  # features of other transformers may be small because of their units
        return tempered_scatter(rows, codes, sample_weight=weight, kind=kind, standardise=False, rank_tol=rank_tol)


@dataclass(frozen=True, eq=False)
class Expansion:
    """The features of a kernel, which are not formed: separators are linear combinations of support vectors.

    Parameters
    ----------
    function : KernelFunction or None
        None if X holds kernel values; `support` are then indices of columns.
    support : rows of X, or integer array
    n_threads : int, default=1
        Threads over blocks of rows to score.
    """

    function: KernelFunction | None
    support: Any
    n_threads: int = 1

    @classmethod
    def on(cls, choice: FeatureChoice, X, weight, n_threads: int = 1) -> Expansion:
        """Build with all training rows as support; for a precomputed kernel the support is its matrix."""
        function = choice.function(X, weight)
        if function is None:
            return cls(None, check_kernel_matrix(X), n_threads)
        _check_values(function.diagonal(X), function(X[:1], X)[0])
        return cls(function, X, n_threads)

    def kernel_rows(self, cache_size: float) -> Kernel:
        """Return the training rows in the form that the kernel solver takes."""
        return Kernel(self.support, self.function, cache_size)

    def part(self, support: np.ndarray) -> Expansion:
        """Restrict the support to some training rows, given by their indices."""
        return replace(self, support=support if self.function is None else self.support[support])

    def rows(self, X):
        """Return kernel values of rows with the support."""
        if self.function is None:
            return (X.toarray() if sparse.issparse(X) else X)[:, self.support]
        return self.function(X, self.support)

    def scores(self, X, coef):
        if self.function is None:
            return self.rows(X) @ coef.T
        return kernel_scores(X, self.support, coef, kernel=self.function, n_threads=self.n_threads)


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """The parameters of a model that define its feature space.

    `has_kernel` tells whether the features are all those of a kernel. They need not be formed if nothing is whitened.

    Examples
    --------
    >>> FeatureChoice().is_linear, FeatureChoice("rbf").has_kernel, FeatureChoice("rbf", n_components=5).has_kernel
    (True, True, False)
    """

    kernel: str | Callable | Any = "linear"
    gamma: Gamma = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: int | float | None = None
    random_state: Any = None
    cache_size: float = 500.0
    rank_tol: float = RANK_TOL

    is_linear: bool = field(init=False)
    is_transformer: bool = field(init=False)
    is_precomputed: bool = field(init=False)
    has_kernel: bool = field(init=False)

    def __post_init__(self):
        if not self.cache_size > 0:
            raise ValueError(f"cache_size must be a positive number of megabytes, got {self.cache_size!r}.")
        name, components = self.kernel if isinstance(self.kernel, str) else None, self.n_components
        linear, transformer = name == "linear" and components is None, hasattr(self.kernel, "fit_transform")
        self.__dict__.update(
            is_linear=linear, is_transformer=transformer, is_precomputed=name == "precomputed",
            has_kernel=not (linear or transformer or components is not None),
        )  # fmt: skip

    @classmethod
    def of(cls, model) -> FeatureChoice:
        """Build from an estimator's parameters."""
        return cls(**{name: getattr(model, name) for name in PARAMETERS if hasattr(model, name)})

    def with_(self, **other) -> FeatureChoice:
        return replace(self, **other)

    def explicit(self, whitening: float) -> ExplicitSpace:
        """Return a space whose features are formed: the data, a transformer, or a kernel map for a whitening exponent."""
        if self.is_linear:
            return Raw()
        if self.is_transformer:
            return Mapped(clone(self.kernel))
        return Mapped(
            KernelMap(
                self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, n_components=self.n_components,
                whitening=whitening, random_state=self.random_state,
            )
        )  # fmt: skip

    def function(self, X, weight) -> KernelFunction | None:
        """Return the kernel with gamma resolved on training rows; None for a precomputed kernel."""
        return kernel_on(self, X, weight)


PARAMETERS = tuple(f.name for f in fields(FeatureChoice) if f.init)


def _check_values(diagonal, first):
    """Raise a ValueError if kernel values overflow, or if all rows are the same point of the feature space."""
    if not (np.isfinite(diagonal).all() and np.isfinite(first).all()):
        raise ValueError("the kernel matrix is not finite: scale the features, or choose another gamma.")
    distances = diagonal - 2 * first + first[0]
    if distances.max() <= 10 * len(first) * np.finfo(float).eps * diagonal.max():
        raise ValueError("the kernel does not vary over the rows of X: there is nothing to learn from.")
