"""Scatter matrices and their powers.

In order: scatter matrices of dense or sparse rows (total or within classes, weighted); powers of a positive semi-definite
matrix, hence whitening; a triangular factor of the rows, which keeps the digits that a scatter matrix loses; the tempered
scatter ``T = n R^p``, by which a radius-margin model measures the spread of the data. `geometric_mean` is in `_linalg`.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property
from itertools import pairwise

import numpy as np
from scipy import sparse

from ._blocks import split
from ._checks import (
    check_choice,
    check_finite,
    check_number,
    check_points,
    check_positive,
    check_shape,
    check_sparse_points,
    check_symmetric,
    check_weights,
)
from ._linalg import eigh, geometric_mean, matmul, qr, svd
from ._types import ArrayLike, Data

_CENTRED = 1 << 15  # numbers of a block that is centred: a quarter of a megabyte stays in the cache of one core
_FACTORED = 1 << 20  # numbers of a block that is factorised
EPS = np.finfo(float).eps
UNDERFLOW = np.finfo(float).tiny / EPS  # smaller squares have lost digits


def scatter_matrix(
    X: Data, y: ArrayLike | None = None, *, sample_weight: ArrayLike | None = None, kind: str = "total"
) -> np.ndarray:
    r"""Scatter of the rows of `X` about their mean, or about the means of their classes.

    .. math:: S = \sum_i s_i (x_i - \bar x)(x_i - \bar x)^T, \qquad \bar x = \sum_i s_i x_i / \sum_i s_i

    It is not divided by the number of rows (`mathematics.md` section 1; the paper prints the mean without its 1/n, erratum
    E1). A weight of two equals a repeated row.

    Parameters
    ----------
    X : array or scipy.sparse matrix of shape (n_samples, n_features)
    y : array of shape (n_samples,), optional
        Class labels of any type; needed by ``kind="within"`` only.
    sample_weight : array of shape (n_samples,), optional
        Non-negative, not all zero.
    kind : {"total", "within"}
        Scatter about the mean of all rows, or about the mean of each class, summed over the classes.

    Returns
    -------
    ndarray of shape (n_features, n_features)
        Exactly symmetric. A column that is constant (in every class, for "within") has a row and a column of exact zeros, so
        that nobody divides by its rounding errors.

    Notes
    -----
    Dense rows are centred block by block before they are multiplied, with the correction of the two-pass algorithm [1]_, so
    that a large mean does no harm. Sparse columns with mostly stored entries are treated as dense, which costs no more
    memory. The others are centred implicitly, as ``X'X - n xbar xbar'``, which is accurate since most entries are zero.

    References
    ----------
    .. [1] T. Chan, G. Golub, R. LeVeque, "Algorithms for computing the sample variance: analysis and
       recommendations", The American Statistician 37 (1983).

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.scatter import scatter_matrix
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
    """Check the arguments of `scatter_matrix`; return (rows, weights, labels), with labels only for ``kind="within"``."""
    check_choice("kind", kind, ("total", "within"))
    X = check_sparse_points(X) if sparse.issparse(X) else check_points(X)
    weight = None if sample_weight is None else check_weights(sample_weight, X.shape[0])
    return X, weight, _check_labels(y, X.shape[0]) if kind == "within" else None


def scatter_of(X, weight=None, labels=None) -> np.ndarray:
    """`scatter_matrix` of checked rows; the scatter within classes if there are labels."""
    if weight is not None and not weight.all():  # rows of weight zero must not make a column vary
        kept = weight > 0.0
        X, weight, labels = X[kept], weight[kept], labels if labels is None else labels[kept]
    return _scatter(X, weight) if labels is None else _pooled_scatter(X, labels, weight)


def feature_moments(X, weight) -> tuple[np.ndarray, np.ndarray]:
    """Mean and variance of each column of checked rows; the variance of a constant column is exactly zero."""
    mean, squares, total = _column_squares(X, weight)
    squares = np.maximum(squares, 0.0)
    squares[_constant_columns(squares, X, mean, total)] = 0.0
    return mean, squares / total


def sparse_moments(X, weight) -> tuple[np.ndarray, np.ndarray]:
    """`feature_moments` of the rows of positive weight of a sparse matrix, without a copy of it."""
    mean, squares, total = _column_squares(X, weight)
    return mean, np.where(squares > EPS * total * mean**2, squares, 0.0) / total


