"""Kernel rows and values from the compiled core, from a caller's function, or from the NumPy twin."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from numbers import Integral
from threading import Event
from typing import cast

import numpy as np
from scipy import sparse

from .._checks import (
    ConvergenceWarning,
    check_both_classes,
    check_labels,
    check_positive,
    check_taking_part,
    check_weights,
)
from .._types import ArrayLike, Data
from . import reference as numpy_twin
from .hinge import one_blas_thread
from .problem import Batch, Kernel, Options, Start, Targets, balanced, rows_of
from .result import Expansions, KernelResult, KernelResults, certificate, status_of, why_indefinite

try:
    from .. import _core

    COMPILED = True
except ImportError:  # installed with RADIUSMARGIN_PURE_PYTHON=1
    COMPILED = False

_METHODS = _core.METHODS if COMPILED else ["reference-smo"]
FAR = 2.0**40  # from one, of a gamma
_NAMES = ("rbf", "laplacian", "linear", "poly", "sigmoid", "cosine")  # that compiled code knows


def make_rows(rows: Kernel, cache_size: float):
    """Rows of the core, or of its NumPy twin."""
    cache = cache_size * 2.0**20
    if not COMPILED:
        return numpy_twin.KernelRows(rows, cache)
    if rows.function is None:
        return _core.given_kernel_rows(np.ascontiguousarray(rows.X), cache)
    parameters = _parameters(rows.function)
    if parameters is None:
        everything = np.arange(rows.shape[0])
        return _core.called_kernel_rows(lambda some: rows.block(some, everything), rows.block, rows.diagonal(), cache)
    parameters, X = _in_reach(parameters, rows.X)
    X = _form(rows.function, X)
    return (_core.sparse_kernel_rows if sparse.issparse(rows.X) else _core.dense_kernel_rows)(parameters, X, cache)


def values(function, X, Y) -> np.ndarray:
    """The kernel between two sets of rows, in double precision."""
    parameters = _parameters(function)
    if parameters is None or sparse.issparse(X) != sparse.issparse(Y):
        return function(X, Y)
    out = np.empty((X.shape[0], Y.shape[0]))
    compute = _core.sparse_kernel_values if sparse.issparse(X) else _core.dense_kernel_values
    compute(parameters, _form(function, X), _form(function, Y), out)
    return out


def _parameters(function):
    """(name, gamma, degree, coef0) of a kernel that compiled code knows, else None."""
    name = getattr(function, "kernel", None)
    if not COMPILED or not isinstance(name, str) or name not in _NAMES:
        return None
    if name == "poly" and not (isinstance(function.degree, Integral) and 0 <= function.degree <= 64):
        return None
    degree = int(function.degree) if name == "poly" else 0
    return "linear" if name == "cosine" else name, float(function.gamma), degree, float(function.coef0)


def _in_reach(parameters, X):
    """Both in units in which squares of single precision neither overflow nor vanish: gamma times a product of two is the same."""
    name, gamma, *rest = parameters
    if name == "linear" or 1 / FAR <= gamma <= FAR:
        return parameters, X
    share = 1.0 if name == "laplacian" else 0.5  # of gamma's exponent that each number of X gets
    unit = 2.0 ** round(share * np.log2(gamma))  # which rounds nothing
    return (name, gamma / unit / (1.0 if name == "laplacian" else unit), *rest), X * unit


def _form(function, X):
    """The data as compiled code takes them; the cosine is the inner product of rows of length one."""
    if function.kernel == "cosine":
        X = _unit_rows(X)
    if not sparse.issparse(X):
        return np.ascontiguousarray(X, dtype=float)
    X = sparse.csr_array(X)
    arrays = (
        X.data.astype(float, copy=False),
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
    )
    return (*map(np.ascontiguousarray, arrays), X.shape[1])


def _unit_rows(X):
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    inverse = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)[:, None]
    return sparse.csr_array(X.multiply(inverse)) if sparse.issparse(X) else X * inverse


# -- Hinge problems on rows of a kernel, solved in the kernel itself --------------------------------------------------


_ALONE = 0.6  # share of the rows below which a problem is given its own rows instead of all


def solve_kernel(
    batch: Batch,
    options: Options,
    start: Start | None = None,
    *,
    keep_scores: bool = False,
    callback: Callable | None = None,
) -> KernelResults:
    """Solve the problems of a batch whose rows are a `Kernel`.

    Problems share the rows of K that were computed, and a path over C goes on from multiplier to multiplier. A training
    part (`Batch.subsets`) is a mask on all rows, whose scores are there at the end for nothing. A problem on few of the
    rows, such as a pair of classes, is given rows of its own unless scores are kept.

    Parameters
    ----------
    batch : Batch
        With rows of kind `Kernel` and no regulariser but the identity, which is all a kernel problem can have.
    options : Options
        Of which `tol`, `max_iter` (sweeps of n pairs each) and `n_threads` (over problems, which share the cache_size but
        not the rows) are looked at.
    start : Start, optional
        Multipliers `alpha` of shape (problems, n) to start the smallest C from.
    keep_scores : bool, default=False
        Whether to keep the decision values of all rows.
    callback : callable, optional
        Called with the number of pairs and the gap several times a second; what it raises ends the solver.

    Returns
    -------
    KernelResults

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import Batch, Kernel, Options
    >>> from radiusmargin.solvers import solve_kernel
    >>> K, y = np.eye(4), np.array([[-1.0, 1.0, -1.0, 1.0]])
    >>> results = solve_kernel(Batch(Kernel(K), y, np.ones(4), np.array([0.5, 2.0])), Options(1e-6))
    >>> np.asarray(results.coef).round(4).tolist()
    [[[-0.5, 0.5, -0.5, 0.5], [-1.0, 1.0, -1.0, 1.0]]]
    """
    kernel_rows(batch).check_values()
    start = start or Start()
    start.check(batch)
    order = np.argsort(batch.Cs, kind="stable")
    if not np.array_equal(batch.Cs, batch.Cs[order]):
        ascending = replace(batch, Cs=batch.Cs[order])
        found = solve_kernel(ascending, options, start, keep_scores=keep_scores, callback=callback)
        return cast(KernelResults, found.at(np.argsort(order)))
    with one_blas_thread():
        parts = _spread(batch, options, start, keep_scores, callback)
    return _joined(batch, options, parts)


def kernel_rows(batch: Batch) -> Kernel:
    """The rows of a batch that a kernel solver can solve; a ValueError where it cannot."""
    if (
        not isinstance(batch.rows, Kernel)
        or batch.regularizers.matrices is not None
        or batch.regularizers.linear is not None
    ):
        raise ValueError("kernel solvers take a batch whose rows are a Kernel, without regularizers.")
    return batch.rows


@dataclass(frozen=True)
class PairOptions:
    """What `solve` of a kernel's rows is told; the core knows these names."""

    tol: float
    max_sweeps: int  # of n pairs each
    intercept: bool
    strict: bool  # whether certificates are those of double precision, which is all that the NumPy twin has
    callback: Callable | None = None  # of the number of pairs and the gap


