"""A kernel model is the linear model on the features of the map: identities of the paper's section 4."""

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin, clone
from sklearn.datasets import load_iris
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics.pairwise import laplacian_kernel, rbf_kernel
from sklearn.model_selection import cross_val_score
from sklearn.svm import SVC

from radiusmargin import FSVM, FSVMCV, SVM
from radiusmargin.estimators import KernelMap, LeadingFeatures
from radiusmargin.paper.data import make_ringnorm
from radiusmargin.solvers import kernel as backend


def task(n=150, seed=0):
    X, y = make_ringnorm(n + 50, 5, random_state=seed)
    return X[:n], y[:n], X[n:], y[n:]


def interpolation(model, X, y):
    return y * model.decision_function(X)


@pytest.mark.parametrize("C", [0.1, 10.0])
@pytest.mark.parametrize(
    "options",
    [
        {"kernel": "rbf", "gamma": 0.1},
        {"kernel": "rbf"},
        {"kernel": "poly", "gamma": 0.1, "degree": 2, "coef0": 1.0},
        {"kernel": lambda X, Y: laplacian_kernel(X, Y, gamma=0.1)},
    ],
    ids=["rbf", "rbf-scale", "poly", "callable"],
)
def test_without_whitening_it_is_svc(options, C):
    """Identity K2: Eq. 25-26 of the paper at p = 0: no component is dropped, and the decision functions agree."""
    X, y, new, _ = task()
    ours = FSVM(C, whitening=0.0, tol=1e-12, n_components=1.0, **options).fit(X, y)
    theirs = SVC(C=C, tol=1e-9, **options).fit(X, y)
    assert ours.kernel_map_.explained_ == pytest.approx(1, abs=1e-12)
    expected = theirs.decision_function(new)
    np.testing.assert_allclose(ours.decision_function(new), expected, atol=1e-5 * max(1, np.abs(expected).max()))
    np.testing.assert_array_equal(ours.predict(new), theirs.predict(new))


def test_the_default_is_svc_too_on_a_small_set():
    X, y, new, _ = task(200)
    ours = FSVM(kernel="rbf", whitening=0.0, tol=1e-10).fit(X, y)
    theirs = SVC(tol=1e-9).fit(X, y)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-4)


def test_a_single_kernel_takes_rows_as_they_are():
    """As `SVC` does: nothing is standardised, and other units are another model."""
    X, y, new, _ = task()
    units = np.array([100.0, 1.0, 1.0, 1.0, 0.01])
    ours = FSVM(kernel="rbf", whitening=0.0, tol=1e-10).fit(X * units, y)
    plain = SVM(kernel="rbf", tol=1e-10).fit(X * units, y)
    np.testing.assert_array_equal(ours.decision_function(new * units), plain.decision_function(new * units))
    theirs = SVC(tol=1e-9).fit(X * units, y)
    np.testing.assert_allclose(ours.decision_function(new * units), theirs.decision_function(new * units), atol=1e-4)
    search = FSVMCV([1.0], kernel="rbf", combine="best", cv=3, tol=1e-10).fit(X * units, y)
    np.testing.assert_array_equal(search.decision_function(new * units), ours.decision_function(new * units))
    assert np.abs(ours.decision_function(new * units) - ours.fit(X, y).decision_function(new)).max() > 0.1


def test_weights_agree_with_svc():
    X, y, new, _ = task()
    weight = np.random.default_rng(0).integers(0, 4, len(y))
    ours = FSVM(kernel="rbf", gamma=0.1, whitening=0.0, tol=1e-12).fit(X, y, sample_weight=weight)
    theirs = SVC(gamma=0.1, tol=1e-9).fit(X, y, sample_weight=weight)
    np.testing.assert_allclose(ours.decision_function(new), theirs.decision_function(new), atol=1e-5)


@pytest.mark.parametrize("whitening", [0.0, 1.0])
@pytest.mark.parametrize("scatter", ["total", "within"])
def test_an_integer_weight_equals_copies(scatter, whitening):
    X, y, new, _ = task(80)
    weight = np.random.default_rng(1).integers(0, 3, len(y))
    model = FSVM(kernel="rbf", n_components=15, whitening=whitening, scatter=scatter, tol=1e-10)
    weighted = clone(model).fit(X, y, sample_weight=weight).decision_function(new)
    repeated = clone(model).fit(np.repeat(X, weight, axis=0), np.repeat(y, weight)).decision_function(new)
    np.testing.assert_allclose(weighted, repeated, atol=1e-5)


