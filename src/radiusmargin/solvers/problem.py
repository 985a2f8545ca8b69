"""What a solver is asked: many hinge problems on the same rows, with their regularisers, how well to solve them, and where to
start.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from .._checks import (
    as_floats,
    check_choice,
    check_count,
    check_finite,
    check_positive,
    check_rows,
    check_shape,
    check_threads,
)
from .labels import ClassLabels
from .rows import Rows

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


__all__ = ["IDENTITY", "METHODS", "Batch", "Options", "Quadratics", "Start"]
