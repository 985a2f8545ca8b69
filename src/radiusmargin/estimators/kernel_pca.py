"""Engines of `KernelMap`: kernel PCA of the kernel matrix, or of a low-rank approximation.

Every engine returns a `FittedMap`: rows Z, a centre c and a projection P. The features of a row x are

    f(x) = (k(x, Z) - c) P

On the training rows FF' is the centred kernel matrix up to the dropped part, and F'DF is diagonal (D: the sample weights). A
weight counts as repeated rows: with the centring H = I - 1s'/N the eigenproblem is D^{1/2} H K H' D^{1/2} = U Lambda U', and
F = D^{-1/2} U Lambda^{1/2}.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import linalg

from .._linalg import eigh

_EPS = np.finfo(float).eps
_BLOCK = 24  # pivots taken at a time, so that updates are matrix products
_PIVOT_SHARE = 0.25  # a pivot must be at least this share of the first one of its block: close to the greedy choice
_WELL_CONDITIONED = 1e-6  # relative squared pivots above which a Cholesky factor of the landmarks may be inverted


@dataclass(frozen=True)
class Truncation:
    """Number of components to keep: fixed, or as many as needed to drop at most a share of the spectrum, up to a cap."""

    fixed: int | None = None
    dropped: float = 0.0
    cap: int | None = None

    def count(self, values, missing):
        """Return how many of the (descending) `values` to keep, if `missing` of the spectrum is already lost."""
        rank = int(np.sum(values > 10 * len(values) * _EPS * max(values[0], 0.0))) if len(values) else 0
        if self.fixed is not None:
            return min(self.fixed, rank)
        left = np.cumsum(values[:rank][::-1])[::-1] + missing  # the loss of stopping before each value
        count = int(np.sum(left > self.dropped * (values[:rank].sum() + missing)))
        return min(count, rank if self.cap is None else self.cap)


@dataclass(frozen=True, eq=False)
class FittedMap:
    """An explicit feature map, and the share of the kernel that it keeps.

    Attributes
    ----------
    index : ndarray of shape (q,)
        Indices of the training rows Z.
    centre : ndarray of shape (q,)
    projection : ndarray of shape (q, m)
    eigenvalues : ndarray of shape (m,)
        Weighted scatter of the features, descending.
    features : ndarray of shape (n, m)
        Features of the training rows.
    missing : float
        Weighted trace of the kernel matrix minus its approximation; zero for the exact engine.
    spectrum : float
        Sum of all eigenvalues of the approximation.
    negative : float
        Share of the spectrum in negative eigenvalues (of an indefinite kernel), which are left out.
    """

    index: np.ndarray
    centre: np.ndarray
    projection: np.ndarray
    eigenvalues: np.ndarray
    features: np.ndarray
    missing: float
    spectrum: float
    negative: float

    @property
    def explained(self):
        """Share of the spectrum in the features; a lower bound if not all of it is known."""
        total = self.spectrum + self.missing
        return float(self.eigenvalues.sum() / total) if total > 0 else 0.0


def exact(source, weight, truncation):
    """Decompose the whole centred kernel matrix: O(n^2) memory, O(n^3) time."""
    total, root = weight.sum(), np.sqrt(weight)
    A = source.gram()
    centre = A @ weight / total
    A -= centre[:, None]
    A += centre @ weight / total - centre
    A *= root[:, None]
    A *= root
    values, U = _descending(A)
    negative, spectrum = _negative_share(values), float(values[values > 0].sum())
    m = truncation.count(values[values > 0], 0.0)
    values, U = values[:m], U[:, :m]
    U = U * _signs(U / root[:, None])
    Q = root[:, None] * U / np.sqrt(values)
    projection = Q - np.outer(weight, Q.sum(axis=0) / total)
    features = U * np.sqrt(values) / root[:, None]
    return FittedMap(np.arange(source.n_rows), centre, projection, values, features, 0.0, spectrum, negative)


def landmarks(source, weight, truncation, index):
    """Nystroem approximation: project the kernel matrix on the span of q rows, O(n q) memory and O(n q^2) time."""
    total = weight.sum()
    C = source.columns(index)
    T, stable, negative = _inverse_root(C[index])
    centre = weight @ C / total
    factor, mean = None if stable else C @ T, centre @ T
    A = _scatter_of_columns(C, centre, T, weight) if stable else _scatter_of_factor(factor, mean, weight)
    trace = A.trace() + total * mean @ mean
    missing = max(float(weight @ source.diagonal() - trace), 0.0)
    values, U = _descending(A)
    m = truncation.count(values, missing)
    U = U[:, :m] * _signs((C[index] - centre) @ T @ U[:, :m])
    projection = T @ U
    features = C @ projection if stable else factor @ U
    features -= centre @ projection
    spectrum = float(values[values > 0].sum())
    return FittedMap(index, centre, projection, values[:m].copy(), features, missing, spectrum, negative)


def cholesky(source, weight, truncation, max_rank):
    """Kernel PCA of a pivoted incomplete Cholesky factor: O(n r) memory, O(n r^2) time.

    Stops at `max_rank` pivots, or if the missing part is a tenth of the share that the truncation may drop. It is known exactly
    as the trace of a positive semi-definite remainder.
    """
    factor, pivots, missing, negative = pivoted_cholesky(source, weight, 0.1 * truncation.dropped, max_rank)
    L = factor[pivots]
    mean = weight @ factor / weight.sum()
    values, U = _descending(_scatter_of_factor(factor, mean, weight))
    m = truncation.count(values, missing)
    U = U[:, :m] * _signs((L - mean) @ U[:, :m])
    projection = linalg.solve_triangular(L, U, lower=True, trans="T", check_finite=False)
    features = factor @ U
    features -= mean @ U
    spectrum = float(values[values > 0].sum())
    return FittedMap(pivots, L @ mean, projection, values[:m].copy(), features, missing, spectrum, negative)


def pivoted_cholesky(source, weight, tolerance, max_rank):
    """Return G (n x r) with K - GG' positive semi-definite, its pivots, the remainder's weighted trace, and a negative share.

    Pivots are the rows with the largest remainder, taken in blocks. A row that an earlier one of its block represents is
    left for later. `tolerance` is relative to the centred spectrum.
    """
    n, total = source.n_rows, weight.sum()
    diagonal = source.diagonal().astype(float)
    rest = diagonal.copy()
    noise = 10 * n * _EPS * max(rest.max(), 0.0)
    G = np.empty((n, min(max_rank, 4 * _BLOCK)), order="F")
    pivots, negative, r = [], 0.0, 0
    while r < max_rank and rest.max() > noise:
        spread = weight @ diagonal - total * np.sum((weight @ G[:, :r] / total) ** 2)
        if weight @ np.maximum(rest, 0.0) <= tolerance * spread:
            break
        block = np.argsort(-rest, kind="stable")[: min(_BLOCK, max_rank - r)]
        columns = source.columns(block) - G[:, :r] @ G[block, :r].T
        order, L = _block_pivots(columns[block], noise)
        if not order:  # rounding, or a kernel that is not positive semi-definite
            break
        if r + len(order) > G.shape[1]:
            G = _grown(G, min(max_rank, 2 * G.shape[1]))
        new = linalg.solve_triangular(L, columns[:, order].T, lower=True, check_finite=False).T
        G[:, r : r + len(order)] = new
        rest -= np.einsum("ij,ij->i", new, new)
        chosen = block[order]
        rest[chosen] = 0.0
        pivots.extend(chosen.tolist())
        r += len(order)
        # A negative remainder shows a kernel that is not positive semi-definite.
        negative = max(negative, float(-rest.min() / max(diagonal.max(), _EPS)))
    return G[:, :r], np.array(pivots, dtype=np.intp), float(weight @ np.maximum(rest, 0.0)), negative


def _block_pivots(A, noise):
    """Return greedy pivots of a small matrix while they are `_PIVOT_SHARE` of the first, and their Cholesky factor."""
    A = A.copy()
    order, rest = [], A.diagonal().copy()
    L = np.zeros_like(A)
    threshold = max(_PIVOT_SHARE * rest.max(), noise)
    while len(order) < len(A) and rest.max() > threshold:
        k, p = len(order), int(rest.argmax())
        column = (A[:, p] - L[:, :k] @ L[p, :k]) / np.sqrt(rest[p])
        L[:, k] = column
        rest -= column**2
        order.append(p)
        rest[order] = -np.inf
    return order, np.tril(L[np.ix_(order, range(len(order)))])


def _grown(G, width):
    out = np.empty((len(G), width), order="F")
    out[:, : G.shape[1]] = G
    return out


def _inverse_root(W):
    """Return T with T'WT = I on the range of W, whether T may be applied to sums of rows, and W's negative share."""
    try:
        L = linalg.cholesky(W, lower=True, check_finite=False)
        pivots = L.diagonal() ** 2
        if pivots.min() > _WELL_CONDITIONED * pivots.max():
            identity = np.eye(len(W))
            return linalg.solve_triangular(L, identity, lower=True, trans="T", check_finite=False), True, 0.0
    except linalg.LinAlgError:
        pass
    values, V = _descending((W + W.T) / 2)
    keep = values > 1e-12 * max(values[0], 0.0)
    return V[:, keep] / np.sqrt(values[keep]), False, _negative_share(values)


def _descending(A):
    values, vectors = eigh(A)
    return values[::-1], vectors[:, ::-1]


def _negative_share(values):
    size = np.abs(values).sum()
    return float(-values[values < 0].sum() / size) if size > 0 else 0.0


def _scatter_of_columns(C, centre, T, weight):
    """Compute the centred weighted scatter of the factor CT without forming it."""
    uniform = np.all(weight == weight[0])
    rows = C if uniform else C * np.sqrt(weight)[:, None]
    A = rows.T @ rows
    if uniform:
        A *= weight[0]
    A -= weight.sum() * np.outer(centre, centre)
    return T.T @ A @ T


def _scatter_of_factor(factor, mean, weight):
    centred = factor - mean
    centred *= np.sqrt(weight)[:, None]
    return centred.T @ centred


def _signs(features):
    """Return signs that make the largest feature of each component positive; among ties the first one decides."""
    sizes = np.abs(features)
    rows = np.argmax(sizes >= (1 - 1e-6) * sizes.max(axis=0), axis=0)
    return np.where(features[rows, np.arange(features.shape[1])] < 0, -1.0, 1.0)
