"""Scatter matrices: total and within-class, weighted, of dense or sparse rows."""

from __future__ import annotations

from itertools import pairwise

import numpy as np
from scipy import sparse

from .._checks import check_choice, check_points, check_shape, check_sparse_points, check_weights
from .._types import ArrayLike, Data

_BLOCK_FLOATS = 1 << 15  # a quarter of a megabyte: a centred block stays in the cache of one core
UNDERFLOW = np.finfo(float).tiny / np.finfo(float).eps  # squares below have lost digits


def scatter_matrix(
    X: Data, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None, kind: str = "total"
) -> np.ndarray:
    r"""Scatter of the rows of `X` about their mean, or about the means of their classes.

    .. math:: S = \sum_i s_i (x_i - \bar x)(x_i - \bar x)^T, \qquad \bar x = \sum_i s_i x_i / \sum_i s_i

    It is not divided by the number of rows (`mathematics.md` section 1; the paper prints the mean without its
    1/n, erratum E1). A weight of two equals a repeated row.

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,), optional
        Class labels of any type; needed by ``kind="within"`` only.
    sample_weight : array of shape (n_samples,), optional
        Non-negative, not all zero.
    kind : {"total", "within"}
        About the mean of all rows, or pooled over the classes, each about its own mean.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Exactly symmetric. A column that is constant (in every class, for "within") has a row and a column
        of exact zeros, so that nobody divides by its rounding errors.

    Notes
    -----
    Dense rows are centred block by block before they are multiplied, with the correction of the two-pass
    algorithm [1]_, so that a large mean does no harm. Of sparse rows those columns that are mostly stored are
    taken as dense ones, which costs no more memory; the others are centred implicitly, as ``X'X - n xbar xbar'``,
    which loses nothing where most entries are zero.

    References
    ----------
    .. [1] T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance: analysis and
       recommendations", The American Statistician 37 (1983).

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.geometry.scatter import scatter_matrix
    >>> X = np.array([[0.0, 0.0], [2.0, 0.0], [4.0, 6.0]])
    >>> scatter_matrix(X)
    array([[ 8., 12.],
           [12., 24.]])
    >>> scatter_matrix(X, ["a", "a", "b"], kind="within")
    array([[2., 0.],
           [0., 0.]])
    """
    return scatter_of(*check_rows_of(X, y, sample_weight, kind))


def check_rows_of(X, y, sample_weight, kind) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
    """(rows, weights, labels of classes) as `scatter_matrix` is given them; labels only for ``kind="within"``."""
    check_choice("kind", kind, ("total", "within"))
    X = check_sparse_points(X) if sparse.issparse(X) else check_points(X)
    weight = None if sample_weight is None else check_weights(sample_weight, X.shape[0])
    return X, weight, _check_labels(y, X.shape[0]) if kind == "within" else None


def scatter_of(X, weight=None, labels=None) -> np.ndarray:
    """`scatter_matrix` of checked rows, within the classes where there are labels."""
    if weight is not None and not weight.all():  # a row of weight zero is a row that is not there
        kept = weight > 0.0
        X, weight, labels = X[kept], weight[kept], labels if labels is None else labels[kept]
    if labels is None:
        return _scatter(X, weight)
    return _pooled_scatter(X, labels, weight)


