"""`solver="exact"`: the method that a radius-margin problem needs.

One column, eta = 0 and the constrained form is F-SVM, an SVM with the regulariser T; other problems of one column are a few
such SVMs (`proximal_newton`), several columns that share M need `matrix_newton`.
"""

from __future__ import annotations

from .matrix_newton import solve_matrix_newton
from .problem import RadiusMarginProblem, RadiusMarginResult, initial_state
from .proximal_newton import solve_proximal_newton


def solve_exact(problem: RadiusMarginProblem) -> RadiusMarginResult:
    """Minimise to `tol`: by as few hinge problems as the model allows, by matrix Newton steps where it allows none.

    That is where columns share M, and near the kink of the penalised norm at w = 0.
    """
    state = initial_state(problem)
    if problem.is_plain:
        state.certify()
    elif problem.n_columns > 1 or not solve_proximal_newton(problem, state):
        solve_matrix_newton(problem, state)
    return state.result()
