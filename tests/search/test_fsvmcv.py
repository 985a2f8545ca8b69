"""FSVMCV: the same choice as an exhaustive search, the rules of choosing, and what it leaves behind."""

import time
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_breast_cancer, load_iris, load_wine
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.model_selection import GridSearchCV, GroupKFold, KFold, LeaveOneOut, StratifiedKFold, cross_val_predict
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from radiusmargin import FSVM, FSVMCV
from radiusmargin.estimators.base import TrainingData
from radiusmargin.estimators.family import Family
from radiusmargin.multiclass import MulticlassReduction
from radiusmargin.scatter import tempered_scatter, uncorrelated_scatter
from radiusmargin.search import fold_strategies, fsvm_path, radius_margin_bound, span_loo
from radiusmargin.search.candidates import Candidate
from radiusmargin.search.fold_strategies import FoldMoments
from radiusmargin.search.scoring import HeldOut, ScoreTable, SearchData, best_candidate, near_best
from radiusmargin.solvers import Options, hinge_svm, hinge_svm_path

# Scores of two fits agree to the last digit, as the weight check demands, only if the fits do.
CHECKED = [
    FSVMCV(Cs=3, whitening=(0.0, 1.0), cv=2, random_state=0, cv_tol=1e-9, tol=1e-9),
    FSVMCV(Cs=[0.1, 1.0], combine="best", cv=2, tol=1e-10),
]


@parametrize_with_checks(CHECKED)
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def overlapping(n=120, d=5, classes=2, seed=0):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    return (rng.normal(size=(n, d)) + 0.7 * rng.normal(size=(classes, d))[y]) @ rng.normal(size=(d, d)), y


@pytest.mark.parametrize(("classes", "multi_class"), [(2, "ovo"), (3, "ovr"), (4, "ovo")])
@pytest.mark.parametrize("scatter", ["total", "within"])
def test_same_scores_and_choice_as_grid_search(classes, multi_class, scatter):
    X, y = overlapping(classes=classes)
    folds = StratifiedKFold(4, shuffle=True, random_state=1)
    grid = {"C": [0.01, 0.1, 1.0, 10.0], "whitening": [0.0, 0.5, 1.0]}
    form = {"scatter": scatter, "multi_class": multi_class, "tol": 1e-9}
    search = GridSearchCV(FSVM(**form), grid, cv=folds).fit(X, y)
    model = FSVMCV(Cs=grid["C"], whitening=grid["whitening"], cv=folds, combine="best", cv_tol=1e-9, **form).fit(X, y)
    theirs = {
        (p["C"], p["whitening"]): s
        for p, s in zip(search.cv_results_["params"], search.cv_results_["mean_test_score"], strict=True)
    }
    for p, score in zip(model.cv_results_["params"], model.cv_results_["mean_test_score"], strict=True):
        assert score == pytest.approx(theirs[p["C"], p["whitening"]], abs=1e-12)
    assert model.best_score_ == pytest.approx(search.best_score_)
    refit = FSVM(C=model.C_, whitening=model.best_params_["whitening"], **form).fit(X, y)
    np.testing.assert_allclose(model.coef_, refit.coef_)
    assert model.best_estimator_.C == model.C_


RESULTS = ("params", "mean_test_score")


@pytest.mark.parametrize("n", [150, 1400])
def test_kernel_search_equals_grid_search(n):
    """A chessboard in two of four features."""
    X = np.random.default_rng(0).uniform(-2, 2, size=(n, 4))
    y = np.prod(np.sin(2 * X[:, :2]), axis=1) > 0
    folds, grid = StratifiedKFold(4), {"C": [0.01, 10.0], "whitening": [0.0, 0.5]}
    search = GridSearchCV(FSVM(kernel="rbf", gamma=1.0, tol=1e-7), grid, cv=folds).fit(X, y)
    options = {
        "kernel": "rbf",
        "gamma": 1.0,
        "cv": folds,
        "cv_tol": 1e-7,
        "tol": 1e-7,
        "random_state": 0,
        "race": False,
    }
    model = FSVMCV(Cs=grid["C"], whitening=grid["whitening"], combine="best", **options).fit(X, y)
    theirs = {tuple(p.values()): s for p, s in zip(*map(search.cv_results_.get, RESULTS), strict=True)}
    for p, score in zip(*map(model.cv_results_.get, RESULTS), strict=True):
        assert score == pytest.approx(theirs[p["C"], p["whitening"]], abs=1e-12)
    np.testing.assert_allclose(model.decision_function(X), search.decision_function(X), atol=1e-4)
    # The average of both values of C at whitening 0.
    average = FSVMCV(Cs=grid["C"], whitening=0.0, band=1e9, **options).fit(X, y)
    members = [FSVM(C, kernel="rbf", gamma=1.0, whitening=0.0, tol=1e-7).fit(X, y) for C in grid["C"]]
    values = [member.decision_function(X) for member in members]
    expected = sum(value / np.sqrt(np.mean(value**2)) / 2 for value in values)
    np.testing.assert_allclose(average.decision_function(X), expected, atol=1e-4)


