"""SVML: a metric for the Gaussian kernel, learned by the gradient of a validation error."""

from __future__ import annotations

from dataclasses import KW_ONLY, replace

import numpy as np
from sklearn.utils import check_random_state

from .._checks import check_choice, check_count, check_number, check_positive
from .._types import ArrayLike, ClassWeight, Gamma, RandomState
from ..kernels import resolve_gamma
from ..solvers import Options
from ..solvers.metric.svml import ValidationError, svml
from .base import MarginClassifier, by_rows, check_common, estimator
from .expansion import fit_kernel_machine
from .family import MetricTransformerMixin
from .features import FeatureChoice, LinearMap, ScaledSpace

METRICS = ("full", "diagonal")


@estimator
class SVML(MetricTransformerMixin, MarginClassifier):
    """Support vector metric learning: a kernel machine whose Gaussian kernel has a learned Mahalanobis metric.

    The kernel is ``exp(-|L(x - z)|^2)``. L is found by gradient descent on ::

        E(L) + lam |L - L_0|^2 / |L_0|^2,        L_0 = sqrt(gamma) I

    where E is the held-out error of the kernel machine, each row held out once, with a logistic function in place of the 0-1
    loss. The model is then the kernel machine of all rows in that metric ::

        min over v, b:   1/2 v'Kv + C sum_i s_i max(0, 1 - y_i ((Kv)_i + b)),        K_ij = exp(-|L(x_i - x_j)|^2)

    Parameters
    ----------
    C : float, default=1.0
        Weight of the loss.
    lam : float, default=0.01
        Weight of the distance of L from its start. E is at most 1, so that with ``lam=1`` L hardly moves.
    metric : {"full", "diagonal"}, default="full"
        Learn all of L, or a diagonal matrix: feature weights.
    slope : float, default=5.0
        Slope of the logistic function, in units of the margin.
    n_folds : int, default=3
        Number of folds for the held-out error.
    n_steps : int, default=30
        Most gradient steps. With fewer, L stays closer to its start.
    kernel : {"rbf"}
        Only the Gaussian kernel is supported.
    gamma : {"scale", "auto"} or float, default="scale"
        Scale of the initial metric, as in `SVC`. Features should be standardised.
    fit_intercept, class_weight, tol, max_iter, cache_size, n_jobs, verbose
        As in `SVM`; `tol` is the gap of the kernel machine.
    random_state : int, RandomState instance or None, default=None
        Assigns rows to folds.

    Attributes
    ----------
    classes_, intercept_, objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_, support_, support_vectors_, dual_coef_, n_support_
        As in `SVM` with a kernel. Objectives are those of the kernel machine **at the returned metric**. The metric itself is not
        certified: E is not convex, and the result depends on the start.
    components_ : ndarray of shape (n_features, n_features)
        L.
    validation_path_ : ndarray
        Values of E plus penalty in the order of evaluation, the start first; `components_` is that of the smallest one.

    Notes
    -----
    The article itself was not available. According to accounts of it, it has squared slacks, one held-out part, early stopping on
    a further part, and learns C along with L. Here slacks are those of `SVC`, every row is held out once, the number of steps is
    `n_steps`, and C is a parameter. Equal rows of one class are merged into one row with their total weight, so that no copy of
    a held-out row is trained on. With more than two classes one metric serves all pairs of classes, whose errors are summed. A
    step takes time and memory of order n_samples^2 per fold.

    References
    ----------
    Z. Xu, K. Weinberger, O. Chapelle, "Distance metric learning for kernel machines", arXiv:1208.3422 (2012).

    Examples
    --------
    The second feature is uninformative and is shrunk:

    >>> import numpy as np
    >>> from radiusmargin import SVML
    >>> X = np.random.default_rng(0).uniform(-2, 2, size=(80, 2))
    >>> model = SVML(C=10.0, random_state=0).fit(X, np.abs(X[:, 0]) < 1)
    >>> lengths = np.linalg.norm(model.components_, axis=0)
    >>> bool(lengths[1] < lengths[0] / 2), model.dual_gap_ <= 1e-6
    (True, True)
    """

    C: float = 1.0
    lam: float = 0.01
    _: KW_ONLY
    metric: str = "full"
    slope: float = 5.0
    n_folds: int = 3
    n_steps: int = 30
    kernel: str = "rbf"
    gamma: Gamma = "scale"
    fit_intercept: bool = True
    class_weight: ClassWeight = None
    tol: float = 1e-6
    max_iter: int = 1000
    cache_size: float = 500
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self):
        check_common(self)
        check_choice("kernel", self.kernel, ("rbf",))
        check_choice("metric", self.metric, METRICS)
        check_number("lam", self.lam, 0)
        check_positive("slope", self.slope)
        check_number("n_folds", self.n_folds, 2)
        check_count("n_folds", self.n_folds)
        check_count("n_steps", self.n_steps)

    def _fit_data(self, training, callbacks):
        training = _distinct(training)
        found = self._fit_metric(training)
        mapped = replace(training, X=training.X @ found.root.T)
        choice = FeatureChoice("rbf", gamma=1.0, cache_size=self.cache_size)
        options = Options(float(self.tol), int(self.max_iter), self.n_jobs)
        fit = fit_kernel_machine(choice, mapped, self.C, options, callbacks, keep_scores=False)
        model = replace(fit.model, space=ScaledSpace(fit.model.space, LinearMap(found.root)))
        self._keep_expansion(replace(fit, model=model, vectors=training.X[fit.support]), training)
        self.components_, self.validation_path_ = found.root, np.array(found.history)

    def _fit_metric(self, training):
        gamma = resolve_gamma(self.gamma, training.X, training.costs)
        error = ValidationError(
            training.X, np.asarray(training.labels), training.costs, float(self.C), self._folds(training.codes),
            float(self.slope), bool(self.fit_intercept), float(self.tol),
        )  # fmt: skip
        start = np.sqrt(gamma) * np.eye(training.X.shape[1])
        return svml(error, start, float(self.lam), diagonal=self.metric == "diagonal", n_steps=self.n_steps)

    def _folds(self, codes):
        """Assign every row to a fold, stratified by class, in random order."""
        order = check_random_state(self.random_state).permutation(len(codes))
        fold = np.empty(len(codes), dtype=np.int64)
        fold[order[np.argsort(codes[order], kind="stable")]] = np.arange(len(codes)) % int(self.n_folds)
        return fold

    @by_rows
    def transform(self, X: ArrayLike) -> np.ndarray:
        """Map every row to ``L x``, where Euclidean distances are distances in the learned metric."""
        return self._validated(X) @ self.components_.T


def _distinct(training):
    """Merge equal rows of one class into one row with their total weight."""
    table = np.column_stack([training.codes, training.X]) + 0.0  # negative zeros are zeros
    _, first, group = np.unique(table, axis=0, return_index=True, return_inverse=True)
    weight = np.bincount(group.ravel(), training.weight)
    return replace(training, X=training.X[first], codes=training.codes[first], weight=weight, kept=training.kept[first])
