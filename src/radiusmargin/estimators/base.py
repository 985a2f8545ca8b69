"""Base classes of the estimators.

First the validated training data of a fit and the callbacks while it runs; then `MarginEstimator`, the scikit-learn protocol that
the searches share; then `MarginClassifier`, one model with its own `fit`; last the base classes of the models that F-SVM is
compared with, by how their binary problems are solved.
"""

from __future__ import annotations

import sys
import warnings
from abc import ABC, abstractmethod
from collections.abc import Callable
from contextlib import ExitStack, contextmanager, nullcontext
from dataclasses import KW_ONLY, dataclass, replace
from functools import cached_property, partial, wraps
from typing import Any, ClassVar, Self

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin, RegressorMixin
from sklearn.utils.multiclass import check_classification_targets
from sklearn.utils.validation import check_is_fitted, validate_data

from .._checks import (
    ConvergenceWarning,
    canonical,
    check_class_labels,
    check_count,
    check_positive,
    check_sparse_indices,
    check_weights,
    is_plain_matrix,
)
from .._compat import CallbackSupportMixin, VersionedPickleMixin, callback_context, reported_task, with_callbacks
from .._types import ArrayLike, ClassWeight, Data, Gamma, KernelLike, RandomState
from ..multiclass import MulticlassReduction, check_several, class_weights, taking_part
from ..outofcore import in_chunks, map_chunks
from ..outofcore.fit import ChunkedTraining, keep_history, print_pass
from ..solvers import IDENTITY, Batch, ClassLabels, Options, relative_gap, rows_of, solve
from ..solvers.result import Certificate
from . import onnx
from .decision import DecisionModel, LinearModel
from .features import FeatureChoice, Mapped, Raw


@dataclass(frozen=True, eq=False)
class TrainingData:
    """Validated training rows of positive weight, with class codes and weights.

    Attributes
    ----------
    X : ndarray or csr matrix of shape (n, d)
    codes : ndarray of shape (n,)
        Class of each row, as an index of `classes_`.
    weight : ndarray of shape (n,)
        Sample weights, without class weights.
    kept : ndarray of shape (n,)
        Indices of these rows in the X that was given to `fit`.
    reduction : MulticlassReduction
        How the classes become binary problems.
    factors : ndarray of shape (n_classes,)
        Class weights.
    intercept : bool, default=True
        Whether separators have an intercept.
    groups : ndarray of shape (d,), optional
        For each column the number of the category column that it indicates, -1 for other columns. None if there are no categories.
    """

    X: Any
    codes: np.ndarray
    weight: np.ndarray
    kept: np.ndarray
    reduction: MulticlassReduction
    factors: np.ndarray
    intercept: bool = True
    groups: np.ndarray | None = None

    @cached_property
    def labels(self) -> ClassLabels:
        """One vector of labels -1, 0 and +1 per binary problem."""
        return self.reduction.columns(self.codes)

    @cached_property
    def costs(self) -> np.ndarray:
        """Weights of the losses: sample weights times class weights."""
        return self.weight * self.factors[self.codes]

    def at(self, rows) -> TrainingData:
        """Return some of the rows, by number."""
        own = {name: getattr(self, name)[rows] for name in ("X", "codes", "weight", "kept")}
        return replace(self, **own)


# -- Progress of a fit: scikit-learn's callbacks, and lines on the terminal --------------------------------------------


class FitCallbacks:
    """Report the progress of one fit to scikit-learn's callbacks and, with `verbose`, to the terminal."""

    def __init__(self, model, X, y):
        self.model, self.context, self.data = model, callback_context(model), {"X": X, "y": y}

    def fit(self):
        """Context manager around the whole fit."""
        return nullcontext() if self.context is None else reported_task(self.context, self.model, **self.data)

    def problems(self, labels):
        """Context manager around the solution of binary problems that are solved together."""
        return nullcontext() if self.context is None else self._report_problems(labels)

    @contextmanager
    def _report_problems(self, labels):
        with ExitStack() as stack:
            for y in labels:
                context = self.context.subcontext(task_name="problem")
                stack.enter_context(reported_task(context, self.model, X=self.data["X"], y=y))
            yield

    @property
    def pairs(self):
        """Callback of a kernel solver, called with the number of SMO steps and the gap; None unless `verbose`."""
        return self._print_pairs if self.model.verbose else None

    def _print_pairs(self, pairs, gap):
        print(f"\r[{type(self.model).__name__}] {pairs:,} pairs, gap {gap:.2g} ", end="", file=sys.stderr, flush=True)

    def report(self, k, result):
        """A line on problem k, where `verbose` asks for it."""
        if self.model.verbose:
            how = "".join(f", {word}" for word in (result.method, result.status) if word)
            print(
                f"[{type(self.model).__name__}] problem {k + 1}: objective {result.objective:.6g}, gap {result.gap:.2g}, "
                f"{result.n_iter} iterations{how}"
            )


