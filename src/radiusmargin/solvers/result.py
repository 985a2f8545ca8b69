"""What a solver returns: a solution together with the certificate of its quality."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np


class ConvergenceWarning(UserWarning):
    """A solver stopped before its gap reached the tolerance; the result carries the gap it has."""


@dataclass(frozen=True, eq=False, kw_only=True)
class Result:
    """Primal and dual values of a convex problem, and how the solver got there.

    Attributes
    ----------
    objective : float
        Value of the primal problem at the returned solution.
    dual_objective : float
        Value of the dual problem at a feasible point, hence a lower bound of the optimum.
    n_iter : int
        Iterations spent (Newton or interior-point steps, unless the solver says otherwise).
    converged : bool
        Whether ``gap <= tol``.
    history : tuple of dict
        One entry per outer round, where the solver was asked to keep it.
    """

    objective: float
    dual_objective: float
    n_iter: int
    converged: bool
    history: tuple[dict, ...] = field(default=(), repr=False)

    @property
    def gap(self) -> float:
        """Relative duality gap: the objective is at most this fraction of itself above the optimum."""
        return relative_gap(self.objective, self.dual_objective)


@dataclass(frozen=True, eq=False, kw_only=True)
class HingeResult(Result):
    """Solution of a hinge-loss problem; `alpha` is dual feasible (in the box, and ``y @ alpha == 0``)."""

    coef: np.ndarray
    intercept: float
    alpha: np.ndarray = field(repr=False)


def relative_gap(objective: float, dual_objective: float) -> float:
    """``(P - D) / |P|``, zero where both vanish."""
    difference = objective - dual_objective
    return 0.0 if difference <= 0.0 else difference / abs(objective)  # NaN stays NaN: it is no certificate
