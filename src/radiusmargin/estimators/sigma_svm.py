"""Sigma-SVM: an SVM whose norm is mixed with the covariance of the data."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from .._checks import check_number
from .._linalg import eigh
from ..scatter import WIDEST, TemperedScatter, scatter_matrix, tempered_scatter
from ..solvers import Quadratics
from .base import HingeBaseline, estimator
from .family import MetricTransformerMixin, hinge_losses, metric_root
from .features import FeatureChoice

EPS = np.finfo(float).eps


@estimator
class SigmaSVM(MetricTransformerMixin, HingeBaseline):
    """Support vector machine whose norm is mixed with the covariance of the data.

    Minimises ``1/2 w'Tw + C sum_i s_i max(0, 1 - y_i (w'x_i + b))`` with ``T = (1 - D) I + D Sigma``, Sigma
    the weighted covariance: the SVM on ``T^{-1/2} x``. ``D=0`` is the SVM, ``D=1`` the SVM on whitened data,
    which is the F-SVM.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    D : float in [0, 1], default=0.5
        Weight of the covariance in the norm. Features should have comparable units, for example standardised.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, max_iter, n_jobs, random_state, verbose
        As in `FSVM`.

    Attributes
    ----------
    classes_, coef_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `FSVM`.
    components_ : ndarray of shape (rank, n_features)
        L with ``L'L = T^{-1}``, the same metric for all classes (the pseudo-inverse if T is singular).

    Notes
    -----
    With ``D=1`` and a singular covariance the problem is solved in its range, as in `FSVM` with the default `rank_tol`.
    Sparse input stays sparse otherwise; at most 5,000 columns.

    References
    ----------
    P. Shivaswamy, T. Jebara, "Maximum relative margin and data-dependent regularization", JMLR 11 (2010).

    Examples
    --------
    >>> from sklearn.datasets import load_wine
    >>> from sklearn.preprocessing import scale
    >>> from radiusmargin import FSVM, SigmaSVM
    >>> X, y = load_wine(return_X_y=True)
    >>> model = SigmaSVM(C=0.1, D=1.0).fit(scale(X), y)
    >>> round(model.objective_, 4) == round(FSVM(C=0.1).fit(X, y).objective_, 4)
    True
    """

    D: float = 0.5

    def _check_parameters(self):
        super()._check_parameters()
        check_number("D", self.D, 0, 1, high_allowed=True)

    def _fit_data(self, training, callbacks):
        features = FeatureChoice.of(self).explicit(0.0)
        rows = features.fit(training.X, training.costs)
        space = _Space.of(rows, training.costs, float(self.D), bool(self.fit_intercept))
        results = self._solve_hinge(space.rows, training, callbacks, Quadratics(space.T[None]))
        coef, intercept = space.lift(np.array([r.coef for r in results]), np.array([r.intercept for r in results]))
        if space.reduced is not None:  # certify the returned separators, which are rounded in the user's units
            spread = space.reduced.whitened(coef, 1.0)
            losses = hinge_losses(rows, (coef, intercept), training.labels, training.costs)
            values = np.einsum("kd,kd->k", spread, spread) / space.reduced.total / 2 + self.C * losses
            results = [replace(r, objective=float(value)) for r, value in zip(results, values, strict=True)]
        self._keep(features, training, results, (coef, intercept))
        self.components_ = space.root()


@dataclass(frozen=True, eq=False)
class _Space:
    """Rows and T in coordinates in which T is invertible: the user's, or those of the range of Sigma."""

    rows: np.ndarray
    T: np.ndarray
    reduced: TemperedScatter | None
    centred: bool = True

    @classmethod
    def of(cls, X, weight, D, centred):
        if X.shape[1] > WIDEST:
            raise ValueError(
                f"SigmaSVM needs the covariance of all columns, and {X.shape[1]:,} are too many (at most {WIDEST:,}). Use SVM, which is "
                "D=0, or reduce the columns first, for example with sklearn.decomposition.TruncatedSVD."
            )
        if D == 1:
            scatter = tempered_scatter(X, sample_weight=weight)
            if len(scatter.eigenvalues) == 0:
                raise ValueError("X has no feature that varies; with D=1 there is nothing to learn from.")
            if not scatter.regular:
                return cls(scatter.project(X, centred=centred), scatter.eigenvalues, scatter, centred)
        Sigma = scatter_matrix(X, sample_weight=weight) / weight.sum()
        return cls(X, (1 - D) * np.eye(len(Sigma)) + D * Sigma, None)

    def lift(self, coef, intercept):
        return (coef, intercept) if self.reduced is None else self.reduced.lift(coef, intercept, centred=self.centred)

    def root(self):
        """Return L with ``L'L`` the inverse of T, in the user's units; symmetric if T has unit diagonal."""
        if self.reduced is not None:
            return metric_root(self.reduced.eigenvectors.T / np.sqrt(self.T)[:, None]) * self.reduced.inverse_scale
        scale = np.sqrt(np.diag(self.T))
        values, axes = eigh(self.T / np.outer(scale, scale))
        return metric_root(axes.T / np.sqrt(values.clip(EPS))[:, None]) / scale
