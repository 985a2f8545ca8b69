"""RMM, the relative margin machine: an SVM whose outputs are bounded."""

from __future__ import annotations

from .._checks import check_number
from ..solvers.conic.rmm import rmm
from .base import ConicClassifier, estimator


@estimator
class RMM(ConicClassifier):
    """Relative margin machine: a large margin, relative to the spread of the data along the separator.

    Minimises ``1/2 |w|^2 + C sum_i s_i max(0, 1 - y_i f(x_i))`` subject to ``|f(x_i)| <= B`` for all training
    points, ``f(x) = w'x + b``.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. Its unit is that of the features, which should be standardised.
    B : float in [1, inf], default=2.0
        Hard bound of the outputs at every training point. It has no effect above the largest output of the SVM:
        ``B=np.inf`` is the SVM.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, max_iter, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`.
    bound_active_ : list of ndarray
        For each problem (one, or one per pair of classes) the rows of X whose bound carries a multiplier. They shape
        the metric: the model is an SVM in the metric ``I + scatter of these points``.

    References
    ----------
    P. Shivaswamy, T. Jebara, "Maximum relative margin and data-dependent regularization", JMLR 11 (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin import RMM
    >>> model = RMM(C=1.0, B=2.0).fit([[-4.0], [-1.0], [1.0], [4.0]], [0, 0, 1, 1])
    >>> model.decision_function([[-4.0], [1.0]]).round(4).tolist(), model.bound_active_[0].tolist()
    ([-2.0, 0.5], [0, 3])
    """

    _solver = staticmethod(rmm)
    _hyperparameters = ("B",)

    B: float = 2.0

    def _check_parameters(self):
        super()._check_parameters()
        check_number("B", self.B, 1, high_allowed=True)

    def _describe(self, results, rows, training):
        self.bound_active_ = [training.kept[result.bound_active] for result in results]
