"""KernelMap: what its features are, against scikit-learn and the definition, for every engine and kernel."""

import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.decomposition import KernelPCA
from sklearn.metrics.pairwise import laplacian_kernel, pairwise_kernels, rbf_kernel
from sklearn.utils.estimator_checks import parametrize_with_checks

from radiusmargin import kernels as functions
from radiusmargin.estimators import KernelMap
from radiusmargin.estimators.kernel_map import FunctionSource
from radiusmargin.estimators.kernel_pca import pivoted_cholesky
from radiusmargin.kernels import KernelFunction

PARAMETERS = {
    "linear": {},
    "rbf": {"gamma": 0.3},
    "laplacian": {"gamma": 0.2},
    "poly": {"gamma": 0.5, "degree": 2, "coef0": 1.0},
    "cosine": {},
}
ENGINES = ("exact", "cholesky", "landmarks")


def rows(n=60, d=4, seed=0):
    return np.random.default_rng(seed).normal(size=(n, d)) * 1.3 + 0.5


def centred(K, weight=None):
    weight = np.ones(len(K)) if weight is None else weight
    H = np.eye(len(K)) - np.outer(np.ones(len(K)), weight) / weight.sum()
    return H @ K @ H.T


@parametrize_with_checks([KernelMap(), KernelMap(engine="cholesky"), KernelMap("poly", engine="landmarks")])
def test_is_a_transformer_of_scikit_learn(estimator, check):
    check(estimator)


# -- the kernel functions -------------------------------------------------------------------------------


@pytest.mark.parametrize("shape", [(1, 1, 1), (5, 8, 3), (13, 7, 20), (61, 130, 2)])
@pytest.mark.parametrize("kernel", ["rbf", "laplacian"])
def test_the_fused_loop_agrees_with_scikit_learn(kernel, shape):
    n, m, d = shape
    X, Y = rows(n, d, 1), rows(m, d, 2)
    reference = {"rbf": rbf_kernel, "laplacian": laplacian_kernel}[kernel]
    k = KernelFunction(kernel, gamma=0.7)
    np.testing.assert_allclose(k(X, Y), reference(X, Y, gamma=0.7), rtol=1e-12)
    K = k(X)
    np.testing.assert_allclose(K, reference(X, gamma=0.7), rtol=1e-12)
    np.testing.assert_array_equal(K, K.T)
    np.testing.assert_array_equal(np.diagonal(K), 1.0)


def test_the_vectorised_exponential_is_accurate_over_its_whole_range():
    t = np.concatenate([[0.0, 1e-300, 1e-17], np.logspace(-12, np.log10(700), 20_001)])
    values = KernelFunction("laplacian", gamma=1.0)(t[:, None], np.zeros((1, 1)))[:, 0]
    np.testing.assert_allclose(values, np.exp(-t), rtol=5e-16)
    far = KernelFunction("rbf", gamma=1.0)(np.array([[1e4], [1e200]]), np.zeros((1, 1)))
    assert np.all((far >= 0) & (far < 1e-300))


def test_numpy_serves_where_the_core_is_missing(monkeypatch):
    X = rows()
    expected = KernelMap(gamma=0.3).fit_transform(X)
    monkeypatch.setattr(functions, "COMPILED", False)
    np.testing.assert_allclose(KernelMap(gamma=0.3).fit_transform(X), expected, atol=1e-8)


@pytest.mark.parametrize("kernel", [*PARAMETERS, "sigmoid"])
def test_the_diagonal_is_that_of_the_matrix(kernel):
    X = rows(20)
    k = KernelFunction(kernel, **PARAMETERS.get(kernel, {"gamma": 0.1, "coef0": -0.2}))
    np.testing.assert_allclose(k.diagonal(X), np.diagonal(k(X)), atol=1e-12)


@pytest.mark.parametrize("kernel", [*PARAMETERS, "sigmoid"])
def test_sparse_rows_give_the_same_features(kernel):
    X = rows(40) * (rows(40, seed=3) > 0.5)
    model = KernelMap(kernel, gamma=0.05, coef0=0.5, n_components=3)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", UserWarning)  # sigmoid is indefinite
        dense, thin = model.fit_transform(X), model.fit_transform(sparse.csr_array(X))
    np.testing.assert_allclose(dense, thin, atol=1e-7)


