"""Tests for comparing classifiers: two on one data set, two over many, many over many.

References
----------
.. [1] C. Nadeau and Y. Bengio, "Inference for the generalization error", Machine Learning 52, 2003.
.. [2] J. Demšar, "Statistical comparisons of classifiers over multiple data sets", JMLR 7, 2006.
.. [3] R. Iman and J. Davenport, "Approximations of the critical region of the Friedman statistic", 1980.
.. [4] S. Holm, "A simple sequentially rejective multiple test procedure", Scandinavian Journal of Statistics 6, 1979.
"""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from scipy import stats

__all__ = [
    "FriedmanResult",
    "TestResult",
    "WinTieLoss",
    "cliques",
    "corrected_t_test",
    "critical_difference",
    "friedman",
    "holm",
    "mean_ranks",
    "mean_standard_error",
    "nemenyi",
    "resampled_standard_error",
    "wilcoxon",
    "win_tie_loss",
]


@dataclass(frozen=True)
class TestResult:
    """A statistic and its two-sided p-value; a difference that is zero throughout has p = 1."""

    __test__ = False  # not a test class, whatever its name tells pytest

    statistic: float
    pvalue: float


@dataclass(frozen=True)
class FriedmanResult:
    """Friedman's test over data sets.

    Attributes
    ----------
    ranks : ndarray of shape (n_models,)
        Mean rank of each model; 1 is best.
    chi2, pvalue : float
        Friedman's statistic, with ties accounted for, and its p-value.
    F, F_pvalue : float
        The less conservative statistic of Iman and Davenport [3]_.
    """

    ranks: np.ndarray
    chi2: float
    pvalue: float
    F: float
    F_pvalue: float


@dataclass(frozen=True)
class WinTieLoss:
    wins: int
    ties: int
    losses: int

    def __str__(self):
        return f"{self.wins}/{self.ties}/{self.losses}"


