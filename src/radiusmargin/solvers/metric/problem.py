"""Radius-margin problems: a metric M and max-margin separators learned together, exactly and with a certificate.

    min over W, b:   phi(N(W)) + C sum_k sum_i s_i max(0, 1 - y_ik (x_i'w_k + b_k))

with N and phi from `norm`. What is solved, where a method stands, and what it returns; the methods are files of their own.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from functools import cached_property

import numpy as np

from ..hinge.entry import solve
from ..multipliers import balanced
from ..problem import Batch, Options, Quadratics, Start
from ..result import Result, certificate, relative_gap
from .norm import Constrained, MetricNorm, Penalised

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
