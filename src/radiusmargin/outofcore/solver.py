"""Solve hinge problems on rows in chunks, with a certified gap, in few passes over the data.

In order: a problem and its coordinates; Newton's method on the augmented Lagrangian, a pass per step; the solver of one
problem, which chooses the next query and updates its bounds from the answer; `solve_chunked`, which solves many problems in
the same passes.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from ..solvers import Batch, Dense, HingeResult, Options, Quadratics, Start, certificate, relative_gap, solve
from . import heuristics
from .first_pass import DataSummary, FirstPass
from .heuristics import Limits
from .queries import NearMarginQuery, NewtonAnswer, NewtonQuery, Query, QueryPass, Reference, SampledRows
from .sources import ChunkSource

Separator = tuple[np.ndarray, float]  # (coef, intercept)


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Coordinates of a regulariser: ``v = w @ inverse`` for separators, ``(x - shift) @ basis`` for rows.

    Parameters
    ----------
    shift : ndarray of shape (d,)
        Zero in problems without an intercept, since only an intercept can undo the shift.
    basis, inverse : ndarrays of shape (d, r), optional
        None is the identity.
    """

    shift: np.ndarray
    basis: np.ndarray | None = None
    inverse: np.ndarray | None = None

    def rows(self, X: np.ndarray) -> np.ndarray:
        """Map rows from the user's units."""
        return self.sums(X, np.ones(len(X)))

    def sums(self, X: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Map sums of weighted rows from the user's units, given the sums of the weights."""
        X = X - np.multiply.outer(total, self.shift)
        return X if self.basis is None else X @ self.basis

    def lower(self, coef: np.ndarray) -> np.ndarray:
        """Map coefficients from the user's units."""
        return coef if self.inverse is None else coef @ self.inverse

    def lift(self, coef: np.ndarray, intercept: float) -> Separator:
        """Map (coef, intercept) back to the user's units."""
        coef = coef if self.basis is None else self.basis @ coef
        return coef, float(intercept - coef @ self.shift)


@dataclass(frozen=True, eq=False)
class ChunkedProblem:
    """``1/2 v'Bv + sum_i c_i max(0, 1 - y_i (x_i'w + b))``, where y_i and c_i follow from the class of row i.

    Parameters
    ----------
    signs : ndarray of shape (n_classes,)
        -1, +1, or 0 for a class that takes no part.
    costs : ndarray of shape (n_classes,)
        C times the weight of the class. The weight of a row multiplies it.
    regularizer : ndarray of shape (r,) or (r, r), or None
        B in `coordinates`: a diagonal, a matrix, or (None) the identity.
    coordinates : Coordinates
    intercept : bool, default=True
    """

    signs: np.ndarray
    costs: np.ndarray
    regularizer: np.ndarray | None
    coordinates: Coordinates
    intercept: bool = True
    B: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        basis, form = self.coordinates.basis, self.regularizer
        r = len(self.coordinates.shift) if basis is None else basis.shape[1]
        B = np.eye(r) if form is None else np.diag(form) if form.ndim == 1 else form
        object.__setattr__(self, "B", B)

    def smooth_part(self, coef: np.ndarray) -> float:
        """Value of the regulariser for coefficients in the user's units."""
        v = self.coordinates.lower(coef)
        return 0.5 * float(v @ self.B @ v)

    def dual_objective(self, total: float, g: np.ndarray) -> float:
        """Dual objective of multipliers whose sum is `total` and whose combination of the rows is g."""
        return float(total - 0.5 * g @ np.linalg.solve(self.B, g))


# -- Newton's method on the augmented Lagrangian, as in `solvers.reference`: a pass over all rows per step ------------


class NewtonMethod:
    """Current iterate, with its penalty and the references that define the multipliers.

    Parameters
    ----------
    problem : ChunkedProblem
    sample : SampledRows
        Used to estimate how much a step changes the scores.
    start : tuple of (coef, intercept)
    penalty : float
    references : tuple of Reference
    """

    def __init__(
        self,
        problem: ChunkedProblem,
        sample: SampledRows,
        start: Separator,
        penalty: float,
        references: tuple[Reference, ...] = (),
    ):
        self.problem, self.sample, self.references = problem, sample, references
        self.coef, self.intercept = start
        self.penalty, self.start, self.moved = penalty, start, np.inf
        # The last step from `start` and its slope there; None if the next query is about another function.
        self.step: np.ndarray | None = None
        self.slope = 0.0

    @property
    def query(self) -> NewtonQuery:
        """Query about the current iterate."""
        problem = self.problem
        about = self.coef, self.intercept, problem.signs, problem.costs
        step = None if self.step is None else self._in_users_units(self.step)
        return NewtonQuery(*about, self.penalty, self.references, problem.coordinates.shift, step)

    @property
    def width(self) -> float:
        """Distance from the margin up to which rows may have curvature."""
        return 0.5 / self.penalty

    def update(self, answer: NewtonAnswer):
        """Take the next Newton step, given the answer to the query."""
        sums = Multipliers.of(self.problem, answer)
        gradient = sums.gradient(self.problem, self.coef)
        if self.step is not None and self._overshot(self.step, gradient, answer):
            return
        step = -solve_definite(sums.curvature(self.problem, answer), gradient)
        self.slope, self.start = float(gradient @ step), (self.coef, self.intercept)
        moved, longest = self.sample.moved(self.start, self._end(step)), heuristics.MAX_STEP_WIDTHS * self.width
        if moved > longest:  # the curvature is that of the rows within the width
            self._go(longest / moved * step)
            self.penalty /= heuristics.WIDENING
        elif sums.residual(self.problem, gradient) <= heuristics.RESIDUAL_RATIO * answer.slack:
            self._go(step)
            self.references = (*self.references, Reference(self.coef, self.intercept, self.penalty))
            self.penalty *= heuristics.PENALTY_GROWTH
        else:
            self._go(step)
            self.step = step

    def _overshot(self, step, gradient, answer) -> bool:
        """Check if the last step was too long, and shorten it to the root of the slope along it if so."""
        slope = float(gradient @ step)
        if slope <= -heuristics.OVERSHOOT * self.slope:
            return False
        v, dv = self.problem.coordinates.lower(self.start[0]), step[: len(self.problem.B)]
        trials = np.array(heuristics.STEP_FRACTIONS)
        along = answer.slopes + dv @ self.problem.B @ v + trials * (dv @ self.problem.B @ dv)
        t, slopes = np.concatenate([[0.0], trials, [1.0]]), np.concatenate([[self.slope], along, [slope]])
        k = max(1, int(np.argmax(slopes > 0)))
        self._go((t[k - 1] + (t[k] - t[k - 1]) * slopes[k - 1] / (slopes[k - 1] - slopes[k])) * step)
        return True

    def _in_users_units(self, step) -> Separator:
        r = len(self.problem.B)
        return self.problem.coordinates.lift(step[:r], step[r:].sum())

    def _end(self, step) -> Separator:
        """End of a step from `start`."""
        (coef, intercept), (dw, db) = self.start, self._in_users_units(step)
        return coef + dw, intercept + db

    def _go(self, step):
        """Move to the end of a step from `start`."""
        end = self._end(step)
        self.moved = self.sample.moved((self.coef, self.intercept), end)
        self.coef, self.intercept = end
        self.step = None


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Sums of the multipliers, and of the rows weighted by them in the problem's coordinates, for the labels +1 and -1."""

    totals: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, problem, answer):
        return cls(answer.totals, problem.coordinates.sums(answer.sums, answer.totals))

    def dual_objective(self, problem) -> float:
        """Dual objective. With an intercept, the heavier side is first scaled down to balance the lighter one."""
        factors = np.ones(2)
        if problem.intercept:
            factors = np.divide(self.totals.min(), self.totals, out=np.zeros(2), where=self.totals > 0)
        return problem.dual_objective(factors @ self.totals, (factors * [1.0, -1.0]) @ self.sums)

    def gradient(self, problem, coef) -> np.ndarray:
        gradient = problem.B @ problem.coordinates.lower(coef) - (self.sums[0] - self.sums[1])
        return np.append(gradient, self.totals[1] - self.totals[0]) if problem.intercept else gradient

    def residual(self, problem, gradient) -> float:
        """Part of the gap due to the gradient; the rest is the slack of the multipliers."""
        r = len(problem.B)
        return 0.5 * float(gradient[:r] @ np.linalg.solve(problem.B, gradient[:r])) + abs(float(gradient[r:].sum()))

    def curvature(self, problem, answer) -> np.ndarray:
        r, basis = len(problem.B), problem.coordinates.basis
        H = answer.gram
        if basis is not None:
            H = np.block([[basis.T @ H[:-1, :-1] @ basis, basis.T @ H[:-1, -1:]], [H[-1:, :-1] @ basis, H[-1:, -1:]]])
        H = H if problem.intercept else H[:-1, :-1]
        H = H.copy()
        H[:r, :r] += problem.B
        H[np.diag_indices_from(H)] *= 1.0 + 1e-12
        if problem.intercept:  # without rows near the margin, the intercept has no curvature
            H[-1, -1] += 1e-9 * self.totals.sum() + np.finfo(float).tiny
        return H


