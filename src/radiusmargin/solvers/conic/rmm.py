"""The relative margin machine (Shivaswamy & Jebara, JMLR 11, 2010): an SVM whose outputs are bounded."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import partial

import numpy as np

from ..._checks import check_number
from ..hinge import solve
from ..problem import Batch, Dense, Options, Quadratics, balanced
from ..result import HingeResult, certificate
from .active_set import GUESS, ActiveSet, active_set_near, saves
from .program import ConicProgram, MarginData, MarginResult, Separator, best_intercept, best_of, prepare, scalings

MOST_ACTIVE_SETS = 10  # then all rows are active
# Guess of the active set: cost of exceeding a bound relative to that of the loss, and relative distance to a bound of active rows.
PENALTY, NEAR_A_BOUND = 10.0, 0.1


@dataclass(frozen=True, eq=False, kw_only=True)
class RMMResult(MarginResult):
    """Solution of the relative margin machine.

    Attributes
    ----------
    bound_multipliers : ndarray of shape (2, n)
        ``lam`` (of ``f_i <= B``) and ``lam*`` (of ``f_i >= -B``); at most one of the two is positive.
    bound_active : ndarray of int
        Rows whose bound has a positive multiplier.
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

    ``min 1/2 |w|^2 + sum_i c_i hinge_i  s.t.  |w'x_i + b| <= B`` with ``c_i = C sample_weight_i``, by the dual, whose matrix
    contains X only once: ``max sum(alpha) - B sum(lam + lam*) - 1/2 |X'theta|^2`` with ``theta = alpha y - lam + lam*`` and
    ``sum(theta) = 0``.

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
        Weights of the losses; a row of weight zero is left out and has no bound.
    fit_intercept : bool
        If False, ``b`` is zero.
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
        return _without_bounds(data, svm, tol)
    rows = _Rows.of(data)
    settings, all_rows = scalings(data.c, rows.size**-2), ActiveSet.all_rows(len(data.y))
    attempt = partial(_attempt, data, rows, B, tol, max_iter)
    active = _guess_active_set(data, rows, B) if svm is not None and saves(*rows.G.shape) else all_rows
    first = [partial(_by_active_set, attempt, data, B, settings[0], active)] if active.is_partial else []
    return best_of([*first, *(partial(_on_all, attempt, setting, all_rows) for setting in settings)])


def _svm(data: MarginData, tol: float, max_iter: int) -> HingeResult | None:
    """Solve the problem without its bounds, a thousandth of the work; None if it was not solved.

    It is the solution if no bound is exceeded, as is common in a grid of B. It is solved to the accuracy of the conic
    program, which is far below the tolerance.
    """
    if np.abs(data.y.sum()) == len(data.y):
        return None  # the hinge solver needs two classes
    batch = Batch(Dense(data.X), data.y[None], data.c, np.ones(1), intercept=data.fit_intercept)
    svm = solve(batch, Options(tol / 100, max_iter, keep_alpha=True)).of(0)[0]
    return svm if svm.gap <= tol else None


def _without_bounds(data: MarginData, svm: HingeResult, tol: float) -> RMMResult:
    """Result if no bound is active: the multipliers of the bounds are zero, and the certificate is the SVM's."""
    alpha = np.zeros(len(data.y)) if svm.alpha is None else svm.alpha
    return RMMResult(
        coef=svm.coef,
        intercept=svm.intercept,
        **certificate(svm.objective, svm.dual_objective, svm.n_iter, tol),
        alpha=data.copies.spread(alpha),
        bound_multipliers=np.zeros((2, len(data.copies.group))),
        bound_active=np.zeros(0, dtype=int),
    )


def _guess_active_set(data: MarginData, rows: _Rows, B: float) -> ActiveSet:
    """Rows near the margin or a bound, by a hinge problem that replaces the bounds by a penalty.

    ``max(0, y f - B)`` is the hinge loss of another row with the opposite label, whose output is shifted by a feature of its
    own. The regulariser keeps the coefficient of that feature at 1.
    """
    (n, d), y = rows.G.shape, data.y
    X = np.zeros((2 * n, d + 1))
    X[:n, :d] = X[n:, :d] = rows.G
    X[n:, d] = -y * (1.0 + B)
    stiff = PENALTY * data.c.sum()
    norm, pull = np.append(np.full(d, rows.size**-2.0), stiff), np.append(np.zeros(d), stiff)
    pinned = Quadratics(norm[None], pull[None], np.array([stiff / 2]))
    weights = np.concatenate([data.c, PENALTY * data.c])
    batch = Batch(Dense(X), np.concatenate([y, -y])[None], weights, np.ones(1), pinned, intercept=data.fit_intercept)
    svm = solve(batch, GUESS).of(0)[0]
    outputs = rows.G @ svm.coef[:d] + svm.intercept
    return active_set_near(1.0 - y * outputs, d, also=np.abs(outputs) > B * (1.0 - NEAR_A_BOUND))


