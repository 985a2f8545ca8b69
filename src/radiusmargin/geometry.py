"""Enclosing balls, radius bounds and margins.

In order: the minimum enclosing ball of a few points, that of many points (by core sets), the farthest pair of points, bounds
of the radius, and radius and margin before and after a learned transformation.
"""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from scipy import linalg
from scipy.linalg.lapack import dgeqrf, dtrtrs

from . import scatter
from ._checks import check_count, check_points, check_positive, check_vector
from ._types import ArrayLike

# -- The ball of a few points -----------------------------------------------------------------------------------------
#
# The dual of the ball problem is the concave quadratic programme
#
#     max_beta  sum_i beta_i |x_i|^2 - |sum_i beta_i x_i|^2,   beta in the simplex,
#
# with optimal value R^2. The method is Wolfe's for the nearest point in a polytope (1976), applied to balls: it moves from
# one affinely independent support to the next, with feasible weights, and its value never decreases. It is finite, and every
# iterate gives a lower bound of the radius.

_RANK_TOL = 1e-12  # a point of smaller relative height above the affine hull of the others counts as part of it
_ZERO_WEIGHT = 4.0 * np.finfo(float).eps  # a weight that moves the centre by no more than rounding does


def centred_value(A: np.ndarray, beta: np.ndarray) -> tuple[np.ndarray, float]:
    """Centre ``c = sum beta_i a_i`` and dual value, without cancellation: ``sum beta_i |a_i - c|^2``."""
    center = beta @ A
    return center, float(beta @ _squared_norms(A - center))


def solve_small_ball(points: np.ndarray, active: np.ndarray, beta: np.ndarray, tol: float):
    """Smallest ball around `points`, from a dual feasible start.

    Parameters
    ----------
    points : array of shape (k, d)
        Few points: every step computes the distances of all of them.
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
        squared = _squared_norms(points - center)
        farthest = int(squared.argmax())
        if squared[farthest] <= (1.0 + tol) ** 2 * value or farthest in active:
            return active, beta
        new_active, new_beta = _enlarge(points, np.append(active, farthest), np.append(beta, 0.0))
        center, new_value = centred_value(points[new_active], new_beta)
        if not new_value > value:  # rounding prevents a better support
            return active, beta
        active, beta, value = new_active, new_beta, new_value


def _enlarge(points, active, beta):
    """Maximise the dual value on `active`, dropping the points whose weight reaches zero."""
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
    """Ascent direction of the dual value, and the step length to its maximum: one, or infinity along a ray."""
    if len(A) == 1:
        return 1.0 - beta, 1.0
    edges = A[1:] - A[0]
    # With edges' = QR the centre a_0 + edges' lambda is equidistant iff R'R lambda = |edges|^2 / 2. Taking R
    # from the edges and not from their Gram matrix keeps the precision that a flat simplex would lose.
    R = dgeqrf(edges.T)[0][: len(edges)]  # entries below its diagonal are never read
    half_squares = 0.5 * _squared_norms(edges)
    heights = np.abs(np.diag(R))
    flat = heights <= _RANK_TOL * np.sqrt(2.0 * half_squares.max())
    if len(heights) < len(edges) or flat.any():
        return _ray(A, beta, R, int(flat.argmax()) if flat.any() else len(heights)), np.inf
    mu, _ = dtrtrs(R, half_squares, trans=1)
    lam, _ = dtrtrs(R, mu)
    return np.concatenate([[1.0 - lam.sum()], lam]) - beta, 1.0


def _ray(A, beta, R, k: int) -> np.ndarray:
    """Direction from the affine dependence of point ``k + 1`` on those before it: the centre stays, the value is linear."""
    direction = np.zeros(len(A))
    direction[k + 1] = 1.0
    if k:
        coordinates, _ = dtrtrs(R[:k, :k], R[:k, k])
        direction[1 : k + 1] = -coordinates
    direction[0] = -direction.sum()
    slope = direction @ _squared_norms(A - beta @ A)
    return direction if slope >= 0.0 else -direction


def _squared_norms(rows) -> np.ndarray:
    return np.einsum("ij,ij->i", rows, rows)


# -- The minimum enclosing ball, with a certificate, by core sets -----------------------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class EnclosingBall:
    """A ball around all points, and a certified lower bound of its radius.

    Parameters
    ----------
    center : ndarray of shape (d,)
        ``weights @ X[support]``.
    radius : float
        Largest distance of a point to the centre: the ball encloses all points, converged or not.
    lower_bound : float
        Lower bound of the radius of any enclosing ball: root of the dual value ``sum_i beta_i |x_i - c|^2``.
    support : ndarray of int
        Rows that span the ball.
    weights : ndarray
        Their weights ``beta``, positive with sum one.
    n_iter : int
        Rounds, each one pass over the data for points outside the ball.
    converged : bool
        True if ``gap <= tol``.
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
        """``(radius - lower_bound) / radius``, zero if both vanish."""
        return (self.radius - self.lower_bound) / self.radius if self.radius > 0.0 else 0.0


