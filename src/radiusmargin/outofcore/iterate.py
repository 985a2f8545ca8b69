"""The way of one problem through the passes: what to ask next, and what follows from the answer.

A sample says about where the separator is, and its two halves how far off that may be. Where the rows that could change sides
are few enough to be sent, the reduced problem of a `Sift` is solved exactly: it gives the next separator and a bound of the
optimum. Where they are too many, or a round went further than its rows could tell, Newton steps are made from sums that the
chunks add up (`Newton`), whose multipliers give a bound as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from ..solvers import Batch, Dense, HingeResult, Options, Quadratics, Start, certificate, relative_gap, solve
from . import strategy
from .known import Known
from .newton import Multipliers, Newton, path_on
from .probe import Probe, Sift
from .problem import ChunkedProblem


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedResult(HingeResult):
    """Solution of a problem on chunks; `low` and `high` are the smallest and largest score of all rows, of any class."""

    low: float
    high: float


@dataclass
class Best:
    """The best bounds so far, each from a separator or multipliers of its own."""

    objective: float = np.inf
    dual_objective: float = -np.inf
    coef: np.ndarray | None = None
    intercept: float = 0.0
    low: float = np.nan
    high: float = np.nan

    @property
    def gap(self) -> float:
        return relative_gap(self.objective, self.dual_objective)


@dataclass
class Search:
    """One problem on its way.

    Parameters
    ----------
    problem : ChunkedProblem
    known : Known
    options : Options
    rows : int
        In all chunks.
    most_near : int
        Rows near the margin that may be sent.
    """

    problem: ChunkedProblem
    known: Known
    options: Options
    rows: int
    most_near: int
    best: Best = field(default_factory=Best)
    history: list = field(default_factory=list)
    n_iter: int = 0

    def __post_init__(self):
        tol = self.options.tol
        rough = max(tol, strategy.SAMPLE_TOL)
        result = self._of_sample(self.known, strategy.REDUCED_TOL * tol if self.known.complete else rough)
        self.coef, self.intercept = self._lifted(result)
        self.newton, self.reduced, self.width = None, False, strategy.VERIFY
        if self.known.complete:
            self.best.dual_objective = result.dual_objective
            return
        halves = [self._lifted(self._of_sample(self.known.half(i), rough)) for i in (0, 1)]
        self.width = max(strategy.SIGMAS * self.known.moved(*halves) / 2, strategy.NARROWEST)
        if not self._few_within(self.width):
            # As far along the path of the sample as its error allows.
            past = path_on(self.known, self.problem, (np.zeros_like(self.coef), 0.0), rough)
            past = tuple(reference for reference in past if 0.5 / reference.penalty >= self.width)
            furthest = 0.5 / (strategy.GROWTH * past[-1].penalty) if past else self.width
            self._start_newton(max(self.width, furthest), past)

    # -- what to ask ----------------------------------------------------------------------------------------------------

    @property
    def probe(self) -> Probe:
        """The next question."""
        if self.newton:
            return self.newton.probe
        signs, costs = self.problem.signs, self.problem.costs
        return Sift(self.coef, self.intercept, signs, costs, self.width, 2 * self.most_near / self.rows)

    def _few_within(self, width) -> bool:
        """Whether the rows within a width of the margin are few enough to be sent."""
        near = np.abs(self.known.lack(self.coef, self.intercept)) <= width
        return bool(self.known.counts @ near <= self.most_near)

    def _start_newton(self, width, references=()):
        self.newton = Newton(self.problem, self.known, (self.coef, self.intercept), 0.5 / width, references)

    # -- what follows -----------------------------------------------------------------------------------------------------

    def take(self, answer, low: float, high: float):
        """The answer to the question, and the range of the scores."""
        promised = self.best.gap
        objective = self.problem.smooth_part(self.coef) + answer.loss
        if objective < self.best.objective:
            self.best.objective, self.best.coef, self.best.intercept = objective, self.coef, self.intercept
            self.best.low, self.best.high = low, high
        if self.newton:
            self._bound(Multipliers.of(self.problem, answer).dual_objective(self.problem))
        self.history.append({"gap": self.best.gap, "near": answer.near_rows, "newton": self.newton is not None})
        if self.finished:
            return
        if self.newton:
            self._after_newton(answer)
        elif self.reduced and self.best.gap > strategy.PROMISED * promised:
            # The means knew too little of where the separator went: back to the best one, and look wider.
            self.coef, self.intercept = self.best.coef, self.best.intercept
            self._start_newton(min(strategy.WIDER * self.width, self._scale()))
        else:
            self._after_sifting(answer)

    def _bound(self, value):
        self.best.dual_objective = max(self.best.dual_objective, value)

    def _scale(self):
        """Size of the scores, at least that of the margin."""
        return max(1.0, self.known.size(self.known.X @ self.coef + self.intercept))

    @property
    def finished(self) -> bool:
        """Whether the gap is reached, or out of reach."""
        gaps = [entry["gap"] for entry in self.history]
        if not gaps:
            return False
        stuck = len(gaps) > strategy.PATIENCE and gaps[-1] > 0.9 * gaps[-1 - strategy.PATIENCE]
        return gaps[-1] <= self.options.tol or stuck or len(gaps) >= self.options.max_iter

    def _after_sifting(self, answer):
        v, b = self.problem.coordinates.lower(self.coef), self.intercept + self.coef @ self.problem.coordinates.shift
        start = Start(v[None], np.array([b]))
        result = self._solve(answer.reduced(), strategy.REDUCED_TOL * self.options.tol, start)
        self._bound(result.dual_objective)
        there = self._lifted(result)
        moved = self.known.moved((self.coef, self.intercept), there)
        self.reduced, (self.coef, self.intercept) = True, there
        self.width = min(self.width, max(strategy.MOVES * moved, strategy.NARROW * self.width))

    def _after_newton(self, answer):
        width = self.newton.width
        self.newton.take(answer)
        self.coef, self.intercept = self.newton.coef, self.newton.intercept
        width = max(strategy.MOVES * self.newton.moved, width)
        if self._few_within(width):
            self.newton, self.reduced, self.width = None, False, width

    # -- the compiled solver on rows at hand --------------------------------------------------------------------------

    def _of_sample(self, known, tol):
        return self._solve((known.X, known.y, known.c), tol)

    def _solve(self, rows, tol, start=None) -> HingeResult:
        """The problem of some rows (X, y, c), in its coordinates."""
        (X, y, c), problem = rows, self.problem
        form = Quadratics() if problem.regularizer is None else Quadratics(problem.regularizer[None])
        X = Dense(problem.coordinates.rows(X))
        batch = Batch(X, y[None], c, np.ones(1), form, intercept=problem.intercept)
        result = solve(batch, Options(tol, self.options.max_iter), start)[0, 0]
        self.n_iter += result.n_iter
        return result

    def _lifted(self, result):
        return self.problem.coordinates.lift(result.coef, result.intercept)

    def result(self) -> ChunkedResult:
        best = self.best
        return ChunkedResult(
            coef=best.coef, intercept=best.intercept, alpha=None, history=tuple(self.history), low=best.low, high=best.high,
            **certificate(best.objective, best.dual_objective, self.n_iter, self.options.tol),
        )  # fmt: skip


__all__ = ["ChunkedResult", "Search"]
