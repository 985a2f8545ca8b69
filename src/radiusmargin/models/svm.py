"""The plain support vector machine, on our own solver: the baseline of all others."""

from __future__ import annotations

import numpy as np

from .._types import ClassWeight, Gamma, KernelLike, RandomState
from ..features.space import FeatureChoice
from ..problems import IDENTITY, Batch, Options, rows_of
from ..solvers import solve
from .competitor import Competitor
from .expansion import learn_expansion


class SVM(Competitor):
    """Support vector machine in the units of the data, with an unpenalised intercept.

    Minimises ``1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (w'x_i + b))`` to a certified gap. Unlike `FSVM`, it is
    not invariant to the units of the features; the SVM on standardised features is ``FSVM(whitening=0)``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    kernel, gamma, degree, coef0, n_components
        As in `FSVM` at whitening 0: with a kernel the model is `SVC`.
    fit_intercept, class_weight, tol, max_iter, cache_size, n_jobs, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, n_iter_
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

    _accepts_sparse = True

    def __init__(
        self, C: float = 1.0, *, kernel: KernelLike = "linear", gamma: Gamma = "scale", degree: int = 3,
        coef0: float = 0.0, n_components: float | None = None, fit_intercept: bool = True,
        class_weight: ClassWeight = None, tol: float = 1e-6, max_iter: int = 1000, cache_size: float = 500,
        n_jobs: int | None = None, random_state: RandomState = None, verbose: int = 0,
    ):  # fmt: skip
        super().__init__(
            C, kernel=kernel, gamma=gamma, degree=degree, coef0=coef0, n_components=n_components,
            fit_intercept=fit_intercept, class_weight=class_weight, tol=tol, max_iter=max_iter,
            random_state=random_state, verbose=verbose,
        )  # fmt: skip
        self.cache_size = cache_size
        self.n_jobs = n_jobs

    def _learn(self, training, listeners):
        choice = FeatureChoice.of(self)
        if choice.has_kernel:
            fit = learn_expansion(choice, training, self.C, self._options, listeners, keep_scores=False)
            return self._keep_expansion(fit, training)
        space = choice.explicit(0.0)
        rows = space.fit(training.X, training.costs)
        results = self._solve_hinge(rows, training, listeners)
        self._keep(space, training, results)

    @property
    def _options(self):
        return Options(float(self.tol), int(self.max_iter), self.n_jobs)

    def _scatter_in_chunks(self):
        return False

    def _learn_chunks(self, training):
        return self._solve_chunks(training, training.plain(), float(self.tol))

    def _solve_hinge(self, rows, training, listeners, regularizers=IDENTITY):
        """One result per labelling, of one batch."""
        batch = Batch(
            rows_of(rows), training.labels, training.costs, np.array([float(self.C)]), regularizers,
            intercept=bool(self.fit_intercept),
        )  # fmt: skip
        with listeners.problems(training.labels):
            found = solve(batch, self._options)
        results = [found[k, 0] for k in range(len(found))]
        for k, result in enumerate(results):
            listeners.report(k, result)
        return results
