"""Scores of the classes, and probabilities for models that have scores only: a logistic model of held-out scores."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler

__all__ = ["calibrate", "class_scores", "probabilities"]

FOLDS = 5


def class_scores(model, X) -> np.ndarray | None:
    """Scores of the classes, one column each, or of the second of two; None where a model has none."""
    if hasattr(model, "decision_function"):
        return model.decision_function(X)
    if not hasattr(model, "predict_proba"):
        return None
    probabilities = model.predict_proba(X)
    return probabilities[:, 1] if probabilities.shape[1] == 2 else probabilities


def calibrate(model, X, y) -> Pipeline | None:
    """Platt's scaling of a model's scores, by cross-validation on its training rows; None if it needs none.

    Parameters
    ----------
    model : classifier
        Unfitted or fitted; copies of it are fitted.
    X, y : training rows

    Examples
    --------
    >>> from sklearn.datasets import load_breast_cancer
    >>> from radiusmargin import FSVM
    >>> X, y = load_breast_cancer(return_X_y=True)
    >>> model = FSVM(whitening=0).fit(X, y)
    >>> probabilities(model, calibrate(model, X, y), X[:1]).round(1).tolist()
    [[1.0, 0.0]]
    """
    if hasattr(model, "predict_proba"):
        return None
    smallest = np.unique(y, return_counts=True)[1].min()
    folds = StratifiedKFold(min(FOLDS, int(smallest)), shuffle=True, random_state=0)
    scores = cross_val_predict(clone(model), X, y, cv=folds, method="decision_function")
    # Little penalty, but some: scores that separate the classes would have it grow without end.
    return make_pipeline(StandardScaler(), LogisticRegression(C=100.0, max_iter=1000)).fit(_columns(scores), y)


def probabilities(model, calibration, X) -> np.ndarray:
    """Probabilities of the classes, in the order of ``model.classes_``."""
    if calibration is None:
        return model.predict_proba(X)
    return calibration.predict_proba(_columns(model.decision_function(X)))


def _columns(scores):
    return scores[:, None] if scores.ndim == 1 else scores
