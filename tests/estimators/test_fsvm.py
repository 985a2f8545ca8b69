"""FSVM: the identities of the model, its attributes, and what it says to bad input."""

import pickle
import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin import FSVM
from radiusmargin.estimators.decision import LinearModel
from radiusmargin.scatter import scatter_matrix
from radiusmargin.solvers import hinge_svm


def correlated(n=80, d=4, seed=0, classes=2):
    rng = np.random.default_rng(seed)
    y = np.arange(n) % classes
    X = (rng.normal(size=(n, d)) + rng.normal(size=(classes, d))[y]) @ rng.normal(size=(d, d))
    return X, y


def test_whitening_one_is_the_svm_with_the_scatter_as_regulariser():
    """Identity F5: w'Sw / (2 kappa) + C sum hinge."""
    X, y = correlated()
    model = FSVM(C=0.3, tol=1e-9).fit(X, y)
    reference = hinge_svm(X, 2 * y - 1, 0.3, scatter_matrix(X) / len(X), tol=1e-9)
    np.testing.assert_allclose(model.coef_[0], reference.coef, rtol=1e-4)
    assert model.objective_ == pytest.approx(reference.objective, rel=1e-8)


def test_whitening_zero_is_the_svm_on_standardised_features():
    """Identity F7."""
    X, y = correlated()
    model = FSVM(C=0.3, whitening=0.0, tol=1e-9).fit(X, y)
    Z = StandardScaler().fit_transform(X)
    reference = SVC(kernel="linear", C=0.3, tol=1e-8).fit(Z, y)
    np.testing.assert_allclose(model.decision_function(X), reference.decision_function(Z), atol=1e-4)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 1000), st.floats(-2, 2))
def test_affine_invariance_at_whitening_one(seed, log_C):
    """Identity F3: any invertible map leaves the decision function alone."""
    X, y = correlated(seed=seed)
    rng = np.random.default_rng(seed)
    map_ = rng.normal(size=(4, 4)) + 2 * np.eye(4)
    if np.linalg.cond(map_) > 1e3:
        return
    model = FSVM(C=10**log_C, tol=1e-9, rank_tol=0)  # a thin direction of one of the two must not be left out
    scores = [model.fit(Z, y).decision_function(Z) for Z in (X, X @ map_ + rng.normal(size=4))]
    np.testing.assert_allclose(*scores, atol=2e-4 * np.abs(scores[0]).max())


@pytest.mark.parametrize(
    "params", [{"whitening": 0.0}, {"whitening": 0.3}, {"whitening": 0.5, "eta": 0.1}, {"rho": 0.2}]
)
def test_invariance_to_rescaling_and_shifting_features(params):
    X, y = correlated()
    scale, shift = np.array([1e-3, 1.0, 50.0, 1e4]), np.array([3.0, -1.0, 0.0, 1e5])
    a = FSVM(tol=1e-9, **params).fit(X, y).decision_function(X)
    b = FSVM(tol=1e-9, **params).fit(X * scale + shift, y).decision_function(X * scale + shift)
    np.testing.assert_allclose(a, b, atol=1e-4 * np.abs(a).max())