def _spread(batch, options, start, keep_scores, callback):
    """Solve the problems, on several threads where there are several."""
    P, threads = len(batch), min(options.threads, len(batch))

    def run(problems, check):
        how = PairOptions(options.tol, options.max_iter, batch.intercept, True, _both(check, callback))
        solve = partial(solve_one, Cs=batch.Cs, options=how)
        return _solve_some(batch, start, solve, keep_scores, batch.rows.cache_size / threads, problems)

    found = list(in_threads(run, [range(t, P, threads) for t in range(threads)], threads))
    return [found[p % threads][p // threads] for p in range(P)]


def _both(check, callback):
    def told(pairs, gap):
        check()
        if callback is not None and pairs >= 0:
            callback(pairs, gap)

    return told


def in_threads(work: Callable, items: Sequence, threads: int) -> Iterator:
    """Yield ``work(item, check)`` for every item, in order, computed on threads.

    `check()` is to be called now and then: it raises once another item has failed or the results are no longer wanted.
    """
    stop = Event()

    def check():
        if stop.is_set():
            raise InterruptedError

    if threads == 1:
        yield from (work(item, check) for item in items)
        return
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, item, check) for item in items]
        try:
            for future in futures:
                yield future.result()
        finally:
            stop.set()


def _solve_some(batch, start, solve, keep_scores, cache_size, problems):
    """(sparse rows of coef, scores, numbers, whether indefinite) of each problem."""
    shared, found = None, []
    for p in problems:
        y, weights = problem_of(batch, p)
        alpha = None if start.alpha is None else _feasible(start.alpha[p], y, batch.intercept)
        some = np.flatnonzero(y if y.ndim == 1 else weights[0])
        if keep_scores or len(some) > _ALONE * batch.rows.shape[0]:
            shared = shared or make_rows(batch.rows, cache_size)
            coef, scores, *rest = solve(shared, y, weights, alpha)
            some = np.arange(batch.rows.shape[0])
        else:
            own = make_rows(batch.rows.part(some), cache_size)
            own_start = None if alpha is None else alpha[some]
            coef, scores, *rest = solve(own, y[..., some], weights[..., some], own_start)
        found.append((_sparse_rows(coef, some), scores if keep_scores else None, *rest))
    return found