# -- The estimator protocol of scikit-learn ------------------------------------------------------------------------------


# Parameters are dataclass fields: the constructor stores them and does nothing else, as scikit-learn requires. Fields of a
# subclass follow those of its parent, keyword-only ones last.
estimator = dataclass(eq=False, repr=False, match_args=False)


def by_rows(method):
    """Let a method of X take rows in chunks too: lazily for a dask collection, chunk by chunk for others."""

    @wraps(method)
    def of_rows(self, X):
        if type(X) is np.ndarray or not in_chunks(X):
            return method(self, X)
        check_is_fitted(self)
        return map_chunks(partial(method, self), X)

    return of_rows


class CertifiedEstimator(CallbackSupportMixin, VersionedPickleMixin, BaseEstimator):
    """Estimator of rows of numbers whose fit has a certificate."""

    _accepts_sparse = False
    _private_fitted: tuple[str, ...] = ("_model",)  # private fitted attributes; public ones end in an underscore

    def __sklearn_is_fitted__(self) -> bool:
        return hasattr(self, "_model")

    def _reset(self):
        """Delete the fitted attributes of an earlier fit, so that none survives if this fit fails or does not set it."""
        for name in [name for name in vars(self) if name.endswith("_") or name in self._private_fitted]:
            delattr(self, name)

    def _certify(self, found: Certificate):
        """Set the certificate summed over all binary problems. NaN (no bound available) is kept."""
        self.objective_, self.n_iter_ = found.objective, max(1, found.n_iter)
        self.dual_objective_ = min(found.dual_objective, self.objective_)
        self.dual_gap_, self.max_dual_gap_ = relative_gap(self.objective_, self.dual_objective_), found.max_gap

    def _warn_unless_converged(self, tol=None):
        tol = self.tol if tol is None else tol
        if self.max_dual_gap_ > tol:
            of_all = f", {self.dual_gap_:.2g} over all problems," if self.dual_gap_ < self.max_dual_gap_ else ""
            warnings.warn(
                f"{type(self).__name__} stopped at a relative gap of {self.max_dual_gap_:.2g} (tol={tol:g}){of_all} after "
                f"{self.n_iter_} iterations. Increase max_iter or tol. {self._remedy}",
                ConvergenceWarning,
                stacklevel=3,
            )

    @property
    def _remedy(self) -> str:
        """Advice for the warning that the tolerance was not reached."""
        if getattr(self, "whitening", -1.0) == 0:
            return "A smaller C converges faster. If the mean of a feature is large compared with its spread, subtract the mean."
        return (
            "If a feature has far larger numbers than the others, scale it, as FSVM(whitening=0) does. If the mean of a feature is "
            "large compared with its spread, subtract the mean."
        )

    def _validated(self, X):
        check_is_fitted(self)
        check_sparse_indices(X)
        if is_plain_matrix(X, sparse_too=self._accepts_sparse):
            if X.shape[1] != self.n_features_in_ or hasattr(self, "feature_names_in_"):
                validate_data(self, X, reset=False, skip_check_array=True)  # for its error or its warning
            return canonical(X)
        return canonical(self._as_numbers(X, reset=False))

    def _as_numbers(self, X, *y, **how):
        """Validate rows, and labels of a fit, as scikit-learn does; texts and gaps are refused with a remedy."""
        accept = "csr" if self._accepts_sparse else False
        try:
            return validate_data(self, X, *y, accept_sparse=accept, dtype=np.float64, **how)
        except (TypeError, ValueError) as error:
            first = str(error).partition("\n")[0].rstrip(".")
            if not any(
                words in first for words in ("X contains NaN", "could not convert string", "could not be promoted")
            ):
                raise
            raise ValueError(
                f"{first}. {type(self).__name__} takes numbers without gaps: put a TableEncoder before it in a pipeline. AutoSVM and "
                "FSVMCV encode tables themselves."
            ) from error


