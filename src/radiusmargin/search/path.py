"""The regularisation path of F-SVM over C in one call."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_X_y

from .._checks import check_choice, check_Cs, check_number, check_weights
from .._types import ArrayLike, Data
from ..estimators.base import TrainingData
from ..estimators.family import Family
from ..estimators.features import Raw
from ..multiclass import MulticlassReduction
from ..scatter import RANK_TOL
from ..solvers import Options, relative_gap


@dataclass(frozen=True, eq=False)
class FSVMPath:
    """Separators of F-SVM for several values of C, for K binary problems as in `FSVM`.

    Parameters
    ----------
    Cs : ndarray of shape (C,)
    classes : ndarray
    problems : tuple of str
        Names of the two sides of each problem.
    coef : ndarray of shape (C, K, d)
    intercept : ndarray of shape (C, K)
    objective, dual_objective : ndarrays of shape (C, K)
        Objective values and certified lower bounds.
    n_support : ndarray of shape (C, K)
        Number of rows with a positive multiplier.
    """

    Cs: np.ndarray
    classes: np.ndarray
    problems: tuple[str, ...]
    coef: np.ndarray = field(repr=False)
    intercept: np.ndarray = field(repr=False)
    objective: np.ndarray = field(repr=False)
    dual_objective: np.ndarray = field(repr=False)
    n_support: np.ndarray = field(repr=False)

    @property
    def gap(self) -> np.ndarray:
        """Relative duality gaps, of shape (C, K)."""
        return relative_gap(self.objective, self.dual_objective)


def fsvm_path(
    X: Data,
    y: ArrayLike,
    Cs: ArrayLike,
    *,
    whitening: float = 1.0,
    rank_tol: float = RANK_TOL,
    scatter: str = "total",
    multi_class: str = "ovo",
    sample_weight: ArrayLike | None = None,
    fit_intercept: bool = True,
    tol: float = 1e-6,
    max_iter: int = 1000,
    n_jobs: int | None = 1,
) -> FSVMPath:
    """Fit `FSVM` for every C, warm-started from small to large.

    Parameters
    ----------
    X : array-like or sparse matrix of shape (n_samples, n_features)
    y : array-like of shape (n_samples,)
    Cs : array-like
        Values of C.
    whitening, rank_tol, scatter, multi_class, fit_intercept, tol, max_iter
        As in `FSVM`.
    sample_weight : array-like of shape (n_samples,), optional
        As in `FSVM.fit`.
    n_jobs : int, default=1
        Number of threads over the problems.

    Returns
    -------
    FSVMPath

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> X, y = load_iris(return_X_y=True)
    >>> path = fsvm_path(X, y, [0.01, 0.1, 1.0])
    >>> path.coef.shape, bool(path.gap.max() <= 1e-6)
    ((3, 3, 4), True)
    """
    check_number("whitening", whitening, -1, 1, high_allowed=True)
    check_number("rank_tol", rank_tol, 0, 1)
    check_choice("scatter", scatter, ("total", "within"))
    check_choice("multi_class", multi_class, ("ovo", "ovr"))
    X, y = check_X_y(X, y, accept_sparse="csr", dtype=np.float64)
    Cs = check_Cs(Cs)
    weights = check_weights(sample_weight, X.shape[0])
    check_classification_targets(y)
    kept = np.flatnonzero(weights)
    X, y, weights = X[kept], y[kept], weights[kept]
    classes, codes = np.unique(y, return_inverse=True)
    if len(classes) < 2:
        raise ValueError(f"y must contain at least 2 classes, found only {classes.tolist()}.")
    reduction = MulticlassReduction(len(classes), multi_class == "ovo")
    training = TrainingData(X, codes, weights, kept, reduction, np.ones(len(classes)), bool(fit_intercept))
    family = Family.on(Raw(), X, training, scatter, (float(whitening),), rank_tol)
    fit = family.fit(training.labels, weights, Cs, Options(tol, max_iter, n_jobs, keep_alpha=True))
    return FSVMPath(
        Cs=Cs,
        classes=classes,
        problems=reduction.names(classes),
        coef=fit.coef[0],
        intercept=fit.intercept[0],
        objective=fit.objective[0],
        dual_objective=fit.dual_objective[0],
        n_support=(fit.results.alpha > 1e-8 * Cs[None, :, None] * weights).sum(axis=2).T,
    )
