"""Rows of a kernel matrix as a form of the data matrix."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._checks import as_floats, check_finite, check_positive, check_shape, check_vector
from .rows import rows_of

SUCH_AS = "radiusmargin.kernels.KernelFunction('rbf', gamma=1.0)"
_BLOCK = 4_000_000  # kernel values that are held at a time


@dataclass(frozen=True, eq=False)
class Kernel:
    """Rows of a kernel matrix, which is never there as a whole: the inner products of rows in a space of their own.

    A separator is a combination of rows: coefficients are those of rows, so that d = n. The origin is that of the space
    itself, as in `sklearn.svm.SVC`, not the mean of the rows.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        The data, in double precision; without `function`, the kernel matrix itself.
    function : callable, optional
        ``function(X, Y)`` gives the kernel between two sets of rows, ``function.diagonal(X)`` that of each row with itself.
        One that has the attributes `kernel`, `gamma`, `degree` and `coef0` of `radiusmargin.kernels.KernelFunction` is
        computed by compiled code where its name is known there.
    cache_size : float, default=500
        Megabytes for rows that may be needed again.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import Kernel
    >>> rows = Kernel(np.array([[2.0, 1.0], [1.0, 3.0]]))
    >>> rows.shape, rows.scores(np.array([[1.0, -1.0]])).tolist()
    ((2, 2), [[1.0, -2.0]])
    """

    kind: ClassVar[str] = "kernel"
    X: np.ndarray | sparse.csr_array
    function: Callable | None = None
    cache_size: float = 500.0

    def __post_init__(self):
        object.__setattr__(self, "X", rows_of(self.X).X)
        if not (self.function is None or (callable(self.function) and hasattr(self.function, "diagonal"))):
            raise ValueError(f"kernel must be a KernelFunction, such as {SUCH_AS}, got {self.function!r}.")
        check_positive("cache_size", self.cache_size)

    def check_values(self) -> None:
        """Raise a ValueError where X holds data, but there is no function to compute kernel values of them."""
        if self.function is None and (sparse.issparse(self.X) or self.X.shape[0] != self.X.shape[1]):
            raise ValueError(
                f"without kernel, X must be a dense kernel matrix of shape (n, n), got {self.X.shape}: for data, give kernel, "
                f"such as {SUCH_AS}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[0]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Kernel values between rows and columns, by their numbers."""
        if self.function is None:
            return self.X[np.ix_(rows, columns)]
        values = as_floats("kernel values", self.function(self.X[rows], self.X[columns]))
        check_shape("kernel values", values.shape, (len(rows), len(columns)))
        check_finite("kernel values", values)
        return np.ascontiguousarray(values)

    def diagonal(self) -> np.ndarray:
        """The kernel of each row with itself."""
        if self.function is None:
            return np.diagonal(self.X).copy()
        return check_vector("the kernel's diagonal", self.function.diagonal(self.X), self.shape[0])

    def part(self, rows: np.ndarray) -> Kernel:
        """These rows, and the columns that belong to them, alone."""
        X = self.X[np.ix_(rows, rows)] if self.function is None else self.X[rows]
        return Kernel(X, self.function, self.cache_size)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """Scores of shape (K, n) of the rows for coefficients of shape (K, n), without intercepts."""
        support, everything = np.flatnonzero(np.any(coef != 0, axis=0)), np.arange(self.shape[0])
        step = max(1, _BLOCK // max(len(support), 1))
        blocks = (everything[i : i + step] for i in range(0, len(everything), step))
        return np.hstack([coef[:, support] @ self.block(part, support).T for part in blocks])


__all__ = ["Kernel"]
