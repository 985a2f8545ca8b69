"""Regression problems: every loss of a target is two sides of a hinge, certified by the definition, against oracles."""

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from radiusmargin.kernels import KernelFunction
from radiusmargin.solvers import Batch, Kernel, Options, Start, Targets, rows_of, solve, solve_kernel
from radiusmargin.solvers import reference as numpy_twin

INSENSITIVE, ABSOLUTE, PINBALL = (0.2, 1.0, 1.0), (0.0, 1.0, 1.0), (0.0, 0.8, 0.2)
TUBES = [INSENSITIVE, ABSOLUTE, PINBALL, (0.1, 0.3, 2.0)]


def noisy(n=60, d=4, seed=0):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    return X, np.sin(X[:, 0]) + X[:, -1] + 0.3 * rng.standard_t(3, size=n)


def loss(residual, tube):
    epsilon, above, below = tube
    return above * np.maximum(0.0, residual - epsilon) + below * np.maximum(0.0, -residual - epsilon)


def batch_of(rows, y, tube, C=1.0, weight=None, intercept=True):
    weight = np.ones(len(y)) if weight is None else weight
    return Batch(rows, Targets(y[None], np.array([tube])), weight, np.atleast_1d(C).astype(float), intercept=intercept)


def fit(X, y, tube, C=1.0, weight=None, intercept=True, tol=1e-8, **options):
    return solve(batch_of(rows_of(X), y, tube, C, weight, intercept), Options(tol, keep_alpha=True, **options))[0, 0]


def fit_kernel(X, y, tube, C=1.0, weight=None, intercept=True, tol=1e-7, kernel=None):
    kernel = kernel or KernelFunction("rbf", gamma=0.3)
    return solve_kernel(batch_of(Kernel(X, kernel), y, tube, C, weight, intercept), Options(tol))[0, 0]


def assert_certified(K, y, v, b, tube, C, found, tol, weight=None, intercept=True):
    """Both objectives anew from the coefficients of the rows (identity V2): K is their matrix of inner products."""
    weight = np.ones(len(y)) if weight is None else weight
    objective = 0.5 * v @ K @ v + C * weight @ loss(y - K @ v - b, tube)
    bound = v @ y - tube[0] * abs(v).sum() - 0.5 * v @ K @ v
    assert np.all(v <= C * weight * tube[1] * (1 + 1e-12))
    assert np.all(-v <= C * weight * tube[2] * (1 + 1e-12))
    if intercept:
        assert abs(v.sum()) <= 1e-10 * C * weight.sum()
    assert bound >= found.dual_objective - 1e-9 * abs(objective)
    assert found.dual_objective <= found.objective
    assert found.gap <= tol
    return objective


@pytest.mark.parametrize("tube", TUBES)
@pytest.mark.parametrize("intercept", [True, False])
def test_against_clarabel(tube, intercept):
    """The loss as it is usually written (identity V1)."""
    X, y = noisy()
    weight = np.random.default_rng(1).integers(0, 3, len(y)).astype(float)
    w, b = cp.Variable(X.shape[1]), cp.Variable()
    r = y - X @ w - (b if intercept else 0.0)
    losses = tube[1] * cp.pos(r - tube[0]) + tube[2] * cp.pos(-r - tube[0])
    oracle = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(w) + 3.0 * weight @ losses))
    oracle.solve(solver=cp.CLARABEL)
    found = fit(X, y, tube, 3.0, weight, intercept)
    assert found.objective == pytest.approx(oracle.value, rel=1e-6)
    kernel = fit_kernel(X, y, tube, 3.0, weight, intercept, kernel=KernelFunction("linear"))
    assert kernel.objective == pytest.approx(oracle.value, rel=1e-6)
    np.testing.assert_allclose(X.T @ kernel.coef, found.coef, atol=1e-4)


def words(n=400, d=900):
    rng = np.random.default_rng(5)
    X = sparse.random_array((n, d), density=0.02, rng=rng, format="csr")
    return X, X @ rng.normal(size=d) + 0.1 * rng.standard_t(3, size=n)


