"""Radius-margin problems: a metric M and max-margin separators learned together, exactly and with a certificate.

    min over W, b:   phi(N(W)) + C sum_k sum_i s_i max(0, 1 - y_ik (x_i'w_k + b_k))

with N and phi from `metric_norm`. One column and eta = 0 is F-SVM, an SVM with the regulariser T; eta > 0 and several
columns that share M need `matrix_newton`.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .hinge import _solve
from .matrix_newton import solve_matrix_newton
from .metric_norm import Constrained, MetricNorm, Penalised
from .result import Result, relative_gap


@dataclass(frozen=True, eq=False, kw_only=True)
class RadiusMarginResult(Result):
    """Solution of a radius-margin problem with K columns: `coef` (K, d), `intercept` (K,), `alpha` (K, n), `M`."""

    coef: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray = field(repr=False)
    M: np.ndarray = field(repr=False)


@dataclass(eq=False)
class RadiusMarginProblem:
    """The validated data of a problem: rows X, labels Y (K, n), loss weights, and what M is measured by.

    `penalty` is the form (constrained or penalised), `norm` the function N. X may be sparse.
    """

    X: np.ndarray
    Y: np.ndarray
    C: float
    norm: MetricNorm
    penalty: Constrained | Penalised
    weights: np.ndarray
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 1000

    @property
    def n_columns(self):
        return len(self.Y)

    def losses(self, W, b):
        """Weighted hinge loss of each column."""
        margins = self.Y.T * (self.X @ W + b)
        return self.C * (self.weights @ np.maximum(0.0, 1.0 - margins))

    def objective(self, W, b):
        return self.penalty.value(self.norm.value(W)) + self.losses(W, b).sum()

    def dual(self, alpha):
        """(value, feasible alpha) of the dual; every alpha in the box with y'alpha = 0 gives a lower bound."""
        G = self.X.T @ (self.Y * alpha).T
        value, scale = self.norm.dual_value(self.penalty, alpha.sum(), G)
        return value, scale * alpha

    def hinge(self, columns, B, start, tol):
        """Solve the hinge problems of some columns for one regulariser, warm-started."""
        return _solve(
            self.X, np.ascontiguousarray(self.Y[columns]), self.weights, np.array([self.C]), B=B[None],
            problems=np.array([[0, j, 0] for j in range(len(columns))]), start=start,
            keep_alpha=True, fit_intercept=self.fit_intercept, tol=tol, max_iter=self.max_iter,
        )  # fmt: skip


@dataclass(eq=False)
class State:
    """Where an outer method stands: the current point, and the best bounds so far."""

    problem: RadiusMarginProblem
    W: np.ndarray
    b: np.ndarray
    alpha: np.ndarray
    n_iter: int = 0
    best_dual: float = -np.inf
    best_alpha: np.ndarray | None = None
    history: list = field(default_factory=list)

    def start(self, columns):
        theta = np.column_stack([self.W.T, self.b]) if self.problem.fit_intercept else self.W.T
        return np.ascontiguousarray(theta[columns]), np.ascontiguousarray(self.alpha[columns])

    def take(self, columns, batch):
        self.W[:, columns], self.b[columns] = batch.coef[:, 0].T, batch.intercept[:, 0]
        self.alpha[columns] = batch.alpha[:, 0]
        self.n_iter += int(batch.n_iter.sum())

    def certify(self, **entry):
        """Offer the current multipliers to the dual, note both objectives, and return the relative gap."""
        objective = self.problem.objective(self.W, self.b)
        dual, alpha = self.problem.dual(self.alpha)
        if dual > self.best_dual:
            self.best_dual, self.best_alpha = dual, alpha
        gap = relative_gap(objective, self.best_dual)
        self.history.append({"objective": objective, "dual_objective": self.best_dual, "gap": gap} | entry)
        return gap

    def result(self, M=None):
        problem = self.problem
        objective = problem.objective(self.W, self.b)
        point = problem.norm.at(self.W)
        return RadiusMarginResult(
            coef=np.ascontiguousarray(self.W.T),
            intercept=self.b.copy(),
            alpha=self.best_alpha,
            M=point.metric(problem.penalty) if M is None else M,
            objective=objective,
            dual_objective=self.best_dual,
            n_iter=self.n_iter,
            converged=relative_gap(objective, self.best_dual) <= problem.tol,
            history=tuple(self.history),
        )


