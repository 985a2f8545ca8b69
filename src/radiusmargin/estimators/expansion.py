"""Kernel machines without whitening: the model of `SVC`, solved from kernel values without forming features."""

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

SPARSE = 0.2  # share of nonzero coefficients up to which they are stored sparse: many classes in pairs


def fit_expansion(
    choice, training, Cs, options: Options, callback=None, *, alpha=None, keep_scores=True
) -> tuple[Expansion, KernelResults]:
    """Solve every binary problem for every C, with an optional warm start `alpha`; return the space and the results."""
    space = Expansion.on(choice, training.X, training.costs, options.threads)
    batch = Batch(
        space.kernel_rows(choice.cache_size), training.labels, training.costs, np.asarray(Cs, dtype=float),
        intercept=training.intercept,
    )  # fmt: skip
    results = solve_kernel(batch, options, Start(alpha=alpha), keep_scores=keep_scores, callback=callback)
    if not np.all(results.definite):
        warnings.warn(
            "the solution is a stationary point without a bound of the optimum (dual_objective_ is NaN): "
            f"{why_indefinite(space.function)}.",
            ConvergenceWarning,
            stacklevel=6,
        )
    return space, results


@dataclass(frozen=True, eq=False)
class ExpansionFit:
    """A kernel machine for one C, with the attributes of `SVC`.

    Attributes
    ----------
    model : LinearModel
    support : ndarray of shape (n_support,)
        Indices of the support vectors among the training rows, ordered by class.
    vectors : rows of X, or integer array
        The support vectors; for a precomputed kernel their columns.
    dual_coef : ndarray
        Coefficients of the support vectors, in the layout of `SVC`.
    found : KernelResults
    """

    model: LinearModel
    support: np.ndarray
    vectors: Any
    dual_coef: np.ndarray
    found: KernelResults

    @property
    def certificate(self) -> Certificate:
        """Certificate summed over all binary problems."""
        return certificate_of(self.found)


def certificate_of(found: KernelResults) -> Certificate:
    """Sum the certificates of all problems and Cs; the bound is NaN if the kernel is not positive semi-definite."""
    return Certificate.of(
        found.objective, np.where(np.asarray(found.definite), found.dual_objective, np.nan), found.n_iter
    )


def fit_kernel_machine(choice, training, C, options: Options, callbacks, **how) -> ExpansionFit:
    """Fit with one C, and extract the support vectors; `how` is passed to `fit_expansion`."""
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
    """Arrange sparse coefficients as in `SVC`: for pairs of several classes, one row per other class of a support vector."""
    if reduction.n_classes == 2 or not reduction.pairs:
        return coef.toarray()
    out = np.zeros((reduction.n_classes - 1, len(codes)))
    for k, (i, j) in enumerate(zip(*np.triu_indices(reduction.n_classes, 1), strict=True)):
        own = slice(*coef.indptr[k : k + 2])
        columns = coef.indices[own]
        out[np.where(codes[columns] == i, j - 1, i), columns] = -coef.data[own]
    return out


def expansion_root(scores, coef, unit):
    """Return the root of the mean metric of the problems, as combinations of training rows."""
    A = coef * unit
    gram = A @ (scores * unit[:, 0])
    values, axes = np.linalg.eigh((gram + gram.T) / 2)
    return metric_root(A, axes * np.sqrt(values.clip(0)))
