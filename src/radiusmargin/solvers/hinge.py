"""The hinge-loss problem with a quadratic regulariser: one problem, a path over C, or many problems at once.

Everything here solves ::

    min_{w,b}  1/2 w'Bw + C sum_i s_i max(0, 1 - y_i (x_i'w + b))

by a semismooth Newton method with an interior-point fallback, and returns a dual-feasible point that proves how far
from the optimum it stopped. The work is done by the compiled core, or by its NumPy twin where that was not built.
"""

from __future__ import annotations

import warnings
from contextlib import nullcontext
from dataclasses import dataclass, field
from functools import cache
from numbers import Integral

import numpy as np
from scipy import linalg, sparse
from threadpoolctl import ThreadpoolController

from . import _hinge_numpy
from ._validation import (
    check_count,
    check_data,
    check_init,
    check_labels,
    check_positive,
    check_problems,
    check_regularizer,
    check_rows,
    check_weights,
)
from .result import ConvergenceWarning, HingeResult, relative_gap

try:
    from scipy.linalg import cython_blas, cython_lapack

    from .. import _core as _backend

    _backend.use_blas(cython_blas.__pyx_capi__["dsyrk"], cython_lapack.__pyx_capi__["dpotrf"])
    COMPILED = True
except ImportError:  # installed with RADIUSMARGIN_PURE_PYTHON=1
    _backend = _hinge_numpy
    COMPILED = False

# Newton has never needed more steps on a problem it can solve; past them the interior point is the cheaper bet.
NEWTON_BUDGET = 200
BLAS_FROM = 48  # features from which the core leaves its Gram matrices to the BLAS


def hinge_svm(
    X,
    y,
    C=1.0,
    regularizer=None,
    sample_weight=None,
    fit_intercept=True,
    tol=1e-6,
    max_iter=1000,
    init=None,
):
    """Solve a hinge-loss problem to a certified relative gap.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n, d)
        The data, dense in any layout or sparse (never densified; the d x d Newton matrix is dense, so that d up to a
        few thousand is the practical limit). Computation is in double precision.
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
        Newton and interior-point steps before giving up with a `ConvergenceWarning`.
    init : HingeResult or tuple (coef, intercept, alpha), optional
        Where to start; any element may be None.

    Returns
    -------
    HingeResult
        With ``coef``, ``intercept``, ``alpha``, ``objective``, ``dual_objective``, ``gap``, ``n_iter`` and
        ``converged``.

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
    path = hinge_svm_path(
        X,
        y,
        [C],
        regularizer,
        sample_weight,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        init=init,
    )
    return path[0]


@dataclass(frozen=True, eq=False)
class HingeBatch:
    """Solutions of many hinge problems, stacked; the last axis before the features runs over `Cs`.

    ``batch[i]`` (or ``batch[i, k]``) is a single `HingeResult` where the multipliers were kept.
    """

    Cs: np.ndarray
    coef: np.ndarray = field(repr=False)
    intercept: np.ndarray
    objective: np.ndarray
    dual_objective: np.ndarray
    n_iter: np.ndarray
    converged: np.ndarray
    alpha: np.ndarray | None = field(default=None, repr=False)

    @property
    def gap(self):
        """Relative duality gaps, one per problem and C."""
        return np.maximum(self.objective - self.dual_objective, 0.0) / np.abs(self.objective)

    def __len__(self):
        return len(self.objective)

    def __getitem__(self, index):
        return HingeResult(
            coef=self.coef[index],
            intercept=float(self.intercept[index]),
            alpha=None if self.alpha is None else self.alpha[index],
            objective=float(self.objective[index]),
            dual_objective=float(self.dual_objective[index]),
            n_iter=int(self.n_iter[index]),
            converged=bool(self.converged[index]),
        )


def hinge_svm_path(
    X,
    y,
    Cs,
    regularizer=None,
    sample_weight=None,
    *,
    fit_intercept=True,
    tol=1e-6,
    max_iter=1000,
    init=None,
):
    """Solve the same problem for every C in one compiled call, warm-started from small to large.

    Parameters are those of `hinge_svm`; `Cs` may come in any order and the results keep it.

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
    path = quiet_path(
        X,
        y,
        Cs,
        regularizer,
        sample_weight,
        fit_intercept=fit_intercept,
        tol=tol,
        max_iter=max_iter,
        init=init,
    )
    _warn_unless_converged(path, tol)
    return path