def test_gamma_means_what_it_means_in_svc():
    X = rows()
    assert KernelMap(gamma="scale").fit(X).gamma_ == pytest.approx(1 / (X.shape[1] * X.var()))
    assert KernelMap(gamma="scale").fit(sparse.csr_array(X)).gamma_ == pytest.approx(1 / (X.shape[1] * X.var()))
    assert KernelMap(gamma="auto").fit(X).gamma_ == 1 / X.shape[1]
    assert KernelMap(gamma=2).fit(X).gamma_ == 2


# -- the features ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("engine", ENGINES)
@pytest.mark.parametrize("kernel", PARAMETERS)
def test_features_reproduce_the_centred_kernel(kernel, engine):
    """Identity K1: With every row a landmark, or a tight tolerance, nothing is lost: FF' = HKH and F'F = Lambda."""
    X = rows()
    model = KernelMap(kernel, engine=engine, n_landmarks=60 if engine == "landmarks" else None, **PARAMETERS[kernel])
    F = model.fit_transform(X)
    names = {"laplacian": "laplacian", "cosine": "cosine"}
    K = pairwise_kernels(X, metric=names.get(kernel, kernel), **PARAMETERS[kernel])
    scale = np.trace(centred(K))
    np.testing.assert_allclose(F @ F.T, centred(K), atol=1e-7 * scale)
    np.testing.assert_allclose(F.T @ F, np.diag(model.eigenvalues_), atol=1e-9 * scale)
    np.testing.assert_allclose(model.transform(X), F, atol=1e-7 * np.sqrt(scale))
    assert model.engine_ == engine
    assert np.all(np.diff(model.eigenvalues_) <= 0)
    assert model.explained_ == pytest.approx(1, abs=1e-8)


@pytest.mark.parametrize("engine", ENGINES)
def test_agrees_with_kernel_pca_up_to_sign(engine):
    X, new = rows(), rows(25, seed=5)
    theirs = KernelPCA(5, kernel="rbf", gamma=0.3, eigen_solver="dense").fit(X)
    ours = KernelMap(gamma=0.3, n_components=5, engine=engine, n_landmarks=60).fit(X)
    np.testing.assert_allclose(ours.eigenvalues_, theirs.eigenvalues_, rtol=1e-8)
    expected = theirs.transform(new)
    signs = np.sign(np.sum(expected * ours.transform(new), axis=0))
    np.testing.assert_allclose(ours.transform(new) * signs, expected, atol=1e-7)


@pytest.mark.parametrize("engine", ENGINES)
def test_landmark_features_are_exact_on_the_training_rows_and_between_landmarks(engine):
    X = rows(700, 5)
    model = KernelMap(gamma=0.3, n_components=40, n_landmarks=80, engine=engine)
    F = model.fit_transform(X)
    np.testing.assert_allclose(model.transform(X), F, atol=1e-8)
    np.testing.assert_allclose(model.fit(X).transform(X), F, atol=1e-8)
    np.testing.assert_allclose(F.mean(axis=0), 0, atol=1e-9)
    np.testing.assert_allclose(F.T @ F, np.diag(model.eigenvalues_), atol=1e-8 * model.eigenvalues_[0])


@pytest.mark.parametrize("engine", ["exact", "cholesky"])
def test_an_integer_weight_equals_copies_of_the_row(engine):
    X, new = rows(30), rows(10, seed=9)
    weight = np.random.default_rng(2).integers(0, 4, 30)
    weighted = KernelMap(engine=engine).fit(X, sample_weight=weight)
    repeated = KernelMap(engine=engine).fit(np.repeat(X, weight, axis=0))
    leading = slice(0, 15)  # beyond, the tolerance of the incomplete factor shows
    np.testing.assert_allclose(weighted.eigenvalues_[leading], repeated.eigenvalues_[leading], rtol=1e-7)
    np.testing.assert_allclose(weighted.transform(new)[:, leading], repeated.transform(new)[:, leading], atol=1e-6)
    F = weighted.transform(X)
    scatter = F.T @ (F * weight[:, None])
    np.testing.assert_allclose(scatter, np.diag(weighted.eigenvalues_), atol=1e-8 * scatter.max())


def test_fit_transform_maps_rows_of_weight_zero_too():
    X = rows(30)
    weight = np.r_[np.zeros(5), np.ones(25)]
    model = KernelMap(gamma=0.3)
    F = model.fit_transform(X, sample_weight=weight)
    np.testing.assert_allclose(F, KernelMap(gamma=0.3).fit(X[5:]).transform(X), atol=1e-10)
    assert model.landmarks_.min() == 5