def mean_standard_error(values) -> tuple[float, float]:
    """Mean and standard error of independent values; the error of a single value is NaN.

    >>> mean_standard_error([1.0, 2.0, 3.0])
    (2.0, 0.5773502691896258)
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float(values.mean()), float("nan")
    return float(values.mean()), float(values.std(ddof=1) / np.sqrt(len(values)))


def resampled_standard_error(values, test_ratio) -> float:
    """Standard error of a mean over resampled splits, which overlap and so are not independent [1]_.

    Parameters
    ----------
    values : array of shape (n_runs,)
    test_ratio : float
        Size of the test part over that of the training part.

    >>> round(resampled_standard_error([1.0, 2.0, 3.0], 0.25), 4)
    0.7638
    """
    values = np.asarray(values, dtype=float)
    if len(values) < 2:
        return float("nan")
    return float(values.std(ddof=1) * np.sqrt(1.0 / len(values) + test_ratio))


def corrected_t_test(a, b, test_ratio) -> TestResult:
    """Paired t-test over resampled splits of one data set, with the correction of Nadeau and Bengio [1]_.

    The splits share training data, so the variance of the mean difference is not ``s^2 / J`` but about
    ``(1/J + n_test/n_train) s^2``. A ``test_ratio`` of 0 gives the ordinary paired t-test. Where all differences are the
    same, as those of accuracies on few splits often are, there is no spread to judge by: that is the sign test.

    Parameters
    ----------
    a, b : arrays of shape (n_runs,)
        Scores of the two models on the same splits.
    test_ratio : float
        ``n_test / n_train``.

    Examples
    --------
    >>> result = corrected_t_test([0.9, 0.8, 0.85, 0.9], [0.8, 0.75, 0.8, 0.85], 0.25)
    >>> round(result.statistic, 3), round(result.pvalue, 3)
    (3.536, 0.038)
    """
    difference = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    if difference.ndim != 1 or len(difference) < 2:
        raise ValueError(f"a and b must hold two or more paired scores, got shape {difference.shape}")
    if test_ratio < 0:
        raise ValueError(f"test_ratio must not be negative, got {test_ratio}")
    error = resampled_standard_error(difference, test_ratio)
    mean = difference.mean()
    if error <= 1e-12 * abs(mean) or not difference.any():
        return TestResult(float(np.sign(mean) * np.inf) if mean else 0.0, 2.0 ** (1 - len(difference)) if mean else 1.0)
    statistic = mean / error
    return TestResult(float(statistic), float(2 * stats.t.sf(abs(statistic), len(difference) - 1)))


def holm(pvalues) -> np.ndarray:
    """p-values of many tests, corrected so that one false finding among all is as rare as it is in one test [4]_.

    >>> holm([0.01, 0.04, 0.03]).tolist()
    [0.03, 0.06, 0.06]
    """
    pvalues = np.asarray(pvalues, dtype=float)
    order = np.argsort(pvalues, kind="stable")
    steps = pvalues[order] * np.arange(len(pvalues), 0, -1)
    corrected = np.empty(len(pvalues))
    corrected[order] = np.minimum(np.maximum.accumulate(steps), 1.0)
    return corrected


def wilcoxon(a, b) -> TestResult:
    """Wilcoxon's signed-rank test of two models over data sets; differences of zero are split evenly [2]_.

    The statistic is the smaller of the two rank sums. Exact where there are neither ties nor zeros and at
    most 50 data sets, else by the normal approximation.
    """
    difference = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    if not difference.any():
        return TestResult(0.0, 1.0)
    result = stats.wilcoxon(difference, zero_method="zsplit", method="auto")
    return TestResult(float(result.statistic), float(result.pvalue))


def win_tie_loss(a, b, tolerance=0.0) -> WinTieLoss:
    """On how many data sets a is better than, within ``tolerance`` of, and worse than b.

    >>> str(win_tie_loss([0.9, 0.8, 0.7], [0.8, 0.8, 0.9]))
    '1/1/1'
    """
    difference = np.asarray(a, dtype=float) - np.asarray(b, dtype=float)
    wins, losses = int(np.sum(difference > tolerance)), int(np.sum(difference < -tolerance))
    return WinTieLoss(wins, len(difference) - wins - losses, losses)


def mean_ranks(scores) -> np.ndarray:
    """Mean rank of each column over the rows; the highest score has rank 1 and ties share theirs.

    >>> mean_ranks([[0.9, 0.8, 0.8], [0.7, 0.9, 0.8]]).tolist()
    [2.0, 1.75, 2.25]
    """
    return stats.rankdata(-np.asarray(scores, dtype=float), axis=1).mean(axis=0)


def friedman(scores) -> FriedmanResult:
    """Friedman's test that all models are equally good, with the variant of Iman and Davenport [2]_, [3]_.

    Parameters
    ----------
    scores : array of shape (n_datasets, n_models)
        Higher is better.
    """
    scores = np.asarray(scores, dtype=float)
    N, k = scores.shape
    if N < 2 or k < 3:
        raise ValueError(f"Friedman's test needs two data sets and three models, got {N} and {k}")
    ranks = stats.rankdata(-scores, axis=1)
    mean = ranks.mean(axis=0)
    spread = np.sum((ranks - (k + 1) / 2) ** 2)  # N k (k^2 - 1) / 12 where nothing is tied
    if spread == 0:
        return FriedmanResult(mean, 0.0, 1.0, 0.0, 1.0)
    chi2 = N**2 * (k - 1) * np.sum((mean - (k + 1) / 2) ** 2) / spread
    rest = N * (k - 1) - chi2
    F = (N - 1) * chi2 / rest if rest > 1e-12 else np.inf
    return FriedmanResult(
        mean, float(chi2), float(stats.chi2.sf(chi2, k - 1)),
        float(F), float(stats.f.sf(F, k - 1, (k - 1) * (N - 1))),
    )  # fmt: skip


def critical_difference(n_models, n_datasets, alpha=0.05) -> float:
    """Nemenyi's critical difference of mean ranks [2]_.

    >>> round(critical_difference(4, 14), 2), round(critical_difference(4, 14, alpha=0.1), 2)
    (1.25, 1.12)
    """
    q = stats.studentized_range.ppf(1 - alpha, n_models, np.inf) / np.sqrt(2)
    return float(q * np.sqrt(n_models * (n_models + 1) / (6 * n_datasets)))


def nemenyi(scores) -> np.ndarray:
    """Nemenyi's p-values of all pairs of models, of shape (n_models, n_models)."""
    scores = np.asarray(scores, dtype=float)
    N, k = scores.shape
    ranks = mean_ranks(scores)
    q = np.abs(ranks[:, None] - ranks) / np.sqrt(k * (k + 1) / (12 * N))
    return np.clip(stats.studentized_range.sf(q, k, np.inf), 0.0, 1.0)


def cliques(ranks, difference) -> list[tuple[int, ...]]:
    """The largest groups of models whose mean ranks lie within the critical difference, best first.

    >>> cliques([1.0, 3.0, 2.0], 1.0)
    [(0, 2), (2, 1)]
    """
    order = np.argsort(ranks, kind="stable")
    ordered = np.asarray(ranks, dtype=float)[order]
    groups, reach = [], 0
    for first in range(len(order)):
        last = int(np.searchsorted(ordered, ordered[first] + difference + 1e-12, side="right"))
        if last > reach and last - first > 1:
            groups.append(tuple(int(i) for i in order[first:last]))
        reach = max(reach, last)
    return groups
