"""Kernel models where nothing is whitened: the SVM in the features of a kernel, which are not formed.

Only inner products enter, the model is that of `SVC`, and separators are combinations of the rows that support them.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..features.space import Expansion
from ..problems import Batch, InnerProducts, Options, Results
from ..solvers import solve
from .linear import LinearModel
from .metric import metric_root

MOST_ROWS = 20_000  # whose kernel matrix takes 3.2 GB


@dataclass(frozen=True, eq=False)
class FittedExpansion:
    """Separators for some Cs as combinations of the training rows X.

    Attributes
    ----------
    function : KernelFunction or None
    X : the training rows
    products : ndarray of shape (n, n)
        Their kernel values.
    results : Results
        Of problems (K, C).
    """

    function: object
    X: object
    products: np.ndarray
    results: Results

    @property
    def coef(self):
        """(C, K, n)."""
        return self.results.coef.swapaxes(0, 1)

    @property
    def intercept(self):
        """(C, K)."""
        return self.results.intercept.T

    def supported(self, coef):
        """(space, support) of combinations (K, n): the rows that any of them uses."""
        support = np.flatnonzero(coef.any(axis=0))
        return Expansion(self.function, support if self.function is None else self.X[support]), support


def fit_expansion(choice, training, Cs, options: Options) -> FittedExpansion:
    """Solve every problem for every C in kernel values."""
    X, costs = training.X, training.costs
    if X.shape[0] > MOST_ROWS:
        raise ValueError(
            f"the kernel matrix of {X.shape[0]} rows takes {8e-9 * X.shape[0] ** 2:.1f} GB; set n_components for a map "
            "of the kernel."
        )
    function = choice.function(X, costs)
    K = np.ascontiguousarray(choice.products(function, X))
    results = solve(Batch(InnerProducts(K), training.labels, costs, np.asarray(Cs, dtype=float)), options)
    return FittedExpansion(function, X, K, results)


def learn_expansion(model, choice, training, listeners):
    """Fit a model with one C, and set its attributes: those of `SVC` among them. Returns scores (n, K) and combinations."""
    with listeners.problems(training.labels):
        fit = fit_expansion(choice, training, [float(model.C)], Options(float(model.tol), int(model.max_iter)))
    results = [fit.results[k, 0] for k in range(len(training.labels))]
    for k, result in enumerate(results):
        listeners.report(k, result)
    coef = fit.coef[0]
    space, support = fit.supported(coef)
    for name in ("coef_", "kernel_map_"):
        model.__dict__.pop(name, None)
    model.intercept_ = fit.intercept[0]
    model.support_, model.support_vectors_ = training.kept[support], space.support
    model.dual_coef_ = coef[:, support]
    model.n_support_ = np.bincount(training.codes[support], minlength=training.reduction.n_classes)
    model._model = LinearModel(space, model.dual_coef_, model.intercept_, training.reduction)
    model._certify(results)
    return fit.products @ coef.T, coef


def expansion_root(scores, coef, unit):
    """The root of the mean metric of problems, as combinations of rows, and the rows it uses."""
    A = coef * unit
    gram = A @ (scores * unit[:, 0])
    values, axes = np.linalg.eigh((gram + gram.T) / 2)
    return metric_root(A, axes * np.sqrt(values.clip(0)))
