"""The compiled core, or its NumPy twin where that was not built."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

import numpy as np
from threadpoolctl import ThreadpoolController

from ...problems import Batch, Options, Results, Start, relative_gap
from . import numpy_twin

try:
    from scipy.linalg import cython_blas, cython_lapack

    from ... import _core as backend

    backend.use_blas(cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__)
    COMPILED = True
except ImportError:  # installed with RADIUSMARGIN_PURE_PYTHON=1
    backend = numpy_twin
    COMPILED = False

BLAS_FROM = 48  # features from which the core leaves its Gram matrices to the BLAS


def solve_batch(batch: Batch, options: Options, start: Start) -> Results:
    """Solve on the compiled core; Cs in increasing order."""
    with one_blas_thread() if batch.rows.shape[1] >= BLAS_FROM else nullcontext():
        coef, intercept, alpha, objective, dual, n_iter = _solve_many(batch, options, start)
    converged = relative_gap(objective, dual) <= options.tol
    return Results(batch.Cs, coef, intercept, objective, dual, n_iter, converged, alpha if options.keep_alpha else None)


def _solve_many(batch, options, start):
    rows, form, cells = batch.rows, batch.regularizers, batch.cells
    X = getattr(rows, "X", None)
    if rows.kind == "sparse":
        arrays = (X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False))
        X = (*map(np.ascontiguousarray, arrays), X.shape[1])
    starts = flat = linear = None
    if batch.subsets:
        parts = [batch.subsets[r] for r in cells[:, 0]]
        flat = np.concatenate(parts)
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    if form.linear is not None:
        linear = np.column_stack([form.linear, form.constants])[cells[:, 2]]
    return backend.solve_many(
        X, batch.labels, batch.weights, batch.Cs, flat, starts, np.ascontiguousarray(cells[:, 1]), form.matrices,
        np.ascontiguousarray(cells[:, 2]), linear, start.theta(batch.intercept), start.alpha, options.keep_alpha,
        batch.intercept, float(options.tol), int(options.max_iter), 0 if options.method == "interior-point" else 200,
        options.method == "auto", options.threads, getattr(rows, "products", None),
    )  # fmt: skip


def one_blas_thread():
    """Skinny Gram matrices are slower on several BLAS threads; problems are what we thread over."""
    return _threadpools().limit(limits=1, user_api="blas")


@cache
def _threadpools():
    return ThreadpoolController()


if not COMPILED:
    solve_batch = numpy_twin.solve_batch