def _sparse_rows(coef, columns):
    """Values, their columns, and how many there are in each row: cheaper than a sparse matrix for every small problem."""
    rows, places = np.nonzero(coef)
    return coef[rows, places], columns[places], np.bincount(rows, minlength=len(coef))


def problem_of(batch: Batch, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, zero where a row takes no part, and weights of problem p.

    Of a regression both have shape (2, n): labels times targets, and weights, of the two sides of every row.
    """
    subset, label, _ = batch.cells[p]
    weights = batch.weights
    if batch.subsets:  # a row that is there twice weighs twice
        weights = weights * np.bincount(batch.subsets[subset], minlength=len(weights))
    if isinstance(batch.labels, Targets):
        check_taking_part(np.ones(np.count_nonzero(weights)))
        return batch.labels.sides(label, weights)
    y = np.where(weights > 0, batch.labels[label], 0.0)
    check_taking_part(y[y != 0])
    return y, weights


def solve_one(rows, y, weights, start, *, Cs: np.ndarray, options: PairOptions):
    """One problem for ascending Cs on rows of `make_rows`: coef, scores of all rows, numbers, whether indefinite."""
    n = y.shape[-1]
    alpha, f, numbers = np.empty((len(Cs), n)), np.empty((len(Cs), n)), np.empty((len(Cs), 6))
    negative = rows.solve(y, weights, Cs, start, options, alpha, f, numbers)
    if y.ndim == 1:
        return alpha * y, y - f + numbers[:, :1], numbers, negative
    return alpha, y[0] - f + numbers[:, :1], numbers, negative


def _feasible(alpha, y, intercept):
    """Multipliers of the rows that take part, those of the heavier class scaled down where they have to balance."""
    if y.ndim == 2:  # signed
        return balanced(alpha, intercept)
    return np.abs(balanced(np.maximum(alpha, 0.0) * y, intercept))


def _joined(batch, options, parts):
    coefs, scores, numbers, negative = zip(*parts, strict=True)
    values, columns, counts = map(np.concatenate, zip(*coefs, strict=True))
    shape = len(parts) * len(batch.Cs), batch.rows.shape[0]
    matrix = sparse.csr_array((values, columns, np.concatenate([[0], np.cumsum(counts)])), shape=shape)
    coef = Expansions(matrix, (len(parts), len(batch.Cs)))
    intercept, objective, dual, n_iter, method, late = np.moveaxis(np.stack(numbers), 2, 0)
    bounds = certificate(objective, dual, n_iter.astype(np.int64), options.tol)
    how = {"method": np.array(_METHODS)[method.astype(int)], "status": status_of(bounds["converged"], late > 0)}
    function = batch.rows.function  # a caller's own, or his matrix, is taken to be what it should be
    known = not isinstance(getattr(function, "kernel", None), str) or function.is_definite
    return KernelResults(
        batch.Cs,
        coef,
        intercept,
        **bounds,
        **how,
        alpha=_multipliers(coef, batch.labels) if options.keep_alpha else None,
        definite=np.repeat(known & ~np.array(negative)[:, None], len(batch.Cs), axis=1),
        scores=None if scores[0] is None else np.stack(scores),
    )


def _multipliers(coef, labels):
    """Those of a regression are signed, as the coefficients are."""
    return np.asarray(coef) if isinstance(labels, Targets) else np.abs(np.asarray(coef))


# -- The kernel machine as a function of plain arrays -----------------------------------------------------------------


def kernel_svm(
    X: Data,
    y: ArrayLike,
    C: float = 1.0,
    *,
    kernel: Callable | None = None,
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-4,
    cache_size: float = 500.0,
) -> KernelResult:
    """Solve the support vector machine in the space of a kernel, to a certified relative gap ::

        min_{v,b}  1/2 v'Kv + C sum_i s_i max(0, 1 - y_i ((Kv)_i + b))

    The problem is that of `sklearn.svm.SVC` with the same C. The kernel matrix is never there as a whole: rows are
    computed when they are first needed.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The data; without `kernel`, the kernel matrix, of shape (n, n).
    y : array-like of shape (n,)
        Labels, -1 or +1.
    C : float, default=1.0
        Weight of the loss.
    kernel : KernelFunction, optional
        The kernel with its parameters. It should be positive semi-definite. Otherwise there is no bound of the optimum:
        what is found is a stationary point, and a warning says so.
    sample_weight : array-like of shape (n,), optional
        Non-negative weights s of the losses. A row of weight zero is a row left out.
    fit_intercept : bool, default=True
        Whether there is an (unpenalised) intercept. Without, the origin is that of the kernel, not the mean of the rows.
    tol : float, default=1e-4
        Relative duality gap at which to stop; at 1e-5 and below violations, which are what SVC's is about, are at most ten
        times it too. 1e-6 costs little more at small C. (SVC's default stops between 1e-5 and
        1e-2.)
    cache_size : float, default=500
        Megabytes for rows of the kernel, of four bytes a number. Beyond it the solver needs the data in single precision
        and a few numbers per row.

    Returns
    -------
    KernelResult
        With ``coef``, ``intercept``, ``support``, ``objective``, ``dual_objective``, ``gap``, ``n_iter`` (pairs),
        ``converged``, ``method`` and ``status``.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.kernels import KernelFunction
    >>> from radiusmargin.solvers import kernel_svm
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> result = kernel_svm(X, [-1, 1, 1, -1], C=10.0, kernel=KernelFunction("rbf", gamma=1.0))
    >>> result.support, result.gap <= 1e-4
    (array([0, 1, 2, 3]), True)
    """
    check_positive("C", C)
    rows = Kernel(X, kernel, cache_size)
    rows.check_values()
    n = rows.shape[0]
    y = check_labels(y, n)
    weights = check_weights(sample_weight, n)
    check_both_classes(y, weights)
    batch = Batch(rows, y[None], weights, np.array([float(C)]), intercept=bool(fit_intercept))
    result = solve_kernel(batch, Options(float(tol)))[0, 0]
    _warn(result, tol, kernel)
    return result


def _warn(result, tol, kernel):
    if not result.definite:
        warnings.warn(
            f"kernel_svm found a stationary point (to {result.gap:.2g}), not a certified optimum: {why_indefinite(kernel)}.",
            ConvergenceWarning,
            stacklevel=3,
        )
    elif not result.converged:
        warnings.warn(
            f"kernel_svm stopped at a relative gap of {result.gap:.2g} (tol={tol:g}) after {result.n_iter} pairs. "
            "Scale the features, or use a smaller C or a larger tol.",
            ConvergenceWarning,
            stacklevel=3,
        )


# -- Scores of new rows by an expansion in support vectors ------------------------------------------------------------


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


__all__ = ["kernel_scores", "solve_kernel"]
