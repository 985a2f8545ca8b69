"""MSVM: identities, oracles, certificates, weights and hard scalings."""

import cvxpy as cp
import numpy as np
import pytest
from margin_problems import blobs, check_certificate, check_weights, hard_problems, margins, minimum

from radiusmargin.solvers.conic.msvm import msvm

X, y = blobs()
Z = X - X.mean(axis=0)


def primal(result, X, y, C):
    loss = np.maximum(0, 1 - y * (X @ result.coef + result.intercept)).sum()
    return np.abs((X - X.mean(axis=0)) @ result.coef).max() ** 2 / 2 + C * loss


def check_dual(result, X, y, C):
    """The multipliers are dual feasible and have the dual value."""
    delta = result.bound_multipliers
    assert (result.alpha >= 0).all()
    assert (result.alpha <= C * (1 + 1e-12)).all()
    residual = X.T @ (result.alpha * y) - (X - result.mean).T @ delta
    scale = np.abs(X).T @ (result.alpha + np.abs(delta))
    np.testing.assert_allclose(residual / np.maximum(scale, 1e-300), 0, atol=1e-9)
    dual = result.alpha.sum() - np.abs(delta).sum() ** 2 / 2
    np.testing.assert_allclose(dual, result.dual_objective, rtol=1e-9)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 0.2, 10.0])
def test_s1_oracle_and_certificate(C, fit_intercept):
    """Identity S1."""
    w, b = cp.Variable(3), cp.Variable() if fit_intercept else 0.0
    loss = C * cp.sum(cp.pos(1 - margins(X, y, w, b)))
    expected = minimum(cp.square(cp.norm_inf(Z @ w)) / 2 + loss)
    result = msvm(X, y, C, fit_intercept=fit_intercept)
    check_certificate(result)
    check_dual(result, X, y, C)
    np.testing.assert_allclose(result.objective, expected, rtol=1e-6)
    np.testing.assert_allclose(primal(result, X, y, C), result.objective, rtol=1e-9)
    assert result.bound == pytest.approx(np.abs(Z @ result.coef).max())
    np.testing.assert_allclose(np.abs(Z[result.bound_active] @ result.coef), result.bound, rtol=1e-5)


def test_s1_the_metric_attains_the_value_of_the_published_problem():
    """Identity S1."""
    C = 0.2
    result = msvm(X, y, C)
    A = result.coef[None] / result.bound  # a metric of rank one, with w = bound
    assert (Z @ A.T).max() ** 2 <= 1 + 1e-9
    loss = np.maximum(0, 1 - y * ((X @ A.T)[:, 0] * result.bound + result.intercept)).sum()
    assert result.bound**2 / 2 + C * loss == pytest.approx(result.objective)


def test_s2_affine_invariance():
    """Identity S2."""
    T = np.random.default_rng(5).normal(size=(3, 3))
    base, mapped = msvm(X, y, 0.2), msvm(X @ T + [1.0, 2.0, 3.0], y, 0.2)
    np.testing.assert_allclose(mapped.objective, base.objective, rtol=1e-7)
    np.testing.assert_allclose(T @ mapped.coef, base.coef, atol=1e-5)


def test_s3_scaling_the_separator_never_helps():
    """Identity S3."""
    C = 0.2
    result = msvm(X, y, C)
    u = Z @ result.coef
    kinks = np.sort(y[:, None] - np.outer(u, [0.9, 1.1]), axis=0)
    for s, shifts in zip([0.9, 1.1], kinks.T, strict=True):
        losses = np.maximum(0, 1 - y * (s * u + shifts[:, None])).sum(axis=1)
        assert (s * result.bound) ** 2 / 2 + C * losses.min() >= result.objective * (1 - 1e-9)


def test_s4_separable_data_maximise_the_margin_over_the_projection():
    """Identity S4."""
    X, y = blobs(distance=9.0)
    result = msvm(X, y, 1e3)
    margin = y * (X @ result.coef + result.intercept)
    assert margin.min() == pytest.approx(1, abs=1e-5)
    w, b = cp.Variable(3), cp.Variable()
    Z = X - X.mean(axis=0)
    assert result.bound == pytest.approx(minimum(cp.norm_inf(Z @ w), [margins(X, y, w, b) >= 1]), rel=1e-5)


def test_without_intercept_a_constant_function_serves_as_one():
    with_one = msvm(X, y, 0.2)
    without = msvm(np.c_[X, np.full(40, 3.0)], y, 0.2, fit_intercept=False)
    assert without.objective == pytest.approx(with_one.objective, rel=1e-7)
    assert without.intercept == 0.0


def test_a_constant_table_is_a_vote():
    result = msvm(np.ones((5, 2)), np.array([1, 1, 1, -1, -1]), 1.0)
    assert not result.coef.any()
    assert result.intercept == pytest.approx(1.0)
    assert result.objective == pytest.approx(4.0)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights(fit_intercept):
    check_weights(lambda *args, **kw: msvm(*args, 0.2, fit_intercept=fit_intercept, **kw), X, y)


@pytest.mark.parametrize("name", hard_problems())
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_hard_scalings(name, fit_intercept):
    X, y = hard_problems()[name]
    for C in (1e-4, 1.0, 1e4):
        result = msvm(X, y, C, fit_intercept=fit_intercept)
        check_certificate(result)
        check_dual(result, X, y, C)
        np.testing.assert_allclose(primal(result, X, y, C), result.objective, rtol=1e-6)


def test_bad_parameters():
    with pytest.raises(ValueError, match=r"C must be a number in \(0, inf\), got nan"):
        msvm(X, y, np.nan)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_one_class_costs_nothing(label):
    result = msvm(X, np.full(40, label))
    assert result.objective == result.dual_objective == 0.0
    assert result.converged
