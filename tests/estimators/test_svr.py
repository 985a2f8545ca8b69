"""SVR and QuantileSVR: scikit-learn's models, certified in the units of the target."""

import pickle
import warnings

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_diabetes
from sklearn.exceptions import ConvergenceWarning, NotFittedError
from sklearn.linear_model import QuantileRegressor
from sklearn.metrics.pairwise import rbf_kernel
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR as LIBSVM
from sklearn.svm import LinearSVR
from sklearn.utils.estimator_checks import parametrize_with_checks

from radiusmargin import SVR, QuantileSVR


@pytest.fixture(scope="module")
def diabetes():
    X, y = load_diabetes(return_X_y=True)
    return StandardScaler().fit_transform(X)[:200], y[:200]


@parametrize_with_checks([SVR(), SVR(kernel="linear"), QuantileSVR(), QuantileSVR(kernel="linear")])
def test_estimator_checks(estimator, check):
    if "sample_weight_equivalence" in check.func.__name__:  # which compares seven digits
        estimator.set_params(tol=1e-10)
    check(estimator)


@pytest.mark.parametrize(
    "parameters",
    [
        {},
        {"C": 100.0, "epsilon": 5.0},
        {"kernel": "linear", "C": 0.1},
        {"kernel": "poly", "degree": 2, "coef0": 1.0, "epsilon": 0.0},
        {"gamma": 0.01, "C": 1000.0},
        {"epsilon": 1000.0},
    ],
)
def test_predictions_are_those_of_libsvm(diabetes, parameters):
    X, y = diabetes
    spread = y.std()
    model, other = SVR(tol=1e-9, **parameters).fit(X, y), LIBSVM(tol=1e-7, **parameters).fit(X, y)
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-4 * spread)
    weight = np.random.default_rng(0).integers(0, 4, len(y)).astype(float)
    gamma = parameters.get("gamma", 0.1)  # "scale" is ours of the weighted rows, so that a weight equals copies
    model, other = (each.set_params(gamma=gamma).fit(X, y, weight) for each in (model, other))
    np.testing.assert_allclose(model.predict(X), other.predict(X), atol=1e-4 * spread)
    assert set(model.support_) <= set(np.flatnonzero(weight))


def test_without_intercept_it_is_linear_svr(diabetes):
    X, y = diabetes
    model = SVR(kernel="linear", fit_intercept=False, epsilon=10.0, C=0.01, tol=1e-9).fit(X, y)
    other = LinearSVR(fit_intercept=False, epsilon=10.0, C=0.01, tol=1e-10, max_iter=100_000).fit(X, y)
    np.testing.assert_allclose(model.coef_[0], other.coef_, atol=1e-4)


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_certificate_in_the_units_of_the_target(diabetes, kernel):
    X, y = diabetes
    for shift, unit in [(0.0, 1.0), (1e9, 1.0), (0.0, 1e-9), (-1e6, 1e7)]:
        t = shift + unit * y
        model = SVR(kernel=kernel, C=2.0 * unit, epsilon=unit, gamma=0.05).fit(X, t)
        K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.05)
        v = np.zeros(len(y))
        v[model.support_] = model.dual_coef_[0]
        bound = v @ (t - t.mean()) - unit * abs(v).sum() - 0.5 * v @ K @ v
        w2 = model.coef_[0] @ model.coef_[0] if kernel == "linear" else v @ K @ v
        loss = np.maximum(abs(t - model.predict(X)) - unit, 0).sum()
        assert 0.5 * w2 + 2.0 * unit * loss == pytest.approx(model.objective_, rel=1e-6)
        assert bound >= model.dual_objective_ - 1e-6 * model.objective_
        assert abs(v).max() <= 2.0 * unit * (1 + 1e-12)
        assert model.dual_gap_ <= 1e-6


@pytest.mark.parametrize("kernel", ["linear", "rbf"])
def test_forms_of_the_same_rows(diabetes, kernel):
    X, y = diabetes
    X = np.where(X > 0.5, X, 0.0)
    dense = SVR(kernel=kernel, gamma=0.1, C=10.0, tol=1e-8).fit(X, y)
    thin = SVR(kernel=kernel, gamma=0.1, C=10.0, tol=1e-8).fit(sparse.csr_array(X), y)
    np.testing.assert_allclose(thin.predict(sparse.csr_array(X)), dense.predict(X), atol=1e-2)
    given = SVR(kernel="precomputed", C=10.0, tol=1e-8)
    K = X @ X.T if kernel == "linear" else rbf_kernel(X, gamma=0.1)
    np.testing.assert_allclose(given.fit(K, y).predict(K), dense.predict(X), atol=1e-2)


def test_explicit_features_come_near_the_kernel(diabetes):
    X, y = diabetes
    whole, part = (SVR(C=10.0, gamma=0.02, n_components=m, random_state=0).fit(X, y) for m in (None, 100))
    assert np.corrcoef(whole.predict(X), part.predict(X))[0, 1] > 0.99
    assert part.coef_.shape == (1, 100)


def test_quantiles_against_a_linear_program(diabetes):
    X, y = diabetes
    model = QuantileSVR(kernel="linear", quantile=[0.2, 0.8], C=1e4).fit(X, y)
    for q, found in zip([0.2, 0.8], model.predict(X).T, strict=True):
        exact = QuantileRegressor(quantile=q, alpha=0.0, solver="highs").fit(X, y).predict(X)
        pinball = [np.mean(np.maximum(q * r, (q - 1) * r)) for r in (y - found, y - exact)]
        assert pinball[0] == pytest.approx(pinball[1], rel=1e-4)


