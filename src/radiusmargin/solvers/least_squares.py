r"""Kernel ridge regression with an intercept (the least-squares SVM): all ridges and targets from one eigendecomposition.

For a ridge :math:`\lambda` and weights :math:`w`,

.. math:: \min_{f, b}\; \tfrac{\lambda}{2} \|f\|^2 + \tfrac{1}{2} \sum_i w_i (y_i - f(x_i) - b)^2,
          \qquad f = \sum_i a_i k(x_i, \cdot), \quad w_i r_i = \lambda a_i, \quad \sum_i a_i = 0 .

Weighted centring removes the intercept, which is not penalised. What remains is diagonal in the eigenvectors of the centred
kernel matrix (`KernelSpectrum`), or of the scatter of explicit features (`FeatureSpectrum`). The same vectors give the exact
leave-one-out residuals :math:`r_i / (1 - h_i)` [1]_.

The dual value at any `a` that sums to zero is a lower bound of the optimum. Its distance to the objective is the squared residual
of the normal equations, :math:`\tfrac{1}{2} \sum_i w_i (r_i - \lambda a_i / w_i)^2`.

References
----------
.. [1] G. Cawley and N. Talbot, "Fast exact leave-one-out cross-validation of sparse least-squares support vector machines",
   Neural Networks 17 (2004).
"""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from .._checks import as_floats, check_finite, check_positive, check_shape, check_symmetric, check_weights
from .._linalg import eigh
from .._types import ArrayLike
from .result import relative_gap

LEAST_FREEDOM = 1e-10  # smallest 1 - h: below it a row decides its own fit
ROUNDING = 16 * np.finfo(float).eps


@dataclass(frozen=True, eq=False)
class KernelSpectrum:
    """Eigendecomposition of a centred kernel matrix, with the roots of the weights on both sides.

    Attributes
    ----------
    vectors : ndarray of shape (n, r)
    values : ndarray of shape (r,)
        Positive eigenvalues.
    weight : ndarray of shape (n,)
    """

    vectors: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    weight: np.ndarray = field(repr=False)

    @classmethod
    def of(cls, K: np.ndarray, weight: np.ndarray) -> KernelSpectrum:
        """Decompose the kernel matrix of rows with positive weights."""
        root, share = np.sqrt(weight), weight / weight.sum()
        mean = share @ K
        centred = K - mean
        centred -= (mean - share @ mean)[:, None]
        centred *= root
        centred *= root[:, None]
        values, vectors = eigh(centred)
        kept = values > len(values) * ROUNDING * max(values[-1], 0.0)
        return cls(np.ascontiguousarray(vectors[:, kept]), values[kept], weight)

    def leave_one_out(self, y: np.ndarray, ridges: np.ndarray) -> np.ndarray:
        """Return the residuals of every row under the model of the other rows, of shape (ridges, n, T) for y of shape (n, T)."""
        projected, outside = self._decomposed(y)
        squares, share = self.vectors**2, self.weight / self.weight.sum()
        # The share of a row that neither vectors nor intercept reach; of a full spectrum only rounding is left.
        unreached = 1.0 - squares.sum(axis=1) - share
        unreached[unreached <= len(share) * ROUNDING] = 0.0
        kept = ridges[:, None] / (self.values + ridges[:, None])  # (R, r)
        freedom = np.maximum(unreached + kept @ squares.T, LEAST_FREEDOM) * np.sqrt(self.weight)
        R, (n, T) = len(ridges), y.shape
        inside = self.vectors @ (kept.T[:, :, None] * projected[:, None, :]).reshape(-1, R * T)
        residuals = outside[:, None, :] + inside.reshape(n, R, T)
        return residuals.transpose(1, 0, 2) / freedom[:, :, None]

    def multipliers(self, y: np.ndarray, ridges: ArrayLike) -> np.ndarray:
        """Return the coefficients `a` (ridges, n, T) of the kernel values; they sum to zero."""
        projected, outside = self._decomposed(y)
        ridges = np.asarray(ridges, dtype=float)[:, None, None]
        R, (n, T) = len(ridges), y.shape
        inside = self.vectors @ (projected / (self.values[:, None] + ridges)).transpose(1, 0, 2).reshape(-1, R * T)
        a = np.sqrt(self.weight)[:, None] * (inside.reshape(n, R, T).transpose(1, 0, 2) + outside / ridges)
        return a - self.weight[:, None] * (a.sum(axis=1, keepdims=True) / self.weight.sum())

    def _decomposed(self, y):
        """Return the coordinates of the scaled and centred targets, and their parts outside of the vectors."""
        target = np.sqrt(self.weight)[:, None] * (y - self.weight @ y / self.weight.sum())
        projected = self.vectors.T @ target
        return projected, target - self.vectors @ projected