METHODS = {  # data, tolerance and options of problems that each method solves
    "newton": (noisy(200, 3), 1e-8, {}),
    "newton, factored by BLAS": (noisy(200, 60), 1e-8, {}),
    "row-newton": (noisy(40, 90), 1e-8, {}),
    "coordinate-descent": (words(), 1e-6, {}),
    "interior-point": (noisy(100, 5), 1e-7, {"method": "interior-point"}),
    "sifting+newton, from a sample": (noisy(4000, 3), 1e-7, {}),
    "sifting+newton": (noisy(3000, 21), 1e-7, {}),
}


@pytest.mark.parametrize("tube", [INSENSITIVE, ABSOLUTE, PINBALL])
@pytest.mark.parametrize("name", METHODS)
def test_every_method_certifies(name, tube):
    (X, y), tol, options = METHODS[name]
    found = fit(X, y, tube, 0.1, tol=tol, **options)
    assert found.method == name.split(",")[0]
    objective = 0.5 * found.coef @ found.coef + 0.1 * loss(y - X @ found.coef - found.intercept, tube).sum()
    assert objective == pytest.approx(found.objective, rel=1e-9)
    w = X.T @ found.alpha
    bound = found.alpha @ y - tube[0] * abs(found.alpha).sum() - 0.5 * w @ w
    assert bound >= found.dual_objective - 1e-9 * objective
    assert found.gap <= tol
    assert abs(found.alpha.sum()) < 1e-9 * len(y)
    assert np.all((found.alpha <= 0.1 * tube[1] * (1 + 1e-12)) & (found.alpha >= -0.1 * tube[2] * (1 + 1e-12)))


@pytest.mark.parametrize("tube", TUBES)
@pytest.mark.parametrize("intercept", [True, False])
def test_sparse_rows(tube, intercept):
    X, y = noisy(150, 500)
    X *= np.random.default_rng(2).random(X.shape) < 0.1
    dense, found = (fit(rows, y, tube, intercept=intercept) for rows in (X, sparse.csr_array(X)))
    np.testing.assert_allclose(found.coef, dense.coef, atol=1e-5)
    assert found.objective == pytest.approx(dense.objective, rel=2e-8)


