"""Directions that are no more than the rounding of a file are not whitened."""

import os

import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.preprocessing import FunctionTransformer

from radiusmargin import FSVM, FSVMCV, SemiWhitening
from radiusmargin.outofcore import ArraySource
from radiusmargin.paper import data as datasets
from radiusmargin.scatter import tempered_scatter
from radiusmargin.search import fsvm_path

DATA = os.environ.get("RADIUSMARGIN_DATA")
COLLINEAR = [
    "ida/image", "uci/image", "uci_zscored/cardiotocography-3clases", "uci_zscored/steel-plates",
    "uci_zscored/energy-y2", "uci_zscored/oocytes_trisopterus_nucleus_2f", "uci_zscored/oocytes_merluccius_nucleus_4d",
    "uci_zscored/vertebral-column-2clases", "uci_zscored/vertebral-column-3clases", "uci_zscored/breast-cancer-wisc-diag",
]  # fmt: skip
MODELS = [
    FSVM(), FSVM(eta=0.1), FSVM(whitening=0.95), FSVM(scatter="within"), FSVM(coupling="shared"), FSVM(fit_intercept=False),
    FSVMCV(whitening=(0, 0.5, 1)), FSVMCV(4, whitening=1, combine="best"), FSVMCV(4, whitening=1, eta=0.1, cv=2),
    FSVMCV(4, whitening=1, criterion="loo"), FSVMCV(whitening=1, kernel=["linear"]),
]  # fmt: skip


def digits(X, n):
    """X rounded to significant digits."""
    unit = 10.0 ** (np.floor(np.log10(np.abs(np.where(X == 0, 1.0, X)))) - n + 1)
    return np.round(X / unit) * unit


