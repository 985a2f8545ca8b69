"""The F-SVM family: learned metrics, and the hinge problems of several whitening exponents.

First the transformer that models with a metric share, and roots of metrics; then `Family`, which solves F-SVM for some exponents,
problems and Cs in one batch, and `FamilyFit`, its result.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import ClassNamePrefixFeaturesOutMixin, TransformerMixin
from sklearn.utils.validation import check_is_fitted

from .._blocks import split
from .._linalg import eigh, svd
from .._types import Data
from ..scatter import NO_SPREAD, RANK_TOL, TemperedScatter, standardised, with_positive_pivots
from ..solvers import IDENTITY, Batch, HingeResult, Options, Quadratics, Results, Start, rows_of, solve
from .base import by_rows
from .features import ExplicitSpace, Raw

RANK = 1e-9  # relative squared singular values below this are rounding


class MetricTransformerMixin(ClassNamePrefixFeaturesOutMixin, TransformerMixin):
    """Transformer of a model that learns a metric M: `components_` is L with ``M = L'L``."""

    @by_rows
    def transform(self, X: Data) -> np.ndarray:
        """Map every row to ``L x``, where Euclidean distances are distances in the learned metric."""
        X = self._validated(X)
        return self._model.space.scores(X, self.components_)

    def get_mahalanobis_matrix(self) -> np.ndarray:
        """Return the learned metric M = L'L."""
        check_is_fitted(self)
        return self.components_.T @ self.components_

    @property
    def _n_features_out(self):
        return len(self.components_)

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.transformer_tags.preserves_dtype = ["float64"]
        return tags


def metric_root(A, white=None):
    """Return the unique L with ``L'L = A'A``: symmetric if it has full rank, else scaled eigenvectors of ``A'A``.

    The rank is that of `white`, the same rows in coordinates in which the data have no thin direction, so that rounding in A adds
    no direction. Without it all directions of A are kept. The largest entry of each eigenvector is positive.
    """
    if white is None:
        return _root(A)
    if len(white) > white.shape[1]:
        return metric_root_of_blocks([(A, white)])
    left, sizes, _ = svd(white, full_matrices=False)
    return _root(left[:, sizes**2 > RANK * sizes[0] ** 2].T @ A)


def metric_root_of_blocks(blocks):
    """Compute `metric_root` of many rows, given in blocks (A, white), without left singular vectors."""
    squares = products = 0.0
    for A, white in blocks:
        squares, products = squares + white.T @ white, products + white.T @ A
    values, axes = eigh(squares)
    kept = values > RANK * values[-1]
    return _root((axes[:, kept] / np.sqrt(values[kept])).T @ products)


def _root(A):
    if not A.any():
        return np.zeros((1, A.shape[1]))
    if len(A) == 1 < A.shape[1]:
        return with_positive_pivots(A)
    _, roots, axes = svd(A, full_matrices=False)
    if len(roots) == A.shape[1]:
        return (axes.T * roots) @ axes
    return with_positive_pivots(axes) * roots[:, None]


# -- F-SVM by exponent: the SVM in the units of the data (-1), on standardised features (0), full whitening (1) -----------


@dataclass(frozen=True, eq=False)
class Family:
    """F-SVM with some whitening exponents on training rows.

    Parameters
    ----------
    rows : ndarray or csr matrix of shape (n, d)
    scatter : TemperedScatter
        Scatter of these rows.
    exponents : tuple of float
        Exponents of the scatter: all above 0, or none.
    intercept : bool, default=True
    """

    rows: Any
    scatter: TemperedScatter
    exponents: tuple[float, ...]
    intercept: bool = True

    def __post_init__(self):
        if not self.scatter.scale.any() or not len(self.scatter.eigenvalues):
            raise ValueError(NO_SPREAD)

    @classmethod
    def on(cls, space: ExplicitSpace, rows, training, kind, exponents, rank_tol=RANK_TOL) -> Family:
        """Build from training rows in a fitted space. Directions of little spread are dropped only if all exponents are above 0."""
        if max(exponents) <= 0 and kind == "total" and isinstance(space, Raw):
            scatter = standardised(rows, training.costs)
        else:
            rank_tol = rank_tol if min(exponents) > 0 else 0.0
            scatter = space.tempered(rows, training.codes, training.costs, kind, rank_tol)
        return cls(rows, scatter, tuple(exponents), training.intercept)

    @cached_property
    def coordinates(self):
        """Rows in the coordinates of the regularisers: as they are, or in the range of a singular scatter."""
        if not self.scatter.regular:
            return self.scatter.project(self.rows, centred=self.intercept)
        constant = (self.scatter.scale == 0) & (self.scatter.mean != 0)  # columns of zeros need no change
        return without_columns(self.rows, constant) if constant.any() and max(self.exponents) > -1 else self.rows

    @cached_property
    def regularizers(self) -> np.ndarray:
        """B = T / n for every exponent, in the units of `coordinates`: diagonals if all of them are diagonal."""
        found = [self._regularizer(p) for p in self.exponents]
        if all(B.ndim == 1 for B in found):
            return np.stack(found)
        return np.stack([np.diag(B) if B.ndim == 1 else B for B in found])

    def _regularizer(self, p):
        if not self.scatter.regular:
            return self.scatter.eigenvalues**p
        B = self.scatter.matrix(p) / self.scatter.total
        return np.where(self.scatter.scale > 0, B, 1.0) if B.ndim == 1 else B

    def fit(self, labels, costs, Cs, options: Options, start: Start | None = None) -> FamilyFit:
        """Solve for every exponent, binary problem and C."""
        B, P = self.regularizers, len(self.exponents)
        cells = None if P == 1 else np.array([[0, k, p] for p in range(P) for k in range(len(labels))])
        is_identity = P == 1 and B.ndim == 2 and (B == 1.0).all()
        quadratics = IDENTITY if is_identity else Quadratics(B)
        batch = Batch(
            rows_of(self.coordinates), labels, costs, np.asarray(Cs, dtype=float), quadratics,
            cells=cells, intercept=bool(self.intercept),
        )  # fmt: skip
        results = solve(batch, options, start)
        return FamilyFit.of(self, results, labels, costs)

    def start(self, coef, intercept, alpha) -> Start:
        """Convert a solution in the user's units to a start of the solver."""
        if not self.scatter.regular:
            coef, intercept = self.scatter.lower(coef, intercept, centred=self.intercept)
        return Start(coef, intercept, alpha)

    def norms(self, coef, p) -> np.ndarray:
        """Return w'Tw / n for separators (K, d) in the user's units."""
        white = self.scatter.whitened(coef, p)
        return np.einsum("kd,kd->k", white, white) / self.scatter.total


