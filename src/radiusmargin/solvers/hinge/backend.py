"""The compiled core, or its NumPy twin where that was not built."""

from __future__ import annotations

from contextlib import nullcontext
from functools import cache

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


def solve_batch(batch: Batch, options: Options, start: Start) -> Results:
    """Solve on the compiled core; Cs in increasing order."""
    with one_blas_thread() if batch.rows.shape[1] >= backend.BLAS_FROM else nullcontext():
        coef, intercept, objective, dual, n_iter, alpha = backend.solve(
            batch, options, start.theta(batch.intercept), start
        )
    converged = relative_gap(objective, dual) <= options.tol
    return Results(batch.Cs, coef, intercept, objective, dual, n_iter, converged, alpha)


def one_blas_thread():
    """Skinny Gram matrices are slower on several BLAS threads; problems are what we thread over."""
    return _threadpools().limit(limits=1, user_api="blas")


@cache
def _threadpools():
    return ThreadpoolController()


if not COMPILED:
    solve_batch = numpy_twin.solve_batch
