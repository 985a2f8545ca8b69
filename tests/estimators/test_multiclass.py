"""More than two classes: the model of SVC in pairs, that of LinearSVC against the rest, for every model."""

import re

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning
from sklearn.multiclass import OneVsOneClassifier, OneVsRestClassifier
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin import FSVM, FSVMCV, MRSVM, MSVM, RMM, SVM, RSVMMuPlus, RSVMPlus
from radiusmargin.multiclass import MulticlassReduction, taking_part
from radiusmargin.search import fsvm_path
from radiusmargin.solvers.result import Certificate


def blobs(n=120, d=4, classes=4, seed=0):
    """Classes of different sizes that overlap."""
    rng = np.random.default_rng(seed)
    y = np.sort(rng.integers(0, classes, n) * rng.integers(1, 3, n)) % classes
    X = (rng.normal(size=(n, d)) + 1.5 * rng.normal(size=(classes, d))[y]) @ rng.normal(size=(d, d))
    order = rng.permutation(n)
    return X[order], y[order]


X, y = blobs()
PAIRS = [(i, j) for i in range(4) for j in range(i + 1, 4)]


def test_columns_of_pairs_and_of_classes():
    codes = np.array([2, 0, 1])
    np.testing.assert_array_equal(MulticlassReduction(3).columns(codes), [[0, -1, 1], [1, -1, 0], [1, 0, -1]])
    np.testing.assert_array_equal(MulticlassReduction(3, False).columns(codes), [[-1, 1, -1], [-1, -1, 1], [1, -1, -1]])
    for pairs in (True, False):
        np.testing.assert_array_equal(MulticlassReduction(2, pairs).columns(codes[1:]), [[-1, 1]])
    assert MulticlassReduction(3).names("abc") == ("b against a", "c against a", "c against b")
    assert MulticlassReduction(3, False).names("abc")[1] == "b against the rest"
    labels, weight = taking_part(np.array([0.0, -1.0]), np.array([2.0, 3.0]))
    assert set(labels) <= {-1.0, 1.0}
    np.testing.assert_array_equal(weight, [0.0, 3.0])


def test_class_scores_are_those_of_scikit_learn():
    scores = np.random.default_rng(0).normal(size=(3, 50, 6))
    scores[0, 0] = 0.0
    ours = MulticlassReduction(4).class_scores(scores)
    from sklearn.utils.multiclass import _ovr_decision_function

    for values, expected in zip(ours, scores, strict=True):
        np.testing.assert_allclose(values, _ovr_decision_function(expected > 0, expected, 4))


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_without_whitening_it_is_svc(kernel):
    Z = StandardScaler().fit_transform(X)
    ours = FSVM(C=0.5, whitening=0.0, kernel=kernel, tol=1e-10).fit(Z, y)
    theirs = SVC(C=0.5, kernel=kernel, tol=1e-9).fit(Z, y)
    np.testing.assert_allclose(ours.decision_function(Z), theirs.decision_function(Z), atol=1e-4)
    assert len(ours.intercept_) == 6
    if kernel == "linear":
        np.testing.assert_allclose(ours.coef_, -theirs.coef_, atol=1e-4)  # its pairs are positive on the side of i


@pytest.mark.parametrize("model", [SVM(0.1), RMM(0.1), MRSVM(0.1), RSVMPlus(0.1), RSVMMuPlus(0.1), MSVM(0.1)])
def test_competitors_solve_every_pair_by_itself(model):
    model.fit(X, y)
    parts = OneVsOneClassifier(model).fit(X, y)
    np.testing.assert_allclose(model.coef_, np.concatenate([part.coef_ for part in parts.estimators_]), atol=1e-6)
    np.testing.assert_allclose(model.decision_function(X), parts.decision_function(X), atol=1e-5)
    np.testing.assert_array_equal(model.predict(X), parts.predict(X))
    assert model.objective_ == pytest.approx(sum(part.objective_ for part in parts.estimators_))


@pytest.mark.parametrize("name", ["active_pairs_", "bound_active_"])
def test_rows_that_carry_a_pair_belong_to_it(name):
    model = (RSVMPlus(0.1) if name == "active_pairs_" else RMM(1.0, B=1.2)).fit(X, y)
    carrying = getattr(model, name)
    assert any(len(rows) for rows in carrying)
    for pair, rows in zip(PAIRS, carrying, strict=True):
        assert set(y[np.asarray(rows, dtype=int).ravel()]) <= set(pair)


@pytest.mark.parametrize("params", [{}, {"eta": 0.1}, {"rho": 0.01}, {"whitening": 0.5}])
def test_against_the_rest(params):
    ours = FSVM(C=0.3, multi_class="ovr", tol=1e-9, **params).fit(X, y)
    theirs = OneVsRestClassifier(FSVM(C=0.3, tol=1e-9, **params)).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(X), theirs.decision_function(X), atol=1e-5)


