"""The tempered scatter T = n R^p: what a radius-margin model measures the spread of the data by.

With features standardised by the diagonal D of the total scatter, R is the scatter over the total weight (unit diagonal
for the total scatter). p = 1 whitens, p = 0 only standardises, p = 1/2 semi-whitens (the mathematics page, section 2). Below 0
it standardises less: T = n D^(1+p), down to p = -1, the units of the data.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cached_property

import numpy as np
from scipy import sparse

from .._checks import check_number
from .._linalg import matmul, svd
from .._types import ArrayLike, Data
from .factor import row_factor
from .powers import decompose_range, with_positive_pivots
from .scatter import check_rows_of, feature_moments, scatter_of

# Deviation of standardised rows up to which a direction may be the rounding of a file: the smallest power of ten with which a digit
# less in the rows changes no more than 0.5 % of the labels (benchmarks/rounding.py). Sums of columns, as printed, deviate by 4e-8 to
# 2e-5 on seven of the twelve tables there and by 2e-4 on two, which keep theirs; other directions by 3e-3 or more.
RANK_TOL = 1e-4
ILL_CONDITIONED = 1e-8  # ratio of the eigenvalues below which a matrix formed of them has lost the smallest
EPS = np.finfo(float).eps
WIDEST = 5000  # columns whose scatter is formed: it takes 200 MB
# Columns above which rows are taken at once where these are fewer by this factor: 40 x 3,000 in a hundredth of a second, not four.
FEW_COLUMNS, FEW_ROWS = 200, 2
MOST_NUMBERS = 20_000_000  # of the rows of wider data, which are taken at once instead
NO_SPREAD = "X has no feature that varies within the chosen scatter; there is nothing to learn from."


@dataclass(frozen=True, eq=False)
class TemperedScatter:
    """R in its eigenvectors, with the units it is expressed in.

    Parameters
    ----------
    mean : ndarray of shape (d,)
        Weighted mean of the data.
    scale : ndarray of shape (d,)
        Standard deviations (ones where features are not to be standardised; zero marks a constant feature).
    eigenvalues, eigenvectors : ndarrays of shapes (r,) and (d, r)
        The non-zero part of R. The eigenvectors are None where they are the axes: features without correlation, or
        whose correlation does not matter.
    total : float
        Total weight n.
    n_dropped : int, default=0
        Directions in which the rows vary, but by less than a tolerance, and which are left out of R.
    """

    mean: np.ndarray
    scale: np.ndarray
    eigenvalues: np.ndarray
    eigenvectors: np.ndarray | None
    total: float
    n_dropped: int = 0

    @cached_property
    def regular(self) -> bool:
        """Whether R has full rank, and well enough so to be used outside of its eigenvectors."""
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
        """T in the user's units, for regular R; a vector where it is diagonal: p = 0, or no correlation."""
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
        """Rows in the coordinates of `standardised_matrix`; features without spread are left out.

        A sparse X stays sparse if R is regular, and then cannot be centred.
        """
        inverse = self.inverse_scale
        if self.regular and hasattr(X, "multiply"):
            return X.multiply(inverse).tocsr()
        if self.regular:
            rows, mean = X * inverse, self.mean * inverse
        else:
            basis = inverse[:, None] * self.eigenvectors
            rows = np.asarray(X @ basis) if hasattr(X, "multiply") else matmul(X, basis)
            mean = self.mean @ basis
        return rows - mean if centred else rows

    def lift(self, coefs: np.ndarray, intercepts: np.ndarray, *, centred: bool = True) -> tuple[np.ndarray, np.ndarray]:
        """(coef, intercept) in the user's units, from those in the coordinates of `project`."""
        if not self.regular:
            coefs = coefs @ self.eigenvectors.T
        coefs = coefs * self.inverse_scale
        return coefs, intercepts - coefs @ self.mean if centred else intercepts

    def lower(
        self, coefs: np.ndarray, intercepts: np.ndarray, *, centred: bool = True
    ) -> tuple[np.ndarray, np.ndarray]:
        """The inverse of `lift`, for separators in the range of the scatter."""
        intercepts = intercepts + coefs @ self.mean if centred else intercepts
        coefs = coefs * self.scale
        return coefs if self.regular else coefs @ self.eigenvectors, intercepts

    @property
    def inverse_scale(self) -> np.ndarray:
        return np.divide(1.0, self.scale, out=np.zeros_like(self.scale), where=self.scale > 0)