def minimum_enclosing_ball(X: ArrayLike, *, tol: float = 1e-9, max_iter: int = 1000) -> EnclosingBall:
    """Smallest ball that contains the rows of `X`.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
        Duplicates and points in a lower-dimensional flat are allowed.
    tol : float
        Stop when the relative gap between the radius and its lower bound is at most this.
    max_iter : int
        Most rounds, each one pass over the data. A run that ends early still returns a ball that encloses all points, with
        ``converged=False`` and a `gap` that bounds how far it may be from the smallest.

    Returns
    -------
    EnclosingBall

    Notes
    -----
    Core sets [1]_: the ball of a few points is solved exactly, the farthest of all points are added to
    them, and so on until none lies outside. A pass over the data is one matrix-vector product. The core
    set is solved by an active-set method in the manner of Wolfe and of Fischer and Gaertner [2]_, whose
    weights are feasible throughout, so that the lower bound holds in every round (up to rounding).

    The centre is rounded to floating point. For points that are far from the origin in proportion to their
    spread, such as 1e8 +- 1, this alone leaves a gap of about 1e-8. Subtract the mean first where that
    matters.

    References
    ----------
    .. [1] M. Badoiu, S. Har-Peled, P. Indyk, "Approximate clustering via core-sets", STOC (2002).
    .. [2] K. Fischer, B. Gaertner, M. Kutz, "Fast smallest-enclosing-ball computation in high dimensions",
       ESA (2003).

    Examples
    --------
    >>> from radiusmargin.geometry import minimum_enclosing_ball
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
    squares = _squared_norms(Z)
    first = int(squares.argmax())
    second = int(_squared_distances(Z, squares, Z[first]).argmax())
    support, beta = np.array([first, second]), np.array([0.5, 0.5])
    if first == second:  # equal points, whose mean is rounded
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
        stalled = not new_value > value  # rounding prevents a better ball
        value = new_value
    return support, beta, n_iter


def _certify(Z, shift, scale, support, beta, n_iter, tol) -> EnclosingBall:
    """Radius and lower bound, for the centre rounded in the user's units."""
    center, value = centred_value(Z[support], beta)
    lower_bound = scale * float(np.sqrt(value))
    center = shift + scale * center
    local = (center - shift) / scale
    squared = _squared_distances(Z, _squared_norms(Z), local)
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
    """Squared distances of the rows of Z, whose squared norms are `squares`, to a centre: one matrix-vector product."""
    return squares - 2.0 * (Z @ center) + center @ center


# -- The farthest pair of points, exact, in bounded memory ------------------------------------------------------------


_BLOCK_ROWS = 256
_BLOCK_COLUMNS = 4096  # 256 x 4096 distances are 8 megabytes


def farthest_pair(X: ArrayLike) -> tuple[int, int, float]:
    """Two rows of `X` at the largest distance from each other.

    Parameters
    ----------
    X : array of shape (n_samples, n_features)

    Returns
    -------
    i, j : int
        Rows, ``i < j`` (both zero if there is one row only).
    distance : float
        The diameter, twice the radius ``R_O`` (unsquared: erratum E2).

    Notes
    -----
    Distances are computed block by block and not stored. With ``r_i`` the distance of row i to any fixed
    point, ``|x_i - x_j| <= r_i + r_j``. Rows are taken in descending order of ``r``, so that only those
    with ``r_i + r_j`` above the best distance so far are compared. The fixed point is the centre of the
    enclosing ball, which makes the largest ``r_i`` as small as possible. Few pairs are left for most data;
    points that all lie near one sphere are the worst case, ``n^2 d / 2`` multiplications.

    Examples
    --------
    >>> from radiusmargin.geometry import farthest_pair
    >>> farthest_pair([[0.0, 0.0], [3.0, 0.0], [3.0, 4.0]])
    (0, 2, 5.0)
    """
    X = check_points(X)
    # A rough centre prunes as well as the exact one.
    return farthest_pair_about(X, minimum_enclosing_ball(X, tol=1e-3).center)


