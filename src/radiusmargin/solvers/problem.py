"""Inputs of the solvers: rows, labels, regularisers, options and starting points.

In order: forms of the data matrix (dense, sparse, kernel), each with a counterpart in the core (``src/core/rows``), which
distinguishes them by `kind`; labels derived from classes; feasible multipliers; the batch of hinge problems to be solved.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from copy import copy
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
from scipy import sparse

from .._blocks import split
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
    """Rows of a compressed sparse matrix, never converted to dense.

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
    """Wrap a matrix as `Dense` or `Sparse`.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    """
    return Sparse(X) if sparse.issparse(X) else Dense(X)


SUCH_AS = "radiusmargin.kernels.KernelFunction('rbf', gamma=1.0)"
_BLOCK = 4_000_000  # kernel values that are held at a time


@dataclass(frozen=True, eq=False)
class Kernel:
    """Rows of a kernel matrix, which is never formed as a whole.

    A separator is a combination of rows, so that there is a coefficient per row (d = n). The origin is that of the feature
    space, as in `sklearn.svm.SVC`, not the mean of the rows.

    Parameters
    ----------
    X : ndarray or csr_array of shape (n, d)
        The data, in double precision; without `function`, the kernel matrix itself.
    function : callable, optional
        ``function(X, Y)`` gives the kernel between two sets of rows, ``function.diagonal(X)`` that of each row with itself.
        A function with the attributes `kernel`, `gamma`, `degree` and `coef0` of `radiusmargin.kernels.KernelFunction` is
        evaluated by compiled code if that knows the kernel by name.
    cache_size : float, default=500
        Megabytes of the cache of kernel rows.

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
    function: Any = None
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
        """Raise a ValueError if there is no function, and X is no kernel matrix either."""
        if self.function is None and (sparse.issparse(self.X) or self.X.shape[0] != self.X.shape[1]):
            raise ValueError(
                f"without kernel, X must be a dense kernel matrix of shape (n, n), got {self.X.shape}: for data, give kernel, "
                f"such as {SUCH_AS}."
            )

    @property
    def shape(self) -> tuple[int, int]:
        return self.X.shape[0], self.X.shape[0]

    def block(self, rows: np.ndarray, columns: np.ndarray) -> np.ndarray:
        """Kernel values between rows and columns, given by their indices."""
        if self.function is None:
            return self.X[np.ix_(rows, columns)]
        values = as_floats("kernel values", self.function(self.X[rows], self.X[columns]))
        check_shape("kernel values", values.shape, (len(rows), len(columns)))
        check_finite("kernel values", values)
        return np.ascontiguousarray(values)

    def diagonal(self) -> np.ndarray:
        """Kernel of each row with itself."""
        if self.function is None:
            return np.diagonal(self.X).copy()
        return check_vector("the kernel's diagonal", self.function.diagonal(self.X), self.shape[0])

    def part(self, rows: np.ndarray) -> Kernel:
        """Restrict to some rows, and the same columns."""
        X = self.X[np.ix_(rows, rows)] if self.function is None else self.X[rows]
        return Kernel(X, self.function, self.cache_size)

    def scores(self, coef: np.ndarray) -> np.ndarray:
        """Scores of shape (K, n) of the rows for coefficients of shape (K, n), without intercepts."""
        support, everything = np.flatnonzero(np.any(coef != 0, axis=0)), np.arange(self.shape[0])
        blocks = split(len(everything), len(support), _BLOCK)
        return np.hstack([coef[:, support] @ self.block(everything[rows], support).T for rows in blocks])


# -- Labels derived from classes --------------------------------------------------------------------------------------


REST = -1  # in place of the class labelled -1: all others


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """Binary label vectors derived from class codes on demand, so that K problems need no K x n array.

    It behaves like an array of -1, 0 and +1 of shape (K, n): ``labels[k]`` is one row of it, ``labels[indices]`` are several,
    `np.asarray` gives all.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the rows, numbered from 0.
    sides : ndarray of shape (K, 2)
        For each labelling the class that is -1, or `REST` for all others, and the class that is +1. Rows of other classes are
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

    def __post_init__(self):  # the solver checks the codes: here it would take longer than all else
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
        """Restrict to some labellings, by a slice or by indices."""
        return ClassLabels(self.codes, self.sides[problems], self.n_classes)


# -- Targets of a regression ------------------------------------------------------------------------------------------