@dataclass(frozen=True, eq=False)
class FeatureSpectrum:
    """Eigendecomposition of the weighted scatter of explicit features, with their products with the targets.

    Attributes
    ----------
    axes : ndarray of shape (m, r)
    values : ndarray of shape (r,)
        Positive eigenvalues.
    mean : ndarray of shape (m,)
    target_mean : ndarray of shape (T,)
    products : ndarray of shape (r, T)
    total : float
        Sum of the weights.
    """

    axes: np.ndarray = field(repr=False)
    values: np.ndarray = field(repr=False)
    mean: np.ndarray = field(repr=False)
    target_mean: np.ndarray
    products: np.ndarray = field(repr=False)
    total: float

    @classmethod
    def of(cls, blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]]) -> FeatureSpectrum:
        """Decompose the scatter of blocks (features, targets, weights) of rows.

        Moments are taken about the mean of the first block: they do not cancel where means are large.
        """
        origin: Any = None
        sums: Any = None
        for rows, y, weight in blocks:
            if origin is None:
                origin = weight @ rows / weight.sum(), weight @ y / weight.sum()
            rows, y = rows - origin[0], y - origin[1]
            scaled = rows * weight[:, None]
            found = (weight.sum(), scaled.sum(axis=0), weight @ y, rows.T @ scaled, scaled.T @ y)
            sums = found if sums is None else tuple(map(np.add, sums, found))
        total, first, target, scatter, products = sums
        mean, target_mean = first / total, target / total
        values, axes = eigh(scatter - total * np.outer(mean, mean))
        kept = values > len(values) * ROUNDING * max(values[-1], 0.0)
        products = axes[:, kept].T @ (products - total * np.outer(mean, target_mean))
        return cls(axes[:, kept], values[kept], origin[0] + mean, origin[1] + target_mean, products, float(total))

    def coef(self, ridge: float) -> tuple[np.ndarray, np.ndarray]:
        """Return the coefficients (m, T) of the features, and the intercepts."""
        coef = self.axes @ (self.products / (self.values + ridge)[:, None])
        return coef, self.target_mean - self.mean @ coef

    def leave_one_out(self, rows: np.ndarray, y: np.ndarray, weight: np.ndarray, ridges: np.ndarray) -> np.ndarray:
        """Return the residuals of training rows under the model of the others, of shape (ridges, n, T)."""
        coordinates = (rows - self.mean) @ self.axes
        inverse = 1.0 / (self.values + ridges[:, None])  # (R, r)
        freedom = 1.0 - weight * (1 / self.total + inverse @ (coordinates**2).T)
        R, (n, T) = len(ridges), y.shape
        fit = coordinates @ (inverse.T[:, :, None] * self.products[:, None, :]).reshape(-1, R * T)
        residuals = (y - self.target_mean)[:, None, :] - fit.reshape(n, R, T)
        return residuals.transpose(1, 0, 2) / np.maximum(freedom, LEAST_FREEDOM)[:, :, None]


@dataclass(frozen=True, eq=False)
class LeastSquaresResult:
    """Certified solutions of one ridge: ``f(x) = sum_i coef_i k(x_i, x) + intercept``, for each of T targets.

    Parameters
    ----------
    coef : ndarray of shape (n, T)
    intercept, objective, dual_objective : ndarray of shape (T,)
    """

    coef: np.ndarray = field(repr=False)
    intercept: np.ndarray
    objective: np.ndarray
    dual_objective: np.ndarray

    @property
    def gap(self) -> np.ndarray:
        """Relative duality gaps, one per target."""
        return np.asarray(relative_gap(self.objective, self.dual_objective))


