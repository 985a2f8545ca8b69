"""Kernel models where nothing is whitened: the SVM in the features of a kernel, which are not formed.

Only kernel values enter, the model is that of `SVC`, and separators are combinations of the rows that support them.
"""

from __future__ import annotations

import warnings

import numpy as np

from .._checks import ConvergenceWarning
from ..features.space import Expansion
from ..problems import Batch, Options
from ..solvers import solve_kernel
from ..solvers.kernel import KernelResults
from .linear import LinearModel
from .metric import metric_root

SPARSE = 0.2  # share of coefficients that are not zero up to which they are kept as such: many classes in pairs


def fit_expansion(
    choice, training, Cs, options: Options, callback=None, *, keep_scores=True
) -> tuple[Expansion, KernelResults]:
    """Solve every problem for every C: the space of all training rows, and combinations of them."""
    space = Expansion.on(choice, training.X, training.costs, options.threads)
    batch = Batch(
        space.kernel_rows(choice.cache_size), training.labels, training.costs, np.asarray(Cs, dtype=float),
        intercept=training.intercept,
    )  # fmt: skip
    results = solve_kernel(batch, options, keep_scores=keep_scores, callback=callback)
    if not results.definite.all():
        warnings.warn(
            "the kernel is not positive semi-definite: what was found is a stationary point, and there is no bound of the "
            "optimum (dual_objective_ is NaN).",
            ConvergenceWarning,
            stacklevel=6,
        )
    return space, results


def learn_expansion(model, choice, training, listeners, *, keep_scores=False):
    """Fit a model with one C, and set its attributes, those of `SVC` among them.

    Returns the results, and which rows support them; the scores of all rows only if they are to be kept.
    """
    options = Options(float(model.tol), int(model.max_iter), model.n_jobs)
    with listeners.problems(training.labels):
        space, found = fit_expansion(
            choice, training, [float(model.C)], options, listeners.pairs, keep_scores=keep_scores
        )
    results = [found.certificate((k, 0)) for k in range(len(training.labels))]
    for k, result in enumerate(results):
        listeners.report(k, result)
    support = np.unique(found.coef.matrix.indices)
    support = support[np.argsort(training.codes[support], kind="stable")]  # by class, as in `SVC`
    coef = found.coef.matrix[:, support]
    model.dual_coef_ = _svc_layout(coef, training.codes[support], training.reduction)
    coef = coef.toarray() if coef.nnz > SPARSE * np.prod(coef.shape) else coef
    model.intercept_ = found.intercept[:, 0]
    model._model = LinearModel(space.part(support), coef, model.intercept_, training.reduction)
    model.support_, model.support_vectors_ = training.kept[support], model._model.space.support
    model.n_support_ = np.bincount(training.codes[support], minlength=training.reduction.n_classes)
    model._certify(results)
    if not found.definite.all():
        model.dual_objective_ = model.dual_gap_ = np.nan
    return found, support


def _svc_layout(coef, codes, reduction):
    """Sparse coefficients as `SVC` has them: of several classes in pairs, for each support vector one per other class."""
    if reduction.n_classes == 2 or not reduction.pairs:
        return coef.toarray()
    out = np.zeros((reduction.n_classes - 1, len(codes)))
    for k, (i, j) in enumerate(zip(*np.triu_indices(reduction.n_classes, 1), strict=True)):
        own = slice(*coef.indptr[k : k + 2])
        columns = coef.indices[own]
        out[np.where(codes[columns] == i, j - 1, i), columns] = -coef.data[own]
    return out


def expansion_root(scores, coef, unit):
    """The root of the mean metric of the problems, as combinations of rows."""
    A = coef * unit
    gram = A @ (scores * unit[:, 0])
    values, axes = np.linalg.eigh((gram + gram.T) / 2)
    return metric_root(A, axes * np.sqrt(values.clip(0)))
