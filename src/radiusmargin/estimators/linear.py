"""What a margin model has learnt: separators in a space, and how their scores become classes."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from .._blocks import split
from ..multiclass import Reduction
from .features import FeatureSpace


class Decides(ABC):
    """Classes from the scores of the problems of two that they have become."""

    reduction: Reduction
    intercept: np.ndarray

    @abstractmethod
    def scores(self, X) -> np.ndarray:
        """Scores (n, K) of the problems for checked rows."""

    @abstractmethod
    def features(self, X):
        """Checked rows in the space of the separators."""

    def decisions(self, X) -> np.ndarray:
        """Scores of the classes: (n,) of the second against the first, or (n, n_classes)."""
        scores = self.of_scores(self.reduction.class_scores, X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def codes(self, X) -> np.ndarray:
        """Numbers of the classes with the highest scores."""
        return self.of_scores(self.reduction.predict, X)

    def of_scores(self, function, X):
        """A function of the scores of checked rows, of few at a time where there are many."""
        blocks = split(X.shape[0], len(self.intercept))
        if len(blocks) == 1:
            return function(self.scores(X))
        return np.concatenate([function(self.scores(X[block])) for block in blocks])


@dataclass(frozen=True, eq=False)
class LinearModel(Decides):
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
        return self.space.scores(X, self.coef) + self.intercept

    def features(self, X):
        return self.space.rows(X)


@dataclass(frozen=True, eq=False)
class Sum(Decides):
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

    def features(self, X):
        if len(self.parts) > 1:
            raise ValueError(f"an average of {len(self.parts)} kinds has no features in common; use combine='best'.")
        return self.parts[0].features(X)
