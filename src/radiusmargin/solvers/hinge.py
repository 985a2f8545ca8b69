"""The compiled core, or its NumPy twin where that was not built."""

from __future__ import annotations

import warnings
from collections.abc import Sequence
from contextlib import nullcontext
from dataclasses import replace
from functools import cache
from typing import Any

import numpy as np
from numpy.typing import ArrayLike
from threadpoolctl import ThreadpoolController

from .._checks import (
    ConvergenceWarning,
    check_both_classes,
    check_Cs,
    check_labels,
    check_positive,
    check_problems,
    check_regularizer,
    check_rows,
    check_weights,
)
from . import reference as numpy_twin
from .problem import IDENTITY, Batch, Options, Quadratics, Start, rows_of
from .result import HingeResult, Results, certificate, status_of

try:
    from scipy.linalg import cython_blas, cython_lapack

    from .. import _core as backend

    backend.use_blas(cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__)
    _METHODS = np.array(backend.METHODS)
    COMPILED = True
except ImportError:  # installed with RADIUSMARGIN_PURE_PYTHON=1
    backend = numpy_twin  # type: ignore[misc]  # another module with the same functions
    COMPILED = False


def one_blas_thread():
    """Skinny Gram matrices are slower on several BLAS threads; problems are what we thread over."""
    return _threadpools().limit(limits=1, user_api="blas")


@cache
def _threadpools():
    return ThreadpoolController()


# -- The one entry to the hinge solvers: nouns in, nouns out ----------------------------------------------------------


DEFAULT, COLD = Options(), Start()


def solve(batch: Batch, options: Options = DEFAULT, start: Start | None = None) -> Results:
    """Solve hinge problems that share rows to a certified relative gap, in one compiled call.

    The method is a semismooth Newton method. Of very many rows a sample first tells which of them matter; of few rows pairs
    of multipliers are moved first; where Newton's steps stall an interior point takes over. Where features are many it is
    dual coordinate descent, which forms no matrix. What is returned is certified in the caller's units: `objective` is the
    value at `coef` and `intercept`, and `dual_objective` that of the dual at a feasible point.

    Parameters
    ----------
    batch : Batch
        Rows, labels, weights, regularisers, and the problems made of them.
    options : Options, optional
        Tolerance, limits, threads, and whether to keep the multipliers.
    start : Start, optional
        Where to start. A start that is worse than zero is not used.

    Returns
    -------
    Results
        Arrays with axes (problem, C). No warning is given for problems that did not converge: see `Results.converged` and `Results.status`.
        `Results.method` names the method that found each solution.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import Batch, Dense, Options
    >>> from radiusmargin.solvers import solve
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> results = solve(Batch(Dense(X), y[None], np.ones(4), Cs=np.array([10.0])), Options(tol=1e-9))
    >>> results[0, 0].coef.round(4), round(results[0, 0].intercept, 4)
    (array([2.]), -3.0)
    """
    if batch.rows.kind not in ("dense", "sparse"):
        raise ValueError(
            f"solve takes a batch of Dense or Sparse rows, got {type(batch.rows).__name__}: see solve_kernel."
        )
    if len(batch.Cs) > 1 and (batch.Cs[1:] < batch.Cs[:-1]).any():
        order = np.argsort(batch.Cs, kind="stable")
        return solve(replace(batch, Cs=batch.Cs[order]), options, start).at(np.argsort(order))
    if start is None:
        start = COLD
    else:
        start.check(batch)
    return _on_core(batch, options, start) if COMPILED else numpy_twin.solve_batch(batch, options, start)


def _on_core(batch, options, start):
    with one_blas_thread() if batch.rows.shape[1] >= backend.BLAS_FROM else nullcontext():
        coef, intercept, objective, dual, n_iter, method, alpha = backend.solve(
            batch, options, start.theta(batch.intercept), start
        )
    bounds = certificate(objective, dual, n_iter, options.tol)
    status = status_of(bounds["converged"], n_iter >= options.max_iter)
    return Results(batch.Cs, coef, intercept, **bounds, alpha=alpha, method=_METHODS[method], status=status)


# -- The hinge-loss problem with a quadratic regulariser: one problem, a path over C, or many problems at once --------


HingeBatch = Results  # its name before there was one word for all that solvers return