@pytest.mark.parametrize("scoring", [None, "balanced_accuracy"])
def test_kernel_search_with_several_classes_equals_grid_search(scoring):
    X, y = overlapping(90, 3, classes=3)
    grid, folds = {"C": [0.1, 1.0, 10.0], "gamma": [0.1, 1.0]}, StratifiedKFold(3)
    fixed = {"kernel": "rbf", "whitening": 0.0, "tol": 1e-9}
    search = GridSearchCV(FSVM(**fixed), grid, cv=folds, scoring=scoring).fit(X, y)
    model = FSVMCV(
        Cs=grid["C"], gamma=grid["gamma"], combine="best", cv=folds, cv_tol=1e-9, scoring=scoring, race=False, **fixed
    ).fit(X, y)
    theirs = {tuple(p.values()): s for p, s in zip(*map(search.cv_results_.get, RESULTS), strict=True)}
    for p, score in zip(*map(model.cv_results_.get, RESULTS), strict=True):
        assert score == pytest.approx(theirs[p["C"], p["gamma"]], abs=1e-12)


def test_weights_reach_a_transformer():
    X, y = overlapping()
    weight = np.random.default_rng(0).random(len(y)) ** 4
    one = FSVM(0.5, whitening=0.0, kernel=StandardScaler(), tol=1e-9).fit(X, y, weight)
    search = FSVMCV(Cs=[0.5], whitening=0.0, kernel=StandardScaler(), tol=1e-9).fit(X, y, weight)
    assert search.objective_ == pytest.approx(one.objective_, rel=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_splits_may_count_from_the_end(kernel):
    X, y = overlapping()
    n = len(y)
    fits = [
        FSVMCV(Cs=2, kernel=kernel, random_state=0, cv=[(np.arange(n - 20), test)]).fit(X, y)
        for test in (np.arange(-20, 0), np.arange(n - 20, n))
    ]
    np.testing.assert_array_equal(fits[0].scores_, fits[1].scores_)


def test_an_overflow_is_named():
    X, y = overlapping()
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="squares overflow"):
        FSVMCV(Cs=2, whitening=(0.0, 1.0)).fit(X * 1e300, y)


def test_any_scorer():
    X, y = load_breast_cancer(return_X_y=True)
    folds = StratifiedKFold(3)
    for scoring in (
        "roc_auc",
        "f1",
        lambda est, X, y: -np.mean(est.decision_function(X) * (2 * y - 1) < 0.1),
    ):
        search = GridSearchCV(FSVM(tol=1e-8), {"C": [0.01, 1.0]}, cv=folds, scoring=scoring).fit(X, y)
        model = FSVMCV(
            Cs=[0.01, 1.0],
            whitening=1.0,
            scatter="total",
            cv=folds,
            scoring=scoring,
            combine="best",
            cv_tol=1e-8,
        ).fit(X, y)
        np.testing.assert_allclose(
            np.sort(model.cv_results_["mean_test_score"]),
            np.sort(search.cv_results_["mean_test_score"]),
            atol=2e-4,
        )


def test_ties_go_to_less_whitening_then_smaller_C():
    scores = ScoreTable(2)
    for p in (1.0, 0.5, 0.0):
        for C in (10.0, 1.0):
            for split in range(2):
                scores.set(Candidate(p, C), split, 0.9 if p > 0 else 0.8)
    assert best_candidate(scores) == Candidate(0.5, 1.0)
    assert len(near_best(scores, 0.0)) == 4


