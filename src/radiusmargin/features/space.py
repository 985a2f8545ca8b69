"""The space that a model is linear in: the data themselves, explicit features of them, or those of a kernel.

A space is made by `FeatureChoice` from the parameters of a model, fitted to training rows, and kept with what was learnt:
`scores` are those of separators in it, for any rows.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Any, Protocol

import numpy as np
from scipy import sparse
from sklearn.base import clone
from sklearn.utils.validation import has_fit_parameter

from ..geometry.tempered import TemperedScatter, tempered_scatter, uncorrelated_scatter
from ._validation import check_kernel_matrix
from .functions import KernelFunction
from .map import KernelMap

BLOCK = 4_000_000  # kernel values held at a time


class FeatureSpace(Protocol):
    """What models ask of a space."""

    def fit(self, X, weight: np.ndarray):
        """Fit to checked training rows, and return them in the space."""

    def rows(self, X):
        """Other checked rows in the space."""

    def scores(self, X, coef: np.ndarray) -> np.ndarray:
        """Scores (n, K) of checked rows for separators (K, d), without intercepts."""

    def tempered(self, rows, codes, weight: np.ndarray, kind: str) -> TemperedScatter:
        """The scatter of training rows in the space."""


class Raw:
    """The data themselves, standardised inside the regulariser."""

    def fit(self, X, weight):
        return X

    def rows(self, X):
        return X

    def scores(self, X, coef):
        return np.asarray(X @ coef.T)

    def tempered(self, rows, codes, weight, kind):
        return tempered_scatter(rows, codes, sample_weight=weight, kind=kind)


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

    def tempered(self, rows, codes, weight, kind):
        if kind == "total" and isinstance(self.transformer, KernelMap):  # its components are uncorrelated
            return uncorrelated_scatter(self.transformer.eigenvalues_[: rows.shape[1]], weight.sum())
        return tempered_scatter(rows, codes, sample_weight=weight, kind=kind, standardise=False)


@dataclass(frozen=True, eq=False)
class Expansion:
    """The features of a kernel, which are not formed: separators are combinations of some rows.

    Parameters
    ----------
    function : KernelFunction or None
        None: X holds kernel values, and `support` the numbers of columns.
    support : rows of X, or integer array
    """

    function: KernelFunction | None
    support: Any

    def rows(self, X):
        """Kernel values with the support."""
        if self.function is None:
            return (X.toarray() if sparse.issparse(X) else X)[:, self.support]
        return self.function(X, self.support)

    def scores(self, X, coef):
        out = np.empty((X.shape[0], len(coef)))
        step = max(1, BLOCK // max(1, coef.shape[1]))
        for start in range(0, X.shape[0], step):
            block = slice(start, start + step)
            np.matmul(self.rows(X[block]), coef.T, out=out[block])
        return out


@dataclass(frozen=True, eq=False)
class FeatureChoice:
    """The parameters of a model that say what it is linear in.

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

    @classmethod
    def of(cls, model, **other) -> FeatureChoice:
        """Those of an estimator, but for `other`."""
        return cls(**({name: getattr(model, name) for name in cls.__dataclass_fields__} | other))

    def with_(self, **other) -> FeatureChoice:
        return replace(self, **other)

    @property
    def is_linear(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "linear" and self.n_components is None

    @property
    def is_transformer(self) -> bool:
        return hasattr(self.kernel, "fit_transform")

    @property
    def is_precomputed(self) -> bool:
        return isinstance(self.kernel, str) and self.kernel == "precomputed"

    @property
    def has_kernel(self) -> bool:
        """Whether the features are those of a kernel, all of them: they need not be formed where nothing is whitened."""
        return not (self.is_linear or self.is_transformer or self.n_components is not None)

    def explicit(self, whitening: float) -> FeatureSpace:
        """The data, or features that can be formed, as many as an exponent of whitening asks for."""
        if self.is_linear:
            return Raw()
        return Mapped(clone(self.kernel) if self.is_transformer else self._map(whitening))

    def _map(self, whitening):
        return KernelMap(
            self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0, n_components=self.n_components,
            whitening=whitening, random_state=self.random_state,
        )  # fmt: skip

    def function(self, X, weight) -> KernelFunction | None:
        """The kernel with gamma resolved on training rows; None where X holds its values."""
        return self._map(0.0).kernel_function(X, weight)

    def products(self, function, X) -> np.ndarray:
        """Kernel values between all training rows."""
        if function is None:
            return np.asarray(check_kernel_matrix(X), dtype=float)
        K = function(X)
        if not np.isfinite(K).all():
            raise ValueError("the kernel matrix is not finite: scale the features, or choose another gamma.")
        return K
