"""The minimum enclosing ball, exact and with a certificate, by core sets."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._checks import check_count, check_points, check_positive
from .._types import ArrayLike
from ._active_set import centred_value, solve_small_ball


@dataclass(frozen=True, eq=False, kw_only=True)
class EnclosingBall:
    """A ball around all points, and the proof of how small it is.

    Parameters
    ----------
    center : ndarray of shape (d,)
        ``weights @ X[support]``.
    radius : float
        Largest distance of a point to the centre: the ball encloses all points, converged or not.
    lower_bound : float
        No enclosing ball is smaller: root of the dual value ``sum_i beta_i |x_i - c|^2``.
    support : ndarray of int
        The rows that span the ball.
    weights : ndarray
        Their weights ``beta``, positive with sum one.
    n_iter : int
        Rounds: searches for the points outside, each one pass over the data.
    converged : bool
        Whether ``gap <= tol``.
    """

    center: np.ndarray
    radius: float
    lower_bound: float
    support: np.ndarray = field(repr=False)
    weights: np.ndarray = field(repr=False)
    n_iter: int
    converged: bool

    @property
    def gap(self) -> float:
        """``(radius - lower_bound) / radius``, zero where both vanish."""
        return (self.radius - self.lower_bound) / self.radius if self.radius > 0.0 else 0.0


def minimum_enclosing_ball(X: ArrayLike, *, tol: float = 1e-9, max_iter: int = 1000) -> EnclosingBall:
    """Smallest ball that contains the rows of `X`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Duplicates and points in a lower-dimensional flat are welcome.
    tol : float
        Stop when the relative gap between the radius and its lower bound is at most this.
    max_iter : int
        Most rounds, each one pass over the data. A run that ends early returns a ball that encloses all
        points nevertheless, with ``converged=False`` and a `gap` that says how far from the smallest it may
        be.

    Returns
    -------
    EnclosingBall

    Notes
    -----
    Core sets [1]_: the ball of a few points is solved exactly, the farthest of all points are added to
    them, and so on until none lies outside. A pass over the data is one matrix-vector product; the core
    set is solved by an active-set method in the manner of Wolfe and of Fischer and Gaertner [2]_, whose
    weights are feasible throughout, so that the lower bound holds at every moment (up to rounding).

    Points far from the origin in proportion to their spread have a centre that floating point cannot write
    down exactly: radius and gap are those of the rounded centre, so 1e8 +- 1 leaves a gap of about 1e-8.
    Subtract the mean first where that matters.

    References
    ----------
    .. [1] M. Badoiu, S. Har-Peled, P. Indyk, "Approximate clustering via core-sets", STOC (2002).
    .. [2] K. Fischer, B. Gaertner, M. Kutz, "Fast smallest-enclosing-ball computation in high dimensions",
       ESA (2003).

    Examples
    --------
    >>> from radiusmargin.geometry.enclosing_ball import minimum_enclosing_ball
    >>> ball = minimum_enclosing_ball([[0.0, 1.0], [2.0, 2.0], [1.0, 1.0]])
    >>> ball.center, round(ball.radius, 6), ball.support
    (array([1. , 1.5]), 1.118034, array([0, 1]))
    """
    X = check_points(X)
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    shift = X.mean(axis=0)
    Z = X - shift
    largest = max(Z.max(), -Z.min())
    if largest == 0.0:
        return _point_ball(X[0])
    # Centred, and scaled by a power of two (exactly): |z|^2 - 2 z'c + |c|^2 loses no digits, nor overflows.
    scale = float(2.0 ** (np.frexp(largest)[1] - 1))
    Z /= scale
    support, beta, n_iter = _core_set_ball(Z, tol, max_iter)
    return _certify(Z, shift, scale, support, beta, n_iter, tol)


def _core_set_ball(Z, tol: float, max_iter: int):
    """Support and weights of the smallest ball around the rows of `Z`, and the number of rounds."""
    squares = np.einsum("ij,ij->i", Z, Z)
    first = int(squares.argmax())
    second = int(_squared_distances(Z, squares, Z[first]).argmax())
    support, beta = np.array([first, second]), np.array([0.5, 0.5])
    if first == second:  # equal points whose mean is rounded
        return support[:1], np.ones(1), 0
    center, value = centred_value(Z[support], beta)
    n_new = 2 * Z.shape[1] + 10
    n_iter, stalled = 0, False
    while n_iter < max_iter and not stalled:
        n_iter += 1
        squared = _squared_distances(Z, squares, center)
        squared[support] = 0.0
        outside = np.flatnonzero(squared > value / (1.0 - 0.5 * tol) ** 2)
        if outside.size > n_new:
            outside = outside[np.argpartition(squared[outside], -n_new)[-n_new:]]
        if outside.size == 0:
            break
        core = np.concatenate([support, outside])
        active, beta = solve_small_ball(Z[core], np.arange(support.size), beta, 0.25 * tol)
        support = core[active]
        center, new_value = centred_value(Z[support], beta)
        stalled = not new_value > value  # rounding allows no better ball
        value = new_value
    return support, beta, n_iter


def _certify(Z, shift, scale, support, beta, n_iter, tol) -> EnclosingBall:
    """Radius and lower bound, for the centre as it is after rounding to the user's units."""
    center, value = centred_value(Z[support], beta)
    lower_bound = scale * float(np.sqrt(value))
    center = shift + scale * center
    local = (center - shift) / scale
    squared = _squared_distances(Z, np.einsum("ij,ij->i", Z, Z), local)
    candidates = np.flatnonzero(squared >= (1.0 - 1e-12) * squared.max())
    radius = scale * float(np.linalg.norm(Z[candidates] - local, axis=1).max())
    lower_bound = min(lower_bound, radius)  # they may cross by one rounding error
    order = np.argsort(support)
    return EnclosingBall(
        center=center,
        radius=radius,
        lower_bound=lower_bound,
        support=support[order],
        weights=beta[order],
        n_iter=n_iter,
        converged=bool(radius - lower_bound <= tol * radius),
    )


def _point_ball(x) -> EnclosingBall:
    return EnclosingBall(
        center=x.copy(),
        radius=0.0,
        lower_bound=0.0,
        support=np.zeros(1, dtype=np.intp),
        weights=np.ones(1),
        n_iter=0,
        converged=True,
    )


def _squared_distances(Z, squares, center) -> np.ndarray:
    return squares - 2.0 * (Z @ center) + center @ center