def test_averaging_is_the_mean_of_normalised_members():
    X, y = overlapping()
    model = FSVMCV(Cs=5, random_state=0, band=1.0).fit(X, y)
    assert len(model.members_) > 1
    expected = 0.0
    for member in model.members_:
        assert member.pop("weight") == pytest.approx(1 / len(model.members_))
        fitted = FSVM(**member).fit(X, y).decision_function(X)
        expected = expected + fitted / np.sqrt(np.mean(fitted**2)) / len(model.members_)
    np.testing.assert_allclose(model.decision_function(X), expected, atol=2e-3)
    np.testing.assert_allclose(model.decision_function(X), X @ model.coef_[0] + model.intercept_[0])
    assert model.dual_gap_ <= 1e-6


def as_matrix(B):
    return np.diag(B) if B.ndim == 1 else B


@pytest.mark.parametrize("constant", [False, True])
def test_scatter_by_leaving_moments_out(constant):
    X, y = overlapping(classes=3)
    if constant:
        X[:, 2] = 4.0
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    folds = [test for _, test in StratifiedKFold(4).split(X, y)]
    moments = FoldMoments(X, y, weight, folds, by_class=True)
    factors = np.array([1.0, 2.0, 0.5])
    for kind, exponents in (("total", (0.0, 0.7)), ("within", (0.5, 1.0)), ("total", (0.0,))):
        ours, trusted = moments.regularizers(factors, kind, exponents, ranks=len(exponents) > 1)
        assert trusted.all() != constant
        for i, test in enumerate([] if constant else folds):
            train = np.setdiff1d(np.arange(len(y)), test)
            direct = tempered_scatter(X[train], y[train], sample_weight=(weight * factors[y])[train], kind=kind)
            for B, p in zip(ours[:, i], exponents, strict=True):
                np.testing.assert_allclose(
                    as_matrix(B), as_matrix(Family(X[train], direct, (p,)).regularizers[0]), atol=1e-10
                )


@pytest.mark.parametrize("exponents", [(0.0,), (0.0, 0.7)])
@pytest.mark.parametrize("form", ["correlated", "uncorrelated", "deficient"])
def test_diagonals_stand_for_the_matrices_they_are(form, exponents):
    """Separators with diagonals, where they are given, equal those with the matrix B of the definition."""
    X, y = overlapping(60, 4)
    if form == "uncorrelated":
        X = np.linalg.svd(X - X.mean(axis=0), full_matrices=False)[0] * [1.0, 5.0, 0.2, 3.0]
    if form == "deficient":
        X = np.hstack([X, X[:, :1]])
    space = uncorrelated_scatter(np.sum(X**2, axis=0), 60.0) if form == "uncorrelated" else tempered_scatter(X)
    signs, Cs = 2.0 * y - 1, [0.1, 10.0]
    family = Family(X, space, exponents)
    fit = family.fit(signs[None], np.ones(60), Cs, Options(tol=1e-10))
    for i in range(len(exponents)):
        direct = hinge_svm_path(family.coordinates, signs, Cs, family.regularizers[i], tol=1e-10)
        np.testing.assert_allclose(fit.objective[i, :, 0], direct.objective, rtol=1e-8)
        np.testing.assert_allclose(fit.results.coef[i], direct.coef, atol=1e-4)


@pytest.mark.parametrize("form", ["dense", "sparse", "wide", "collinear"])
def test_every_form_of_data(form):
    X, y = overlapping(60, 4)
    X = {
        "dense": lambda: X,
        "sparse": lambda: sparse.csr_array(np.where(np.abs(X) < 0.5, 0.0, X)),
        "wide": lambda: np.hstack([X, np.random.default_rng(0).normal(size=(60, 200))]),
        "collinear": lambda: np.hstack([X, X[:, :1], np.ones((60, 1))]),
    }[form]()
    model = FSVMCV(Cs=4, random_state=0).fit(X, y)
    assert model.decision_function(X).shape == (60,)
    assert model.dual_gap_ <= 1e-6


