"""MSVM, the metric-learning SVM with a bounded radius, at its global optimum."""

from __future__ import annotations

import numpy as np

from ..solvers.conic.msvm import msvm
from .base import ConicClassifier
from .family import MetricTransformerMixin, metric_root


class MSVM(MetricTransformerMixin, ConicClassifier):
    """Support vector machine that learns a linear map of the data into the unit ball.

    Minimises ``1/2 |v|^2 + C sum_i s_i max(0, 1 - y_i (v'A x_i + b))`` over separators v, b and maps A
    subject to ``|A (x_i - xbar)| <= 1`` for all points, xbar being the weighted mean.

    The problem is not convex in (v, A), and the published gradient projection is a heuristic. Here it is solved globally: with
    ``w = A'v`` and the map eliminated, the problem becomes the convex quadratic program

        min  1/2 max_i (w'(x_i - xbar))^2 + C sum_i s_i max(0, 1 - y_i (w'x_i + b))

    whose optimal map projects onto the line of w. The model is invariant under invertible linear maps of the
    features.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss; it has no unit.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`. Limit `n_components`: in the full feature space of a kernel any labels are interpolated.
    fit_intercept, class_weight, tol, max_iter, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`.
    bound_ : ndarray of shape (n_problems,)
        ``max_i |w'(x_i - xbar)|``, which is ``|v|``: the margin in the unit ball is ``1 / bound_``.
    bound_active_ : list of ndarray
        For each problem (one, or one per pair of classes) the rows of X that touch the ball and carry a multiplier.
    components_ : ndarray of shape (rank, n_features)
        L with ``L'L = ww' / bound^2``, of rank one; with several classes the root of their mean metric.

    References
    ----------
    X. Zhu, P. Gong, Z. Zhao, C. Zhang, "Learning similarity metric with SVM", IJCNN 2012.

    Examples
    --------
    >>> from radiusmargin import MSVM
    >>> model = MSVM(C=10.0).fit([[-3.0], [-1.0], [1.0], [3.0]], [0, 0, 1, 1])
    >>> model.coef_.round(4).tolist(), model.bound_.round(4).tolist()
    ([[1.0]], [3.0])
    >>> model.transform([[-3.0], [3.0]]).round(4).ravel().tolist()
    [-1.0, 1.0]
    """

    _solver = staticmethod(msvm)

    def _describe(self, results, rows, training):
        self.bound_ = np.array([result.bound for result in results])
        self.bound_active_ = [training.kept[result.bound_active] for result in results]
        maps = np.array([r.coef / r.bound if r.bound > 0 else np.zeros_like(r.coef) for r in results])
        maps /= np.sqrt(len(maps))
        self.components_ = metric_root(maps, maps @ (rows - rows.mean(axis=0)).T)
