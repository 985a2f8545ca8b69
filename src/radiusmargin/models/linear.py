"""What a margin model has learnt: separators in a space, and how their scores become classes."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from ..features.space import FeatureSpace
from .multiclass import Reduction

BLOCK = 1 << 18  # scores that are formed at a time: 2 MB


@dataclass(frozen=True, eq=False)
class LinearModel:
    """Separators of the problems of two that the classes have become.

    Attributes
    ----------
    space : FeatureSpace
        Fitted.
    coef : ndarray of shape (K, d)
    intercept : ndarray of shape (K,)
    reduction : Reduction
    """

    space: FeatureSpace
    coef: np.ndarray
    intercept: np.ndarray
    reduction: Reduction

    def scores(self, X) -> np.ndarray:
        """Scores (n, K) of the problems for checked rows."""
        return self.space.scores(X, self.coef) + self.intercept

    def decisions(self, X) -> np.ndarray:
        """Scores of the classes: (n,) of the second against the first, or (n, n_classes)."""
        return decisions(self.scores, X, len(self.intercept), self.reduction)

    def codes(self, X) -> np.ndarray:
        """Numbers of the classes with the highest scores."""
        return codes(self.scores, X, len(self.intercept), self.reduction)


@dataclass(frozen=True, eq=False)
class Sum:
    """Several models of the same problems whose scores are added up."""

    parts: tuple[LinearModel, ...]

    @property
    def reduction(self) -> Reduction:
        return self.parts[0].reduction

    @property
    def intercept(self) -> np.ndarray:
        return sum(part.intercept for part in self.parts)

    def scores(self, X) -> np.ndarray:
        return sum(part.scores(X) for part in self.parts)

    def decisions(self, X) -> np.ndarray:
        return decisions(self.scores, X, len(self.intercept), self.reduction)

    def codes(self, X) -> np.ndarray:
        return codes(self.scores, X, len(self.intercept), self.reduction)


def codes(scores_of, X, n_problems, reduction):
    """Classes of rows whose scores for the problems `scores_of` gives: in blocks of rows."""
    return _in_blocks(lambda rows: reduction.predict(scores_of(rows)), X, n_problems)


def decisions(scores_of, X, n_problems, reduction):
    """What `decision_function` returns, of rows whose scores for the problems `scores_of` gives: in blocks of rows."""
    scores = _in_blocks(lambda rows: reduction.class_scores(scores_of(rows)), X, n_problems)
    return scores.ravel() if scores.shape[1] == 1 else scores


def _in_blocks(function, X, n_problems):
    blocks = split(X.shape[0], n_problems)
    return function(X) if len(blocks) == 1 else np.concatenate([function(X[block]) for block in blocks])


def split(count, numbers, most=BLOCK):
    """Slices of `count` things, each of few enough that `numbers` for every one of them are no more than `most`."""
    step = max(1, most // max(numbers, 1))
    return [slice(start, start + step) for start in range(0, count, step)]
