"""Alternate the closed-form metric with the separators: the repaired form of the paper's Algorithm 1."""

from __future__ import annotations

import numpy as np

from ..problem import Quadratics
from .problem import initial_state

DECAY = 0.3  # of eta from one round to the next, until the eta that was asked for
SMALLEST_ETA = 1e-12  # relative to where the continuation starts, where eta = 0 was asked for


def solve_alternating(problem):
    """Minimise by turns over M (a geometric mean, in closed form) and over the separators; stops on the gap.

    Monotone, and convergent to the global optimum for eta > 0, but slow as eta goes to zero: so eta comes down from
    where it equals the weights in size. With eta = 0 the gap is that of the unsmoothed problem. Iterations are rounds.
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
        tol = 0.1 * problem.tol  # a looser one would accept the start, and nothing would move
        state.take(columns, problem.hinge(columns, Quadratics((B + B.T)[None] / 2), tol, state.start(columns)))
        gap = state.certify(eta=eta)
    state.n_iter = len(state.history) - 1  # rounds are what `max_iter` counts here
    return state.result()
