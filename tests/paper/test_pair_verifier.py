"""Pair features, the verifier, and the projection of images."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV
from sklearn.neighbors import KNeighborsClassifier

from radiusmargin import FSVM
from radiusmargin.paper.faces import (
    FeatureTable,
    ImageProjection,
    PairFeatures,
    PairVerifier,
    as_table,
    cross_verify,
    make_pairs,
    offline_pairs,
)

TASK = make_pairs(n_people=60, n_features=8, noise=0.3, random_state=0)
TABLE = TASK.table
TRAIN = TASK.folds > 0
PAIRS, Y = TASK.pairs[TRAIN], TASK.y[TRAIN]
UNSEEN, TRUTH = TASK.pairs[~TRAIN], TASK.y[~TRAIN]
MIRRORED = np.stack([TABLE, TABLE + 0.1 * np.random.default_rng(0).normal(size=TABLE.shape)], axis=1)


@pytest.mark.parametrize("table", [TABLE, MIRRORED], ids=["one view", "two views"])
@pytest.mark.parametrize("kinds", ["difference", "product", "both", "metric", ("metric", "both")])
def test_swapping_a_pair_changes_nothing(kinds, table):
    settings = {"blocks": (5, 3)} if isinstance(kinds, tuple) else {"n_components": 4}
    features = PairFeatures(kinds, **settings).fit(PAIRS, Y, table=table)
    described = features.transform(UNSEEN, table=table)
    np.testing.assert_array_equal(described, features.transform(UNSEEN[:, ::-1], table=table))
    swapped = PAIRS.copy()
    swapped[::2] = swapped[::2, ::-1]
    again = PairFeatures(kinds, **settings).fit(swapped, Y, table=table)
    np.testing.assert_allclose(described, again.transform(UNSEEN, table=table), rtol=1e-9)


def test_the_metric_whitens_differences_within_pairs_of_one_person():
    features = PairFeatures("metric", shrinkage=0.0).fit(PAIRS, Y, table=TABLE)
    (W,) = features.whitenings_
    delta = (TABLE[PAIRS[:, 0]] - TABLE[PAIRS[:, 1]])[Y == 1] @ W
    np.testing.assert_allclose(delta.T @ delta / len(delta), np.eye(8), atol=1e-10)
    a, b = ((TABLE[UNSEEN[:, i]] - features.projections_[0].mean_) @ W for i in (0, 1))
    a, b = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in (a, b))
    wanted = np.column_stack([np.linalg.norm(a - b, axis=1), (a * b).sum(axis=1)])
    np.testing.assert_allclose(features.transform(UNSEEN, table=TABLE), wanted, atol=1e-7)


def test_training_pairs_are_compared_in_metrics_that_have_not_seen_them():
    """In its own metric a pair of one person looks more alike than a new one does; held out, as much."""
    task = make_pairs(n_people=40, n_features=80, noise=0.6, random_state=1)
    train, test = task.splits[0]
    features = PairFeatures("metric")
    held_out = features.fit_transform(task.pairs[train], task.y[train], table=task.table)
    seen = features.transform(task.pairs[train], table=task.table)
    new = features.transform(task.pairs[test], table=task.table)[task.y[test] == 1, 1].mean()
    same = task.y[train] == 1
    assert seen[same, 1].mean() > new + 0.1
    assert abs(held_out[same, 1].mean() - new) < 0.05


def test_a_part_is_described_without_its_labels():
    """Labels of the last part of the training pairs do not change what it is told by."""
    n = len(Y) // 5 * 5
    turned = Y[:n].copy()
    turned[-n // 5 :] = 1 - turned[-n // 5 :]
    described = [PairFeatures("metric").fit_transform(PAIRS[:n], y, table=TABLE) for y in (Y[:n], turned)]
    np.testing.assert_array_equal(described[0][-n // 5 :], described[1][-n // 5 :])
    assert not np.allclose(described[0][: n // 5], described[1][: n // 5])


def test_views_are_compared_each_with_each():
    table = np.stack([TABLE, TABLE[:, ::-1]], axis=1)
    described = PairFeatures("difference").fit_transform(PAIRS, table=table)
    a, b = table[PAIRS[:, 0]], table[PAIRS[:, 1]]
    wanted = np.mean([np.abs(a[:, u] - b[:, v]) for u in (0, 1) for v in (0, 1)], axis=0)
    np.testing.assert_allclose(described, wanted, atol=1e-12)


def test_blocks_are_described_one_by_one():
    both = PairFeatures(("metric", "both"), blocks=(5, 3), n_components=(4, None)).fit(PAIRS, Y, table=TABLE)
    metric = PairFeatures("metric", n_components=4).fit(PAIRS, Y, table=TABLE[:, :5])
    plain = PairFeatures("both").fit(PAIRS, Y, table=TABLE[:, 5:])
    wanted = [metric.transform(UNSEEN, table=TABLE[:, :5]), plain.transform(UNSEEN, table=TABLE[:, 5:])]
    np.testing.assert_allclose(both.transform(UNSEEN, table=TABLE), np.hstack(wanted), rtol=1e-12)


def test_an_image_in_many_pairs_counts_once():
    repeated = np.concatenate([PAIRS, np.repeat(PAIRS[:1], 500, axis=0)])
    y = np.concatenate([Y, np.repeat(Y[:1], 500)])
    once, often = (PairFeatures("both", n_components=3).fit(p, t, table=TABLE) for p, t in ((PAIRS, Y), (repeated, y)))
    np.testing.assert_array_equal(once.projections_[0].mean_, often.projections_[0].mean_)
    np.testing.assert_array_equal(once.projections_[0].pca_.components_, often.projections_[0].pca_.components_)


@pytest.mark.parametrize("estimator", ["svm", "fsvm", "rmm", "svm-raw", LogisticRegression(), KNeighborsClassifier(15)])
def test_any_model_verifies_and_is_symmetric(estimator):
    verifier = PairVerifier(estimator, features=PairFeatures(n_components=6), table=TABLE).fit(PAIRS, Y)
    assert verifier.score(UNSEEN, TRUTH) > 0.7
    np.testing.assert_array_equal(verifier.decision_function(UNSEEN), verifier.decision_function(UNSEEN[:, ::-1]))


def test_rows_of_a_table_and_arrays_of_features_are_the_same():
    distinct = np.arange(len(TABLE) // 2 * 2).reshape(-1, 2)  # every image in one pair
    y = np.arange(len(distinct)) % 2
    by_rows = PairVerifier("fsvm", features=PairFeatures(n_components=5), table=TABLE).fit(distinct, y)
    by_array = PairVerifier("fsvm", features=PairFeatures(n_components=5)).fit(TABLE[distinct], y)
    np.testing.assert_allclose(by_rows.decision_function(UNSEEN), by_array.decision_function(TABLE[UNSEEN]), rtol=1e-9)


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
    verifier = PairVerifier(FSVM(), features=PairFeatures("metric", n_components=5), table=table)
    assert clone(verifier).table is table
    grid = {"estimator__C": [0.01, 0.1], "features__n_components": [3, 5]}
    search = GridSearchCV(verifier, grid, cv=2).fit(PAIRS, Y)
    assert search.score(UNSEEN, TRUTH) > 0.7


def test_offline_pairs_verify():
    task = offline_pairs()
    result = cross_verify(PairVerifier("fsvm", features=task.features), task)
    assert result.accuracy > 0.75
    assert result.roc.auc > 0.8


def test_projection_fills_with_training_means_and_turns_only_where_it_should():
    rows = np.random.default_rng(0).normal(size=(40, 6))
    rows[3, 4] = np.nan
    missing = np.full((1, 6), np.nan)
    for k in (2, None):
        np.testing.assert_allclose(ImageProjection(k).fit(rows).transform(missing), 0, atol=1e-12)
    plain = ImageProjection(None).fit(rows)
    np.testing.assert_allclose(plain.transform(rows), np.nan_to_num(rows - np.nanmean(rows, axis=0)), atol=1e-12)
    wanted = PCA(2).fit_transform(plain.transform(rows))
    np.testing.assert_allclose(np.abs(ImageProjection(2).fit(rows).transform(rows)), np.abs(wanted), atol=1e-10)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: PairVerifier("svm").fit(PAIRS, Y), "`table` must hold the features"),
        (lambda: PairVerifier("svm", table=TABLE).fit(PAIRS, np.arange(len(Y))), "identities are not taken"),
        (lambda: PairVerifier("svm", table=TABLE).fit(PAIRS, Y * 0), "one kind only"),
        (lambda: PairVerifier("svm", table=TABLE[:5]).fit(PAIRS, Y), "rows of the table, 0 to 4"),
        (lambda: PairVerifier("nothing", table=TABLE).fit(PAIRS, Y), "there is no model 'nothing'; known are"),
        (lambda: PairVerifier("svm", features="sum", table=TABLE).fit(PAIRS, Y), "kinds must be some of 'difference'"),
        (lambda: PairVerifier("svm").fit(TABLE[PAIRS], Y).predict(TABLE[PAIRS][:, :, 1:]), "7 features, but 8"),
        (lambda: as_table(TABLE), "shape \\(n_pairs, 2, n_features\\)"),
        (lambda: PairFeatures("metric").fit(TABLE[PAIRS]), "learned from labelled pairs"),
        (lambda: PairFeatures("metric").fit(TABLE[PAIRS], Y * 0), "learned from labelled pairs"),
        (
            lambda: PairFeatures("metric", cv=2).fit_transform(TABLE[PAIRS[:4]], [1, 1, 0, 0]),
            "leaves no pairs of the same",
        ),
        (lambda: PairFeatures(["both"] * 3, blocks=(4, 4)).fit(TABLE[PAIRS]), "one for each of 2 blocks, got 3"),
        (lambda: FeatureTable(TABLE[0]), "table must have shape"),
        (lambda: ImageProjection(0).fit(TABLE), "n_components must be a positive integer"),
        (lambda: PairFeatures(blocks=[3]).fit(TABLE[PAIRS]), "blocks must add up to the 8 features"),
        (lambda: ImageProjection(2).fit(TABLE * np.nan), "8 features are missing on every image"),
        (lambda: make_pairs(n_people=3), "4 folds need at least 8 people"),
    ],
)
def test_errors_say_what_is_wrong(call, message):
    with pytest.raises(ValueError, match=message):
        call()
