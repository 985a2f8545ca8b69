"""Criteria that need one fit on all rows instead of one per fold: the span rule and the radius-margin bound.

References
----------
.. [1] V. Vapnik and O. Chapelle, "Bounds on error expectation for support vector machines", Neural Computation 12
(2000).
.. [2] K.-M. Chung et al., "Radius margin bounds for support vector machines with the RBF kernel", Neural Computation 15
(2003).
"""

from __future__ import annotations

import numpy as np
from scipy import linalg


def span_loo(X, y, coef, intercept, alpha, c, regularizer=None, fit_intercept=True):
    """Leave-one-out decision values ``y_i f_{-i}(x_i)`` of a hinge solution, approximately and without refitting.

    The span rule [1]_: leaving row p out lowers its margin by ``alpha_p S_p^2``, with S_p the distance of x_p to the
    span of the other rows that sit exactly on the margin. Exact as long as no other row leaves or joins the margin.

    Parameters
    ----------
    X, y : arrays of shapes (n, d) and (n,), labels -1 and +1
    coef, intercept, alpha : the solution
    c : array of shape (n,)
        Upper bounds of alpha.
    regularizer : array of shape (d, d), optional
        The matrix B of the problem.

    Returns
    -------
    ndarray of shape (n,)
    """
    margins = y * (X @ coef + intercept)
    free = (alpha > 1e-6 * c) & (alpha < (1 - 1e-6) * c)
    support = alpha > 1e-6 * c
    B = np.eye(X.shape[1]) if regularizer is None else regularizer
    L = linalg.cholesky(B, lower=True)
    Z = linalg.solve_triangular(L, X[support].T, lower=True).T  # rows in the metric of the problem
    spans = _squared_spans(Z, free[support], fit_intercept)
    out = margins.copy()
    # With no row on the margin the intercept is not determined, and leaving a row out may move it anywhere.
    out[support] = -np.inf if fit_intercept and not free.any() else out[support] - alpha[support] * spans
    return out


def _squared_spans(Z, free, fit_intercept):
    """Squared distance of every row to the (affine, with an intercept) span of the other free rows."""
    F = Z[free]
    if len(F) == 0:
        return np.einsum("ij,ij->i", Z, Z)
    ridge = 1e-9 * max(np.einsum("ij,ij->i", F, F).mean(), 1e-300)
    K = F @ F.T + ridge * np.eye(len(F))
    if fit_intercept:
        K = np.block([[K, np.ones((len(F), 1))], [np.ones((1, len(F))), np.zeros((1, 1))]])
    inverse = np.linalg.pinv(K, hermitian=True)
    spans = np.empty(len(Z))
    diagonal = np.diag(inverse)[: len(F)]
    spans[free] = np.where(diagonal > 0, 1.0 / np.where(diagonal > 0, diagonal, 1.0), 0.0)
    outside = Z[~free]
    cross = outside @ F.T
    if fit_intercept:
        cross = np.column_stack([cross, np.ones(len(outside))])
    spans[~free] = np.einsum("ij,ij->i", outside, outside) - np.einsum("ij,jk,ik->i", cross, inverse, cross)
    return spans.clip(0.0)


def radius_margin_bound(radius, objective_terms, C):
    """(R^2 + 1/C) (w'Bw + 2 C sum slack): the radius-margin bound for the hinge loss, as modified in [2]_.

    `radius` is that of the data in the metric of the problem; `objective_terms` the pair (w'Bw, C sum slack).
    """
    squared_norm, loss = objective_terms
    return (radius**2 + 1.0 / C) * (squared_norm + 2.0 * loss)
