"""Newton steps on the augmented Lagrangian, each from sums over all rows: the NumPy twin's method, a pass a step."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from . import strategy
from .known import Known
from .probe import Reference, Smooth, Smoothed
from .problem import ChunkedProblem


class Newton:
    """A separator on its way, with its penalty and the references of earlier rounds.

    Parameters
    ----------
    problem : ChunkedProblem
    known : Known
        Tells how much a step changes the scores.
    start : tuple of (coef, intercept)
    penalty : float
    references : tuple of Reference
    """

    def __init__(self, problem: ChunkedProblem, known: Known, start, penalty: float, references=()):
        self.problem, self.known, self.references = problem, known, references
        self.coef, self.intercept, self.penalty = *start, penalty
        self.step, self.slope, self.before, self.moved = None, 0.0, start, np.inf

    @property
    def probe(self) -> Smooth:
        problem = self.problem
        about = self.coef, self.intercept, problem.signs, problem.costs
        step = None if self.step is None else self._in_users_units()
        return Smooth(*about, self.penalty, self.references, problem.coordinates.shift, step)

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


def path_on(known: Known, problem: ChunkedProblem, start, tol: float) -> tuple[Reference, ...]:
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


__all__ = ["Multipliers", "Newton", "path_on"]
