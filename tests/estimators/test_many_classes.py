"""Many classes: pairs as long as they fit, prediction in blocks, and no labels of all rows for every problem."""

import tracemalloc

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import StratifiedKFold

from radiusmargin import FSVM, FSVMCV, SVM
from radiusmargin import _blocks as blocks
from radiusmargin.multiclass import MulticlassReduction


def blobs(classes, rows, d, seed=0):
    rng = np.random.default_rng(seed)
    y = np.repeat(np.arange(classes), rows)
    return 1.5 * rng.normal(size=(classes, d))[y] + rng.normal(size=(len(y), d)), y


def test_pairs_as_long_as_they_do_not_dwarf_the_data():
    X = np.zeros((8000, 50))
    assert MulticlassReduction.chosen(401, None, X).pairs == (401 * 200 <= 10 * 8000)
    assert MulticlassReduction.chosen(400, None, X).pairs
    assert not MulticlassReduction.chosen(402, None, X).pairs
    assert MulticlassReduction.chosen(402, True, X).pairs
    assert not MulticlassReduction.chosen(3, False, X).pairs
    few = sparse.csr_array((np.ones(60_000), (np.arange(60_000), np.arange(60_000) % 50_000)), shape=(60_000, 50_000))
    assert MulticlassReduction.chosen(18, None, few).pairs  # 153 pairs, 61 MB
    assert not MulticlassReduction.chosen(19, None, few).pairs  # 68 MB, and 0.5 MB of numbers


def test_text_is_each_class_against_the_rest():
    def words(n, d):
        return sparse.csr_array((np.ones(n), (np.arange(n), np.arange(n) % d)), shape=(n, d))

    assert not MulticlassReduction.chosen(3, None, words(900, 1000)).pairs
    assert MulticlassReduction.chosen(3, True, words(900, 1000)).pairs
    assert MulticlassReduction.chosen(3, None, words(900, 1000), linear=False).pairs  # the model of SVC
    assert MulticlassReduction.chosen(3, None, words(900, 1000).toarray()).pairs
    assert MulticlassReduction.chosen(3, None, words(900, 999)).pairs
    assert MulticlassReduction.chosen(3, None, words(1001, 1000)).pairs
    X, y = words(60, 1200), np.arange(60) % 4
    assert SVM().fit(X, y).coef_.shape == (4, 1200)
    assert SVM(kernel="rbf").fit(X, y).intercept_.shape == (6,)


@pytest.mark.parametrize("model", [FSVM(), SVM(), FSVMCV(Cs=[1.0], whitening=0.0, cv=2)])
def test_without_a_word_each_against_the_rest(model):
    X, y = blobs(45, 2, 3)
    model.fit(X, y)
    assert model.coef_.shape == (45, 3)
    assert FSVM(multi_class="ovo").fit(X, y).coef_.shape == (45 * 22, 3)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_blocks_change_nothing(multi_class, monkeypatch):
    X, y = blobs(35, 4, 6)
    model = FSVM(multi_class=multi_class).fit(X, y)
    decision, predicted, radius, components = (
        model.decision_function(X), model.predict(X), model.radius_, model.components_,
    )  # fmt: skip
    monkeypatch.setattr(blocks.split, "__defaults__", (1500,))
    again = FSVM(multi_class=multi_class).fit(X, y)
    np.testing.assert_allclose(again.radius_, radius, rtol=1e-12)
    np.testing.assert_allclose(again.components_, components, rtol=1e-9, atol=1e-12)
    np.testing.assert_allclose(model.decision_function(X), decision, rtol=1e-12)
    np.testing.assert_array_equal(model.predict(X), predicted)
    np.testing.assert_array_equal(predicted, decision.argmax(axis=1))


@pytest.mark.parametrize("classes", [3, 31])
def test_votes_by_hand(classes):
    """Dense and sparse sums over pairs: each class's votes, and what decides between equals."""
    rng = np.random.default_rng(0)
    i, j = np.triu_indices(classes, 1)
    scores = rng.normal(size=(5, len(i)))
    expected = np.zeros((5, classes))
    for row, out in zip(scores, expected, strict=True):
        votes, sums = np.zeros(classes), np.zeros(classes)
        for value, a, b in zip(row, i, j, strict=True):
            votes[b if value > 0 else a] += 1
            sums[b] += value
            sums[a] -= value
        out[:] = votes + sums / (3 * (np.abs(sums) + 1))
    np.testing.assert_allclose(MulticlassReduction(classes).class_scores(scores), expected, rtol=1e-10)


def test_memory_of_a_hundred_classes():
    """Dense labels of all pairs alone would take 2,475 times y, here 40 times X."""
    X, y = blobs(100, 10, 60)
    tracemalloc.start()
    model = SVM().fit(X, y)
    model.predict(X)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert model.coef_.shape == (4950, 60)
    assert peak < 25 * X.nbytes  # 5 of them are the separators; one set of dense labels would be 80


def test_a_search_over_more_pairs_than_rows():
    """Scores of held-out rows are those of single fits, and the metric is the mean of those of the separators."""
    X, y = blobs(33, 4, 6)
    search = FSVMCV(Cs=[0.05, 5.0], whitening=0.5, cv=2, multi_class="ovo", cv_tol=1e-9).fit(X, y)
    folds = StratifiedKFold(2).split(X, y)
    for i, (train, test) in enumerate(folds):
        for k, C in enumerate([0.05, 5.0]):
            model = FSVM(C, whitening=0.5, multi_class="ovo", tol=1e-9).fit(X[train], y[train])
            assert search.scores_[k, i] == pytest.approx(model.score(X[test], y[test]), abs=1e-12)
    W = search.coef_ / (X @ search.coef_.T).std(axis=0)[:, None]
    assert len(W) > len(X)
    np.testing.assert_allclose(search.components_.T @ search.components_, W.T @ W / len(W), rtol=1e-8)
