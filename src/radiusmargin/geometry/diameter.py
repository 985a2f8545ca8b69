"""The farthest pair of points: the diameter, exact, in bounded memory."""

from __future__ import annotations

import numpy as np

from .._checks import check_points
from .._types import ArrayLike
from .enclosing_ball import minimum_enclosing_ball

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
    Distances are computed block by block and never kept. With ``r_i`` the distance of row i to any fixed
    point, ``|x_i - x_j| <= r_i + r_j``: rows are taken in descending order of ``r``, so that only those
    with ``r_i + r_j`` above the best distance so far are compared. The fixed point is the centre of the
    enclosing ball, which makes the largest ``r_i`` as small as it can be. Few pairs are left for most data;
    points that all lie near one sphere are the worst case, ``n^2 d / 2`` multiplications.

    Examples
    --------
    >>> from radiusmargin.geometry.diameter import farthest_pair
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
    squares = np.einsum("ij,ij->i", Z, Z)
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
        # radii descend, so that -radii is sorted; partners earlier in the order have met this block already.
        stop = int(np.searchsorted(-radii, radii[start] - best))
        for left in range(start, stop, _BLOCK_COLUMNS):
            columns = order[left : min(left + _BLOCK_COLUMNS, stop)]
            squared = squares[rows, None] + squares[columns] - 2.0 * (Z[rows] @ Z[columns].T)
            a, b = divmod(int(squared.argmax()), columns.size)
            if squared[a, b] > best**2:
                pair, best = (int(rows[a]), int(columns[b])), float(np.sqrt(squared[a, b]))
    return pair


def _double_normal(Z, squares, i: int) -> tuple[tuple[int, int], float]:
    """From a point to the one farthest from it, and on while the distance grows: a good first pair."""
    pair, best = (0, 1), 0.0
    while True:
        squared = squares - 2.0 * (Z @ Z[i]) + squares[i]
        j = int(squared.argmax())
        if not squared[j] > best**2 * (1.0 + 1e-12) or i == j:
            return pair, best
        pair, best, i = (i, j), float(np.sqrt(squared[j])), j