def solve_definite(H, g) -> np.ndarray:
    """H^{-1} g. If rounding made H indefinite, eigenvalues are raised to the smallest one above rounding."""
    try:
        return linalg.cho_solve(linalg.cho_factor(H, lower=True), g)
    except linalg.LinAlgError:
        curvatures, axes = np.linalg.eigh(H)
        return axes @ ((axes.T @ g) / np.maximum(curvatures, np.finfo(float).eps * len(H) * curvatures[-1]))


def references_of_sample(
    sample: SampledRows, problem: ChunkedProblem, start: Separator, tol: float
) -> tuple[Reference, ...]:
    """References of Newton's method on the sample, up to a relative gap `tol` or the smallest width."""
    newton = NewtonMethod(problem, sample, start, heuristics.FIRST_PENALTY)
    for _ in range(heuristics.SAMPLE_STEPS):
        answer = sample.answer(newton.query)
        objective = problem.smooth_part(newton.coef) + answer.loss
        bound = Multipliers.of(problem, answer).dual_objective(problem)
        if objective - bound <= tol * objective or newton.width < heuristics.MIN_WIDTH:
            break
        newton.update(answer)
    return newton.references


# -- One problem: the next query, and the update from its answer ------------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedResult(HingeResult):
    """Solution of a problem on chunks. `low` and `high` are the smallest and largest score over rows of all classes."""

    low: float
    high: float