class CertifiedRegressor(RegressorMixin, CertifiedEstimator):
    """Certified estimator of one or several quantities."""

    def _validated_both(self, X, y):
        """Validate rows and targets of a fit."""
        check_sparse_indices(X)
        if np.asarray(y).dtype.kind in "USO" and any(
            isinstance(value, str) for value in np.ravel(np.asarray(y, dtype=object))
        ):
            raise ValueError(
                f"y holds texts, and {type(self).__name__} predicts a quantity. For classes take AutoSVM or SVM."
            )
        several = self.__sklearn_tags__().target_tags.multi_output
        X, y = self._as_numbers(X, y, ensure_min_samples=2, y_numeric=True, multi_output=several)
        return canonical(X), y.astype(float)


class MarginEstimator(ClassifierMixin, CertifiedEstimator, ABC):
    """Classifier that is linear in a feature space: the data, a feature map, or a kernel. Subclasses provide `fit`."""

    @by_rows
    def decision_function(self, X: Data) -> np.ndarray:
        """Return scores of the classes: of the second against the first, or one column per class.

        If several classes are compared in pairs, a score is the number of votes for a class. A fraction between -1/3 and 1/3,
        from the sum of its pairs' scores, breaks ties.
        """
        model = self._fitted_model()
        return model.decisions(self._validated(X))

    @by_rows
    def predict(self, X: Data) -> np.ndarray:
        """Return the class with the highest score for every row."""
        model = self._fitted_model()
        return self.classes_[model.codes(self._validated(X))]

    @property
    def decision_model(self) -> DecisionModel:
        """The fitted separators with their feature space and multi-class reduction; a NotFittedError before `fit`."""
        return self._fitted_model()

    def features(self, X: Data) -> np.ndarray:
        """Map rows to the space in which the model is linear: X itself, or the features of its kernel map."""
        return self.decision_model.features(self._validated(X))

    def _fitted_model(self):
        check_is_fitted(self)
        return self._model

    # The three methods that skl2onnx looks for; they return functions.

    def onnx_parser(self) -> Callable:
        """Return the function that declares the outputs of the ONNX graph of a linear model."""
        return lambda scope, inputs: onnx.outputs(self, scope)

    def onnx_shape_calculator(self) -> Callable:
        """Return the function that sets the shapes of these outputs."""
        return onnx.shapes

    def onnx_converter(self) -> Callable:
        """Return the function that adds the operators of a linear model to an ONNX graph."""
        return onnx.convert

    # -- to be provided by a model ------------------------------------------------------------------------------

    @abstractmethod
    def _check_parameters(self):
        """Raise a ValueError that names the parameter if one is out of range."""

    @abstractmethod
    def _check_chunks(self):
        """Raise a ValueError if the model, with these parameters, needs all rows in memory."""

    @property
    def _in_pairs(self) -> bool | None:
        """Whether several classes are compared in pairs; None lets `MulticlassReduction.chosen` decide."""
        asked = getattr(self, "multi_class", None)  # not all models have it
        return None if asked is None else asked == "ovo"

    # -- shared -------------------------------------------------------------------------------------------------

    def _keep(self, space, training, results, separators=None):
        """Set the fitted attributes from one result per problem; objectives are summed.

        `separators` is (coef, intercept) in the user's units, if the results are in other coordinates.
        """
        coef, intercept = separators or (np.array([r.coef for r in results]), np.array([r.intercept for r in results]))
        if isinstance(space, Mapped):
            self.kernel_map_ = space.transformer
        self.coef_, self.intercept_ = coef, np.asarray(intercept, dtype=float)
        self._model = LinearModel(space, self.coef_, self.intercept_, training.reduction)
        numbers = np.array([(r.objective, r.dual_objective, r.n_iter) for r in results])
        self._certify(Certificate.of(*numbers.T))

    def _keep_expansion(self, fit, training):
        """Set the fitted attributes from an `ExpansionFit`; kernel machines have no `coef_`."""
        self._model, self.intercept_ = fit.model, fit.model.intercept
        self.support_, self.support_vectors_, self.dual_coef_ = training.kept[fit.support], fit.vectors, fit.dual_coef
        self.n_support_ = np.bincount(training.codes[fit.support], minlength=training.reduction.n_classes)
        self._certify(fit.certificate)

    def _check_training(self, X, y, sample_weight) -> TrainingData:
        X, y = self._validated_both(X, y)
        if not (sparse.issparse(X) or X.flags.aligned):  # a field of packed records
            X = X.copy()
        if y.dtype.kind not in "iub":  # integers are classes; asking costs as much as a small fit
            check_classification_targets(y)
        weight = np.ones(len(y)) if sample_weight is None else check_weights(sample_weight, len(y))
        # A row of weight zero is left out, and defines no class. A precomputed kernel keeps it, since columns are rows too; the
        # solvers leave it out.
        drop = not (isinstance(self.kernel, str) and self.kernel == "precomputed")
        if not drop and X.shape[0] != X.shape[1]:
            raise ValueError(
                f"kernel='precomputed' takes the square matrix of kernel values between rows, got {X.shape}."
            )
        kept = np.flatnonzero(weight) if drop else np.arange(len(y))
        if drop and len(kept) < len(y):
            X, y, weight = X[kept], y[kept], weight[kept]
        positive = np.count_nonzero(weight) == len(weight)
        self.classes_ = np.unique(y if positive else y[weight > 0])
        codes = self.classes_.searchsorted(y)  # `return_inverse` would sort a second time
        if not positive:  # rows of a class without weight may have any code
            codes = np.minimum(codes, len(self.classes_) - 1)
        check_several(self, self.classes_)
        linear = isinstance(self.kernel, str) and self.kernel in ("linear", "auto")  # "auto" is linear on sparse rows
        reduction = MulticlassReduction.chosen(len(self.classes_), self._in_pairs, X, linear=linear)
        factors = class_weights(self.class_weight, self.classes_, codes, weight)
        return TrainingData(X, codes, weight, kept, reduction, factors, bool(self.fit_intercept))

    def _reads_chunks(self, X) -> bool:
        """Tell whether to read rows in chunks. A memory map is read as a whole if the model needs all rows in memory."""
        if type(X) is np.ndarray or not in_chunks(X):
            return False
        try:
            self._check_chunks()
        except ValueError:
            if isinstance(X, np.ndarray):
                return False
            raise
        return True

    def _validated_both(self, X, y):
        """Validate rows and labels of a fit. Finite matrices with integer labels skip scikit-learn's slower checks."""
        check_sparse_indices(X)
        whole = type(y) is np.ndarray and y.ndim == 1 and y.dtype.kind in "iub"
        if whole and is_plain_matrix(X, sparse_too=self._accepts_sparse) and X.shape[0] == len(y) > 1:
            self.n_features_in_ = X.shape[1]  # all that `validate_data` would do, at 15 % of the time of a small fit
        else:
            if y is not None:
                check_class_labels(y)
            X, y = self._as_numbers(X, y, ensure_min_samples=2)
        return canonical(X), y

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.sparse = self._accepts_sparse
        tags.input_tags.pairwise = isinstance(self.kernel, str) and self.kernel == "precomputed"
        return tags