def _column_squares(X, weight):
    """(mean, weighted sum of squares about the mean) of each column, and the total weight."""
    total = weight.sum()
    mean = np.asarray(weight @ X).ravel() / total
    with np.errstate(over="ignore", invalid="ignore"):
        squares, residual = (_sparse_squares if sparse.issparse(X) else _dense_squares)(X, weight, mean)
    _check_squares(squares)
    return mean, squares - residual**2 / total, total  # the two-pass correction


def _dense_squares(X, weight, mean):
    """Weighted sums of the squared and of the plain deviations from the mean."""
    squares, residual = np.zeros(len(mean)), np.zeros(len(mean))
    for rows in split(*X.shape, _CENTRED):
        Z = X[rows] - mean
        residual += weight[rows] @ Z
        squares += weight[rows] @ np.square(Z, out=Z)
    return squares, residual


def _sparse_squares(X, weight, mean):
    rows = np.repeat(np.arange(X.shape[0]), np.diff(X.indptr))
    stored, deviation = weight[rows], X.data - mean[X.indices]
    weight_stored, residual, squares = (
        np.bincount(X.indices, stored * power, minlength=len(mean)) for power in (1.0, deviation, deviation**2)
    )
    full = np.bincount(X.indices, minlength=len(mean)) == X.shape[0]
    zeros = np.where(full, 0.0, weight.sum() - weight_stored)  # weight of the entries that are not stored
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
    blocks = split(n_samples, n_features, _CENTRED)
    buffer = np.empty((min(n_samples, blocks[0].stop), n_features))
    means = np.tile(mean, (len(buffer), 1))  # a contiguous subtraction is much faster than a broadcast one
    for rows in blocks:
        count = len(root[rows])
        Z = np.subtract(X[rows], means[:count], out=buffer[:count])
        if weight is not None:
            Z *= root[rows, None]
        residual += root[rows] @ Z
        S += Z.T @ Z  # NumPy calls syrk here
    # The two-pass correction: the mean is rounded, so that the centred rows do not quite sum to zero.
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
        cross = np.asarray(weighted.T @ (X[:, full].toarray() - mean[full]))  # centring one factor is enough
        S[np.ix_(thin, full)], S[np.ix_(full, thin)] = cross, cross.T
    return S, mean, total


def _check_squares(squares) -> None:
    if not np.isfinite(squares).all():
        raise ValueError("X holds values so large that their squares overflow; rescale its columns")


def _constant_columns(squares, X, mean, total) -> np.ndarray:
    """Indices of the constant columns, whose `squares` (the diagonal of the scatter) may be rounding errors."""
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


# -- Powers of a positive semi-definite matrix on its range: whitening and semi-whitening -----------------------------


_NEGATIVE = 1e-8  # a relative eigenvalue below minus this is not a rounding error


