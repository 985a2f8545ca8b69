"""Forms of the data matrix. A form says how many rows and coefficients there are, and what scores coefficients give.

Each has a counterpart in the core (``src/core/rows``), which tells forms apart by `kind`.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse


@dataclass(frozen=True, eq=False)
class Dense:
    """Rows of an array.

    Parameters
    ----------
    X : ndarray of shape (n, d)
        Double precision, in any layout with a stride of one number along one axis.
    """

    kind: ClassVar[str] = "dense"
    X: np.ndarray

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
    X : csr_array of shape (n, d)
        Double precision, with sorted indices and no duplicates.
    """

    kind: ClassVar[str] = "sparse"
    X: sparse.csr_array

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """Scores of shape (K, n) of the rows for coefficients of shape (K, d), without intercepts."""
        return (self.X @ coef.T).T


Rows = Dense | Sparse


def rows_of(X: np.ndarray | sparse.csr_array) -> Rows:
    """The form of a checked matrix: dense or sparse.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
    """
    return Sparse(X) if sparse.issparse(X) else Dense(X)