def farthest_pair_about(X: np.ndarray, center: np.ndarray) -> tuple[int, int, float]:
    """`farthest_pair` of checked points, pruned by their distances to `center`."""
    if len(X) == 1:
        return 0, 0, 0.0
    Z = X - center
    scale = float(max(Z.max(), -Z.min())) or 1.0
    Z /= scale
    squares = _squared_norms(Z)
    order = np.argsort(-squares, kind="stable")
    pair = _search(Z, squares, order)
    i, j = sorted(pair)
    return i, j, float(scale * np.linalg.norm(Z[i] - Z[j]))


def _search(Z, squares, order) -> tuple[int, int]:
    pair, best = _double_normal(Z, squares, int(order[0]))
    radii = np.sqrt(squares[order])
    for start in range(0, len(Z), _BLOCK_ROWS):
        if 2.0 * radii[start] <= best:
            break
        rows = order[start : start + _BLOCK_ROWS]
        # radii descend, so that -radii is sorted; partners earlier in the order were compared with this block already.
        stop = int(np.searchsorted(-radii, radii[start] - best))
        for left in range(start, stop, _BLOCK_COLUMNS):
            columns = order[left : min(left + _BLOCK_COLUMNS, stop)]
            squared = squares[rows, None] + squares[columns] - 2.0 * (Z[rows] @ Z[columns].T)
            a, b = divmod(int(squared.argmax()), columns.size)
            if squared[a, b] > best**2:
                pair, best = (int(rows[a]), int(columns[b])), float(np.sqrt(squared[a, b]))
    return pair


def _double_normal(Z, squares, i: int) -> tuple[tuple[int, int], float]:
    """Go from a point to the one farthest from it while the distance grows, for a good first pair."""
    pair, best = (0, 1), 0.0
    while True:
        squared = _squared_distances(Z, squares, Z[i])
        j = int(squared.argmax())
        if not squared[j] > best**2 * (1.0 + 1e-12) or i == j:
            return pair, best
        pair, best, i = (i, j), float(np.sqrt(squared[j])), j


# -- Bounds of the radius: from the mean, the diameter and the single features ----------------------------------------