def quiet_path(X, y, Cs, regularizer, sample_weight, *, fit_intercept=True, tol=1e-6, max_iter=1000, init=None):
    """`hinge_svm_path` for callers that have a warning of their own."""
    X = check_data(X)
    n, d = X.shape
    y = check_labels(y, n)
    weights = check_weights(sample_weight, n, y)
    check_positive("Cs", Cs)
    Cs = np.atleast_1d(np.asarray(Cs, dtype=float))
    B = check_regularizer(regularizer, d)
    theta, alpha = check_init(init, n, d, fit_intercept)
    original, full_B = X, B
    reduction = _RowSpace(X, B) if d > n else None
    if reduction is not None:
        X, B, theta = reduction.rows, None, None
    batch = _solve(
        X, y[None], weights, Cs, B=None if B is None else B[None], keep_alpha=True,
        start=tuple(None if a is None else a[None] for a in (theta, alpha)),
        fit_intercept=fit_intercept, tol=tol, max_iter=max_iter,
    )  # fmt: skip
    coef = batch.coef[0] if reduction is None else reduction.lift(batch.coef[0])
    # The core works in centred, perhaps reduced coordinates: what is reported is the value at what is returned.
    objective = _objective(original, coef, batch.intercept[0], y, Cs[:, None] * weights, full_B)
    return HingeBatch(
        Cs=batch.Cs,
        coef=coef,
        intercept=batch.intercept[0],
        objective=objective,
        dual_objective=np.minimum(batch.dual_objective[0], objective),
        n_iter=batch.n_iter[0],
        converged=objective - batch.dual_objective[0] <= 1.01 * tol * objective,
        alpha=batch.alpha[0],
    )


