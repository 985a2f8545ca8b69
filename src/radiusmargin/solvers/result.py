"""What a solver returns: a solution together with the certificate of its quality."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

import numpy as np
from scipy import sparse

from .._types import ArrayLike


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """Primal and dual values of a convex problem, and how the solver got there.

    Parameters
    ----------
    objective : float
        Value of the primal problem at the returned solution.
    dual_objective : float
        Value of the dual problem at a feasible point, hence a lower bound of the optimum.
    n_iter : int
        Iterations spent (Newton or interior-point steps, unless the solver says otherwise).
    converged : bool
        Whether ``gap <= tol``.
    method : str
        The method that found the solution, such as "newton", "sifting+newton", "coordinate-descent" or "smo". Empty for
        solvers that have only one.
    status : str
        Why the solver stopped: "converged", "max_iter", or "stalled" where rounding leaves nothing to gain. Empty for
        solvers that do not report it.
    history : tuple of dict
        One entry per outer round, where the solver was asked to keep it.
    """

    objective: float
    dual_objective: float
    n_iter: int
    converged: bool
    method: str = ""
    status: str = ""
    history: tuple[dict, ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """Relative duality gap: the objective is at most this fraction of itself above the optimum."""
        return float(relative_gap(self.objective, self.dual_objective))


@dataclass(frozen=True, eq=False, kw_only=True)
class HingeResult(Result):
    """Solution of a hinge-loss problem; `alpha` is dual feasible (in the box, and ``y @ alpha == 0``).

    Parameters
    ----------
    objective, dual_objective, n_iter, converged, method, status, history
        As in `Result`.
    coef : ndarray of shape (d,)
    intercept : float
    alpha : ndarray of shape (n,) or None
        Multipliers, where they were kept.
    """

    coef: np.ndarray
    intercept: float
    alpha: np.ndarray | None = field(repr=False)


@dataclass(frozen=True, eq=False)
class Results:
    """Solutions of many hinge problems, stacked: axes (problem, C), or only (C) of one problem.

    ``results[p, c]`` is the `HingeResult` of problem p and ``Cs[c]``; `of` has all Cs of a problem.

    Parameters
    ----------
    Cs : ndarray
    coef : ndarray of shape (problems, Cs, d)
    intercept, objective, dual_objective, n_iter, converged : ndarray of shape (problems, Cs)
        As in `Result`.
    alpha : ndarray of shape (problems, Cs, n) or None
        Multipliers, where they were kept.
    method, status : ndarray of str of shape (problems, Cs), or None
        As in `Result`.
    """

    Cs: np.ndarray
    coef: np.ndarray = field(repr=False)
    intercept: np.ndarray
    objective: np.ndarray
    dual_objective: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    alpha: np.ndarray | None = field(default=None, repr=False)
    method: np.ndarray | None = None
    status: np.ndarray | None = None

    @property
    def gap(self) -> np.ndarray:
        """Relative duality gaps, one per problem and C."""
        return np.asarray(relative_gap(self.objective, self.dual_objective))

    def __len__(self) -> int:
        return len(self.objective)

    def __getitem__(self, index) -> HingeResult:
        alpha = None if self.alpha is None else self.alpha[index]
        return HingeResult(
            coef=self.coef[index], intercept=float(self.intercept[index]), alpha=alpha, **self._certificate(index)
        )

    def certificate(self, index: tuple[int, int]) -> Result:
        """Return objectives, iterations and method of one problem and C, without the solution."""
        return Result(**self._certificate(index))

    def _certificate(self, index):
        return {
            "objective": float(self.objective[index]),
            "dual_objective": float(self.dual_objective[index]),
            "n_iter": int(self.n_iter[index]),
            "converged": bool(self.converged[index]),
            "method": "" if self.method is None else str(self.method[index]),
            "status": "" if self.status is None else str(self.status[index]),
        }

    def of(self, p: int) -> Results:
        """The path of problem p, without the axis of problems."""
        return self._select(self.Cs, p)

    def at(self, chosen: np.ndarray | slice) -> Results:
        """The same for some of the Cs, or in another order: by a mask or by numbers."""
        return self._select(self.Cs[chosen], (slice(None), chosen))

    def _select(self, Cs, index):
        values = self.intercept, self.objective, self.dual_objective, self.n_iter, self.converged
        optional = self.alpha, self.method, self.status
        chosen = (None if value is None else value[index] for value in values + optional)
        return Results(Cs, self.coef[index], *chosen)


@dataclass(frozen=True)
class Certificate:
    """Bounds of several problems together.

    Parameters
    ----------
    objective, dual_objective : float
        Sums over the problems; a dual objective of NaN is none.
    n_iter : int
        Iterations of all problems.
    max_gap : float
        The largest relative gap of a problem, which those of larger objectives hide in the sums.
    """

    objective: float = 0.0
    dual_objective: float = 0.0
    n_iter: int = 0
    max_gap: float = 0.0

    @classmethod
    def of(cls, objective: ArrayLike, dual_objective: ArrayLike, n_iter: ArrayLike) -> Certificate:
        """Add up arrays with a number for every problem."""
        P, D = np.asarray(objective, dtype=float), np.asarray(dual_objective, dtype=float)
        return cls(float(P.sum()), float(D.sum()), int(np.asarray(n_iter).sum()), float(np.max(relative_gap(P, D))))

    def __add__(self, other: Certificate) -> Certificate:
        return Certificate(
            self.objective + other.objective, self.dual_objective + other.dual_objective, self.n_iter + other.n_iter,
            float(np.maximum(self.max_gap, other.max_gap)),
        )  # fmt: skip


def certificate(
    objective: float | np.ndarray, dual_objective: float | np.ndarray, n_iter: int | np.ndarray, tol: float
) -> dict:
    """The fields of a `Result` that say how good it is: a bound beyond the objective is its rounding.

    Parameters
    ----------
    objective, dual_objective : float or ndarray
    n_iter : int or ndarray
        Iterations spent.
    tol : float
        The relative gap that was asked for.
    """
    gap = relative_gap(objective, dual_objective)
    bound = min(dual_objective, objective) if np.ndim(gap) == 0 else np.minimum(dual_objective, objective)
    return {"objective": objective, "dual_objective": bound, "n_iter": n_iter, "converged": gap <= tol}


STATUSES = np.array(["stalled", "max_iter", "converged"])


def status_of(converged: np.ndarray, out_of_iterations: np.ndarray) -> np.ndarray:
    """Return why each problem stopped; see `Result`.

    Parameters
    ----------
    converged : bool ndarray
        Whether the tolerance was met.
    out_of_iterations : bool ndarray
        Whether as many iterations were spent as were allowed.
    """
    return STATUSES[np.where(converged, 2, out_of_iterations)]


def relative_gap(objective: float | np.ndarray, dual_objective: float | np.ndarray) -> float | np.ndarray:
    """``(P - D) / |P|`` of numbers or arrays, zero where ``P <= D``; NaN stays NaN, since it is no certificate.

    Parameters
    ----------
    objective, dual_objective : float or ndarray
        P and D.
    """
    difference: Any = objective - dual_objective
    if np.ndim(difference) == 0:
        return 0.0 if difference <= 0.0 else difference / abs(objective)
    excess = np.maximum(difference, 0.0)
    return np.divide(excess, np.abs(objective), out=excess, where=excess > 0.0)


# -- What the kernel machine returns ----------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Expansions:
    """Signed multipliers of many problems, of which only those that are not zero are there.

    An array of shape ``(*stacked, n)`` to those who index it, or ask for one (`numpy.asarray`); with one problem for every pair
    of many classes that would be far larger than the data.

    Attributes
    ----------
    matrix : csr_array of shape (prod(stacked), n)
    stacked : tuple of int
        Axes before that of rows.

    Examples
    --------
    >>> import numpy as np
    >>> from scipy import sparse
    >>> from radiusmargin.solvers.result import Expansions
    >>> stack = Expansions(sparse.csr_array(np.arange(12).reshape(6, 2)), (3, 2))
    >>> stack[1, 0].tolist(), stack[:, 1].matrix.toarray().tolist()
    ([4.0, 5.0], [[2, 3], [6, 7], [10, 11]])
    """

    matrix: sparse.csr_array
    stacked: tuple[int, ...]

    @property
    def shape(self) -> tuple[int, ...]:
        return (*self.stacked, self.matrix.shape[1])

    def __getitem__(self, index):
        numbers = np.arange(self.matrix.shape[0]).reshape(self.stacked)[index]
        if np.ndim(numbers) == 0:
            row, own = np.zeros(self.matrix.shape[1]), slice(*self.matrix.indptr[numbers : numbers + 2])
            row[self.matrix.indices[own]] = self.matrix.data[own]
            return row
        return Expansions(self.matrix[numbers.ravel()], numbers.shape)

    def __array__(self, dtype=None, copy=None):
        return self.matrix.toarray().reshape(self.shape).astype(dtype or float, copy=False)


@dataclass(frozen=True, eq=False, kw_only=True)
class KernelResult(Result):
    """Solution of a kernel problem: ``score(x) = sum_i coef_i k(x_i, x) + intercept``.

    Parameters
    ----------
    objective, dual_objective, n_iter, converged, method, status, history
        As in `Result`; iterations are pairs of multipliers.
    coef : ndarray of shape (n,)
        Signed multipliers, ``y_i alpha_i``: zero but for the support vectors.
    intercept : float
    definite : bool
        Whether nothing spoke against a positive semi-definite kernel. Where something did, `dual_objective` bounds
        nothing: the solution is a stationary point, and `gap` tells how nearly.
    """

    coef: np.ndarray = field(repr=False)
    intercept: float
    definite: bool

    @property
    def support(self) -> np.ndarray:
        return np.flatnonzero(self.coef)

    @property
    def dual_coef(self) -> np.ndarray:
        """Coefficients of the support vectors."""
        return self.coef[self.support]


@dataclass(frozen=True, eq=False)
class KernelResults(Results):
    """As `Results`, with axes (problem, C).

    Parameters
    ----------
    Cs, intercept, objective, dual_objective, n_iter, converged, alpha, method, status
        As in `Results`.
    coef : Expansions, to be indexed as an array of shape (problems, Cs, n)
        Signed multipliers.
    definite : ndarray of shape (problems, Cs)
        As in `KernelResult`.
    scores : ndarray of shape (problems, Cs, n) or None
        Decision values of all rows, also of those that took no part, to single precision; where they were asked for.
    """

    coef: Expansions = field(repr=False)  # type: ignore[assignment]  # indexed as the array is
    definite: np.ndarray | None = None
    scores: np.ndarray | None = field(default=None, repr=False)

    def _select(self, Cs, index):
        definite, scores = (None if a is None else a[index] for a in (self.definite, self.scores))
        return KernelResults(**vars(super()._select(Cs, index)), definite=definite, scores=scores)

    def __getitem__(self, index) -> KernelResult:  # type: ignore[override]  # has no coef of features
        return KernelResult(
            coef=self.coef[index],
            intercept=float(self.intercept[index]),
            definite=bool(self.definite[index]),  # type: ignore[index]  # a default in the dataclass only, always set
            **self._certificate(index),
        )


def why_indefinite(function) -> str:
    """Say why kernel values have a negative direction: rounding, where the kernel of a `KernelFunction` has none."""
    if getattr(function, "is_definite", False):
        return (
            f"rounding of the values of the {function.kernel} kernel is not small beside their differences (subtract the mean of every "
            "feature, or scale it)"
        )
    return "the kernel is not positive semi-definite, or not known to be"


__all__ = ["Expansions", "KernelResult", "KernelResults", "why_indefinite"]