def range_basis(S: ArrayLike, rtol: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of the non-zero part of a positive semi-definite matrix.

    Parameters
    ----------
    S : array of shape (d, d)
        Symmetric positive semi-definite.
    rtol : float, optional
        Eigenvalues up to ``rtol`` times the largest one count as zero. The default, ``10 * d * eps``, is what rounding may
        leave in the null space of a scatter matrix. It is relative to the whole matrix: standardise features whose scales
        differ by more than about 1e6 first, or the small ones are taken for noise.

    Returns
    -------
    eigenvalues : array of shape (r,)
        Positive, in descending order.
    eigenvectors : array of shape (d, r)
        Orthonormal columns, each with its entry of largest magnitude positive.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.scatter import range_basis
    >>> values, vectors = range_basis(np.array([[4.0, 0.0], [0.0, 0.0]]))
    >>> values, vectors
    (array([4.]), array([[1.],
           [0.]]))
    """
    if rtol is not None:
        check_number("rtol", rtol, 0, 1)
    return decompose_range(check_symmetric("S", S), rtol)


def decompose_range(S, rtol=None):
    """`range_basis` of a matrix known to be symmetric."""
    check_finite("S", S)
    if rtol is None:
        rtol = 10.0 * len(S) * EPS
    values, vectors = eigh(S)
    largest = max(values[-1], -values[0])
    if values[0] < -_NEGATIVE * largest:
        raise ValueError(f"S must be positive semi-definite, got an eigenvalue of {values[0]:g}")
    kept = np.flatnonzero(values > rtol * largest)[::-1]
    return values[kept], with_positive_pivots(vectors[:, kept].T).T


def with_positive_pivots(rows):
    """Flip the sign of rows such that the entry of largest magnitude of each is positive."""
    pivots = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
    return rows * np.where(pivots < 0.0, -1.0, 1.0)[:, None]


def matrix_power(S: ArrayLike, p: float, *, rtol: float | None = None) -> np.ndarray:
    """Power of a positive semi-definite matrix on its range; zero on its null space.

    ``p = -1`` is the pseudo-inverse, ``p = 0`` the orthogonal projection onto the range, ``p = 1/2`` the symmetric square root.

    Parameters
    ----------
    S : array of shape (d, d)
        Symmetric positive semi-definite.
    p : float
    rtol : float, optional
        See `range_basis`.

    Returns
    -------
    ndarray of shape (d, d)
        Exactly symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.scatter import matrix_power
    >>> matrix_power(np.diag([4.0, 0.0]), -0.5)
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    check_number("p", p, -np.inf, low_allowed=False)
    values, vectors = range_basis(S, rtol)
    half = vectors * values ** (p / 2.0)
    return half @ half.T  # symmetric to the last bit


def whitening(S: ArrayLike, p: float = 1.0, *, rtol: float | None = None) -> np.ndarray:
    """Symmetric transformation ``L = S^{-p/2}`` on the range of `S`; ``X @ L`` has the scatter ``S^{1-p}``.

    ``p = 1`` whitens, ``p = 1/2`` semi-whitens (the paper's initialisation ``Lambda^{-1/4} U'(x - xbar)`` up to a rotation),
    ``p = 0`` projects onto the range. The metric of the transformation is ``M = L'L = S^{-p}``.

    Parameters
    ----------
    S : array of shape (d, d)
        Scatter (or covariance) matrix, see `scatter_matrix`.
    p : float in [0, 1]
        Strength of the whitening, the exponent of `mathematics.md` section 2.
    rtol : float, optional
        See `range_basis`.

    Returns
    -------
    ndarray of shape (d, d)
        The transformation ``L``; directions outside the range of `S` are mapped to zero.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.scatter import scatter_matrix, whitening
    >>> X = np.array([[0.0, 1.0], [2.0, 5.0], [4.0, 3.0], [1.0, 1.0]])
    >>> L = whitening(scatter_matrix(X))
    >>> np.allclose(scatter_matrix(X @ L), np.eye(2))
    True
    """
    check_number("p", p, 0, 1, high_allowed=True)
    return matrix_power(S, -p / 2.0, rtol=rtol)


def semi_whitening(S: ArrayLike, *, rho: float = 1.0, w_norm: float = 1.0, rtol: float | None = None) -> np.ndarray:
    r"""Metric ``M0`` of the paper's initialisation, at its correct scale.

    .. math:: M_0 = \sqrt{\|w\|^2 / (2\rho)}\; S^{-1/2}

    minimises :math:`\tfrac12 \|w\|^2 \mathrm{tr}(M^{-1}) + \rho\,\mathrm{tr}(MS)`, an upper bound of the F-SVM objective for a
    fixed norm of w (Theorem 4). The paper loses a factor of two after Eq. 14 (:math:`\tau' = \rho/\|w\|^2` instead of
    :math:`2\rho/\|w\|^2`), and multiplies by :math:`\sqrt{\tau'}` in Eq. 17 and line 2 of Algorithm 1 instead of dividing
    (erratum E3). The scale of M0 only rescales C.

    Parameters
    ----------
    S : array of shape (d, d)
        Scatter matrix.
    rho, w_norm : float
        Weight of ``tr(MS)`` and norm of w, both positive.
    rtol : float, optional
        See `range_basis`.

    Returns
    -------
    ndarray of shape (d, d)
        The metric ``M0``. Its transformation, ``matrix_power(M0, 0.5)``, is a multiple of ``whitening(S, 0.5)``.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.scatter import semi_whitening
    >>> semi_whitening(np.diag([4.0, 16.0]), rho=0.5, w_norm=2.0)
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    check_positive("rho", rho)
    check_positive("w_norm", w_norm)
    return w_norm / np.sqrt(2.0 * rho) * matrix_power(S, -0.5, rtol=rtol)


# -- A triangular factor of centred rows ------------------------------------------------------------------------------


def row_factor(X, weight, classes=None, *, centred=True) -> tuple[np.ndarray, np.ndarray]:
    """Compute A of at most d rows such that ``A'A`` is the scatter, by QR factors of blocks of rows.

    The scatter is that about the mean, about the means of the classes, or (not `centred`) about the origin. Also return the
    largest modulus of each column.
    """
    n, d = X.shape
    codes = np.zeros(n, dtype=int) if classes is None else np.unique(classes, return_inverse=True)[1]
    mean, residual = _class_means(X, codes, weight) if centred else np.zeros((2, 1, d))
    A, largest = np.empty((0, d)), np.zeros(d)
    for rows in _factor_blocks(n, d):
        part = _dense(X[rows])
        largest = np.maximum(largest, np.abs(part).max(axis=0))
        centred_rows = part - _by_row(mean, codes[rows]) - _by_row(residual, codes[rows])
        A = np.vstack([A, centred_rows * np.sqrt(weight[rows, None])])
        if len(A) > d:
            A = qr(A, mode="r")
    return A, largest


def _class_means(X, codes, weight):
    """Mean of each class, and its rounding error: a common shift of the rows would look like a direction of its own."""
    sides = sparse.csr_array((weight, (codes, np.arange(len(codes))))) if codes.any() else weight[None]
    totals = sides.sum(axis=1)[:, None]
    mean = _dense(sides @ X) / totals
    residual = np.zeros_like(mean)
    for rows in _factor_blocks(*X.shape):
        residual += sides[:, rows] @ (_dense(X[rows]) - _by_row(mean, codes[rows]))
    return mean, residual / totals


def _by_row(means, codes):
    """Mean of the class of each row; a single mean is left to broadcasting."""
    return means[codes] if len(means) > 1 else means


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X


def _factor_blocks(n, d):
    return split(n, d, max(_FACTORED, 2 * d * d))  # at least 2 d rows


# -- The tempered scatter T = n R^p -----------------------------------------------------------------------------------


# Deviation of standardised rows up to which a direction may be the rounding of a file: the smallest power of ten with which one
# digit less in the rows changes at most 0.5 % of the labels (benchmarks/rounding.py). Sums of columns, as printed, deviate by 4e-8
# to 2e-5 on seven of the twelve tables there, and by 2e-4 on two, which are kept; other directions deviate by 3e-3 or more.
RANK_TOL = 1e-4
ILL_CONDITIONED = 1e-8  # ratio of eigenvalues below which a matrix formed from them has lost the smallest
WIDEST = 5000  # most columns whose scatter matrix is formed: it takes 200 MB
# With more columns than this, and fewer rows by this factor, the rows are factorised: 40 x 3,000 takes a hundredth of a second, not four.
FEW_COLUMNS, FEW_ROWS = 200, 2
MOST_NUMBERS = 20_000_000  # most numbers of wider data, whose rows are factorised at once
NO_SPREAD = "X has no feature that varies within the chosen scatter; there is nothing to learn from."


@dataclass(frozen=True, eq=False)
class TemperedScatter:
    """Eigendecomposition of R, the scatter of the standardised features over n, from which ``T = n R^p`` follows for any p.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Weighted mean of the data.
    scale : ndarray of shape (d,)
        Standard deviations; zero for a constant feature, ones if features are not standardised.
    eigenvalues, eigenvectors : ndarrays of shapes (r,) and (d, r)
        The non-zero part of R. The eigenvectors are None if they are the coordinate axes: features are uncorrelated, or
        their correlation does not matter.
    total : float
        Total weight n.
    n_dropped : int, default=0
        Number of directions left out of R, in which the rows vary by less than a tolerance.
    """

    mean: np.ndarray
    scale: np.ndarray
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray | None
    total: float
    n_dropped: int = 0

    @cached_property
    def regular(self) -> bool:
        """True if R has full rank and is well enough conditioned to be formed as a matrix."""
        if len(self.eigenvalues) < len(self.mean):
            return False
        return self.eigenvectors is None or bool(self.eigenvalues[-1] > ILL_CONDITIONED * self.eigenvalues[0])

    def standardised_matrix(self, p: float) -> np.ndarray:
        """T = n R^p in standardised units (regular R), or in the coordinates of the eigenvectors (diagonal)."""
        powers = self.total * self.eigenvalues**p
        if not self.regular or self.eigenvectors is None:
            return np.diag(powers)
        return (self.eigenvectors * powers) @ self.eigenvectors.T

    def matrix(self, p: float) -> np.ndarray:
        """T in the user's units, for regular R; a vector if it is diagonal (p = 0, or uncorrelated features)."""
        if p <= 0:
            return self.total * self.scale ** (2 * (1 + p))
        if self.eigenvectors is None:
            return self.total * self.eigenvalues**p * self.scale**2
        return self.scale[:, None] * self.standardised_matrix(p) * self.scale

    def whitened(self, coefs: np.ndarray, p: float) -> np.ndarray:
        """T^{1/2} w for separators (one per row, in the user's units), in the coordinates of the eigenvectors."""
        if p <= 0:
            return coefs * (np.sqrt(self.total) * self.scale ** (1 + p))
        roots = np.sqrt(self.total) * self.eigenvalues ** (p / 2)
        if self.eigenvectors is None:
            return coefs * (self.scale * roots)
        return (coefs * self.scale) @ (self.eigenvectors * roots)

    def project(self, X: Data, *, centred: bool = True) -> np.ndarray | sparse.csr_array:
        """Map rows to the coordinates of `standardised_matrix`; constant features are dropped.

        A sparse X stays sparse if R is regular, and then cannot be centred.
        """
        inverse = self.inverse_scale
        if self.regular and hasattr(X, "multiply"):
            return X.multiply(inverse).tocsr()
        if self.regular:
            rows, mean = X * inverse, self.mean * inverse
        else:
            basis = inverse[:, None] * self.axes
            rows = np.asarray(X @ basis) if hasattr(X, "multiply") else matmul(X, basis)
            mean = self.mean @ basis
        return rows - mean if centred else rows

    def lift(self, coefs: np.ndarray, intercepts: np.ndarray, *, centred: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """Map (coef, intercept) from the coordinates of `project` to the user's units."""
        if not self.regular:
            coefs = coefs @ self.axes.T
        coefs = coefs * self.inverse_scale
        return coefs, intercepts - coefs @ self.mean if centred else intercepts

    def lower(
        self, coefs: np.ndarray, intercepts: np.ndarray, *, centred: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """Inverse of `lift`, for separators in the range of the scatter."""
        intercepts = intercepts + coefs @ self.mean if centred else intercepts
        coefs = coefs * self.scale
        return coefs if self.regular else coefs @ self.axes, intercepts

    @property
    def axes(self) -> np.ndarray:
        """Eigenvectors of R as a matrix, the identity where they are the coordinate axes."""
        return np.eye(len(self.mean)) if self.eigenvectors is None else self.eigenvectors

    @property
    def inverse_scale(self) -> np.ndarray:
        """1 / scale, and zero for constant features."""
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)


def uncorrelated_scatter(eigenvalues, total, rank_tol=RANK_TOL) -> TemperedScatter:
    """`tempered_scatter` of centred features whose scatter is known to be diagonal, such as kernel components."""
    d, values = len(eigenvalues), np.asarray(eigenvalues) / total
    kept = values > rank_tol**2 * values.max()
    axes = None if kept.all() else np.eye(d)[:, kept]
    return TemperedScatter(np.zeros(d), np.ones(d), values[kept], axes, float(total), int(d - kept.sum()))


def tempered_scatter(
    X: Data,
    y: ArrayLike | None = None,
    *,
    sample_weight: ArrayLike | None = None,
    kind: str = "total",
    standardise: bool = True,
    rank_tol: float = RANK_TOL,
) -> TemperedScatter:
    """Decompose the scatter of `X`, once for all exponents p.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    y : array-like of shape (n,), optional
        Class labels, for ``kind="within"``.
    sample_weight : array-like of shape (n,), optional
    kind : {"total", "within"}
    standardise : bool, default=True
        False keeps the units of X, as in a kernel feature space, whose coordinates are uncorrelated already.
    rank_tol : float, default=1e-4
        Leave out directions along which the (standardised) rows deviate by at most this, relative to the largest deviation
        of a column. With 0, only directions that may be due to rounding in double precision are left out.

    Examples
    --------
    >>> import numpy as np
    >>> X = np.array([[0.0, 0.0], [1.0, 0.0], [0.0, 10.0], [1.0, 10.0]])
    >>> tempered_scatter(X).matrix(1.0).tolist()  # uncorrelated features: the variances
    [[1.0, 0.0], [0.0, 100.0]]
    """
    X, weight, classes = check_rows_of(X, y, sample_weight, kind)
    check_number("rank_tol", rank_tol, 0, 1)
    weight = np.ones(X.shape[0]) if weight is None else weight
    return tempered_of(X, weight, classes, standardise=standardise, rank_tol=rank_tol)


def tempered_of(X, weight, classes=None, *, standardise=True, rank_tol=RANK_TOL) -> TemperedScatter:
    """`tempered_scatter` of checked rows; within classes if these are given."""
    if X.shape[1] > max(FEW_COLUMNS, min(WIDEST, FEW_ROWS * X.shape[0])):
        space = _wide_scatter(X, weight, standardise)
        return from_factor(*row_factor(X, weight, classes), space, rank_tol)
    total = weight.sum()
    mean = np.asarray(weight @ X).ravel() / total
    S = scatter_of(X, weight)
    chosen = S if classes is None else scatter_of(X, weight, classes)
    space = decompose(S, chosen, mean, total, standardise=standardise, rank_tol=rank_tol)
    return space if space.regular else from_factor(*row_factor(X, weight, classes), space, rank_tol)


def can_whiten(n: int, d: int) -> bool:
    """Return True if the scatter of n rows and d columns fits in memory: as a matrix, or as a factor of all rows."""
    return d <= WIDEST or n * d <= MOST_NUMBERS


def _wide_scatter(X, weight, standardise) -> TemperedScatter:
    """Mean and scale of columns that are too many for a scatter matrix; a ValueError if there are too many rows as well."""
    n, d = X.shape
    if not can_whiten(n, d):
        raise ValueError(
            f"whitening above 0 needs the scatter of all {d:,} columns, or all {n:,} rows at once: that is too much. Set "
            "whitening=0 (standardised columns) or -1 (columns as they are), or reduce the number of columns first, for "
            "example with sklearn.decomposition.TruncatedSVD."
        )
    space = standardised(X, weight)
    return space if standardise else replace(space, scale=np.ones(d))


def decompose(S, chosen, mean, total, *, standardise=True, rank_tol=RANK_TOL) -> TemperedScatter:
    """`tempered_scatter` from scatter matrices: `S`, the total one, sets the units, and `chosen` is decomposed."""
    d = len(mean)
    scale = np.sqrt(np.diag(S) / total) if standardise else np.ones(d)
    inverse = np.divide(1.0, scale, out=np.zeros(d), where=scale > 0)
    R = inverse[:, None] * chosen * inverse / total
    values, vectors = decompose_range(R)
    kept = values > rank_tol**2 * R.diagonal().max()
    return TemperedScatter(mean, scale, values[kept], vectors[:, kept], float(total), int(len(kept) - kept.sum()))


def standardised(X, weight) -> TemperedScatter:
    """`tempered_scatter` for exponents p <= 0 only, which need no eigenvectors."""
    mean, variance = feature_moments(X, weight)
    return TemperedScatter(mean, np.sqrt(variance), np.ones(len(mean)), None, float(weight.sum()))


def standardised_range(X, weight) -> TemperedScatter:
    """`standardised`, restricted to the span of the rows about the origin, for models without an intercept."""
    space = from_factor(*row_factor(X, weight, centred=False), standardised(X, weight), rank_tol=0.0)
    return replace(space, eigenvalues=np.ones(len(space.eigenvalues)))


def from_factor(factor, largest, space, rank_tol=RANK_TOL) -> TemperedScatter:
    """`tempered_scatter` from `row_factor`, in the units of `space`: its singular values have twice the digits.

    Directions along which the rows differ by no more than the rounding of their entries are left out.
    """
    A = factor * space.inverse_scale / np.sqrt(space.total)
    _, roots, axes = svd(A, full_matrices=False)
    noise = np.linalg.norm(EPS * largest * space.inverse_scale * axes, axis=1)
    varies = roots > np.maximum(noise, 10 * len(largest) * EPS * roots[0])
    kept = varies & (roots > rank_tol * np.linalg.norm(A, axis=0).max())
    axes = with_positive_pivots(axes[kept]).T
    return replace(space, eigenvalues=roots[kept] ** 2, eigenvectors=axes, n_dropped=int(varies.sum() - kept.sum()))


__all__ = [
    "TemperedScatter",
    "geometric_mean",
    "matrix_power",
    "range_basis",
    "scatter_matrix",
    "semi_whitening",
    "tempered_scatter",
    "whitening",
]