@dataclass(frozen=True, eq=False)
class FamilyFit:
    """Separators and certificates for every exponent (P), C and binary problem (K), in the user's units.

    Attributes
    ----------
    coef : ndarray of shape (P, C, K, d)
    intercept, objective, dual_objective : ndarrays of shape (P, C, K)
        The certificates are evaluated on demand: with a singular scatter they cost a pass over all rows.
    results : Results
        The solver's results, in the coordinates of the family.
    problems_of : (Family, labels, costs)
    """

    coef: np.ndarray
    intercept: np.ndarray
    results: Results
    problems_of: tuple

    @classmethod
    def of(cls, family, results, labels, costs) -> FamilyFit:
        coef, intercept = results.coef, results.intercept
        if not family.scatter.regular:
            flat, shift = family.scatter.lift(
                coef.reshape(-1, coef.shape[-1]), intercept.ravel(), centred=family.intercept
            )
            coef, intercept = flat.reshape(*coef.shape[:2], -1), shift.reshape(intercept.shape)
        P = len(family.exponents)
        return cls(_by_member(coef, P), _by_member(intercept, P), results, (family, labels, costs))

    @cached_property
    def objective(self) -> np.ndarray:
        family, labels, costs = self.problems_of
        if family.scatter.regular:
            return _by_member(self.results.objective, len(family.exponents))
        # The certificate is for the returned separators, which are rounded in the user's units.
        return _objectives(family, self.coef, self.intercept, labels, costs[None] * self.results.Cs[:, None])

    @cached_property
    def dual_objective(self) -> np.ndarray:
        return np.minimum(_by_member(self.results.dual_objective, len(self.coef)), self.objective)

    def problems(self, i=0, j=0) -> list[HingeResult]:
        """Return the results for exponent i and C number j, one per binary problem."""
        K = self.coef.shape[2]
        found = [self.results[i * K + k, j] for k in range(K)]
        return [
            replace(
                result, coef=self.coef[i, j, k], intercept=float(self.intercept[i, j, k]),
                objective=float(self.objective[i, j, k]), dual_objective=float(self.dual_objective[i, j, k]),
            )
            for k, result in enumerate(found)
        ]  # fmt: skip


def _by_member(values, P):
    """Reorder axes (P K, C, ...) to (P, C, K, ...)."""
    return np.ascontiguousarray(values.reshape(P, -1, *values.shape[1:]).swapaxes(1, 2))


def _objectives(family, coef, intercept, labels, costs):
    out = np.empty(coef.shape[:3])
    for i, p in enumerate(family.exponents):
        for j, cost in enumerate(costs):
            losses = hinge_losses(family.rows, (coef[i, j], intercept[i, j]), labels, cost)
            out[i, j] = family.norms(coef[i, j], p) / 2 + losses
    return out


def hinge_losses(rows, separators, labels, costs):
    """Return the weighted hinge loss of every binary problem, with labels (K, n), at its separator."""
    coef, intercept = separators
    losses = np.empty(len(coef))
    for block in split(len(coef), len(costs)):
        scores, signs = np.asarray(rows @ coef[block].T) + intercept[block], np.asarray(labels[block])
        losses[block] = (np.maximum(0.0, 1.0 - signs * scores.T) * (signs != 0)) @ costs
    return losses


def without_columns(X, mask):
    """Return X with some columns set to zero."""
    return sparse.csr_array(X.multiply(~mask)) if sparse.issparse(X) else np.where(mask, 0.0, X)