def initial_state(problem, init=None):
    """The separators of every column in the whitened metric: exact for one column and eta = 0."""
    K, n = problem.Y.shape
    d = problem.X.shape[1]
    state = State(problem, np.zeros((d, K)), np.zeros(K), np.zeros((K, n)))
    columns = np.arange(K)
    start = (None, None)
    if init is not None:
        state.W, state.b = init[0].T.copy(), init[1].copy()
        start = (state.start(columns)[0], init[2])
    kappa = problem.penalty.kappa if isinstance(problem.penalty, Constrained) else problem.weights.sum()
    state.take(columns, problem.hinge(columns, problem.norm.T / kappa, start, max(0.1 * problem.tol, 1e-10)))
    return state


def solve_exact(problem, init=None):
    """Minimise to `tol`: one hinge problem, a scalar equation, or matrix Newton steps, whichever the case needs."""
    state = initial_state(problem, init)
    if problem.n_columns > 1 or problem.norm.eta > 0.0:
        return solve_matrix_newton(problem, state)
    if isinstance(problem.penalty, Penalised):
        return _solve_penalised(problem, state)
    state.certify()
    return state.result()


def _solve_penalised(problem, state, max_solves=60):
    """sqrt(2 rho) |T^{1/2}w| + C sum hinge: the constrained solution whose C' satisfies C' = C |T^{1/2}w| / sqrt(2 rho).

    C'/|T^{1/2}w(C')| grows with C', so a bracketing secant in log C' finds it; below its limit at zero, w = 0.
    """
    C, goal = problem.C, np.log(problem.C / problem.penalty.slope(None))
    columns = np.array([0])

    def solve(log_C):
        inner = RadiusMarginProblem(**(problem.__dict__ | {"C": float(np.exp(log_C))}))
        state.take(columns, inner.hinge(columns, problem.norm.T, state.start(columns), max(0.01 * problem.tol, 1e-11)))
        length = problem.norm.value(state.W)
        state.alpha *= C / inner.C  # in the box of the penalised problem, |T^{-1/2}g| = sqrt(2 rho) at the root
        gap = state.certify()
        return log_C - np.log(max(length, 1e-300)) - goal, gap

    low = high = goal + np.log(max(problem.norm.value(state.W), 1e-300))
    error, gap = solve(low)
    values = {"low": error, "high": error}
    for step in range(max_solves):
        if gap <= problem.tol:
            return state.result()
        if values["low"] > 0:  # the root lies at a smaller C'
            low -= 2.0 * (step + 1)
            point, side = low, "low"
        elif values["high"] < 0:
            high += 1.0 + max(0.0, -values["high"])
            point, side = high, "high"
        else:
            share = values["low"] / (values["low"] - values["high"])
            point = low + np.clip(share, 0.02, 0.98) * (high - low)
            side = None
        error, gap = solve(point)
        side = side or ("low" if error < 0 else "high")
        if side == "low":
            low = point
        else:
            high = point
        values[side] = error
        if side == "low" and error > 0:
            zero = _offer_zero(problem, state)
            if zero is not None:
                return zero
    return state.result()


def _offer_zero(problem, state):
    """w = 0 with the better constant prediction, if the multipliers at hand already prove it optimal."""
    W, b, y = np.zeros_like(state.W), np.zeros_like(state.b), problem.Y[0]
    if problem.fit_intercept:
        b[0] = np.sign(problem.weights @ y)
    if relative_gap(problem.objective(W, b), state.best_dual) > problem.tol:
        return None
    state.W, state.b = W, b
    return state.result(M=np.zeros_like(problem.norm.T))