def feature_moments(X, weight) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of every column of checked rows; that of a constant column is exactly zero."""
    total = weight.sum()
    mean = np.asarray(weight @ X).ravel() / total
    with np.errstate(over="ignore", invalid="ignore"):
        squares, residual = (_sparse_squares if sparse.issparse(X) else _dense_squares)(X, weight, mean)
    _check_squares(squares)
    squares = np.maximum(squares - residual**2 / total, 0.0)  # the two-pass correction
    squares[_constant_columns(squares, X, mean, total)] = 0.0
    return mean, squares / total


def sparse_moments(X, weight) -> tuple[np.ndarray, np.ndarray]:
    """`feature_moments` of the rows of positive weight of a sparse matrix, which is neither copied nor centred."""
    total = weight.sum()
    mean = np.asarray(weight @ X).ravel() / total
    with np.errstate(over="ignore", invalid="ignore"):
        squares, residual = _sparse_squares(X, weight, mean)
    _check_squares(squares)
    squares = squares - residual**2 / total
    rounding = np.finfo(float).eps * total * mean**2
    return mean, np.where(squares > rounding, squares, 0.0) / total


def _dense_squares(X, weight, mean):
    """Weighted sums of the squared and of the plain distances from the mean."""
    squares, residual = np.zeros(len(mean)), np.zeros(len(mean))
    step = max(1, _BLOCK_FLOATS // X.shape[1])
    for start in range(0, X.shape[0], step):
        rows = slice(start, start + step)
        Z = X[rows] - mean
        residual += weight[rows] @ Z
        squares += weight[rows] @ np.square(Z, out=Z)
    return squares, residual


def _sparse_squares(X, weight, mean):
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored, distance = weight[rows], X.data - mean[X.indices]
    known, residual, squares = (
        np.bincount(X.indices, stored * power, minlength=len(mean)) for power in (1.0, distance, distance**2)
    )
    full = np.bincount(X.indices, minlength=len(mean)) == X.shape[0]
    zeros = np.where(full, 0.0, weight.sum() - known)  # weight of the entries that are not stored
    return squares + zeros * mean**2, residual - zeros * mean


def _check_labels(y, n_samples: int) -> np.ndarray:
    if y is None:
        raise ValueError("y must hold the class labels for kind='within', got None")
    labels = np.asarray(y)
    check_shape("y", labels.shape, (n_samples,))
    if labels.dtype.kind == "f" and np.isnan(labels).any():
        raise ValueError("y must hold class labels, got NaN")
    return labels


def _pooled_scatter(X, labels, weight) -> np.ndarray:
    _, codes = np.unique(labels, return_inverse=True)
    # Sorting once keeps the cost of many classes linear in the rows.
    order = np.argsort(codes, kind="stable")
    X, weight = X[order], weight if weight is None else weight[order]
    edges = np.concatenate([[0], np.cumsum(np.bincount(codes))])
    S = np.zeros((X.shape[1], X.shape[1]))
    for start, stop in pairwise(edges):
        S += _scatter(X[start:stop], weight if weight is None else weight[start:stop])
    return S


def _scatter(X, weight) -> np.ndarray:
    with np.errstate(over="ignore", invalid="ignore"):
        S, mean, total = (_sparse_scatter if sparse.issparse(X) else _dense_scatter)(X, weight)
    _check_squares(S)
    constant = _constant_columns(np.diag(S), X, mean, total)
    S[constant, :] = S[:, constant] = 0.0
    return (S + S.T) / 2.0


def _dense_scatter(X: np.ndarray, weight):
    n_samples, n_features = X.shape
    root = np.ones(n_samples) if weight is None else np.sqrt(weight)
    total = float(root @ root)
    mean = root**2 @ X / total
    S, residual = np.zeros((n_features, n_features)), np.zeros(n_features)
    step = min(n_samples, max(1, _BLOCK_FLOATS // n_features))
    buffer = np.empty((step, n_features))
    means = np.tile(mean, (step, 1))  # a contiguous subtraction is much faster than a broadcast one
    for start in range(0, n_samples, step):
        count = min(step, n_samples - start)
        rows = slice(start, start + count)
        Z = np.subtract(X[rows], means[:count], out=buffer[:count])
        if weight is not None:
            Z *= root[rows, None]
        residual += root[rows] @ Z
        S += Z.T @ Z  # NumPy calls syrk here
    # The mean is rounded, so that the centred rows do not quite add up to zero: the two-pass correction.
    S -= np.outer(residual, residual) / total
    return S, mean, total


def _sparse_scatter(X, weight):
    weight = np.ones(X.shape[0]) if weight is None else weight
    total = weight.sum()
    mean = X.T @ weight / total
    stored = sparse.csr_array((np.ones(X.nnz), X.indices, X.indptr), shape=X.shape).T @ weight
    full, thin = np.flatnonzero(2.0 * stored > total), np.flatnonzero(2.0 * stored <= total)
    S = np.zeros((len(mean), len(mean)))
    Z = X[:, thin]
    weighted = sparse.diags_array(weight) @ Z
    S[np.ix_(thin, thin)] = (Z.T @ weighted).toarray() - total * np.outer(mean[thin], mean[thin])
    if full.size:
        S[np.ix_(full, full)], mean[full], _ = _dense_scatter(X[:, full].toarray(), weight)
        cross = np.asarray(weighted.T @ (X[:, full].toarray() - mean[full]))  # rows centred on one side are enough
        S[np.ix_(thin, full)], S[np.ix_(full, thin)] = cross, cross.T
    return S, mean, total


def _check_squares(squares) -> None:
    if not np.isfinite(squares).all():
        raise ValueError("X holds values so large that their squares overflow; rescale its columns")


def _constant_columns(squares, X, mean, total) -> np.ndarray:
    """The columns that hold one value only; `squares`, the diagonal of their scatter, may be rounding there."""
    suspects = np.flatnonzero(squares <= np.maximum(1e-24 * X.shape[0] * total * mean**2, UNDERFLOW))
    if suspects.size == 0:
        return suspects
    columns = X[:, suspects]
    if sparse.issparse(columns):
        columns = columns.tocsc()
        spread = (columns.max(axis=0).toarray() - columns.min(axis=0).toarray()).ravel()
    else:
        spread = np.ptp(columns, axis=0)
    lost = suspects[(spread > 0.0) & (squares[suspects] < UNDERFLOW)]
    if lost.size:
        raise ValueError(f"X varies so little in column {lost[0]} that its squares underflow; rescale that column")
    return suspects[spread == 0.0]
