"""Units that the features are put in before a kernel sees them: standardised, or by their ranks."""

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
from ..kernels import KernelFunction, kernel_on
from ..scatter import RANK_TOL, TemperedScatter, standardised, tempered_of, tempered_scatter, uncorrelated_scatter
from ..solvers import Kernel, kernel_scores
from .dimension_path import LeadingFeatures
from .kernel_map import KernelMap

QUANTILES = 100


class Scaling(Protocol):
    """What spaces ask of units."""

    def rows(self, X):
        """Checked rows in these units."""


@dataclass(frozen=True, eq=False)
class Standardizer:
    """Features minus `mean`, over `scale`. Sparse rows are not shifted, which no kernel of distances can tell."""

    mean: np.ndarray
    scale: np.ndarray

    @classmethod
    def of(cls, X, weight) -> Standardizer:
        """Mean zero and deviation one over weighted rows; what is constant becomes zero."""
        found = standardised(X, weight)
        return cls(found.mean, np.where(found.scale > 0, found.scale, 1.0))

    def rows(self, X):
        if sparse.issparse(X):
            return sparse.csr_array(X.multiply(1 / self.scale))
        return (X - self.mean) / self.scale


@dataclass(frozen=True, eq=False)
class RankTransform:
    """Features by their ranks among training rows, as deviations of a normal variable, standardised.

    Long tails and outliers become what their place in the order is. Between quantiles a rank is interpolated, and equal
    values have their middle rank. A weight of two equals a repeated row.
    """

    quantiles: np.ndarray  # (q, d)
    standard: Standardizer | None = None

    @classmethod
    def of(cls, X, weight) -> RankTransform:
        ranks = cls(weighted_quantiles(X, weight, np.linspace(0, 1, QUANTILES)))
        return cls(ranks.quantiles, Standardizer.of(ranks.deviations(X), weight))

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
class LinearMap:
    """``root @ x`` of every row: units in which distances are those of the metric ``root.T @ root``."""

    root: np.ndarray

    def rows(self, X):
        return X @ self.root.T


@dataclass(frozen=True, eq=False)
class ScaledSpace:
    """A fitted space of features that are in other units than the user's."""

    space: Any
    units: Scaling

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


# -- The space that a model is linear in: the data themselves, explicit features of them, or those of a kernel --------


class FeatureSpace(Protocol):
    """What models ask of a space."""

    def fit(self, X, weight: np.ndarray):
        """Fit to checked training rows, and return them in the space."""

    def rows(self, X):
        """Other checked rows in the space."""

    def scores(self, X, coef: np.ndarray) -> np.ndarray:
        """Scores (n, K) of checked rows for separators (K, d), without intercepts."""

    def tempered(self, rows, codes, weight: np.ndarray, kind: str, rank_tol: float) -> TemperedScatter:
        """The scatter of training rows in the space, without directions of less spread than a tolerance."""


class Raw:
    """The data themselves, standardised inside the regulariser."""

    def fit(self, X, weight):
        return X

    def rows(self, X):
        return X

    def scores(self, X, coef):
        return np.asarray(X @ coef.T)

    def tempered(self, rows, codes, weight, kind, rank_tol):
        return tempered_of(rows, weight, codes if kind == "within" else None, rank_tol=rank_tol)


class Mapped:
    """Explicit features: those of a kernel map, or of a transformer in its place. They keep their units."""

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
        # A map makes all its columns, also for members of a search that use the leading ones.
        missing = self.transformer.n_components_ - coef.shape[1]
        return self.transformer.transform_times(X, np.pad(coef, ((0, 0), (0, missing))).T)

    def tempered(self, rows, codes, weight, kind, rank_tol):
        if kind == "total" and isinstance(self.transformer, KernelMap):  # its components are uncorrelated
            return uncorrelated_scatter(self.transformer.eigenvalues_[: rows.shape[1]], weight.sum(), rank_tol)
        if not isinstance(self.transformer, (KernelMap, LeadingFeatures)):
            rank_tol = 0.0  # features of other transformers may be small by their units
        return tempered_scatter(rows, codes, sample_weight=weight, kind=kind, standardise=False, rank_tol=rank_tol)


@dataclass(frozen=True, eq=False)
class Expansion:
    """The features of a kernel, which are not formed: separators are combinations of some rows, the support.

    Parameters
    ----------
    function : KernelFunction or None
        None: X holds kernel values, and `support` the numbers of columns.
    support : rows of X, or integer array
    n_threads : int, default=1
        Threads over blocks of rows that are scored.
    """

    function: KernelFunction | None
    support: Any
    n_threads: int = 1

    @classmethod
    def on(cls, choice: FeatureChoice, X, weight, n_threads: int = 1) -> Expansion:
        """With all training rows as support; of a precomputed kernel the support is its matrix."""
        function = choice.function(X, weight)
        if function is None:
            return cls(None, check_kernel_matrix(X), n_threads)
        _check_values(function.diagonal(X), function(X[:1], X)[0])
        return cls(function, X, n_threads)

    def kernel_rows(self, cache_size: float) -> Kernel:
        """The training rows, for a solver."""
        return Kernel(self.support, self.function, cache_size)

    def part(self, support: np.ndarray) -> Expansion:
        """With some of the training rows as support, by their numbers."""
        return replace(self, support=support if self.function is None else self.support[support])

    def rows(self, X):
        """Kernel values with the support."""
        if self.function is None:
            return (X.toarray() if sparse.issparse(X) else X)[:, self.support]
        return self.function(X, self.support)

    def scores(self, X, coef):
        if self.function is None:
            return self.rows(X) @ coef.T
        return kernel_scores(X, self.support, coef, kernel=self.function, n_threads=self.n_threads)


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """The parameters of a model that say what it is linear in.

    `has_kernel` says whether the features are those of a kernel, all of them: they need not be formed where nothing is
    whitened.

    Examples
    --------
    >>> FeatureChoice().is_linear, FeatureChoice("rbf").has_kernel, FeatureChoice("rbf", n_components=5).has_kernel
    (True, True, False)
    """

    kernel: str | Callable | Any = "linear"
    gamma: float | str = "scale"
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
        """Those of an estimator."""
        return cls(**{name: getattr(model, name) for name in PARAMETERS if hasattr(model, name)})

    def with_(self, **other) -> FeatureChoice:
        return replace(self, **other)

    def explicit(self, whitening: float) -> FeatureSpace:
        """The data, or features that can be formed, as many as an exponent of whitening asks for."""
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
        """The kernel with gamma resolved on training rows; None where X holds its values."""
        return kernel_on(self, X, weight)


PARAMETERS = tuple(f.name for f in fields(FeatureChoice) if f.init)


def _check_values(diagonal, first):
    """Raise a ValueError where kernel values overflow, or where all rows are the same point."""
    if not (np.isfinite(diagonal).all() and np.isfinite(first).all()):
        raise ValueError("the kernel matrix is not finite: scale the features, or choose another gamma.")
    distances = diagonal - 2 * first + first[0]
    if distances.max() <= 10 * len(first) * np.finfo(float).eps * diagonal.max():
        raise ValueError("the kernel does not vary over the rows of X: there is nothing to learn from.")