def test_quantiles_hold_their_share_and_do_not_cross(diabetes):
    X, y = diabetes
    quantiles = [0.05, 0.1, 0.5, 0.52, 0.9]
    model = QuantileSVR(quantile=quantiles, C=1000.0, gamma=0.5).fit(X, y)
    found = model.predict(X)
    assert model.crossing_ > 0  # they do before they are sorted
    assert (np.diff(found, axis=1) >= 0).all()
    raw = model._scores(X)
    for k, q in enumerate(quantiles):  # by the optimality of the intercept: identity V5
        assert np.mean(y < raw[:, k] - 0.5) <= q + 1e-9 <= np.mean(y <= raw[:, k] + 0.5) + 2e-9
    one = QuantileSVR(quantile=0.5, C=1000.0, gamma=0.5).fit(X, y)
    np.testing.assert_allclose(one.predict(X), raw[:, 2], atol=0.5)
    assert one.predict(X).shape == (len(X),)


def test_the_median_is_the_absolute_loss(diabetes):
    X, y = diabetes
    median, absolute = QuantileSVR(C=2.0, tol=1e-9).fit(X, y), SVR(C=1.0, epsilon=0.0, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(median.predict(X), absolute.predict(X), atol=1e-3)
    assert median.objective_ == pytest.approx(absolute.objective_, rel=1e-8)


def test_a_constant_target(diabetes):
    X, _ = diabetes
    for model in (SVR(), SVR(kernel="linear", epsilon=0.0), QuantileSVR(quantile=[0.1, 0.9])):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            model.fit(X, np.full(len(X), 7.5))
        np.testing.assert_allclose(model.predict(X), 7.5)
        assert model.objective_ == model.dual_gap_ == 0.0
        assert len(model.support_) == 0


def test_in_a_pipeline_and_a_pickle(diabetes):
    X, y = diabetes
    model = make_pipeline(StandardScaler(), SVR(C=10.0)).fit(X, y)
    assert 0.3 < model.score(X, y) < 1.0
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).predict(X), model.predict(X))


def test_a_stop_that_is_too_early_is_said(diabetes):
    X, y = diabetes
    with pytest.warns(ConvergenceWarning, match="SVR stopped at a relative gap"):
        SVR(kernel="linear", max_iter=1, C=100.0).fit(1e3 * X, y)


@pytest.mark.parametrize(
    ("model", "message"),
    [
        (SVR(C=-1), "C must be"),
        (SVR(epsilon=-0.1), "epsilon"),
        (SVR(epsilon="a"), "epsilon"),
        (SVR(kernel="rbg"), "kernel"),
        (SVR(kernel="precomputed"), "square"),
        (QuantileSVR(quantile=0.0), "quantile"),
        (QuantileSVR(quantile=1.0), "quantile"),
        (QuantileSVR(quantile=[0.9, 0.1]), "increasing"),
        (QuantileSVR(quantile=[]), "quantile"),
        (QuantileSVR(quantile="median"), "quantile"),
    ],
)
def test_parameters_out_of_range(diabetes, model, message):
    with pytest.raises(ValueError, match=message):
        model.fit(*diabetes)


def test_calls_in_the_wrong_order_and_with_the_wrong_rows(diabetes):
    X, y = diabetes
    with pytest.raises(NotFittedError):
        SVR().predict(X)
    with pytest.raises(ValueError, match="sample_weight"):
        SVR().fit(X, y, np.zeros(len(y)))
    model = SVR().fit(X, y)
    with pytest.raises(ValueError, match="features"):
        model.predict(X[:, :3])
    with pytest.raises(ValueError, match="y holds texts"):
        model.fit(X, np.array(["a"] * len(y)))
    assert not hasattr(model, "support_")


@pytest.mark.parametrize("model", [SVR(kernel="linear"), QuantileSVR(kernel="linear", quantile=[0.1, 0.11, 0.9])])
def test_onnx(diabetes, model):
    to_onnx = pytest.importorskip("skl2onnx").to_onnx
    runtime = pytest.importorskip("onnxruntime")
    X, y = diabetes
    pipeline = make_pipeline(StandardScaler(), model).fit(X, y)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")  # of skl2onnx's own
        graph = to_onnx(pipeline, X[:1]).SerializeToString()
        with pytest.raises(ValueError, match="not linear"):
            to_onnx(SVR().fit(X, y), X[:1])
    (found,) = runtime.InferenceSession(graph, providers=["CPUExecutionProvider"]).run(None, {"X": X})
    np.testing.assert_allclose(found.reshape(pipeline.predict(X).shape), pipeline.predict(X), rtol=1e-9)


@pytest.mark.parametrize(
    "model",
    [SVR(), SVR(kernel="linear"), SVR(n_components=5), QuantileSVR(quantile=[0.1, 0.9]), SVR(epsilon=1000.0)],
    ids=["kernel", "linear", "features", "quantiles", "constant"],
)
def test_a_model_file(diabetes, model, tmp_path):
    skops = pytest.importorskip("skops.io")
    from sklearn.pipeline import Pipeline

    from radiusmargin.app.container import read_container
    from radiusmargin.app.rebuild import rebuild_pipeline, require_known

    X, y = diabetes
    pipeline = Pipeline([("model", model.fit(X, y))])
    path = tmp_path / "model.skops"
    path.write_bytes(skops.dumps({"pipeline": pipeline}))
    with open(path, "rb") as stream:
        document = read_container(stream)
    require_known(document)
    back = rebuild_pipeline(document["pipeline"], X.shape[1])
    np.testing.assert_array_equal(back.predict(X), pipeline.predict(X))
