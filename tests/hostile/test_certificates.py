"""What a model says of its solution is true of the problem in its docstring, whatever the data look like.

`objective_` is held against the definition at the returned `coef_` and `intercept_`, `dual_objective_` against the optimum
that Clarabel finds for the same problem.
"""

import warnings

import numpy as np
import pytest
from definitions import objective, tempered
from scipy import sparse
from sklearn.base import clone
from sklearn.datasets import load_breast_cancer
from sklearn.exceptions import ConvergenceWarning

from radiusmargin import FSVM, MRSVM, MSVM, RMM, SVM, RSVMMuPlus, RSVMPlus, SigmaSVM

MODELS = [
    FSVM(), FSVM(whitening=0.5), FSVM(whitening=0.0), SVM(), SigmaSVM(), SigmaSVM(D=1.0), RMM(), MRSVM(), RSVMPlus(),
    RSVMMuPlus(), MSVM(),
]  # fmt: skip
N = 40


def blobs(n=N, d=3, classes=2):
    rng = np.random.default_rng(0)
    y = np.arange(n) % classes
    return rng.normal(size=(n, d)) + 1.2 * rng.normal(size=(classes, d))[y], y


def case(name):
    """(X, y, weight) of a data set that is hard for a reason."""
    rng, (X, y), weight = np.random.default_rng(1), blobs(), np.ones(N)
    if name.startswith("scale"):
        X = X * float(name.split()[1])
    elif name == "mixed scales":
        X = X * [1e-8, 1.0, 1e8]
    elif name.startswith("offset"):
        X = X + np.array([1.0, 0.0, -1.0]) * float(name.split()[1])
    elif name == "separable at 1e8":
        X[:, 0] += 8 * (y - 0.5)
        X[:, 1] += 1e8
    elif name == "thin":
        X = np.column_stack([X, X[:, 0] + X[:, 1] + 1e-5 * rng.normal(size=N)])
    elif name == "collinear":
        X = np.column_stack([X, X[:, 0] + X[:, 1]])
    elif name == "constant":
        X = np.column_stack([X, np.full(N, 7.0)])
    elif name == "wide":
        X = np.column_stack([X, rng.normal(size=(N, 60))])
    elif name == "duplicates":
        X, y, weight = np.repeat(X, 2, axis=0), np.repeat(y, 2), np.ones(2 * N)
    elif name == "zero weights":
        weight[::5] = 0.0
    elif name == "wild weights":
        weight = 10.0 ** rng.uniform(-6, 6, N)
    elif name == "1 to 10,000":
        y = (np.arange(N) < 2).astype(int)
        weight = np.where(y == 1, 1.0, 1e4 / 19)
    elif name == "three classes":
        (X, y), weight = blobs(45, 3, 3), np.ones(45)
    return X, y, weight


CASES = [
    "plain", "scale 1e-8", "scale 1e8", "mixed scales", "offset 1e3", "offset 1e6", "offset 1e9", "separable at 1e8", "thin",
    "collinear", "constant", "wide", "duplicates", "zero weights", "wild weights", "1 to 10,000", "three classes",
]  # fmt: skip


@pytest.mark.parametrize("name", CASES)
@pytest.mark.parametrize("model", MODELS, ids=str)
def test_the_objective_is_that_of_what_is_returned(name, model):
    X, y, weight = case(name)
    for C in (1e-6, 1.0, 1e6):
        with warnings.catch_warnings(record=True) as caught:
            warnings.simplefilter("always")
            fitted = model.set_params(C=C).fit(X, y, sample_weight=weight)
        value = objective(fitted, X, y, weight)
        assert fitted.objective_ == pytest.approx(value, rel=1e-8, abs=rounding(fitted, X, weight))
        warned = any(issubclass(w.category, ConvergenceWarning) for w in caught)
        assert warned == (fitted.dual_gap_ > fitted.tol)


def rounding(model, X, weight):
    """How much the order of summation alone may change the objective: far from the origin scores are rounded."""
    scores = (np.abs(X) @ np.abs(model.coef_).T).max()
    return 8 * np.finfo(float).eps * scores * (model.C * weight.sum() + scores)