def hinge_svm_batch(
    X,
    labels,
    Cs,
    *,
    rows=None,
    regularizers=None,
    problems=None,
    sample_weight=None,
    fit_intercept=True,
    tol=1e-6,
    max_iter=1000,
    n_jobs=1,
):
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
    n_jobs : int, default=1
        Threads over problems; -1 takes every core.

    Returns
    -------
    HingeBatch
        Arrays with axes (problem, C); the multipliers are not kept.
    """
    X = check_data(X)
    n, d = X.shape
    labels = np.asarray(labels)
    if labels.ndim not in (1, 2) or len(labels) != n:
        raise ValueError(f"labels must have shape ({n},) or ({n}, L) to match X, got {labels.shape}.")
    columns = labels[:, None] if labels.ndim == 1 else labels
    labels = np.ascontiguousarray([check_labels(column, n, zero_allowed=True) for column in columns.T])
    weights = check_weights(sample_weight, n, None)
    check_positive("Cs", Cs)
    Cs = np.atleast_1d(np.asarray(Cs, dtype=float))
    B = None if regularizers is None else np.stack([check_regularizer(matrix, d) for matrix in regularizers])
    subsets = check_rows([np.arange(n)] if rows is None else rows, n)
    problems = check_problems(problems, (len(subsets), len(labels), 1 if B is None else len(B)))
    for r, label in {(r, label) for r, label, _ in problems.tolist()}:
        part = labels[label, subsets[r][weights[subsets[r]] > 0]]
        if not ((part > 0).any() and (part < 0).any()):
            raise ValueError(f"rows[{r}] must contain both classes of labels[:, {label}] with positive weight.")
    return _solve(
        X, labels, weights, Cs, B=B, subsets=subsets, problems=problems, fit_intercept=fit_intercept, tol=tol,
        max_iter=max_iter, n_jobs=n_jobs,
    )  # fmt: skip


def _solve(
    X, labels, weights, Cs, *, B=None, linear=None, subsets=None, problems=None, start=(None, None), keep_alpha=False,
    fit_intercept=True, tol=1e-6, max_iter=1000, n_jobs=1, backend=None, sifting=True,
    newton_budget=NEWTON_BUDGET, gram=None,
):  # fmt: skip
    """Call the backend on validated arrays, with the Cs in increasing order.

    A row labelled 0 takes no part. `start` holds one row (theta) and one row (alpha) per problem; a row (q, constant) of
    `linear` makes the regulariser ``1/2 w'Bw - q'w + constant``; `gram` holds the inner products of the rows, from any
    origin, where a caller has them. With these alone (X is None) `coef` holds combinations of the rows: the scores of
    others are ``k @ coef + intercept`` for their inner products k with all rows. There is no fallback then to a method
    that needs features.
    """
    check_positive("tol", tol)
    check_count("max_iter", max_iter)
    if X is None and not fit_intercept:
        raise ValueError("Inner products alone do not tell the origin, which matters without an intercept.")
    with np.errstate(over="ignore"):
        if not np.isfinite(np.max(Cs) * np.max(weights) * len(weights)):
            raise ValueError(f"C times sample_weight overflows: the largest C is {np.max(Cs):g}. Use smaller weights.")
    order = np.argsort(Cs, kind="stable")
    d = len(gram) if X is None else X.shape[1]
    if problems is None:
        problems = np.zeros((1, 3), dtype=np.int64)
    starts = flat = None
    if subsets is not None:
        parts = [subsets[r] for r in problems[:, 0]]
        flat = np.concatenate(parts)
        starts = np.concatenate([[0], np.cumsum([len(part) for part in parts])]).astype(np.int64)
    if sparse.issparse(X):
        arrays = (X.data, X.indices.astype(np.int32, copy=False), X.indptr.astype(np.int64, copy=False))
        X = (*map(np.ascontiguousarray, arrays), d)
    theta, alpha = start
    with _one_blas_thread() if d >= BLAS_FROM else nullcontext():
        coef, intercept, alphas, objective, dual, n_iter = (backend or _backend).solve_many(
            X, labels, weights, Cs[order], flat, starts, np.ascontiguousarray(problems[:, 1]), B,
            np.ascontiguousarray(problems[:, 2]), linear, theta, alpha, keep_alpha, bool(fit_intercept), float(tol),
            int(max_iter), newton_budget, sifting, _n_threads(n_jobs), gram,
        )  # fmt: skip
    arrays = [coef, intercept, objective, dual, n_iter, alphas if keep_alpha else None]
    if not np.array_equal(order, np.arange(len(Cs))):
        back = np.argsort(order)
        arrays = [a if a is None else a[:, back] for a in arrays]
    coef, intercept, objective, dual, n_iter, alphas = arrays
    return HingeBatch(
        Cs=Cs,
        coef=coef,
        intercept=intercept,
        objective=objective,
        dual_objective=dual,
        n_iter=n_iter,
        converged=objective - dual <= tol * np.abs(objective),
        alpha=alphas,
    )


def _objective(X, coefs, intercepts, y, c, B):
    """The primal objective at each row of `coefs`, straight from the definition."""
    if B is None:
        penalty = np.einsum("kd,kd->k", coefs, coefs)
    else:
        penalty = np.einsum("kd,kd->k", coefs * B if B.ndim == 1 else coefs @ B, coefs)
    losses = (X @ coefs.T).T
    losses += intercepts[:, None]
    losses *= -y
    losses += 1.0
    np.maximum(losses, 0.0, out=losses)
    return 0.5 * penalty + np.einsum("kn,kn->k", c, losses)


@cache
def _threadpools():
    return ThreadpoolController()


def _one_blas_thread():
    """Skinny Gram matrices are slower on several BLAS threads; problems are what we thread over."""
    return _threadpools().limit(limits=1, user_api="blas")


def _n_threads(n_jobs):
    if n_jobs is None:
        return 1
    if n_jobs == 0 or not isinstance(n_jobs, Integral):
        raise ValueError(f"n_jobs must be a positive number of threads or -1 for every core, got {n_jobs!r}.")
    if n_jobs > 0:
        return int(n_jobs)
    from joblib import effective_n_jobs

    return effective_n_jobs(n_jobs)


def _warn_unless_converged(path, tol):
    if path.converged.all():
        return
    worst = int(np.argmax(path.gap))
    warnings.warn(
        f"hinge_svm stopped at a relative gap of {path.gap[worst]:.2g} (tol={tol:g}) after {path.n_iter[worst]} "
        f"iterations at C={path.Cs[worst]:g}. Increase max_iter, scale the features, or use a smaller C.",
        ConvergenceWarning,
        stacklevel=4,
    )


class _RowSpace:
    """With fewer rows than features the optimum is ``B^{-1} X' v``: solve for the n coordinates instead of d.

    ``rows @ u`` equals ``X @ lift(u)`` and ``u @ u`` equals ``lift(u) @ B @ lift(u)``.
    """

    def __init__(self, X, B):
        self.B, self.factor = B, None
        if B is not None and B.ndim == 2:
            try:
                self.factor = linalg.cholesky(B, lower=True)
            except linalg.LinAlgError:
                raise ValueError("regularizer is not positive definite") from None
        # The basis is as large as X itself, so a sparse X with so few rows may as well be dense here.
        dense = X.toarray() if sparse.issparse(X) else X
        self.basis, R = linalg.qr(self._unscale(dense.T), mode="economic", overwrite_a=True, check_finite=False)
        self.rows = np.ascontiguousarray(R.T)

    def _unscale(self, V, transposed=False):
        """L^{-1} V, or L^{-T} V, for B = L L'."""
        if self.B is None:
            return V.copy()
        if self.factor is not None:
            return linalg.solve_triangular(self.factor, V, lower=True, trans="T" if transposed else "N")
        return V / np.sqrt(self.B)[:, None]

    def lift(self, coefs):
        return np.ascontiguousarray(self._unscale(self.basis @ coefs.T, transposed=True).T)


__all__ = [
    "COMPILED",
    "HingeBatch",
    "HingeResult",
    "hinge_svm",
    "hinge_svm_batch",
    "hinge_svm_path",
    "relative_gap",
]