def uncorrelated_scatter(eigenvalues, total, rank_tol=RANK_TOL) -> TemperedScatter:
    """`tempered_scatter` of centred features whose scatter is known to be diagonal, as that of kernel components is."""
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
    """Decompose the scatter of `X`, once for every power p that may be asked for.

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
        Directions along which the (standardised) rows deviate by no more than this, relative to the largest deviation of a
        column, are left out. With 0 only those are that rounding in double precision may have made.

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
    """`tempered_scatter` of checked rows, within their classes where these are given."""
    if X.shape[1] > max(FEW_COLUMNS, min(WIDEST, FEW_ROWS * X.shape[0])):
        space = _wide_scatter(X, weight, standardise)
        return from_factor(*row_factor(X, weight, classes), space, rank_tol)
    total = weight.sum()
    mean = np.asarray(weight @ X).ravel() / total
    S = scatter_of(X, weight)
    chosen = S if classes is None else scatter_of(X, weight, classes)
    space = decompose(S, chosen, mean, total, standardise=standardise, rank_tol=rank_tol)
    # The singular values of the rows have twice the digits of the eigenvalues of their scatter.
    return space if space.regular else from_factor(*row_factor(X, weight, classes), space, rank_tol)


def can_whiten(n: int, d: int) -> bool:
    """Whether the scatter of n rows and d columns can be had: as a matrix, or from all rows at once."""
    return d <= WIDEST or n * d <= MOST_NUMBERS


def _wide_scatter(X, weight, standardise) -> TemperedScatter:
    """Mean and units of columns that are too many for a scatter matrix; a ValueError where the rows are too many as well."""
    n, d = X.shape
    if not can_whiten(n, d):
        raise ValueError(
            f"whitening above 0 needs the scatter of all {d:,} columns, or all {n:,} rows at once: that is too much. Set "
            "whitening=0 (standardised columns) or -1 (columns as they are), or make fewer columns of them first, for "
            "example with sklearn.decomposition.TruncatedSVD."
        )
    space = standardised(X, weight)
    return space if standardise else replace(space, scale=np.ones(d))


def decompose(S, chosen, mean, total, *, standardise=True, rank_tol=RANK_TOL) -> TemperedScatter:
    """`tempered_scatter` from scatter matrices at hand: `S` the total one, which sets the units, `chosen` the one to
    temper.
    """
    d = len(mean)
    scale = np.sqrt(np.diag(S) / total) if standardise else np.ones(d)
    inverse = np.divide(1.0, scale, out=np.zeros(d), where=scale > 0)
    R = inverse[:, None] * chosen * inverse / total
    values, vectors = decompose_range(R)
    kept = values > rank_tol**2 * R.diagonal().max()
    return TemperedScatter(mean, scale, values[kept], vectors[:, kept], float(total), int(len(kept) - kept.sum()))


def standardised(X, weight) -> TemperedScatter:
    """`tempered_scatter` where no power above 0 will be asked for: all features that vary, without a range."""
    mean, variance = feature_moments(X, weight)
    return TemperedScatter(mean, np.sqrt(variance), np.ones(len(mean)), None, float(weight.sum()))


def standardised_range(X, weight) -> TemperedScatter:
    """The same on the span of the rows about the origin, not about their mean: where there is no intercept."""
    space = standardised(X, weight)
    found = from_factor(*row_factor(X, weight, centred=False), space, rank_tol=0.0)
    return replace(found, eigenvalues=np.ones(len(found.eigenvalues)))


def from_factor(factor, largest, space, rank_tol=RANK_TOL) -> TemperedScatter:
    """The same from a factor of the rows (`row_factor`) and the largest modulus of each column.

    Directions along which the rows differ by no more than the rounding of their entries are not there.
    """
    A = factor * space.inverse_scale / np.sqrt(space.total)
    _, roots, axes = svd(A, full_matrices=False)
    noise = np.linalg.norm(EPS * largest * space.inverse_scale * axes, axis=1)
    varies = roots > np.maximum(noise, 10 * len(largest) * EPS * roots[0])
    kept = varies & (roots > rank_tol * np.linalg.norm(A, axis=0).max())
    axes = with_positive_pivots(axes[kept]).T
    return replace(space, eigenvalues=roots[kept] ** 2, eigenvectors=axes, n_dropped=int(varies.sum() - kept.sum()))