def test_the_range_of_C_does_not_grow_where_its_edge_only_ties():
    """Nine rows in ten are of one class, and nothing tells them from the others: every C says so."""
    X, y = np.random.default_rng(0).normal(size=(200, 2)), np.arange(200) % 10 == 0
    model = FSVMCV(random_state=0).fit(X, y)
    assert np.ptp(model.cv_results_["mean_test_score"]) == 0
    assert len(model.Cs_) == 10


def test_the_range_of_C_grows_at_an_edge_and_stays_where_given():
    """Labels without noise: the best C is beyond the first four, of which the largest is 100."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(300, 4))
    y = (X @ rng.normal(size=4) > 0).astype(int)
    auto = FSVMCV(Cs=4, whitening=0.0, combine="best", random_state=0).fit(X, y)
    assert len(auto.Cs_) > 4
    assert 100 < auto.C_ < auto.Cs_[-1]
    fixed = FSVMCV(Cs=[0.001, 0.01], random_state=0).fit(X, y)
    assert fixed.Cs_.tolist() == [0.001, 0.01]


def test_the_range_of_C_grows_downwards_step_by_step():
    """Two columns of signal among eighty: the best C is below the first one, and no more is tried than one below it."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(120, 80)), np.arange(120) % 2
    X[:, :2] += 0.5 * y[:, None]
    model = FSVMCV(Cs=4, combine="best", random_state=0).fit(X, y)
    steps = model.Cs_[1:] / model.Cs_[:-1]
    assert len(model.Cs_) > 4
    assert model.C_ in model.Cs_[:2]
    assert model.C_ < 1 / 120 * 1.01
    np.testing.assert_allclose(steps, steps[0])


@pytest.mark.parametrize(
    ("rows", "columns", "exponents"), [(60, 32, {0.0, 0.5}), (60, 33, {0.0}), (4096, 16, {0.0, 0.5}), (4097, 16, {0.0})]
)
def test_few_columns_are_whitened_by_default(rows, columns, exponents):
    X = np.random.default_rng(0).normal(size=(rows, columns))
    model = FSVMCV(Cs=[1.0]).fit(X, X[:, 0] > 0)
    assert {p["whitening"] for p in model.cv_results_["params"]} == exponents


def test_smoothed_members():
    X, y = overlapping(80)
    model = FSVMCV(Cs=[0.1, 1.0], whitening=1.0, scatter="total", eta=[0.0, 0.1], cv=3, random_state=0).fit(X, y)
    assert {p["eta"] for p in model.cv_results_["params"]} == {0.0, 0.1}
    reference = GridSearchCV(FSVM(eta=0.1), {"C": [0.1, 1.0]}, cv=3).fit(X, y)
    assert model.best_score_ >= reference.best_score_ - 0.1


def test_kernels():
    X, y = overlapping(90, 3)
    folds = StratifiedKFold(3)
    grid = {"C": [0.1, 1.0], "gamma": [0.1, 1.0], "whitening": [0.0, 0.5]}
    search = GridSearchCV(FSVM(kernel="rbf", n_components=10, tol=1e-9), grid, cv=folds).fit(X, y)
    model = FSVMCV(
        Cs=grid["C"], gamma=grid["gamma"], whitening=grid["whitening"], kernel="rbf", n_components=10, cv=folds,
        combine="best", cv_tol=1e-9, tol=1e-9,
    ).fit(X, y)  # fmt: skip
    assert model.best_score_ == pytest.approx(search.best_score_)
    np.testing.assert_allclose(
        np.sort(model.cv_results_["mean_test_score"]), np.sort(search.cv_results_["mean_test_score"]), atol=1e-12
    )
    refit = FSVM(kernel="rbf", tol=1e-9, **model.best_params_).fit(X, y)
    np.testing.assert_allclose(model.decision_function(X), refit.decision_function(X), atol=1e-8)
    averaged = FSVMCV(Cs=grid["C"], gamma=grid["gamma"], kernel="rbf", eta=[0.0, 0.1], n_components=[5, 10], cv=3).fit(
        X, y
    )
    assert averaged.decision_function(X).shape == (90,)
    assert not hasattr(averaged, "coef_")
    assert {p["n_components"] for p in averaged.cv_results_["params"]} == {5, 10}


