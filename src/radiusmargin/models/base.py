"""What every model shares: validation, labels, weights, the kernel map, and the results it keeps."""

from __future__ import annotations

import warnings
from abc import ABC, abstractmethod
from contextlib import contextmanager
from numbers import Real

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_array, check_is_fitted, validate_data

from .._compat import CallbackSupportMixin, callback_context, with_callbacks
from ..kernels import KernelMap
from ..solvers._validation import check_count
from ..solvers.result import relative_gap
from .components import left_out_matters, map_all_features, map_features
from .multiclass import Reduction


class MarginClassifier(ClassifierMixin, CallbackSupportMixin, BaseEstimator, ABC):
    """A linear classifier in the space of its features, which are the data or a kernel map of them.

    A model says how one column of labels is solved: ``_solve_column(X, column, weight, k)`` returns a result with coef,
    intercept, objective, dual_objective and n_iter. Where columns are solved together it overrides `_solve` instead.
    Everything else is here.
    """

    _accepts_sparse = False

    @with_callbacks
    def fit(self, X, y, sample_weight=None):
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; an integer weight equals that many copies of the row.

        Returns
        -------
        self
        """
        self._check_parameters()
        X, y, weight = self._check_training_data(X, y, sample_weight)
        try:
            self._fit_checked(X, y, weight)
        finally:
            del self._kept_rows
        self._warn_unless_converged()
        return self

    def _fit_checked(self, X, y, weight):
        """`fit` without its checks, for arrays that were checked already; y holds numbers of `classes_`."""
        weight = weight * self._class_factors(y, weight)[y]
        context = callback_context(self)
        context.call_on_fit_task_begin(estimator=self, X=X, y=y)
        features = self._map_training_features(X, weight)
        columns = self._reduction.columns(y)
        self._callback_context = context
        try:
            self._solve(features, columns, weight, y)
            if self._may_grow and left_out_matters(self.kernel_map_, X, columns, self._multipliers):
                self._solve(map_all_features(self.kernel_map_, X, weight), columns, weight, y)
        finally:
            del self._callback_context
            self.__dict__.pop("_multipliers", None)
            if self._may_grow:
                del self.kernel_map_.gram_
        context.call_on_fit_task_end(estimator=self, X=X, y=y)

    def decision_function(self, X):
        """Scores of the classes: of the second against the first, or one column per class.

        Of more than two classes, compared in pairs, they are the votes for a class; a fraction between -1/3 and 1/3, from
        the sum of its pairs' scores, decides between equal numbers of votes.
        """
        scores = linear_scores(getattr(self, "kernel_map_", None), self._validated(X), self.coef_) + self.intercept_
        return self._class_scores(scores)

    def _class_scores(self, scores):
        scores = self._reduction.class_scores(scores)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        """The class with the highest score."""
        scores = self.decision_function(X)
        index = (scores > 0).astype(int) if scores.ndim == 1 else scores.argmax(axis=1)
        return self.classes_[index]

    # -- to be provided by a model ------------------------------------------------------------------------------

    @abstractmethod
    def _check_parameters(self):
        """Raise a ValueError that names a parameter that is out of range."""

    def _solve(self, X, columns, weight, y):
        """Solve all labellings and keep what was learnt; one after the other unless a model knows better."""
        results = [self._one_column(X, column, weight, k) for k, column in enumerate(columns)]
        self._keep(results, np.array([r.coef for r in results]), np.array([r.intercept for r in results]))
        return results

    def _one_column(self, X, column, weight, k):
        with self._told_of_problems(X, [column]):
            result = self._solve_column(X, column, weight, k)
        self._report(k, result)
        return result

    @contextmanager
    def _told_of_problems(self, X, columns):
        """Around the solution of some labellings: scikit-learn's callbacks hear of each."""
        contexts = [self._callback_context.subcontext(task_name="problem") for _ in columns]
        for context, column in zip(contexts, columns, strict=True):
            context.call_on_fit_task_begin(estimator=self, X=X, y=column)
        yield
        for context, column in zip(contexts, columns, strict=True):
            context.call_on_fit_task_end(estimator=self, X=X, y=column)

    def _report(self, k, result):
        if self.verbose:
            print(
                f"[{type(self).__name__}] problem {k + 1}: objective {result.objective:.6g}, gap {result.gap:.2g}, "
                f"{result.n_iter} iterations"
            )

    # -- shared -------------------------------------------------------------------------------------------------

    def _losses(self, scores, columns, weight, intercept):
        """C times the hinge loss of every labelling, for the scores (n, K) without the intercepts."""
        margins = columns * (scores + intercept).T
        return self.C * (np.maximum(0.0, 1.0 - margins) * (columns != 0)) @ weight

    def _keep(self, results, coef, intercept, objectives=None):
        """Set the fitted attributes; objectives are summed over the labellings.

        `objectives` are those of the separators as they are returned, where the solver has worked in other units.
        """
        self.coef_ = coef
        self.intercept_ = np.asarray(intercept, dtype=float)
        self.objective_ = float(sum(r.objective for r in results) if objectives is None else np.sum(objectives))
        self.dual_objective_ = min(float(sum(r.dual_objective for r in results)), self.objective_)
        self.dual_gap_ = relative_gap(self.objective_, self.dual_objective_)
        self.n_iter_ = max(1, int(sum(r.n_iter for r in results)))

    def _warn_unless_converged(self):
        if not self.dual_gap_ <= self.tol:
            warnings.warn(
                f"{type(self).__name__} stopped at a relative gap of {self.dual_gap_:.2g} (tol={self.tol:g}) after "
                f"{self.n_iter_} iterations. Increase max_iter or tol; where a feature's mean is large beside its "
                "spread, subtract it: separators in such units are rounded.",
                ConvergenceWarning,
                stacklevel=3,
            )

    def _check_training_data(self, X, y, sample_weight):
        accept = "csr" if self._accepts_sparse else False
        X, y = validate_data(self, X, y, accept_sparse=accept, dtype=np.float64, ensure_min_samples=2)
        if sparse.issparse(X) and not X.has_canonical_format:
            X = X.copy()
            X.sum_duplicates()
        elif not (sparse.issparse(X) or X.flags.aligned):  # a field of packed records
            X = X.copy()
        if y.dtype.kind not in "iub":  # integers are classes; asking costs as much as a small fit
            check_classification_targets(y)
        weight = check_weights(sample_weight, len(y))
        if not weight.any():
            raise ValueError("sample_weight must not be zero for every sample.")
        # A row of weight zero is a row left out: also of the classes.
        # (A precomputed kernel keeps them, since its columns are rows too; the solvers leave them out.)
        drop = not (isinstance(self.kernel, str) and self.kernel == "precomputed")
        self._kept_rows = np.flatnonzero(weight) if drop else np.arange(len(y))
        if drop and not weight.all():
            X, y, weight = X[self._kept_rows], y[self._kept_rows], weight[self._kept_rows]
        classes = np.unique(y)
        codes = np.searchsorted(classes, y)  # `return_inverse` would sort a second time
        if len(classes) < 2:
            raise ValueError(
                f"{type(self).__name__} needs samples of at least 2 classes in the data (of positive weight), but "
                f"it contains only one class: {classes.tolist()}."
            )
        self.classes_, self._pairwise = classes, self._in_pairs
        return X, codes, weight

    def _class_factors(self, codes, weight):
        return class_weights(self.class_weight, self.classes_, codes, weight)

    @property
    def _reduction(self):
        """How more than two classes have become problems of two."""
        return Reduction(len(self.classes_), pairs=self._pairwise)

    _in_pairs = True

    def _map_training_features(self, X, weight):
        """The data themselves, or the explicit features of a kernel: every kernel model is linear in those."""
        self.__dict__.pop("kernel_map_", None)
        if self._is_linear:
            return X
        self.kernel_map_ = self._make_kernel_map()
        return map_features(self.kernel_map_, X, weight, euclidean=self._may_grow)

    _is_euclidean = False  # whether only inner products of the features matter; `_solve` then sets `_multipliers`

    @property
    def _may_grow(self):
        """Any basis of the kernel map will do, and more components can only help, unless the user has chosen."""
        chosen = self.n_components is not None or hasattr(self.kernel, "fit_transform")
        return self._is_euclidean and not (self._is_linear or chosen)

    @property
    def _is_linear(self):
        return isinstance(self.kernel, str) and self.kernel == "linear" and self.n_components is None

    def _make_kernel_map(self):
        """The map of the model's kernel parameters, or the transformer that was given in place of a kernel."""
        if hasattr(self.kernel, "fit_transform"):
            return clone(self.kernel)
        return KernelMap(
            kernel=self.kernel, gamma=self.gamma, degree=self.degree, coef0=self.coef0,
            n_components=self.n_components, whitening=getattr(self, "whitening", 0.0), random_state=self.random_state,
        )  # fmt: skip

    def _validated(self, X):
        check_is_fitted(self)
        accept = "csr" if self._accepts_sparse else False
        return validate_data(self, X, accept_sparse=accept, dtype=np.float64, reset=False)

    def _features(self, X):
        X = self._validated(X)
        return self.kernel_map_.transform(X) if hasattr(self, "kernel_map_") else X

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.pairwise = self.kernel == "precomputed"
        return tags


