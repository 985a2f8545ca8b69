"""From scores to classes and probabilities.

`DecisionModel` and its two forms, `LinearModel` and `Ensemble`, hold fitted separators and predict classes. `PlattCalibration` turns
scores into probabilities.

References
----------
.. [1] J. Platt, "Probabilistic outputs for support vector machines", Advances in Large Margin Classifiers (1999).
.. [2] T.-F. Wu, C.-J. Lin and R. Weng, "Probability estimates for multi-class classification by pairwise coupling", Journal
   of Machine Learning Research 5 (2004), its second method.
.. [3] C. Guo, G. Pleiss, Y. Sun and K. Weinberger, "On calibration of modern neural networks", ICML (2017).
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from scipy.special import expit, softmax

from .._blocks import split
from ..multiclass import MulticlassReduction
from .features import FeatureSpace
from .shared_rows import packed, unpacked


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
    """Sum of the scores of several models of the same binary problems.

    Attributes
    ----------
    parts : tuple of LinearModel
    rows : ndarray, optional
        The training rows among which the support vectors of the parts are, in the user's units: pickles hold each once.
    """

    parts: tuple[LinearModel, ...]
    rows: np.ndarray | None = None

    def __getstate__(self):
        return {"parts": packed(self.parts, self.rows), "rows": self.rows}

    def __setstate__(self, state):
        rows = state.get("rows")  # older pickles have none
        self.__dict__.update(parts=unpacked(state["parts"], rows), rows=rows)

    @property
    def reduction(self) -> MulticlassReduction:  # type: ignore[override]  # read-only here: that of its parts
        return self.parts[0].reduction

    @property
    def intercept(self) -> np.ndarray:  # type: ignore[override]  # read-only here: the sum of its parts
        return reduce(np.add, (part.intercept for part in self.parts))

    def scores(self, X) -> np.ndarray:
        return reduce(np.add, (part.scores(X) for part in self.parts))

    def features(self, X):
        if len(self.parts) > 1:
            raise ValueError(f"an average of {len(self.parts)} kernels has no features in common; use combine='best'.")
        return self.parts[0].features(X)


# -- Probabilities: a sigmoid for each binary problem, coupling of several classes, and one temperature for all -----------


STEPS, HALVINGS, DECREASE = (
    100,
    30,
    1e-12,
)  # most Newton steps, halvings of one, and the relative decrease at which they end
LEAST_SLOPE = 1e-3  # of a sigmoid, for scores of unit deviation: probabilities never rank against the scores
EXPONENTS = 0.5, 8.0  # range of the exponent (one over the temperature)
COUPLED = 1 << 22  # numbers in the linear systems that are solved at a time
CERTAIN = 1e-7  # smallest distance of a pair's probability from 0 and 1


@dataclass(frozen=True, eq=False)
class PlattCalibration:
    """Platt calibration [1]_: P(+1) = 1 / (1 + exp(-(slope f + offset))) for the score f of every binary problem.

    Probabilities of three and more classes are combined from these, raised to `exponent` and normalised: coupled pairs alone are
    underconfident, the more so the more classes there are.

    Attributes
    ----------
    slope, offset : ndarrays of shape (K,)
        No slope is negative.
    reduction : MulticlassReduction
    exponent : float
        One over the temperature [3]_.
    """

    slope: np.ndarray
    offset: np.ndarray
    reduction: MulticlassReduction
    exponent: float = 1.0

    @classmethod
    def fit(cls, scores, codes, weight, reduction) -> PlattCalibration:
        """Fit to held-out scores (n, K) of rows with class numbers `codes`, by maximum likelihood with smoothed targets."""
        (problem, row, signs), weight = parts_of_problems(reduction.columns(codes)), weight / weight.mean()
        slope, offset = sigmoids(scores[row, problem], signs, weight[row], problem, reduction.n_problems)
        found = cls(slope, offset, reduction)
        if reduction.n_classes == 2:
            return found
        return replace(found, exponent=exponent_of(found.probabilities(scores), codes, weight))

    def probabilities(self, scores) -> np.ndarray:
        """Return probabilities (n, classes) from scores (n, K)."""
        logits = self.slope * scores + self.offset
        if self.reduction.n_classes == 2:
            return expit(np.column_stack([-logits, logits]))  # neither is rounded to zero
        chances = expit(logits)
        if self.reduction.pairs:
            chances = coupled(chances, self.reduction.n_classes)
        return softmax(self.exponent * np.log(np.maximum(chances, CERTAIN)), axis=1)

    def agreeing(self, scores) -> np.ndarray:
        """Return probabilities of which none is larger than that of the class that the scores predict.

        A probability that is, by an offset or by coupling, lifts that of the predicted class to its own. On 62 data sets that
        improved the log-loss, and the classes of the largest probabilities were less accurate than the predicted ones.
        """
        return lifted(self.probabilities(scores), self.reduction.predict(scores))


def parts_of_problems(labels):
    """Return (problem, row, label) of all rows that take part in the binary problems, one problem after the other."""
    rows = [np.flatnonzero(label) for label in labels]
    problem = np.repeat(np.arange(len(rows)), [len(own) for own in rows])
    return problem, np.concatenate(rows), np.concatenate([label[own] for label, own in zip(labels, rows, strict=True)])


def lifted(chances, codes) -> np.ndarray:
    """Lift the probability of the class `codes` of every row to the largest one of the row, and normalise."""
    rows, top = np.arange(len(codes)), chances.max(axis=1)
    behind = rows[chances.argmax(axis=1) != codes]
    if len(behind):
        chances[behind, codes[behind]] = top[behind] * (1 + CERTAIN)
        chances[behind] /= chances[behind].sum(axis=1, keepdims=True)
    return chances


def sigmoids(scores, labels, weights, problem, n_problems):
    """Return (slopes, offsets) of largest likelihood for Platt's smoothed targets, of all problems together.

    Newton's method with step halving. A problem whose scores rank against its labels, or that has no rows, gets the smallest slope
    and the shares of its labels.

    Parameters
    ----------
    scores, labels, weights, problem : arrays of one length
        Scores, labels -1 or +1, weights, and the problems they belong to.
    n_problems : int
    """

    def sums(values):
        return np.bincount(problem, values, minlength=n_problems)

    positive, negative = sums(weights * (labels > 0)), sums(weights * (labels < 0))
    total = np.maximum(positive + negative, 1e-12)
    target = np.where(labels > 0, ((positive + 1) / (positive + 2))[problem], (1 / (negative + 2))[problem])
    mean = sums(weights * scores) / total
    centred = scores - mean[problem]
    size = np.sqrt(sums(weights * centred**2) / total)
    size = np.where(size > 0, size, 1.0)
    f = centred / size[problem]

    def losses(point):
        logits = point[0][problem] * f + point[1][problem]
        return sums(weights * (np.logaddexp(0, logits) - target * logits))

    shares = np.log((positive + 1) / (negative + 1))
    point = np.array([np.zeros(n_problems), shares])
    value = losses(point)
    for _ in range(STEPS):
        p = expit(point[0][problem] * f + point[1][problem])
        residual, curvature = weights * (p - target), weights * p * (1 - p)
        gradient = np.array([sums(residual * f), sums(residual)])
        a, b, c = sums(curvature * f**2) + 1e-12 * total, sums(curvature * f), sums(curvature) + 1e-12 * total
        step = np.array([b * gradient[1] - c * gradient[0], b * gradient[0] - a * gradient[1]]) / (a * c - b**2)
        descent, t = (gradient * step).sum(axis=0), np.ones(n_problems)
        for _ in range(HALVINGS):
            new = losses(point + t * step)
            too_long = (new > value + 1e-4 * t * descent) & (-descent > DECREASE * np.abs(value))  # more than rounding
            if not too_long.any():
                break
            t = np.where(too_long, t / 2, t)
        moved = value - new > DECREASE * np.abs(value)
        if not moved.any():
            break
        point, value = np.where(moved, point + t * step, point), np.where(moved, new, value)
    point = np.where(point[0] >= LEAST_SLOPE, point, [np.full(n_problems, LEAST_SLOPE), shares])
    return point[0] / size, point[1] - point[0] * mean / size


def exponent_of(chances, codes, weight) -> float:
    """Return the exponent s in `EXPONENTS` for which ``p^s``, normalised, has the smallest log-loss on rows of known class.

    Targets are smoothed: (n + 1)/(n + K) for the true one of K classes. The loss is convex in s: Newton's method in a bracket.
    """
    logs = np.log(np.maximum(chances, CERTAIN))
    (n, K), (low, high) = logs.shape, EXPONENTS
    wanted = (n * logs[np.arange(n), codes] + logs.sum(axis=1)) / (n + K)
    s = 1.0
    for _ in range(STEPS):
        p = softmax(s * logs, axis=1)
        mean = (p * logs).sum(axis=1)
        gradient, curvature = weight @ (mean - wanted), weight @ ((p * logs**2).sum(axis=1) - mean**2)
        low, high = (s, high) if gradient < 0 else (low, s)
        new = s - gradient / curvature if curvature > 0 else s
        new = new if low <= new <= high else (low + high) / 2
        if abs(new - s) < 1e-4:
            break
        s = new
    return float(new)


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
