"""The one entry to the hinge solvers: nouns in, nouns out."""

from __future__ import annotations

from contextlib import nullcontext
from dataclasses import replace

import numpy as np

from ..problem import Batch, Options, Start
from ..result import Results, relative_gap
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
    start = start or COLD
    start.check(batch)
    return _on_core(batch, options, start) if COMPILED else numpy_twin.solve_batch(batch, options, start)


def _on_core(batch, options, start):
    with one_blas_thread() if batch.rows.shape[1] >= backend.BLAS_FROM else nullcontext():
        coef, intercept, objective, dual, n_iter, alpha = backend.solve(
            batch, options, start.theta(batch.intercept), start
        )
    converged = relative_gap(objective, dual) <= options.tol
    return Results(batch.Cs, coef, intercept, objective, dual, n_iter, converged, alpha)