def test_only_C_over_root_rho_matters():
    """Identity F1: (C, rho) -> (cC, c^2 rho) keeps w and multiplies the objective by c."""
    X, y = correlated()
    a, b = FSVM(C=1.0, rho=0.5, tol=1e-9).fit(X, y), FSVM(C=3.0, rho=4.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(a.coef_, b.coef_, rtol=1e-3)
    assert b.objective_ == pytest.approx(3 * a.objective_, rel=1e-6)


def test_zero_below_the_critical_C():
    """Identity F4: for balanced classes C_crit = sqrt(2 rho) / |S^{-1/2} X'y|."""
    X, y = correlated()
    signs, S = 2 * y - 1, scatter_matrix(X)
    g = X.T @ signs
    critical = np.sqrt(2 * 0.5) / np.sqrt(g @ np.linalg.solve(S, g))
    below, above = (FSVM(C=f * critical, rho=0.5, tol=1e-8).fit(X, y) for f in (0.98, 1.02))
    assert np.all(below.coef_ == 0)
    assert np.any(above.coef_ != 0)
    assert below.objective_ == pytest.approx(0.98 * critical * len(y))  # 2 C min(n+, n-)
    assert below.transform(X).shape == (80, 1)


def test_the_two_forms_trace_the_same_classifiers():
    """Identity F2: the penalised solution is the constrained one at some C'."""
    X, y = correlated()
    penalised = FSVM(C=2.0, rho=5.0, tol=1e-10).fit(X, y)
    w = penalised.coef_[0]
    S = scatter_matrix(X)
    C = 2.0 * np.sqrt(w @ S @ w) / np.sqrt(2 * 5.0) / len(y)
    np.testing.assert_allclose(FSVM(C=C, tol=1e-10).fit(X, y).coef_[0], w, rtol=2e-3)


def test_within_scatter():
    X, y = correlated(seed=3)
    W = scatter_matrix(X, y, kind="within")
    model = FSVM(C=0.5, scatter="within", tol=1e-9).fit(X, y)
    reference = hinge_svm(X, 2 * y - 1, 0.5, W / len(X), tol=1e-9)
    assert model.objective_ == pytest.approx(reference.objective, rel=1e-7)


@pytest.mark.parametrize(
    "params", [{}, {"eta": 0.1}, {"rho": 0.5}, {"coupling": "shared"}, {"coupling": "shared", "eta": 0.1}]
)
def test_integer_weights_equal_copies(params):
    X, y = correlated(60, 3, classes=3)
    weight = np.random.default_rng(0).integers(0, 4, 60)
    weight[:3] = 1
    rows = np.repeat(np.arange(60), weight)
    a = FSVM(tol=1e-9, **params).fit(X, y, sample_weight=weight)
    b = FSVM(tol=1e-9, **params).fit(X[rows], y[rows])
    np.testing.assert_allclose(a.coef_, b.coef_, atol=1e-4 * np.abs(b.coef_).max())
    assert a.objective_ == pytest.approx(b.objective_, rel=1e-7)


@pytest.mark.parametrize(("seed", "C"), [(1, 1.0), (2, 100.0), (3, 1.0)])
def test_features_that_are_collinear_but_for_rounding(seed, C):
    """A sum of features with six digits: without a tolerance whitening makes as much of its rounding as of the features."""
    rng = np.random.default_rng(seed)
    X = rng.integers(0, 5, size=(300, 4)).astype(float)
    y = (X @ rng.normal(size=4) + rng.normal(size=300) > 2).astype(int)
    X = np.column_stack([X, np.round(X[:, 0] / 3 + X[:, 1] / 7, 6)])
    model = FSVM(C=C, rank_tol=0).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert model.n_iter_ < 100
    rows = StandardScaler().fit_transform(X)
    _, deviations, axes = np.linalg.svd(rows / np.sqrt(300), full_matrices=False)
    white = hinge_svm(rows @ axes.T / deviations, 2 * y - 1, C, tol=1e-9)
    assert model.objective_ == pytest.approx(white.objective, rel=1e-4)


def test_multiclass_attributes():
    X, y = load_iris(return_X_y=True)
    model = FSVM(C=1.0).fit(X, y)
    assert model.coef_.shape == (3, 4)
    assert model.radius_.shape == model.margin_.shape == (3,)
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X, y) > 0.8
    assert model.dual_gap_ <= 1e-6
    assert model.objective_ >= model.dual_objective_
    shared = FSVM(C=1.0, coupling="shared").fit(X, y)
    assert shared.transform(X).shape[1] <= 3
    assert shared.score(X, y) > 0.8


def test_radius_margin_and_metric_agree_with_their_definitions():
    from radiusmargin.geometry import minimum_enclosing_ball

    X, y = correlated()
    for model in (
        FSVM(C=0.2).fit(X, y),
        FSVM(C=0.2, eta=0.3).fit(X, y),
        FSVM(C=0.2, whitening=0.5).fit(X, y),
    ):
        Z = model.transform(X)
        assert model.radius_[0] == pytest.approx(minimum_enclosing_ball(Z).radius, rel=1e-6)
        M = model.get_mahalanobis_matrix()
        assert model.margin_[0] == pytest.approx(
            1 / np.sqrt(model.coef_[0] @ np.linalg.pinv(M) @ model.coef_[0]), rel=1e-4
        )
        d = Z[0] - Z[1]
        assert d @ d == pytest.approx((X[0] - X[1]) @ M @ (X[0] - X[1]))