def printed(n=1000, seed=0):
    """Three classes; two of seven columns are sums of others, and all are printed with six digits."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, 5)) * [1, 3, 10, 0.1, 1] + [0, 5, 0, 2, 0]
    X = np.column_stack([X, X[:, 0] / 3 + X[:, 1] / 7, X[:, 2] - 5 * X[:, 3] + X[:, 4]])
    score = X[:, :5] @ [1.0, 0.3, 0.1, 5.0, -1.0] + rng.normal(size=n)
    return digits(X, 6), np.digitize(score, np.quantile(score, [0.4, 0.75]))


@pytest.mark.parametrize("model", MODELS, ids=str)
def test_a_digit_less_changes_no_label(model):
    X, y = printed()
    model = clone(model).fit(X[:500], y[:500])
    assert model.n_dropped_ == 2
    assert model.dual_gap_ <= 1e-6
    assert np.mean(model.predict(X[500:]) != model.predict(digits(X[500:], 5))) <= 0.005
    model.set_params(rank_tol=0).fit(X[:500], y[:500])
    assert model.n_dropped_ == 0
    assert np.mean(model.predict(X[500:]) != model.predict(digits(X[500:], 4))) > 0.2  # what it is there for


@pytest.mark.skipif(not DATA, reason="RADIUSMARGIN_DATA names no folder of data sets")
@pytest.mark.parametrize("name", COLLINEAR)
@pytest.mark.parametrize("model", [FSVM(), FSVM(eta=0.1), FSVMCV(whitening=(0, 0.5, 1))], ids=str)
def test_a_digit_less_changes_no_label_of_real_tables(name, model):
    task = datasets.load(name)
    X, y = np.asarray(task.X, dtype=float), task.y
    order = np.random.default_rng(1).permutation(len(y))
    train, test = np.array_split(order, 2)
    model = clone(model).fit(X[train], y[train])
    for other in (np.round(X, 5), digits(X, 5)):
        assert np.mean(model.predict(X[test]) != model.predict(other[test])) <= 0.005


@pytest.mark.parametrize("params", [{}, {"coupling": "shared"}], ids=str)
def test_sums_of_others_say_nothing_new(params):
    """Whitened, the model is that of any columns that span the same space, up to the tolerance."""
    X, y = printed()
    model, plain = FSVM(tol=1e-9, **params).fit(X, y), FSVM(tol=1e-9, **params).fit(X[:, :5], y)
    assert model.objective_ == pytest.approx(plain.objective_, rel=1e-3)
    assert np.mean(model.predict(X) == plain.predict(X[:, :5])) > 0.995
    Z = model.transform(X)
    assert Z.shape == plain.transform(X[:, :5]).shape  # the metric has no direction that the model has not
    assert np.sum((Z - Z.mean(axis=0)) ** 2) == pytest.approx(len(X), rel=1e-5)


def test_chunks_and_sparse_rows_lose_the_same_directions():
    X, y = printed()
    whole = FSVM(tol=1e-9).fit(X, y)
    for rows in ((ArraySource(X, y, rows=300),), (sparse.csr_array(X), y)):
        model = FSVM(tol=1e-9).fit(*rows)
        assert model.n_dropped_ == 2
        np.testing.assert_allclose(model.decision_function(X), whole.decision_function(X), atol=1e-3)
    for combine in ("average", "best"):
        search = FSVMCV([0.1, 1.0], whitening=1, combine=combine).fit(ArraySource(X, y, rows=300))
        assert search.n_dropped_ == 2


def test_what_does_not_whiten_drops_nothing():
    X, y = printed()
    for params in ({}, {"scatter": "within"}, {"eta": 0.1}, {"kernel": "rbf", "gamma": 0.1}):
        model, other = (FSVM(whitening=0, rank_tol=tol, **params).fit(X, y) for tol in (0.5, 0.0))
        assert model.n_dropped_ == 0
        np.testing.assert_array_equal(model.decision_function(X), other.decision_function(X))
    search = FSVMCV([0.1, 1.0], whitening=(1, 0), rank_tol=0.5, race=False).fit(X, y)
    plain = FSVMCV([0.1, 1.0], whitening=0, race=False).fit(X, y)
    own = [i for i, params in enumerate(search.cv_results_["params"]) if params["whitening"] == 0]
    np.testing.assert_array_equal(search.scores_[own], plain.scores_)


@pytest.mark.parametrize("rank_tol", [1e-4, 0.01, 0.1])
def test_folds_drop_what_a_fit_to_their_rows_drops(rank_tol):
    """A direction of 0.03 deviations, which folds that share their sums would keep, is dropped by 0.1 alone."""
    rng = np.random.default_rng(0)
    X, y = printed(300)
    X[:, 5:] += 0.03 * rng.normal(size=(300, 2)) * X[:, 5:].std(axis=0)
    search = FSVMCV([0.1, 1.0], whitening=(0.5, 1), rank_tol=rank_tol, race=False, combine="best").fit(X, y)
    assert search.n_dropped_ == (2 if rank_tol == 0.1 else 0)
    for params, scores in zip(search.cv_results_["params"], search.scores_, strict=True):
        model = FSVM(params["C"], whitening=params["whitening"], rank_tol=rank_tol, tol=1e-9)
        np.testing.assert_allclose(scores, cross_val_score(model, X, y, cv=StratifiedKFold(5)), atol=1e-12)
    path = fsvm_path(X, y, [0.1], rank_tol=rank_tol, tol=1e-9)
    assert path.objective.sum() == pytest.approx(FSVM(0.1, rank_tol=rank_tol, tol=1e-9).fit(X, y).objective_, rel=1e-7)


@pytest.mark.parametrize("params", [{}, {"eta": 0.1}, {"scatter": "within"}], ids=str)
def test_components_of_a_kernel_are_compared_with_the_largest(params):
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(100, 2)), np.arange(100) % 2
    model = FSVM(kernel="rbf", gamma=0.05, n_components=40, **params).fit(X, y)
    values = np.sqrt(model.kernel_map_.eigenvalues_ / model.kernel_map_.eigenvalues_[0])
    if "scatter" not in params:
        assert model.n_dropped_ == np.sum(values <= 1e-4) > 0
    fewer = FSVM(kernel="rbf", gamma=0.05, n_components=40 - model.n_dropped_, rank_tol=0, **params).fit(X, y)
    assert model.objective_ == pytest.approx(fewer.objective_, rel=1e-2 if "scatter" in params else 1e-5)


def test_features_of_a_transformer_and_units_of_columns_are_not_rounding():
    X, y = printed()
    X = X[:, :5]
    small = FunctionTransformer(lambda X: X * [1.0, 1e-5, 1.0, 1.0, 1.0])
    model = FSVM(kernel=small).fit(X, y)
    assert model.n_dropped_ == 0
    assert model.objective_ == pytest.approx(FSVM().fit(X, y).objective_, rel=1e-5)
    assert SemiWhitening(standardise=False).fit(X * [1.0, 1e-5, 1.0, 1.0, 1.0]).components_.shape == (5, 5)


def test_the_model_says_what_it_left_out(capsys):
    X, y = printed()
    FSVM(verbose=1).fit(X, y)
    assert "[FSVM] 2 direction(s) left out: the rows deviate by no more than rank_tol=0.0001" in capsys.readouterr().out
    scatter = tempered_scatter(X)
    assert (scatter.n_dropped, len(scatter.eigenvalues)) == (2, 5)
    assert tempered_scatter(X, rank_tol=0).n_dropped == 0


@pytest.mark.parametrize("rank_tol", [-1e-3, 1.0, np.nan, "1e-4"])
def test_a_tolerance_is_a_number_below_one(rank_tol):
    X, y = printed(60)
    for fit in (FSVM(rank_tol=rank_tol).fit, FSVMCV(rank_tol=rank_tol).fit):
        with pytest.raises(ValueError, match="rank_tol must be a number in"):
            fit(X, y)
    with pytest.raises(ValueError, match="rank_tol must be a number in"):
        tempered_scatter(X, rank_tol=rank_tol)
