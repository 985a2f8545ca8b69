"""Forms of the data matrix. A form says how many rows and coefficients there are, and what scores coefficients give.

Each has a counterpart in the core (``src/core/rows``), which tells forms apart by `kind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._checks import check_points, check_sparse_points, is_plain_matrix


@dataclass(frozen=True, eq=False)
class Dense:
    """Rows of an array.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Finite numbers. No copy is made of double precision with a stride of one number along one axis.
    """

    kind: ClassVar[str] = "dense"
    X: np.ndarray

    def __post_init__(self):
        X = self.X if is_plain_matrix(self.X) else check_points(self.X)
        if 8 not in X.strides or (X.strides[0] | X.strides[1]) % 8:
            X = np.ascontiguousarray(X)
        object.__setattr__(self, "X", X)

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """Scores of shape (K, n) of the rows for coefficients of shape (K, d), without intercepts."""
        return coef @ self.X.T


@dataclass(frozen=True, eq=False)
class Sparse:
    """Rows of a compressed sparse matrix, never filled.

    Parameters
    ----------
    X : sparse matrix of shape (n, d)
        Finite numbers. No copy is made of a CSR matrix in double precision with sorted indices and no duplicates.
    """

    kind: ClassVar[str] = "sparse"
    X: sparse.csr_array

    def __post_init__(self):
        object.__setattr__(self, "X", check_sparse_points(self.X))

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """Scores of shape (K, n) of the rows for coefficients of shape (K, d), without intercepts."""
        return (self.X @ coef.T).T


Rows = Dense | Sparse


def rows_of(X: np.ndarray | sparse.csr_array) -> Rows:
    """The form of a matrix: dense or sparse.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    """
    return Sparse(X) if sparse.issparse(X) else Dense(X)
