"""One fit on all rows instead of one per fold: the span rule and the radius-margin bound score members from it.

It exists because these criteria need no splits.

References
----------
.. [1] V. Vapnik and O. Chapelle, "Bounds on error expectation for support vector machines", Neural Computation 12
(2000).
.. [2] K.-M. Chung et al., "Radius margin bounds for support vector machines with the RBF kernel", Neural Computation 15
(2003).
"""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from scipy import linalg, sparse

from ..estimators.family import Family, hinge_losses
from ..geometry.enclosing_ball import minimum_enclosing_ball

UNDETERMINED = 1e100  # stands for an infinite decision value, of which sums can be formed


def span_loo(
    X: np.ndarray,
    y: np.ndarray,
    coef: np.ndarray,
    intercept: float,
    alpha: np.ndarray,
    c: np.ndarray,
    regularizer: np.ndarray | None = None,
    fit_intercept: bool = True,
) -> np.ndarray:
    """Leave-one-out decision values ``y_i f_{-i}(x_i)`` of a hinge solution, approximately and without refitting.

    The span rule (Vapnik and Chapelle 2000): leaving row p out lowers its margin by ``alpha_p S_p^2``, with S_p the distance of x_p to the
    span of the other rows that sit exactly on the margin. Exact as long as no other row leaves or joins the margin.

    Parameters
    ----------
    X, y : arrays of shapes (n, d) and (n,), labels -1 and +1
    coef, intercept, alpha : the solution
    c : array of shape (n,)
        Upper bounds of alpha.
    regularizer : array of shape (d, d), optional
        The matrix B of the problem.
    fit_intercept : bool, default=True
        Whether the solution has one.

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


def radius_margin_bound(radius: float, objective_terms: tuple[float, float], C: float) -> float:
    """(R^2 + 1/C) (w'Bw + 2 C sum slack): the radius-margin bound for the hinge loss, as modified by Chung et al. (2003).

    Parameters
    ----------
    radius : float
        Of the data in the metric of the problem.
    objective_terms : tuple of float
        The pair (w'Bw, C sum slack).
    C : float
    """
    squared_norm, loss = objective_terms
    return (radius**2 + 1.0 / C) * (squared_norm + 2.0 * loss)


class OneFit:
    """The members on all rows of a search, scored from that one fit."""

    def __init__(self, data):
        self.data = data

    def score(self, task, scores):
        whole, group = self.data.training, task.group
        with scores.work("fit", 0):
            space = group.features.explicit(group.powers[0])
            rows = space.fit(whole.X, whole.costs)
            rows = rows.toarray() if sparse.issparse(rows) else rows
        for p in task.powers:
            with scores.work("fit", 0):
                family = Family.on(space, rows, whole, group.scatter, (p,), group.features.rank_tol)
                for C, value in zip(task.Cs, self._values(family, task), strict=True):
                    scores.set(group.member(p, C), 0, value)
        return ()

    def _values(self, family, task):
        """The criterion for every C; more is better."""
        whole = self.data.training
        options = replace(task.options, tol=min(task.options.tol, 1e-5), keep_alpha=True)
        found = family.fit(whole.labels, whole.costs, task.Cs, options).results
        B = family.regularizers[0]
        B = np.diag(B) if B.ndim == 1 else B
        score = self._minus_bound if self.data.criterion == "radius-margin" else self._loo_accuracy
        return [score(family.coordinates, B, C, found.at([j])) for j, C in enumerate(task.Cs)]

    def _minus_bound(self, rows, B, C, found):
        whole, coef, intercept = self.data.training, found.coef[:, 0], found.intercept[:, 0]
        radius = minimum_enclosing_ball(np.linalg.solve(np.linalg.cholesky(B), rows.T).T).radius
        losses = C * hinge_losses(rows, (coef, intercept), whole.labels, whole.costs)
        return -sum(radius_margin_bound(radius, (w @ B @ w, loss), C) for w, loss in zip(coef, losses, strict=True))

    def _loo_accuracy(self, rows, B, C, found):
        whole = self.data.training
        decision = found.coef[:, 0] @ rows.T + found.intercept
        for k, y in enumerate(whole.labels):
            J = np.flatnonzero(y)  # leaving another row out changes nothing
            solution = found.coef[k, 0], found.intercept[k, 0], found.alpha[k, 0, J]
            decision[k, J] = y[J] * span_loo(rows[J], y[J], *solution, C * whole.costs[J], B, whole.intercept)
        decision = np.clip(decision, -UNDETERMINED, UNDETERMINED)
        right = whole.reduction.predict(decision.T) == whole.codes
        return whole.weight @ right / whole.weight.sum()