def optimum(X, y, weight, C, whitening, rank_tol):
    """Clarabel's optimum of F-SVM, in coordinates in which nothing is thin."""
    cp = pytest.importorskip("cvxpy")
    keep = weight > 0
    X, signs, weight = X[keep], np.where(y[keep] == y.max(), 1.0, -1.0), weight[keep]
    values, axes, scale = tempered(X, weight, rank_tol)
    Z = (X - weight @ X / weight.sum()) / np.where(scale > 0, scale, 1.0)
    Z = Z @ axes / values ** (whitening / 2)
    v, b = cp.Variable(Z.shape[1]), cp.Variable()
    loss = (C * weight) @ cp.pos(1 - cp.multiply(signs, Z @ v + b))
    return cp.Problem(cp.Minimize(cp.sum_squares(v) / 2 + loss)).solve(solver="CLARABEL")


@pytest.mark.parametrize("name", ["mixed scales", "offset 1e6", "thin", "collinear", "wide", "zero weights"])
@pytest.mark.parametrize(("whitening", "rank_tol"), [(0.0, 0.0), (0.5, 0.0), (1.0, 0.0), (0.5, 1e-4), (1.0, 1e-4)])
def test_the_bound_is_below_the_optimum(name, whitening, rank_tol):
    X, y, weight = case(name)
    for C in (1e-2, 1.0):
        model = FSVM(C, whitening=whitening, rank_tol=rank_tol).fit(X, y, sample_weight=weight)
        best = optimum(X, y, weight, C, whitening, rank_tol)
        assert model.dual_objective_ <= best * (1 + 1e-6)
        assert model.objective_ >= best * (1 - 1e-6)


@pytest.mark.parametrize("C", [0.01, 100.0])
def test_a_linear_map_changes_no_decision(C):
    """Condition 137 on top of thirty features of very different units: no direction may be lost."""
    X, y = load_breast_cancer(return_X_y=True)
    rng = np.random.default_rng(0)
    left, _, right = np.linalg.svd(rng.normal(size=(30, 30)))
    mixed = X @ (left * np.geomspace(137, 1, 30) @ right)
    model = FSVM(C, rank_tol=0)
    ours, theirs = clone(model).fit(X, y), clone(model).fit(mixed, y)
    assert ours.objective_ == pytest.approx(theirs.objective_, rel=2e-6)
    np.testing.assert_array_equal(ours.predict(X), theirs.predict(mixed))