@dataclass
class Best:
    """Best upper and lower bound so far, and the separator of the upper one."""

    coef: np.ndarray
    intercept: float
    objective: float = np.inf
    dual_objective: float = -np.inf
    low: float = np.nan
    high: float = np.nan

    @property
    def gap(self) -> float:
        return float(relative_gap(self.objective, self.dual_objective))


@dataclass
class ChunkedSolver:
    """Solver of one problem: Newton queries until few rows are near the margin, then near-margin queries.

    Parameters
    ----------
    problem : ChunkedProblem
    sample : SampledRows
    options : Options
    rows : int
        Number of rows in all chunks.
    most_near : int
        Most rows near the margin that may be sent.
    sizes : ndarray of shape (d + 1,)
        Bounds of ``sum_i c_i |x_ij|`` for every column, and the sum of all c_i; see `rounding`.
    """

    problem: ChunkedProblem
    sample: SampledRows
    options: Options
    rows: int
    most_near: int
    sizes: np.ndarray
    history: list[dict] = field(default_factory=list)
    n_iter: int = 0

    def __post_init__(self):
        tol = self.options.tol
        rough = max(tol, heuristics.SAMPLE_TOL)
        result = self._of_sample(self.sample, heuristics.REDUCED_TOL * tol if self.sample.complete else rough)
        self.coef, self.intercept = self._lifted(result)
        self.best = Best(self.coef, self.intercept)
        self.newton: NewtonMethod | None = None
        self.reduced, self.width = False, heuristics.COMPLETE_WIDTH
        if self.sample.complete:
            self._bound(result.dual_objective - self.rounding)
            return
        first, second = (self._lifted(self._of_sample(self.sample.half(i), rough)) for i in (0, 1))
        self.width = max(heuristics.SAMPLE_SIGMAS * self.sample.moved(first, second) / 2, heuristics.MIN_WIDTH)
        if not self._few_within(self.width):
            # Start as far along the sample's path as its statistical error allows.
            path = references_of_sample(self.sample, self.problem, (np.zeros_like(self.coef), 0.0), rough)
            path = tuple(reference for reference in path if 0.5 / reference.penalty >= self.width)
            furthest = 0.5 / (heuristics.PENALTY_GROWTH * path[-1].penalty) if path else self.width
            self._start_newton(max(self.width, furthest), path)

    @property
    def query(self) -> Query:
        """Next query."""
        if self.newton:
            return self.newton.query
        signs, costs = self.problem.signs, self.problem.costs
        return NearMarginQuery(self.coef, self.intercept, signs, costs, self.width, 2 * self.most_near / self.rows)

    def _few_within(self, width) -> bool:
        """Estimate from the sample if the rows within a width of the margin are few enough to be sent."""
        near = np.abs(self.sample.slacks(self.coef, self.intercept)) <= width
        return bool(self.sample.counts @ near <= self.most_near)

    def _start_newton(self, width, references=()):
        self.newton = NewtonMethod(self.problem, self.sample, (self.coef, self.intercept), 0.5 / width, references)

    def update(self, answer, low: float, high: float):
        """Update bounds and iterate from the answer to the query and the range of the scores."""
        last_gap = self.best.gap
        rounding = self.rounding
        objective = self.problem.smooth_part(self.coef) + answer.loss + rounding
        if objective < self.best.objective:
            self.best.objective, self.best.coef, self.best.intercept = objective, self.coef, self.intercept
            self.best.low, self.best.high = low, high
        if self.newton:
            self._bound(Multipliers.of(self.problem, answer).dual_objective(self.problem) - rounding)
        self.history.append({"gap": self.best.gap, "near": answer.near_rows, "newton": self.newton is not None})
        if self.finished:
            return
        if self.newton:
            self._after_newton(self.newton, answer)
        elif self.reduced and self.best.gap > heuristics.MIN_GAP_RATIO * last_gap:
            # The means were too coarse for this move of the separator: return to the best one with a larger width.
            self.coef, self.intercept = self.best.coef, self.best.intercept
            self._start_newton(min(heuristics.WIDENING * self.width, self._scale()))
        else:
            self._after_near_margin(answer)

    @property
    def rounding(self) -> float:
        """Largest rounding of the loss and of the dual objective to be expected at the present separator.

        Each slack is a sum of d + 2 terms whose roundings are independent; those of different rows are taken to add up.
        """
        terms = self.sizes @ np.append(np.abs(self.coef), 1.0 + abs(self.intercept))
        return float(np.finfo(float).eps * np.sqrt(len(self.coef) + 2) * terms)

    def _bound(self, value):
        self.best.dual_objective = max(self.best.dual_objective, value)

    def _scale(self):
        """Root mean square of the scores, at least 1 (the margin)."""
        return max(1.0, self.sample.size(self.sample.X @ self.coef + self.intercept))

    @property
    def finished(self) -> bool:
        """True if the gap is at most `tol`, no longer decreases, or the passes are used up."""
        gaps = [entry["gap"] for entry in self.history]
        if not gaps:
            return False
        stuck = len(gaps) > heuristics.STALL_PASSES and gaps[-1] > 0.9 * gaps[-1 - heuristics.STALL_PASSES]
        return gaps[-1] <= self.options.tol or stuck or len(gaps) >= self.options.max_iter

    def _after_near_margin(self, answer):
        v, b = self.problem.coordinates.lower(self.coef), self.intercept + self.coef @ self.problem.coordinates.shift
        start = Start(v[None], np.array([b]))
        result = self._solve(answer.reduced(), heuristics.REDUCED_TOL * self.options.tol, start)
        self._bound(result.dual_objective - self.rounding)
        new = self._lifted(result)
        moved = self.sample.moved((self.coef, self.intercept), new)
        self.reduced, (self.coef, self.intercept) = True, new
        self.width = min(self.width, max(heuristics.MOVE_WIDTHS * moved, heuristics.MAX_NARROWING * self.width))

    def _after_newton(self, newton, answer):
        width = newton.width
        newton.update(answer)
        self.coef, self.intercept = newton.coef, newton.intercept
        width = max(heuristics.MOVE_WIDTHS * newton.moved, width)
        if self._few_within(width):
            self.newton, self.reduced, self.width = None, False, width

    def _of_sample(self, sample, tol):
        return self._solve((sample.X, sample.y, sample.c), tol)

    def _solve(self, rows, tol, start=None) -> HingeResult:
        """Solve the problem of some rows (X, y, c) in memory with the compiled solver, in the problem's coordinates."""
        (X, y, c), problem = rows, self.problem
        form = Quadratics() if problem.regularizer is None else Quadratics(problem.regularizer[None])
        dense = Dense(problem.coordinates.rows(X))
        batch = Batch(dense, y[None], c, np.ones(1), form, intercept=problem.intercept)
        result = solve(batch, Options(tol, self.options.max_iter), start)[0, 0]
        self.n_iter += result.n_iter
        return result

    def _lifted(self, result) -> Separator:
        return self.problem.coordinates.lift(result.coef, result.intercept)

    def result(self) -> ChunkedResult:
        best = self.best
        return ChunkedResult(
            coef=best.coef, intercept=best.intercept, alpha=None, history=tuple(self.history), low=best.low, high=best.high,
            **certificate(best.objective, best.dual_objective, self.n_iter, self.options.tol),
        )  # fmt: skip


