"""MR-SVM (Do, Kalousis, Hilario, ECML-PKDD 2009): feature weights that trade the margin for the radius."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from ..problem import balanced
from ..result import certificate
from .program import MarginData, MarginResult, Separator, best_of, gradient_program, prepare, weighted_norm


@dataclass(frozen=True, eq=False, kw_only=True)
class MRSVMResult(MarginResult):
    """Solution of MR-SVM.

    Attributes
    ----------
    mu : ndarray of shape (d,)
        Weights of the features, on the simplex.
    radius_bound : float
        ``s(mu) = sum_k mu_k R_k^2``, which bounds the squared radius of the weighted data.
    """

    mu: np.ndarray
    radius_bound: float


def mrsvm(
    X: np.ndarray,
    y: np.ndarray,
    C: float = 1.0,
    *,
    sample_weight: np.ndarray | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> MRSVMResult:
    """Solve MR-SVM with squared slacks, the convex form of the model.

    ``min 1/2 sum_k w_k^2 / mu_k + 1/(2 s(mu)) sum_i c_i xi_i^2`` over the simplex of `mu`, with
    ``c_i = C sample_weight_i``, ``s(mu) = sum_k mu_k R_k^2`` and R_k the half range of feature k; by the dual
    ``max sum(alpha) - 1/2 max_k [g_k^2 + R_k^2 sum_i alpha_i^2 / c_i]``, ``g = sum_i alpha_i y_i x_i``.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Labels, -1 or +1.
    C : float
        Cost of the squared hinge loss, positive; it has no unit, since the loss is divided by ``s(mu)``.
    sample_weight : ndarray of shape (n,), optional
        Weights of the losses; a row of weight zero is left out, of the ranges too.
    fit_intercept : bool
        If False, ``b`` is zero.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Interior-point iterations per attempt.

    Returns
    -------
    MRSVMResult

    Examples
    --------
    The second feature carries no information and gets no weight:

    >>> X = np.array([[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]])
    >>> mrsvm(X, np.array([-1, -1, 1, 1])).mu.round(6)
    array([1., 0.])
    """
    data = prepare(X, y, C, sample_weight, fit_intercept)
    R = np.ptp(data.Z, axis=0) / 2 * data.scale
    if not R.any():
        raise ValueError("X must have a feature that varies: MR-SVM divides the loss by the radius")
    attempt = partial(_attempt, data, R / R.max(), R.max(), tol, max_iter)
    size = data.c.mean()
    return best_of(partial(attempt, unit) for unit in (size, min(size, 1.0), 1.0 / len(data.y)))


def _attempt(data: MarginData, R: np.ndarray, sigma: float, tol: float, max_iter: int, unit: float) -> MRSVMResult:
    """Solve for ``x / sigma`` with multipliers measured in `unit`, and certify the solution."""
    y, c, relative = data.y, data.c, data.scale / sigma
    alpha, mu, w, n_iter = _solve_dual(R, data, relative, unit, max_iter)
    alpha = y * balanced(y * np.maximum(alpha, 0.0), data.fit_intercept)
    g = relative * data.gradient(alpha * y)
    # along the ray of alpha the dual is a parabola; take its maximum
    linear, quadratic = alpha.sum(), (g**2 + R**2 * (alpha**2 / c).sum()).max()
    top = linear / quadratic if quadratic > 0.0 else 0.0
    dual = linear * top / 2
    points = (_primal(R, data, relative, mu, w) for w in (w, mu * g * top))
    objective, separator = min(points, key=lambda point: point[0])
    return MRSVMResult(
        **vars(separator),
        **certificate(float(objective / sigma**2), float(dual / sigma**2), n_iter, tol),
        alpha=data.copies.spread(alpha * top / sigma**2),
        mu=mu,
        radius_bound=float(mu @ R**2) * sigma**2,
    )


def _solve_dual(
    R: np.ndarray, data: MarginData, relative: np.ndarray, unit: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Clarabel's ``alpha``, ``mu`` and ``w`` for ``x / sigma``, of which only `mu` is feasible.

    ``min -sum(a) + tau/2`` with ``g_k^2 + R_k^2 u <= tau``, ``u >= unit sum_i a_i^2 / c_i``, a in units.
    """
    root, n, d = np.sqrt(unit), len(data.y), len(R)
    program = gradient_program(data, root * relative, squares=n, u=1, tau=1)
    program.cost(linear={"alpha": -1.0, "tau": 0.5})
    p = {"tau": np.ones((d, 1)), "u": -(R[:, None] ** 2)}
    program.rotated("mu", (p, 0.0), ({}, np.ones(d)), ({"g": 1.0}, 0.0))
    # a cone for each row: a single large one for the sum of squares stalls at fewer digits
    program.zero("u", {"u": -1.0, "squares": np.ones((1, n))})
    program.rotated("xi", ({"squares": 1.0}, 0.0), ({}, np.ones(n)), ({"alpha": np.sqrt(unit / data.c)}, 0.0))
    solution = program.solve(max_iter=max_iter)
    mu = np.maximum(solution.multipliers["mu"][0], 0.0)
    return unit * solution.values["alpha"], mu / mu.sum(), -root * solution.multipliers["w"], solution.n_iter


def _primal(
    R: np.ndarray, data: MarginData, relative: np.ndarray, mu: np.ndarray, w: np.ndarray
) -> tuple[float, Separator]:
    """Objective and separator of the point given by `w`, without the features that have no weight."""
    w = np.where(mu > 0.0, w, 0.0)
    u = data.outputs(w * relative)
    b = _best_intercept(u, data.y, data.c) if data.fit_intercept else 0.0
    separator = data.user_units(w * relative, b)
    loss = data.loss(separator, power=2)
    return (weighted_norm(w, mu) + (loss / (mu @ R**2) if loss > 0.0 else 0.0)) / 2, separator


def _best_intercept(u: np.ndarray, y: np.ndarray, c: np.ndarray) -> float:
    """Minimise ``sum_i c_i hinge(y_i (u_i + b))^2`` over b; the middle if the minimisers are an interval.

    Its derivative is piecewise linear with the kinks ``b = y_i - u_i``: evaluate it there and interpolate.
    """
    order = np.argsort(y - u)
    kinks = (y - u)[order]
    below, above = np.where(y < 0, c, 0.0)[order], np.where(y > 0, c, 0.0)[order]
    pull_up = (above * kinks).sum() - np.cumsum(above * kinks) - kinks * (above.sum() - np.cumsum(above))
    slope = kinks * np.cumsum(below) - np.cumsum(below * kinks) - pull_up
    left, right = int(np.searchsorted(slope, 0.0, side="left")), int(np.searchsorted(slope, 0.0, side="right"))
    if right > left:
        return float(kinks[left] + kinks[right - 1]) / 2
    left = min(max(left, 1), kinks.size - 1)
    (low, high), (start, end) = slope[left - 1 : left + 1], kinks[left - 1 : left + 1]
    return float(start - low * (end - start) / (high - low))
