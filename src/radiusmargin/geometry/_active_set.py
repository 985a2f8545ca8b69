"""Exact enclosing balls of a few points: the inner solver of `minimum_enclosing_ball`.

The dual of the ball problem is the concave quadratic programme

    max_beta  sum_i beta_i |x_i|^2 - |sum_i beta_i x_i|^2,   beta in the simplex,

and its optimal value is R^2. The method below is that of Wolfe's nearest point in a polytope (1976),
carried over to balls: it moves from one affinely independent support to the next, always with feasible
weights, and its value never falls. It is finite, and whenever it is stopped it leaves a valid lower bound
of the radius.
"""

from __future__ import annotations

import numpy as np
from scipy.linalg.lapack import dgeqrf, dtrtrs

_RANK_TOL = 1e-12  # relative height above the flat of the others at which a point counts as lying in it
_ZERO_WEIGHT = 4.0 * np.finfo(float).eps  # a weight that moves the centre by no more than rounding does


def centred_value(A: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre ``c = sum beta_i a_i`` and dual value, without cancellation: ``sum beta_i |a_i - c|^2``."""
    center = beta @ A
    return center, float(beta @ _squared_distances(A, center))


def solve_small_ball(points: np.ndarray, active: np.ndarray, beta: np.ndarray, tol: float):
    """Smallest ball around `points`, from a dual feasible start.

    Parameters
    ----------
    points : array of shape (k, d)
        Of moderate size: all of them are looked at in every step.
    active : array of int of shape (m,)
        Rows of `points` that span the current ball.
    beta : array of shape (m,)
        Their weights, positive with sum one.
    tol : float
        Stop when no point is farther from the centre than ``(1 + tol)`` times the lower bound of the radius.

    Returns
    -------
    active, beta : arrays
        Support and weights of the smallest ball.
    """
    center, value = centred_value(points[active], beta)
    while True:
        squared = _squared_distances(points, center)
        farthest = int(squared.argmax())
        if squared[farthest] <= (1.0 + tol) ** 2 * value or farthest in active:
            return active, beta
        new_active, new_beta = _enlarge(points, np.append(active, farthest), np.append(beta, 0.0))
        center, new_value = centred_value(points[new_active], new_beta)
        if not new_value > value:  # rounding: the last support is as good as it gets
            return active, beta
        active, beta, value = new_active, new_beta, new_value


def _enlarge(points, active, beta):
    """Climb to the best weights on `active`, dropping the points whose weight reaches zero on the way."""
    while True:
        direction, length = _ascent(points[active], beta)
        falling = np.flatnonzero(direction < 0.0)
        steps = beta[falling] / -direction[falling]
        if steps.size == 0 or steps.min() >= length:
            beta = beta + direction
            kept = beta > _ZERO_WEIGHT
            return active[kept], beta[kept] / beta[kept].sum()
        blocking = falling[steps.argmin()]
        beta = np.maximum(beta + steps.min() * direction, 0.0)
        beta[blocking] = 0.0
        kept = beta > 0.0
        active, beta = active[kept], beta[kept] / beta[kept].sum()


def _ascent(A: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, float]:
    """Direction in which the dual value rises, and how far: one for the best weights, infinity for a ray."""
    if len(A) == 1:
        return 1.0 - beta, 1.0
    edges = A[1:] - A[0]
    # With edges' = QR the centre a_0 + edges' lambda is equidistant iff R'R lambda = |edges|^2 / 2. Taking R
    # from the edges and not from their Gram matrix keeps the precision that a flat simplex would lose.
    R = dgeqrf(edges.T)[0][: len(edges)]  # what is below its diagonal is never read
    half_squares = 0.5 * np.einsum("ij,ij->i", edges, edges)
    heights = np.abs(np.diag(R))
    flat = heights <= _RANK_TOL * np.sqrt(2.0 * half_squares.max())
    if len(heights) < len(edges) or flat.any():
        return _ray(A, beta, R, int(flat.argmax()) if flat.any() else len(heights)), np.inf
    mu, _ = dtrtrs(R, half_squares, trans=1)
    lam, _ = dtrtrs(R, mu)
    return np.concatenate([[1.0 - lam.sum()], lam]) - beta, 1.0


def _ray(A, beta, R, k: int) -> np.ndarray:
    """Affine dependence of point ``k + 1`` on those before it: the centre stays, the value is linear."""
    direction = np.zeros(len(A))
    direction[k + 1] = 1.0
    if k:
        coordinates, _ = dtrtrs(R[:k, :k], R[:k, k])
        direction[1 : k + 1] = -coordinates
    direction[0] = -direction.sum()
    slope = direction @ _squared_distances(A, beta @ A)
    return direction if slope >= 0.0 else -direction


def _squared_distances(points, center) -> np.ndarray:
    offsets = points - center
    return np.einsum("ij,ij->i", offsets, offsets)
