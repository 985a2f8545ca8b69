"""A search on sparse data gives what dense data and single fits give, without a copy for every fold."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import ShuffleSplit

from radiusmargin import FSVM, FSVMCV, SVM
from radiusmargin.estimators.features import FeatureChoice
from radiusmargin.scatter import can_whiten, feature_moments, sparse_moments
from radiusmargin.search import fold_strategies
from radiusmargin.search.candidates import MANY, WIDE, defaults_of

CS = [0.05, 1.0, 20.0]


def counts(n=90, d=30, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    rates = rng.exponential(0.4, size=(classes, d)) * (1 / (1 + np.arange(d) / 5))
    return sparse.csr_array(rng.poisson(rates[y]).astype(float)), y


@pytest.mark.parametrize("whitening", [-1.0, -0.5, 0.0])
@pytest.mark.parametrize("classes", [2, 4])
@pytest.mark.parametrize("class_weight", [None, "balanced"])
def test_scores_are_those_of_single_fits(whitening, classes, class_weight, monkeypatch):
    X, y = counts(classes=classes)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    splits = list(ShuffleSplit(3, test_size=0.3, random_state=0).split(X))
    monkeypatch.setattr(fold_strategies, "SPARSE_BATCH", 200)  # some problems at a time
    search = FSVMCV(
        CS, whitening=whitening, cv=splits, cv_tol=1e-9, class_weight=class_weight, combine="best", multi_class="ovo"
    ).fit(X, y, weight)
    for params, scores in zip(search.cv_results_["params"], search.scores_, strict=True):
        for (train, test), score in zip(splits, scores, strict=True):
            model = FSVM(params["C"], whitening=whitening, class_weight=class_weight, tol=1e-9)
            model.fit(X[train], y[train], weight[train])
            assert score == pytest.approx(model.score(X[test], y[test], weight[test]), abs=1e-12)


def test_sparse_and_dense_searches_agree():
    X, y = counts(classes=3)
    one, other = (FSVMCV(CS, whitening=[-1, -0.5, 0], cv_tol=1e-9, tol=1e-9).fit(data, y) for data in (X, X.toarray()))
    np.testing.assert_array_equal(one.scores_, other.scores_)
    assert one.members_ == other.members_
    np.testing.assert_allclose(one.coef_, other.coef_, atol=1e-5)
    np.testing.assert_allclose(one.components_, other.components_, atol=1e-4)


def test_below_zero_columns_are_standardised_less():
    X, y = counts()
    X = X.toarray()
    for whitening in (-1.0, -0.5, 0.0):
        scale = X.std(axis=0) ** (1 + whitening)
        model, plain = FSVM(0.7, whitening=whitening, tol=1e-9).fit(X, y), SVM(0.7, tol=1e-9).fit(X / scale, y)
        assert model.objective_ == pytest.approx(plain.objective_, rel=1e-8)
        np.testing.assert_allclose(model.coef_ * scale, plain.coef_, atol=1e-5)
        w = model.coef_[0]
        norm = w @ (np.diag(scale**2) @ w)
        np.testing.assert_allclose(model.components_.T @ model.components_, np.outer(w, w) / norm, atol=1e-6)
        assert model.margin_[0] == pytest.approx(1 / np.sqrt(norm), rel=1e-6)


@pytest.mark.parametrize(
    "params", [{"eta": 0.1}, {"rho": 1.0}, {"scatter": "within"}, {"kernel": "rbf"}, {"coupling": "shared"}]
)
def test_below_zero_nothing_else_is_learnt(params):
    X, y = counts()
    with pytest.raises(ValueError, match="is below 0, which needs"):
        FSVM(whitening=-0.5, **params).fit(X, y)


def test_defaults_follow_the_data():
    """Text is not whitened, and of the rest only what can be."""
    X, y = counts(60, 1200)
    assert {m["whitening"] for m in FSVMCV([1.0, 2.0]).fit(X, y).cv_results_["params"]} == {-1.0, -0.5}
    X, y = counts(60, 20)
    assert {m["whitening"] for m in FSVMCV([1.0, 2.0]).fit(X, y).cv_results_["params"]} == {0, 0.5}
    linear, (X, _) = FeatureChoice(), counts(60, 450)
    assert defaults_of(linear, X) is WIDE
    assert defaults_of(linear, X.toarray()) is MANY


def test_what_is_too_wide_says_what_to_do():
    assert can_whiten(10**7, 5000)
    assert can_whiten(100, 100_000)
    assert not can_whiten(4000, 100_000)
    X = sparse.random_array((2001, 10_000), density=1e-3, random_state=np.random.default_rng(0), format="csr")
    y = np.arange(2001) % 2
    with pytest.raises(ValueError, match=r"set whitening=0 .*TruncatedSVD|Set whitening=0 .*TruncatedSVD"):
        FSVM().fit(X, y)


def test_few_rows_of_any_width_are_whitened():
    """From the rows, without a scatter matrix: the fit is that of the same rows in fewer columns."""
    X, y = counts(40, 60)
    padded = sparse.hstack([X, sparse.csr_array((40, 5400))], format="csr")
    wide, narrow = FSVM(0.3, whitening=0.5).fit(padded, y), FSVM(0.3, whitening=0.5).fit(X, y)
    assert wide.objective_ == pytest.approx(narrow.objective_, rel=1e-5)
    np.testing.assert_allclose(wide.coef_[:, :60], narrow.coef_, atol=1e-3)


def test_moments_of_some_rows():
    X, _ = counts(80, 12)
    X = sparse.csr_array(np.column_stack([X.toarray(), np.full(80, 3.3), np.zeros(80), np.arange(80) >= 50]))
    weight = np.random.default_rng(0).uniform(0.1, 2.0, 80) * (np.arange(80) < 50)
    mean, variance = sparse_moments(X, weight)
    expected_mean, expected = feature_moments(X[:50].toarray(), weight[:50])
    np.testing.assert_allclose(mean, expected_mean, rtol=1e-12, atol=1e-15)
    np.testing.assert_allclose(variance, expected, rtol=1e-10)
    assert not variance[-3:].any()
