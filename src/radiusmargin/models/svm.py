"""The plain support vector machine, on our own solver: the baseline of all others."""

from __future__ import annotations

from ..solvers.hinge import quiet_path
from .competitor import Competitor
from .multiclass import taking_part


class SVM(Competitor):
    """Support vector machine in the units of the data, with an unpenalised intercept.

    Minimises ``1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i (w'x_i + b))`` to a certified gap. Unlike `FSVM`, it is
    not invariant to the units of the features; the SVM on standardised features is ``FSVM(whitening=0)``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, max_iter, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, n_iter_
        As in `FSVM`.

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
    _is_euclidean = True

    def _solve(self, X, columns, weight, y):
        results = super()._solve(X, columns, weight, y)
        self._multipliers = [result.alpha for result in results]
        return results

    def _solve_column(self, X, y, weight, k):
        return self._solve_hinge(X, y, weight)

    def _solve_hinge(self, X, column, weight, regularizer=None):
        y, weight = taking_part(column, weight)
        return quiet_path(
            X, y, [float(self.C)], regularizer, weight, fit_intercept=bool(self.fit_intercept), tol=self.tol,
            max_iter=int(self.max_iter),
        )[0]  # fmt: skip