@pytest.mark.parametrize("params", [{"eta": 1.0}, {"whitening": 0.5}, {}])
def test_the_metric_does_not_depend_on_units(params):
    X, y = correlated(classes=3)
    scale = np.array([1e5, 1.0, 1e-4, 10.0])
    a, b = FSVM(tol=1e-9, **params).fit(X, y), FSVM(tol=1e-9, **params).fit(X * scale, y)
    assert a.components_.shape == b.components_.shape
    M = b.get_mahalanobis_matrix() * np.outer(scale, scale)
    np.testing.assert_allclose(M, a.get_mahalanobis_matrix(), rtol=1e-3, atol=1e-3 * np.abs(M).max())


def test_an_overflow_is_refused():
    X, y = correlated()
    with pytest.raises(ValueError, match="overflows"):
        FSVM(C=1e300).fit(X, y, sample_weight=np.full(80, 1e10))


def test_max_iter_limits_every_form():
    X, y = correlated(classes=3)
    for params in ({"eta": 0.1}, {"coupling": "shared"}):
        with pytest.warns(ConvergenceWarning):
            FSVM(max_iter=2, **params).fit(X, y)


def test_smoothed_metric_has_full_rank_and_a_symmetric_root():
    X, y = correlated()
    model = FSVM(eta=0.5).fit(X, y)
    assert model.components_.shape == (4, 4)
    standardised = model.components_ * X.std(axis=0)
    np.testing.assert_allclose(standardised, standardised.T, rtol=1e-6)
    # tr(MT) = kappa: mean squared radius one
    Z = model.transform(X)
    assert np.sum((Z - Z.mean(axis=0)) ** 2) == pytest.approx(len(X), rel=1e-6)


RANK_DEFICIENT = {
    "fewer rows than features": lambda X: np.hstack([X, np.random.default_rng(1).normal(size=(len(X), 100))]),
    "collinear": lambda X: np.hstack([X, X @ np.ones((4, 2))]),
    "constant column": lambda X: np.insert(X, 1, 7.0, axis=1),
}


@pytest.mark.parametrize("params", [{}, {"whitening": 0.5}, {"eta": 0.1}, {"rho": 0.1}, {"whitening": 0.0}])
@pytest.mark.parametrize("case", RANK_DEFICIENT)
def test_rank_deficient_data(case, params):
    X, y = correlated()
    Z = RANK_DEFICIENT[case](X)
    model = FSVM(C=0.1, **params).fit(Z, y)
    assert model.dual_gap_ <= 1e-6
    assert np.isfinite(model.coef_).all()
    if case == "constant column":
        plain = FSVM(C=0.1, **params).fit(X, y)
        np.testing.assert_allclose(model.decision_function(Z), plain.decision_function(X), atol=2e-3)
        assert model.coef_[0, 1] == 0


@pytest.mark.parametrize("params", [{}, {"eta": 0.1}, {"whitening": 0.0}, {"coupling": "shared"}])
def test_sparse_input(params):
    X, y = correlated(90, 5, classes=3)
    X[np.abs(X) < 0.7] = 0.0
    dense, thin = FSVM(tol=1e-8, **params).fit(X, y), FSVM(tol=1e-8, **params).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(dense.decision_function(X), thin.decision_function(sparse.csr_matrix(X)), atol=1e-3)


def test_without_an_intercept():
    X, y = correlated()
    X += 1.0
    plain, smoothed = (
        FSVM(fit_intercept=False, tol=1e-9).fit(X, y),
        FSVM(fit_intercept=False, eta=1e-12, tol=1e-7).fit(X, y),
    )
    assert plain.intercept_[0] == smoothed.intercept_[0] == 0
    np.testing.assert_allclose(plain.decision_function(X), X @ plain.coef_[0])
    np.testing.assert_allclose(smoothed.coef_, plain.coef_, atol=1e-3 * np.abs(plain.coef_).max())


def test_dataframes_and_set_output():
    pd = pytest.importorskip("pandas")
    pl = pytest.importorskip("polars")
    X, y = load_iris(return_X_y=True, as_frame=True)
    model = FSVM(coupling="shared").fit(X, y).set_output(transform="pandas")
    out = model.transform(X)
    assert isinstance(out, pd.DataFrame)
    assert list(out.columns) == list(model.get_feature_names_out())
    assert list(model.feature_names_in_) == list(X.columns)
    labels = np.array(["a", "b", "c"])[y]
    assert set(FSVM().fit(pl.from_pandas(X), labels).predict(pl.from_pandas(X))) <= {"a", "b", "c"}


