"""MR-SVM: feature weights that balance the margin against a bound of the radius."""

from __future__ import annotations

import numpy as np

from ..solvers.conic.mrsvm import mrsvm
from .base import ConicClassifier
from .family import MetricTransformerMixin


class MRSVM(MetricTransformerMixin, ConicClassifier):
    """Support vector machine with learned feature weights, by margin and radius.

    Minimises, over separators and weights mu on the simplex,

        1/2 sum_k w_k^2 / mu_k + C / (2 s(mu)) sum_i s_i xi_i^2,        s(mu) = sum_k mu_k R_k^2

    where xi_i is the hinge loss and R_k the half range of feature k, so that s(mu) bounds the squared radius
    of the weighted data. The loss is squared: with xi_i itself, as the F-SVM paper prints it (Eq. 2), the
    problem is not convex.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss. It does not depend on a common unit of the features, which should be standardised.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, max_iter, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`.
    mu_ : ndarray of shape (n_problems, n_features)
        Weights of the features, on the simplex; many are zero.
    radius_bound_ : ndarray of shape (n_problems,)
        ``sqrt(s(mu))``.
    components_ : ndarray of shape (n_features, n_features)
        ``diag(sqrt(mu))`` with the mean mu over the problems: `transform` keeps the order of the features.

    References
    ----------
    H. Do, A. Kalousis, M. Hilario, "Feature weighting using margin and radius based
    error bound optimization in SVMs", ECML-PKDD 2009.

    Examples
    --------
    The second feature is uninformative and gets no weight:

    >>> from radiusmargin import MRSVM
    >>> model = MRSVM().fit([[-1.0, 1.0], [-1.0, -1.0], [1.0, 1.0], [1.0, -1.0]], [0, 0, 1, 1])
    >>> model.mu_.round(4).tolist()
    [[1.0, 0.0]]
    """

    _solver = staticmethod(mrsvm)

    def _describe(self, results, rows, training):
        self.mu_ = np.array([result.mu for result in results])
        self.radius_bound_ = np.sqrt([result.radius_bound for result in results])
        self.components_ = np.diag(np.sqrt(self.mu_.mean(axis=0)))
