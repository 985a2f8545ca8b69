"""Accuracy as a function of the number of kernel components (the paper's Figure 2)."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from numbers import Integral
from typing import Any, Self

import numpy as np
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.metrics import check_scoring
from sklearn.model_selection import check_cv
from sklearn.utils import indexable
from sklearn.utils.validation import check_is_fitted, validate_data

from .._types import ArrayLike, Data
from .kernel_map import KernelMap

_MAP_PARAMETERS = ("kernel", "gamma", "degree", "coef0", "random_state")


class LeadingFeatures(TransformerMixin, BaseEstimator):
    """Transformer that returns the first columns of X: stands in for a kernel if its features are already computed.

    A model whose `kernel` is a transformer is linear in the returned features and does not standardise them, as features of a
    kernel map require.

    Parameters
    ----------
    n_components : int or None, default=None
        Number of columns; None takes all.

    Examples
    --------
    >>> import numpy as np
    >>> LeadingFeatures(2).fit_transform(np.arange(6.0).reshape(2, 3)).tolist()
    [[0.0, 1.0], [3.0, 4.0]]
    """

    def __init__(self, n_components: int | None = None):
        self.n_components = n_components

    def fit(self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None) -> Self:
        available = validate_data(self, X, dtype=np.float64).shape[1]
        self.n_components_ = available if self.n_components is None else min(self.n_components, available)
        return self

    def fit_transform(
        self, X: ArrayLike, y: ArrayLike | None = None, sample_weight: ArrayLike | None = None
    ) -> np.ndarray:
        return self.fit(X).transform(X)

    def transform(self, X: ArrayLike) -> np.ndarray:
        check_is_fitted(self)
        rows = validate_data(self, X, dtype=np.float64, reset=False)
        return np.ascontiguousarray(rows[:, : self.n_components_])


@dataclass(frozen=True, eq=False)
class DimensionPath:
    """Scores of one or more models at several numbers of components.

    Parameters
    ----------
    dimensions : ndarray of shape (n_dimensions,)
    names : tuple of str
        Names of the models.
    scores : ndarray of shape (n_models, n_dimensions, n_folds)
    scoring : str
        Name of the score.
    """

    dimensions: np.ndarray
    names: tuple[str, ...]
    scores: np.ndarray = field(repr=False)
    scoring: str = "accuracy"

    @property
    def mean(self) -> np.ndarray:
        """Mean scores over the folds, of shape (n_models, n_dimensions)."""
        return self.scores.mean(axis=2)

    @property
    def standard_error(self) -> np.ndarray:
        """Standard errors of the mean scores: a rough guide, since folds share training rows."""
        folds = self.scores.shape[2]
        return self.scores.std(axis=2, ddof=1) / np.sqrt(folds) if folds > 1 else np.zeros(self.mean.shape)

    @property
    def best(self) -> dict[str, int]:
        """Dimension with the highest mean score, by model; ties go to the smaller one."""
        return {name: int(self.dimensions[row.argmax()]) for name, row in zip(self.names, self.mean, strict=True)}


def kernel_dimension_path(
    estimators: dict | BaseEstimator,
    X: Data,
    y: ArrayLike,
    dimensions: ArrayLike,
    *,
    kernel_map: KernelMap | None = None,
    cv: Any = 5,
    scoring: str | Callable | None = None,
) -> DimensionPath:
    """Cross-validate models at several numbers of kernel components.

    The map is fitted once per fold, with the largest dimension. Smaller dimensions are its leading columns, which kernel PCA
    with fewer components would return.

    Parameters
    ----------
    estimators : classifier or dict of str to classifier
        Models with a `kernel` parameter: those of this package, or scikit-learn's `SVC`. Other classifiers are fitted to the
        mapped features and need a `kernel_map`.
    X : array-like of shape (n_samples, n_features)
        (n_samples, n_samples) for a precomputed kernel.
    y : array-like of shape (n_samples,)
    dimensions : sequence of int
    kernel_map : KernelMap or None, default=None
        Map for all models; by default each model uses the map of its own parameters. Its `n_components` is not used.
    cv : int, splitter or iterable, default=5
    scoring : str, callable or None, default=None
        None is the accuracy.

    Returns
    -------
    DimensionPath

    Examples
    --------
    >>> from radiusmargin import FSVM
    >>> from radiusmargin.paper.data import make_waveform
    >>> X, y = make_waveform(300, binary=True, random_state=0)
    >>> path = kernel_dimension_path(FSVM(kernel="rbf"), X, y, [1, 10, 200])
    >>> path.mean.shape, path.best
    ((1, 3), {'FSVM': 10})
    """
    estimators = estimators if isinstance(estimators, dict) else {type(estimators).__name__: estimators}
    numbers = _check_dimensions(dimensions)
    X, y = indexable(X, y)
    maps = [_map_of(estimator, kernel_map, numbers[-1]) for estimator in estimators.values()]
    splits = list(check_cv(cv, y, classifier=True).split(X, y))
    scores = np.empty((len(estimators), len(numbers), len(splits)))
    for fold, (train, test) in enumerate(splits):
        fitted: list[
            tuple
        ] = []  # (parameters, features of the training rows, of the test rows): models share equal maps
        for row, (estimator, mapping) in enumerate(zip(estimators.values(), maps, strict=True)):
            features = _features(mapping, X, train, test, fitted)
            for column, dimension in enumerate(numbers):
                scores[row, column, fold] = _score(estimator, features, y, train, test, dimension, scoring)
    label = scoring if isinstance(scoring, str) else "accuracy" if scoring is None else "score"
    return DimensionPath(numbers, tuple(estimators), scores, label)


def _check_dimensions(dimensions):
    values = list(np.atleast_1d(np.asarray(dimensions)).ravel().tolist())
    if not values or not all(isinstance(v, Integral) and v > 0 for v in values):
        raise ValueError(f"dimensions must be a sequence of positive integers, got {dimensions!r}.")
    return np.unique(values)


def _map_of(estimator, kernel_map, largest):
    if kernel_map is None:
        parameters = estimator.get_params(deep=False)
        if "kernel" not in parameters:
            raise ValueError(f"{type(estimator).__name__} has no kernel parameter: pass a kernel_map.")
        if hasattr(parameters["kernel"], "fit_transform"):
            kernel_map = parameters["kernel"]
        else:
            kernel_map = KernelMap(**{name: parameters[name] for name in _MAP_PARAMETERS if name in parameters})
    return clone(kernel_map).set_params(n_components=int(largest))


def _features(mapping, X, train, test, fitted):
    parameters = mapping.get_params(deep=False)
    for known, features in fitted:
        if known == parameters:
            return features
    pairwise = parameters.get("kernel") == "precomputed"
    X = np.asarray(X) if pairwise else X
    rows, others = (X[np.ix_(train, train)], X[np.ix_(test, train)]) if pairwise else (_take(X, train), _take(X, test))
    model = clone(mapping)
    features = model.fit_transform(rows), model.transform(others)
    fitted.append((parameters, features))
    return features


def _score(estimator, features, y, train, test, dimension, scoring):
    model = clone(estimator)
    rows, others = features
    if "n_components" in model.get_params(deep=False):  # ours: a transformer may stand in place of the kernel
        model.set_params(kernel=LeadingFeatures(int(dimension)), n_components=None)
    else:
        if "kernel" in model.get_params(deep=False):
            model.set_params(kernel="linear")
        rows, others = rows[:, :dimension], others[:, :dimension]
    model.fit(rows, _take(y, train))
    return check_scoring(model, scoring=scoring)(model, others, _take(y, test))


def _take(A, index):
    return A.iloc[index] if hasattr(A, "iloc") else A[index] if hasattr(A, "shape") else [A[i] for i in index]