@dataclass(frozen=True, eq=False, kw_only=True)
class RadiusBounds:
    """Radii of one set of points, unsquared, and the intervals that they give for ``R``.

    Parameters
    ----------
    R : float
        Radius of the minimum enclosing ball, ``ball.radius``.
    Rbar : float
        Largest distance to the mean.
    R_O : float
        Half of the diameter.
    R_k : ndarray of shape (d,)
        Half of the range of each (weighted) feature, its radius on its own.
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
        """``max_k R_k^2 <= R^2 <= sum_k R_k^2``, as bounds of ``R``: the bound of MR-SVM."""
        return float(self.R_k.max()), float(np.linalg.norm(self.R_k))

    @property
    def interval(self) -> tuple[float, float]:
        """Tightest lower and upper bound of the three, without use of the ball."""
        lower, upper = zip(self.mean_interval, self.jung_interval, self.feature_interval, strict=True)
        return max(lower), min(upper)


def radius_bounds(X: ArrayLike, mu: ArrayLike | None = None) -> RadiusBounds:
    """Radius of the minimum enclosing ball, and the approximations that models use in its place.

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

    >>> from radiusmargin.geometry import radius_bounds
    >>> bounds = radius_bounds([[0.0], [0.0], [0.0], [1.0]])
    >>> bounds.R, bounds.Rbar, bounds.mean_interval
    (0.5, 0.75, (0.5, 0.75))
    """
    points = check_points(X)
    if mu is not None:
        points = points * np.sqrt(check_vector("mu", mu, points.shape[1], nonnegative=True))
    ball = minimum_enclosing_ball(points)
    return RadiusBounds(
        R=ball.radius,
        Rbar=float(np.linalg.norm(points - points.mean(axis=0), axis=1).max()),
        R_O=farthest_pair_about(points, ball.center)[2] / 2.0,
        R_k=np.ptp(points, axis=0) / 2.0,
        ball=ball,
        n_samples=points.shape[0],
        n_features=points.shape[1],
    )


# -- Radius and margin before and after a learned transformation ------------------------------------------------------


@dataclass(frozen=True, kw_only=True)
class RadiusMargin:
    """Radius of the enclosing ball and margin of a linear classifier in one space.

    Parameters
    ----------
    radius : float
        Radius of the minimum enclosing ball.
    margin : float
        ``1 / ||w||``, infinite for ``w = 0``.
    """

    radius: float
    margin: float

    @property
    def ratio(self) -> float:
        """``radius^2 / margin^2``, to which the radius-margin bound of the error is proportional."""
        return (self.radius / self.margin) ** 2


@dataclass(frozen=True, kw_only=True)
class RadiusMarginComparison:
    """Radius and margin of one classifier in the space of the data and in the transformed space.

    Parameters
    ----------
    before, after : RadiusMargin
        In the metric of the data (the identity), and in that of the transformation.
    residual : float
        ``||L'v - w|| / ||w||``. It is zero up to rounding if the classifier is a function of the transformed
        features. Otherwise `after` describes the nearest such classifier, ``L'v``.
    """

    before: RadiusMargin
    after: RadiusMargin
    residual: float


def radius_margin(X: ArrayLike, coef: ArrayLike, *, components: ArrayLike | None = None) -> RadiusMarginComparison:
    """Radius, margin and squared ratio before and after the transformation ``z = L x``.

    After the transformation the classifier ``w'x`` is ``v'z``, where v is the solution of ``L'v = w`` of smallest norm, so
    that ``||v||^2 = w'M^+w`` with ``M = L'L`` (`mathematics.md` sections 1 and 6).

    Parameters
    ----------
    X : array of shape (n_samples, n_features)
    coef : array of shape (n_features,) or (1, n_features)
        Weight vector ``w`` of a binary classifier.
    components : array of shape (n_components, n_features), optional
        The transformation ``L``; the identity if not given.

    Returns
    -------
    RadiusMarginComparison

    Examples
    --------
    Shrinking a direction that the classifier does not use reduces the radius and keeps the margin:

    >>> import numpy as np
    >>> from radiusmargin.geometry import radius_margin
    >>> X = np.array([[-1.0, -3.0], [-1.0, 3.0], [1.0, -3.0], [1.0, 3.0]])
    >>> report = radius_margin(X, [1.0, 0.0], components=np.diag([1.0, 1e-3]))
    >>> round(report.before.ratio, 3), round(report.after.ratio, 3)
    (10.0, 1.0)
    """
    X = check_points(X)
    w = np.asarray(coef)
    if w.ndim == 2 and w.shape[0] == 1:
        w = w[0]
    w = check_vector("coef", w, X.shape[1])
    before = _measure(X, w)
    if components is None:
        return RadiusMarginComparison(before=before, after=before, residual=0.0)
    L = check_points(components, "components")
    if L.shape[1] != X.shape[1]:
        raise ValueError(f"components must have {X.shape[1]} columns, as X has, got shape {L.shape}")
    v = linalg.lstsq(L.T, w, check_finite=False)[0]
    norm = np.linalg.norm(w)
    residual = np.linalg.norm(L.T @ v - w) / norm if norm > 0.0 else 0.0
    return RadiusMarginComparison(before=before, after=_measure(X @ L.T, v), residual=float(residual))


def _measure(Z, v) -> RadiusMargin:
    norm = float(np.linalg.norm(v))
    return RadiusMargin(radius=minimum_enclosing_ball(Z).radius, margin=1.0 / norm if norm > 0.0 else np.inf)


__all__ = [
    "EnclosingBall",
    "RadiusBounds",
    "RadiusMargin",
    "RadiusMarginComparison",
    "farthest_pair",
    "minimum_enclosing_ball",
    "radius_bounds",
    "radius_margin",
]


def __getattr__(name):
    """Former names of this module, which are in `radiusmargin.scatter` now."""
    if name in scatter.__all__:
        return getattr(scatter, name)
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
