"""Thresholds and rates on scores whose answers are known."""

import numpy as np
import pytest

from radiusmargin.paper.faces import choose_threshold, equal_error_rate, roc, tpr_at_fpr

# Sorted by score: + + - + - + - -
SCORES = np.array([8.0, 7.0, 6.0, 5.0, 4.0, 3.0, 2.0, 1.0])
Y = np.array([1, 1, 0, 1, 0, 1, 0, 0])


def accepted(threshold):
    return threshold <= SCORES


def test_accuracy_takes_the_threshold_with_the_most_pairs_right():
    threshold = choose_threshold(Y, SCORES, "accuracy")
    every = [np.mean(accepted(t) == Y) for t in np.linspace(0, 9, 91)]
    assert np.mean(accepted(threshold) == Y) == max(every)
    assert threshold == 6.5  # of equals the highest


def test_eer_balances_both_errors():
    threshold = choose_threshold(Y, SCORES, "eer")
    taken = accepted(threshold)
    assert np.mean(taken[Y == 0]) == np.mean(~taken[Y == 1]) == 0.25
    assert equal_error_rate(Y, SCORES) == 0.25


def test_eer_is_interpolated_between_operating_points():
    assert equal_error_rate([1, 1, 0], [3.0, 1.0, 2.0]) == pytest.approx(0.5)
    # Operating points (0, 1/2) and (1, 1): the line meets fpr = 1 - tpr at 1/3.
    assert equal_error_rate([1, 1, 0], [2.0, 1.0, 1.0]) == pytest.approx(1 / 3)


@pytest.mark.parametrize(("max_fpr", "tpr"), [(0.0, 0.5), (0.25, 0.75), (0.3, 0.75), (0.5, 1.0), (1.0, 1.0)])
def test_fpr_is_kept_and_tpr_is_the_highest(max_fpr, tpr):
    threshold = choose_threshold(Y, SCORES, "fpr", max_fpr=max_fpr)
    assert np.mean(accepted(threshold)[Y == 0]) <= max_fpr
    assert np.mean(accepted(threshold)[Y == 1]) == tpr == tpr_at_fpr(Y, SCORES, max_fpr)


def test_every_threshold_of_the_curve_gives_its_rates():
    scores = np.array([1.0, np.nextafter(1.0, 2), 0.5, 0.5, -1.0])  # neighbours, and a tie
    y = np.array([0, 1, 1, 0, 0])
    curve = roc(y, scores)
    for fpr, tpr, threshold in zip(curve.fpr, curve.tpr, curve.thresholds, strict=True):
        taken = scores >= threshold
        assert (np.mean(taken[y == 0]), np.mean(taken[y == 1])) == (fpr, tpr)


def test_perfect_and_useless_scores():
    assert roc(Y, Y).auc == 1.0
    assert roc(Y, Y).equal_error_rate == 0.0
    assert roc(Y, np.zeros(8)).auc == 0.5
    assert roc(Y, -SCORES).auc == pytest.approx(1 - roc(Y, SCORES).auc)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ((Y, SCORES, "youden"), "strategy must be one of 'accuracy', 'eer', 'fpr', got 'youden'"),
        ((Y, SCORES, "fpr"), "max_fpr goes with strategy='fpr'"),
        ((np.ones(8), SCORES), "one kind only"),
        ((Y, SCORES * np.nan), "finite"),
        ((Y[:3], SCORES), "one label per pair"),
        ((np.arange(8), SCORES), "identities are not taken"),
    ],
)
def test_errors_say_what_is_wrong(arguments, message):
    with pytest.raises(ValueError, match=message):
        choose_threshold(*arguments)
    with pytest.raises(ValueError, match=r"false positive rate must be in \[0, 1\]"):
        tpr_at_fpr(Y, SCORES, 1.5)
