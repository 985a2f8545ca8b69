"""Powers of a positive semi-definite matrix on its range: whitening and semi-whitening."""

from __future__ import annotations

import numpy as np

from .._checks import check_finite, check_number, check_positive, check_symmetric
from .._linalg import eigh
from .._types import ArrayLike

_NEGATIVE = 1e-8  # a more negative relative eigenvalue is no rounding error


def range_basis(S: ArrayLike, rtol: float | None = None) -> tuple[np.ndarray, np.ndarray]:
    """Eigenvalues and eigenvectors of the non-zero part of a positive semi-definite matrix.

    Parameters
    ----------
    S : array of shape (d, d)
        Symmetric positive semi-definite.
    rtol : float, optional
        Eigenvalues up to ``rtol`` times the largest one count as zero. The default, ``10 * d * eps``, is what
        the formation and the decomposition of a scatter matrix may leave in its null space. It is relative to
        the whole matrix: features whose scales differ by more than about 1e6 have to be standardised first,
        or the small ones are taken for noise.

    Returns
    -------
    eigenvalues : array of shape (r,)
        Positive, in descending order.
    eigenvectors : array of shape (d, r)
        Orthonormal columns, each with its entry of largest magnitude positive.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.geometry.powers import range_basis
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
        rtol = 10.0 * len(S) * np.finfo(float).eps
    values, vectors = eigh(S)
    largest = max(values[-1], -values[0])
    if values[0] < -_NEGATIVE * largest:
        raise ValueError(f"S must be positive semi-definite, got an eigenvalue of {values[0]:g}")
    kept = np.flatnonzero(values > rtol * largest)[::-1]
    return values[kept], with_positive_pivots(vectors[:, kept].T).T


def with_positive_pivots(rows):
    """The rows, each with the sign that makes its entry of largest magnitude positive."""
    pivots = rows[np.arange(len(rows)), np.abs(rows).argmax(axis=1)]
    return rows * np.where(pivots < 0.0, -1.0, 1.0)[:, None]


def matrix_power(S: ArrayLike, p: float, *, rtol: float | None = None) -> np.ndarray:
    """Power of a positive semi-definite matrix on its range; the null space stays null.

    ``p = -1`` is the pseudo-inverse, ``p = 0`` the orthogonal projection onto the range, ``p = 1/2`` the
    symmetric square root.

    Parameters
    ----------
    S : array of shape (d, d)
        Symmetric positive semi-definite.
    p : float
        Any real exponent.
    rtol : float, optional
        See `range_basis`.

    Returns
    -------
    ndarray of shape (d, d)
        Exactly symmetric.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.geometry.powers import matrix_power
    >>> matrix_power(np.diag([4.0, 0.0]), -0.5)
    array([[0.5, 0. ],
           [0. , 0. ]])
    """
    check_number("p", p, -np.inf, low_allowed=False)
    values, vectors = range_basis(S, rtol)
    half = vectors * values ** (p / 2.0)
    return half @ half.T  # a product with its own transpose is symmetric to the last bit


def whitening(S: ArrayLike, p: float = 1.0, *, rtol: float | None = None) -> np.ndarray:
    """Symmetric transformation ``L = S^{-p/2}`` on the range of `S`; ``X @ L`` has the scatter ``S^{1-p}``.

    ``p = 1`` whitens, ``p = 1/2`` semi-whitens (the paper's initialisation ``Lambda^{-1/4} U'(x - xbar)``
    up to a rotation), ``p = 0`` changes nothing but projects onto the range. The metric
    of the transformation is ``M = L'L = S^{-p}``.

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
    >>> from radiusmargin.geometry.scatter import scatter_matrix
    >>> from radiusmargin.geometry.powers import whitening
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

    minimises :math:`\tfrac12 \|w\|^2 \mathrm{tr}(M^{-1}) + \rho\,\mathrm{tr}(MS)`, an upper bound of the
    F-SVM objective for a fixed norm of w (Theorem 4). The paper loses a factor of two
    after Eq. 14 (:math:`\tau' = \rho/\|w\|^2` where it is :math:`2\rho/\|w\|^2`) and in Eq. 17
    and line 2 of Algorithm 1 multiplies by :math:`\sqrt{\tau'}` where one has to divide (erratum E3). The
    scale only rescales C; the shape is what matters.

    Parameters
    ----------
    S : array of shape (d, d)
        Scatter matrix.
    rho : float
        Weight of ``tr(MS)``, above zero.
    w_norm : float
        Norm of the weight vector, above zero.
    rtol : float, optional
        See `range_basis`.

    Returns
    -------
    ndarray of shape (d, d)
        The metric ``M0``. Its transformation, ``matrix_power(M0, 0.5)``, is a multiple of ``whitening(S,
        0.5)``.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.geometry.powers import semi_whitening
    >>> semi_whitening(np.diag([4.0, 16.0]), rho=0.5, w_norm=2.0)
    array([[1. , 0. ],
           [0. , 0.5]])
    """
    check_positive("rho", rho)
    check_positive("w_norm", w_norm)
    return w_norm / np.sqrt(2.0 * rho) * matrix_power(S, -0.5, rtol=rtol)
