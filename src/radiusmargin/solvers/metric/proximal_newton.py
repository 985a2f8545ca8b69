"""Proximal Newton for one separator whose metric cannot be eliminated to a quadratic form (eta > 0, or a penalty rho).

The regulariser ``phi(N(w))`` is smooth away from w = 0, so it is replaced by its second-order model and the hinge is
left as it is: every round is one warm-started hinge problem with a linear term, and two or three rounds are usual.
"""

from __future__ import annotations

import numpy as np

from ..problem import Quadratics

MOST_ROUNDS = 12  # where these do not suffice the regulariser is nearly a kink
HALVINGS = 4
RIDGE = 1e-9  # relative: the penalised form has no curvature of its own along w
ONLY = np.array([0])


def solve_proximal_newton(problem, state):
    """Improve `state` until its certified gap is at most `problem.tol`, or put it back and return False."""
    start = state.W.copy(), state.b.copy()
    gap = state.certify()
    inner_tol = 0.1 * problem.tol
    for _ in range(MOST_ROUNDS):
        if gap <= problem.tol or state.n_iter >= problem.max_iter:
            return True
        W, b, objective = state.W.copy(), state.b.copy(), state.history[-1]["objective"]
        model = _quadratic_model(problem, W)
        state.take(ONLY, problem.hinge(ONLY, model, inner_tol, state.start(ONLY), spent=state.n_iter))
        state.certify()
        descends = _descends(problem, state, W, b, objective)
        gap = state.history[-1]["gap"]
        if not descends:
            break
        inner_tol = max(0.3 * inner_tol, 1e-12)  # the next round is there because this one was not enough
    if gap <= problem.tol:
        return True
    state.W, state.b = start
    return False


def _quadratic_model(problem, W):
    """The quadratic function that equals phi(N) to second order at W."""
    point, w = problem.norm.at(W), W[:, 0]
    gradient, H = point.expansion(problem.penalty)
    H = (H + H.T) / 2 + RIDGE * problem.penalty.slope(point.value) / point.value * problem.norm.T
    constant = problem.penalty.value(point.value) - w @ gradient + w @ H @ w / 2
    return Quadratics(H[None], (H @ w - gradient)[None], np.array([constant]))


def _descends(problem, state, W, b, objective):
    """Shorten the step from (W, b) until the objective falls below `objective`; False where it heads for the kink."""
    for _ in range(HALVINGS):
        if state.history[-1]["objective"] <= objective * (1 + 1e-12):
            break
        state.W, state.b = (state.W + W) / 2, (state.b + b) / 2
        state.history.pop()
        state.certify()
    reached = state.history[-1]["objective"]
    at_kink = problem.norm.eta == 0.0 and reached >= problem.objective(np.zeros_like(W), state.b)
    return reached <= objective * (1 + 1e-12) and not at_kink
