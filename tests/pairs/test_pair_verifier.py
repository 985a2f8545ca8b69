"""Pair features, the verifier, and the projection of images."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from radiusmargin import FSVM
from radiusmargin.pairs import (
    FeatureTable,
    ImageProjection,
    PairFeatures,
    PairVerifier,
    as_pairs,
    cross_verify,
    make_pairs,
    offline_pairs,
)

TASK = make_pairs(n_people=60, n_features=8, noise=0.3, random_state=0)
TABLE = TASK.tables["generated"]
TRAIN = TASK.folds > 0
PAIRS, Y = TASK.pairs[TRAIN], TASK.y[TRAIN]
UNSEEN, TRUTH = TASK.pairs[~TRAIN], TASK.y[~TRAIN]
KINDS = ["difference", "product", "both", "metric", ("difference", "metric")]


@pytest.mark.parametrize("kinds", KINDS)
@pytest.mark.parametrize("metric", [None, FSVM(eta=1.0)])
def test_swapping_a_pair_changes_nothing(kinds, metric):
    features = PairFeatures(kinds, metric=metric).fit(TABLE[PAIRS], Y)
    np.testing.assert_array_equal(features.transform(TABLE[UNSEEN]), features.transform(TABLE[UNSEEN[:, ::-1]]))
    swapped = PAIRS.copy()
    swapped[::2] = swapped[::2, ::-1]
    again = PairFeatures(kinds, metric=metric).fit(TABLE[swapped], Y)
    np.testing.assert_allclose(features.transform(TABLE[UNSEEN]), again.transform(TABLE[UNSEEN]), rtol=1e-9)


def test_the_metric_whitens_differences_within_pairs_of_one_person():
    features = PairFeatures("metric", shrinkage=0.0).fit(TABLE[PAIRS], Y)
    delta = (TABLE[PAIRS[:, 0]] - TABLE[PAIRS[:, 1]])[Y == 1] @ features.components_.T
    np.testing.assert_allclose(delta.T @ delta / len(delta), np.eye(8), atol=1e-10)


@pytest.mark.parametrize("estimator", ["svm", "fsvm", "rmm", "svm-raw", LogisticRegression(), KNeighborsClassifier(15)])
def test_any_model_verifies_and_is_symmetric(estimator):
    verifier = PairVerifier(estimator, projection=PCA(6, random_state=0), table=TABLE).fit(PAIRS, Y)
    assert verifier.score(UNSEEN, TRUTH) > 0.7
    np.testing.assert_array_equal(verifier.decision_function(UNSEEN), verifier.decision_function(UNSEEN[:, ::-1]))


def test_rows_of_a_table_and_arrays_of_features_are_the_same():
    verifier = PairVerifier("fsvm", projection=ImageProjection(5))
    by_rows = clone(verifier).set_params(table=TABLE).fit(PAIRS, Y)
    by_array = clone(verifier).fit(TABLE[PAIRS], Y)
    np.testing.assert_array_equal(by_rows.decision_function(UNSEEN), by_array.decision_function(TABLE[UNSEEN]))


@pytest.mark.parametrize("same", [(0, 1), (-1, 1), (False, True)])
def test_predictions_use_the_labels_of_fit(same):
    labels = np.array(same)[Y]
    verifier = PairVerifier("svm", table=TABLE).fit(PAIRS, labels)
    assert set(verifier.predict(UNSEEN)) <= set(same)
    np.testing.assert_array_equal(
        verifier.decision_function(UNSEEN), PairVerifier("svm", table=TABLE).fit(PAIRS, Y).decision_function(UNSEEN)
    )


def test_calibration_moves_the_threshold_and_nothing_else():
    verifier = PairVerifier("fsvm", table=TABLE).fit(PAIRS, Y)
    before = verifier.decision_function(UNSEEN)
    assert verifier.threshold_ == 0
    verifier.calibrate_threshold(UNSEEN, TRUTH, "fpr", max_fpr=0.05)
    assert np.mean(verifier.predict(UNSEEN)[TRUTH == 0]) <= 0.05
    verifier.calibrate_threshold(UNSEEN, TRUTH)
    assert verifier.score(UNSEEN, TRUTH) == verifier.roc(UNSEEN, TRUTH).accuracy.max()
    np.testing.assert_array_equal(before, verifier.decision_function(UNSEEN))
    assert verifier.fit(PAIRS, Y).threshold_ == 0


def test_a_search_clones_the_verifier_but_not_the_table():
    table = FeatureTable(TABLE)
    verifier = PairVerifier(FSVM(), projection=ImageProjection(5), table=table)
    assert clone(verifier).table is table
    grid = {"estimator__C": [0.01, 0.1], "projection__n_components": [3, 5]}
    search = GridSearchCV(verifier, grid, cv=2).fit(PAIRS, Y)
    assert search.score(UNSEEN, TRUTH) > 0.7


def test_offline_pairs_verify():
    task = offline_pairs()
    kind = next(iter(task.tables))
    result = cross_verify(PairVerifier("fsvm", projection=ImageProjection(20)), task, kind)
    assert result.accuracy > 0.75
    assert result.roc.auc > 0.8


def test_projection_fills_with_training_means_and_balances_blocks():
    generator = np.random.default_rng(0)
    rows = generator.normal(size=(40, 6)) * [100, 100, 100, 100, 1, 1]
    rows[3, 4] = np.nan
    projection = ImageProjection(6, blocks=[4, 2]).fit(rows)
    scaled = (np.nan_to_num(rows - np.nanmean(rows, axis=0))) / projection.scale_
    assert np.square(scaled[:, :4]).sum() == pytest.approx(40)
    assert np.square(scaled[:, 4:]).sum() == pytest.approx(40)
    missing = np.full((1, 6), np.nan)
    np.testing.assert_allclose(projection.transform(missing), np.zeros((1, 6)), atol=1e-12)
    narrow = ImageProjection(2, blocks=[4, 2]).fit(rows).transform(rows)
    np.testing.assert_allclose(np.abs(projection.transform(rows)[:, :2]), np.abs(narrow), atol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PairVerifier("svm").fit(PAIRS, Y), "`table` must hold the features"),
        (lambda: PairVerifier("svm", table=TABLE).fit(PAIRS, np.arange(len(Y))), "identities are not taken"),
        (lambda: PairVerifier("svm", table=TABLE).fit(PAIRS, Y * 0), "one kind only"),
        (lambda: PairVerifier("svm", table=TABLE[:5]).fit(PAIRS, Y), "rows of the table, 0 to 4"),
        (lambda: PairVerifier("nothing", table=TABLE).fit(PAIRS, Y), "there is no model 'nothing'; known are"),
        (lambda: PairVerifier("svm", features="sum", table=TABLE).fit(PAIRS, Y), "'difference', 'product', 'metric'"),
        (lambda: PairVerifier("svm").fit(TABLE[PAIRS], Y).predict(TABLE[PAIRS][:, :, 1:]), "7 features, but 8"),
        (lambda: as_pairs(TABLE), "shape \\(n_pairs, 2, n_features\\)"),
        (lambda: PairFeatures("metric").fit(TABLE[PAIRS]), "learned from labelled pairs"),
        (lambda: ImageProjection(0).fit(TABLE), "n_components must be a positive integer"),
        (lambda: ImageProjection(2, blocks=[3]).fit(TABLE), "blocks must add up to the 8 features"),
        (lambda: ImageProjection(2).fit(TABLE * np.nan), "8 features are missing on every image"),
        (lambda: make_pairs(n_people=3), "4 folds need at least 8 people"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