@pytest.mark.parametrize("gamma", [0.05, 5.0])
def test_all_components_only_reproduce_the_labels(gamma):
    """Identity K3: Whitened at full rank, outputs are free: every row is on the margin."""
    X, y, _, _ = task(60)
    model = FSVM(kernel="rbf", gamma=gamma, C=1.0, n_components=59, tol=1e-10)
    with pytest.warns(UserWarning, match=r"keeps all 59 components .* Set n_components to fewer, eta > 0"):
        margins = interpolation(model.fit(X, y), X, y)
    np.testing.assert_allclose(margins, 1.0, atol=1e-4)
    fewer = interpolation(clone(model).set_params(n_components=10).fit(X, y), X, y)
    assert np.ptp(fewer) > 0.3


@pytest.mark.parametrize("options", [{"eta": 0.1}, {"whitening": 0.5}, {"n_components": 58}])
def test_no_warning_where_something_regularises(options):
    X, y, _, _ = task(60)
    FSVM(**{"kernel": "rbf", "gamma": 0.2, "n_components": 59, **options}).fit(X, y)  # warnings are errors


def test_it_is_the_linear_model_on_the_features():
    """At whitening 1 standardising the features changes nothing: the linear model itself is the reference."""
    X, y, new, _ = task()
    kernel = FSVM(0.5, kernel="rbf", n_components=20, tol=1e-10).fit(X, y)
    mapping = KernelMap("rbf", n_components=20).fit(X)
    linear = FSVM(0.5, tol=1e-10).fit(mapping.transform(X), y)
    expected = linear.decision_function(mapping.transform(new))
    np.testing.assert_allclose(kernel.decision_function(new), expected, atol=1e-5)
    np.testing.assert_allclose(
        np.abs(kernel.transform(new)), np.abs(linear.transform(mapping.transform(new))), atol=1e-4
    )
    assert len(kernel.get_feature_names_out()) == kernel.transform(new).shape[1]


@pytest.mark.parametrize("options", [{"whitening": 0.5}, {"eta": 0.1}, {"rho": 0.01, "whitening": 0.0}])
def test_the_scatter_of_the_features_is_that_of_the_map(options):
    """Features without correlation need no second eigendecomposition: the model on the features as they are agrees."""
    X, y, new, _ = task()
    weight = np.random.default_rng(0).integers(1, 4, len(y))
    model = FSVM(kernel="rbf", n_components=12, tol=1e-10, **options).fit(X, y, sample_weight=weight)
    mapping = model.kernel_map_
    direct = clone(model).set_params(kernel=LeadingFeatures(), n_components=None)
    direct.fit(mapping.transform(X), y, sample_weight=weight)
    expected = direct.decision_function(mapping.transform(new))
    np.testing.assert_allclose(model.decision_function(new), expected, atol=1e-5)


def test_a_map_can_be_given_in_place_of_a_kernel():
    X, y, new, _ = task()
    named = FSVM(kernel="rbf", n_components=12, whitening=0.5).fit(X, y)
    given = FSVM(kernel=KernelMap("rbf", n_components=12), whitening=0.5)
    np.testing.assert_allclose(given.fit(X, y).decision_function(new), named.decision_function(new), atol=1e-8)
    assert not hasattr(given.kernel, "eigenvalues_")  # a parameter is not fitted: a clone of it is


def test_precomputed_equals_computed_also_in_cross_validation():
    X, y, new, _ = task()
    K = rbf_kernel(X, gamma=0.1)
    options = {"n_components": 15, "whitening": 0.5}
    given = FSVM(kernel="precomputed", **options)
    computed = FSVM(kernel="rbf", gamma=0.1, **options)
    expected = computed.fit(X, y).decision_function(new)
    np.testing.assert_allclose(given.fit(K, y).decision_function(rbf_kernel(new, X, gamma=0.1)), expected, atol=1e-6)
    np.testing.assert_array_equal(cross_val_score(given, K, y, cv=3), cross_val_score(computed, X, y, cv=3))
    with pytest.raises(ValueError, match="square matrix"):
        given.fit(K[:, :-1], y)


@pytest.mark.parametrize("coupling", ["separate", "shared"])
def test_more_than_two_classes(coupling):
    X, y = load_iris(return_X_y=True)
    model = FSVM(10.0, kernel="rbf", n_components=10, coupling=coupling).fit(X[::2], y[::2])
    assert model.decision_function(X).shape == (150, 3)
    assert model.score(X[1::2], y[1::2]) > 0.9
    assert model.coef_.shape == (3, 10)
    assert model.transform(X).shape == (150, len(model.components_))
    assert model.dual_gap_ <= model.tol


@pytest.mark.parametrize(
    "options", [{"whitening": 0.5}, {"whitening": 0.0, "n_components": 60}, {"whitening": 0.0, "eta": 1}]
)
def test_what_was_chosen_or_is_not_euclidean_does_not_grow(options):
    X = np.random.default_rng(0).uniform(-2, 2, size=(600, 8))
    y = np.prod(np.sin(X[:, :2]), axis=1) > 0
    model = FSVM(10.0, kernel="rbf", gamma=1.0, tol=1e-3, **options).fit(X, y)
    assert model.kernel_map_.n_components_ <= 240
    assert model.kernel_map_.eigenvalues_ is not None


