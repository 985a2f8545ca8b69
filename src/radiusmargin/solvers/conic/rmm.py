"""The relative margin machine (Shivaswamy & Jebara, JMLR 11, 2010): an SVM whose outputs are bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..._checks import check_number
from ...problems import Batch, Dense, HingeResult, Options, balanced, relative_gap
from ..hinge import solve
from .margin import MarginData, MarginResult, Separator, best_intercept, prepare, scalings
from .program import ConicProgram, best_of


@dataclass(frozen=True, eq=False, kw_only=True)
class RMMResult(MarginResult):
    """Solution of the relative margin machine.

    Attributes
    ----------
    bound_multipliers : ndarray of shape (2, n)
        ``lam`` (of ``f_i <= B``) and ``lam*`` (of ``f_i >= -B``); at most one of the two is positive.
    bound_active : ndarray of int
        Rows whose bound carries a multiplier: the points that shape the metric.
    """

    bound_multipliers: np.ndarray = field(repr=False)
    bound_active: np.ndarray = field(repr=False)


def rmm(
    X: np.ndarray,
    y: np.ndarray,
    C: float = 1.0,
    B: float = 2.0,
    *,
    sample_weight: np.ndarray | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 200,
) -> RMMResult:
    """Solve the relative margin machine.

    ``min 1/2 |w|^2 + sum_i c_i hinge_i  s.t.  |w'x_i + b| <= B`` with ``c_i = C sample_weight_i``, through
    the dual, whose matrix holds X only once: ``max sum(alpha) - B sum(lam + lam*) -
    1/2 |X'theta|^2`` with ``theta = alpha y - lam + lam*`` and ``sum(theta) = 0``.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Rows.
    y : ndarray of shape (n,)
        Labels, -1 or +1.
    C : float
        Cost of the hinge loss, positive.
    B : float
        Bound of the outputs, non-negative; the hinge is linear below 1, and ``inf`` gives the SVM.
    sample_weight : ndarray of shape (n,), optional
        Weights of the losses; a row of weight zero is left out, of its bound too.
    fit_intercept : bool
        Whether ``b`` is free, or zero.
    tol : float
        Relative duality gap to reach.
    max_iter : int
        Interior-point iterations per attempt.

    Returns
    -------
    RMMResult

    Examples
    --------
    >>> result = rmm(np.array([[-4.0], [-1.0], [1.0], [4.0]]), np.array([-1, -1, 1, 1]), C=1.0, B=2.0)
    >>> result.coef.round(6), result.bound_active
    (array([0.5]), array([0, 3]))
    """
    check_number("B", B, 0, high_allowed=True)
    data = prepare(X, y, C, sample_weight, fit_intercept)
    svm = _svm(data, tol, max_iter)
    if svm is not None and np.abs(data.X @ svm.coef + svm.intercept).max() <= B:
        return _without_bounds(data, svm)
    rows = _Rows.of(data)
    attempt = partial(_attempt, data, rows, B, tol, max_iter)
    return best_of(partial(attempt, *way) for way in scalings(data.c, rows.size**-2))


def _svm(data: MarginData, tol: float, max_iter: int) -> HingeResult | None:
    """The problem without its bounds, a thousandth of the work; None where it was not solved.

    Loose bounds, which every grid of B has, often change nothing: then this is the answer. It is solved as well as the cone
    program is, which goes far below its tolerance.
    """
    if np.abs(data.y.sum()) == len(data.y):
        return None  # a single class is no problem of the hinge solver's
    batch = Batch(Dense(data.X), data.y[None], data.c, np.ones(1), intercept=data.fit_intercept)
    svm = solve(batch, Options(tol / 100, max_iter, keep_alpha=True)).of(0)[0]
    return svm if svm.gap <= tol else None


def _without_bounds(data: MarginData, svm: HingeResult) -> RMMResult:
    """The solution where no bound binds: no bound has a multiplier, and the certificate is the SVM's."""
    return RMMResult(
        coef=svm.coef,
        intercept=svm.intercept,
        objective=svm.objective,
        dual_objective=svm.dual_objective,
        n_iter=svm.n_iter,
        converged=True,
        alpha=data.spread(svm.alpha),
        bound_multipliers=np.zeros((2, len(data.group))),
        bound_active=np.zeros(0, dtype=int),
    )


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows in units of their size, and in as many coordinates as they span (R6)."""

    G: np.ndarray
    basis: np.ndarray | None
    size: float

    @classmethod
    def of(cls, data: MarginData) -> _Rows:
        size = data.scale[data.Z.any(axis=0)].max(initial=0.0) or 1.0
        G = (data.Z + data.offset) * (data.scale / size)
        if G.shape[1] <= G.shape[0]:
            return cls(G, None, size)
        basis, coordinates = np.linalg.qr(G.T)
        return cls(coordinates.T, basis, size)

    def user_units(self, data: MarginData, w: np.ndarray, b: float) -> Separator:
        w = w if self.basis is None else self.basis @ w
        return data.user_units(w * data.scale / self.size, b)


def _attempt(
    data: MarginData,
    rows: _Rows,
    B: float,
    tol: float,
    max_iter: int,
    unit: float,
    cap: float,
    guard: float,
) -> RMMResult:
    """Solve with multipliers measured in `unit`, and certify what comes back."""
    c, y, strength = np.minimum(data.c / unit, cap), data.y, unit * rows.size**2
    theta, w, n_iter = _solve_dual(rows.G, data, c, B, strength, guard, max_iter)
    if not np.isfinite(B):
        theta = y * np.clip(y * theta, 0.0, c)
    theta = balanced(theta, data.fit_intercept)
    alpha, over, under = _multipliers(y * theta, c, B)
    v, bounds = rows.G.T @ theta, (over + under).sum()
    dual = unit * (alpha.sum() - (B * bounds if bounds > 0.0 else 0.0) - strength * (v @ v) / 2)
    points = (_primal(data, rows, B, w) for w in (w, strength * v))
    objective, separator = min(points, key=lambda point: point[0])
    lam = unit * np.where(y > 0, [over, under], [under, over])
    return RMMResult(
        **vars(separator),
        objective=objective,
        dual_objective=min(float(dual), objective),
        n_iter=n_iter,
        converged=relative_gap(objective, dual) <= tol,
        alpha=data.spread(alpha * unit),
        bound_multipliers=np.array([data.spread(multipliers) for multipliers in lam]),
        bound_active=data.where(lam.max(axis=0) > 1e-6 * unit * np.abs(theta).max()),
    )


def _solve_dual(
    G: np.ndarray, data: MarginData, c: np.ndarray, B: float, strength: float, guard: float, max_iter: int
) -> tuple[np.ndarray, np.ndarray, int]:
    """Clarabel's ``theta`` and ``w``, both to be made feasible by the caller."""
    (n, d), y = G.shape, data.y
    bounds = {"over": -y, "under": y} if np.isfinite(B) else {}
    program = ConicProgram(v=d, theta=n, alpha=n, **dict.fromkeys(bounds, n))
    program.cost(linear={"alpha": -1.0 - guard} | dict.fromkeys(bounds, B * (1.0 - guard)), quadratic={"v": strength})
    program.zero("w", {"v": -1.0, "theta": G.T})
    program.zero("theta", {"theta": -1.0, "alpha": y} | bounds)
    if data.fit_intercept:
        program.zero("b", {"theta": np.ones((1, n))})
    for name in ("alpha", *bounds):
        program.nonnegative(name, {name: 1.0})
    program.nonnegative("box", {"alpha": -1.0}, c)
    solution = program.solve(max_iter=max_iter)
    return solution.values["theta"], -solution.multipliers["w"], solution.n_iter


def _multipliers(t: np.ndarray, c: np.ndarray, B: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """The best ``alpha``, and multipliers of ``y f <= B`` and ``y f >= -B``, for ``t = y theta``."""
    alpha = np.clip(t, 0.0, c) if B >= 1.0 else c
    return alpha, np.maximum(alpha - t, 0.0), np.maximum(t - alpha, 0.0)


def _primal(data: MarginData, rows: _Rows, B: float, w: np.ndarray) -> tuple[float, Separator]:
    """Objective and separator of a point within the bounds: `w`, shrunk if it must be, and the best b."""
    u = rows.G @ w
    reach = np.ptp(u) / 2 if data.fit_intercept else np.abs(u).max()
    shrink = B / reach if reach > B else 1.0
    w, u, b = w * shrink, u * shrink, 0.0
    if data.fit_intercept:
        b = min(max(best_intercept(u, data.y, data.c), -B - u.min()), B - u.max())
    separator = rows.user_units(data, w, b)
    return float((w @ w) / rows.size**2 / 2 + data.loss(separator)), separator
