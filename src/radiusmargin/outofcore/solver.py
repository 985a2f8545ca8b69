"""Hinge problems on rows that are read chunk by chunk, again for every pass."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from ..solvers import Batch, Dense, HingeResult, Options, Quadratics, Start, certificate, relative_gap, solve
from . import heuristics as strategy
from .first_pass import DataSummary, FirstPass
from .heuristics import Limits
from .queries import NearMarginQuery, NewtonQuery, Query, QueryPass, Reference, SampledRows, Smoothed
from .sources import Source


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Where a regulariser is defined: ``v = w @ inverse`` for separators, ``(x - shift) @ basis`` for rows.

    Parameters
    ----------
    shift : ndarray of shape (d,)
        Zero without an intercept, which alone can undo it.
    basis, inverse : ndarrays of shape (d, r), optional
        None is the identity.
    """

    shift: np.ndarray
    basis: np.ndarray | None = None
    inverse: np.ndarray | None = None

    def rows(self, X: np.ndarray) -> np.ndarray:
        return self.sums(X, np.ones(len(X)))

    def sums(self, X: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Sums of weighted rows, from those in the user's units and the sums of their weights."""
        X = X - np.multiply.outer(total, self.shift)
        return X if self.basis is None else X @ self.basis

    def lower(self, coef: np.ndarray) -> np.ndarray:
        return coef if self.inverse is None else coef @ self.inverse

    def lift(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """(coef, intercept) in the user's units."""
        coef = coef if self.basis is None else self.basis @ coef
        return coef, float(intercept - coef @ self.shift)


@dataclass(frozen=True, eq=False)
class ChunkedProblem:
    """``1/2 v'Bv + sum_i c_i max(0, 1 - y_i (x_i'w + b))`` for rows whose y_i and c_i their class tells.

    Parameters
    ----------
    signs : ndarray of shape (n_classes,)
        -1, +1, or 0 for a class that takes no part.
    costs : ndarray of shape (n_classes,)
        C times the weight of the class; that of the row is a factor.
    regularizer : ndarray of shape (r,) or (r, r), or None
        B in `coordinates`: a diagonal, a matrix, or the identity.
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
        """The regulariser of a separator in the user's units."""
        v = self.coordinates.lower(coef)
        return 0.5 * float(v @ self.B @ v)

    def dual_objective(self, total: float, g: np.ndarray) -> float:
        """For multipliers with this sum, which make the combination g of rows."""
        return float(total - 0.5 * g @ np.linalg.solve(self.B, g))


# -- Newton steps on the augmented Lagrangian, each from sums over all rows: the NumPy twin's method, a pass a step ---


class Newton:
    """A separator on its way, with its penalty and the references of earlier rounds.

    Parameters
    ----------
    problem : ChunkedProblem
    known : SampledRows
        Tells how much a step changes the scores.
    start : tuple of (coef, intercept)
    penalty : float
    references : tuple of Reference
    """

    def __init__(self, problem: ChunkedProblem, known: SampledRows, start, penalty: float, references=()):
        self.problem, self.known, self.references = problem, known, references
        self.coef, self.intercept, self.penalty = *start, penalty
        self.step, self.slope, self.before, self.moved = None, 0.0, start, np.inf

    @property
    def probe(self) -> NewtonQuery:
        problem = self.problem
        about = self.coef, self.intercept, problem.signs, problem.costs
        step = None if self.step is None else self._in_users_units()
        return NewtonQuery(*about, self.penalty, self.references, problem.coordinates.shift, step)

    @property
    def width(self) -> float:
        """How far from the margin a row may be and have curvature."""
        return 0.5 / self.penalty

    def take(self, answer: Smoothed):
        """Go on from the answer to the probe."""
        sums = Multipliers.of(self.problem, answer)
        gradient = sums.gradient(self.problem, self.coef)
        if self.step is not None and self._overshot(gradient, answer):
            return
        self.step = -solve_definite(sums.curvature(self.problem, answer), gradient)
        self.slope, self.before = float(gradient @ self.step), (self.coef, self.intercept)
        self.moved = self.known.moved(self.before, self._end())
        if self.moved > strategy.REACH * self.width:  # the curvature is that of the rows within the width
            self._shorten(strategy.REACH * self.width / self.moved)
            self.penalty /= strategy.WIDER
            self._go(comparable=False)
        elif sums.residual(self.problem, gradient) <= strategy.SETTLED * answer.slack:
            self._go(comparable=False)
            self.references = (*self.references, Reference(self.coef, self.intercept, self.penalty))
            self.penalty *= strategy.GROWTH
        else:
            self._go(comparable=True)

    def _overshot(self, gradient, answer) -> bool:
        """Whether the last step was too long; it is then shortened to where the slope on the way was zero."""
        slope = float(gradient @ self.step)
        if slope <= -strategy.OVERSHOT * self.slope:
            return False
        r = len(self.problem.B)
        v, dv = self.problem.coordinates.lower(self.before[0]), self.step[:r]
        trials = np.array(strategy.TRIALS)
        on_the_way = answer.slopes + dv @ self.problem.B @ v + trials * (dv @ self.problem.B @ dv)
        t, slopes = np.concatenate([[0.0], trials, [1.0]]), np.concatenate([[self.slope], on_the_way, [slope]])
        k = max(1, int(np.argmax(slopes > 0)))
        self._shorten(t[k - 1] + (t[k] - t[k - 1]) * slopes[k - 1] / (slopes[k - 1] - slopes[k]))
        self._go(comparable=False)
        return True

    def _shorten(self, t):
        self.step, self.slope = t * self.step, t * self.slope

    def _in_users_units(self):
        r = len(self.problem.B)
        return self.problem.coordinates.lift(self.step[:r], self.step[r:].sum())

    def _end(self):
        """Where the step leads from where it started."""
        (coef, intercept), (more, shift) = self.before, self._in_users_units()
        return coef + more, intercept + shift

    def _go(self, comparable):
        """Make the step. Slopes of different functions do not compare."""
        end = self._end()
        self.moved = self.known.moved((self.coef, self.intercept), end)
        self.coef, self.intercept = end
        if not comparable:
            self.step = None


@dataclass(frozen=True, eq=False)
class Multipliers:
    """Sums of multipliers, and of the rows they weigh in the problem's coordinates, on the sides of +1 and -1."""

    totals: np.ndarray
    sums: np.ndarray

    @classmethod
    def of(cls, problem, answer):
        return cls(answer.totals, problem.coordinates.sums(answer.sums, answer.totals))

    def dual_objective(self, problem) -> float:
        """After the heavier side was shrunk to the lighter one's weight, where there is an intercept."""
        factors = np.ones(2)
        if problem.intercept:
            factors = np.divide(self.totals.min(), self.totals, out=np.zeros(2), where=self.totals > 0)
        return problem.dual_objective(factors @ self.totals, (factors * [1.0, -1.0]) @ self.sums)

    def gradient(self, problem, coef) -> np.ndarray:
        gradient = problem.B @ problem.coordinates.lower(coef) - (self.sums[0] - self.sums[1])
        return np.append(gradient, self.totals[1] - self.totals[0]) if problem.intercept else gradient

    def residual(self, problem, gradient) -> float:
        """What the gap has of the gradient; the rest is the slack of the multipliers."""
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
        if problem.intercept:  # an empty band leaves the intercept without curvature
            H[-1, -1] += 1e-9 * self.totals.sum() + np.finfo(float).tiny
        return H


def solve_definite(H, g) -> np.ndarray:
    """H^{-1} g; in directions that are so thin that rounding made H negative there, with its smallest trustworthy curvature."""
    try:
        return linalg.cho_solve(linalg.cho_factor(H, lower=True), g)
    except linalg.LinAlgError:
        curvatures, axes = np.linalg.eigh(H)
        return axes @ ((axes.T @ g) / np.maximum(curvatures, np.finfo(float).eps * len(H) * curvatures[-1]))


def path_on(known: SampledRows, problem: ChunkedProblem, start, tol: float) -> tuple[Reference, ...]:
    """The references that rows at hand lead through, until they reach a relative gap or no further."""
    newton = Newton(problem, known, start, strategy.FIRST_PENALTY)
    for _ in range(strategy.SAMPLE_STEPS):
        answer = known.ask(newton.probe)
        objective = problem.smooth_part(newton.coef) + answer.loss
        bound = Multipliers.of(problem, answer).dual_objective(problem)
        if objective - bound <= tol * objective or newton.width < strategy.NARROWEST:
            break
        newton.take(answer)
    return newton.references


# -- The way of one problem through the passes: what to ask next, and what follows from the answer --------------------


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
    known : SampledRows
    options : Options
    rows : int
        In all chunks.
    most_near : int
        Rows near the margin that may be sent.
    """

    problem: ChunkedProblem
    known: SampledRows
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
    def probe(self) -> Query:
        """The next question."""
        if self.newton:
            return self.newton.probe
        signs, costs = self.problem.signs, self.problem.costs
        return NearMarginQuery(self.coef, self.intercept, signs, costs, self.width, 2 * self.most_near / self.rows)

    def _few_within(self, width) -> bool:
        """Whether the rows within a width of the margin are few enough to be sent."""
        near = np.abs(self.known.slacks(self.coef, self.intercept)) <= width
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


# -- Hinge problems on chunks, solved together in passes over all of them ---------------------------------------------


DEFAULT = Limits()


def first_pass(source: Source, limits: Limits = DEFAULT, *, full: bool = True) -> DataSummary:
    """The first pass: classes, moments and a sample.

    Parameters
    ----------
    source : Source
    limits : Limits, optional
    full : bool, default=True
        Whether scatter matrices are needed.
    """
    d, n = source.n_features or 1, source.n_rows
    rows = limits.sample(n, d)
    share = 2 * rows / n if n else float("inf")
    overview = source.reduce(FirstPass(rows, share, full), "first-look")
    if not overview.seen:
        raise ValueError("there is no row of positive weight in any chunk.")
    return overview


def solve_chunked(
    source: Source,
    problems: Sequence[ChunkedProblem],
    overview: DataSummary,
    options: Options | None = None,
    limits: Limits = DEFAULT,
    report: Callable | None = None,
) -> list[ChunkedResult]:
    """Solve hinge problems on all rows of a source to a certified relative gap, every pass serving all of them.

    Parameters
    ----------
    source : Source
        Its chunks are read once for every pass, and checked to be the same each time.
    problems : sequence of ChunkedProblem
        In the order of ``overview.classes``.
    overview : DataSummary
        Of the same source (`first_pass`).
    options : Options, optional
        `max_iter` bounds the passes, and the steps of every reduced problem.
    limits : Limits, optional
    report : callable, optional
        Called after every pass with its number and the searches that took part.

    Returns
    -------
    list of ChunkedResult
        With a `history` of one entry per pass after the first: the gap over all rows, and how many were near the margin.

    Raises
    ------
    ChangedChunkError
        Where a chunk was not the same when it was read again.
    """
    options = options or Options()
    most_near = limits.near(overview.n_features, len(problems))
    samples = _samples(problems, overview, limits)
    searches = [
        Search(problem, samples[problem.signs.tobytes()].priced(problem.costs), options, overview.rows, most_near)
        for problem in problems
    ]
    number = 1
    while active := [search for search in searches if not search.finished]:
        number += 1
        probes = tuple(search.probe for search in active)
        name = "newton-step" if all(search.newton for search in active) else "near-the-margin"
        answers = source.reduce(QueryPass(probes, overview.classes), f"{name}-{number}")
        overview.check(answers.fingerprints)
        for k, search in enumerate(active):
            search.take(answers.answers[k], float(answers.low[k]), float(answers.high[k]))
        if report:
            report(number, active)
    return [search.result() for search in searches]


def _samples(problems, overview, limits):
    """The sampled rows of every labelling, which its problems share; of many labellings fewer for each."""
    labellings = {problem.signs.tobytes(): problem.signs for problem in problems}
    rows = sum(len(s) for signs in labellings.values() for s, y in zip(overview.samples(), signs, strict=True) if y)
    share = min(1.0, limits.sample_numbers / ((overview.n_features + 1) * rows))
    if share < 1.0:
        overview = overview.cut(max(strategy.BALANCE, int(share * max(len(s) for s in overview.samples()))))
    return {key: SampledRows.of(signs, overview) for key, signs in labellings.items()}


__all__ = [
    "ChunkedProblem",
    "ChunkedResult",
    "Coordinates",
    "Multipliers",
    "Newton",
    "Search",
    "first_pass",
    "path_on",
    "solve_chunked",
]
