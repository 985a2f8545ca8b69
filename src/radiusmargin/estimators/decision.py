"""From scores to classes and probabilities.

`DecisionModel` and its two forms, `LinearModel` and `Ensemble`, hold fitted separators and predict classes. `PlattCalibration` turns
scores into probabilities.

References
----------
.. [1] J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers (1999).
.. [2] T.-F. Wu, C.-J. Lin and R. Weng, "Probability estimates for multi-class classification by pairwise coupling", Journal
   of Machine Learning Research 5 (2004), its second method.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass
from itertools import pairwise

import numpy as np
from scipy.special import expit

from .._blocks import split
from ..multiclass import MulticlassReduction
from .features import FeatureSpace


class DecisionModel(ABC):
    """Fitted separators of K binary problems, and how their scores become classes."""

    reduction: MulticlassReduction
    intercept: np.ndarray

    @abstractmethod
    def scores(self, X) -> np.ndarray:
        """Return scores (n, K) of the binary problems for validated rows."""

    @abstractmethod
    def features(self, X):
        """Map validated rows to the space of the separators."""

    def decisions(self, X) -> np.ndarray:
        """Return scores of the classes: (n,) for the second against the first, or (n, n_classes)."""
        scores = self.of_scores(self.reduction.class_scores, X)
        return scores.ravel() if scores.shape[1] == 1 else scores

    def codes(self, X) -> np.ndarray:
        """Return the index of the class with the highest score for every row."""
        return self.of_scores(self.reduction.predict, X)

    def of_scores(self, function, X):
        """Apply a function to the scores of validated rows, in blocks of bounded memory."""
        blocks = split(X.shape[0], len(self.intercept))
        if len(blocks) == 1:
            return function(self.scores(X))
        return np.concatenate([function(self.scores(X[block])) for block in blocks])


@dataclass(frozen=True, eq=False)
class LinearModel(DecisionModel):
    """Separators of K binary problems in one feature space.

    Attributes
    ----------
    space : FeatureSpace
        The fitted space.
    coef : ndarray of shape (K, d)
    intercept : ndarray of shape (K,)
    reduction : MulticlassReduction
    """

    space: FeatureSpace
    coef: np.ndarray
    intercept: np.ndarray
    reduction: MulticlassReduction

    def scores(self, X) -> np.ndarray:
        return self.space.scores(X, self.coef) + self.intercept

    def features(self, X):
        return self.space.rows(X)


@dataclass(frozen=True, eq=False)
class Ensemble(DecisionModel):
    """Sum of the scores of several models of the same binary problems."""

    parts: tuple[LinearModel, ...]

    @property
    def reduction(self) -> MulticlassReduction:
        return self.parts[0].reduction

    @property
    def intercept(self) -> np.ndarray:
        return sum(part.intercept for part in self.parts)

    def scores(self, X) -> np.ndarray:
        return sum(part.scores(X) for part in self.parts)

    def features(self, X):
        if len(self.parts) > 1:
            raise ValueError(f"an average of {len(self.parts)} kernels has no features in common; use combine='best'.")
        return self.parts[0].features(X)


# -- Probabilities: a sigmoid for each binary problem, and pairwise coupling of several classes --------------------------


STEPS, DECREASE = 100, 1e-12  # most Newton steps, and the relative decrease of the loss at which they end
COUPLED = 1 << 22  # numbers in the linear systems that are solved at a time
CERTAIN = 1e-7  # smallest distance of a pair's probability from 0 and 1


@dataclass(frozen=True, eq=False)
class PlattCalibration:
    """Platt calibration [1]_: P(+1) = 1 / (1 + exp(-(slope f + offset))) for the score f of every binary problem.

    Attributes
    ----------
    slope, offset : ndarrays of shape (K,)
    reduction : MulticlassReduction
    """

    slope: np.ndarray
    offset: np.ndarray
    reduction: MulticlassReduction

    @classmethod
    def fit(cls, scores, labels, weights, problem, reduction) -> PlattCalibration:
        """Fit to held-out scores by maximum likelihood with Platt's smoothed targets.

        Parameters
        ----------
        scores, labels, weights, problem : arrays of one length
            Scores, labels -1 or +1, weights of the rows, and indices of the problems they belong to.
        reduction : MulticlassReduction
        """
        known = np.flatnonzero(np.isfinite(scores))
        order = known[np.argsort(problem[known], kind="stable")]
        ends = np.searchsorted(problem[order], np.arange(reduction.n_problems + 1))
        rows = [order[start:end] for start, end in pairwise(ends)]
        found = np.array([sigmoid(scores[own], labels[own], weights[own] / weights.mean()) for own in rows])
        return cls(found[:, 0], found[:, 1], reduction)

    def probabilities(self, scores) -> np.ndarray:
        """Return probabilities (n, classes) from scores (n, K)."""
        chances = expit(self.slope * scores + self.offset)
        if self.reduction.n_classes == 2:
            return np.column_stack([1 - chances, chances])
        if not self.reduction.pairs:
            chances = np.maximum(chances, CERTAIN)
            return chances / chances.sum(axis=1, keepdims=True)
        return coupled(chances, self.reduction.n_classes)


def sigmoid(scores, labels, weights):
    """Return (slope, offset) of largest likelihood for smoothed targets, by Newton's method with step halving; 0, 0 without rows."""
    if not len(scores):
        return 0.0, 0.0
    positive = weights[labels > 0].sum()
    negative = weights[labels < 0].sum()
    target = np.where(labels > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))
    size = np.sqrt(weights @ scores**2 / weights.sum()) or 1.0
    F = np.column_stack([scores / size, np.ones_like(scores)])

    def loss(point):
        f = F @ point
        return weights @ (np.logaddexp(0, f) - target * f)

    point = np.array([0.0, np.log((positive + 1) / (negative + 1))])
    value = loss(point)
    for _ in range(STEPS):
        p = expit(F @ point)
        gradient = F.T @ (weights * (p - target))
        H = (F.T * (weights * p * (1 - p))) @ F + 1e-12 * weights.sum() * np.eye(2)
        step = -np.linalg.solve(H, gradient)
        t = 1.0
        while (new := loss(point + t * step)) > value + 1e-4 * t * (gradient @ step) and t > 1e-10:
            t /= 2
        if not value - new > DECREASE * abs(value):
            break
        point, value = point + t * step, new
    return point[0] / size, point[1]


