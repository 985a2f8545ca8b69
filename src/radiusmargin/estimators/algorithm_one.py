"""Algorithm 1 of the F-SVM paper as printed, for comparison with the exact solver."""

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
    """F-SVM (Eq. 12 of its paper) by the paper's Algorithm 1 as printed.

    The aim is to minimise ``1/2 w'M^{-1}w + C sum_i s_i max(0, 1 - y_i (w'x_i + b)) + rho tr(MS)`` over separators w, b and
    metrics M, where S is the scatter of the features in their units. The algorithm does not reach the minimum: see Notes.
    ``FSVM(rho=...)`` solves the same model exactly. ``FSVM(solver="projected-gradient")`` is a variant of the algorithm in
    whitened coordinates that cannot increase its objective.

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    rho : float, default=1.0
        Weight of tr(MS).
    step : float, default=1.0
        Step length t at the start of every round; the paper prints 1.
    shrink : float in (0, 1], default=0.9
        Factor beta of t after every gradient step. The paper gives no value.
    n_steps : int, default=200
        Most gradient steps in a round; the paper writes "while not converged".
    n_rounds : int, default=15
        Most rounds of separator and metric; the paper writes "until M and (w, b) converge".
    reset : bool, default=False
        True resets M and t in every iteration of the inner loop, as printed, which amounts to one step. False sets them once,
        before the loop.
    kernel, gamma, degree, coef0, n_components
        The kernel map, as in `FSVM`.
    fit_intercept, class_weight, tol, random_state, verbose
        As in `FSVM`; `tol` is the gap of the inner SVM problems.
    max_iter : int, default=1000
        Not used: `n_rounds` and `n_steps` take its place.

    Attributes
    ----------
    classes_, coef_, intercept_, components_, n_iter_
        As in `FSVM`. With more than two classes every pair has its own metric, from its own rows, and M is their mean.
        `n_iter_` counts gradient steps.
    objective_, dual_objective_, dual_gap_, max_dual_gap_ : float
        Objective at the last separators and metrics, a lower bound of its minimum, and the relative difference, which is hardly
        ever small; and the largest relative gap of one problem.
    history_ : list of dict
        Objective, dual objective, gap and rank of M, in every round of every problem.
    messages_ : list of str
        For every problem, the step at which M became singular, or an empty string.

    Notes
    -----
    The optimal metric has rank one, and gradient steps, which contain M^{-1}, cannot reach it. If a step is too long, the projection
    on the closed cone makes M singular: in the first step if t = 1 and features are standardised. The algorithm ends there with
    a warning, and the separator is that of the singular metric, a projection on the remaining directions, if any. With short
    steps it returns little more than its start, the semi-whitened SVM. The initial metric has the printed scale, which is
    wrong (erratum E3); C compensates for it.

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
