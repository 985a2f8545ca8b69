"""Scores other than accuracy from decision values of held-out rows.

`VECTORISED` holds formulas for many candidates at once, which take about as long as accuracy does. Any other scorer of
scikit-learn is called for one candidate after the other, through an adapter that looks like a fitted classifier.
"""

from __future__ import annotations

from functools import cached_property
from inspect import signature

import numpy as np
from scipy.special import expit
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from ..estimators.decision import PlattCalibration, lifted, sigmoids


def score_values(values, truth) -> np.ndarray:
    """Score a block of candidates by their decision values.

    Parameters
    ----------
    values : ndarray of shape (M, K, n)
        Decision values of M candidates in K binary problems.
    truth : HeldOut
        Classes and weights of the n rows, and the scoring.
    """
    scoring = truth.data.scoring
    vectorised = VECTORISED.get(scoring) if isinstance(scoring, str) else None
    if vectorised is None or not _suits(scoring, truth):
        return np.array([_score_one(own.T, truth) for own in values])
    return vectorised(values, truth)


def _suits(scoring, truth) -> bool:
    """Tell whether a formula gives what scikit-learn's scorer gives: which warns or raises where a class is missing, say."""
    classes = truth.data.classes
    if (np.bincount(truth.codes, truth.weight, minlength=len(classes)) <= 0).any():
        return False
    if scoring in BINARY and len(classes) != 2:
        return False
    return scoring not in OF_CLASS_ONE or classes[1] == 1


# -- Formulas for many candidates ----------------------------------------------------------------------------------------


def _balanced_accuracy(values, truth):
    per_class = _members(truth)
    correct = truth.data.training.reduction.predict(values.swapaxes(1, 2)) == truth.codes
    return (correct @ (per_class / per_class.sum(axis=0))).mean(axis=1)


def _f1_of_classes(values, truth):
    """Return F1 of every candidate (M) and class."""
    predicted = truth.data.training.reduction.predict(values.swapaxes(1, 2))
    per_class = _members(truth)
    named = np.stack([(predicted == k) @ truth.weight for k in range(per_class.shape[1])], axis=1)
    return 2 * ((predicted == truth.codes) @ per_class) / (named + per_class.sum(axis=0))


def _f1(values, truth):
    return _f1_of_classes(values, truth)[:, 1]


def _f1_macro(values, truth):
    return _f1_of_classes(values, truth).mean(axis=1)


def _members(truth):
    """Return weights of the rows (n, classes): zero in the columns of the classes that a row is not of."""
    return truth.weight[:, None] * (truth.codes[:, None] == np.arange(len(truth.data.classes)))


def _roc_auc(values, truth):
    """Share of pairs of rows that are ranked correctly; a tie counts half."""
    negative, positive = _weights_at_levels(values[:, 0], truth)
    below = np.cumsum(negative, axis=1) - negative / 2
    return (positive * below).sum(axis=1) / (positive.sum(axis=1) * negative.sum(axis=1))


def _average_precision(values, truth):
    negative, positive = _weights_at_levels(-values[:, 0], truth)
    found = np.cumsum(positive, axis=1)
    named = found + np.cumsum(negative, axis=1)
    return (positive * found / np.where(named > 0, named, 1)).sum(axis=1) / positive.sum(axis=1)


def _weights_at_levels(values, truth):
    """Return the weights of the negative and of the positive rows at every distinct value, ascending, each of shape (M, n)."""
    M, n = values.shape
    order = np.argsort(values, axis=1)
    values = np.take_along_axis(values, order, axis=1)
    level = np.zeros((M, n), dtype=np.intp)
    np.cumsum(values[:, 1:] != values[:, :-1], axis=1, out=level[:, 1:])
    level += n * np.arange(M)[:, None]
    positive = (truth.weight * truth.codes)[order]
    total = truth.weight[order]
    sums = (np.bincount(level.ravel(), own.ravel(), minlength=M * n) for own in (total - positive, positive))
    return tuple(own.reshape(M, n) for own in sums)


def _neg_log_loss(values, truth):
    chances = np.maximum(probabilities(values, truth)[:, np.arange(len(truth.codes)), truth.codes], np.finfo(float).eps)
    return np.log(chances) @ truth.weight / truth.weight.sum()


def _neg_brier_score(values, truth):
    """Minus the mean squared distance to the true class; halved for two classes, as in scikit-learn."""
    missed = probabilities(values, truth) - np.eye(len(truth.data.classes))[truth.codes]
    squares = (missed**2).sum(axis=2) / (2 if len(truth.data.classes) == 2 else 1)
    return -(squares @ truth.weight) / truth.weight.sum()


def probabilities(values, truth) -> np.ndarray:
    """Return probabilities (M, n, classes) by Platt calibration of every candidate on these very rows.

    That is as optimistic for one candidate as for another: it fits two numbers per binary problem.
    """
    reduction, (M, _, n) = truth.data.training.reduction, values.shape
    if reduction.n_classes > 2:
        return np.array([_calibrated(own.T, truth).agreeing(own.T) for own in values])
    labels, weights = np.tile(2.0 * truth.codes - 1, M), np.tile(truth.weight / truth.weight.mean(), M)
    slopes, offsets = sigmoids(values.ravel(), labels, weights, np.repeat(np.arange(M), n), M)
    logits = slopes[:, None] * values[:, 0] + offsets[:, None]
    chances = lifted(expit(np.stack([-logits.ravel(), logits.ravel()], axis=1)), (values.ravel() > 0).astype(int))
    return chances.reshape(M, n, 2)


def _calibrated(scores, truth):
    return PlattCalibration.fit(scores, truth.codes, truth.weight, truth.data.training.reduction)


VECTORISED = {
    "balanced_accuracy": _balanced_accuracy, "f1": _f1, "f1_macro": _f1_macro, "roc_auc": _roc_auc,
    "average_precision": _average_precision, "neg_log_loss": _neg_log_loss, "neg_brier_score": _neg_brier_score,
}  # fmt: skip
BINARY = ("f1", "roc_auc", "average_precision")
OF_CLASS_ONE = ("f1", "average_precision")  # for other labels scikit-learn asks for `pos_label`


# -- Any scorer, for one candidate ---------------------------------------------------------------------------------------


def _score_one(scores, truth):
    """Score one candidate by its scores (n, K)."""
    model = FittedClassifier(truth)
    scorer = check_scoring(model, scoring=truth.data.scoring)
    weights = {} if (truth.weight == 1).all() or not takes_weights(scorer) else {"sample_weight": truth.weight}
    return scorer(model, scores, truth.data.classes[truth.codes], **weights)


def takes_weights(scorer) -> bool:
    """Tell whether a scorer has a `sample_weight`: those of scikit-learn have, a user's function may not."""
    parameters = signature(scorer).parameters
    return "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """Adapter that makes decision values a fitted classifier for scikit-learn's scorers; "X" are the scores (n, K)."""

    def __init__(self, truth=None):
        self.truth = truth

    @cached_property
    def classes_(self):
        return self.truth.data.classes

    @property
    def _reduction(self):
        return self.truth.data.training.reduction

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        scores = self._reduction.class_scores(X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def predict(self, X):
        return self.classes_[self._reduction.predict(X)]

    def predict_proba(self, X):
        return _calibrated(X, self.truth).agreeing(X)
