"""The kernel machine as a function of plain arrays."""

from __future__ import annotations

import warnings
from collections.abc import Callable

import numpy as np

from ..._checks import ConvergenceWarning, check_both_classes, check_labels, check_positive, check_weights
from ..._types import ArrayLike, Data
from ..kernel_rows import Kernel
from ..problem import Batch, Options
from .entry import solve_kernel
from .result import KernelResult, why_indefinite


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
        With ``coef``, ``intercept``, ``support``, ``objective``, ``dual_objective``, ``gap``, ``n_iter`` (pairs) and
        ``converged``.

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
