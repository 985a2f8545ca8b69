"""R-SVM+ and R-SVM_mu+: radius-margin models whose radius is the largest distance of two points."""

from __future__ import annotations

import numpy as np

from .._checks import check_number
from ..solvers.conic.rsvm import rsvm_mu_plus, rsvm_plus
from .base import ConicClassifier, estimator
from .family import MetricTransformerMixin


@estimator
class _RSVM(MetricTransformerMixin, ConicClassifier):
    """Base of R-SVM+ and R-SVM_mu+: C and lam, and pairs of rows found by constraint generation."""

    _hyperparameters = ("lam",)

    lam: float = 1.0

    def _check_parameters(self):
        super()._check_parameters()
        check_number("lam", self.lam, 0)

    def _describe(self, results, rows, training):
        self.active_pairs_ = [training.kept[result.active_pairs] for result in results]
        self.diameter_ = np.sqrt([2 * result.radius for result in results])


class RSVMPlus(_RSVM):
    """R-SVM+: the separator also scales the features, and the largest distance of two scaled points is penalised.

    Minimises ``1/2 |w|^2 + lam r + C sum_i s_i max(0, 1 - y_i (w'x_i + b))``, where r is half the largest
    squared distance of two points of ``x * w``. It is the SVM on ``x * sqrt(metric)``, for a diagonal metric
    that the farthest pairs set.

    **Source of the formula.** The F-SVM paper compares with R-SVM+ but prints no formula ("controlling both the radius and margin
    with w"), and the paper of Do and Kalousis was not available when this was written. The objective above follows the
    description; if it differs from theirs, trust theirs.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. Its unit is that of the features, which should be standardised.
    lam : float, default=1.0
        Weight of the radius, not negative; 0 is the SVM. Large values of C and lam together make the model
        invariant to the units of the features.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, max_iter, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`.
    metric_ : ndarray of shape (n_problems, n_features)
        Diagonal of the metric, in (0, 1].
    active_pairs_ : list of ndarray of shape (n_pairs, 2)
        For each problem (one, or one per pair of classes) the pairs of rows of X whose distance carries the radius.
    diameter_ : ndarray of shape (n_problems,)
        The largest distance of two points of ``x * w``: ``sqrt(2 r)``.
    components_ : ndarray of shape (n_features, n_features)
        ``diag(sqrt(metric))``, of the mean metric over the problems.

    References
    ----------
    H. Do, A. Kalousis, "Convex formulations of radius-margin based support vector machines", ICML 2013.

    Examples
    --------
    >>> from radiusmargin import RSVMPlus
    >>> model = RSVMPlus(C=10.0, lam=0.25).fit([[-1.0], [1.0]], [0, 1])
    >>> model.coef_.round(4).tolist(), model.metric_.round(4).tolist(), model.active_pairs_[0].tolist()
    ([[1.0]], [[0.5]], [[0, 1]])
    """

    _solver = staticmethod(rsvm_plus)

    def _describe(self, results, rows, training):
        super()._describe(results, rows, training)
        self.metric_ = np.array([result.metric for result in results])
        self.components_ = np.diag(np.sqrt(self.metric_.mean(axis=0)))


class RSVMMuPlus(_RSVM):
    """R-SVM_mu+: learned feature weights, with a penalty on the largest distance of two weighted points.

    Minimises ``1/2 sum_k w_k^2 / mu_k + lam r + C sum_i s_i max(0, 1 - y_i (w'x_i + b))`` over separators and
    weights mu on the simplex, where r is half the largest squared distance of two points of ``x * sqrt(mu)``
    (Eq. 3 of the F-SVM paper).

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. Its unit is that of the features, which should be standardised.
    lam : float, default=1.0
        Weight of the radius, not negative; 0 is the SVM with the squared 1-norm.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, max_iter, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`.
    mu_ : ndarray of shape (n_problems, n_features)
        Weights of the features, on the simplex; some are zero.
    active_pairs_ : list of ndarray of shape (n_pairs, 2)
        For each problem (one, or one per pair of classes) the pairs of rows of X whose distance carries the radius.
    diameter_ : ndarray of shape (n_problems,)
        The largest distance of two weighted points: ``sqrt(2 r)``.
    components_ : ndarray of shape (n_features, n_features)
        ``diag(sqrt(mu))`` with the mean mu over the problems: `transform` keeps the order of the features.

    References
    ----------
    H. Do, A. Kalousis, "Convex formulations of radius-margin based support vector machines", ICML 2013.

    Examples
    --------
    >>> from radiusmargin import RSVMMuPlus
    >>> X = [[-1.0, 9.0], [-1.0, -9.0], [1.0, 9.0], [1.0, -9.0]]
    >>> model = RSVMMuPlus(C=10.0, lam=0.1).fit(X, [0, 0, 1, 1])
    >>> model.mu_.round(4).tolist(), model.diameter_.round(4).tolist()
    ([[1.0, 0.0]], [2.0])
    """

    _solver = staticmethod(rsvm_mu_plus)

    def _describe(self, results, rows, training):
        super()._describe(results, rows, training)
        self.mu_ = np.array([result.mu for result in results])
        self.components_ = np.diag(np.sqrt(self.mu_.mean(axis=0)))
