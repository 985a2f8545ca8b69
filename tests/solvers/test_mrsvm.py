"""MR-SVM: identities, oracles, certificates, weights and hard scalings."""

import cvxpy as cp
import numpy as np
import pytest
from margin_problems import blobs, check_certificate, check_weights, hard_problems, margins, minimum

from radiusmargin.solvers.conic.mrsvm import mrsvm

X, y = blobs()
R = np.ptp(X, axis=0) / 2


def primal(result, X, y, C):
    """The objective of the docstring at the solution."""
    R = np.ptp(X, axis=0) / 2
    used = result.mu > 0
    xi = np.maximum(0, 1 - y * (X @ result.coef + result.intercept))
    assert not result.coef[~used].any()
    return (result.coef[used] ** 2 / result.mu[used]).sum() / 2 + C * (xi**2).sum() / 2 / (result.mu @ R**2)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_oracle(C, fit_intercept):
    w, b = cp.Variable(3), cp.Variable() if fit_intercept else 0.0
    mu = cp.Variable(3, nonneg=True)
    xi = cp.pos(1 - margins(X, y, w, b))
    t = cp.Variable(3)
    cones = [cp.SOC(t[k] + mu[k], cp.hstack([2 * w[k], t[k] - mu[k]])) for k in range(3)]
    loss = cp.quad_over_lin(xi, R**2 @ mu)
    expected = minimum((cp.sum(t) + C * loss) / 2, [cp.sum(mu) == 1, *cones])
    result = mrsvm(X, y, C, fit_intercept=fit_intercept)
    check_certificate(result)
    np.testing.assert_allclose(result.objective, expected, rtol=1e-6)


@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
def test_mr3_strong_duality_at_a_feasible_point(C):
    """Identity MR3."""
    result = mrsvm(X, y, C)
    check_certificate(result)
    np.testing.assert_allclose(primal(result, X, y, C), result.objective, rtol=1e-9)
    g = X.T @ (result.alpha * y)
    levels = g**2 + R**2 * (result.alpha**2).sum() / C
    np.testing.assert_allclose(result.alpha.sum() - levels.max() / 2, result.dual_objective, rtol=1e-9)
    assert (result.alpha >= 0).all()
    assert abs(y @ result.alpha) < 1e-9 * result.alpha.sum()
    assert result.mu.sum() == pytest.approx(1)
    # weight only where the maximum is attained; w_k = mu_k g_k
    np.testing.assert_allclose(result.mu * (levels.max() - levels), 0, atol=1e-4 * levels.max())
    np.testing.assert_allclose(result.coef, result.mu * g, atol=1e-4 * np.abs(result.coef).max())
    assert result.radius_bound == pytest.approx(result.mu @ R**2)


def test_mr1_unit_radii_give_the_squared_l1_svm_with_squared_hinge():
    """Identity MR1."""
    w, b = cp.Variable(3), cp.Variable()
    loss = cp.sum_squares(cp.pos(1 - margins(X / R, y, w, b)))
    expected = minimum(cp.square(cp.norm1(w)) / 2 + 3.0 * loss / 2)
    np.testing.assert_allclose(mrsvm(X / R, y, 3.0).objective, expected, rtol=1e-6)


def test_mr2_global_scaling():
    """Identity MR2."""
    base, scaled = mrsvm(X, y, 2.0), mrsvm(7.0 * X, y, 2.0)
    np.testing.assert_allclose(scaled.objective, base.objective / 49, rtol=1e-6)
    np.testing.assert_allclose(scaled.mu, base.mu, atol=1e-4)
    np.testing.assert_allclose(7 * scaled.coef, base.coef, atol=1e-4)


def test_mr4_one_feature_is_the_l2_svm():
    """Identity MR4."""
    w, b = cp.Variable(1), cp.Variable()
    loss = cp.sum_squares(cp.pos(1 - margins(X[:, :1], y, w, b)))
    expected = minimum(cp.sum_squares(w) / 2 + 2.0 / R[0] ** 2 * loss / 2)
    np.testing.assert_allclose(mrsvm(X[:, :1], y, 2.0).objective, expected, rtol=1e-6)


def test_mr5_flipped_labels_and_translation():
    """Identity MR5."""
    base, flipped, moved = mrsvm(X, y), mrsvm(X, -y), mrsvm(X + np.array([9.0, -3.0, 1.0]), y)
    np.testing.assert_allclose(flipped.coef, -base.coef, atol=1e-4)
    np.testing.assert_allclose(flipped.intercept, -base.intercept, atol=1e-4)
    np.testing.assert_allclose(moved.coef, base.coef, atol=1e-4)
    np.testing.assert_allclose(moved.mu, base.mu, atol=1e-4)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights(fit_intercept):
    check_weights(lambda *args, **kw: mrsvm(*args, 1.0, fit_intercept=fit_intercept, **kw), X, y)


@pytest.mark.parametrize("name", hard_problems())
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_hard_scalings(name, fit_intercept):
    X, y = hard_problems()[name]
    for C in (1e-4, 1.0, 1e4):
        result = mrsvm(X, y, C, fit_intercept=fit_intercept)
        check_certificate(result)
        np.testing.assert_allclose(primal(result, X, y, C), result.objective, rtol=1e-6)


def test_bad_input():
    with pytest.raises(ValueError, match=r"C must be a number in \(0, inf\), got -1"):
        mrsvm(X, y, -1)
    with pytest.raises(ValueError, match="X must have a feature that varies"):
        mrsvm(np.ones((4, 2)), np.array([-1, 1, -1, 1]))
