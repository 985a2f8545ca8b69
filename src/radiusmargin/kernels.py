"""Kernel functions: blocks of a kernel matrix between two sets of rows, and its diagonal.

The Gaussian and Laplacian kernels of dense rows are computed by a fused compiled loop (by scikit-learn if the core was
not built). The others are a matrix product and a few operations on it.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from math import comb
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel

from ._checks import check_choice, check_count, check_number, check_positive
from ._types import Data

try:
    from . import _core

    COMPILED = True
except ImportError:  # installed with RADIUSMARGIN_PURE_PYTHON=1
    COMPILED = False

KERNELS = ("linear", "rbf", "poly", "sigmoid", "laplacian", "cosine", "precomputed")
_DIAGONAL_BLOCK = 64


@dataclass(frozen=True)
class KernelFunction:
    """A kernel with its parameters resolved to numbers.

    Calling it on two matrices gives the matrix of kernel values between their rows. One matrix gives the symmetric kernel
    matrix of its rows.

    Parameters
    ----------
    kernel : {"linear", "rbf", "poly", "sigmoid", "laplacian", "cosine"} or callable
        A callable returns the matrix: ``kernel(X, Y, **params)``.
    gamma : float, default=1.0
        Positive factor of squared distances ("rbf"), distances ("laplacian") or inner products ("poly", "sigmoid").
    degree : int, default=3
        Degree of "poly".
    coef0 : float, default=0.0
        Constant that "poly" and "sigmoid" add to inner products.
    params : dict, optional
        Further arguments of a callable.

    Examples
    --------
    >>> import numpy as np
    >>> k = KernelFunction("rbf", gamma=0.5)
    >>> k(np.array([[0.0], [2.0]])).round(4).tolist()
    [[1.0, 0.1353], [0.1353, 1.0]]
    """

    kernel: str | Callable
    gamma: float = 1.0
    degree: int = 3
    coef0: float = 0.0
    params: dict = field(default_factory=dict)

    def __post_init__(self):
        if not callable(self.kernel):
            check_choice("kernel", self.kernel, KERNELS[:-1], " or a callable")
        if isinstance(self.kernel, str) and self.kernel == "poly":
            check_positive("degree", self.degree)
        check_positive("gamma", self.gamma)
        check_number("coef0", self.coef0, -np.inf, low_allowed=False)

    def __call__(self, X: Data, Y: Data | None = None) -> np.ndarray:
        if callable(self.kernel):
            return self._checked(self.kernel(X, X if Y is None else Y, **self.params), X, X if Y is None else Y)
        if self.kernel in ("rbf", "laplacian"):
            return self._exponential(X, Y)
        if self.kernel == "cosine":
            X, Y = unit_rows(X), None if Y is None else unit_rows(Y)
        K = inner_products(X, X if Y is None else Y)
        if self.kernel in ("poly", "sigmoid"):
            K *= self.gamma
            K += self.coef0
            K = K**self.degree if self.kernel == "poly" else np.tanh(K, out=K)
        return K

    def diagonal(self, X: Data) -> np.ndarray:
        """k(x, x) for every row."""
        if callable(self.kernel):
            blocks = (X[i : i + _DIAGONAL_BLOCK] for i in range(0, X.shape[0], _DIAGONAL_BLOCK))
            return np.concatenate([np.diagonal(self(block)) for block in blocks])
        if self.kernel in ("rbf", "laplacian"):
            return np.ones(X.shape[0])
        squares = squared_norms(X)
        if self.kernel == "cosine":
            return (squares > 0).astype(float)
        if self.kernel == "linear":
            return squares
        values = self.gamma * squares + self.coef0
        return values**self.degree if self.kernel == "poly" else np.tanh(values)

    def rank_bound(self, n_features: int) -> float:
        """Largest rank that a kernel matrix can have, for any number of rows; infinite for most kernels."""
        if self.kernel in ("linear", "cosine"):
            return n_features
        if self.kernel == "poly" and isinstance(self.degree, Integral):
            return comb(n_features + self.degree, self.degree)
        return np.inf

    @property
    def is_definite(self) -> bool:
        """True if the kernel matrices are known to be positive semi-definite."""
        return self.kernel in ("linear", "rbf", "laplacian", "cosine") or (self.kernel == "poly" and self.coef0 >= 0)

    def _exponential(self, X, Y):
        if not COMPILED or sparse.issparse(X) or sparse.issparse(Y):
            return (laplacian_kernel if self.kernel == "laplacian" else rbf_kernel)(X, Y, gamma=self.gamma)
        X = np.ascontiguousarray(X)
        Y = None if Y is None else np.ascontiguousarray(Y)
        out = np.empty((len(X), len(X if Y is None else Y)))
        _core.dense_kernel_values((self.kernel, float(self.gamma), 0, 0.0), X, Y, out)
        return out

    @staticmethod
    def _checked(K, X, Y):
        K = np.asarray(K, dtype=float)
        if K.shape != (X.shape[0], Y.shape[0]):
            raise ValueError(
                "a callable kernel must return an array of shape (n_X, n_Y) = "
                f"{(X.shape[0], Y.shape[0])} for two matrices of rows, got {K.shape}."
            )
        if not np.isfinite(K).all():
            raise ValueError("the callable kernel returned values that are not finite.")
        return K


def kernel_on(model, X, weight, params=None) -> KernelFunction | None:
    """Kernel function of an estimator, with gamma resolved on the training rows; None for a precomputed kernel."""
    if not callable(model.kernel):
        check_choice("kernel", model.kernel, KERNELS, " or a callable")
        if model.kernel == "precomputed":
            return None
    if isinstance(model.kernel, str) and model.kernel == "poly":
        check_count("degree", model.degree)
    return KernelFunction(
        model.kernel, resolve_gamma(model.gamma, X, weight), model.degree, model.coef0, dict(params or {})
    )


def resolve_gamma(gamma, X, weight):
    """Resolve "scale" (as in `SVC`, with the weighted variance) and "auto" to a number."""
    if isinstance(gamma, str) and gamma == "auto":
        return 1.0 / X.shape[1]
    if isinstance(gamma, str) and gamma == "scale":
        variance = weighted_variance(X, weight)
        return 1.0 / (X.shape[1] * variance) if variance > 0 else 1.0
    if isinstance(gamma, Real) and not isinstance(gamma, bool) and np.isfinite(gamma) and gamma > 0:
        return float(gamma)
    raise ValueError(f"gamma must be 'scale', 'auto' or a positive number, got {gamma!r}.")


def weighted_variance(X, weight):
    """Variance of all entries of X, with a weight for each row."""
    size = weight.sum() * X.shape[1]
    if sparse.issparse(X):
        mean = (weight @ X).sum() / size
        return (weight @ X.multiply(X)).sum() / size - mean**2
    mean = (weight @ X).sum() / size
    centred = X - mean
    return weight @ np.einsum("ij,ij->i", centred, centred) / size


def inner_products(X, Y):
    K = X @ Y.T
    return K.toarray() if sparse.issparse(K) else np.asarray(K)


def squared_norms(X):
    if sparse.issparse(X):
        return np.asarray(X.multiply(X).sum(axis=1)).ravel()
    return np.einsum("ij,ij->i", X, X)


def unit_rows(X):
    """Scale rows to length one; rows of zeros are kept."""
    norms = np.sqrt(squared_norms(X))
    inverse = np.divide(1.0, norms, out=np.zeros_like(norms), where=norms > 0)
    if sparse.issparse(X):
        return sparse.csr_array(X.multiply(inverse[:, None]))
    return X * inverse[:, None]


__all__ = [
    "KernelFunction",
]