@pytest.mark.parametrize("params", [{}, {"eta": 0.1}, {"rho": 0.01}, {"coupling": "shared"}])
def test_rows_outside_a_pair_carry_no_loss(params):
    """The objective, from its definition: the norm of all pairs' separators in the scatter of all rows, and their losses."""
    from radiusmargin.solvers.metric.problem import Constrained, MetricNorm, Penalised

    model = FSVM(C=0.3, multi_class="ovo", tol=1e-8, **params).fit(X, y)
    assert model.dual_gap_ <= 1e-8
    scale = X.std(axis=0)
    norm = MetricNorm(np.corrcoef(X.T) * len(X), params.get("eta", 0.0))
    penalty = Penalised(params["rho"]) if "rho" in params else Constrained(float(len(X)))
    groups = [range(6)] if "coupling" in params else [[k] for k in range(6)]
    expected = sum(penalty.value(norm.value((model.coef_[list(g)] * scale).T)) for g in groups)
    scores = X @ model.coef_.T + model.intercept_
    for k, (i, j) in enumerate(PAIRS):
        sides = np.where(y == j, 1.0, -1.0)[np.isin(y, (i, j))]
        expected += 0.3 * np.maximum(0, 1 - sides * scores[np.isin(y, (i, j)), k]).sum()
    assert model.objective_ == pytest.approx(expected, rel=1e-6)


def test_one_class_among_many_is_still_found():
    """No hyperplane has a small class of overlapping ones on its side; between two classes there is one."""
    rng = np.random.default_rng(0)
    codes = np.repeat(np.arange(8), 40)
    line = codes[:, None] + 0.2 * rng.normal(size=(320, 1))
    pairs, rest = (FSVM(multi_class=scheme).fit(line, codes).score(line, codes) for scheme in ("ovo", "ovr"))
    assert pairs > 0.95
    assert rest < 0.6


@pytest.mark.parametrize("scheme", ["ovo", "ovr"])
def test_the_path_is_that_of_the_model(scheme):
    path = fsvm_path(X, y, [0.1, 1.0], multi_class=scheme, tol=1e-9)
    model = FSVM(C=1.0, multi_class=scheme, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(path.coef[1], model.coef_, atol=1e-5)
    assert len(path.problems) == len(model.coef_)


def test_the_gap_of_the_worst_problem_is_shown(capsys):
    """Each pair prints its own gap; that of a pair with small weights does not show in the sums."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(60, 2)), np.repeat([0, 1, 2], 20)
    model = SVM(C=10, class_weight={0: 1e-6, 1: 1e-6, 2: 1e3}, max_iter=2, verbose=1)
    with pytest.warns(ConvergenceWarning, match="stopped at a relative gap of"):
        model.fit(X, y)
    gaps = [float(gap) for gap in re.findall(r"gap ([^,]+),", capsys.readouterr().out)]
    assert len(gaps) == 3
    assert model.max_dual_gap_ == pytest.approx(max(gaps), rel=0.05)


def test_a_problem_that_hides_in_the_sum_is_warned_of():
    model = SVM(tol=1e-6)
    model._certify(Certificate.of([1e9, 1.0], [1e9, 0.5], [3, 4]) + Certificate.of([2.0], [2.0], [1]))
    assert (model.dual_gap_, model.max_dual_gap_, model.n_iter_) == (pytest.approx(5e-10), 0.5, 8)
    with pytest.warns(ConvergenceWarning, match="relative gap of 0.5 .*5e-10 over all problems"):
        model._warn_unless_converged()


def test_an_unknown_scheme_is_refused():
    for model in (FSVM(multi_class="all"), FSVMCV(multi_class="all")):
        with pytest.raises(ValueError, match="multi_class must be one of"):
            model.fit(X, y)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("params", [{"eta": 0.1}, {"rho": 1e-3}, {"coupling": "shared"}])
def test_a_start_for_other_pairs_certifies_nothing_false(params, fit_intercept):
    """Multipliers of rows that no longer take part in a pair must not count in its bound."""
    rng = np.random.default_rng(0)
    apart = rng.normal(size=(20, 2)) + np.repeat([[8, 0], [-8, 0]], 10, axis=0)
    rows = np.vstack([rng.normal(size=(80, 2)), apart])
    first, second = np.r_[np.arange(80) % 2, np.full(20, 2)], np.repeat([1, 2, 0, 2], [20, 60, 10, 10])
    model = FSVM(fit_intercept=fit_intercept, multi_class="ovo", **params)
    warm = model.set_params(warm_start=True).fit(rows, first).fit(rows, second)
    cold = FSVM(fit_intercept=fit_intercept, multi_class="ovo", **params).fit(rows, second)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=1e-5)


@pytest.mark.parametrize("seed", range(4))
def test_shared_metric_of_many_pairs_with_fewer_rows_than_features(seed):
    """Hessians with flat directions: a step along them must not pass the minimum."""
    rng = np.random.default_rng(seed)
    codes = np.r_[np.repeat(np.arange(4), 2), rng.integers(0, 4, 52)]
    rows = rng.normal(size=(60, 80)) + 0.7 * rng.normal(size=(4, 80))[codes]
    model = FSVM(C=1.0, coupling="shared", multi_class="ovo", rho=0.1).fit(rows, codes)
    assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize(
    "params", [{"rho": 1.0}, {"eta": 0.1}, {"coupling": "shared"}, {"coupling": "shared", "rho": 0.1}]
)
@pytest.mark.parametrize("C", [0.01, 1.0])
def test_nearly_collinear_features_in_every_form(params, C):
    rng = np.random.default_rng(0)
    codes = rng.integers(0, 4, 60)
    rows = rng.normal(size=(60, 4)) + 0.7 * rng.normal(size=(4, 4))[codes]
    rows = np.column_stack([rows, rows[:, 0] + 1e-6 * rng.normal(size=60)])
    assert FSVM(C=C, **params).fit(rows, codes).dual_gap_ <= 1e-6
