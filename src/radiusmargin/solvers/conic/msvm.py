"""MSVM (Zhu, Gong, Zhao, Zhang, IJCNN 2012) at its global optimum, by the QP that remains after eliminating the metric."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..problem import balanced
from ..result import certificate
from .program import ConicProgram, MarginData, MarginResult, Separator, best_intercept, best_of, prepare, scalings


@dataclass(frozen=True, eq=False, kw_only=True)
class MSVMResult(MarginResult):
    """Solution of MSVM.

    Attributes
    ----------
    bound : float
        ``max_i |w'(x_i - xbar)|``; the metric is ``A'A`` with ``A = e_1 w' / bound``.
    mean : ndarray of shape (d,)
        The weighted mean ``xbar``.
    bound_multipliers : ndarray of shape (n,)
        ``delta``, signed multipliers of the bound: ``sum_i alpha_i y_i x_i = sum_i delta_i (x_i - xbar)``.
    bound_active : ndarray of int
        Rows that attain the bound with a positive multiplier.
    """

    bound: float
    mean: np.ndarray = field(repr=False)
    bound_multipliers: np.ndarray = field(repr=False)
    bound_active: np.ndarray = field(repr=False)


def msvm(
    X: np.ndarray,
    y: np.ndarray,
    C: float = 1.0,
    *,
    sample_weight: np.ndarray | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> MSVMResult:
    """Solve MSVM globally.

    The published problem is not convex in (w, A). Eliminating the metric A makes it convex: with
    ``c_i = C sample_weight_i``, ``min 1/2 max_i (w'(x_i - xbar))^2 + sum_i c_i hinge_i``. Its dual is
    ``max sum(alpha) - 1/2 (sum_i |delta_i|)^2`` with ``0 <= alpha <= c``, ``y'alpha = 0`` and
    ``sum_i alpha_i y_i x_i = sum_i delta_i (x_i - xbar)``.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Labels, -1 or +1.
    C : float
        Cost of the hinge loss, positive; it has no unit, since the model is invariant under invertible maps.
    sample_weight : ndarray of shape (n,), optional
        Weights of the losses and of the mean; a row of weight zero is left out, of the bound too.
    fit_intercept : bool
        If False, ``b`` is zero.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Interior-point iterations per attempt.

    Returns
    -------
    MSVMResult

    Examples
    --------
    >>> result = msvm(np.array([[-3.0], [-1.0], [1.0], [3.0]]), np.array([-1, -1, 1, 1]), C=10.0)
    >>> result.coef.round(6), round(result.bound, 6)
    (array([1.]), 3.0)
    """
    data = prepare(X, y, C, sample_weight, fit_intercept)
    space = _Space.of(data)
    attempt = partial(_attempt, data, space, tol, max_iter)
    return best_of(partial(attempt, *setting) for setting in scalings(data.c, 1.0))


@dataclass(frozen=True, eq=False)
class _Space:
    """The rows in orthogonal coordinates, in which no feature is large, small or redundant (S2).

    ``Q`` are the rows in the hinge loss, ``U`` their differences from the mean; ``Q = U`` if there is an intercept. A linear
    function that is constant on the rows serves as an intercept, even with ``fit_intercept=False``.
    """

    Q: np.ndarray
    U: np.ndarray
    back: np.ndarray  # w = back @ (w in these coordinates)
    constant: np.ndarray | None  # w of the function that is 1 on every row
    free: bool  # True if there is an intercept

    @classmethod
    def of(cls, data: MarginData) -> _Space:
        p = data.c / data.c.sum()
        Z, constant = data.Z + data.offset, None
        if not data.fit_intercept:
            constant = np.linalg.lstsq(Z, np.ones(len(Z)), rcond=1e-12)[0]
            constant = constant if np.abs(Z @ constant - 1.0).max() < 1e-9 else None
        free = data.fit_intercept or constant is not None
        left, values, right = np.linalg.svd(Z - p @ Z if free else Z, full_matrices=False)
        rank = int((values > 1e-12 * max(values[0], 1e-300) * max(Z.shape)).sum())
        root = np.sqrt(len(Z))
        Q = left[:, :rank] * root
        back = right[:rank].T * (root / values[:rank])
        return cls(Q, Q - p @ Q, back, constant, free)


def _attempt(
    data: MarginData,
    space: _Space,
    tol: float,
    max_iter: int,
    unit: float,
    cap: float,
    guard: float,
) -> MSVMResult:
    """Solve with multipliers measured in `unit`, and certify the solution."""
    c, y = np.minimum(data.c / unit, cap), data.y
    alpha, delta, w, n_iter = _solve_dual(space, data, c, unit, guard, max_iter)
    alpha = y * balanced(y * np.clip(alpha, 0.0, c), space.free)
    # the smallest change of delta that makes the dual equality hold for this alpha
    delta = delta + np.linalg.lstsq(space.U.T, space.Q.T @ (alpha * y) - space.U.T @ delta, rcond=None)[0]
    dual = unit * (alpha.sum() - unit * np.abs(delta).sum() ** 2 / 2)
    if dual <= 0.0:  # a single class: zero multipliers are better than rounding errors
        alpha, delta, dual = np.zeros_like(alpha), np.zeros_like(delta), 0.0
    points = (_primal(space, data, w) for w in (w, np.zeros_like(w)))
    objective, bound, separator = min(points, key=lambda point: point[0])
    return MSVMResult(
        **vars(separator),
        **certificate(objective, float(dual), n_iter, tol),
        alpha=data.copies.spread(alpha * unit),
        bound=bound,
        mean=data.centre + data.scale * (data.offset + data.c @ data.Z / data.c.sum()),
        bound_multipliers=data.copies.spread(delta * unit),
        bound_active=data.copies.where(np.abs(delta) > 1e-6 * np.abs(delta).max()),
    )


def _solve_dual(
    space: _Space, data: MarginData, c: np.ndarray, unit: float, guard: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, np.ndarray, int]:
    """Clarabel's ``alpha``, ``delta`` and ``w``; the caller makes `alpha` and `delta` feasible."""
    (n, rank), y, row = space.Q.shape, data.y, np.ones((1, len(data.y)))
    program = ConicProgram(theta=n, alpha=n, over=n, under=n, total=1, t=1)
    program.cost(linear={"alpha": -1.0 - guard}, quadratic={"t": unit})
    # theta = alpha y - delta + p sum(delta): with x_i - xbar = Q_i - p'Q, the equality reads Q'theta = 0
    p = (data.c / data.c.sum())[:, None]
    shift = {} if space.free else {"total": p}
    program.zero("theta", {"theta": -1.0, "alpha": y, "over": -1.0, "under": 1.0} | shift)
    if rank:
        program.zero("w", {"theta": space.Q.T})
    program.zero("total", {"total": -1.0, "over": row, "under": -row})
    program.zero("t", {"t": -1.0, "over": row, "under": row})
    if space.free:
        program.zero("b", {"alpha": y[None, :]})
    for name in ("alpha", "over", "under"):
        program.nonnegative(name, {name: 1.0})
    program.nonnegative("box", {"alpha": -1.0}, c)
    solution = program.solve(max_iter=max_iter)
    values = solution.values
    w = -solution.multipliers["w"] if rank else np.zeros(0)
    return values["alpha"], values["over"] - values["under"], w, solution.n_iter


def _primal(space: _Space, data: MarginData, w: np.ndarray) -> tuple[float, float, Separator]:
    """Objective, bound and separator of the point given by `w`."""
    b = best_intercept(space.Q @ w, data.y, data.c) if space.free else 0.0
    separator = _user_units(data, space, w, b)
    outputs = data.X @ separator.coef
    bound = float(np.abs(outputs - data.c @ outputs / data.c.sum()).max())
    return bound**2 / 2 + data.loss(separator), bound, separator


def _user_units(data: MarginData, space: _Space, w: np.ndarray, b: float) -> Separator:
    """The separator of the user's X."""
    w = space.back @ w
    if space.free:
        b -= (data.offset + data.c @ data.Z / data.c.sum()) @ w
    if space.constant is not None:
        w, b = w + b * space.constant, 0.0
    return data.user_units(w, b)
