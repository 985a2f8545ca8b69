"""Support vector regression and quantile regression, with a certified solver."""

from __future__ import annotations

import sys
from abc import abstractmethod
from collections.abc import Callable, Sequence
from dataclasses import KW_ONLY, dataclass
from typing import Any, Self

import numpy as np
from sklearn.utils.validation import check_is_fitted

from .._checks import check_count, check_number, check_positive, check_weights
from .._types import ArrayLike, Data, Gamma, KernelLike, RandomState
from ..solvers import Batch, Options, Targets, rows_of, solve
from ..solvers.result import Certificate
from . import onnx
from .base import CertifiedRegressor, by_rows, estimator
from .decision import LinearModel
from .expansion import fit_expansion
from .features import FeatureChoice


@dataclass(frozen=True)
class TargetUnits:
    """Centre of the targets, and a power of two near their spread. Thresholds of the solvers suit a spread of one.

    Nothing is lost: division by a power of two is exact, and the difference from the centre is rounded as it is.
    """

    centre: float
    unit: float

    @classmethod
    def of(cls, y: np.ndarray, weight: np.ndarray, epsilon: float, intercept: bool) -> TargetUnits:
        """Take the median, or zero without an intercept, and the mean distance from it."""
        y, weight = y[weight > 0], weight[weight > 0]
        low, high = float(y.min()), float(y.max())
        centre = float(np.median(y)) if intercept else 0.0
        if intercept and high - low <= 2 * epsilon:  # a constant has no loss
            centre = low + (high - low) / 2
        distance = np.abs(y - centre)
        longest = float(distance.max())
        spread = longest * float(weight @ (distance / longest)) / float(weight.sum()) if longest > 0 else 1.0
        return cls(centre, float(2.0 ** np.clip(np.round(np.log2(spread)), -500, 500)))


@dataclass(frozen=True, eq=False)
class TrainingTargets:
    """Validated training rows with their targets, as batches take them.

    Attributes
    ----------
    X : ndarray or csr matrix of shape (n, d)
    y : ndarray of shape (n,)
    costs : ndarray of shape (n,)
        Weights of the losses.
    kept : ndarray of shape (n,)
        Indices of these rows in the X that was given to `fit`.
    tubes : ndarray of shape (K, 3)
        Epsilon and the weights of the loss above and below the tube, in the user's units.
    intercept : bool
    units : TargetUnits
    """

    X: Any
    y: np.ndarray
    costs: np.ndarray
    kept: np.ndarray
    tubes: np.ndarray
    intercept: bool
    units: TargetUnits

    @property
    def labels(self) -> Targets:
        """The targets in the solver's units, once for every tube."""
        y = (self.y - self.units.centre) / self.units.unit
        return Targets(np.tile(y, (len(self.tubes), 1)), self.tubes / [self.units.unit, 1.0, 1.0])

    def certificate(self, found, C: float, intercept: np.ndarray) -> Certificate:
        """Return the certificate in the user's units; what the intercept and targets were rounded by widens it."""
        reach = np.abs(intercept) + np.abs(self.y - self.units.centre).max() + self.tubes[:, 0]
        slack = np.finfo(float).eps * C * self.costs.sum() * self.tubes[:, 1:].max(axis=1) * reach
        square = self.units.unit**2
        bound = np.where(getattr(found, "definite", True), found.dual_objective, np.nan)[:, 0]
        zero = (found.objective[:, 0] == 0) & (bound == 0)  # a constant, all targets within its tube
        slack = np.where(zero, 0.0, slack)
        return Certificate.of(square * found.objective[:, 0] + slack, square * bound - slack, found.n_iter[:, 0])