def test_labels_that_live_in_small_components():
    """A chessboard in two of eight features, which the leading components of the kernel say little about."""
    X = np.random.default_rng(0).uniform(-2, 2, size=(900, 8))
    y = np.where(np.prod(np.sin(X[:, :2]), axis=1) > 0, "white", "black")[:700]
    for kernel in ("rbf", "precomputed"):
        rows, new = X[:700], X[700:]
        if kernel == "precomputed":
            rows, new = rbf_kernel(rows, gamma=1.0), rbf_kernel(new, rows, gamma=1.0)
        theirs = SVC(C=10.0, kernel=kernel, gamma=1.0, tol=1e-9).fit(rows, y).decision_function(new)
        for model in (FSVM(10.0, whitening=0.0), SVM(10.0)):
            ours = model.set_params(kernel=kernel, gamma=1.0, tol=1e-9).fit(rows, y)
            np.testing.assert_allclose(ours.decision_function(new), theirs, atol=1e-4)


@pytest.mark.parametrize("classes", [2, 3])
def test_support_vectors_are_those_of_svc(classes):
    X, y = load_iris(return_X_y=True)
    X, y = X[y < classes], y[y < classes]
    ours = FSVM(kernel="rbf", gamma=0.5, whitening=0.0, tol=1e-9).fit(X, y)
    theirs = SVC(gamma=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_array_equal(ours.n_support_, theirs.n_support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
    np.testing.assert_array_equal(ours.support_vectors_, X[ours.support_])
    assert not hasattr(ours, "coef_")
    assert ours.transform(X).shape == (len(X), len(ours.components_))


def test_without_an_intercept_the_origin_is_that_of_svc():
    X, y, _, _ = task()
    model = SVM(kernel="rbf", gamma=0.1, fit_intercept=False, tol=1e-9).fit(X, y)
    assert not model.intercept_.any()
    K = rbf_kernel(X, gamma=0.1)
    v = np.zeros(len(y))
    v[model.support_] = model.dual_coef_[0]
    slack = np.maximum(0, 1 - np.where(y == model.classes_[1], 1, -1) * (K @ v))
    assert model.objective_ == pytest.approx(0.5 * v @ K @ v + slack.sum(), rel=1e-8)


def test_an_indefinite_kernel_has_no_certificate():
    X, y, _, _ = task(200)
    K = np.tanh(0.1 * X @ X.T - 1.0)
    with pytest.warns(ConvergenceWarning, match="not positive semi-definite"):
        model = FSVM(kernel="precomputed", whitening=0.0).fit(K, y)
    assert np.isnan(model.dual_objective_)
    assert np.isnan(model.dual_gap_)
    assert model.score(K, y) > 0.5


def test_rounding_is_not_called_an_indefinite_kernel(monkeypatch):
    """Polynomials and cosines are positive semi-definite, however their values are rounded."""
    rng = np.random.default_rng(1)
    X, y = 10.0 ** rng.uniform(1, 5) + rng.normal(size=(6, 1)), np.array([0, 1, 0, 0, 0, 1])
    monkeypatch.setattr(backend, "COMPILED", False)  # whose form in NumPy meets it on these rows
    with pytest.warns(
        ConvergenceWarning, match="without a bound of the optimum.*: rounding of the values of the poly kernel"
    ):
        SVM(C=205, kernel="poly", degree=2, max_iter=20).fit(X, y)
    for kernel in ("poly", "cosine"):
        with pytest.warns(UserWarning, match=f"is dropped: rounding of the values of the {kernel} kernel"):
            KernelMap(kernel=kernel, degree=2).fit(1e6 + rng.normal(size=(20, 3)))


class Stubborn(TransformerMixin, BaseEstimator):
    """A transformer of the user's with an attribute that the map of ours has too."""

    def fit(self, X, y=None):
        self.gram_ = np.eye(3)
        return self

    def transform(self, X):
        return np.tanh(X @ np.ones((X.shape[1], 110)) + np.arange(110)) + self.gram_.sum()


def test_a_transformer_keeps_its_attributes():
    X, y, new, _ = task()
    model = FSVM(whitening=0.0, kernel=Stubborn()).fit(X, y)
    assert model.kernel_map_.gram_.shape == (3, 3)
    assert np.isfinite(model.decision_function(new)).all()


@pytest.mark.parametrize("model", [FSVM(whitening=0.0), SVM()], ids=["FSVM", "SVM"])
def test_degenerate_kernels_are_refused(model):
    X, y, _, _ = task()
    with pytest.raises(ValueError, match="does not vary"):
        clone(model).set_params(kernel="rbf").fit(np.ones_like(X), y)
    with np.errstate(all="ignore"), pytest.raises(ValueError, match="not finite"):
        clone(model).set_params(kernel="poly", degree=5, gamma=1.0).fit(X * 1e70, y)