def certified(
    K: np.ndarray, y: np.ndarray, coef: np.ndarray, ridge: float | np.ndarray, weight: np.ndarray
) -> LeastSquaresResult:
    """Return the intercepts and objectives of coefficients that sum to zero.

    Parameters
    ----------
    K : ndarray of shape (n, n)
        Kernel values.
    y, coef : ndarray of shape (n, T)
    ridge : float or ndarray of shape (T,)
    weight : ndarray of shape (n,)
        Positive.
    """
    fit = K @ coef
    intercept = weight @ (y - fit) / weight.sum()
    residuals = y - fit - intercept
    objective = (ridge * np.einsum("it,it->t", coef, fit) + weight @ residuals**2) / 2
    gap = weight @ (residuals - ridge * coef / weight[:, None]) ** 2 / 2
    return LeastSquaresResult(coef, intercept, objective, objective - gap)


def certified_linear(
    blocks: Iterable[tuple[np.ndarray, np.ndarray, np.ndarray]], coef: np.ndarray, ridge: float | np.ndarray
) -> LeastSquaresResult:
    """Return the intercepts and objectives of coefficients of explicit features; the dual point are the residuals over the ridge.

    Parameters
    ----------
    blocks : iterable of (features, targets, weights)
        All training rows.
    coef : ndarray of shape (m, T)
    ridge : float or ndarray of shape (T,)
    """
    sums: Any = None
    for rows, y, weight in blocks:
        residuals = y - rows @ coef
        scaled = weight[:, None] * residuals
        found = (weight.sum(), scaled.sum(axis=0), weight @ rows, rows.T @ scaled, weight @ residuals**2)
        sums = found if sums is None else tuple(map(np.add, sums, found))
    total, first, features, products, squares = sums
    intercept = first / total
    squares = np.maximum(squares - total * intercept**2, 0.0)
    distance = coef - (products - np.outer(features, intercept)) / ridge
    objective = (ridge * (coef**2).sum(axis=0) + squares) / 2
    return LeastSquaresResult(coef, intercept, objective, objective - ridge * (distance**2).sum(axis=0) / 2)


def least_squares_svm(
    K: ArrayLike, y: ArrayLike, ridge: float = 1.0, *, sample_weight: ArrayLike | None = None
) -> LeastSquaresResult:
    """Solve the least-squares SVM (kernel ridge regression with an intercept that is not penalised).

    Parameters
    ----------
    K : array-like of shape (n, n)
        Symmetric positive semi-definite kernel matrix.
    y : array-like of shape (n,) or (n, T)
        One or several targets.
    ridge : float, default=1.0
        Positive factor of the squared norm: `alpha` of scikit-learn's `KernelRidge`, one over `C`.
    sample_weight : array-like of shape (n,), optional
        Weights of the squared residuals. Rows of weight zero have coefficient zero.

    Returns
    -------
    LeastSquaresResult

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import least_squares_svm
    >>> x = np.array([0.0, 1.0, 2.0])
    >>> found = least_squares_svm(np.outer(x, x), 1 + 2 * x, ridge=1e-9)
    >>> round(float((x @ found.coef).item()), 4), round(float(found.intercept[0]), 4)
    (2.0, 1.0)
    """
    K, y = check_symmetric("K", K), as_floats("y", y)
    check_finite("y", y)
    check_shape("y", y.shape[:1], (len(K),))
    check_positive("ridge", ridge)
    targets = y.reshape(len(K), -1)
    weight = check_weights(sample_weight, len(K))
    kept = np.flatnonzero(weight)
    K, own, weight = K[np.ix_(kept, kept)], targets[kept], weight[kept]
    coef = KernelSpectrum.of(K, weight).multipliers(own, [float(ridge)])[0]
    found = certified(K, own, coef, float(ridge), weight)
    coef = np.zeros(targets.shape)
    coef[kept] = found.coef
    return LeastSquaresResult(coef, found.intercept, found.objective, found.dual_objective)


__all__ = [
    "FeatureSpectrum",
    "KernelSpectrum",
    "LeastSquaresResult",
    "certified",
    "certified_linear",
    "least_squares_svm",
]
