"""Kernel models where nothing is whitened: the SVM in the features of a kernel, which are not formed.

Only kernel values enter, the model is that of `SVC`, and separators are combinations of the rows that support them.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass
from typing import Any

import numpy as np

from .._checks import ConvergenceWarning
from ..solvers import Batch, KernelResults, Options, Start, solve_kernel
from ..solvers.result import Certificate, why_indefinite
from .decision import LinearModel
from .family import metric_root
from .features import Expansion

SPARSE = 0.2  # share of coefficients that are not zero up to which they are kept as such: many classes in pairs


def fit_expansion(
    choice, training, Cs, options: Options, callback=None, *, alpha=None, keep_scores=True
) -> tuple[Expansion, KernelResults]:
    """Solve every problem for every C, perhaps from multipliers: the space of all training rows, and combinations of them."""
    space = Expansion.on(choice, training.X, training.costs, options.threads)
    batch = Batch(
        space.kernel_rows(choice.cache_size), training.labels, training.costs, np.asarray(Cs, dtype=float),
        intercept=training.intercept,
    )  # fmt: skip
    results = solve_kernel(batch, options, Start(alpha=alpha), keep_scores=keep_scores, callback=callback)
    if not results.definite.all():
        warnings.warn(
            f"what was found is a stationary point, and there is no bound of the optimum (dual_objective_ is NaN): "
            f"{why_indefinite(space.function)}.",
            ConvergenceWarning,
            stacklevel=6,
        )
    return space, results


@dataclass(frozen=True, eq=False)
class ExpansionFit:
    """What was learnt with one C, as `SVC` has it.

    Attributes
    ----------
    model : LinearModel
    support : ndarray of shape (n_support,)
        Which training rows support the separators, by class.
    vectors : rows of X, or integer array
        Those rows; of a precomputed kernel their columns.
    dual_coef : ndarray
        Their coefficients, in the layout of `SVC`.
    found : KernelResults
    """

    model: LinearModel
    support: np.ndarray
    vectors: Any
    dual_coef: np.ndarray
    found: KernelResults

    @property
    def certificate(self) -> Certificate:
        """Bounds and pairs of all problems together."""
        return certificate_of(self.found)


def certificate_of(found: KernelResults) -> Certificate:
    """Bounds and pairs of all problems and Cs together; the bound is NaN where the kernel has none."""
    return Certificate.of(found.objective, np.where(found.definite, found.dual_objective, np.nan), found.n_iter)


def fit_kernel_machine(choice, training, C, options: Options, callbacks, **how) -> ExpansionFit:
    """Fit with one C; `how` is that of `fit_expansion`."""
    with callbacks.problems(training.labels):
        space, found = fit_expansion(choice, training, [float(C)], options, callbacks.pairs, **how)
    for k in range(len(training.labels)):
        callbacks.report(k, found.certificate((k, 0)))
    support = np.unique(found.coef.matrix.indices)
    support = support[np.argsort(training.codes[support], kind="stable")]
    coef = found.coef.matrix[:, support]
    dual_coef = _svc_layout(coef, training.codes[support], training.reduction)
    coef = coef.toarray() if coef.nnz > SPARSE * np.prod(coef.shape) else coef
    own = space.part(support)
    model = LinearModel(own, coef, found.intercept[:, 0], training.reduction)
    return ExpansionFit(model, support, own.support, dual_coef, found)


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
