"""What a prediction is judged by, and what each metric is called in tables."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from sklearn.metrics import balanced_accuracy_score, log_loss, roc_auc_score

__all__ = ["METRICS", "Metric", "measured", "metric_for", "roc_auc"]


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
    """

    key: str
    name: str
    scoring: str = "accuracy"
    scale: int = 100
    sign: int = 1

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
        digits = 2 if self.scale == 100 else 4
        text = f"{self.shown(value):.{digits}f}"
        return f"{text} ± {self.scale * error:.{digits}f}" if np.isfinite(error) else text


METRICS = {
    metric.key: metric
    for metric in (
        Metric("accuracy", "Accuracy"),
        Metric("balanced_accuracy", "Balanced accuracy", scoring="balanced_accuracy"),
        Metric("roc_auc", "ROC AUC"),
        Metric("log_loss", "Log-loss", scale=1, sign=-1),
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
    columns = [scores] if scores.ndim == 1 else scores.T
    names = classes[1:] if scores.ndim == 1 else classes
    both = [(y == name, column) for name, column in zip(names, columns, strict=True) if 0 < np.mean(y == name) < 1]
    return float(np.mean([roc_auc_score(*pair) for pair in both])) if both else None


def measured(y, predicted, classes, *, scores=None, probabilities=None) -> dict:
    """Every metric that can be had of a prediction."""
    values = {
        "accuracy": float(np.mean(predicted == y)),
        "balanced_accuracy": float(balanced_accuracy_score(y, predicted)),
    }
    if scores is not None:
        values["roc_auc"] = roc_auc(y, scores, classes)
    if probabilities is not None:
        values["log_loss"] = float(log_loss(y, probabilities, labels=classes))
    return values