@pytest.mark.parametrize("thin", [1e-3, 1e-5, 1e-9])
@pytest.mark.parametrize(
    "params", [{}, {"eta": 0.1}, {"coupling": "shared"}, {"coupling": "shared", "eta": 0.1}], ids=str
)
def test_a_thin_direction_takes_nothing_from_the_metric(thin, params):
    """tr(MS) = n, M has the rank of the separators, and full rank with smoothing."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(200, 4))
    y = (X[:, 0] + 0.5 * X[:, 1] + 0.3 * rng.normal(size=200) > 0).astype(int) + (X[:, 2] > 1)
    X = np.column_stack([X, X[:, 0] + X[:, 1] + thin * rng.normal(size=200)])
    model = FSVM(C=0.3, rank_tol=0, **params).fit(X, y)
    Z = model.transform(X)
    assert np.sum((Z - Z.mean(axis=0)) ** 2) == pytest.approx(len(X), rel=1e-5)
    values, axes, scale = tempered(X, np.ones(200), rank_tol=0)
    s = np.linalg.svd((model.coef_ * scale) @ axes * np.sqrt(values), compute_uv=False)
    separators = np.sum(s > 1e-4 * s[0])
    assert len(model.components_) == (5 if "eta" in params else separators)


@pytest.mark.parametrize("kind", ["total", "within"])
def test_sparse_columns_far_from_zero(kind):
    rng = np.random.default_rng(0)
    X = np.column_stack(
        [rng.normal(size=(200, 3)), 1.7e9 + rng.integers(0, 2, 200), np.where(np.arange(200) < 3, 1, 0)]
    )
    y = (X[:, 0] + 0.5 * (X[:, 3] > 1.7e9) + rng.normal(size=200) > 0).astype(int)
    dense, thin = (FSVM(scatter=kind).fit(Z, y) for Z in (X, sparse.csr_array(X)))
    assert thin.objective_ == pytest.approx(dense.objective_, rel=1e-5)


def test_without_an_intercept_and_with_few_rows_it_is_the_svm():
    """Not confined to differences of rows: the mean of the rows is a direction too."""
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(12, 40)) + 0.5, np.arange(12) % 2
    model = FSVM(whitening=0.0, fit_intercept=False, tol=1e-9).fit(X, y)
    reference = SVM(fit_intercept=False, tol=1e-9).fit(X / X.std(axis=0), y)
    assert model.objective_ == pytest.approx(reference.objective_, rel=1e-7)
    smoothed = FSVM(whitening=0.0, fit_intercept=False, rho=0.5, tol=1e-8).fit(X, y)
    np.testing.assert_allclose(smoothed.coef_ @ X.T, smoothed.decision_function(X)[None], atol=1e-10)


def test_parameters_of_a_fitted_model_do_not_change_its_predictions():
    X, y = blobs(60, 3, 3)
    model = FSVM().fit(X, y)
    before = model.predict(X)
    model.set_params(multi_class="ovr", coupling="shared", kernel="rbf", whitening=0.0, fit_intercept=False)
    np.testing.assert_array_equal(model.predict(X), before)


@pytest.mark.parametrize("model", MODELS, ids=str)
@pytest.mark.parametrize("size", [1e200, 1e-200])
def test_squares_that_cannot_be_had_are_refused(model, size):
    X, y = blobs()
    if isinstance(model, SVM) and not isinstance(
        model, SigmaSVM
    ):  # its separators are the inverse of X, which can be had
        return
    with pytest.raises(ValueError, match=r"rescale"):
        model.set_params(C=1.0).fit(X * size, y)


def test_different_models_may_be_fitted_in_threads():
    from concurrent.futures import ThreadPoolExecutor

    X, y = blobs(60, 3, 3)
    with ThreadPoolExecutor(4) as pool:
        models = [FSVM(), FSVM(eta=0.1), RMM(), FSVM(kernel="rbf", whitening=0.0)] * 3
        found = list(pool.map(lambda model: clone(model).fit(X, y), models))
    assert len({round(model.objective_, 6) for model in found}) == 4


@pytest.mark.parametrize("layout", ["float32", "fortran", "strided", "reversed", "csr", "csr with zeros", "csc", "coo"])
def test_layouts(layout):
    X, y = blobs()
    X = X.astype(np.float32).astype(float)
    strided = np.zeros((2 * N, 6))
    strided[::2, ::2] = X
    forms = {
        "float32": lambda: X.astype(np.float32),
        "fortran": lambda: np.asfortranarray(X),
        "strided": lambda: strided[::2, ::2],
        "reversed": lambda: np.ascontiguousarray(X[::-1])[::-1],
        "csr": lambda: sparse.csr_array(X),
        "csr with zeros": lambda: sparse.csr_array(
            (np.r_[X.ravel(), 0.0], np.r_[np.tile([0, 1, 2], N), 0], _pointers())
        ),
        "csc": lambda: sparse.csc_array(X),
        "coo": lambda: sparse.coo_array(X),
    }
    for whitening in (0.0, 1.0):
        model = FSVM(whitening=whitening).fit(forms[layout](), y)
        assert model.objective_ == pytest.approx(FSVM(whitening=whitening).fit(X, y).objective_, rel=2e-6)


def _pointers():
    """Row pointers with one duplicate, an explicit zero, at the end of the last row."""
    return np.r_[np.arange(0, 3 * N, 3), 3 * N + 1]


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
@pytest.mark.parametrize("unit", [1e-150, 1e-20, 1e19, 2e19, 1e150])
def test_kernels_in_units_beyond_single_precision(kernel, unit):
    """With ``gamma="scale"`` the model does not depend on the unit, and neither do what is certified and what is predicted."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(80, 3))
    y = (X[:, 0] * X[:, 1] + 0.3 * rng.normal(size=80) > 0).astype(int)
    model, there = (SVM(C=2.0, kernel=kernel, coef0=1.0).fit(data, y) for data in (X, X * unit))
    assert there.objective_ == pytest.approx(model.objective_, rel=2e-6)
    assert there.dual_objective_ == pytest.approx(model.dual_objective_, rel=2e-6)
    np.testing.assert_allclose(there.decision_function(X * unit), model.decision_function(X), atol=1e-3)
