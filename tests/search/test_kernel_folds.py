"""A kernel search on shared rows gives what FSVM gives on every fold."""

import numpy as np
import pytest
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.model_selection import ShuffleSplit, StratifiedKFold

from radiusmargin import FSVM, FSVMCV

CS = [0.1, 1.0, 30.0]


def overlapping(classes=2, n=90, d=4):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + 0.8 * rng.normal(size=(classes, d))[y], y


def first_decision(model, X, y, sample_weight=None):
    """A scorer that is any decision value: of the first test row, for its class."""
    values = model.decision_function(X)[0]
    return float(values if np.ndim(values) == 0 else values[list(model.classes_).index(y[0])])


def by_hand(X, y, splits, weight, **params):
    """{(C, gamma): decision values} of FSVM, one per split."""
    precomputed = params["kernel"] == "precomputed"
    gammas = params.pop("gamma") if isinstance(params.get("gamma"), list) else [params.pop("gamma", "scale")]
    values = {}
    for C in CS:
        for gamma in gammas:
            for train, test in splits:
                cut = np.ix_(train, train) if precomputed else train
                unseen = X[np.ix_(test[:1], train)] if precomputed else X[test[:1]]
                model = FSVM(C, whitening=0.0, gamma=gamma, tol=1e-8, **params).fit(X[cut], y[train], weight[train])
                values.setdefault((C, gamma), []).append(first_decision(model, unseen, y[test]))
    return values


KERNELS = {
    "gammas": {"kernel": "rbf", "gamma": [0.05, 1.0]},
    "scale": {"kernel": "rbf"},
    "laplacian": {"kernel": "laplacian", "gamma": 0.3},
    "high rank": {"kernel": "poly", "degree": 4, "coef0": 1.0, "gamma": 0.2},
    "callable": {"kernel": lambda X, Y: rbf_kernel(X, Y, gamma=0.3)},
    "balanced": {"kernel": "rbf", "class_weight": "balanced"},
    "class weights": {"kernel": "rbf", "class_weight": {0: 1.0, 1: 3.0}},
    "precomputed": {"kernel": "precomputed"},
    "small rank": {"kernel": "poly", "degree": 2, "coef0": 1.0, "gamma": 0.2},
    "no intercept": {"kernel": "rbf", "fit_intercept": False},
}


@pytest.mark.parametrize("case", KERNELS)
@pytest.mark.parametrize("classes", [2, 3])
def test_decision_values_are_those_of_fsvm(case, classes):
    X, y = overlapping(classes)
    params = KERNELS[case]
    if case == "precomputed":
        X = rbf_kernel(X, gamma=0.3)
    weight = np.random.default_rng(1).uniform(0.5, 2.0, len(y))
    splits = list(StratifiedKFold(3).split(X, y))
    options = {"whitening": 0.0, "cv": splits, "cv_tol": 1e-10, "scoring": first_decision, "refit": False}
    model = FSVMCV(CS, **options, **params).fit(X, y, weight)
    expected = by_hand(X, y, splits, weight, **params)
    for p, values in zip(model.cv_results_["params"], model.scores_, strict=True):
        np.testing.assert_allclose(values, expected[p["C"], p["gamma"]], atol=2e-4)


@pytest.mark.parametrize("form", ["overlapping splits", "repeated rows", "sparse"])
def test_any_index_sets(form):
    X, y = overlapping()
    splits = list(ShuffleSplit(3, test_size=0.3, random_state=0).split(X))
    if form == "repeated rows":
        splits = [(np.random.default_rng(0).choice(train, len(train)), test) for train, test in splits]
    data = sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)) if form == "sparse" else X
    options = {"kernel": "rbf", "whitening": 0.0, "cv": splits, "cv_tol": 1e-10, "refit": False}
    model = FSVMCV(CS, **options, scoring=first_decision).fit(data, y)
    expected = by_hand(data, y, splits, np.ones(len(y)), kernel="rbf")
    for p, values in zip(model.cv_results_["params"], model.scores_, strict=True):
        np.testing.assert_allclose(values, expected[p["C"], "scale"], atol=2e-4)


def test_a_constant_kernel_is_named():
    X, y = overlapping()
    with pytest.raises(ValueError, match="does not vary"):
        FSVMCV(CS, whitening=0.0, kernel="rbf", gamma=1e-30).fit(X, y)


def test_a_score_that_is_no_number_is_refused_with_its_member():
    X, y = overlapping()

    def scoring(model, Z, truth, sample_weight=None):
        return np.nan if np.abs(model.decision_function(Z)).max() > 1.5 else 1.0

    with pytest.raises(ValueError, match=r"scoring gave .*nan.* for Candidate\(.*C=30\.0.* on split 0"):
        FSVMCV([1e-3, 30.0], kernel="rbf", gamma=0.3, cv=3, scoring=scoring).fit(X, y)


@pytest.mark.parametrize("combine", ["average", "best"])
def test_an_indefinite_kernel_has_no_certificate(combine):
    X, y = overlapping()
    K = np.tanh(0.5 * X @ X.T - 1.0)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = FSVMCV(CS, kernel="precomputed", combine=combine, cv=3, random_state=0).fit(K, y)
    assert np.isnan(model.dual_gap_)
    assert model.score(K, y) > 0.5


def test_the_best_estimator_knows_the_names_of_the_features():
    pd = pytest.importorskip("pandas")
    X, y = overlapping()
    frame = pd.DataFrame(X, columns=list("abcd"))
    model = FSVMCV(CS, kernel="rbf", combine="best", cv=3, random_state=0).fit(frame, y)
    np.testing.assert_array_equal(model.best_estimator_.predict(frame), model.predict(frame))
