"""The farthest pairs of a set of points, exactly, without ever forming all of them."""

from __future__ import annotations

import numpy as np

BLOCK = 2**20  # entries of a block of distances


def squared_differences(X: np.ndarray, pairs: np.ndarray) -> np.ndarray:
    """``d2_ijk = (x_ik - x_jk)^2`` for each pair, of shape (m, d)."""
    return (X[pairs[:, 0]] - X[pairs[:, 1]]) ** 2


def extreme_pairs(X: np.ndarray) -> np.ndarray:
    """For each feature the rows of its smallest and largest value, without repetition.

    >>> extreme_pairs(np.array([[0.0, 5.0], [1.0, 6.0], [3.0, 4.0]]))
    array([[0, 2],
           [1, 2]])
    """
    pairs = np.column_stack([X.argmin(axis=0), X.argmax(axis=0)])
    return np.unique(np.sort(pairs, axis=1), axis=0)


def far_pairs(V: np.ndarray, threshold: float, limit: int) -> tuple[np.ndarray, np.ndarray]:
    """Pairs of rows whose squared distance exceeds `threshold`, farthest first, and those squared distances.

    The first pair is the farthest of all; up to `limit` come back, no two with a row in common. By the
    triangle inequality both rows of such a pair are together ``sqrt(threshold)`` from the centre: the rows that are far
    enough from it are compared by blocks, in O(n) memory, each with those that are far enough for it.

    >>> far_pairs(np.array([[0.0, 0.0], [5.0, 5.0], [0.0, 4.0], [4.0, 0.0]]), threshold=20.0, limit=9)
    (array([[0, 1],
           [2, 3]]), array([50., 32.]))
    """
    V = V - (V.min(axis=0) + V.max(axis=0)) / 2
    norms = np.sqrt((V**2).sum(axis=1))
    reach = np.sqrt(threshold) * (1.0 - 1e-9)
    candidates = np.flatnonzero(norms >= reach - norms.max())
    candidates = candidates[np.argsort(-norms[candidates], kind="stable")]
    partner, distance = _farthest_partners(V[candidates], norms[candidates], reach)
    order = np.argsort(-distance, kind="stable")
    order = order[distance[order] > threshold * (1.0 + 1e-12)]  # not the known pairs again, by rounding
    pairs, used = [], set()
    for i in order:
        j = partner[i]
        if not {i, j} & used:
            used |= {i, j}
            pairs.append((i, j))
            if len(pairs) == limit:
                break
    pairs = np.array(pairs, dtype=int).reshape(-1, 2)
    found = np.sort(candidates[pairs], axis=1)
    return found, squared_differences(V, found).sum(axis=1)


def _farthest_partners(V: np.ndarray, norms: np.ndarray, reach: float) -> tuple[np.ndarray, np.ndarray]:
    """For each row, which earlier or equal row is farthest from it, and the squared distance; zero where none is so far.

    The rows come with the largest norm first, and only pairs whose norms add up to `reach` are looked at.
    """
    n, squares = len(V), (V**2).sum(axis=1)
    partner, distance = np.zeros(n, dtype=int), np.zeros(n)
    step = max(1, BLOCK // max(n, 1))
    for start in range(0, n, step):
        stop = min(start + step, n)
        last = min(stop, np.searchsorted(-norms, norms[start] - reach, side="right"))
        if last == 0:
            break
        block = V[start:stop] @ (-2.0 * V[:last].T)
        block += squares[:last]
        partner[start:stop] = block.argmax(axis=1)
        distance[start:stop] = block.max(axis=1) + squares[start:stop]
    return partner, distance
