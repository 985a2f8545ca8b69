"""The way of one problem through the passes: what to ask next, and what follows from the answer.

A sample says about where the separator is, and its two halves how far off that may be. Where the rows that could change sides
are few enough to be sent, the reduced problem of a `Sift` is solved exactly: it gives the next separator and a bound of the
optimum. Where they are too many, or a round went further than its rows could tell, a Newton step is made on a rounded-off hinge
from sums that the chunks add up (`Smooth`), whose multipliers give a bound as well.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg

from ...problems import Batch, ChunkedProblem, Dense, HingeResult, Options, Quadratics, Start, relative_gap
from ..hinge import solve
from . import strategy
from .probe import Probe, Sift, Sifted, Smooth


@dataclass(frozen=True, eq=False, kw_only=True)
class ChunkedResult(HingeResult):
    """Solution of a problem on chunks; `low` and `high` are the smallest and largest score of all rows, of any class."""

    low: float
    high: float


@dataclass(frozen=True, eq=False)
class Known:
    """Rows of a problem that the driver has: the sample.

    Attributes
    ----------
    X : ndarray of shape (m, d)
        In the user's units.
    y, c : ndarrays of shape (m,)
        Labels, and costs that make up for the rows that are not here.
    counts : ndarray of shape (m,)
        How many rows each stands for.
    complete : bool
        Whether these are all.
    """

    X: np.ndarray
    y: np.ndarray
    c: np.ndarray
    counts: np.ndarray
    complete: bool

    @classmethod
    def of(cls, problem: ChunkedProblem, overview) -> Known:
        parts, complete = [], True
        for moments, sample, y, cost in zip(
            overview.moments(), overview.samples(), problem.signs, problem.costs, strict=True
        ):
            if y == 0:
                continue
            # By weight, not by rows: the problem of the sample has the right weight for each class.
            factor, ones = cost * moments.total / sample.weight.sum(), np.ones(len(sample))
            order = np.argsort(sample.keys, kind="stable")
            parts.append(
                (sample.X[order], y * ones, factor * sample.weight[order], ones * (moments.rows / len(sample)))
            )
            complete &= len(sample) == moments.rows
        return cls(*(np.concatenate(columns) for columns in zip(*parts, strict=True)), complete)

    def half(self, i) -> Known:
        """Every other row; the keys, by which they are sorted, are random."""
        rows = slice(i, None, 2)
        return Known(self.X[rows], self.y[rows], 2 * self.c[rows], 2 * self.counts[rows], False)

    def size(self, values) -> float:
        """Root mean square over the rows that these stand for."""
        return float(np.sqrt(self.counts @ values**2 / self.counts.sum()))


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
        result = self._solve(
            self.known, strategy.REDUCED_TOL * tol if self.known.complete else max(tol, strategy.SAMPLE_TOL)
        )
        self.coef, self.intercept = self._lifted(result)
        if self.known.complete:
            self.best.dual_objective = result.dual_objective
            self._ask(1e-3)
        else:
            halves = [self._lifted(self._solve(self.known.half(i), max(tol, strategy.SAMPLE_TOL))) for i in (0, 1)]
            difference = self.known.X @ (halves[0][0] - halves[1][0]) + halves[0][1] - halves[1][1]
            self._ask(strategy.SIGMAS * self.known.size(difference) / 2)
        self.step, self.reduced = None, False

    # -- what to ask ----------------------------------------------------------------------------------------------------

    def _ask(self, width, rounded=None):
        """Sift by a width if the rows within it are few enough, else smooth: as much as this, or to start with."""
        scale = self._scale()
        width = max(width, strategy.NARROWEST * scale)
        z = 1.0 - self.known.y * (self.known.X @ self.coef + self.intercept)
        self.sifts = bool(self.known.counts @ (np.abs(z) <= width) <= self.most_near)
        if not self.sifts:
            rounded = max(width, strategy.ROUND * scale) if rounded is None else rounded
            width = min(max(rounded, strategy.NARROWEST * scale), scale)
        self.width = width

    def _scale(self):
        """Size of what rows lack of the margin, at least that of the margin itself."""
        return max(1.0, self.known.size(self.known.X @ self.coef + self.intercept))

    @property
    def probe(self) -> Probe:
        """The next question."""
        about = self.coef, self.intercept, self.problem.signs, self.problem.costs, self.width
        if self.sifts:
            return Sift(*about, 2 * self.most_near / self.rows)
        return Smooth(*about, self.problem.coordinates.shift)

    # -- what follows -----------------------------------------------------------------------------------------------------

    def take(self, answer, low: float, high: float):
        """The answer to the question, and the range of the scores."""
        promised = self.best.gap
        objective = self.problem.smooth_part(self.coef) + answer.loss
        if objective < self.best.objective:
            self.best.objective, self.best.coef, self.best.intercept = objective, self.coef, self.intercept
            self.best.low, self.best.high = low, high
        if isinstance(answer, Sifted):
            self._note(answer, "sift")
            if not self.finished:
                self._after_sifting(answer, promised)
        else:
            multipliers = _Multipliers.of(self.problem, answer)
            self.best.dual_objective = max(self.best.dual_objective, multipliers.dual_objective(self.problem))
            self._note(answer, "smooth")
            if not self.finished:
                self._after_smoothing(answer, multipliers)

    def _note(self, answer, question):
        self.history.append({"gap": self.best.gap, "near": answer.near_rows, "question": question, "width": self.width})

    @property
    def finished(self) -> bool:
        """Whether the gap is reached, or out of reach."""
        gaps = [entry["gap"] for entry in self.history]
        if not gaps:
            return False
        stuck = len(gaps) > strategy.PATIENCE and gaps[-1] > 0.9 * gaps[-1 - strategy.PATIENCE]
        return gaps[-1] <= self.options.tol or stuck or len(gaps) >= self.options.max_iter

    def _after_sifting(self, answer, promised):
        if self.reduced and self.best.gap > strategy.PROMISED * promised:
            # The means knew too little of where the separator went: start over from the best one, and look wider.
            self.coef, self.intercept, self.step, self.reduced = self.best.coef, self.best.intercept, None, False
            self.sifts, self.width = False, min(strategy.WIDER * self.width, self._scale())
            return
        X, y, c = answer.reduced()
        result = self._solve(Known(X, y, c, np.ones(len(y)), True), strategy.REDUCED_TOL * self.options.tol, warm=True)
        self.best.dual_objective = max(self.best.dual_objective, result.dual_objective)
        moved = self._move(*self._lifted(result))
        self.step, self.reduced = None, True
        self._ask(min(self.width, max(strategy.MOVES * moved, strategy.NARROW * self.width)))

    def _after_smoothing(self, answer, multipliers):
        gradient, H = multipliers.gradient(self.problem, self.coef), multipliers.curvature(self.problem, answer)
        if self.step is not None and self._overshot(gradient):
            return
        self.step, self.reduced = -linalg.solve(H, gradient, assume_a="pos"), False
        self.slope, self.before, width = float(gradient @ self.step), (self.coef, self.intercept), self.width
        moved = self._size_of(*self._stepped())
        if moved > strategy.REACH * self.width:  # the curvature is that of the rows within the width
            self._shorten(strategy.REACH * self.width / moved)
            width *= strategy.WIDER
        elif -0.5 * self.slope <= strategy.SETTLED * answer.slack:
            width *= strategy.SHARPER
        moved = self._move(*self._stepped())
        if width != self.width:  # slopes of different functions do not compare
            self.step = None
        self._ask(max(strategy.MOVES * moved, self.width), width)

    def _overshot(self, gradient) -> bool:
        """Whether the last step was too long; it is then shortened, by the secant of the slopes at both ends."""
        slope = float(gradient @ self.step)
        if slope <= -strategy.OVERSHOT * self.slope:
            return False
        self._shorten(self.slope / (self.slope - slope))
        self._move(*self._stepped())
        return True

    def _shorten(self, t):
        self.step, self.slope = t * self.step, t * self.slope

    def _stepped(self):
        """Where the step leads from where it started."""
        (coef, intercept), r = self.before, len(self.problem.B)
        more, shift = self.problem.coordinates.lift(self.step[:r], self.step[r:].sum())
        return coef + more, intercept + shift

    def _size_of(self, coef, intercept) -> float:
        """How much the scores change on the way there."""
        return self.known.size(self.known.X @ (coef - self.coef) + intercept - self.intercept)

    def _move(self, coef, intercept) -> float:
        moved = self._size_of(coef, intercept)
        self.coef, self.intercept = coef, intercept
        return moved

    # -- the compiled solver on rows at hand --------------------------------------------------------------------------

    def _solve(self, known, tol, warm=False) -> HingeResult:
        problem, start = self.problem, None
        if warm:
            v = problem.coordinates.lower(self.coef)
            start = Start(v[None], np.array([self.intercept + self.coef @ problem.coordinates.shift]))
        form = Quadratics() if problem.regularizer is None else Quadratics(problem.regularizer[None])
        rows = Dense(problem.coordinates.rows(known.X))
        batch = Batch(rows, known.y[None], known.c, np.ones(1), form, intercept=problem.intercept)
        result = solve(batch, Options(tol, self.options.max_iter), start)[0, 0]
        self.n_iter += result.n_iter
        return result

    def _lifted(self, result):
        return self.problem.coordinates.lift(result.coef, result.intercept)

    def result(self) -> ChunkedResult:
        best = self.best
        return ChunkedResult(
            coef=best.coef, intercept=best.intercept, alpha=None, objective=best.objective,
            dual_objective=min(best.dual_objective, best.objective), n_iter=self.n_iter,
            converged=bool(best.gap <= self.options.tol), history=tuple(self.history), low=best.low, high=best.high,
        )  # fmt: skip


@dataclass(frozen=True, eq=False)
class _Multipliers:
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


__all__ = ["ChunkedResult", "Known", "Search"]
