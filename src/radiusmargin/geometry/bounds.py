"""What bounds the radius of the enclosing ball: the mean, the diameter, the single features."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

from .._checks import check_points, check_vector
from .._types import ArrayLike
from .diameter import farthest_pair_about
from .enclosing_ball import EnclosingBall, minimum_enclosing_ball


@dataclass(frozen=True, eq=False, kw_only=True)
class RadiusBounds:
    """Radii of one set of points, all of them unsquared, and the intervals that they give for ``R``.

    Parameters
    ----------
    R : float
        Radius of the minimum enclosing ball, ``ball.radius``.
    Rbar : float
        Largest distance to the mean.
    R_O : float
        Half of the diameter.
    R_k : ndarray of shape (d,)
        Half of the range of every (weighted) feature, the radius that it has on its own.
    ball : EnclosingBall
        Centre, support and certificate of ``R``.
    n_samples, n_features : int
    """

    R: float
    Rbar: float
    R_O: float
    R_k: np.ndarray = field(repr=False)
    ball: EnclosingBall = field(repr=False)
    n_samples: int
    n_features: int

    @property
    def mean_interval(self) -> tuple[float, float]:
        """``Rbar / (2 (1 - 1/n)) <= R <= Rbar``: Theorem 1 in its sharp form (erratum E4)."""
        if self.n_samples == 1:
            return 0.0, 0.0
        return self.Rbar / (2.0 * (1.0 - 1.0 / self.n_samples)), self.Rbar

    @property
    def jung_interval(self) -> tuple[float, float]:
        """``R_O <= R <= sqrt(2d/(d+1)) R_O``: Jung's theorem.

        The points lie in a flat of ``min(d, n - 1)`` dimensions, which is the d meant here. It replaces the
        constant ``(1 + sqrt 3)/2`` quoted in the paper, which is too small for d >= 14 (erratum E5).
        """
        d = min(self.n_features, self.n_samples - 1)
        return self.R_O, float(np.sqrt(2.0 * d / (d + 1.0))) * self.R_O

    @property
    def feature_interval(self) -> tuple[float, float]:
        """``max_k R_k^2 <= R^2 <= sum_k R_k^2``, as bounds of ``R``: that of MR-SVM."""
        return float(self.R_k.max()), float(np.linalg.norm(self.R_k))

    @property
    def interval(self) -> tuple[float, float]:
        """The tightest lower and upper bound of the three, without looking at the ball."""
        lower, upper = zip(self.mean_interval, self.jung_interval, self.feature_interval, strict=True)
        return max(lower), min(upper)


def radius_bounds(X: ArrayLike, mu: ArrayLike | None = None) -> RadiusBounds:
    """Radius of the minimum enclosing ball and the approximations of it that are used in its place.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    mu : array of shape (n_features,), optional
        Non-negative weights of the features: everything is measured after ``x_k -> sqrt(mu_k) x_k``. (The
        paper prints the transformation ``diag(mu)``; the bound by ``sum_k mu_k R_k^2`` holds for the root.)

    Returns
    -------
    RadiusBounds

    Notes
    -----
    No upper bound dominates another: compare `mean_interval`, `jung_interval` and
    `feature_interval`, or take the best of them from `interval`.

    Examples
    --------
    Three points at zero and one at one attain the lower bound of Theorem 1:

    >>> from radiusmargin.geometry.bounds import radius_bounds
    >>> bounds = radius_bounds([[0.0], [0.0], [0.0], [1.0]])
    >>> bounds.R, bounds.Rbar, bounds.mean_interval
    (0.5, 0.75, (0.5, 0.75))
    """
    X = check_points(X)
    if mu is not None:
        X = X * np.sqrt(check_vector("mu", mu, X.shape[1], nonnegative=True))
    ball = minimum_enclosing_ball(X)
    return RadiusBounds(
        R=ball.radius,
        Rbar=float(np.linalg.norm(X - X.mean(axis=0), axis=1).max()),
        R_O=farthest_pair_about(X, ball.center)[2] / 2.0,
        R_k=np.ptp(X, axis=0) / 2.0,
        ball=ball,
        n_samples=X.shape[0],
        n_features=X.shape[1],
    )
