"""The plain support vector machine, with a certified solver."""

from __future__ import annotations

from dataclasses import KW_ONLY

from .base import HingeBaseline, estimator
from .expansion import fit_kernel_machine
from .features import FeatureChoice


@estimator
class SVM(HingeBaseline):
    """Support vector machine in the units of the data, with an unpenalised intercept.

    Minimises ``1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (w'x_i + b))`` to a certified gap. Unlike `FSVM`, it is
    not invariant to the units of the features; the SVM on standardised features is ``FSVM(whitening=0)``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    kernel, gamma, degree, coef0, n_components
        As in `FSVM` at whitening 0: with a kernel the model is that of `SVC`.
    fit_intercept, class_weight, tol, max_iter, cache_size, n_jobs, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`.
    support_, support_vectors_, dual_coef_, n_support_
        With a kernel, as in `SVC`.
    n_passes_, history_
        With rows in chunks, as in `FSVM`.

    Notes
    -----
    Sparse input stays sparse.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin import SVM
    >>> X = np.array([[0.0], [1.0], [2.0], [3.0]])
    >>> model = SVM(C=10.0).fit(X, ["no", "no", "yes", "yes"])
    >>> model.coef_.round(4).tolist(), model.intercept_.round(4).tolist(), model.predict([[1.6]]).tolist()
    ([[2.0]], [-3.0], ['yes'])
    """

    _: KW_ONLY
    cache_size: float = 500

    def _fit_data(self, training, callbacks):
        choice = FeatureChoice.of(self)
        if choice.has_kernel:
            fit = fit_kernel_machine(choice, training, self.C, self._options, callbacks, keep_scores=False)
            return self._keep_expansion(fit, training)
        space = choice.explicit(0.0)
        rows = space.fit(training.X, training.costs)
        results = self._solve_hinge(rows, training, callbacks)
        self._keep(space, training, results)

    def _scatter_in_chunks(self):
        return False

    def _fit_chunked(self, training):
        return self._solve_chunks(training, training.plain(), float(self.tol))