def check_weights(sample_weight, n):
    """Finite non-negative weights, one per row."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        weight = np.full(n, float(sample_weight))
    else:
        weight = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", accept_sparse=False
        )
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weight.shape}.")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got a minimum of {weight.min():g}.")
    return weight


def class_weights(class_weight, classes, codes, weight):
    """One factor per class: None, "balanced" (over the weights, so that a weight equals copies), or a dict."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        totals = np.bincount(codes, weight, minlength=len(classes))
        return np.divide(weight.sum() / len(classes), totals, out=np.ones(len(classes)), where=totals > 0)
    if isinstance(class_weight, dict):
        factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not np.isfinite(factors).all() or (factors <= 0).any():
            raise ValueError(f"class_weight must hold positive numbers, got {class_weight!r}.")
        return factors
    raise ValueError(f"class_weight must be None, 'balanced' or a dict of class to weight, got {class_weight!r}.")


def check_choice(name, value, choices):
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_number(name, value, low, high=np.inf, *, low_allowed=True, high_allowed=False):
    """A real number in an interval, or a ValueError that names parameter, value and range."""
    ok = isinstance(value, Real) and not isinstance(value, bool)
    ok = ok and (value >= low if low_allowed else value > low) and (value <= high if high_allowed else value < high)
    if not ok:
        left, right = "[" if low_allowed else "(", "]" if high_allowed else ")"
        raise ValueError(f"{name} must be a number in {left}{low:g}, {high:g}{right}, got {value!r}.")


def check_common(model):
    """The parameters that every model has."""
    check_number("C", model.C, 0, low_allowed=False)
    check_number("tol", model.tol, 0, low_allowed=False)
    check_count("max_iter", model.max_iter)


def linear_scores(kernel_map, X, coef):
    """Scores of linear models on validated rows, or on their features, which a `KernelMap` need not form."""
    if isinstance(kernel_map, KernelMap):
        return kernel_map.transform_times(X, coef.T)
    return np.asarray((X if kernel_map is None else kernel_map.transform(X)) @ coef.T)


def without_columns(X, mask):
    """X with some columns set to zero."""
    return sparse.csr_array(X.multiply(~mask)) if sparse.issparse(X) else np.where(mask, 0.0, X)


def as_dense(X):
    return X.toarray() if sparse.issparse(X) else X
