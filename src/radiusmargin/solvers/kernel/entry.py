"""Hinge problems on rows of a kernel, solved in the kernel itself.

The method is that of second-order pairs (``src/core/methods/pairs.hpp``); without the compiled core `numpy_twin` serves
with the same certificate (docs/mathematics.md, "The kernel machine").
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from functools import partial
from threading import Event

import numpy as np
from scipy import sparse

from ..._checks import check_taking_part
from ..hinge.backend import one_blas_thread
from ..multipliers import balanced
from ..problem import Batch, Options, Start
from ..result import certificate
from .backend import make_rows
from .result import Expansions, KernelResults

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
    if batch.rows.kind != "kernel" or batch.regularizers.matrices is not None or batch.regularizers.linear is not None:
        raise ValueError("solve_kernel takes a batch whose rows are a Kernel, without regularizers.")
    batch.rows.check_values()
    start = start or Start()
    start.check(batch)
    order = np.argsort(batch.Cs, kind="stable")
    if not np.array_equal(batch.Cs, batch.Cs[order]):
        ascending = replace(batch, Cs=batch.Cs[order])
        found = solve_kernel(ascending, options, start, keep_scores=keep_scores, callback=callback)
        return found.at(np.argsort(order))
    with one_blas_thread():
        parts = _spread(batch, options, start, keep_scores, callback)
    return _joined(batch, options, parts)


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

    found = in_threads(run, [range(t, P, threads) for t in range(threads)], threads)
    return [found[p % threads][p // threads] for p in range(P)]


def _both(check, callback):
    def told(pairs, gap):
        check()
        if callback is not None and pairs >= 0:
            callback(pairs, gap)

    return told


def in_threads(work: Callable, items: Sequence, threads: int) -> list:
    """[work(item, check)], on threads; `check()`, to be called now and then, raises once another has failed."""
    stop = Event()

    def check():
        if stop.is_set():
            raise InterruptedError

    if threads == 1:
        return [work(item, check) for item in items]
    with ThreadPoolExecutor(threads) as pool:
        futures = [pool.submit(work, item, check) for item in items]
        try:
            return [future.result() for future in futures]
        except BaseException:
            stop.set()
            raise


def _solve_some(batch, start, solve, keep_scores, cache_size, problems):
    """(sparse rows of coef, scores, numbers, whether indefinite) of each problem."""
    shared, found = None, []
    for p in problems:
        y, weights = problem_of(batch, p)
        alpha = None if start.alpha is None else _feasible(start.alpha[p], y, batch.intercept)
        some = np.flatnonzero(y)
        if keep_scores or len(some) > _ALONE * len(y):
            shared = shared or make_rows(batch.rows, cache_size)
            coef, scores, *rest = solve(shared, y, weights, alpha)
            some = np.arange(len(y))
        else:
            own = make_rows(batch.rows.part(some), cache_size)
            coef, scores, *rest = solve(own, y[some], weights[some], None if alpha is None else alpha[some])
        found.append((_sparse_rows(coef, some), scores if keep_scores else None, *rest))
    return found


def _sparse_rows(coef, columns):
    """Values, their columns, and how many there are in each row: cheaper than a sparse matrix for every small problem."""
    rows, places = np.nonzero(coef)
    return coef[rows, places], columns[places], np.bincount(rows, minlength=len(coef))


def problem_of(batch: Batch, p: int) -> tuple[np.ndarray, np.ndarray]:
    """Labels, zero where a row takes no part, and weights of problem p."""
    subset, label, _ = batch.cells[p]
    weights = batch.weights
    if batch.subsets:  # a row that is there twice weighs twice
        weights = weights * np.bincount(batch.subsets[subset], minlength=len(weights))
    y = np.where(weights > 0, batch.labels[label], 0.0)
    check_taking_part(y[y != 0])
    return y, weights


def solve_one(rows, y, weights, start, *, Cs: np.ndarray, options: PairOptions):
    """One problem for ascending Cs on rows of `make_rows`: coef, scores of all rows, numbers, whether indefinite."""
    alpha, f, numbers = np.empty((len(Cs), len(y))), np.empty((len(Cs), len(y))), np.empty((len(Cs), 4))
    negative = rows.solve(y, weights, Cs, start, options, alpha, f, numbers)
    return alpha * y, y - f + numbers[:, :1], numbers, negative


def _feasible(alpha, y, intercept):
    """Multipliers of the rows that take part, those of the heavier class scaled down where they have to balance."""
    return np.abs(balanced(np.maximum(alpha, 0.0) * y, intercept))


def _joined(batch, options, parts):
    coefs, scores, numbers, negative = zip(*parts, strict=True)
    values, columns, counts = map(np.concatenate, zip(*coefs, strict=True))
    shape = len(parts) * len(batch.Cs), batch.rows.shape[0]
    matrix = sparse.csr_array((values, columns, np.concatenate([[0], np.cumsum(counts)])), shape=shape)
    coef = Expansions(matrix, (len(parts), len(batch.Cs)))
    intercept, objective, dual, n_iter = np.moveaxis(np.stack(numbers), 2, 0)
    function = batch.rows.function  # a caller's own, or his matrix, is taken to be what it should be
    known = not isinstance(getattr(function, "kernel", None), str) or function.is_definite
    return KernelResults(
        batch.Cs,
        coef,
        intercept,
        **certificate(objective, dual, n_iter.astype(np.int64), options.tol),
        alpha=np.abs(np.asarray(coef)) if options.keep_alpha else None,
        definite=np.repeat(known & ~np.array(negative)[:, None], len(batch.Cs), axis=1),
        scores=None if scores[0] is None else np.stack(scores),
    )


__all__ = ["solve_kernel"]