@pytest.mark.parametrize("engine", [*ENGINES, "auto"])
def test_precomputed_and_callable_equal_computed(engine):
    X, new = rows(80), rows(11, seed=4)
    options = {"n_components": 6, "engine": engine, "n_landmarks": 40}
    direct = KernelMap("rbf", gamma=0.3, **options).fit(X)
    given = KernelMap("precomputed", **options).fit(rbf_kernel(X, gamma=0.3))
    called = KernelMap(rbf_kernel, kernel_params={"gamma": 0.3}, **options).fit(X)
    expected = direct.transform(new)
    np.testing.assert_allclose(given.transform(rbf_kernel(new, X, gamma=0.3)), expected, atol=1e-8)
    np.testing.assert_allclose(called.transform(new), expected, atol=1e-8)


def test_precomputed_leaves_out_rows_of_weight_zero():
    X = rows(40)
    weight = np.r_[0, np.ones(38), 0]
    given = KernelMap("precomputed").fit(rbf_kernel(X, gamma=0.3), sample_weight=weight)
    direct = KernelMap(gamma=0.3).fit(X, sample_weight=weight)
    np.testing.assert_allclose(given.transform(rbf_kernel(X, gamma=0.3)), direct.transform(X), atol=1e-8)


def test_signs_and_landmarks_are_reproducible():
    X = rows(900, 6)
    first, second = KernelMap(n_components=30).fit(X), KernelMap(n_components=30).fit(X)
    np.testing.assert_array_equal(first.landmarks_, second.landmarks_)
    np.testing.assert_array_equal(first.transform(X), second.transform(X))
    other = KernelMap(n_components=30, random_state=1).fit(X)
    assert not np.array_equal(first.landmarks_, other.landmarks_)
    F = first.transform(X)[first.landmarks_]
    assert np.all(F.max(axis=0) >= (1 - 1e-6) * -F.min(axis=0))


# -- how many components, and which engine --------------------------------------------------------------


def test_the_incomplete_cholesky_reports_its_error():
    """The remainder is positive semi-definite, so that its trace bounds its norm; more pivots leave less."""
    X, weight = rows(300, 3), np.ones(300)
    K = rbf_kernel(X, gamma=0.3)
    source = FunctionSource(KernelFunction("rbf", gamma=0.3), X)
    missing = np.inf
    for rank in (5, 30, 100):
        G, pivots, trace, _ = pivoted_cholesky(source, weight, 0.0, rank)
        remainder = K - G @ G.T
        values = np.linalg.eigvalsh(remainder)
        assert len(set(pivots.tolist())) == rank == G.shape[1]
        assert trace == pytest.approx(np.trace(remainder), rel=1e-6)
        assert values.min() > -1e-10
        assert values.max() <= trace
        assert np.sum(np.linalg.eigvalsh(K)[:-rank]) <= trace < missing  # no rank does better than the eigenvectors
        missing = trace
    model = KernelMap(gamma=0.3, engine="cholesky", n_components=50, n_landmarks=100).fit(X)
    assert model.residual_ == pytest.approx(missing / 300, rel=1e-6)


def test_the_cholesky_engine_stops_at_its_tolerance():
    X = rows(400, 2)
    K = centred(rbf_kernel(X, gamma=0.3))
    for fraction in (0.9, 0.999):
        model = KernelMap(gamma=0.3, engine="cholesky", n_components=fraction).fit(X)
        F = model.transform(X)
        assert np.trace(K - F @ F.T) <= (1 - fraction) * np.trace(K) * (1 + 1e-9)
        assert fraction <= model.explained_ <= np.sum(F**2) / np.trace(K) + 1e-12
        assert len(model.landmarks_) < 100


def test_a_fraction_keeps_the_fewest_components_that_reach_it():
    X = rows(100)
    values = KernelMap(gamma=0.3, engine="exact").fit(X).eigenvalues_
    for fraction in (0.5, 0.9, 0.99):
        m = KernelMap(gamma=0.3, n_components=fraction).fit(X).n_components_
        assert values[: m - 1].sum() < fraction * values.sum() <= values[:m].sum()


def test_the_default_depends_on_whitening():
    X = rows(100)
    share = KernelMap(gamma=0.3, engine="exact").fit(X).eigenvalues_
    dropped = []
    for whitening in (0.0, 0.5, 1.0):
        model = KernelMap(gamma=0.3, whitening=whitening).fit(X)
        dropped.append(1 - share[: model.n_components_].sum() / share.sum())
    assert dropped[0] <= 1e-9 < dropped[2]
    assert dropped[1] <= 1e-6
    assert 0.005 < dropped[2] <= 0.01