@pytest.mark.parametrize("params", [{}, {"eta": 0.1}, {"rho": 0.01}, {"coupling": "shared"}, {"rank": 5}], ids=str)
def test_warm_start_takes_fewer_steps(params):
    X, y = correlated(400, 8, classes=3)
    if params.pop("rank", None):
        X = np.column_stack([X, X[:, :2]])  # collinear
    model = FSVM(warm_start=True, **params).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first / 2
    # Other C and other weights give what a cold start gives.
    weight = np.random.default_rng(0).uniform(0.1, 1.0, len(y))
    warm = model.set_params(C=0.3).fit(X, y, sample_weight=weight)
    cold = FSVM(C=0.3, **params).fit(X, y, sample_weight=weight)
    assert warm.dual_gap_ <= 1e-6
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    assert "_previous" not in FSVM().fit(X, y).__dict__


@pytest.mark.parametrize("classes", [2, 3])
def test_warm_start_of_a_kernel_machine_takes_fewer_pairs(classes):
    X, y = correlated(400, 4, classes=classes)
    params = {"kernel": "rbf", "whitening": 0, "tol": 1e-5}
    model = FSVM(C=10.0, warm_start=True, **params).fit(X, y)
    first = model.n_iter_
    assert model.fit(X, y).n_iter_ < first / 2
    weight = np.random.default_rng(0).uniform(0.1, 1.0, len(y))
    for C, rows, sample_weight in ((3.0, X, None), (30.0, X, None), (3.0, X, weight), (3.0, X[::-1], weight)):
        warm = model.set_params(C=C).fit(rows, y, sample_weight=sample_weight)
        cold = FSVM(C=C, **params).fit(rows, y, sample_weight=sample_weight)
        assert warm.dual_gap_ <= 1e-5
        assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-5)
        assert C < 30 or warm.n_iter_ == cold.n_iter_
    assert model.fit(X[:300], y[:300]).dual_gap_ <= 1e-5  # rows that are others
    assert model.set_params(kernel="linear").fit(X, y).set_params(kernel="rbf").fit(X, y).dual_gap_ <= 1e-5


@pytest.mark.parametrize("params", [{"eta": 1e-3}, {"rho": 0.01}, {"coupling": "shared"}], ids=str)
@pytest.mark.parametrize("change", ["labels", "intercept on", "intercept off"])
def test_warm_start_survives_a_change_of_the_problem(change, params):
    """Multipliers of another problem need not be feasible: the certificate must not count on them."""
    X, y = correlated(90, 4, classes=3)
    other = np.random.default_rng(0).permutation(y)
    model = FSVM(C=0.05, warm_start=True, fit_intercept=change != "intercept on", **params)
    model.fit(X, other if change == "labels" else y)
    warm = model.set_params(fit_intercept=change != "intercept off").fit(X, y)
    cold = FSVM(C=0.05, fit_intercept=change != "intercept off", **params).fit(X, y)
    assert warm.objective_ == pytest.approx(cold.objective_, rel=2e-6)
    assert warm.dual_objective_ <= cold.objective_
    assert change != "intercept off" or not warm.intercept_.any()


def test_tiny_C_with_a_penalty_converges_to_zero():
    """The intercept's curvature must not drown in that of the metric."""
    X, y = np.random.default_rng(0).normal(size=(30, 3)), np.arange(30) % 3 == 0
    model = FSVM(C=1e-6, rho=1.0, tol=1e-9).fit(X, y)
    assert model.dual_gap_ <= 1e-9
    assert np.all(model.coef_ == 0)


def test_sparse_rows_in_any_order():
    X, y = correlated(80, 5)
    rows = sparse.csr_array(np.where(np.abs(X) < 0.3, 0.0, X))[:, [3, 1, 4, 0, 2]]
    assert not rows.has_sorted_indices
    model = FSVM().fit(rows, y)
    assert model.dual_gap_ <= 1e-6
    assert not rows.has_sorted_indices  # left as it was
    np.testing.assert_allclose(model.coef_, FSVM().fit(rows.toarray(), y).coef_, rtol=1e-2, atol=1e-4)


def test_pickle_and_plain_attributes():
    X, y = correlated()
    model = FSVM(eta=0.1).fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))
    plain = (np.ndarray, float, int, str, type(None), bool, list, LinearModel)
    assert all(isinstance(value, plain) for value in vars(model).values())
    assert clone(model).get_params() == model.get_params()


