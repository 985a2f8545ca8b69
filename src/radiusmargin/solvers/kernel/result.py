"""What the kernel machine returns."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import sparse

from ..result import Result, Results


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
    >>> from radiusmargin.solvers import Expansions
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
    objective, dual_objective, n_iter, converged, history
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
    Cs, intercept, objective, dual_objective, n_iter, converged, alpha
        As in `Results`.
    coef : Expansions, to be indexed as an array of shape (problems, Cs, n)
        Signed multipliers.
    definite : ndarray of shape (problems, Cs)
        As in `KernelResult`.
    scores : ndarray of shape (problems, Cs, n) or None
        Decision values of all rows, also of those that took no part, to single precision; where they were asked for.
    """

    definite: np.ndarray | None = None
    scores: np.ndarray | None = field(default=None, repr=False)

    def _select(self, Cs, index):
        definite, scores = (None if a is None else a[index] for a in (self.definite, self.scores))
        return KernelResults(**vars(super()._select(Cs, index)), definite=definite, scores=scores)

    def certificate(self, index: tuple[int, int]) -> Result:
        """Objectives and pairs of one problem and C, without the solution."""
        return Result(
            objective=float(self.objective[index]),
            dual_objective=float(self.dual_objective[index]),
            n_iter=int(self.n_iter[index]),
            converged=bool(self.converged[index]),
        )

    def __getitem__(self, index) -> KernelResult:
        return KernelResult(
            coef=self.coef[index],
            intercept=float(self.intercept[index]),
            objective=float(self.objective[index]),
            dual_objective=float(self.dual_objective[index]),
            n_iter=int(self.n_iter[index]),
            converged=bool(self.converged[index]),
            definite=bool(self.definite[index]),
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
