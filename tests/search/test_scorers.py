"""Scores of held-out decision values equal those of scikit-learn's scorers."""

import warnings

import numpy as np
import pytest
from sklearn.datasets import load_iris, make_moons
from sklearn.metrics import get_scorer, log_loss, make_scorer, roc_auc_score

from radiusmargin import FSVMCV, AutoSVM
from radiusmargin.estimators.base import TrainingData
from radiusmargin.multiclass import MulticlassReduction
from radiusmargin.search.scorers import VECTORISED, FittedClassifier
from radiusmargin.search.scoring import HeldOut, SearchData


def held_out(scoring, n_classes, weights, classes=None, n=60):
    """Decision values (4, K, n) with ties, of classes that all occur, and what is known of their rows."""
    rng = np.random.default_rng(n_classes)
    reduction = MulticlassReduction(n_classes)
    codes = rng.permutation(np.arange(n) % n_classes)
    weight = rng.uniform(0.5, 2, n) if weights else np.ones(n)
    training = TrainingData(np.zeros((n, 1)), codes, weight, np.arange(n), reduction, np.ones(n_classes))
    names = np.arange(n_classes) if classes is None else np.array(classes)
    truth = HeldOut(SearchData(training, [], names, scoring=scoring), codes, weight)
    return rng.normal(size=(4, reduction.n_problems, n)).round(1), truth


@pytest.mark.parametrize("weights", [False, True])
@pytest.mark.parametrize("n_classes", [2, 3])
@pytest.mark.parametrize("scoring", list(VECTORISED))
def test_formulas_give_the_scores_of_scikit_learn(scoring, n_classes, weights):
    if n_classes == 3 and scoring in ("f1", "roc_auc", "average_precision"):
        pytest.skip("of two classes")
    values, truth = held_out(scoring, n_classes, weights)
    scorer, model = get_scorer(scoring), FittedClassifier(truth)
    expected = [scorer(model, own.T, truth.codes, sample_weight=truth.weight) for own in values]
    np.testing.assert_allclose(truth.score_values(values), expected, rtol=1e-9)
    assert len(set(expected)) > 1


@pytest.mark.parametrize("scoring", ["f1", "roc_auc", "roc_auc_ovr", "average_precision"])
def test_where_a_formula_does_not_hold_scikit_learn_is_asked(scoring):
    """F1 of labels without a 1, and the area under the curve of three classes, are errors with its own message."""
    values, truth = held_out(scoring, 2, False, classes=["a", "b"])
    if scoring.startswith("roc_auc"):
        expected = [roc_auc_score(truth.codes, own[0]) for own in values]
        np.testing.assert_allclose(truth.score_values(values), expected)
    else:
        with pytest.raises(ValueError, match="pos_label"):
            truth.score_values(values)


def test_held_out_rows_without_a_class_are_left_to_scikit_learn():
    values, truth = held_out("balanced_accuracy", 3, False)
    some = truth.codes > 0
    truth = HeldOut(truth.data, truth.codes[some], truth.weight[some])
    scorer = get_scorer("balanced_accuracy")
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # predicted classes that do not occur
        expected = [scorer(FittedClassifier(truth), own.T, truth.codes) for own in values[..., some]]
        np.testing.assert_allclose(truth.score_values(values[..., some]), expected)


@pytest.mark.parametrize("search", [FSVMCV(Cs=4), AutoSVM()])
@pytest.mark.parametrize(
    "scoring",
    [
        "neg_log_loss",
        "neg_brier_score",
        make_scorer(log_loss, greater_is_better=False, response_method="predict_proba"),
    ],
)
def test_scorers_of_probabilities_see_calibrated_ones(search, scoring):
    X, y = load_iris(return_X_y=True)
    model = search.set_params(scoring=scoring, random_state=0).fit(X, y)
    assert 0 < abs(model.best_score_) < 0.3
    assert abs(model.oof_score_ - model.best_score_) < 0.1


def test_a_search_by_area_under_the_curve_finds_it():
    X, y = make_moons(200, noise=0.3, random_state=0)
    model = AutoSVM(scoring="roc_auc", random_state=0).fit(X, np.array(["no", "yes"])[y])
    assert model.oof_score_ == pytest.approx(roc_auc_score(y, model.decision_function(X)), abs=0.05)