@estimator
class TubeRegressor(CertifiedRegressor):
    """Base of the regressions whose loss is linear outside a tube, linear in a feature space."""

    _accepts_sparse = True

    _: KW_ONLY
    kernel: KernelLike = "rbf"
    C: float = 1.0
    gamma: Gamma = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: float | None = None
    fit_intercept: bool = True
    tol: float = 1e-6
    max_iter: int = 1000
    cache_size: float = 500
    n_jobs: int | None = None
    random_state: RandomState = None
    verbose: int = 0

    def fit(self, X: Data, y: ArrayLike, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like or sparse matrix of shape (n_samples, n_features)
            With ``kernel="precomputed"`` the kernel matrix, of shape (n_samples, n_samples).
        y : array-like of shape (n_samples,)
            Targets.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights of the losses; an integer weight equals that many copies of the row.

        Returns
        -------
        self
        """
        self._reset()
        self._check_parameters()
        choice = FeatureChoice.of(self)
        training = self._checked(choice, X, y, sample_weight)
        options = Options(float(self.tol), int(self.max_iter), self.n_jobs, keep_alpha=True)
        fit_features = self._fit_kernel if choice.has_kernel else self._fit_linear
        found, scores = fit_features(choice, training, options)
        self._describe(scores)
        self._certify(training.certificate(found, float(self.C), self.intercept_))
        self._report(found)
        self._warn_unless_converged()
        return self

    @abstractmethod
    def _tubes(self) -> list[tuple[float, float, float]]:
        """Return epsilon and the weights of the loss above and below the tube, for every function that is fitted."""

    def _describe(self, scores):
        """Set further fitted attributes from the scores (K, n) of the training rows."""

    def _check_parameters(self):
        for name in ("C", "tol"):
            check_positive(name, getattr(self, name))
        check_count("max_iter", self.max_iter)

    def _checked(self, choice, X, y, sample_weight):
        X, y = self._validated_both(X, y)
        weight = check_weights(sample_weight, len(y))
        if choice.is_precomputed and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' takes the square matrix of kernel values between rows, got {X.shape}."
            )
        kept = np.arange(len(y)) if choice.is_precomputed else np.flatnonzero(weight)
        X, y, weight = (X, y, weight) if len(kept) == len(y) else (X[kept], y[kept], weight[kept])
        tubes, intercept = np.array(self._tubes(), dtype=float), bool(self.fit_intercept)
        units = TargetUnits.of(y, weight, float(tubes[:, 0].max()), intercept)
        return TrainingTargets(X, y, weight, kept, tubes, intercept, units)

    def _solver_C(self, training):
        return np.array([float(self.C) / training.units.unit])

    def _fit_kernel(self, choice, training, options):
        several = len(training.tubes) > 1
        callback = self._print_pairs if self.verbose else None
        space, found = fit_expansion(choice, training, self._solver_C(training), options, callback, keep_scores=several)
        matrix = found.coef.matrix * training.units.unit
        support = np.unique(matrix.indices)
        own = space.part(support if len(support) else np.array([0]))  # a model file needs a vector
        coef = matrix[:, support].toarray() if len(support) else np.zeros((matrix.shape[0], 1))
        self._set_functions(own, coef, found, training)
        self._set_support(support, matrix[:, support].toarray(), training)
        self.support_vectors_ = own.support[: len(support)]
        return found, found.scores[:, 0] if several else None

    def _fit_linear(self, choice, training, options):
        space = choice.explicit(0.0)
        rows = space.fit(training.X, training.costs)
        batch = Batch(
            rows_of(rows), training.labels, training.costs, self._solver_C(training), intercept=training.intercept
        )
        found = solve(batch, options)
        if hasattr(space, "transformer"):
            self.kernel_map_ = space.transformer
        self.coef_ = found.coef[:, 0] * training.units.unit
        self._set_functions(space, self.coef_, found, training)
        alpha = found.alpha[:, 0] * training.units.unit
        support = np.flatnonzero(alpha.any(axis=0))
        self._set_support(support, alpha[:, support], training)
        several = len(training.tubes) > 1
        return found, batch.rows.scores(found.coef[:, 0]) + found.intercept if several else None

    def _set_functions(self, space, coef, found, training):
        units = training.units
        self.intercept_ = found.intercept[:, 0] * units.unit + units.centre
        self._model = LinearModel(space, coef, self.intercept_, None)

    def _set_support(self, support, dual_coef, training):
        self.support_, self.dual_coef_ = training.kept[support], dual_coef
        self.n_support_ = np.count_nonzero(dual_coef, axis=1)

    def _scores(self, X):
        """Return the values (n, K) of all functions."""
        check_is_fitted(self)
        return self._model.of_scores(lambda scores: scores, self._validated(X))

    def _print_pairs(self, pairs, gap):
        print(f"\r[{type(self).__name__}] {pairs:,} pairs, gap {gap:.2g} ", end="", file=sys.stderr, flush=True)

    def _report(self, found):
        for k in range(len(found) if self.verbose else 0):
            result = found.certificate((k, 0))
            print(
                f"[{type(self).__name__}] problem {k + 1}: gap {result.gap:.2g}, {result.n_iter} iterations, {result.method}, "
                f"{result.status}"
            )

    @property
    def _remedy(self) -> str:
        return "A smaller C converges faster. If features have very different sizes, scale them (StandardScaler)."

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags

    # The three methods that skl2onnx looks for; they return functions.

    def onnx_parser(self) -> Callable:
        """Return the function that declares the output of the ONNX graph of a linear model."""
        return lambda scope, inputs: onnx.value_outputs(scope)

    def onnx_shape_calculator(self) -> Callable:
        """Return the function that sets the shape of this output."""
        return onnx.value_shapes

    def onnx_converter(self) -> Callable:
        """Return the function that adds the operators of a linear model to an ONNX graph."""
        return onnx.convert_values


@estimator
class SVR(TubeRegressor):
    """Epsilon-insensitive support vector regression, with an unpenalised intercept.

    Minimises ``1/2 |w|^2 + C sum_i s_i max(0, |y_i - w'x_i - b| - epsilon)``, or the same in the space of a kernel, to a certified
    gap. It is the model of `sklearn.svm.SVR` (and of its `LinearSVR`, but for the intercept, which that penalises). Epsilon zero is
    the absolute loss.

    Parameters
    ----------
    kernel : str or callable, default="rbf"
        "linear", "rbf", "laplacian", "poly", "sigmoid", "cosine", "precomputed", or as in `FSVM`.
    C : float, default=1.0
        Weight of the loss.
    epsilon : float, default=0.1
        Half the width of the tube, in the units of the target, within which there is no loss.
    gamma : "scale", "auto" or float, default="scale"
    degree, coef0
        Of the kernel, as in `sklearn.svm.SVR`.
    n_components : float, default=None
        Fit linearly in so many explicit features of the kernel, as in `FSVM`: for many rows.
    fit_intercept : bool, default=True
    tol : float, default=1e-6
        Relative duality gap at which to stop.
    max_iter : int, default=1000
        Iterations of the linear solver, and sweeps over the rows of the kernel solver.
    cache_size : float, default=500
        Megabytes for rows of the kernel.
    n_jobs : int, default=None
        Threads to predict with a kernel.
    random_state : int, RandomState instance or None, default=None
        For the rows that `n_components` features are made of.
    verbose : int, default=0

    Attributes
    ----------
    coef_ : ndarray of shape (1, n_features)
        With linear features.
    intercept_ : ndarray of shape (1,)
    support_ : ndarray of shape (n_support,)
        Indices of the training rows that are not inside the tube.
    dual_coef_ : ndarray of shape (1, n_support)
        Their signed multipliers, between -C and C times their weights.
    support_vectors_ : rows of X
        With a kernel.
    objective_, dual_objective_ : float
        In the units of the target, squared.
    dual_gap_, max_dual_gap_ : float
        Relative gap between them: the objective is at most this fraction of itself above the optimum.
    n_iter_ : int

    Notes
    -----
    Targets are centred and scaled inside by a power of two, so the units of y do not matter for convergence; C, epsilon and all
    that is reported are in the user's units. Features are taken as they are: scale them.

    See Also
    --------
    AutoSVR : Kernels and their parameters are chosen by held-out loss.
    QuantileSVR : Conditional quantiles.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin import SVR
    >>> X = np.linspace(0, 6, 50)[:, None]
    >>> model = SVR(C=10.0, epsilon=0.05).fit(X, np.sin(X[:, 0]))
    >>> bool(abs(model.predict(X) - np.sin(X[:, 0])).max() < 0.06), model.dual_gap_ <= 1e-6
    (True, True)
    """

    _: KW_ONLY
    epsilon: float = 0.1

    def _check_parameters(self):
        super()._check_parameters()
        check_number("epsilon", self.epsilon, 0.0)

    def _tubes(self):
        return [(float(self.epsilon), 1.0, 1.0)]

    @by_rows
    def predict(self, X: Data) -> np.ndarray:
        """Predict the target of every row."""
        return self._scores(X)[:, 0]


@estimator
class QuantileSVR(TubeRegressor):
    """Quantile regression with a kernel (support vector quantile regression), one or several quantiles at once.

    Minimises ``1/2 |w|^2 + C sum_i s_i pinball(y_i - w'x_i - b)`` for every quantile q, where the pinball loss of a residual r is
    ``max(q r, (q - 1) r)``, to a certified gap [1]_. Quantiles are fitted by themselves on shared kernel values. Where their
    curves cross, predictions are sorted, which brings them no farther from the true quantiles [2]_.

    Parameters
    ----------
    quantile : float or list of float, default=0.5
        Quantiles between 0 and 1; a list must be increasing.
    kernel, C, gamma, degree, coef0, n_components, fit_intercept, tol, max_iter, cache_size, random_state, verbose
        As in `SVR`.
    n_jobs : int, default=None
        Threads over quantiles, and to predict.

    Attributes
    ----------
    crossing_ : float
        Share of the training rows at which curves cross before they are sorted.
    coef_, intercept_, support_, dual_coef_, support_vectors_
        As in `SVR`, with a row for each quantile.
    objective_, dual_objective_, dual_gap_, max_dual_gap_, n_iter_
        As in `SVR`, summed over the quantiles; `max_dual_gap_` is the largest gap of one.

    References
    ----------
    .. [1] I. Takeuchi, Q. Le, T. Sears and A. Smola, "Nonparametric quantile estimation", Journal of Machine Learning Research 7
       (2006).
    .. [2] V. Chernozhukov, I. Fernandez-Val and A. Galichon, "Quantile and probability curves without crossing", Econometrica 78
       (2010).

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin import QuantileSVR
    >>> rng = np.random.default_rng(0)
    >>> X = rng.uniform(size=(300, 1))
    >>> y = X[:, 0] * rng.normal(size=300)
    >>> low, high = QuantileSVR(quantile=[0.1, 0.9], C=10.0).fit(X, y).predict(X).T
    >>> bool((low <= high).all()), round(float(np.mean((low <= y) & (y <= high))), 1)
    (True, 0.8)
    """

    _private_fitted = ("_model", "_one_quantile")

    quantile: float | Sequence[float] = 0.5

    @property
    def _quantiles(self):
        return np.atleast_1d(np.asarray(self.quantile, dtype=float))

    def _check_parameters(self):
        super()._check_parameters()
        for quantile in np.atleast_1d(np.asarray(self.quantile, dtype=object)).tolist():
            check_number("quantile", quantile, 0.0, 1.0, low_allowed=False)
        if self._quantiles.ndim > 1 or not len(self._quantiles) or not (np.diff(self._quantiles) > 0).all():
            raise ValueError(f"quantile must be a number or an increasing list of numbers, got {self.quantile!r}.")

    def _tubes(self):
        return [(0.0, q, 1.0 - q) for q in self._quantiles.tolist()]

    def _describe(self, scores):
        self._one_quantile = np.ndim(self.quantile) == 0
        self.crossing_ = 0.0 if scores is None else float(np.mean((np.diff(scores, axis=0) < 0).any(axis=0)))

    @by_rows
    def predict(self, X: Data) -> np.ndarray:
        """Predict the quantiles of the target of every row: of shape (n_samples,), or (n_samples, n_quantiles) for a list."""
        found = np.sort(self._scores(X), axis=1)
        return found[:, 0] if self._one_quantile else found