def test_auto_takes_the_engine_that_suits():
    X = rows(1200, 20)
    assert KernelMap().fit(X[:300]).engine_ == "exact"
    default = KernelMap().fit(X)
    assert default.engine_ == "landmarks"
    assert (default.n_components_, len(default.landmarks_)) == (120, 240)
    assert 0 < default.explained_ < 1
    assert 0 < default.residual_ < 1 - default.explained_ + 0.2
    linear = KernelMap("linear").fit(X)
    assert (linear.engine_, linear.n_components_) == ("cholesky", 20)
    assert linear.explained_ == pytest.approx(1)
    smooth = KernelMap().fit(X[:, :2])
    assert smooth.engine_ == "cholesky"
    assert smooth.explained_ > 1 - 1e-6
    assert KernelMap(n_components=600).fit(X).engine_ == "exact"


def test_equal_rows_are_no_sign_of_a_short_spectrum():
    X = rows(600, 20)
    assert KernelMap().fit(np.concatenate([X, X])).engine_ == "landmarks"


@pytest.mark.parametrize("options", [{"engine": "cholesky"}, {"engine": "landmarks", "n_components": 9}])
def test_scores_need_no_features(options):
    X, new, V = rows(), rows(20, seed=1), np.random.default_rng(2).normal(size=(60, 2))
    model = KernelMap(gamma=0.3, **options).fit(X)
    V = V[: model.n_components_]
    np.testing.assert_allclose(model.transform_times(new, V), model.transform(new) @ V, atol=1e-8)


def test_a_fraction_that_landmarks_do_not_reach_is_reported():
    with pytest.warns(UserWarning, match=r"n_components=0\.99 of the spectrum was not reached"):
        KernelMap(n_components=0.99, engine="landmarks", n_landmarks=20).fit(rows(600, 20))


# -- bad input ------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"kernel": "rfb"}, "kernel must be one of 'linear'.*got 'rfb'"),
        ({"engine": "nystrom"}, "engine must be one of"),
        ({"gamma": -1.0}, "gamma must be 'scale', 'auto' or a positive number, got -1"),
        ({"gamma": "large"}, "gamma must be"),
        ({"n_components": 0}, "n_components must be a positive integer"),
        ({"n_components": 1.5}, r"fraction in \(0, 1\]"),
        ({"n_components": True}, "n_components must be a positive integer"),
        ({"n_components": 60}, "n_components must be at most n_samples - 1 = 59"),
        ({"n_landmarks": 0}, "n_landmarks must be a positive integer"),
        ({"tol": 0.0}, "tol must be"),
        ({"whitening": 2}, "whitening must be"),
        ({"coef0": np.nan}, "coef0 must be"),
        ({"kernel": "poly", "degree": 1.5}, "degree must be a positive integer"),
        ({"kernel": "precomputed"}, r"in fit must be a square matrix, got shape \(60, 4\)"),
        ({"kernel": lambda X, Y: X}, "callable kernel must return an array of shape"),
        ({"kernel": lambda X, Y: np.full((len(X), len(Y)), np.inf)}, "not finite"),
    ],
)
def test_bad_parameters_are_named(parameters, message):
    with pytest.raises(ValueError, match=message):
        KernelMap(**parameters).fit(rows())


def test_bad_data_are_refused():
    X = rows()
    with pytest.raises(ValueError, match="symmetric"):
        KernelMap("precomputed").fit(np.triu(rbf_kernel(X)))
    with pytest.raises(ValueError, match="does not vary"):
        KernelMap().fit(np.ones((5, 2)))
    with pytest.raises(ValueError, match="sample_weight must have shape"):
        KernelMap().fit(X, sample_weight=np.ones(3))
    with pytest.raises(ValueError, match="sample_weight must be above zero for at least 2 of the rows, got 1"):
        KernelMap().fit(X, sample_weight=np.eye(60)[0])


@pytest.mark.parametrize("engine", ENGINES)
def test_an_indefinite_kernel_loses_its_negative_part_and_says_so(engine):
    rng = np.random.default_rng(0)
    Q = np.linalg.qr(rng.normal(size=(40, 40)))[0]
    K = (Q * np.r_[np.linspace(5, 1, 30), -np.linspace(0.2, 1, 10)]) @ Q.T
    with pytest.warns(UserWarning, match="not positive semi-definite"):
        model = KernelMap("precomputed", engine=engine, n_landmarks=40).fit((K + K.T) / 2)
    assert np.all(model.eigenvalues_ > 0)
    if engine == "exact":
        values = np.linalg.eigvalsh(centred(K))[::-1]
        np.testing.assert_allclose(model.eigenvalues_, values[: model.n_components_], rtol=1e-10)