@pytest.mark.parametrize("tube", TUBES)
@pytest.mark.parametrize("intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 1000.0])
def test_kernel_certificates(tube, intercept, C):
    X, y = noisy(150)
    weight = np.random.default_rng(3).integers(0, 3, len(y)).astype(float)
    found = fit_kernel(X, y, tube, C, weight, intercept)
    K = KernelFunction("rbf", gamma=0.3)(X, X)
    objective = assert_certified(K, y, found.coef, found.intercept, tube, C, found, 1e-7, weight, intercept)
    assert objective <= found.objective * (1 + 1e-9)
    assert objective == pytest.approx(found.objective, rel=1e-7)


@pytest.mark.parametrize("tube", [INSENSITIVE, ABSOLUTE])
def test_kernel_of_many_rows_and_features(tube):
    """With shrinking, rows that are dear, and a sample."""
    X, y = noisy(2500, 70)
    kernel = KernelFunction("rbf", gamma=0.01)
    found = fit_kernel(X, y, tube, 1.0, tol=1e-4, kernel=kernel)
    assert_certified(kernel(X, X), y, found.coef, found.intercept, tube, 1.0, found, 1e-4)


def test_held_out_scores_and_subsets():
    X, y = noisy(90)
    K, part = KernelFunction("rbf", gamma=0.3)(X, X), np.arange(0, 90, 2)
    batch = batch_of(Kernel(X, KernelFunction("rbf", gamma=0.3)), y, INSENSITIVE, [1.0, 0.1])
    batch = Batch(batch.rows, batch.labels, batch.weights, batch.Cs, subsets=(part,))
    found = solve_kernel(batch, Options(1e-7), keep_scores=True)
    alone = fit_kernel(X[part], y[part], INSENSITIVE)
    np.testing.assert_allclose(found[0, 0].coef[part], alone.coef, atol=1e-4)
    assert not found[0, 0].coef[1::2].any()
    np.testing.assert_allclose(found.scores[0, 0], K @ found[0, 0].coef + found[0, 0].intercept, atol=1e-5)


@pytest.mark.parametrize("tube", TUBES)
def test_the_numpy_twin_agrees(tube):
    X, y = noisy(50)
    batch = batch_of(rows_of(X), y, tube, [0.1, 10.0])
    core, twin = solve(batch, Options(1e-9, keep_alpha=True)), numpy_twin.solve_batch(batch, Options(1e-9), Start())
    np.testing.assert_allclose(twin.coef, core.coef, atol=1e-6)
    np.testing.assert_allclose(twin.objective, core.objective, rtol=1e-8)
    assert twin.converged.all()
    rows = numpy_twin.KernelRows(Kernel(X, KernelFunction("rbf", gamma=0.3)), 1e8)
    options = type("O", (), {"tol": 1e-7, "max_sweeps": 1000, "intercept": True, "callback": lambda *a: None})
    alpha, f, numbers = np.empty((1, 50)), np.empty((1, 50)), np.empty((1, 6))
    rows.solve(*batch.labels.sides(0, batch.weights), np.ones(1), None, options, alpha, f, numbers)
    assert numbers[0, 1] == pytest.approx(fit_kernel(X, y, tube).objective, rel=1e-6)


numbers = st.floats(0.01, 100.0)


@settings(max_examples=15, deadline=None)
@given(factor=st.integers(-8, 8).map(lambda k: 2.0**k), C=numbers, seed=st.integers(0, 99))
def test_scaled_targets(factor, C, seed):
    """Targets, epsilon and coefficients in other units are the problem with C times the unit (identity V3)."""
    X, y = noisy(40, 3, seed)
    one = fit(X, y, INSENSITIVE, C * factor)
    other = fit(X, factor * y, (0.2 * factor, 1.0, 1.0), C * factor**2)
    np.testing.assert_allclose(other.coef, factor * one.coef, rtol=1e-3, atol=1e-4 * factor)
    assert other.objective == pytest.approx(factor**2 * one.objective, rel=1e-6)


@settings(max_examples=15, deadline=None)
@given(C=numbers, seed=st.integers(0, 99))
def test_sign_and_weights(C, seed):
    """The negative targets have the negative solution, quantiles exchanged (identity V4); a weight is a number of repetitions."""
    X, y = noisy(40, 3, seed)
    for solver in (fit, fit_kernel):
        one, other = solver(X, y, PINBALL, C), solver(X, -y, (0.0, 0.2, 0.8), C)
        assert other.objective == pytest.approx(one.objective, rel=1e-6)
        weight = np.random.default_rng(seed).integers(0, 3, 40)
        weighted, repeated = (
            solver(X, y, INSENSITIVE, C, weight.astype(float)),
            solver(np.repeat(X, weight, axis=0), np.repeat(y, weight), INSENSITIVE, C),
        )
        assert weighted.objective == pytest.approx(repeated.objective, rel=1e-6)


def test_a_start_from_signed_multipliers():
    X, y = noisy(80)
    batch = batch_of(Kernel(X, KernelFunction("rbf", gamma=0.3)), y, INSENSITIVE)
    cold = solve_kernel(batch, Options(1e-6, keep_alpha=True))
    warm = solve_kernel(batch, Options(1e-6, keep_alpha=True), Start(alpha=cold.alpha[:, 0]))
    assert warm.n_iter[0, 0] < 0.2 * cold.n_iter[0, 0]
    linear = batch_of(rows_of(X), y, INSENSITIVE)
    found = solve(linear, Options(1e-6, keep_alpha=True))[0, 0]
    start = Start(found.coef[None], np.array([found.intercept]), found.alpha[None])
    assert solve(linear, Options(1e-6), start)[0, 0].n_iter < found.n_iter


def test_targets_within_the_tube_cost_nothing():
    X, y = noisy(30)
    found = fit(X, 0.1 * np.sign(y), INSENSITIVE)
    assert (found.objective, found.dual_objective, found.gap) == (0.0, 0.0, 0.0)
    assert not found.coef.any()


@pytest.mark.parametrize(
    ("values", "tubes", "message"),
    [
        (np.zeros(3), np.ones((1, 3)), "shape"),
        (np.zeros((1, 3)), np.array([[-1.0, 1.0, 1.0]]), "epsilon"),
        (np.zeros((1, 3)), np.array([[0.0, 0.0, 1.0]]), "weights"),
        (np.full((1, 3), np.nan), np.ones((1, 3)), "values"),
    ],
)
def test_refusals(values, tubes, message):
    with pytest.raises(ValueError, match=message):
        Targets(values, tubes)