# -- Many problems in the same passes ---------------------------------------------------------------------------------


DEFAULT = Limits()


def first_pass(source: ChunkSource, limits: Limits = DEFAULT, *, full: bool = True) -> DataSummary:
    """Run the first pass: classes, moments and a sample.

    Parameters
    ----------
    source : ChunkSource
    limits : Limits, optional
    full : bool, default=True
        Compute scatter matrices, not only variances.
    """
    d, n = source.n_features or 1, source.n_rows
    rows = limits.sample(n, d)
    share = 2 * rows / n if n else float("inf")
    summary = source.reduce(FirstPass(rows, share, full), "first-pass")
    if not summary.by_class:
        raise ValueError("there is no row of positive weight in any chunk.")
    return summary


def solve_chunked(
    source: ChunkSource,
    problems: Sequence[ChunkedProblem],
    summary: DataSummary,
    options: Options | None = None,
    limits: Limits = DEFAULT,
    report: Callable | None = None,
) -> list[ChunkedResult]:
    """Solve hinge problems on all rows of a source to a certified relative gap, in common passes.

    Parameters
    ----------
    source : ChunkSource
        Its chunks are read once in every pass, and checked to be the same each time.
    problems : sequence of ChunkedProblem
        Their signs and costs are in the order of ``summary.classes``.
    summary : DataSummary
        Result of `first_pass` on the same source.
    options : Options, optional
        `max_iter` bounds the passes, and the steps of every reduced problem.
    limits : Limits, optional
    report : callable, optional
        Called after every pass with its number and the solvers (`ChunkedSolver`) that took part.

    Returns
    -------
    list of ChunkedResult
        `history` has an entry per pass after the first: the gap over all rows, and the number of rows near the margin.

    Raises
    ------
    ChangedChunkError
        If a chunk was not the same when it was read again.
    """
    options = options or Options()
    most_near = limits.near(summary.n_features, len(problems))
    samples = _samples(problems, summary, limits)
    solvers = [
        ChunkedSolver(
            problem, samples[problem.signs.tobytes()].priced(problem.costs), options, summary.rows, most_near,
            _sizes(problem, summary),
        )
        for problem in problems
    ]  # fmt: skip
    number = 1
    while active := [solver for solver in solvers if not solver.finished]:
        number += 1
        queries = tuple(solver.query for solver in active)
        name = "newton-step" if all(solver.newton for solver in active) else "near-the-margin"
        answers = source.reduce(QueryPass(queries, summary.classes), f"{name}-{number}")
        summary.check(answers.fingerprints)
        for k, solver in enumerate(active):
            solver.update(answers.answers[k], float(answers.low[k]), float(answers.high[k]))
        if report:
            report(number, active)
    return [solver.result() for solver in solvers]