class MarginClassifier(MarginEstimator):
    """One model. A subclass implements `_fit_data`, which solves its problems and calls `_keep` with the results."""

    @with_callbacks
    def fit(self, X: Data, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        """Fit the model.

        Parameters
        ----------
        X : array-like of shape (n_samples, n_features)
            Computation is in double precision: other numbers, dense or sparse, are copied.
            `FSVM` and `SVM` take rows in chunks as well: a dask array or data frame, an array on disk, or a function that
            returns an iterator of ``(X, y)`` or ``(X, y, sample_weight)`` each time it is called.
        y : array-like of shape (n_samples,)
            Class labels.
        sample_weight : array-like of shape (n_samples,), optional
            Non-negative weights; an integer weight equals that many copies of the row.

        Returns
        -------
        self
        """
        self._reset()
        self._check_parameters()
        if self._reads_chunks(X):
            self._fit_chunks(X, y, sample_weight)
        else:
            training = self._check_training(X, y, sample_weight)
            callbacks = FitCallbacks(self, training.X, training.codes)
            with callbacks.fit():
                self._fit_data(training, callbacks)
        self._warn_unless_converged()
        return self

    @abstractmethod
    def _fit_data(self, training, callbacks):
        """Map the features, solve the binary problems, keep the results."""

    # -- rows in chunks -------------------------------------------------------------------------------------------

    def _check_chunks(self):
        self._scatter_in_chunks()
        check_linear(self)

    def _fit_chunks(self, X, y, sample_weight):
        callbacks = FitCallbacks(self, X, y)
        with callbacks.fit():
            training = ChunkedTraining.of(
                self, (X, y, sample_weight), pairs=self._in_pairs, full=self._scatter_in_chunks()
            )
            results = self._fit_chunked(training)
        for k, result in enumerate(results):
            callbacks.report(k, result)

    def _solve_chunks(self, training, form, tol):
        """Solve every binary problem on rows in chunks; keep separators and history."""
        options = Options(tol, int(self.max_iter))
        (results,) = training.solve([(float(self.C), form)], options, print_pass(self))
        self._keep(Raw(), training, results)
        keep_history(self, results)
        return results

    def _scatter_in_chunks(self) -> bool:
        """Tell whether a fit on chunks needs scatter matrices; a ValueError if the model cannot take chunks."""
        raise ValueError(
            f"{type(self).__name__} needs its rows in memory. FSVM, SVM, FSVMCV and AutoSVM take rows in chunks; or fit to a sample "
            "of the rows."
        )


def check_common(model):
    """Check the parameters that every model has."""
    check_positive("C", model.C)
    check_positive("tol", model.tol)
    check_count("max_iter", model.max_iter)


def check_linear(model):
    """Raise a ValueError unless a model is linear in the features of the data."""
    if not FeatureChoice.of(model).is_linear:
        raise ValueError(
            f"{type(model).__name__} takes rows in chunks only with kernel='linear' and n_components=None, got "
            f"kernel={model.kernel!r}: map the features of each chunk first, or fit to a sample in memory."
        )


# -- Models that F-SVM is compared with ------------------------------------------------------------------------------------


@estimator
class Baseline(MarginClassifier):
    """Base of the compared models: C, and the keyword parameters shared with FSVM.

    A subclass declares its own hyper-parameters after C, before the keywords.
    """

    C: float = 1.0
    _: KW_ONLY
    kernel: KernelLike = "linear"
    gamma: Gamma = "scale"
    degree: int = 3
    coef0: float = 0.0
    n_components: float | None = None
    fit_intercept: bool = True
    class_weight: ClassWeight = None
    tol: float = 1e-6
    max_iter: int = 1000
    random_state: RandomState = None
    verbose: int = 0

    def _check_parameters(self):
        check_common(self)


@estimator
class HingeBaseline(Baseline):
    """A model whose binary problems are one batch of the hinge solver."""

    _accepts_sparse = True

    _: KW_ONLY
    n_jobs: int | None = None

    @property
    def _options(self):
        return Options(float(self.tol), int(self.max_iter), self.n_jobs)

    def _solve_hinge(self, rows, training, callbacks, regularizers=IDENTITY):
        """Return one result per binary problem."""
        batch = Batch(
            rows_of(rows), training.labels, training.costs, np.array([float(self.C)]), regularizers,
            intercept=training.intercept,
        )  # fmt: skip
        with callbacks.problems(training.labels):
            found = solve(batch, self._options)
        results = [found[k, 0] for k in range(len(found))]
        for k, result in enumerate(results):
            callbacks.report(k, result)
        return results


class ColumnwiseBaseline(Baseline):
    """A model whose binary problems are solved one after the other."""

    def _fit_data(self, training, callbacks):
        space = FeatureChoice.of(self).explicit(0.0)
        rows = space.fit(training.X, training.costs)
        results = []
        for k, y in enumerate(training.labels):
            with callbacks.problems([y]):
                results.append(self._solve_problem(rows, y, training.costs))
            callbacks.report(k, results[-1])
        self._keep(space, training, results)
        self._describe(results, rows, training)

    @abstractmethod
    def _solve_problem(self, rows, y, costs):
        """Solve one binary problem; rows labelled 0 take no part."""

    def _describe(self, results, rows, training):
        """Set further fitted attributes of the model."""


class ConicClassifier(ColumnwiseBaseline):
    """A model whose binary problems a function of `radiusmargin.solvers.conic` solves.

    A subclass names that function and its hyper-parameters, and keeps further results in `_describe`.
    """

    _solver: ClassVar[Callable]
    _hyperparameters: ClassVar[tuple[str, ...]] = ()

    def _solve_problem(self, rows, y, costs):
        y, costs = taking_part(y, costs)
        hyperparameters = {name: float(getattr(self, name)) for name in self._hyperparameters}
        return self._solver(
            rows, y, float(self.C), **hyperparameters, sample_weight=costs, fit_intercept=bool(self.fit_intercept),
            tol=self.tol, max_iter=int(self.max_iter),
        )  # fmt: skip
