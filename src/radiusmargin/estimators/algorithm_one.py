"""F-SVM by the algorithm that its paper prints, for those who want to see what it does."""

from __future__ import annotations

import warnings
from dataclasses import KW_ONLY

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from .._checks import check_count, check_number, check_positive
from ..multiclass import taking_part
from ..solvers.metric.algorithm_one import Descent, algorithm_one
from .base import ColumnwiseBaseline, estimator
from .family import MetricTransformerMixin


@estimator
class FSVMAlgorithm1(MetricTransformerMixin, ColumnwiseBaseline):
    """F-SVM, Eq. 12 of its paper, by the paper's Algorithm 1 taken at its word.

    Means to minimise ``1/2 w'M^{-1}w + C sum_i s_i max(0, 1 - y_i (w'x_i + b)) + rho tr(MS)`` over separators w, b and
    metrics M, where S is the scatter of the features in the units they come in. It does not get there: see Notes. `FSVM` solves
    the same model exactly (``FSVM(rho=...)``), and ``FSVM(solver="projected-gradient")`` is a variant of the algorithm
    that works in whitened coordinates and cannot raise its objective.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    rho : float, default=1.0
        Weight of tr(MS).
    step : float, default=1.0
        The step length t at the start of every round; 1 in the print.
    shrink : float in (0, 1], default=0.9
        The factor beta of t after every gradient step. The paper gives no value.
    n_steps : int, default=200
        Most gradient steps of a round; the paper writes "while not converged".
    n_rounds : int, default=15
        Most rounds of separator and metric; the paper writes "until M and (w, b) converge".
    reset : bool, default=False
        True for the inner loop as printed, which sets M and t back in every turn and so takes one step; False sets them
        before the loop.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, random_state, verbose
        As in `FSVM`; `tol` is the gap of the SVMs inside.
    max_iter : int, default=1000
        Not used: `n_rounds` and `n_steps` take its place.

    Attributes
    ----------
    classes_, coef_, intercept_, components_, n_iter_
        As in `FSVM`; with more than two classes every pair has a metric of its own, from its own rows, and M is their mean.
        `n_iter_` counts gradient steps.
    objective_, dual_objective_, dual_gap_, max_dual_gap_ : float
        Value of the problem above at the separators and metrics where the algorithm ended, a lower bound of its minimum, and
        the relative difference, which hardly ever is small; and the largest one of a problem.
    history_ : list of dict
        Objective, dual objective, gap and rank of M, in every round of every problem.
    messages_ : list of str
        For every problem where M became singular, or nothing.

    Notes
    -----
    The metric that minimises the model has rank one, and a gradient step with M^{-1} in it cannot reach it. The projection on
    the closed cone makes M singular where a step is too long, in its first step if t = 1 and features are standardised. There
    the algorithm ends, with a warning, and the separator is that of the singular metric: a projection on the directions that
    were left, if any. With steps that are short enough it returns little more than its start, the semi-whitened SVM. The
    initial metric has the scale that is printed, which is wrong, and which C makes up for.

    References
    ----------
    X. Wu, W. Zuo, Y. Zhu, L. Lin, "F-SVM: combination of feature transformation and SVM learning via convex relaxation",
    arXiv:1504.05035 (2015).

    Examples
    --------
    >>> import warnings
    >>> from radiusmargin import FSVM, FSVMAlgorithm1
    >>> from radiusmargin.paper.data import make_twonorm
    >>> X, y = make_twonorm(100, 5, random_state=0)
    >>> with warnings.catch_warnings():
    ...     warnings.simplefilter("ignore")
    ...     model = FSVMAlgorithm1(C=100.0, step=1e-4).fit(X, y)
    >>> bool(model.objective_ > FSVM(C=100.0, rho=1.0).fit(X, y).objective_)
    True
    """

    rho: float = 1.0
    _: KW_ONLY
    step: float = 1.0
    shrink: float = 0.9
    n_steps: int = 200
    n_rounds: int = 15
    reset: bool = False

    def _check_parameters(self):
        super()._check_parameters()
        check_positive("rho", self.rho)
        check_positive("step", self.step)
        check_number("shrink", self.shrink, 0, 1, low_allowed=False, high_allowed=True)
        check_count("n_steps", self.n_steps)
        check_count("n_rounds", self.n_rounds)

    def _solve_problem(self, rows, y, costs):
        y, costs = taking_part(y, costs)
        part = np.flatnonzero(costs)
        descent = Descent(float(self.step), float(self.shrink), int(self.n_steps), int(self.n_rounds), bool(self.reset))
        return algorithm_one(
            rows[part], y[part], float(self.C), float(self.rho), descent=descent, sample_weight=costs[part],
            fit_intercept=bool(self.fit_intercept), tol=self.tol,
        )  # fmt: skip

    def _describe(self, results, rows, training):
        self.components_ = np.concatenate([r.root for r in results]) / np.sqrt(len(results))
        self.history_ = [dict(entry, column=k) for k, r in enumerate(results) for entry in r.history]
        self.messages_ = [r.message for r in results]

    def _warn_unless_converged(self):
        if self.max_dual_gap_ <= self.tol:
            return
        singular = [message for message in self.messages_ if message]
        where = f" {singular[0]}{f', and so in {len(singular)} problems' * (len(singular) > 1)}." if singular else ""
        warnings.warn(
            f"FSVMAlgorithm1 ended at a relative gap of {self.max_dual_gap_:.2g} after {self.n_iter_} gradient steps.{where} "
            "FSVM solves the same model exactly.",
            ConvergenceWarning,
            stacklevel=3,
        )