@dataclass(frozen=True, eq=False)
class Targets:
    """Targets of regression problems, in place of labels: a row has a loss on both sides of a tube around its target ::

        above max(0, target - epsilon - f) + below max(0, f - target - epsilon)

    Equal weights are the epsilon-insensitive loss, also the absolute loss where epsilon is zero. Weights q and 1 - q with epsilon
    zero are the pinball loss, whose minimum is the quantile q. `weights` and C of a batch multiply it.

    Solvers see every row twice, with opposite signs and the targets ``target - epsilon`` and ``-target - epsilon``; both share what
    is stored of the row. The multipliers of a result are signed, those of both sides in one.

    Parameters
    ----------
    values : ndarray of shape (K, n)
        Finite numbers. Thresholds of the solvers are for targets whose spread is about one.
    tubes : ndarray of shape (K, 3)
        For each row of `values`, epsilon and the weights of the loss above and below the tube.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import Batch, Dense, Targets, solve
    >>> X, y = np.array([[0.0], [1.0], [2.0], [3.0]]), np.array([[0.0, 2.0, 4.0, 6.0]])
    >>> result = solve(Batch(Dense(X), Targets(y, np.array([[0.5, 1.0, 1.0]])), np.ones(4), np.array([10.0])))[0, 0]
    >>> result.coef.round(4), round(result.intercept, 4)
    (array([1.6667]), 0.5)
    """

    values: np.ndarray
    tubes: np.ndarray

    def __post_init__(self):
        for name in ("values", "tubes"):
            object.__setattr__(self, name, np.ascontiguousarray(as_floats(name, getattr(self, name))))
            check_finite(name, getattr(self, name))
        if self.values.ndim != 2 or self.tubes.shape != (len(self.values), 3):
            raise ValueError(
                f"values must have shape (K, n) and tubes shape (K, 3), got {self.values.shape} and {self.tubes.shape}."
            )
        if not ((self.tubes[:, 0] >= 0).all() and (self.tubes[:, 1:] > 0).all()):
            raise ValueError("tubes must have epsilon >= 0 and positive weights above and below.")

    @property
    def shape(self) -> tuple[int, int]:
        return self.values.shape

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return len(self.values)

    def sides(self, k: int, weights: np.ndarray) -> tuple[np.ndarray, np.ndarray]:
        """Labels times targets and weights of labelling k, of shape (2, n): above the tube and below it."""
        epsilon, *sides = self.tubes[k]
        return self.values[k] - np.array([[epsilon], [-epsilon]]), np.outer(sides, weights)

    def reordered(self, order: np.ndarray) -> Targets:
        """The same with the rows in another order, or with some of them."""
        return Targets(self.values[:, order], self.tubes)


# -- Feasible multipliers ---------------------------------------------------------------------------------------------


