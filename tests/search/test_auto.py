"""Kinds of kernels searched side by side (`AutoSVM`), and probabilities from held-out scores."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from scipy.optimize import minimize, minimize_scalar
from scipy.special import expit
from sklearn.base import clone
from sklearn.calibration import CalibratedClassifierCV
from sklearn.datasets import load_iris, load_wine, make_classification, make_moons
from sklearn.model_selection import GridSearchCV, RepeatedStratifiedKFold, StratifiedKFold
from sklearn.preprocessing import StandardScaler
from sklearn.utils.estimator_checks import parametrize_with_checks

from radiusmargin import FSVM, FSVMCV, AutoSVM
from radiusmargin.estimators.decision import PlattCalibration, coupled, sigmoids
from radiusmargin.estimators.features import FeatureChoice, RankTransform
from radiusmargin.search import candidates as kinds
from radiusmargin.search import scoring
from radiusmargin.search.base import Budget

FOLDS = StratifiedKFold(4)


@parametrize_with_checks([FSVMCV(4, kernel="auto", cv=2, tol=1e-8, cv_tol=1e-9)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


@pytest.fixture(scope="module")
def moons():
    return make_moons(160, noise=0.3, random_state=0)


def test_autosvm_is_fsvmcv_with_fewer_parameters(moons):
    own, all_of_them = AutoSVM().get_params(), FSVMCV(kernel="auto", probability=True).get_params()
    assert own.items() <= all_of_them.items()
    assert len(own) == 11
    assert clone(AutoSVM(cv=4)).get_params()["cv"] == 4
    assert repr(AutoSVM()) == "AutoSVM()"
    np.testing.assert_array_equal(
        AutoSVM().fit(*moons).decision_function(moons[0]), FSVMCV(kernel="auto").fit(*moons).decision_function(moons[0])
    )


def test_scores_are_those_of_a_grid_search_for_every_kind(moons):
    X, y = StandardScaler().fit_transform(moons[0]), moons[1]
    Cs, gammas = [0.1, 1.0, 10.0], [0.3, 1.0]
    search = FSVMCV(Cs, kernel=["linear", "rbf", "laplacian"], gamma=gammas, whitening=0.0, cv=FOLDS, cv_tol=1e-8)
    search.fit(X, y)
    assert len(search.cv_results_["params"]) == 3 + 2 * 6
    for kernel in ("linear", "rbf", "laplacian"):
        grid = {"C": Cs} if kernel == "linear" else {"C": Cs, "gamma": gammas}
        model = FSVM(kernel=kernel, whitening=0.0, tol=1e-8)
        expected = GridSearchCV(model, grid, cv=FOLDS).fit(X, y).cv_results_
        for params, score in zip(expected["params"], expected["mean_test_score"], strict=True):
            (found,) = (
                i
                for i, own in enumerate(search.cv_results_["params"])
                if own["kernel"] == kernel and all(own[k] == v for k, v in params.items())
            )
            assert search.cv_results_["mean_test_score"][found] == pytest.approx(score, abs=1e-12)


def test_the_model_is_the_weighted_mean_of_members_over_their_sizes():
    X, y = load_wine(return_X_y=True)
    model = FSVMCV(5, kernel=["linear", "rbf", "laplacian-ranks"], tol=1e-8).fit(X, y)
    units = {
        spec.name: spec
        for spec in kinds.kernel_specs(
            FeatureChoice.of(model), kinds.Grids.of(model), model._check_training(X, y, None)
        )
    }
    weights = [member["weight"] for member in model.members_]
    assert sum(weights) == pytest.approx(1)
    assert len({member["kernel"] for member in model.members_}) > 1
    expected = 0.0
    for member in model.members_:
        spec = units[member["kernel"]]
        rows = X if spec.scaling is None else spec.scaling.rows(X)
        single = FSVM(
            member["C"],
            kernel=spec.features.kernel,
            gamma=member["gamma"] or "scale",
            whitening=member["whitening"],
            tol=1e-8,
        ).fit(rows, y)
        scores = single._model.scores(rows)
        expected = expected + member["weight"] * scores / np.sqrt(np.mean(scores**2))
    np.testing.assert_allclose(model._model.scores(X), expected, atol=1e-3)
    assert model.dual_gap_ <= 1e-8


def test_units_of_the_features_do_not_matter(moons):
    X, y = moons
    moved = X * np.array([1e-6, 1e5]) + np.array([3.0, -1e4])
    model = FSVMCV(kernel="auto", cv_tol=1e-8)  # looser, members at the edge of the band come and go with the rounding
    one, other = clone(model).fit(X, y), clone(model).fit(moved, y)
    assert [m["kernel"] for m in one.members_] == [m["kernel"] for m in other.members_]
    np.testing.assert_allclose(one.decision_function(X), other.decision_function(moved), atol=1e-4)


@pytest.mark.parametrize("name", ["rbf", "laplacian-ranks"])
def test_one_kind_is_refitted_in_its_units(moons, name):
    """A list of one name is a list: what is best was scored on standardised features, or ranks, and is fitted to them."""
    X, y = moons
    best, average = (FSVMCV([1.0], kernel=[name], gamma=[0.5], combine=c).fit(X, y) for c in ("best", "average"))
    other = FSVMCV([1.0], kernel=[name], gamma=[0.5], combine="best").fit(X * [1e3, 1], y)
    np.testing.assert_allclose(best.decision_function(X), average.decision_function(X))
    np.testing.assert_allclose(other.decision_function(X * [1e3, 1]), best.decision_function(X), atol=1e-5)


def test_ranks_do_not_see_a_monotone_map(moons):
    X, y = moons
    model = FSVMCV(kernel=["laplacian-ranks", "rbf-ranks"])
    one, other = (model.fit(Z, y).predict(Z) for Z in (X, np.sign(X) * np.expm1(3 * np.abs(X))))
    assert np.mean(one == other) > 0.97  # between quantiles the map is interpolated


def test_sparse_and_wide_rows_have_the_linear_kind_alone():
    X, y = make_classification(80, 30, random_state=0)
    model = AutoSVM().fit(sparse.csr_array(X), y)
    assert {m["whitening"] for m in model.members_} <= {0.0, 0.5}
    np.testing.assert_allclose(model.coef_, FSVMCV().fit(sparse.csr_array(X), y).coef_)
    wide = np.random.default_rng(0).normal(size=(20, kinds.MOST_COLUMNS + 1))
    assert FSVMCV(kernel="auto", whitening=0.0).fit(wide, np.arange(20) % 2).coef_.shape == (1, kinds.MOST_COLUMNS + 1)


@pytest.fixture
def small_rounds(monkeypatch):
    monkeypatch.setattr(kinds, "WHOLE", 100)
    monkeypatch.setattr(kinds, "ROUNDS", (60, 120))


def test_many_rows_are_searched_in_rounds_and_fitted_whole(moons, small_rounds):
    model = FSVMCV(kernel=["rbf", "laplacian"], combine="best", probability=True).fit(*moons)
    first, last = kinds.row_rounds(moons[1])
    assert (len(first), len(last)) == (60, 120)
    assert set(first) < set(last)
    assert abs(moons[1][first].mean() - moons[1].mean()) < 0.02
    (member,) = model.members_
    units = kinds.Standardizer.of(moons[0], np.ones(len(moons[1])))
    single = FSVM(member["C"], kernel=member["kernel"], gamma=member["gamma"], whitening=0.0)
    expected = single.fit(units.rows(moons[0]), moons[1])
    assert model.objective_ == pytest.approx(expected.objective_, rel=1e-5)
    assert model.predict_proba(moons[0]).shape == (160, 2)


def test_results_hold_the_candidates_of_every_round_with_the_rows_that_scored_them(moons, small_rounds):
    model = AutoSVM().fit(*moons)
    results = model.cv_results_
    first, last = (results["n_rows"] == rows for rows in (60, 120))
    assert first.any()
    assert last.any()
    assert (first | last).all()
    assert results["given_up"][first].all()
    assert not results["given_up"][last].all()
    assert results["rank_test_score"][first].min() > results["rank_test_score"][~results["given_up"]].max()
    assert len(results["params"]) == len({tuple(p.values()) for p in results["params"]}) == len(model.scores_)
    of_last = [results["params"][i] for i in np.flatnonzero(last)]
    assert all({k: v for k, v in m.items() if k != "weight"} in of_last for m in model.members_)


def test_scores_of_the_last_round_are_those_of_a_search_on_its_rows(moons, small_rounds):
    X, y = moons
    rounds = FSVMCV([0.1, 1.0, 10.0], kernel=["linear", "rbf"], gamma=[0.3, 1.0], race=False).fit(X, y)
    rows = kinds.row_rounds(y)[-1]
    units = kinds.Standardizer.of(X, np.ones(len(y)))
    alone = FSVMCV([0.1, 1.0, 10.0], kernel="rbf", gamma=[0.3, 1.0], race=False).fit(units.rows(X)[rows], y[rows])
    expected = {
        (p["C"], p["gamma"]): scores for p, scores in zip(alone.cv_results_["params"], alone.scores_, strict=True)
    }
    ours = zip(rounds.cv_results_["params"], rounds.cv_results_["n_rows"], rounds.scores_, strict=True)
    found = [(p, scores) for p, n_rows, scores in ours if n_rows == len(rows) and p["kernel"] == "rbf"]
    assert found
    for p, scores in found:
        np.testing.assert_array_equal(scores, expected[p["C"], p["gamma"]])


def test_a_splitter_and_few_rows_are_searched_in_one_round(moons, small_rounds):
    for model in (AutoSVM(cv=FOLDS).fit(*moons), AutoSVM().fit(moons[0][:100], moons[1][:100])):
        assert len(set(model.cv_results_["n_rows"])) == 1
    assert kinds.row_rounds(np.zeros(100, dtype=int)) == [None]


@pytest.mark.parametrize(("kernel", "message"), [([], "empty"), (["rbf", "forest"], "kernel"), ("automatic", "kernel")])
def test_bad_kinds_are_named(moons, kernel, message):
    with pytest.raises(ValueError, match=message):
        FSVMCV(kernel=kernel).fit(*moons)


# -- Probabilities ----------------------------------------------------------------------------------------------------


def test_probabilities_are_those_of_calibration_on_held_out_scores(moons):
    X, y = moons
    search = FSVMCV([0.1, 1.0], whitening=0.0, combine="best", cv=FOLDS, probability=True, tol=1e-8).fit(X, y)
    model = FSVM(search.C_, whitening=0.0, tol=1e-8)
    expected = CalibratedClassifierCV(model, method="sigmoid", cv=FOLDS, ensemble=False).fit(X, y)
    np.testing.assert_allclose(search.predict_proba(X), expected.predict_proba(X), atol=1e-4)
    np.testing.assert_allclose(search.predict_log_proba(X), np.log(search.predict_proba(X)))


def test_probabilities_of_several_classes_sum_to_one_and_agree_with_the_classes():
    X, y = load_iris(return_X_y=True)
    y = np.array(["c", "a", "b"])[y]
    for multi_class in ("ovo", "ovr"):
        model = FSVMCV(
            4,
            kernel="auto",
            multi_class=multi_class,
            probability=True,
            cv=RepeatedStratifiedKFold(n_splits=5, n_repeats=2, random_state=0),
        ).fit(X, y)
        chances = model.predict_proba(X)
        np.testing.assert_allclose(chances.sum(axis=1), 1)
        assert chances.min() >= 0
        assert np.mean(model.classes_[chances.argmax(axis=1)] == y) > 0.93


def test_sigmoids_have_the_largest_likelihood():
    rng = np.random.default_rng(0)
    problem, scores, weights = np.repeat([0, 1, 2], 60), rng.normal(2, 3, size=180), rng.uniform(0.5, 2, 180)
    labels = np.where(scores + rng.normal(2, 3, size=180) > 4, 1.0, -1.0)
    slopes, offsets = sigmoids(scores, labels, weights, problem, 3)
    for k, own in enumerate(np.split(np.arange(180), 3)):
        f, y, w = scores[own], labels[own], weights[own]
        positive, negative = w[y > 0].sum(), w[y < 0].sum()
        target = np.where(y > 0, (positive + 1) / (positive + 2), 1 / (negative + 2))

        def loss(point, f=f, w=w, target=target):
            logits = point[0] * f + point[1]
            return w @ (np.logaddexp(0, logits) - target * logits)

        np.testing.assert_allclose((slopes[k], offsets[k]), minimize(loss, [0, 0]).x, atol=1e-4)
    slope, offset = sigmoids(
        1e9 * labels, labels, weights, np.zeros(180, dtype=int), 1
    )  # separable: targets are smoothed
    assert np.isfinite([slope, offset]).all()
    assert slope > 0


def test_scores_that_rank_against_the_labels_keep_their_order_and_the_shares_of_the_classes():
    scores, labels = np.arange(40.0), np.where(np.arange(40) < 30, 1.0, -1.0)
    slope, offset = sigmoids(scores, labels, np.ones(40), np.zeros(40, dtype=int), 1)
    assert slope > 0
    np.testing.assert_allclose(expit(slope * scores + offset), 31 / 42, atol=1e-3)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_the_exponent_has_the_smallest_log_loss_of_smoothed_targets(multi_class):
    X, y = load_iris(return_X_y=True)
    X = X + np.random.default_rng(0).normal(0, 0.5, X.shape)
    reduction = FSVM(multi_class=multi_class).fit(X, y).decision_model.reduction
    scores = FSVM(multi_class=multi_class).fit(X[::2], y[::2]).decision_model.scores(X)
    found = PlattCalibration.fit(scores, y, np.ones(150), reduction)
    plain = replace(found, exponent=1.0).probabilities(scores)
    targets = (150 * np.eye(3)[y] + 1) / 153

    def loss(s):
        return -(targets * np.log(plain**s / (plain**s).sum(axis=1, keepdims=True))).sum()

    expected = minimize_scalar(loss, bounds=(0.5, 8), method="bounded", options={"xatol": 1e-8}).x
    assert found.exponent == pytest.approx(expected, abs=1e-3)
    np.testing.assert_allclose(
        found.probabilities(scores), plain**expected / (plain**expected).sum(axis=1, keepdims=True), atol=1e-3
    )


def test_coupling_recovers_consistent_pairs_and_minimises_otherwise():
    rng = np.random.default_rng(1)
    p = rng.dirichlet(np.ones(5), size=7)
    i, j = np.triu_indices(5, 1)
    np.testing.assert_allclose(coupled(p[:, j] / (p[:, i] + p[:, j]), 5), p, atol=1e-6)
    r = rng.uniform(0.05, 0.95, size=10)

    def criterion(q):
        q = np.exp(q) / np.exp(q).sum()
        return ((r * q[i] - (1 - r) * q[j]) ** 2).sum()

    best = minimize(criterion, np.zeros(5), tol=1e-14).x
    np.testing.assert_allclose(coupled(r[None], 5)[0], np.exp(best) / np.exp(best).sum(), atol=1e-4)


def test_probabilities_are_those_of_autosvm_and_must_be_asked_for_of_fsvmcv(moons):
    assert AutoSVM().fit(*moons).predict_proba(moons[0]).shape == (len(moons[0]), 2)
    assert not hasattr(FSVMCV(), "predict_proba")
    with pytest.raises(AttributeError, match=r"FSVMCV.predict_proba needs probability=True before fit"):
        FSVMCV().predict_proba(moons[0])
    with pytest.raises(ValueError, match="probability=True needs criterion"):
        FSVMCV(criterion="loo", probability=True).fit(*moons)


# -- Many rows ----------------------------------------------------------------------------------------------------------


def test_a_final_fit_to_many_rows_keeps_to_a_budget(moons, monkeypatch):
    X, y = moons
    assert AutoSVM().fit(X, y).max_dual_gap_ <= 1e-6
    monkeypatch.setattr(AutoSVM, "_budget", Budget(rows=100, tol=1e-2, sweeps=1000))
    assert 1e-6 < AutoSVM(kernel=["rbf", "laplacian"]).fit(X, y).max_dual_gap_ <= 1e-2
    assert FSVMCV(kernel=["rbf", "laplacian"]).fit(X, y).max_dual_gap_ <= 1e-6
    whole = FSVMCV(kernel=["rbf", "laplacian"]).fit(X, y).members_
    monkeypatch.setattr(scoring, "FITTED_ROWS", len(y))
    few = FSVMCV(kernel=["rbf", "laplacian"]).fit(X, y).members_
    assert sorted(m["kernel"] for m in few) == sorted({m["kernel"] for m in whole})
    assert {tuple(m.values())[:-1] for m in few} <= {tuple(m.values())[:-1] for m in whole}


def test_a_single_c_is_refused_with_a_remedy():
    with pytest.raises(TypeError, match=r"FSVMCV\(Cs=\[...\]\) takes the values to try"):
        AutoSVM(C=1)


# -- Weights of kernels, and probabilities that agree with predictions ---------------------------------------------------


@pytest.mark.parametrize("n_classes", [2, 4])
@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_the_most_probable_class_is_the_predicted_one(n_classes, multi_class):
    X, y = make_classification(
        150, 4, n_informative=4, n_redundant=0, n_classes=n_classes, class_sep=0.4, random_state=1
    )
    model = FSVMCV(4, kernel=["linear", "rbf"], multi_class=multi_class, probability=True).fit(X, y)
    unseen = 2 * np.random.default_rng(0).normal(size=(2000, 4))
    chances, predicted = model.predict_proba(unseen), model.predict(unseen)
    np.testing.assert_array_equal(model.classes_[chances.argmax(axis=1)], predicted)
    np.testing.assert_allclose(chances.sum(axis=1), 1)
    plain = model._sigmoids.probabilities(model._model.scores(unseen))
    agree = model.classes_[plain.argmax(axis=1)] == predicted
    assert 0.5 < agree.mean() < 1  # else there was nothing to lift
    np.testing.assert_array_equal(chances[agree], plain[agree])
    if n_classes == 2:  # and the order of the rows is that of the scores
        order = np.argsort(model.decision_function(unseen))
        assert (np.diff(chances[order, 1]) >= -1e-6).all()


def held_out_values(X, y, **params):
    """A finished search, with the held-out values that it kept."""
    found = {}

    class Keeping(FSVMCV):
        def _refit(self, training, specs, table, held_out):
            found.update(table=table, held_out=held_out)
            return super()._refit(training, specs, table, held_out)

    return Keeping(**params).fit(X, y), found["table"], found["held_out"]


@pytest.mark.parametrize("classes", [2, 3])
def test_log_losses_are_those_of_the_calibrated_binary_problems(classes):
    X, y = load_iris(return_X_y=True)
    X, y = (X + np.random.default_rng(0).normal(0, 0.7, X.shape))[y < classes], y[y < classes]
    _, table, held_out = held_out_values(X, y, Cs=4, kernel=["linear", "rbf"])
    some = table.standing()[:5]
    labels, expected = held_out.data.training.labels, []
    for candidate in some:
        scores = held_out.mean({candidate: 1.0})
        found = PlattCalibration.fit(scores, y, np.ones(len(y)), held_out.data.training.reduction)
        losses = [
            np.logaddexp(0, -label * (found.slope[k] * scores[:, k] + found.offset[k]))[label != 0]
            for k, label in enumerate(labels)
        ]
        expected.append(np.concatenate(losses).mean())
    np.testing.assert_allclose(held_out.log_losses([{c: 1.0} for c in some]), expected, rtol=1e-6)


def test_kernels_have_weights_by_their_likelihood(moons):
    model, table, held_out = held_out_values(*moons, Cs=6, kernel=["linear", "rbf", "laplacian"], band=3.0)
    weights = scoring.ensemble_weights(table, 3.0, 160, held_out)
    assert [m["weight"] for m in model.members_] == list(weights.values())
    assert sum(weights.values()) == pytest.approx(1)
    own = {name: [c for c in weights if c.kernel == name] for name in ("rbf", "laplacian")}
    assert all(1 <= len(candidates) <= scoring.MOST_OF_EACH for candidates in own.values())
    losses = held_out.log_losses([held_out.over_sizes(candidates) for candidates in own.values()])
    shares = [sum(weights[c] for c in candidates) for candidates in own.values()]
    assert np.log(shares[0] / shares[1]) == pytest.approx(0.25 * 160 * (losses[1] - losses[0]))


def test_a_kernel_that_alone_understands_the_data_has_all_the_weight():
    rng = np.random.default_rng(0)
    X, y = np.exp(rng.normal(0, 4, size=(200, 2))), rng.integers(0, 2, 200)
    X[:, 0] = np.exp(4 * np.sign(rng.normal(size=200)) * (0.3 + y + 0.2 * rng.random(200)))  # two sides, in ranks
    model = AutoSVM(random_state=0).fit(X, y)
    assert {m["kernel"] for m in model.members_} <= {"rbf-ranks", "laplacian-ranks", "laplacian"}
    assert model.oof_score_ > 0.9


def test_ranks_of_few_rows_are_those_of_many():
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=300), rng.integers(0, 4, 300), np.zeros(300), np.exp(3 * rng.normal(size=300))]
    )
    ranks = RankTransform.of(X, rng.uniform(0.5, 2, 300))
    unseen = np.vstack([X, 1.01 * X, X - 1, np.full((2, 4), [[1e9], [-1e9]])])
    expected = ranks.rows(unseen)
    for start in range(0, len(unseen), 50):
        np.testing.assert_allclose(ranks.rows(unseen[start : start + 3]), expected[start : start + 3], atol=1e-12)


def test_scores_are_the_sum_of_the_parts(moons):
    found = AutoSVM().fit(*moons)._model
    np.testing.assert_allclose(found.scores(moons[0]), sum(part.scores(moons[0]) for part in found.parts), atol=1e-12)
    assert len(found.parts) > 1


def test_verbose_says_how_many_rows_every_round_used(moons, small_rounds, capfd):
    AutoSVM(verbose=1).fit(*moons)
    lines = capfd.readouterr().err.replace("\r", "\n").splitlines()
    bars = [line for line in lines if " scores on " in line]
    assert ["60 rows" in bars[0], "120 rows" in bars[-1]] == [True, True]
    assert "fitting the chosen candidates to 160 rows" in lines[-1]
