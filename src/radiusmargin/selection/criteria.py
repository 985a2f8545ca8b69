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

from ..geometry import minimum_enclosing_ball
from .family import coordinates, fit_family, regularizer

UNDETERMINED = 1e100  # stands for an infinite decision value, of which sums can be formed


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


class OneFit:
    """The members of the family on all rows of a search, scored from that one fit."""

    def __init__(self, search, X, codes, weight, score_weight, space):
        self.search, self.codes, self.weight, self.score_weight, self.space = search, codes, weight, score_weight, space
        self.columns = search._reduction.columns(codes)
        self.X, self.rows = X, coordinates(space, X, search.fit_intercept)

    def criterion(self, p, Cs):
        """The search's criterion for every C; more is better."""
        search = self.search
        batch = fit_family(
            self.X, self.columns, self.weight, self.space, [p], Cs, tol=min(search.cv_tol, 1e-5), keep_alpha=True,
            fit_intercept=search.fit_intercept, max_iter=int(search.max_iter), n_jobs=search.n_jobs,
        ).batch  # fmt: skip
        B = regularizer(self.space, p)
        B = np.diag(B) if B.ndim == 1 else B
        score = self._minus_bound(B) if search.criterion == "radius-margin" else self._loo_accuracy(B)
        return [score(C, batch.coef[:, j], batch.intercept[:, j], batch.alpha[:, j]) for j, C in enumerate(Cs)]

    def _minus_bound(self, B):
        radius = minimum_enclosing_ball(np.linalg.solve(np.linalg.cholesky(B), self.rows.T).T).radius
        taking_part = self.columns != 0

        def score(C, coef, intercept, alpha):
            margins = self.columns * (coef @ self.rows.T + intercept[:, None])
            losses = C * (taking_part * np.maximum(0, 1 - margins)) @ self.weight
            return -sum(radius_margin_bound(radius, (w @ B @ w, loss), C) for w, loss in zip(coef, losses, strict=True))

        return score

    def _loo_accuracy(self, B):
        def score(C, coef, intercept, alpha):
            decision = coef @ self.rows.T + intercept[:, None]
            for k, y in enumerate(self.columns):
                J = np.flatnonzero(y)  # leaving another row out changes nothing
                loo = span_loo(
                    self.rows[J],
                    y[J],
                    coef[k],
                    intercept[k],
                    alpha[k, J],
                    C * self.weight[J],
                    B,
                    self.search.fit_intercept,
                )
                decision[k, J] = y[J] * loo
            decision = np.clip(decision, -UNDETERMINED, UNDETERMINED)
            right = self.search._reduction.predict(decision.T) == self.codes
            return self.score_weight @ right / self.score_weight.sum()

        return score
