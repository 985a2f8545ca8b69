"""What eliminating the metric M leaves behind: a (smoothed) nuclear norm, its metric and its dual.

For a scatter T, weights W (one column per problem that shares M) and a smoothing eta >= 0, minimising over M ::

    1/2 tr(M^{-1} Q) + rho tr(MT)      or      1/2 tr(M^{-1} Q)  s.t.  tr(MT) <= kappa,        Q = WW' + eta I

gives ``sqrt(2 rho) N(W)`` or ``N(W)^2 / (2 kappa)`` with ``N(W) = tr (T^{1/2} Q T^{1/2})^{1/2}``, the nuclear norm of
``T^{1/2} [W, sqrt(eta) I]``. Everything below is in the coordinates ``V = T^{1/2} W``.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..._linalg import eigh, eigvalsh, svd
from ..hinge import solve
from ..problem import Batch, Options, Quadratics, Start, balanced
from ..result import Result, certificate, relative_gap

RANK = 1e-9  # relative size of a singular value that is rounding


@dataclass(frozen=True)
class Constrained:
    """Eq. 11 of the paper, ``tr(MT) <= kappa``: the norm enters as ``phi(N) = N^2 / (2 kappa)``."""

    kappa: float
    is_quadratic = True  # phi(N) is, for one column without smoothing

    def value(self, N):
        return N**2 / (2 * self.kappa)

    def slope(self, N):
        return N / self.kappa

    @property
    def curvature(self):
        return 1.0 / self.kappa

    def bound(self, weight):
        """tr(MT) of the metric to start from, for rows of this total weight."""
        return self.kappa

    def dual_value(self, norm, alpha_sum, G, N):
        """See `MetricNorm.dual_value`. Every t >= |T^{-1/2}G|_2 gives a bound; the best is the slope of phi at the optimum."""
        spectral = norm.dual_norm(G)
        if norm.eta == 0.0:
            scale = min(1.0, alpha_sum / (self.kappa * spectral**2)) if spectral > 0 else 1.0
            return scale * alpha_sum - self.kappa / 2 * (scale * spectral) ** 2, scale
        t = max(spectral, self.slope(N))
        return alpha_sum + norm.smoothing(G, t) - self.kappa * t**2 / 2, 1.0

    def threshold(self, s, sigma):
        """Level at which the proximal map of phi / sigma clips singular values s.

        ``tau = N(U) / (kappa sigma)`` with ``N(U) = sum (s - tau)_+``: every number of values above tau is tried.
        """
        candidates = np.cumsum(s) / (self.kappa * sigma + np.arange(1, len(s) + 1))
        return candidates[np.flatnonzero(s > candidates)[-1]] if (s > candidates).any() else 0.0

    def threshold_slope(self, count, sigma):
        """How much the level moves with each of the `count` values above it."""
        return 1.0 / (self.kappa * sigma + count)

    def conjugate(self, t):
        """phi*(t)."""
        return self.kappa * t**2 / 2

    def metric_cost(self, M):
        """What M costs in the objective: nothing, since its trace is given (T is the identity here, and below)."""
        return 0.0

    def multiplier(self, inverse, Q):
        """rho, or what takes its place where the trace of M is fixed."""
        return np.trace(inverse @ Q) / (2 * self.kappa)

    def first_metric(self, M):
        return self.feasible_metric(M)

    def feasible_metric(self, M):
        return M * (self.kappa / np.trace(M))


@dataclass(frozen=True)
class Penalised:
    """Eq. 12 of the paper, ``rho tr(MT)`` in the objective: the norm enters as ``phi(N) = sqrt(2 rho) N``."""

    rho: float
    is_quadratic = False
    curvature = 0.0

    def value(self, N):
        return np.sqrt(2 * self.rho) * N

    def slope(self, N):
        return np.sqrt(2 * self.rho)

    def bound(self, weight):
        return weight

    def dual_value(self, norm, alpha_sum, G, N):
        t, spectral = self.slope(N), norm.dual_norm(G)
        scale = min(1.0, t / spectral) if spectral > 0 else 1.0
        return scale * alpha_sum + norm.smoothing(scale * G, t), scale

    def threshold(self, s, sigma):
        return self.slope(None) / sigma

    def threshold_slope(self, count, sigma):
        return 0.0

    def conjugate(self, t):
        return 0.0

    def metric_cost(self, M):
        return self.rho * np.trace(M)

    def multiplier(self, inverse, Q):
        return self.rho

    def first_metric(self, M):
        return M / np.sqrt(2 * self.rho)

    def feasible_metric(self, M):
        return M


class MetricNorm:
    """The function N for one T and eta, evaluated through one decomposition at a time."""

    def __init__(self, T, eta=0.0):
        values, vectors = eigh(T)
        if values[0] <= 0:
            raise ValueError("T is not positive definite.")
        self.T, self.eta = T, eta
        self.root = (vectors * np.sqrt(values)) @ vectors.T
        self.inverse_root = (vectors / np.sqrt(values)) @ vectors.T

    def with_eta(self, eta):
        other = object.__new__(MetricNorm)
        other.__dict__.update(self.__dict__, eta=eta)
        return other

    def at(self, W):
        return NormPoint(self, W)

    def value(self, W):
        V = self.root @ W
        if self.eta == 0.0:
            return svd(V, compute_uv=False).sum()
        return np.sqrt(eigvalsh(V @ V.T + self.eta * self.T).clip(0)).sum()

    def dual_value(self, form, alpha_sum, G, N):
        """(D, scale): a dual value, and the factor that makes the multipliers feasible.

        `G` has the columns ``sum_i alpha_i y_i x_i``, and N is the current norm; see section 4 of the mathematics page.
        """
        return form.dual_value(self, alpha_sum, G, N)

    def dual_norm(self, G):
        """|T^{-1/2} G|_2."""
        white = self.inverse_root @ G
        return np.linalg.norm(white) if white.shape[1] == 1 else np.linalg.norm(white, 2)

    def smoothing(self, G, t):
        """sqrt(eta) t tr (T - GG'/t^2)^{1/2}."""
        if self.eta == 0.0:
            return 0.0
        return np.sqrt(self.eta) * t * np.sqrt(eigvalsh(self.T - G @ G.T / t**2).clip(0)).sum()


class NormPoint:
    """N at one W: its value and the optimal metric."""

    def __init__(self, norm, W):
        self.norm = norm
        V = norm.root @ W
        self.v = V[:, 0]
        # Singular values, not eigenvalues of VV' + eta T: half the digits would be lost as eta goes to zero.
        wide = V if norm.eta == 0.0 else np.hstack([V, np.sqrt(norm.eta) * norm.root])
        self.vectors, roots, _ = svd(wide, full_matrices=norm.eta == 0.0)
        self.roots = np.zeros(len(V))
        self.roots[: len(roots)] = roots
        self.value = roots.sum()
        self.safe = np.maximum(self.roots, 1e-14 * max(self.roots[0], 1e-300))

    def root(self, form):
        """A factor A, one row per direction that M has, of the optimal metric ``M = A'A``.

        ``M = c T^{-1/2} Q~^{1/2} T^{-1/2}`` is the geometric mean of T^{-1} and Q, scaled. Its rank is decided here, where T
        is the identity: M itself is large where the data are thin, and says nothing of its rank.
        """
        slope = form.slope(self.value)
        there = self.roots > (0.0 if self.norm.eta > 0 else RANK * self.roots[0])  # smoothing gives M full rank
        if slope == 0 or not there.any():
            return np.zeros((1, len(self.norm.T)))
        return (self.norm.inverse_root @ self.vectors[:, there] * np.sqrt(self.roots[there] / slope)).T

    def expansion(self, form):
        """Gradient and Hessian of ``phi(N(w))`` for one column, where it is smooth (eta > 0, or w not zero).

        In the basis of the left singular vectors, with a = U'v and singular values s, ``dN = sum a_p x_p / s_p`` and
        the derivative of the inverse root contributes the divided differences ``E_pq = 1 / (s_p s_q (s_p + s_q))``.
        """
        half = self.norm.root @ self.vectors
        s, a = self.safe, self.vectors.T @ self.v
        if self.norm.eta == 0.0:
            gradient, curvature = np.zeros_like(s), np.full_like(s, 1.0 / s[0])
            gradient[0], curvature[0] = np.sign(a[0]), 0.0
            hessian = np.diag(curvature)
        else:
            gradient = a / s
            E = 1.0 / (np.multiply.outer(s, s) * np.add.outer(s, s))
            hessian = -E * np.multiply.outer(a, a)
            hessian[np.diag_indices_from(hessian)] += 1.0 / s - E @ a**2
        slope = form.slope(self.value)
        hessian = slope * hessian + form.curvature * np.multiply.outer(gradient, gradient)
        return slope * (half @ gradient), half @ hessian @ half.T

    def inverse_metric(self, form):
        half = self.norm.root @ self.vectors
        return (half / self.safe) @ half.T * form.slope(self.value)


# -- Radius-margin problems: a metric M and max-margin separators learned together, exactly and with a certificate ----


ROUGH = 1e-3


@dataclass(frozen=True, eq=False, kw_only=True)
class RadiusMarginResult(Result):
    """Solution of a radius-margin problem with K columns: `coef` (K, d), `intercept` (K,), `alpha` (K, n).

    `root` is a factor A of the metric ``M = A'A``, with as many rows as M has directions, and `excess` what M costs above
    the best metric for the separators.
    """

    coef: np.ndarray
    intercept: np.ndarray
    alpha: np.ndarray = field(repr=False)
    root: np.ndarray = field(repr=False)
    excess: float = 0.0

    @property
    def M(self):
        """The metric."""
        return self.root.T @ self.root


@dataclass(eq=False)
class RadiusMarginProblem:
    """The hinge problems of K labellings for one C, and what M is measured by.

    `problems` has the rows X, the labels Y (K, n), of which 0 takes no part, and the weights; its regularisers are not looked at.
    `penalty` is the form (constrained or penalised), `norm` the function N. `options` say how well to solve, `start` is a
    solution to begin from, as (coef, intercept, alpha).
    """

    problems: Batch
    norm: MetricNorm
    penalty: Constrained | Penalised
    options: Options = field(default_factory=Options)
    start: tuple | None = None

    @property
    def X(self):
        return self.problems.rows.X

    @property
    def Y(self):
        return self.problems.labels

    @property
    def C(self):
        return float(self.problems.Cs[0])

    @property
    def weights(self):
        return self.problems.weights

    @property
    def fit_intercept(self):
        return self.problems.intercept

    @property
    def tol(self):
        return self.options.tol

    @property
    def max_iter(self):
        return self.options.max_iter

    @property
    def n_columns(self):
        return len(self.Y)

    @property
    def is_plain(self):
        """Whether this is F-SVM itself, one hinge problem."""
        return self.n_columns == 1 and self.norm.eta == 0.0 and self.penalty.is_quadratic

    @cached_property
    def costs(self):
        """Bounds of the multipliers, (K, n)."""
        return self.C * self.weights * (self.Y != 0)

    def losses(self, W, b):
        """Weighted hinge loss of each column."""
        margins = self.Y * (self.X @ W + b).T
        return np.einsum("kn,kn->k", self.costs, np.maximum(0.0, 1.0 - margins))

    def objective(self, W, b):
        return self.penalty.value(self.norm.value(W)) + self.losses(W, b).sum()

    def returned(self, result, W, loss):
        """The result with the objective that it has as W, rounded in other units, where its loss is this."""
        return replace(result, objective=self.penalty.value(self.norm.value(W)) + loss + result.excess)

    def zero(self):
        """(objective, W, b) of W = 0, with the intercept of the heavier class."""
        W = np.zeros((self.X.shape[1], self.n_columns))
        b = np.sign((self.Y * self.costs).sum(axis=1)) if self.fit_intercept else np.zeros(self.n_columns)
        return self.objective(W, b), W, b

    def dual(self, alpha, N):
        """(value, feasible alpha) of the dual; every alpha in the box with y'alpha = 0 gives a lower bound."""
        G = self.X.T @ (self.Y * alpha).T
        value, scale = self.norm.dual_value(self.penalty, alpha.sum(), G, N)
        return value, scale * alpha

    def feasible(self, alpha):
        """alpha in its box with y'alpha = 0 in every column, by shrinking the class that carries too much."""
        return np.abs(balanced(self.Y * np.minimum(alpha, self.costs), self.fit_intercept))

    def hinge(self, columns, regularizer, tol, start=None, spent=0):
        """Solve the hinge problems of some columns for one quadratic regulariser, with the steps that are left."""
        labels = np.ascontiguousarray(self.Y[columns])
        batch = replace(self.problems, labels=labels, regularizers=regularizer, cells=None)
        return solve(batch, Options(tol, int(self.max_iter) - spent, keep_alpha=True), start)


@dataclass(eq=False)
class State:
    """Where an outer method stands: the current point, and the best point and bound so far."""

    problem: RadiusMarginProblem
    W: np.ndarray
    b: np.ndarray
    alpha: np.ndarray
    n_iter: int = 0
    best: tuple | None = None
    best_dual: float = -np.inf
    best_alpha: np.ndarray | None = None
    history: list = field(default_factory=list)

    def start(self, columns):
        return Start(self.W.T[columns], self.b[columns], np.ascontiguousarray(self.alpha[columns]))

    def take(self, columns, batch):
        self.W[:, columns], self.b[columns] = batch.coef[:, 0].T, batch.intercept[:, 0]
        self.alpha[columns] = batch.alpha[:, 0]
        self.n_iter += int(batch.n_iter.max())  # columns go side by side

    def certify(self, objective=None, **entry):
        """Offer the current multipliers to the dual, note both objectives, and return the relative gap.

        The objective is that of (W, b) in the best metric for them, unless that of another metric is given.
        """
        N = self.problem.norm.value(self.W)
        best_metric_objective = self.problem.penalty.value(N) + self.problem.losses(self.W, self.b).sum()
        if objective is None:
            objective = best_metric_objective
        else:
            entry["best_metric_objective"] = best_metric_objective
        if self.best is None or objective < self.best[0]:
            self.best = objective, self.W.copy(), self.b.copy()
        dual, alpha = self.problem.dual(self.alpha, N)
        if dual > self.best_dual:
            self.best_dual, self.best_alpha = dual, alpha
        gap = relative_gap(objective, self.best_dual)
        self.history.append({"objective": objective, "dual_objective": self.best_dual, "gap": gap} | entry)
        return gap

    def result(self, root=None, objective=None):
        """What was found; with a root of M, the current point in that metric, where its objective is the one given."""
        problem, W, b = self.problem, self.W, self.b
        if root is None:
            objective = problem.objective(W, b)
        if root is None and relative_gap(objective, self.best_dual) > problem.tol:  # fell short
            objective, W, b = min((objective, W, b), self.best, problem.zero(), key=lambda point: point[0])
        return RadiusMarginResult(
            coef=np.ascontiguousarray(W.T),
            intercept=b.copy(),
            alpha=self.best_alpha,
            root=problem.norm.at(W).root(problem.penalty) if root is None else root,
            excess=0.0 if root is None else objective - self.history[-1]["best_metric_objective"],
            **certificate(objective, self.best_dual, self.n_iter, problem.tol),
            history=tuple(self.history),
        )


def initial_state(problem):
    """The separators of every column in the whitened metric, which solve the plain problem, or the start it has."""
    K, n = problem.Y.shape
    state = State(problem, np.zeros((problem.X.shape[1], K)), np.zeros(K), np.zeros((K, n)))
    columns, start = np.arange(K), None
    if problem.start is not None:
        coef, intercept, alpha = problem.start
        state.W, state.alpha = coef.T.copy(), problem.feasible(alpha)  # labels may be others than it was found for
        state.b = intercept.copy() if problem.fit_intercept else np.zeros(K)
        if not problem.is_plain:
            return state
        start = state.start(columns)
    kappa = problem.penalty.bound(problem.weights.sum())
    tol = max(0.1 * problem.tol, 1e-10) if K == 1 else ROUGH  # only the start of matrix Newton steps
    state.take(columns, problem.hinge(columns, Quadratics(problem.norm.T[None] / kappa), tol, start))
    return state
