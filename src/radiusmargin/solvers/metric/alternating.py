"""Alternating minimisation over the metric and the separators: two repaired forms of the paper's Algorithm 1.

`solve_alternating` takes the metric in closed form, `solve_projected_gradient` takes projected gradient steps.
"""

from __future__ import annotations

import numpy as np

from ..problem import Quadratics
from .problem import State, initial_state

DECAY = 0.3  # factor of eta from one round to the next, down to the eta of the problem
SMALLEST_ETA = 1e-12  # last eta of a problem with eta = 0, relative to the first


def solve_alternating(problem):
    """Alternate between M (a geometric mean, in closed form) and the separators, until the gap is small enough.

    The method is monotone and converges to the global optimum for eta > 0, but slowly as eta goes to zero. So eta decreases
    from the size of the weights. With eta = 0 the gap is that of the unsmoothed problem. Iterations are rounds.
    """
    state = initial_state(problem)
    columns = np.arange(problem.n_columns)
    norm = problem.norm
    eta = np.sum((norm.root @ state.W) ** 2) / np.trace(norm.T)
    smallest = max(norm.eta, SMALLEST_ETA * eta)
    gap = state.certify()
    for _ in range(problem.max_iter):
        if gap <= problem.tol:
            break
        eta = max(DECAY * eta, smallest)
        B = norm.with_eta(eta).at(state.W).inverse_metric(problem.penalty)
        tol = 0.1 * problem.tol  # a looser one would accept the starting point unchanged
        state.take(columns, problem.hinge(columns, Quadratics((B + B.T)[None] / 2), tol, state.start(columns)))
        gap = state.certify(eta=eta)
    state.n_iter = len(state.history) - 1  # rounds are what `max_iter` counts here
    return state.result()


# -- Projected gradient steps on M: Algorithm 1, preconditioned and made monotone -------------------------------------


INNER_STEPS = 20
FLOOR = 1e-6  # smallest eigenvalue of M in whitened coordinates, relative to the largest


def solve_projected_gradient(problem, max_rounds=50, stall=1e-7):
    """Alternate between the separators and projected gradient steps on M, until the objective stalls.

    In the result, and in every entry of its history, ``objective`` is the value at the current (W, b, M),
    ``dual_objective`` a lower bound of the minimum over all three, and ``gap`` the relative difference. An entry's
    ``best_metric_objective`` is the value of the same (W, b) with the best M, which the other solvers report.
    """
    norm, penalty = problem.norm, problem.penalty
    K, n = problem.Y.shape
    state = State(problem, np.zeros((len(norm.T), K)), np.zeros(K), np.zeros((K, n)))
    columns = np.arange(K)
    # In whitened coordinates N = T^{1/2} M T^{1/2}; the semi-whitening start M ~ T^{-1/2} becomes T^{1/2}.
    N = penalty.first_metric(norm.root)
    previous = np.inf
    start = None
    for round_ in range(min(max_rounds, problem.max_iter)):
        B = norm.root @ np.linalg.inv(N) @ norm.root
        state.take(columns, problem.hinge(columns, Quadratics((B + B.T)[None] / 2), 0.1 * problem.tol, start))
        start = state.start(columns)
        N, value = _descend(N, norm.root @ state.W, norm.eta * norm.T, penalty, problem)
        objective = value + problem.losses(state.W, state.b).sum()
        state.certify(objective=objective, round=round_ + 1)
        if previous - objective <= stall * abs(objective):
            break
        previous = objective
    values, vectors = np.linalg.eigh((N + N.T) / 2)
    return state.result(root=(norm.inverse_root @ vectors * np.sqrt(values)).T, objective=objective)


def _value(N, Q, penalty):
    """1/2 tr(N^{-1}Q) + rho tr N, or the first term alone if tr N = kappa is a constraint."""
    return 0.5 * np.trace(np.linalg.solve(N, Q)) + penalty.metric_cost(N)


def _descend(N, V, smoothing, penalty, problem):
    """Projected gradient steps with backtracking at fixed separators; returns the metric and its objective."""
    Q = V @ V.T + smoothing
    value, t = _value(N, Q, penalty), None
    for _ in range(INNER_STEPS):
        inverse = np.linalg.inv(N)
        gradient = -0.5 * inverse @ Q @ inverse + penalty.multiplier(inverse, Q) * np.eye(len(N))
        t = np.linalg.norm(N) / max(np.linalg.norm(gradient), 1e-300) if t is None else 2 * t
        while t > 1e-20:
            candidate = _project(N - t * gradient, penalty)
            new = _value(candidate, Q, penalty)
            if new < value:
                break
            t /= 4
        else:
            break
        improvement, N, value = value - new, candidate, new
        if improvement <= 1e-9 * abs(value):
            break
    return N, value


def _project(N, penalty):
    """Project onto the positive definite matrices (eigenvalues above a floor), of trace kappa if that is a constraint."""
    values, vectors = np.linalg.eigh((N + N.T) / 2)
    values = np.maximum(values, FLOOR * max(values[-1], 1e-300))
    return penalty.feasible_metric((vectors * values) @ vectors.T)
