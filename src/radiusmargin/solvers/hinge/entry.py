"""The one entry to the hinge solvers: nouns in, nouns out."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from ..._checks import check_finite, check_shape
from ...problems import Batch, Options, Results, Start, relative_gap
from . import numpy_twin
from .backend import COMPILED, backend, one_blas_thread

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
        Arrays with axes (problem, C). Nothing is said of problems that did not converge; see `Results.converged`.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.problems import Batch, Dense, Options
    >>> from radiusmargin.solvers import solve
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> y = np.array([-1.0, -1.0, 1.0, 1.0])
    >>> results = solve(Batch(Dense(X), y[None], np.ones(4), Cs=np.array([10.0])), Options(tol=1e-9))
    >>> results[0, 0].coef.round(4), round(results[0, 0].intercept, 4)
    (array([2.]), -3.0)
    """
    _check_overflow(batch)
    if len(batch.Cs) > 1 and (batch.Cs[1:] < batch.Cs[:-1]).any():
        order = np.argsort(batch.Cs, kind="stable")
        return solve(replace(batch, Cs=batch.Cs[order]), options, start).at(np.argsort(order))
    start = COLD if start is None else _checked(start, batch)
    return _on_core(batch, options, start) if COMPILED else numpy_twin.solve_batch(batch, options, start)


def _on_core(batch, options, start):
    with one_blas_thread() if batch.rows.shape[1] >= backend.BLAS_FROM else nullcontext():
        coef, intercept, objective, dual, n_iter, alpha = backend.solve(
            batch, options, start.theta(batch.intercept), start
        )
    converged = relative_gap(objective, dual) <= options.tol
    return Results(batch.Cs, coef, intercept, objective, dual, n_iter, converged, alpha)


def _check_overflow(batch):
    largest = float(batch.Cs.max())
    if not largest * float(batch.weights.max()) * len(batch.weights) < np.inf:
        raise ValueError(f"C times sample_weight overflows: the largest C is {largest:g}. Use smaller weights.")


def _checked(start, batch):
    (n, d), P = batch.rows.shape, len(batch)
    for name, shape in (("coef", (P, d)), ("intercept", (P,)), ("alpha", (P, n))):
        value = getattr(start, name)
        if value is not None:
            check_shape(f"start: {name}", np.shape(value), shape)
            check_finite(f"start: {name}", value)
    return start
