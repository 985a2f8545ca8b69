"""Scores of new rows by an expansion in support vectors."""

from __future__ import annotations

from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor

import numpy as np
from scipy import sparse

from ..rows import rows_of
from .backend import values

_BLOCK = 2_000_000  # kernel values that a thread holds at a time


def kernel_scores(
    X: np.ndarray | sparse.csr_array,
    vectors: np.ndarray | sparse.csr_array,
    coef: np.ndarray | sparse.csr_array,
    *,
    kernel: Callable,
    n_threads: int = 1,
) -> np.ndarray:
    """``k(X, vectors) @ coef.T``, in double precision, in blocks of rows.

    Parameters
    ----------
    X : ndarray or csr_array of shape (m, d)
        New rows.
    vectors : ndarray or csr_array of shape (s, d)
        Support vectors, in the same form.
    coef : ndarray or sparse array of shape (K, s)
        Their coefficients, a row for each separator.
    kernel : KernelFunction
    n_threads : int, default=1

    Returns
    -------
    ndarray of shape (m, K)
        Scores without intercepts.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.kernels import KernelFunction
    >>> from radiusmargin.solvers import kernel_scores
    >>> kernel_scores(np.eye(2), np.ones((1, 2)), np.array([[2.0]]), kernel=KernelFunction("linear"))
    array([[2.],
           [2.]])
    """
    if not vectors.shape[0]:
        return np.zeros((X.shape[0], coef.shape[0]))
    X, vectors, coef = rows_of(X).X, rows_of(vectors).X, rows_of(coef).X
    if X.shape[1] != vectors.shape[1] or coef.shape[1] != vectors.shape[0]:
        raise ValueError(
            f"shapes do not match: X {X.shape}, vectors {vectors.shape} (as many columns), coef {coef.shape} (a column for "
            "each vector)."
        )
    step = max(16, _BLOCK // max(vectors.shape[0], 1))
    starts = range(0, X.shape[0], step)

    def block(i):
        return np.asarray((coef @ values(kernel, X[i : i + step], vectors).T).T)

    if n_threads == 1 or len(starts) < 2:
        return np.vstack([block(i) for i in starts])
    with ThreadPoolExecutor(n_threads) as pool:
        return np.vstack(list(pool.map(block, starts)))


__all__ = ["kernel_scores"]