def _by_active_set(attempt, data: MarginData, B: float, setting: tuple[float, ...], active: ActiveSet) -> RMMResult:
    """Solve for the active rows, and add those on the wrong side of the margin or of a bound, until there are none."""
    for _ in range(MOST_ACTIVE_SETS):
        result, outputs = attempt(setting, active)
        slack, beyond = 1.0 - data.y * outputs, np.abs(outputs) > B * (1.0 + 1e-6)
        if result.converged or not (active.misplaces(slack) or (beyond & ~active.free).any()):
            break
        active = active.widened(slack, data.Z.shape[1], also=beyond)
    return result


def _on_all(attempt, setting: tuple[float, ...], all_rows: ActiveSet) -> RMMResult:
    return attempt(setting, all_rows)[0]


@dataclass(frozen=True, eq=False)
class _Rows:
    """The rows divided by their size, in as many coordinates as they span (R6)."""

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
    setting: tuple[float, float, float],
    active: ActiveSet,
) -> tuple[RMMResult, np.ndarray]:
    """Solve with one setting (see `scalings`) and certify the solution; also return its outputs before they are bounded."""
    unit, cap, guard = setting
    c, y, strength = np.minimum(data.c / unit, cap), data.y, unit * rows.size**2
    solution = _program(rows.G, data, c, B, strength, guard, active).solve(max_iter=max_iter)
    theta, w = y * active.whole(y[active.free] * solution.values["theta"], c), -solution.multipliers["w"]
    b = -solution.multipliers["b"][0] if data.fit_intercept else 0.0
    if not np.isfinite(B):
        theta = y * np.clip(y * theta, 0.0, c)
    theta = balanced(theta, data.fit_intercept)
    alpha, over, under = _multipliers(y * theta, c, B)
    v, bounds = rows.G.T @ theta, (over + under).sum()
    dual = unit * (alpha.sum() - (B * bounds if bounds > 0.0 else 0.0) - strength * (v @ v) / 2)
    points = (_primal(data, rows, B, w) for w in (w, strength * v))
    objective, separator = min(points, key=lambda point: point[0])
    lam = unit * np.where(y > 0, [over, under], [under, over])
    result = RMMResult(
        **vars(separator),
        **certificate(objective, float(dual), solution.n_iter, tol),
        alpha=data.copies.spread(alpha * unit),
        bound_multipliers=np.array([data.copies.spread(multipliers) for multipliers in lam]),
        bound_active=data.copies.where(lam.max(axis=0) > 1e-6 * unit * np.abs(theta).max()),
    )
    return result, rows.G @ w + b


def _program(
    G: np.ndarray, data: MarginData, c: np.ndarray, B: float, strength: float, guard: float, active: ActiveSet
) -> ConicProgram:
    """Dual in the multipliers of the free rows; the caller makes its solution feasible."""
    fixed, free = active.fixed(c) * data.y, active.free
    shift, total = G.T @ fixed, fixed.sum()
    G, y, c = G[free], data.y[free], c[free]
    n, d = G.shape
    bounds = {"over": -y, "under": y} if np.isfinite(B) else {}
    program = ConicProgram(v=d, theta=n, alpha=n, **{name: n for name in bounds})
    program.cost(linear={"alpha": -1.0 - guard} | dict.fromkeys(bounds, B * (1.0 - guard)), quadratic={"v": strength})
    program.zero("w", {"v": -1.0, "theta": G.T}, shift)
    program.zero("theta", {"theta": -1.0, "alpha": y} | bounds)
    if data.fit_intercept:
        program.zero("b", {"theta": np.ones((1, n))}, total)
    for name in ("alpha", *bounds):
        program.nonnegative(name, {name: 1.0})
    program.nonnegative("box", {"alpha": -1.0}, c)
    return program


def _multipliers(t: np.ndarray, c: np.ndarray, B: float) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Best ``alpha`` and multipliers of ``y f <= B`` and ``y f >= -B``, for ``t = y theta``."""
    alpha = np.clip(t, 0.0, c) if B >= 1.0 else c
    return alpha, np.maximum(alpha - t, 0.0), np.maximum(t - alpha, 0.0)


def _primal(data: MarginData, rows: _Rows, B: float, w: np.ndarray) -> tuple[float, Separator]:
    """Objective and separator of a feasible point: `w`, scaled down to the bounds if necessary, and the best b."""
    u = rows.G @ w
    reach = np.ptp(u) / 2 if data.fit_intercept else np.abs(u).max()
    shrink = B / reach if reach > B else 1.0
    w, u, b = w * shrink, u * shrink, 0.0
    if data.fit_intercept:
        b = min(max(best_intercept(u, data.y, data.c), -B - u.min()), B - u.max())
    separator = rows.user_units(data, w, b)
    return float((w @ w) / rows.size**2 / 2 + data.loss(separator)), separator
