"""Forms of the data matrix. A form says how many rows and coefficients there are, and what scores coefficients give.

Each has a counterpart in the core (``src/core/rows``), which tells forms apart by `kind`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import ClassVar

import numpy as np
from scipy import sparse

from .._checks import (
    as_floats,
    check_choice,
    check_count,
    check_finite,
    check_points,
    check_positive,
    check_rows,
    check_shape,
    check_sparse_points,
    check_threads,
    check_vector,
    is_plain_matrix,
)


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


# -- Rows of a kernel matrix as a form of the data matrix -------------------------------------------------------------


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
        self._check_function()
        check_positive("cache_size", self.cache_size)

    def _check_function(self):
        if not (self.function is None or (callable(self.function) and hasattr(self.function, "diagonal"))):
            raise ValueError(f"kernel must be a KernelFunction, such as {SUCH_AS}, got {self.function!r}.")

    def with_function(self, function: Callable | None) -> Kernel:
        """The same rows, which are not checked again, with another kernel."""
        other = copy(self)
        object.__setattr__(other, "function", function)
        other._check_function()
        return other

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


# -- Labellings of rows by the classes that they belong to: what many classes take no memory for ----------------------


REST = -1  # in place of the class labelled -1: all others


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """K labellings by -1, 0 and +1, kept as the class of every row and the two sides of every labelling.

    It stands for an array of shape (K, n): ``labels[k]`` is a row of it, ``labels[numbers]`` several, `np.asarray` all.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the rows, numbered from 0.
    sides : ndarray of shape (K, 2)
        Of every labelling the class that is -1, or `REST` for all others, and the class that is +1. Rows of other classes are
        labelled 0: they take no part.
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import ClassLabels
    >>> labels = ClassLabels(np.array([0, 1, 2, 1]), np.array([[0, 1], [-1, 2]]), 3)
    >>> labels.shape, labels[0].tolist(), labels[1].tolist()
    ((2, 4), [-1.0, 1.0, 0.0, 1.0], [-1.0, -1.0, 1.0, -1.0])
    """

    codes: np.ndarray
    sides: np.ndarray
    n_classes: int

    def __post_init__(self):  # codes are looked at by the solver: here it would take longer than all else
        if self.codes.ndim != 1 or self.sides.ndim != 2 or self.sides.shape[1] != 2 or not self._are_integers:
            raise ValueError(
                "codes must be integers of shape (n,) and sides integers of shape (K, 2), got "
                f"{self.codes.dtype} {self.codes.shape} and {self.sides.dtype} {self.sides.shape}."
            )
        if self.sides.size and not (self.sides.min() >= REST and self.sides.max() < self.n_classes):
            raise ValueError(f"sides must be numbers of classes, 0 to {self.n_classes - 1}, or {REST} for all others.")

    @property
    def _are_integers(self):
        return self.codes.dtype.kind in "iu" and self.sides.dtype.kind in "iu"

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.sides), len(self.codes)

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return len(self.sides)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index) -> np.ndarray:
        k, *rows = index if isinstance(index, tuple) else (index,)
        minus, plus = self.sides[k, 0, ..., None], self.sides[k, 1, ..., None]
        codes = self.codes[tuple(rows)] if rows else self.codes
        others = np.where(minus == REST, codes != plus, codes == minus)
        return (codes == plus).astype(float) - others

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:], dtype=dtype)

    def part(self, problems: slice | np.ndarray) -> ClassLabels:
        """Some of the labellings, by a slice or by numbers."""
        return ClassLabels(self.codes, self.sides[problems], self.n_classes)


# -- Multipliers of hinge problems with an intercept: ``y'alpha = 0`` -------------------------------------------------


def balanced(signed: np.ndarray, intercept: bool = True) -> np.ndarray:
    """Shrink the heavier sign of multipliers ``y * alpha`` so that they sum to zero: they stay in any box around zero.

    Parameters
    ----------
    signed : ndarray of shape (n,) or (K, n)
        Each row is balanced by itself.
    intercept : bool, default=True
        Without one nothing has to be balanced.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import balanced
    >>> balanced(np.array([3.0, -1.0, -1.0]))
    array([ 2., -1., -1.])
    """
    if not intercept:
        return signed
    up, down = (np.maximum(sign * signed, 0.0).sum(axis=-1, keepdims=True) for sign in (1.0, -1.0))
    lighter = np.minimum(up, down)
    factors = (np.divide(lighter, total, out=np.zeros_like(total), where=total > 0.0) for total in (up, down))
    return signed * np.where(signed > 0.0, *factors)


# -- What a solver is asked: many hinge problems on the same rows, with their regularisers, how well to solve them, and where to


METHODS = ("auto", "direct", "interior-point")
_ONLY = np.zeros((1, 3), dtype=np.int64)


@dataclass(frozen=True, eq=False)
class Quadratics:
    """R functions ``1/2 w'B_r w - q_r'w + constant_r``.

    Parameters
    ----------
    matrices : ndarray of shape (R, d) or (R, d, d), optional
        Diagonals, or symmetric positive definite matrices; None is the identity.
    linear : ndarray of shape (R, d), optional
        The linear terms q, of a caller whose regulariser has a quadratic model that is not centred at zero.
    constants : ndarray of shape (R,), optional
        Only with `linear`.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import Quadratics
    >>> len(Quadratics()), len(Quadratics(np.ones((3, 5))))
    (1, 3)
    """

    matrices: np.ndarray | None = None
    linear: np.ndarray | None = None
    constants: np.ndarray | None = None

    def __post_init__(self):
        for name in ("matrices", "linear", "constants"):
            if (found := getattr(self, name)) is not None:
                object.__setattr__(self, name, as_floats(f"{name} of the regularizers", found))

    def __len__(self) -> int:
        first = self.matrices if self.matrices is not None else self.linear
        return 1 if first is None else len(first)

    def check(self, d: int) -> None:
        """Raise a ValueError unless all arrays are finite and for d coefficients."""
        shapes = {"linear": (len(self), d), "constants": (len(self),)}
        if (self.linear is None) != (self.constants is None):
            raise ValueError("linear terms and constants of regularizers come together: give both, or neither.")
        if self.matrices is not None and self.matrices.shape[1:] not in ((d,), (d, d)):
            raise ValueError(
                f"regularizers must have shape (R, {d}) or (R, {d}, {d}) to match the rows, got {self.matrices.shape}."
            )
        for name, shape in shapes.items():
            found = getattr(self, name)
            if found is not None:
                check_shape(f"{name} of the regularizers", found.shape, shape)
        for name in ("matrices", "linear", "constants"):
            if (found := getattr(self, name)) is not None:
                check_finite(f"{name} of the regularizers", found)
        if self.matrices is not None and self.matrices.ndim == 2 and not (self.matrices > 0).all():
            raise ValueError("regularizer is not positive definite: a diagonal entry is not positive.")


IDENTITY = Quadratics()


@dataclass(frozen=True, eq=False)
class Batch:
    """Hinge problems that share rows, each to be solved for every C ::

        min_{w,b}  r(w) + C sum_i s_i max(0, 1 - y_i (x_i'w + b))

    A problem takes a subset of the rows, a row of `labels` and a regulariser r. Shapes, row numbers, weights and Cs are
    checked here; labels by the solver, which also refuses a problem without rows.

    Parameters
    ----------
    rows : Dense, Sparse or Kernel
        The data matrix, n rows and d coefficients.
    labels : ndarray of shape (labellings, n), or ClassLabels
        Labellings by -1 and +1; a row labelled 0 takes no part.
    weights : ndarray of shape (n,)
        Weights s of the losses; a row of weight 0 takes no part.
    Cs : ndarray
        In any order; they are solved from small to large, each from the solution before.
    regularizers : Quadratics, default: the identity
    subsets : sequence of integer arrays, default=()
        Row numbers of the training parts, in any order and perhaps repeated; empty: one subset, all rows.
    cells : ndarray of shape (problems, 3), optional
        Problems as numbers of (subset, labelling, regulariser). Default: all combinations, the last number fastest.
    intercept : bool, default=True
        Whether there is an (unpenalised) intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import Batch, Dense
    >>> from radiusmargin.solvers import solve
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> labels = np.array([[-1.0, -1.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 1.0]])
    >>> results = solve(Batch(Dense(X), labels, np.ones(4), np.array([0.1, 10.0])))
    >>> results.coef.shape, results.converged.all(), results[1, 1].coef.round(4)
    ((2, 2, 1), np.True_, array([0.6667]))
    """

    rows: Rows
    labels: np.ndarray | ClassLabels
    weights: np.ndarray
    Cs: np.ndarray
    regularizers: Quadratics = IDENTITY
    subsets: tuple = ()
    cells: np.ndarray | None = None
    intercept: bool = True

    def __post_init__(self):
        n, d = self.rows.shape
        self._check_numbers(n)
        if self.labels.ndim != 2 or self.labels.shape[1] != n:
            raise ValueError(f"labels must have shape (labellings, {n}) to match the rows, got {self.labels.shape}.")
        if len(self.subsets):
            object.__setattr__(self, "subsets", tuple(check_rows(self.subsets, n, "subsets")))
        if self.regularizers is not IDENTITY:
            self.regularizers.check(d)
        if self.cells is None:
            object.__setattr__(self, "cells", self._all_cells())
        elif self.cells.ndim != 2 or self.cells.shape[1] != 3 or not len(self.cells):
            raise ValueError(f"cells must have shape (problems, 3), got {self.cells.shape}.")
        elif self.cells.dtype.kind not in "iu":
            raise ValueError(f"cells must be integers, got {self.cells.dtype}.")
        elif np.any(self.cells < 0) or np.any(self.cells >= self._counts):
            raise ValueError(
                f"cells must hold numbers from 0 to less than {self._counts}, got {self.cells.tolist()[:9]}."
            )

    def _check_numbers(self, n):
        """Weights and Cs, by their extremes alone: NaN is in neither range, and a small fit has no time for more."""
        for name in ("labels", "weights", "Cs"):
            if not isinstance(found := getattr(self, name), ClassLabels):
                object.__setattr__(self, name, as_floats(name, found))
        if self.weights.shape != (n,):
            raise ValueError(f"weights must have shape ({n},) to match the rows, got {self.weights.shape}.")
        if self.Cs.ndim != 1 or not len(self.Cs):
            raise ValueError(f"Cs must be a list of numbers, got an array of shape {self.Cs.shape}.")
        heaviest, largest = float(self.weights.max()), float(self.Cs.max())
        if not (self.weights.min() >= 0 and 0 < heaviest < np.inf):
            raise ValueError("weights must be finite, not negative and not all zero.")
        if not (self.Cs.min() > 0 and largest < np.inf):
            raise ValueError(f"Cs must be positive and finite, got {self.Cs[:9].tolist()}.")
        if not largest * heaviest * n < np.inf:
            raise ValueError(f"C times sample_weight overflows: the largest C is {largest:g}. Use smaller weights.")

    @property
    def _counts(self):
        return max(len(self.subsets), 1), len(self.labels), len(self.regularizers)

    def _all_cells(self):
        return _ONLY if self._counts == (1, 1, 1) else np.indices(self._counts).reshape(3, -1).T

    def __len__(self) -> int:
        """The number of problems."""
        return len(self.cells)


@dataclass(frozen=True)
class Options:
    """How well to solve, and what to keep.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Steps of all methods together before giving up, for each problem and C.
    n_threads : int or None, default=1
        Threads over problems; -1 takes every core.
    keep_alpha : bool, default=False
        Whether to keep the multipliers, n numbers for each problem and C.
    method : {"auto", "direct", "interior-point"}, default="auto"
        "direct" leaves out sifting, "interior-point" Newton's method too: to compare methods, and to test each of them.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    n_threads: int | None = 1
    keep_alpha: bool = False
    method: str = "auto"

    def __post_init__(self):
        # Asked first the quick way: a check takes longer than all else here.
        if type(self.tol) is not float or not 0.0 < self.tol < np.inf:
            check_positive("tol", self.tol)
        if type(self.max_iter) is not int or not 0 < self.max_iter < 2**31:
            check_count("max_iter", self.max_iter)
        if self.n_threads is not None and self.n_threads != 1:
            check_threads("n_jobs", self.n_threads)
        if self.method != "auto":
            check_choice("method", self.method, METHODS)

    @property
    def threads(self) -> int:
        """The number of threads that `n_threads` stands for."""
        if self.n_threads is None or self.n_threads > 0:
            return self.n_threads or 1
        from joblib import effective_n_jobs

        return effective_n_jobs(self.n_threads)


@dataclass(frozen=True, eq=False)
class Start:
    """Where to start the smallest C of every problem; what is None starts cold.

    Parameters
    ----------
    coef : ndarray of shape (problems, d), optional
    intercept : ndarray of shape (problems,), optional
        Only with `coef`.
    alpha : ndarray of shape (problems, n), optional
        Multipliers; those of rows that take no part are not looked at.
    """

    coef: np.ndarray | None = None
    intercept: np.ndarray | None = None
    alpha: np.ndarray | None = None

    def check(self, batch: Batch) -> None:
        """Raise a ValueError unless all arrays are finite and for the problems of a batch."""
        (n, d), P = batch.rows.shape, len(batch)
        for name, shape in (("coef", (P, d)), ("intercept", (P,)), ("alpha", (P, n))):
            if (found := getattr(self, name)) is not None:
                check_shape(f"start: {name}", np.shape(found), shape)
                check_finite(f"start: {name}", as_floats(f"start: {name}", found))

    def theta(self, intercept: bool) -> np.ndarray | None:
        """Coefficients and, where there is one, the intercept: shape (problems, d) or (problems, d + 1)."""
        if self.coef is None or not intercept:
            return None if self.coef is None else np.ascontiguousarray(self.coef)
        b = np.zeros(len(self.coef)) if self.intercept is None else self.intercept
        return np.column_stack([self.coef, b])


__all__ = ["IDENTITY", "METHODS", "REST", "Batch", "ClassLabels", "Kernel", "Options", "Quadratics", "Start"]