def coupled(chances, n_classes):
    """Return class probabilities (n, classes) from probabilities (n, pairs) of class j in each pair i < j [2]_.

    They minimise ``sum_{i<j} (r_ji p_i - r_ij p_j)^2``, where r are the probabilities of the pairs: one linear system per row.
    """
    i, j = np.triu_indices(n_classes, 1)
    out = np.empty((len(chances), n_classes))
    step = max(1, COUPLED // (n_classes + 1) ** 2)
    for start in range(0, len(chances), step):
        r = np.clip(chances[start : start + step], CERTAIN, 1 - CERTAIN)
        Q = np.zeros((len(r), n_classes + 1, n_classes + 1))
        Q[:, i, j] = Q[:, j, i] = -r * (1 - r)
        for k in range(n_classes):  # sum of the squared probabilities of the others against k
            Q[:, k, k] = (r[:, i == k] ** 2).sum(axis=1) + ((1 - r[:, j == k]) ** 2).sum(axis=1)
        Q[:, :n_classes, -1] = Q[:, -1, :n_classes] = 1.0
        right = np.zeros((len(r), n_classes + 1, 1))
        right[:, -1] = 1.0
        p = np.linalg.solve(Q, right)[:, :n_classes, 0].clip(0)
        out[start : start + step] = p / p.sum(axis=1, keepdims=True)
    return out
