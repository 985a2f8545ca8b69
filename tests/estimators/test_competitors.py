"""The competitors as estimators: how they follow from each other, what they learn, weights, units."""

import pickle

import cvxpy as cp
import numpy as np
import pytest
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_iris, make_circles
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler, scale
from sklearn.svm import SVC

from radiusmargin import FSVM, MRSVM, MSVM, RMM, SVM, RSVMMuPlus, RSVMPlus, SigmaSVM
from radiusmargin.estimators import list_models, make_model
from radiusmargin.scatter import whitening

COMPETITORS = [SVM, SigmaSVM, RMM, MRSVM, RSVMPlus, RSVMMuPlus, MSVM]
CONIC = COMPETITORS[2:]
TRANSFORMERS = [SigmaSVM, MRSVM, RSVMPlus, RSVMMuPlus, MSVM]
KEYS = [entry.key for entry in list_models() if entry.exact]


def overlapping(n=60, d=4, seed=0):
    """Two classes that overlap, with correlated features of different units."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    mixing = rng.normal(size=(d, d)) + 2 * np.eye(d)
    return (rng.normal(size=(n, d)) + 0.8 * (2 * y - 1)[:, None]) @ mixing, y


X, y = overlapping()
SIGNS = 2.0 * y - 1
IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)


def losses(model, X=X):
    return np.maximum(0, 1 - SIGNS * model.decision_function(X))


def oracle(penalty, loss, C, X=X):
    """Minimum over w, b of ``penalty(w) + C sum loss(hinge)``, by cvxpy."""
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    xi = cp.pos(1 - cp.multiply(SIGNS, X @ w + b))
    problem = cp.Problem(cp.Minimize(penalty(w) + C * cp.sum(loss(xi))))
    return problem.solve(solver="CLARABEL")


# -- the chain between the models ----------------------------------------------------------------------------


@pytest.mark.parametrize("weight", [None, np.linspace(0.5, 2, 60)])
@pytest.mark.parametrize(
    "other", [RSVMPlus(0.3, 0.0), RMM(0.3, np.inf), RMM(0.3, 1e6), SigmaSVM(0.3, 0.0, tol=1e-9)], ids=repr
)
def test_chain_models_that_become_the_svm(other, weight):
    """Identities P1 and R1."""
    svm = SVM(0.3, tol=1e-9).fit(X, y, sample_weight=weight)
    other.fit(X, y, sample_weight=weight)
    assert other.objective_ == pytest.approx(svm.objective_, rel=1e-6)
    np.testing.assert_allclose(other.decision_function(X), svm.decision_function(X), atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_chain_the_whitened_svm_is_f_svm_and_sigma_svm(fit_intercept):
    """Identity F5."""
    common = {"fit_intercept": fit_intercept, "tol": 1e-9}
    fsvm = FSVM(0.3, **common).fit(X, y)
    sigma = SigmaSVM(0.3, 1.0, **common).fit(X, y)
    assert sigma.objective_ == pytest.approx(fsvm.objective_, rel=1e-8)
    np.testing.assert_allclose(sigma.coef_, fsvm.coef_, rtol=1e-5)
    if fit_intercept:  # whitening centres
        Z = (X - X.mean(axis=0)) @ whitening(np.cov(X.T, bias=True))
        assert SVM(0.3, tol=1e-9).fit(Z, y).objective_ == pytest.approx(fsvm.objective_, rel=1e-8)


def test_chain_the_registry_baseline_is_the_svm_on_standardised_features():
    baseline, svm = make_model("svm", C=0.3, tol=1e-9).fit(X, y), SVM(0.3, tol=1e-9).fit(scale(X), y)
    np.testing.assert_allclose(baseline.decision_function(X), svm.decision_function(scale(X)), atol=1e-6)


def test_chain_r_svm_mu_without_radius_is_the_squared_l1_svm():
    """Identity M1."""
    expected = oracle(lambda w: cp.square(cp.norm1(w)) / 2, lambda xi: xi, 0.3)
    assert RSVMMuPlus(0.3, 0.0).fit(X, y).objective_ == pytest.approx(expected, rel=1e-6)


def test_chain_mr_svm_with_unit_radii_is_the_squared_l1_svm_with_squared_hinge():
    """Identity MR1."""
    Z = X / (np.ptp(X, axis=0) / 2)
    expected = oracle(lambda w: cp.square(cp.norm1(w)) / 2, lambda xi: cp.square(xi) / 2, 0.3, Z)
    model = MRSVM(0.3).fit(Z, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert model.radius_bound_ == pytest.approx([1.0])


def test_chain_msvm_is_the_rmm_program_with_the_bound_minimised():
    """Identities S1 and S2."""
    expected = oracle(lambda w: cp.square(cp.max(cp.abs((X - X.mean(axis=0)) @ w))) / 2, lambda xi: xi, 0.3)
    model = MSVM(0.3).fit(X, y)
    assert model.objective_ == pytest.approx(expected, rel=1e-6)
    assert model.objective_ == pytest.approx(model.bound_[0] ** 2 / 2 + 0.3 * losses(model).sum(), rel=1e-9)
    T = np.random.default_rng(1).normal(size=(4, 4))
    np.testing.assert_allclose(
        MSVM(0.3).fit(X @ T + 5, y).decision_function(X @ T + 5), model.decision_function(X), atol=1e-4
    )


def test_the_rmm_bounds_its_outputs_and_names_the_points_on_the_bound():
    model = RMM(0.3, 1.2).fit(X, y)
    outputs = np.abs(model.decision_function(X))
    assert outputs.max() <= 1.2 * (1 + 1e-9)
    assert len(model.bound_active_[0]) > 0
    np.testing.assert_allclose(outputs[model.bound_active_[0]], 1.2, rtol=1e-5)
    assert model.objective_ == pytest.approx((model.coef_**2).sum() / 2 + 0.3 * losses(model).sum(), rel=1e-9)


# -- what is learnt ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("model", [SigmaSVM(0.3, 0.5, tol=1e-9), RSVMPlus(0.3, 0.1), RSVMMuPlus(0.3, 0.1)], ids=repr)
def test_the_model_is_the_svm_in_its_metric(model):
    model.fit(X, y)
    Z = model.transform(X)
    np.testing.assert_allclose(SVM(0.3, tol=1e-9).fit(Z, y).decision_function(Z), model.decision_function(X), atol=1e-3)


@pytest.mark.parametrize("cls", [RSVMPlus, RSVMMuPlus])
def test_the_active_pairs_are_the_farthest(cls):
    model = cls(0.3, 0.1).fit(X, y)
    scaling = model.coef_[0] ** 2 if cls is RSVMPlus else model.mu_[0]
    distances = np.sqrt(((X[:, None] - X) ** 2) @ scaling)
    assert model.diameter_[0] == pytest.approx(distances.max())
    np.testing.assert_allclose(distances[tuple(model.active_pairs_[0].T)], model.diameter_[0], rtol=1e-5)


def test_msvm_maps_the_data_into_the_unit_ball_and_touches_it():
    model = MSVM(0.3).fit(X, y)
    lengths = np.linalg.norm(model.transform(X) - model.transform(X).mean(axis=0), axis=1)
    assert lengths.max() == pytest.approx(1)
    np.testing.assert_allclose(lengths[model.bound_active_[0]], 1, rtol=1e-5)


@pytest.mark.parametrize("cls", TRANSFORMERS)
@pytest.mark.parametrize("n_classes", [2, 3])
def test_transformer(cls, n_classes):
    rows = n_classes > SPECIES
    model = cls().fit(IRIS[rows], SPECIES[rows])
    Z = model.transform(IRIS)
    np.testing.assert_allclose(Z, IRIS @ model.components_.T)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), model.components_.T @ model.components_)
    assert list(model.get_feature_names_out()) == [f"{cls.__name__.lower()}{k}" for k in range(Z.shape[1])]
    if hasattr(model, "mu_"):
        assert model.mu_.shape == model.coef_.shape
        np.testing.assert_allclose(model.mu_.sum(axis=1), 1)
        np.testing.assert_allclose(model.get_mahalanobis_matrix(), np.diag(model.mu_.mean(axis=0)), atol=1e-12)


# -- weights -----------------------------------------------------------------------------------------------


@pytest.mark.parametrize("cls", CONIC)
def test_weights_are_copies_to_the_last_bit(cls):
    rng = np.random.default_rng(0)
    counts = rng.integers(0, 3, size=len(X))
    order = rng.permutation(counts.sum())
    weighted = cls().fit(X, y, sample_weight=counts)
    copied = cls().fit(np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order])
    np.testing.assert_array_equal(weighted.coef_, copied.coef_)
    assert weighted.intercept_ == copied.intercept_


@pytest.mark.parametrize("cls", [SVM, SigmaSVM])
def test_weights_are_copies_for_the_newton_solver(cls):
    counts = np.random.default_rng(0).integers(0, 3, size=len(X))
    weighted = cls(tol=1e-10).fit(X, y, sample_weight=counts)
    copied = cls(tol=1e-10).fit(np.repeat(X, counts, axis=0), np.repeat(y, counts))
    np.testing.assert_allclose(weighted.coef_, copied.coef_, rtol=1e-6)


@pytest.mark.parametrize("cls", COMPETITORS)
def test_balanced_classes_are_weights(cls):
    rows = np.r_[np.flatnonzero(y == 0), np.flatnonzero(y == 1)[:10]]
    X_few, y_few = X[rows], y[rows]
    weight = np.where(y_few == 1, len(rows) / 20, len(rows) / 60)
    balanced = cls(class_weight="balanced").fit(X_few, y_few)
    weighted = cls().fit(X_few, y_few, sample_weight=weight)
    assert balanced.objective_ == pytest.approx(weighted.objective_, rel=1e-6)


@pytest.mark.parametrize(("model", "name"), [(RMM(0.3, 1.2), "bound_active_"), (RSVMPlus(0.3), "active_pairs_")])
def test_rows_are_counted_as_the_user_counts_them(model, name):
    padding = np.full((7, 4), 1e3)
    weight = np.r_[np.zeros(7), np.ones(len(X))]
    padded = clone(model).fit(np.r_[padding, X], np.r_[np.zeros(7, int), y], sample_weight=weight)
    plain = clone(model).fit(X, y)
    np.testing.assert_array_equal(getattr(padded, name)[0], getattr(plain, name)[0] + 7)


# -- units -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("units", [1e4, 1e-4, [1e4, 1, 1, 1], [1e-4, 1, 1, 1]], ids=str)
@pytest.mark.parametrize("C", [1e-2, 1.0, 1e2])
def test_hard_units_still_reach_the_gap(key, units, C):
    model = make_model(key, C=C).fit(X * units + 1.0, y)
    assert model.dual_objective_ <= model.objective_ * (1 + 1e-12)
    assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("key", KEYS)
def test_more_features_than_rows_constant_and_repeated_features(key):
    wide = np.c_[np.random.default_rng(0).normal(size=(20, 30)), np.ones(20), np.zeros(20)]
    wide = np.c_[wide, wide[:, :2]]
    model = make_model(key).fit(wide, y[:20])
    assert model.dual_gap_ <= 1e-6
    assert model.score(wide, y[:20]) > 0.6


# -- input and output --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (RMM(B=0.5), r"B must be a number in \[1, inf\], got 0.5"),
        (RMM(B=-np.inf), r"B must be a number in \[1, inf\], got -inf"),
        (RMM(B=np.nan), r"B must be a number in \[1, inf\], got nan"),
        (RMM(B="2"), r"B must be a number in \[1, inf\], got '2'"),
        (RSVMPlus(lam=-1e-9), r"lam must be a number in \[0, inf\), got -1e-09"),
        (RSVMMuPlus(lam=np.inf), r"lam must be a number in \[0, inf\), got inf"),
        (SigmaSVM(D=1.5), r"D must be a number in \[0, 1\], got 1.5"),
        (SigmaSVM(D=-0.1), r"D must be a number in \[0, 1\], got -0.1"),
        *((cls(C=0.0), r"C must be a number in \(0, inf\), got 0.0") for cls in COMPETITORS),
        *((cls(tol=-1.0), r"tol must be a number in \(0, inf\), got -1.0") for cls in COMPETITORS),
    ],
    ids=repr,
)
def test_bad_parameters(model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(X, y)


@pytest.mark.parametrize("cls", [MRSVM, SigmaSVM])
def test_data_without_spread(cls):
    model = cls(D=1.0) if cls is SigmaSVM else cls()
    with pytest.raises(ValueError, match="feature that varies"):
        model.fit(np.ones((4, 2)), [0, 1, 0, 1])


@pytest.mark.parametrize("cls", [SVM, SigmaSVM])
def test_sparse_rows_are_welcome(cls):
    model, dense = cls().fit(sparse.csr_array(X), y), cls().fit(X, y)
    np.testing.assert_allclose(model.coef_, dense.coef_, rtol=1e-3)
    np.testing.assert_array_equal(model.predict(sparse.csr_array(X)), dense.predict(X))


@pytest.mark.parametrize("cls", CONIC)
def test_sparse_rows_are_refused_by_the_conic_models(cls):
    with pytest.raises(TypeError, match=r"[Ss]parse"):
        cls().fit(sparse.csr_array(X), y)


@pytest.mark.parametrize("cls", COMPETITORS)
def test_data_frames_go_in_and_out(cls):
    pd = pytest.importorskip("pandas")
    frame = pd.DataFrame(IRIS, columns=list("abcd"))
    labels = pd.Series(SPECIES).map({0: "setosa", 1: "versicolor", 2: "virginica"})
    model = cls().fit(frame, labels)
    assert list(model.feature_names_in_) == list("abcd")
    assert set(model.predict(frame)) <= set(labels)
    if cls in TRANSFORMERS:
        out = model.set_output(transform="pandas").transform(frame)
        assert list(out.columns) == list(model.get_feature_names_out())
        assert out.index.equals(frame.index)


@pytest.mark.parametrize("key", KEYS)
def test_clone_and_pickle(key):
    model = make_model(key, C=0.7)
    assert clone(model).get_params() == model.get_params()
    model.fit(X, y)
    again = pickle.loads(pickle.dumps(model))
    np.testing.assert_array_equal(again.decision_function(X), model.decision_function(X))


@pytest.mark.parametrize("cls", COMPETITORS)
def test_too_few_iterations_are_reported(cls):
    with pytest.warns(ConvergenceWarning, match=rf"{cls.__name__} stopped at a relative gap of") as record:
        model = cls(max_iter=1, tol=1e-12).fit(X, y)
    assert len(record) == 1
    assert model.dual_gap_ > 1e-12


def test_verbose_says_what_each_problem_took(capsys):
    MSVM(verbose=1).fit(IRIS, SPECIES)
    lines = capsys.readouterr().out.splitlines()
    assert [line.split(":")[0] for line in lines] == [f"[MSVM] problem {k}" for k in (1, 2, 3)]


@pytest.mark.parametrize("cls", COMPETITORS)
def test_kernel(cls):

    rings, inner = make_circles(80, noise=0.05, factor=0.5, random_state=0)
    model = cls(kernel="rbf", gamma=1.0, n_components=10).fit(rings, inner)
    assert model.score(rings, inner) > 0.95
    assert model.dual_gap_ <= 1e-6


def test_kernel_svm_is_libsvm():

    Z = StandardScaler().fit_transform(X)
    ours = SVM(kernel="rbf", gamma=0.2, tol=1e-8).fit(Z, y)
    libsvm = SVC(kernel="rbf", gamma=0.2, tol=1e-8).fit(Z, y)
    np.testing.assert_allclose(ours.decision_function(Z), libsvm.decision_function(Z), atol=1e-3)
