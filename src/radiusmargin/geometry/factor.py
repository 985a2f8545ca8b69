"""A triangular factor of centred rows: what their scatter is the square of, with all its digits."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .._linalg import qr

_BLOCK_FLOATS = 1 << 20


def row_factor(X, weight, classes=None, *, centred=True) -> tuple[np.ndarray, np.ndarray]:
    """(A, largest): ``A'A`` is the scatter of the rows about their mean, those of their classes, or about the origin.

    `largest` is the largest modulus of each column. A has at most d rows; it comes from QR factors of blocks of rows.
    """
    n, d = X.shape
    codes = np.zeros(n, dtype=int) if classes is None else np.unique(classes, return_inverse=True)[1]
    mean, residual = _class_means(X, codes, weight) if centred else np.zeros((2, 1, d))
    A, largest = np.empty((0, d)), np.zeros(d)
    for rows in _blocks(n, d):
        part = _dense(X[rows])
        largest = np.maximum(largest, np.abs(part).max(axis=0))
        centred_rows = part - _of(mean, codes[rows]) - _of(residual, codes[rows])
        A = np.vstack([A, centred_rows * np.sqrt(weight[rows, None])])
        if len(A) > d:
            A = qr(A, mode="r")
    return A, largest


def _class_means(X, codes, weight):
    """The mean of each class, and what rounding left out of it: a common shift would look like a direction."""
    sides = sparse.csr_array((weight, (codes, np.arange(len(codes))))) if codes.any() else weight[None]
    totals = sides.sum(axis=1)[:, None]
    mean = _dense(sides @ X) / totals
    residual = np.zeros_like(mean)
    for rows in _blocks(*X.shape):
        residual += sides[:, rows] @ (_dense(X[rows]) - _of(mean, codes[rows]))
    return mean, residual / totals


def _of(means, codes):
    """The mean that belongs to each row, or the one of all."""
    return means[codes] if len(means) > 1 else means


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


def _blocks(n, d):
    step = max(2 * d, _BLOCK_FLOATS // d)
    return [slice(start, start + step) for start in range(0, n, step)]
