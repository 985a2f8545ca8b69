"""Separators, then projected gradient steps on M, in turns: the paper's Algorithm 1, preconditioned and made monotone.

Kept for comparison: it does not reach the optimum of its own model, because the metric it descends towards has rank one
and a gradient step cannot get there. Its objective is that of the separator in the metric at which it stopped, and its
gap bounds how far that is above the optimum over both. Against the print: steps are taken in whitened coordinates; M and
the step size are set before the inner loop, not in it; the projection keeps M positive definite; the initial metric has
the corrected scale; the step backtracks, so that the objective never rises. `algorithm_one` has the algorithm as printed.
"""

from __future__ import annotations

import numpy as np

from ..problem import Quadratics
from .problem import State

INNER_STEPS = 20
FLOOR = 1e-6  # of the largest eigenvalue of M in whitened coordinates


def solve_projected_gradient(problem, max_rounds=50, stall=1e-7):
    """Descend until the objective stalls.

    In the result, and in every entry of its history, ``objective`` is the value at (W, b, M) as they stand,
    ``dual_objective`` a lower bound of the minimum over all three, and ``gap`` the relative difference. An entry's
    ``best_metric_objective`` is what the same (W, b) would have with the best M for them, as the other solvers do.
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
    """1/2 tr(N^{-1}Q) + rho tr N, or the first term alone where tr N = kappa."""
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
    """Onto the positive definite matrices (eigenvalues above a floor), of trace kappa where that is the constraint."""
    values, vectors = np.linalg.eigh((N + N.T) / 2)
    values = np.maximum(values, FLOOR * max(values[-1], 1e-300))
    return penalty.feasible_metric((vectors * values) @ vectors.T)
