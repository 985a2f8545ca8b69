"""Least squares: closed forms against brute force, scikit-learn and the definition of the problem."""

import numpy as np
import pytest
from sklearn.kernel_ridge import KernelRidge
from sklearn.linear_model import Ridge

from radiusmargin.kernels import KernelFunction
from radiusmargin.solvers import least_squares_svm
from radiusmargin.solvers.least_squares import FeatureSpectrum, KernelSpectrum, certified, certified_linear

RIDGES = np.array([1e-3, 0.1, 10.0])


@pytest.fixture
def problem():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(25, 3)) + 5.0
    y = np.column_stack([np.sin(X[:, 0]) + 0.1 * rng.normal(size=25), X @ [1.0, -2.0, 0.5]])
    return X, y, rng.uniform(0.5, 2.0, 25)


def rbf(X, Y=None):
    return KernelFunction("rbf", gamma=0.3)(X, X if Y is None else Y)


def minimum(K, y, ridge, weight):
    """Solve the bordered system of the optimality conditions."""
    n = len(K)
    system = np.block([[K + ridge * np.diag(1 / weight), np.ones((n, 1))], [np.ones((1, n)), np.zeros((1, 1))]])
    found = np.linalg.solve(system, np.vstack([y, np.zeros((1, y.shape[1]))]))
    return found[:-1], found[-1]


@pytest.mark.parametrize("kernel", [rbf, lambda X: X @ X.T], ids=["rbf", "linear"])
def test_it_is_the_solution_of_the_bordered_system(problem, kernel):
    X, y, weight = problem
    K = kernel(X)
    for ridge in RIDGES:
        found = least_squares_svm(K, y, ridge, sample_weight=weight)
        coef, intercept = minimum(K, y, ridge, weight)
        np.testing.assert_allclose(K @ found.coef + found.intercept, K @ coef + intercept, rtol=1e-8)
        assert (found.gap < 1e-8).all()


def test_without_intercept_to_find_it_is_kernel_ridge(problem):
    X, y, _ = problem
    K = rbf(X)
    found = least_squares_svm(K, y, 0.5)
    theirs = KernelRidge(alpha=0.5, kernel="precomputed").fit(K, y - found.intercept)
    np.testing.assert_allclose(found.coef, theirs.dual_coef_, atol=1e-10)


def test_linear_features_are_those_of_ridge(problem):
    X, y, weight = problem
    spectrum = FeatureSpectrum.of([(X[:10], y[:10], weight[:10]), (X[10:], y[10:], weight[10:])])
    for ridge in RIDGES:
        coef, intercept = spectrum.coef(ridge)
        theirs = Ridge(alpha=ridge).fit(X, y, sample_weight=weight)
        np.testing.assert_allclose(coef.T, theirs.coef_, rtol=1e-8)
        np.testing.assert_allclose(intercept, theirs.intercept_, rtol=1e-8)
        certificate = certified_linear([(X[:9], y[:9], weight[:9]), (X[9:], y[9:], weight[9:])], coef, ridge)
        np.testing.assert_allclose(certificate.intercept, intercept, rtol=1e-8)
        dual = least_squares_svm(X @ X.T, y, ridge, sample_weight=weight)
        np.testing.assert_allclose(certificate.objective, dual.objective, rtol=1e-8)
        assert (certificate.gap < 1e-10).all()


@pytest.mark.parametrize("kernel", [rbf, lambda X: X @ X.T], ids=["rbf", "linear"])
def test_leave_one_out_is_that_of_fits_without_the_row(problem, kernel):
    X, y, weight = problem
    K = kernel(X)
    found = KernelSpectrum.of(K, weight).leave_one_out(y, RIDGES)
    for ridge, residuals in zip(RIDGES, found, strict=True):
        for i in range(len(X)):
            rest = np.arange(len(X)) != i
            coef, intercept = minimum(K[np.ix_(rest, rest)], y[rest], ridge, weight[rest])
            np.testing.assert_allclose(residuals[i], y[i] - K[i, rest] @ coef - intercept, rtol=1e-6, atol=1e-9)


def test_leave_one_out_of_features_is_that_of_their_kernel(problem):
    X, y, weight = problem
    spectrum = FeatureSpectrum.of([(X, y, weight)])
    expected = KernelSpectrum.of(X @ X.T, weight).leave_one_out(y, RIDGES)
    np.testing.assert_allclose(spectrum.leave_one_out(X, y, weight, RIDGES), expected, rtol=1e-8)


def test_objectives_are_those_of_the_definition(problem):
    X, y, weight = problem
    K, ridge = rbf(X), 0.2
    found = least_squares_svm(K, y[:, 0], ridge, sample_weight=weight)
    a = found.coef[:, 0]
    residuals = y[:, 0] - K @ a - found.intercept
    assert found.objective[0] == pytest.approx((ridge * a @ K @ a + weight @ residuals**2) / 2)
    alpha = ridge * a  # multipliers of the constraints r = y - f - b
    assert found.dual_objective[0] == pytest.approx(
        alpha @ y[:, 0] - alpha**2 / weight @ np.ones(25) / 2 - alpha @ K @ alpha / ridge / 2
    )
    assert a.sum() == pytest.approx(0.0, abs=1e-10)


def test_a_wrong_solution_has_a_gap_that_bounds_its_distance(problem):
    X, y, weight = problem
    K, optimum = rbf(X), least_squares_svm(rbf(X), y, 0.2, sample_weight=weight)
    wrong = optimum.coef + 0.01 * (np.arange(25) - 12.0)[:, None]
    found = certified(K, y, wrong, 0.2, weight)
    assert (found.dual_objective <= optimum.objective).all()
    assert (optimum.objective < found.objective).all()
    assert (found.gap > 1e-6).all()


def test_weights_are_repeated_rows(problem):
    X, y, _ = problem
    times = np.arange(25) % 3
    repeated = np.repeat(np.arange(25), times)
    one = least_squares_svm(rbf(X), y, 0.3, sample_weight=times)
    other = least_squares_svm(rbf(X[repeated]), y[repeated], 0.3)
    np.testing.assert_allclose(rbf(X) @ one.coef + one.intercept, rbf(X, X[repeated]) @ other.coef + other.intercept)
    assert not one.coef[times == 0].any()


def test_large_targets_and_means_cost_no_digits(problem):
    X, y, weight = problem
    spectrum = FeatureSpectrum.of([(X + 1e6, y + 1e6, weight)])
    coef, _ = spectrum.coef(0.1)
    expected, _ = FeatureSpectrum.of([(X, y, weight)]).coef(0.1)
    np.testing.assert_allclose(coef, expected, rtol=1e-6)


@pytest.mark.parametrize(
    ("K", "y", "ridge", "message"),
    [
        (np.eye(3), [1.0, np.nan, 2.0], 1.0, "NaN"),
        (np.eye(3), [1.0, 2.0], 1.0, "shape"),
        (np.triu(np.ones((3, 3))), [1.0, 2.0, 3.0], 1.0, "symmetric"),
        (np.eye(3), [1.0, 2.0, 3.0], 0.0, "ridge"),
        (np.eye(3), ["a", "b", "c"], 1.0, "numeric"),
    ],
)
def test_mistakes_are_named(K, y, ridge, message):
    with pytest.raises(ValueError, match=message):
        least_squares_svm(K, y, ridge)