def _sizes(problem, summary):
    """Bounds of ``sum_i c_i |x_ij|`` by Cauchy and Schwarz from the moments of the classes, and the sum of all c_i."""
    sizes = np.zeros(summary.n_features + 1)
    for sign, cost, moments in zip(problem.signs, problem.costs, summary.moments(), strict=True):
        if sign:
            variance = moments.scatter if moments.scatter.ndim == 1 else np.diag(moments.scatter)
            mean_size = np.sqrt(variance / moments.total + moments.mean**2)
            sizes += cost * moments.total * np.append(mean_size, 1.0)
    return sizes


def _samples(problems, summary, limits):
    """Sampled rows of every labelling, shared by its problems. With many labellings each has fewer rows."""
    labellings = {problem.signs.tobytes(): problem.signs for problem in problems}
    rows = sum(len(s) for signs in labellings.values() for s, y in zip(summary.samples(), signs, strict=True) if y)
    share = min(1.0, limits.sample_numbers / ((summary.n_features + 1) * rows))
    if share < 1.0:
        summary = summary.cut(max(heuristics.MIN_CHUNK_ROWS, int(share * max(len(s) for s in summary.samples()))))
    return {key: SampledRows.of(signs, summary) for key, signs in labellings.items()}


__all__ = [
    "ChunkedProblem",
    "ChunkedResult",
    "ChunkedSolver",
    "Coordinates",
    "Multipliers",
    "NewtonMethod",
    "first_pass",
    "references_of_sample",
    "solve_chunked",
]
