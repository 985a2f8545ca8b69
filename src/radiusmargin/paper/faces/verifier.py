"""PairVerifier: any classifier as a verifier of pairs."""

from __future__ import annotations

from typing import Self

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import BaseEstimator, ClassifierMixin, clone
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.utils.validation import check_is_fitted

from ...estimators import FSVM, make_model
from ...search import FSVMCV
from .features import FeatureTable, PairFeatures, check_same
from .scores import RocCurve, roc

__all__ = ["PairVerifier"]


class PairVerifier(ClassifierMixin, BaseEstimator):
    """DecisionModel whether the two images of a pair show the same person.

    Pairs are turned into symmetric features, all of whose projections and metrics are learned from the training pairs,
    and classified. It sees labels of pairs only, never who is on an image.

    Parameters
    ----------
    estimator : str, classifier or None, default=None
        A key of the registry of models ("svm", "fsvm", "rmm", ...; standardised features where the model is not free
        of units), or any scikit-learn classifier with `decision_function` or `predict_proba`. None is
        ``FSVMCV(random_state=0)``, which chooses its own hyper-parameters.
    features : PairFeatures, str or sequence of str, default="both"
        What pairs are told by; a string is ``PairFeatures(features)``.
    table : FeatureTable, array-like of shape (n_images, n_features) or None, default=None
        The features of the images, where pairs are given as row numbers: an image that is in many pairs then counts once
        in a projection. A `FeatureTable` is not copied by `clone`.

    Attributes
    ----------
    classes_ : ndarray of shape (2,)
        The labels; the second is "same".
    threshold_ : float
        A pair is accepted if its score is at least this: 0 (of decision values; probabilities count from one half)
        until `calibrate_threshold` is called.
    estimator_, features_
        The fitted parts.

    Examples
    --------
    >>> from radiusmargin.paper.faces import PairVerifier, make_pairs
    >>> task = make_pairs(random_state=0)
    >>> train = task.folds > 0
    >>> verifier = PairVerifier("fsvm", table=task.table).fit(task.pairs[train], task.y[train])
    >>> bool(verifier.score(task.pairs[~train], task.y[~train]) > 0.8)
    True
    >>> curve = verifier.roc(task.pairs[~train], task.y[~train])
    >>> bool(curve.equal_error_rate < 0.2)
    True
    """

    def __init__(
        self,
        estimator: str | BaseEstimator | None = None,
        *,
        features: str | PairFeatures = "both",
        table: ArrayLike | FeatureTable | None = None,
    ):
        self.estimator = estimator
        self.features = features
        self.table = table

    def fit(self, pairs: ArrayLike, y: ArrayLike) -> Self:
        """Fit pair features and classifier.

        Parameters
        ----------
        pairs : array-like of shape (n_pairs, 2, n_features), or (n_pairs, 2) with rows of `table`
        y : array-like of shape (n_pairs,)
            1 for the same person; 0, -1 or False for two.
        """
        same = check_same(y, len(pairs))
        self.classes_ = np.unique(y)
        if len(self.classes_) < 2:
            raise ValueError("PairVerifier needs pairs of the same person and pairs of two; y holds one kind only.")
        given = isinstance(self.features, PairFeatures)
        self.features_ = clone(self.features) if given else PairFeatures(self.features)
        rows = self.features_.fit_transform(pairs, same, table=self.table)
        self.n_features_in_ = self.features_.n_features_in_
        self.estimator_ = as_classifier(self.estimator).fit(rows, same.astype(int))
        self.threshold_ = 0.0
        return self

    def decision_function(self, pairs: ArrayLike) -> np.ndarray:
        """Scores, higher for pairs that look more alike; the same for (a, b) and (b, a)."""
        check_is_fitted(self, "estimator_")
        return decision_values(self.estimator_, self.features_.transform(pairs, table=self.table))

    def predict(self, pairs: ArrayLike) -> np.ndarray:
        """The label of "same" where the score reaches `threshold_`."""
        return self.classes_[(self.decision_function(pairs) >= self.threshold_).astype(int)]

    def calibrate_threshold(
        self, pairs: ArrayLike, y: ArrayLike, strategy: str = "accuracy", *, max_fpr: float | None = None
    ) -> Self:
        """Set `threshold_` from labelled pairs, which should not be those of `fit`.

        Parameters
        ----------
        pairs, y
            As in `fit`.
        strategy : {"accuracy", "eer", "fpr"}
            See `choose_threshold`; "fpr" needs `max_fpr`.
        """
        self.threshold_ = self.roc(pairs, y).threshold(strategy, max_fpr)
        return self

    def roc(self, pairs: ArrayLike, y: ArrayLike) -> RocCurve:
        """ROC curve of the pairs, with `equal_error_rate`, `auc` and `tpr_at(fpr)`."""
        return roc(y, self.decision_function(pairs))

    def __sklearn_tags__(self):
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        tags.classifier_tags.multi_class = False
        return tags


def as_classifier(estimator):
    """An unfitted classifier of a key, a classifier or None."""
    if estimator is None:
        return FSVMCV(random_state=0)
    if not isinstance(estimator, str):
        return clone(estimator)
    model = make_model(estimator)
    free = estimator == "svm-raw" or isinstance(model, FSVM)
    return model if free else make_pipeline(StandardScaler(), model)


def decision_values(classifier, rows):
    """Scores around zero of a classifier of two classes."""
    if hasattr(classifier, "decision_function"):
        return np.asarray(classifier.decision_function(rows), dtype=float).ravel()
    if hasattr(classifier, "predict_proba"):
        return classifier.predict_proba(rows)[:, 1] - 0.5
    raise TypeError(f"{type(classifier).__name__} has neither decision_function nor predict_proba.")