def balanced(signed: np.ndarray, intercept: bool = True) -> np.ndarray:
    """Scale down the heavier sign of ``y * alpha`` so that the sum is zero, as an intercept requires; any box constraint still holds.

    Parameters
    ----------
    signed : ndarray of shape (n,) or (K, n)
        Multipliers times labels; each row is balanced by itself.
    intercept : bool, default=True
        If False, the multipliers are returned unchanged.

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


# -- A batch of hinge problems: regularisers, options and starting points ---------------------------------------------


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
        Linear terms q, for quadratic models of a regulariser that are not centred at zero.
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
        if (self.linear is None) != (self.constants is None):
            raise ValueError("linear terms and constants of regularizers come together: give both, or neither.")
        if self.matrices is not None and self.matrices.shape[1:] not in ((d,), (d, d)):
            raise ValueError(
                f"regularizers must have shape (R, {d}) or (R, {d}, {d}) to match the rows, got {self.matrices.shape}."
            )
        if self.linear is not None and self.constants is not None:
            check_shape("linear of the regularizers", self.linear.shape, (len(self), d))
            check_shape("constants of the regularizers", self.constants.shape, (len(self),))
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

    A problem consists of a subset of the rows, a row of `labels` and a regulariser r. Shapes, row numbers, weights and Cs are
    checked here. The solver checks the labels, and raises an error for a problem without rows.

    Parameters
    ----------
    rows : Dense, Sparse or Kernel
        The data matrix, n rows and d coefficients.
    labels : ndarray of shape (labellings, n), ClassLabels or Targets
        Labellings by -1 and +1; a row labelled 0 takes no part. `Targets` make the problems those of a regression.
    weights : ndarray of shape (n,)
        Weights s of the losses; a row of weight 0 takes no part.
    Cs : ndarray
        In any order; they are solved from small to large, each starting from the previous solution.
    regularizers : Quadratics, default: the identity
    subsets : sequence of integer arrays, default=()
        Row numbers of the training parts, in any order and perhaps repeated; empty: one subset, all rows.
    cells : ndarray of shape (problems, 3), optional
        Problems as indices (subset, labelling, regulariser). Default: all combinations, the last index fastest.
    intercept : bool, default=True
        Fit an (unpenalised) intercept.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import Batch, Dense, solve
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> labels = np.array([[-1.0, -1.0, 1.0, 1.0], [-1.0, 0.0, 0.0, 1.0]])
    >>> results = solve(Batch(Dense(X), labels, np.ones(4), np.array([0.1, 10.0])))
    >>> results.coef.shape, results.converged.all(), results[1, 1].coef.round(4)
    ((2, 2, 1), np.True_, array([0.6667]))
    """

    rows: Rows | Kernel
    labels: np.ndarray | ClassLabels | Targets
    weights: np.ndarray
    Cs: np.ndarray
    regularizers: Quadratics = IDENTITY
    subsets: tuple = ()
    cells: Any = None  # an ndarray after __post_init__
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
        """Check weights and Cs by their extremes only (NaN fails these too), since this is part of every small fit."""
        for name in ("labels", "weights", "Cs"):
            if not isinstance(values := getattr(self, name), (ClassLabels, Targets)):
                object.__setattr__(self, name, as_floats(name, values))
        if self.weights.shape != (n,):
            raise ValueError(f"weights must have shape ({n},) to match the rows, got {self.weights.shape}.")
        if self.Cs.ndim != 1 or not len(self.Cs):
            raise ValueError(f"Cs must be a list of numbers, got an array of shape {self.Cs.shape}.")
        Cs, heaviest = self.Cs.tolist(), float(self.weights.max())
        if not (self.weights.min() >= 0 and 0 < heaviest < np.inf):
            raise ValueError("weights must be finite, not negative and not all zero.")
        if not all([0 < C < np.inf for C in Cs]):
            raise ValueError(f"Cs must be positive and finite, got {Cs[:9]}.")
        if not (largest := max(Cs)) * heaviest * n < np.inf:
            raise ValueError(f"C times sample_weight overflows: the largest C is {largest:g}. Use smaller weights.")

    @property
    def _counts(self):
        return max(len(self.subsets), 1), len(self.labels), len(self.regularizers)

    def _all_cells(self):
        return _ONLY if self._counts == (1, 1, 1) else np.indices(self._counts).reshape(3, -1).T

    def __len__(self) -> int:
        """Number of problems."""
        return len(self.cells)


@dataclass(frozen=True)
class Options:
    """Accuracy, limits and method of a solver.

    Parameters
    ----------
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Most steps of all methods together, for each problem and C.
    n_threads : int or None, default=1
        Threads over problems; -1 uses all cores.
    keep_alpha : bool, default=False
        Keep the multipliers, n numbers for each problem and C.
    method : {"auto", "direct", "interior-point"}, default="auto"
        "direct" skips sifting, "interior-point" also Newton's method. They serve to compare and to test the methods.
    """

    tol: float = 1e-6
    max_iter: int = 1000
    n_threads: int | None = 1
    keep_alpha: bool = False
    method: str = "auto"

    def __post_init__(self):
        # Quick tests first: a check takes longer than all else here.
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
        """Number of threads, with None and -1 resolved."""
        if self.n_threads is None or self.n_threads > 0:
            return self.n_threads or 1
        from joblib import effective_n_jobs

        return effective_n_jobs(self.n_threads)


@dataclass(frozen=True, eq=False)
class Start:
    """Starting point of each problem at the smallest C; parts that are None start cold.

    Parameters
    ----------
    coef : ndarray of shape (problems, d), optional
    intercept : ndarray of shape (problems,), optional
        Only with `coef`.
    alpha : ndarray of shape (problems, n), optional
        Multipliers; those of rows that take no part are ignored.
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
        """Coefficients and, if there is one, the intercept: shape (problems, d) or (problems, d + 1)."""
        if self.coef is None or not intercept:
            return None if self.coef is None else np.ascontiguousarray(self.coef)
        b = np.zeros(len(self.coef)) if self.intercept is None else self.intercept
        return np.column_stack([self.coef, b])


__all__ = ["IDENTITY", "METHODS", "REST", "Batch", "ClassLabels", "Kernel", "Options", "Quadratics", "Start", "Targets"]
