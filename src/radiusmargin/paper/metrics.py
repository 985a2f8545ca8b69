"""What a prediction is judged by, and what each metric is called in tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.base import clone
from sklearn.linear_model import LogisticRegression
from sklearn.metrics import (
    average_precision_score,
    balanced_accuracy_score,
    f1_score,
    log_loss,
    matthews_corrcoef,
    mean_absolute_error,
    r2_score,
    roc_auc_score,
    root_mean_squared_error,
)
from sklearn.model_selection import StratifiedKFold, cross_val_predict
from sklearn.pipeline import Pipeline, make_pipeline
from sklearn.preprocessing import StandardScaler


@dataclass(frozen=True)
class Metric:
    """A metric as records hold it and tables show it.

    Attributes
    ----------
    key : str
        Its name in records and on the command line.
    name : str
    scoring : str
        What chooses hyper-parameters: scikit-learn's name of a scorer that takes predictions only.
    scale : int
        100 for shares, which are shown in %.
    sign : int
        -1 where less is better.
    of_quantity : bool
        Whether it judges predictions of a quantity, not of classes.
    in_units : bool
        Whether its unit is that of the target, so that no number of decimals suits all tables.
    """

    key: str
    name: str
    scoring: str = "accuracy"
    scale: int = 100
    sign: int = 1
    of_quantity: bool = False
    in_units: bool = False

    @property
    def inside(self) -> str:
        """The name inside a sentence.

        >>> METRICS["log_loss"].inside, METRICS["roc_auc"].inside
        ('log-loss', 'ROC AUC')
        """
        return self.name if self.name[:2].isupper() else self.name.lower()

    @property
    def unit(self) -> str:
        """Of a value as it is shown."""
        return "%" if self.scale == 100 else ""

    def shown(self, value: float) -> float:
        """A value of which more is better, as tables show it.

        >>> METRICS["accuracy"].shown(0.5), METRICS["log_loss"].shown(-0.25)
        (50.0, 0.25)
        """
        return self.sign * self.scale * value

    def text(self, value, error=float("nan")) -> str:
        """The value and its standard error."""
        digits = self._decimals(value)
        text = f"{self.shown(value):.{digits}f}"
        return f"{text} ± {self.scale * error:.{digits}f}" if np.isfinite(error) else text

    def cost_text(self, cost, value) -> str:
        """By how much another model is worse than one of this value, with its sign."""
        sign = "+" if self.of_quantity and self.sign < 0 else "−"
        return f"{sign}{self.scale * cost:.{self._decimals(value)}f}"

    def rounded(self, value: float) -> float:
        """The value to the digits by which models are told apart: four decimals, or four digits of one with a unit.

        >>> METRICS["r2"].rounded(0.123456), METRICS["mae"].rounded(-1234567.0)
        (0.1235, -1235000.0)
        """
        return float(f"{value:.4g}") if self.in_units else round(value, 4)

    def _decimals(self, value) -> int:
        if self.scale == 100:
            return 2
        if not self.in_units or not value or not np.isfinite(value):
            return 4
        return int(max(3 - np.floor(np.log10(abs(value))), 0))


METRICS = {
    metric.key: metric
    for metric in (
        Metric("accuracy", "Accuracy"),
        Metric("balanced_accuracy", "Balanced accuracy", scoring="balanced_accuracy"),
        Metric("roc_auc", "ROC AUC"),
        Metric("log_loss", "Log-loss", scale=1, sign=-1),
        Metric("f1", "F1 (mean over classes)", scoring="f1_macro"),
        Metric("mcc", "Matthews correlation", scoring="matthews_corrcoef", scale=1),
        Metric("average_precision", "Average precision (mean over classes)"),
        Metric("r2", "R2", scoring="r2", scale=1, of_quantity=True),
        Metric("mae", "MAE", scoring="neg_mean_absolute_error", scale=1, sign=-1, of_quantity=True, in_units=True),
        Metric(
            "rmse", "RMSE", scoring="neg_root_mean_squared_error", scale=1, sign=-1, of_quantity=True, in_units=True
        ),
    )
}

#: From so many rows of the largest class to one of the smallest, accuracy is that of guessing the largest.
IMBALANCE = 4


def metric_for(y) -> Metric:
    """Accuracy, or balanced accuracy where one class is several times as frequent as another.

    >>> metric_for([0, 0, 1]).key, metric_for([0] * 9 + [1]).key
    ('accuracy', 'balanced_accuracy')
    """
    counts = np.unique(y, return_counts=True)[1]
    return METRICS["balanced_accuracy" if counts.max() > IMBALANCE * counts.min() else "accuracy"]


def roc_auc(y, scores, classes) -> float | None:
    """Area under the curve of each class against the rest, averaged; None where the rows hold one class only.

    >>> roc_auc(np.array([0, 0, 1, 1]), np.array([0.1, 0.4, 0.35, 0.8]), [0, 1])
    0.75
    """
    return over_classes(roc_auc_score, y, scores, classes)


def over_classes(score, y, scores, classes) -> float | None:
    """A score of each class against the rest (of two, of the second), averaged; None where the rows hold one class only."""
    columns = [scores] if scores.ndim == 1 else scores.T
    names = classes[1:] if scores.ndim == 1 else classes
    both = [(y == name, column) for name, column in zip(names, columns, strict=True) if 0 < np.mean(y == name) < 1]
    return float(np.mean([score(*pair) for pair in both])) if both else None


def measured(y, predicted, classes, *, scores=None, probabilities=None) -> dict:
    """Every metric that can be had of a prediction."""
    values: dict[str, float | None] = {
        "accuracy": float(np.mean(predicted == y)),
        "balanced_accuracy": float(balanced_accuracy_score(y, predicted)),
        "f1": float(f1_score(y, predicted, average="macro", zero_division=0.0)),
        "mcc": float(matthews_corrcoef(y, predicted)),
    }
    if scores is not None:
        values["roc_auc"] = roc_auc(y, scores, classes)
        values["average_precision"] = over_classes(average_precision_score, y, scores, classes)
    if probabilities is not None:
        values["log_loss"] = float(log_loss(y, probabilities, labels=classes))
    return values


def measured_quantity(y, predicted) -> dict:
    """Every metric of a prediction of a quantity.

    >>> measured_quantity(np.array([1.0, 3.0]), np.array([1.0, 2.0]))["mae"]
    0.5
    """
    return {
        "r2": float(r2_score(y, predicted)),
        "mae": float(mean_absolute_error(y, predicted)),
        "rmse": float(root_mean_squared_error(y, predicted)),
    }


# -- Scores of the classes, and probabilities for models that have scores only: a logistic model of held-out scores ---


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


__all__ = [
    "METRICS",
    "Metric",
    "calibrate",
    "class_scores",
    "measured",
    "measured_quantity",
    "metric_for",
    "probabilities",
    "roc_auc",
]