def test_the_best_estimator_has_the_parameters_of_its_search():
    X, y = overlapping(90, 3)
    given = {"cache_size": 7.0, "n_jobs": 1, "degree": 2, "coef0": 0.5, "tol": 1e-5, "max_iter": 900, "random_state": 3}
    given |= {"class_weight": "balanced", "fit_intercept": False, "multi_class": "ovr", "kernel": "poly"}
    best = FSVMCV([1.0], combine="best", cv=2, gamma=0.1, n_components=4, **given).fit(X, y).best_estimator_
    assert {name: best.get_params()[name] for name in given} == given
    assert (best.C, best.gamma, best.n_components) == (1.0, 0.1, 4)


def test_deterministic_and_weighted():
    X, y = load_wine(return_X_y=True)
    a, b = (FSVMCV(Cs=4, random_state=3).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.coef_, b.coef_)
    weight = np.ones(len(y))
    weight[::7] = 0.0
    kept = weight > 0
    c = FSVMCV(Cs=4, random_state=3).fit(X, y, sample_weight=weight)
    d = FSVMCV(Cs=4, random_state=3).fit(X[kept], y[kept])
    np.testing.assert_allclose(c.coef_, d.coef_, rtol=1e-6)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_interrupt_keeps_what_was_scored(monkeypatch, kernel):
    X, y = overlapping()
    calls = iter([0, 1, 2])
    name = "score" if kernel == "linear" else "score_values"
    original = getattr(HeldOut, name)

    def interrupted(self, *args):
        if next(calls, None) is None:
            raise KeyboardInterrupt
        return original(self, *args)

    monkeypatch.setattr(HeldOut, name, interrupted)
    monkeypatch.setattr(fold_strategies, "DENSE_BATCH", 0)  # one fold at a time, as large ones are solved
    model = FSVMCV(Cs=3, cv=4, whitening=0.0, kernel=kernel, random_state=0)
    with pytest.raises(KeyboardInterrupt), pytest.warns(UserWarning, match="on 3 of 4 splits"):
        model.fit(X, y)
    assert model.scores_.shape[1] == 3
    assert np.isfinite(model.scores_).all()


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"Cs": 0}, "Cs must be"),
        ({"Cs": [1.0, -1.0]}, "Cs must be"),
        ({"whitening": [0.0, 2.0]}, "whitening must be"),
        ({"combine": "vote"}, "combine must be"),
        ({"criterion": "aic"}, "criterion must be"),
        ({"criterion": "loo", "eta": 0.1}, "needs eta=0"),
        ({"gamma": [], "kernel": "rbf"}, "gamma must not be empty"),
        ({"n_components": [], "kernel": "rbf"}, "n_components must not be empty"),
        ({"Cs": [[1.0]]}, "Cs must be a value or a list of values"),
        ({"whitening": "half"}, "whitening must be a number"),
        ({"whitening": [None]}, "whitening must be a number"),
        ({"scatter": "between"}, "scatter must be"),
        ({"band": -1}, "band must be"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y = overlapping()
    with pytest.raises(ValueError, match=message):
        FSVMCV(**params).fit(X, y)


def test_class_weights_train_but_do_not_score():
    X, y = overlapping(150)
    y = (np.arange(150) % 5 == 0).astype(int)
    folds = StratifiedKFold(3)
    grid = {"C": [0.1, 1.0], "whitening": [0.0, 1.0]}
    search = GridSearchCV(FSVM(class_weight="balanced", tol=1e-9), grid, cv=folds).fit(X, y)
    model = FSVMCV(
        Cs=grid["C"], whitening=grid["whitening"], class_weight="balanced", cv=folds, cv_tol=1e-9, combine="best"
    ).fit(X, y)
    np.testing.assert_allclose(
        np.sort(model.cv_results_["mean_test_score"]), np.sort(search.cv_results_["mean_test_score"]), atol=1e-12
    )
    np.testing.assert_allclose(model.coef_, FSVM(class_weight="balanced", **model.best_params_).fit(X, y).coef_)


def test_splits_that_overlap_or_are_masks():
    X, y = overlapping(100)
    half = np.arange(100) % 4 < 2
    for cv in ([(np.flatnonzero(half), np.flatnonzero(half))], [(half, ~half)]):
        parts = [tuple(np.flatnonzero(p) if p.dtype == bool else p for p in pair) for pair in cv]
        search = GridSearchCV(FSVM(tol=1e-9), {"C": [0.01, 1.0]}, cv=parts).fit(X, y)
        model = FSVMCV(Cs=[0.01, 1.0], whitening=1.0, cv=cv, cv_tol=1e-9, combine="best").fit(X, y)
        np.testing.assert_allclose(model.cv_results_["mean_test_score"], search.cv_results_["mean_test_score"])


def test_the_training_part_of_a_split_is_what_the_whole_is():
    X, y = overlapping(30, 3)
    whole = TrainingData(
        X, y, np.ones(30), np.arange(30), MulticlassReduction(3, pairs=False), np.ones(3), intercept=False
    )
    part = SearchData(whole, [(np.arange(20), np.arange(20, 30))], np.arange(3), {0: 5.0}).part(0)
    assert (part.intercept, part.reduction) == (False, whole.reduction)
    np.testing.assert_array_equal(part.costs, np.where(y[:20] == 0, 5.0, 1.0))


def test_groups_and_a_class_missing_from_a_split():
    X, y = load_iris(return_X_y=True)
    groups = np.arange(150) % 5
    model = FSVMCV(Cs=[0.1, 1.0], cv=GroupKFold(5), random_state=0).fit(X, y, groups=groups)
    assert model.scores_.shape[1] == 5
    with pytest.raises(ValueError, match=r"split 0 has no training rows of class \[0\]"):
        FSVMCV(Cs=[0.1], cv=KFold(3)).fit(X, y)


def test_precomputed_kernel_is_cut_both_ways():
    X, y = overlapping(80, 3)
    K = np.exp(-0.3 * ((X[:, None] - X) ** 2).sum(-1))
    same = {"Cs": [0.1, 1.0], "whitening": [0.0], "cv": StratifiedKFold(3), "n_components": 8, "combine": "best"}
    a = FSVMCV(kernel="precomputed", **same).fit(K, y)
    b = FSVMCV(kernel="rbf", gamma=0.3, **same).fit(X, y)
    np.testing.assert_allclose(a.scores_, b.scores_)
    np.testing.assert_allclose(a.decision_function(K), b.decision_function(X), atol=1e-6)


def test_without_refit_there_is_nothing_to_predict_with():
    X, y = overlapping()
    model = FSVMCV(Cs=[0.1, 1.0]).fit(X, y)
    model.set_params(refit=False).fit(X, 1 - y)
    with pytest.raises(NotFittedError, match="refit=False"):
        model.predict(X)


def test_an_average_that_falls_short_says_so():
    X, y = overlapping(300, 8)
    with pytest.warns(ConvergenceWarning, match="FSVMCV stopped"):
        FSVMCV(Cs=[1.0, 10.0], max_iter=1, cv_tol=0.5).fit(X, y)


def test_the_span_rule_without_a_row_on_the_margin_counts_support_as_errors():
    X = np.random.default_rng(0).normal(size=(30, 50))
    y = np.where(np.arange(30) % 2 == 0, 1.0, -1.0)
    out = span_loo(X, y, np.zeros(50), 0.0, np.full(30, 0.01), np.full(30, 0.01))
    assert np.all(out == -np.inf)


def test_one_of_two_classes_with_one_row_is_refused():
    X, y = overlapping()
    y[:] = 0
    y[0] = 1
    with pytest.raises(ValueError, match=r"rows of two classes .* a single row of 1: leave it out"):
        FSVMCV().fit(X, y)


def test_the_only_row_of_a_third_class_is_in_all_training_parts():
    X, y = overlapping()
    y[0] = 7
    model = FSVMCV(Cs=3, probability=True).fit(X, y)
    assert model.classes_.tolist() == [*np.unique(y[1:]), 7]
    assert np.isfinite(model.predict_proba(X)).all()
    splits = [(np.append(train + 1, 0), test + 1) for train, test in StratifiedKFold(5).split(X[1:], y[1:])]
    same = FSVMCV(Cs=3, cv=splits).fit(X, y)
    np.testing.assert_array_equal(same.scores_, model.scores_)
    with pytest.raises(ValueError, match=r"rows of every class, with scoring='neg_log_loss' .* a single row of 7"):
        FSVMCV(scoring="neg_log_loss").fit(X, y)


LABELS = {
    "missing": (["a", None], r"NaN or None in 30 of 60 rows, the first in row 1: leave these rows out"),
    "NaN": ([1.0, np.nan], r"NaN or None in 30 of 60 rows"),
    "several types": (["a", 1], r"texts and other labels, such as 'a' and 1: .* y.astype\(str\)"),
}


@pytest.mark.parametrize("name", LABELS)
@pytest.mark.parametrize("model", [FSVMCV(), FSVM()])
def test_labels_that_cannot_be_used_are_refused_with_a_remedy(model, name):
    X, _ = overlapping()
    labels, message = LABELS[name]
    with pytest.raises(ValueError, match=message):
        model.fit(X[:60], np.array(labels * 30, dtype=object))


def test_a_scoring_that_does_not_exist_is_refused_with_names_like_it():
    with pytest.raises(ValueError, match="'roc_acu' is no scorer of scikit-learn: did you mean 'roc_auc'"):
        FSVMCV(scoring="roc_acu").fit(*overlapping())


def test_the_span_rule_agrees_with_exact_leave_one_out():
    X, y = overlapping(70, 3, seed=1)
    signs = 2.0 * y - 1
    for C in (0.05, 1.0):
        fit = hinge_svm(X, signs, C, tol=1e-10)
        approximate = span_loo(X, signs, fit.coef, fit.intercept, fit.alpha, np.full(70, C))
        exact = np.array([
            signs[i] * (X[i] @ r.coef + r.intercept)
            for i in range(70)
            for r in [hinge_svm(np.delete(X, i, 0), np.delete(signs, i), C, tol=1e-10)]
        ])  # fmt: skip
        assert np.mean((approximate > 0) == (exact > 0)) >= 0.95
        assert np.corrcoef(approximate, exact)[0, 1] > 0.9


@pytest.mark.parametrize("criterion", ["loo", "radius-margin"])
def test_criteria_without_refitting(criterion):
    X, y = load_wine(return_X_y=True)
    model = FSVMCV(Cs=5, criterion=criterion, combine="best").fit(X, y)
    assert model.scores_.shape[1] == 1
    assert model.score(X, y) > 0.6
    if criterion == "loo":
        exact = np.mean(cross_val_predict(model.best_estimator_, X, y, cv=LeaveOneOut()) == y)
        assert model.best_score_ == pytest.approx(exact, abs=0.02)


def test_the_span_rule_with_several_classes():
    """A row that is left out changes the pairs that it takes part in, and votes in all."""
    X, y = load_wine(return_X_y=True)
    Z = StandardScaler().fit_transform(X[:, :5])
    values = []
    for i, j in ((0, 1), (0, 2), (1, 2)):
        J = np.flatnonzero(np.isin(y, (i, j)))
        signs = np.where(y[J] == j, 1.0, -1.0)
        fit = hinge_svm(Z[J], signs, tol=1e-9)
        values.append(Z @ fit.coef + fit.intercept)
        values[-1][J] = signs * span_loo(Z[J], signs, fit.coef, fit.intercept, fit.alpha, np.ones(len(J)))
    expected = np.mean(MulticlassReduction(3).predict(np.transpose(values)) == y)
    model = FSVMCV(Cs=[1.0], whitening=0.0, criterion="loo", refit=False, cv_tol=1e-9).fit(X[:, :5], y)
    assert model.best_score_ == pytest.approx(expected)


def test_radius_margin_bound():
    assert radius_margin_bound(2.0, (3.0, 0.5), 10.0) == pytest.approx((4 + 0.1) * (3 + 1))


@pytest.mark.parametrize("params", [{}, {"whitening": 0.5, "scatter": "within"}])
def test_path_equals_single_fits(params):
    X, y = load_iris(return_X_y=True)
    path = fsvm_path(X, y, [1.0, 0.01], tol=1e-8, **params)
    for k, C in enumerate([1.0, 0.01]):
        model = FSVM(C=C, tol=1e-8, **params).fit(X, y)
        np.testing.assert_allclose(path.coef[k], model.coef_, atol=1e-3)
        assert path.objective[k].sum() == pytest.approx(model.objective_, rel=1e-7)
    assert path.gap.max() <= 1e-8
    assert (path.n_support > 0).all()


def test_silent():
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FSVMCV(Cs=3, random_state=0).fit(X, y)


SEARCHES = [
    {},
    {"eta": [0.0, 0.1], "Cs": 2},
    {"kernel": "rbf", "whitening": (0.0, 0.5), "gamma": [0.1, 1.0]},
    {"criterion": "loo"},
]


@pytest.mark.parametrize("params", SEARCHES)
def test_a_bar_counts_every_score(capsys, params):
    X, y = overlapping(60, 3, classes=3)
    model = FSVMCV(**({"Cs": [0.1, 1.0], "cv": 3, "random_state": 0, "verbose": 1} | params)).fit(X, y)
    last = capsys.readouterr().err.rstrip().split("\r")[-1]
    assert f"{model.scores_.size} of {model.scores_.size} scores" in last
    assert "#" * 30 in last


@pytest.mark.parametrize("params", SEARCHES)
def test_results_tell_times(params):
    X, y = overlapping(60, 3)
    start = time.perf_counter()
    model = FSVMCV(**({"Cs": [0.1, 1.0], "cv": 3, "random_state": 0} | params)).fit(X, y)
    total = time.perf_counter() - start
    results = model.cv_results_
    told = sum(results[f"mean_{what}_time"].sum() * model.n_splits_ for what in ("fit", "score"))
    assert 0.01 * total < told + model.refit_time_ <= total
    assert model.best_params_ == results["params"][model.best_index_]


def test_callbacks_of_scikit_learn(recorder):
    X, y = overlapping()
    FSVMCV(Cs=[1.0]).set_callbacks(recorder).fit(X, y)
    work = [f"{edge} {what}" for what in ("fit", "score", "refit") for edge in ("begin", "end")]
    assert recorder.told == ["setup", "begin fit", *work, "end fit", "teardown"]


SMALL = [load_iris, load_wine, load_breast_cancer]


def selection_tasks():
    """Twenty data sets: three that scikit-learn ships, cut in several ways, and overlapping blobs."""
    for load in SMALL:
        X, y = load(return_X_y=True)
        for part in (slice(None), slice(None, None, 2), slice(1, None, 3)):
            yield X[part], y[part]
    for seed in range(11):
        yield overlapping(60 + 10 * seed, 3 + seed % 4, seed=seed, classes=2 + seed % 3)


@pytest.mark.parametrize("task", range(20))
def test_what_is_chosen_is_what_exact_fits_choose(task):
    X, y = list(selection_tasks())[task]
    ours, exact = (FSVMCV(random_state=0, cv_tol=tol).fit(X, y) for tol in (None, 1e-9))
    assert ours.best_params_ == exact.best_params_
    assert ours.members_ == exact.members_


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
@pytest.mark.parametrize("combine", ["average", "best"])
@pytest.mark.parametrize("classes", [2, 3])
def test_the_learned_metric(classes, combine, kernel):
    """The rows in it have a mean squared radius of one, as those of FSVM."""
    X, y = overlapping(90, 4, classes=classes)
    model = FSVMCV(Cs=[0.1, 1.0], whitening=0.0, kernel=kernel, combine=combine, cv=3).fit(X, y)
    Z = model.transform(X)
    assert Z.shape == (90, len(model.get_feature_names_out()))
    if combine == "average":
        assert np.sum((Z - Z.mean(axis=0)) ** 2) == pytest.approx(90)
    if kernel == "linear":
        np.testing.assert_allclose(Z, X @ model.components_.T, atol=1e-8)


def test_repeatable_by_default():
    X, y = overlapping(80, 4, classes=3)
    a, b = (FSVMCV(Cs=4).fit(X, y) for _ in range(2))
    np.testing.assert_array_equal(a.scores_, b.scores_)
    np.testing.assert_array_equal(a.coef_, b.coef_)
