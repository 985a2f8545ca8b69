"""What scores of pairs are worth: ROC curve, equal error rate, TPR at a fixed FPR, and thresholds."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike
from sklearn.metrics import auc, roc_curve

from .features import check_same

__all__ = ["STRATEGIES", "RocCurve", "choose_threshold", "equal_error_rate", "roc", "tpr_at_fpr"]

STRATEGIES = ("accuracy", "eer", "fpr")


@dataclass(frozen=True, eq=False)
class RocCurve:
    """The operating points of a set of scores, from "nothing is the same" to "all is".

    Parameters
    ----------
    fpr, tpr : ndarray
        Rates of different pairs that are accepted, and of same pairs that are.
    thresholds : ndarray
        A pair is accepted if its score is at least this. Each lies midway between two neighbouring scores.
    n_same, n_different : int
    """

    fpr: np.ndarray
    tpr: np.ndarray
    thresholds: np.ndarray
    n_same: int
    n_different: int

    @property
    def accuracy(self) -> np.ndarray:
        """Accuracy at every operating point."""
        right = self.tpr * self.n_same + (1 - self.fpr) * self.n_different
        return right / (self.n_same + self.n_different)

    @property
    def auc(self) -> float:
        """Area under the curve."""
        return float(auc(self.fpr, self.tpr))

    @property
    def equal_error_rate(self) -> float:
        """Where the straight lines between operating points have as many false accepts as false rejects."""
        excess = self.fpr - (1 - self.tpr)  # rises from -1 to 1
        i = int(np.argmax(excess >= 0))
        step = -excess[i - 1] / (excess[i] - excess[i - 1])
        return float(self.fpr[i - 1] + step * (self.fpr[i] - self.fpr[i - 1]))

    def tpr_at(self, fpr: float) -> float:
        """The highest TPR of an operating point whose FPR is at most this; nothing is interpolated."""
        return float(self.tpr[self._last_within(fpr)])

    def threshold(self, strategy: str = "accuracy", max_fpr: float | None = None) -> float:
        """The threshold of a strategy; see `choose_threshold`."""
        if strategy not in STRATEGIES:
            raise ValueError(f"strategy must be one of {', '.join(map(repr, STRATEGIES))}, got {strategy!r}.")
        if (strategy == "fpr") != (max_fpr is not None):
            raise ValueError(
                f"max_fpr goes with strategy='fpr' and no other, got {strategy!r} and max_fpr={max_fpr!r}."
            )
        if strategy == "accuracy":
            i = np.argmax(self.accuracy)
        elif strategy == "eer":
            i = np.argmin(np.abs(self.fpr - (1 - self.tpr)))
        else:
            i = self._last_within(max_fpr)
        return float(self.thresholds[i])

    def _last_within(self, fpr):
        if not 0 <= fpr <= 1:
            raise ValueError(f"a false positive rate must be in [0, 1], got {fpr!r}.")
        return np.flatnonzero(self.fpr <= fpr + 1e-12)[-1]


def roc(y: ArrayLike, scores: ArrayLike) -> RocCurve:
    """The ROC curve of scores.

    Parameters
    ----------
    y : array-like of shape (n_pairs,)
        1 for the same person, 0 or -1 for two.
    scores : array-like of shape (n_pairs,)
        Higher for pairs that look more alike.

    Examples
    --------
    >>> curve = roc([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1])
    >>> curve.equal_error_rate, curve.tpr_at(0.0), curve.auc
    (0.5, 0.5, 0.75)
    """
    scores = np.asarray(scores, dtype=float)
    same = check_same(y, len(scores))
    if not np.isfinite(scores).all():
        raise ValueError("scores must be finite.")
    if same.all() or not same.any():
        raise ValueError("y must hold pairs of the same person and pairs of two; it holds one kind only.")
    fpr, tpr, at = roc_curve(same, scores, drop_intermediate=False)
    return RocCurve(fpr, tpr, _between(at[1:]), int(same.sum()), int((~same).sum()))


def _between(scores):
    """Thresholds that accept none, one more score at a time, and all; midway between neighbours."""
    middle = scores[1:] + (scores[:-1] - scores[1:]) / 2
    middle = np.where(middle > scores[1:], middle, scores[:-1])  # neighbours in floating point have no middle
    return np.concatenate([[np.nextafter(scores[0], np.inf)], middle, [scores[-1]]])


def equal_error_rate(y: ArrayLike, scores: ArrayLike) -> float:
    """The rate at which false accepts and false rejects are equal.

    Parameters
    ----------
    y : array-like of shape (n_pairs,)
        1 for the same person, 0 for two.
    scores : array-like of shape (n_pairs,)

    Examples
    --------
    >>> equal_error_rate([1, 1, 0, 0], [4.0, 3.0, 2.0, 1.0])
    0.0
    """
    return roc(y, scores).equal_error_rate


def tpr_at_fpr(y: ArrayLike, scores: ArrayLike, fpr: float) -> float:
    """The highest rate of same pairs accepted while at most a rate `fpr` of different pairs is.

    Parameters
    ----------
    y, scores : array-like of shape (n_pairs,)
        As in `equal_error_rate`.
    fpr : float
        In [0, 1].

    Examples
    --------
    >>> tpr_at_fpr([1, 1, 0, 0], [4.0, 2.0, 3.0, 1.0], 0.0)
    0.5
    """
    return roc(y, scores).tpr_at(fpr)


def choose_threshold(
    y: ArrayLike, scores: ArrayLike, strategy: str = "accuracy", *, max_fpr: float | None = None
) -> float:
    """A threshold for scores: accept a pair if its score is at least this.

    Parameters
    ----------
    y, scores : array-like of shape (n_pairs,)
        As in `roc`.
    strategy : {"accuracy", "eer", "fpr"}
        The most pairs right; as many false accepts as false rejects, as near as the scores allow; the most same pairs
        accepted while the rate of false accepts is at most `max_fpr`. Of equals the highest threshold.
    max_fpr : float in [0, 1]
        For "fpr".

    Examples
    --------
    >>> choose_threshold([0, 0, 1, 1], [1.0, 2.0, 4.0, 5.0])
    3.0
    >>> choose_threshold([0, 1, 0, 1], [1.0, 2.0, 4.0, 5.0], "fpr", max_fpr=0.0)
    4.5
    """
    return roc(y, scores).threshold(strategy, max_fpr)