def test_class_weight():
    X, y = correlated()
    heavy = FSVM(class_weight={1: 5.0}, tol=1e-9).fit(X, y)
    same = FSVM(tol=1e-9).fit(X, y, sample_weight=np.where(y == 1, 5.0, 1.0))
    np.testing.assert_allclose(heavy.coef_, same.coef_, rtol=1e-5)
    balanced = FSVM(class_weight="balanced").fit(X, y)
    assert balanced.score(X, y) > 0.5


def test_history_and_verbose(capsys):
    X, y = correlated()
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = FSVM(C=0.1, solver="projected-gradient").fit(X, y)
    gaps = [entry["gap"] for entry in model.history_]
    assert len(gaps) > 1
    assert model.dual_gap_ == pytest.approx(gaps[-1])
    assert not hasattr(FSVM().fit(X, y), "history_")
    FSVM(eta=0.1, verbose=1).fit(X, y)
    assert "gap" in capsys.readouterr().out


def test_projected_gradient_certifies_the_separator_and_metric_it_returns():
    """The problem of the docstring, written out in the user's units: the gap bounds what is left of it."""
    X, y = correlated()
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = FSVM(C=0.1, solver="projected-gradient").fit(X, y)
    w, M = model.coef_[0], model.get_mahalanobis_matrix()
    centred = X - X.mean(axis=0)
    hinge = np.maximum(0.0, 1.0 - np.where(y == model.classes_[1], 1, -1) * (X @ w + model.intercept_))
    value = 0.5 * w @ np.linalg.solve(M, w) + 0.1 * hinge.sum()
    assert np.trace(M @ (centred.T @ centred)) <= len(X) * (1 + 1e-9)
    assert model.objective_ == pytest.approx(value, rel=1e-8)
    best = FSVM(C=0.1).fit(X, y).objective_
    assert model.dual_gap_ >= (value - best) / value > 1e-3


def test_callbacks_of_scikit_learn(recorder):
    X, y = correlated(classes=3)
    FSVM(eta=0.1).set_callbacks(recorder).fit(X, y)
    problem = ["begin problem", "end problem"]
    assert recorder.told == ["setup", "begin fit", *3 * problem, "end fit", "teardown"]


@pytest.mark.parametrize(
    ("params", "message"),
    [
        ({"C": 0}, r"C must be a number in \(0, inf\), got 0"),
        ({"C": "1"}, "C must be a number"),
        ({"C": np.nan}, "C must be a number"),
        ({"rho": 0.0}, "rho must be a number"),
        ({"rho": -1}, "rho must be a number"),
        ({"eta": -0.1}, r"eta must be a number in \[0, inf\), got -0.1"),
        ({"whitening": 1.5}, r"whitening must be a number in \[-1, 1\], got 1.5"),
        ({"whitening": None}, "whitening must be a number"),
        ({"scatter": "between"}, "scatter must be one of 'total', 'within', got 'between'"),
        ({"coupling": "joint"}, "coupling must be one of"),
        ({"solver": "sgd"}, "solver must be one of"),
        ({"class_weight": "heavy"}, "class_weight must be"),
        ({"class_weight": {0: -1.0}}, "class_weight must hold positive"),
        ({"tol": 0.0}, "tol must be a number"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"max_iter": 2.5}, "max_iter must be a positive integer"),
    ],
)
def test_bad_parameters_are_named(params, message):
    X, y = correlated()
    with pytest.raises(ValueError, match=message):
        FSVM(**params).fit(X, y)


def test_bad_data_are_named():
    X, y = correlated()
    with pytest.raises(ValueError, match="NaN"):
        FSVM().fit(np.where(X > 2, np.nan, X), y)
    with pytest.raises(ValueError, match="only one class"):
        FSVM().fit(X, np.zeros(80))
    with pytest.raises(ValueError, match="negative"):
        FSVM().fit(X, y, sample_weight=-np.ones(80))
    with pytest.raises(ValueError, match="nothing to learn"):
        FSVM().fit(np.ones((80, 3)), y)
    with pytest.raises(ValueError, match="features"):
        FSVM().fit(X, y).predict(X[:, :2])


def test_a_plain_fit_is_silent():
    X, y = correlated()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        FSVM().fit(X, y)