def hinge_svm(
    X: ArrayLike,
    y: ArrayLike,
    C: float = 1.0,
    regularizer: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> HingeResult:
    """Solve a hinge-loss problem to a certified relative gap.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The data, dense in any layout or sparse (never densified, and of any width). Computation is in double precision: of
        other numbers a copy is made.
    y : array-like of shape (n,)
        Labels, -1 or +1.
    C : float, default=1.0
        Weight of the loss.
    regularizer : None, array of shape (d,) or array of shape (d, d), default=None
        The symmetric positive definite matrix B; a vector is a diagonal, None the identity.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights of the losses. A row of weight zero is a row left out.
    fit_intercept : bool, default=True
        Whether there is an (unpenalised) intercept.
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Newton and interior-point steps, and passes of coordinate descent, before giving up with a `ConvergenceWarning`.

    Returns
    -------
    HingeResult
        With ``coef``, ``intercept``, ``alpha``, ``objective``, ``dual_objective``, ``gap``, ``n_iter``, ``converged``,
        ``method`` and ``status``.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import hinge_svm
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> result = hinge_svm(X, [-1, -1, 1, 1], C=10.0)
    >>> result.coef.round(4), round(result.intercept, 4)
    (array([2.]), -3.0)
    >>> result.gap <= 1e-6
    True
    """
    check_positive("C", C)
    batch = _one_problem(X, y, [C], regularizer, sample_weight, bool(fit_intercept))
    return _solve_one(batch, Options(tol, max_iter, keep_alpha=True))[0, 0]


def hinge_svm_path(
    X: ArrayLike,
    y: ArrayLike,
    Cs: ArrayLike,
    regularizer: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    *,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
) -> HingeBatch:
    """Solve the same problem for every C in one compiled call, warm-started from small to large.

    Parameters
    ----------
    X, y, regularizer, sample_weight, fit_intercept, tol, max_iter
        As in `hinge_svm`; `max_iter` is for each C.
    Cs : array-like
        Weights of the loss, in any order, which the results keep.

    Returns
    -------
    HingeBatch
        ``coef`` has shape (len(Cs), d), ``alpha`` shape (len(Cs), n); ``path[k]`` is the `HingeResult` of ``Cs[k]``.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import hinge_svm_path
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> path = hinge_svm_path(X, [-1, -1, 1, 1], [0.1, 10.0])
    >>> path.coef.round(4).ravel()
    array([0.4, 2. ])
    """
    batch = _one_problem(X, y, Cs, regularizer, sample_weight, bool(fit_intercept))
    return _solve_one(batch, Options(tol, max_iter, keep_alpha=True)).of(0)


def _one_problem(X, y, Cs, regularizer, sample_weight, fit_intercept):
    """The checked batch of one labelling of all rows."""
    rows = rows_of(X)
    n, d = rows.shape
    y = check_labels(y, n)
    weights = check_weights(sample_weight, n)
    check_both_classes(y, weights)
    B = check_regularizer(regularizer, d)
    form = IDENTITY if B is None else Quadratics(B[None])
    return Batch(rows, y[None], weights, check_Cs(Cs), form, intercept=fit_intercept)


def _solve_one(batch, options):
    """Solve one problem for all Cs, with a warning where one did not converge."""
    found = solve(batch, options)
    if not found.converged.all():
        path = found.of(0)
        worst = int(np.argmax(path.gap))
        warnings.warn(
            f"hinge_svm stopped at a relative gap of {path.gap[worst]:.2g} (tol={options.tol:g}) after "
            f"{path.n_iter[worst]} iterations at C={path.Cs[worst]:g}. Increase max_iter, scale the features, or use a "
            "smaller C.",
            ConvergenceWarning,
            stacklevel=3,
        )
    return found


def hinge_svm_batch(
    X: ArrayLike,
    labels: ArrayLike,
    Cs: ArrayLike,
    *,
    rows: Sequence | None = None,
    regularizers: ArrayLike | None = None,
    problems: ArrayLike | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_jobs: int | None = 1,
) -> HingeBatch:
    """Solve many problems on one matrix in one compiled call: the engine of cross-validation.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
    labels : array-like of shape (n,) or (n, L)
        One column of -1 and +1 per labelling (pairs of classes, for example); rows labelled 0 take no part.
    Cs : array-like
        Every problem is solved for every C, warm-started from small to large.
    rows : sequence of index arrays, optional
        Subsets of the rows (the training parts of folds, for example); default: all rows.
    regularizers : array of shape (R, d) or (R, d, d), optional
        The matrices B that problems refer to.
    problems : sequence of (rows index, label index, regularizer index), optional
        Default: the product of all three, in this order.
    sample_weight : array-like of shape (n,), optional
    fit_intercept : bool, default=True
    tol : float, default=1e-6
    max_iter : int, default=1000
        As in `hinge_svm`, for each problem and C.
    n_jobs : int, default=1
        Threads over problems; -1 takes every core.

    Returns
    -------
    HingeBatch
        Arrays with axes (problem, C); the multipliers are not kept, and there is no warning: see ``converged``.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import hinge_svm_batch
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> batch = hinge_svm_batch(X, [-1, -1, 1, 1], [0.1, 10.0], rows=[[0, 1, 2], [1, 2, 3]])
    >>> batch.coef[..., 0].round(4)
    array([[0.1, 2. ],
           [0.1, 2. ]])
    """
    matrix = rows_of(X)
    n, d = matrix.shape
    labels = np.asarray(labels)
    if labels.ndim not in (1, 2) or len(labels) != n:
        raise ValueError(f"labels must have shape ({n},) or ({n}, L) to match X, got {labels.shape}.")
    columns = labels[:, None] if labels.ndim == 1 else labels
    labels = np.ascontiguousarray([check_labels(column, n, zero_allowed=True) for column in columns.T])
    weights = check_weights(sample_weight, n)
    Cs = check_Cs(Cs)
    given: Any = regularizers
    form = Quadratics(None if given is None else np.stack([np.asarray(check_regularizer(B, d)) for B in given]))
    subsets = check_rows([np.arange(n)] if rows is None else rows, n)
    cells = check_problems(problems, (len(subsets), len(labels), len(form)))
    for r, label in {(r, label) for r, label, _ in cells.tolist()}:
        part = labels[label, subsets[r][weights[subsets[r]] > 0]]
        if not ((part > 0).any() and (part < 0).any()):
            raise ValueError(f"rows[{r}] must contain both classes of labels[:, {label}] with positive weight.")
    batch = Batch(matrix, labels, weights, Cs, form, tuple(subsets), cells, bool(fit_intercept))
    return solve(batch, Options(tol, max_iter, n_jobs))


__all__ = ["HingeBatch", "hinge_svm", "hinge_svm_batch", "hinge_svm_path"]
