"""R-SVM_mu+ and R-SVM+: identities, oracles, weights and hard scalings."""

import cvxpy as cp
import numpy as np
import pytest
from margin_problems import blobs, check_certificate, check_weights, hard_problems, margins, minimum, svm

from radiusmargin.solvers.conic.active_set import ActiveSet, guess_active_set
from radiusmargin.solvers.conic.program import ConicProgram, ConicSolverError, prepare
from radiusmargin.solvers.conic.rsvm import rsvm_mu_plus, rsvm_plus

X, y = blobs()
BOTH = pytest.mark.parametrize("solve", [rsvm_mu_plus, rsvm_plus])


def d2(X):
    """All squared differences, by pair and feature."""
    i, j = np.triu_indices(len(X), 1)
    return (X[i] - X[j]) ** 2


def scaling(result):
    return getattr(result, "mu", result.coef**2)


def oracle(solve, X, y, C, lam, fit_intercept=True):
    """The model with all pairs, by cvxpy (identity P5 for R-SVM+)."""
    d = X.shape[1]
    w, b, r = cp.Variable(d), cp.Variable() if fit_intercept else 0.0, cp.Variable()
    loss = C * cp.sum(cp.pos(1 - margins(X, y, w, b)))
    if solve is rsvm_plus:
        return minimum(cp.sum_squares(w) / 2 + lam * r + loss, [d2(X) @ cp.square(w) / 2 <= r])
    mu, t = cp.Variable(d, nonneg=True), cp.Variable(d)
    cones = [cp.SOC(t[k] + mu[k], cp.hstack([2 * w[k], t[k] - mu[k]])) for k in range(d)]
    return minimum(cp.sum(t) / 2 + lam * r + loss, [cp.sum(mu) == 1, d2(X) @ mu / 2 <= r, *cones])


def check_point(result, X, y, C, lam):
    """The reported values are those of the point with all pairs, and of the multipliers."""
    v = scaling(result)
    loss = np.maximum(0, 1 - y * (X @ result.coef + result.intercept)).sum()
    radius = (d2(X) @ v).max() / 2
    g = X.T @ (result.alpha * y)
    q = result.eta @ (X[result.pairs[:, 0]] - X[result.pairs[:, 1]]) ** 2
    if hasattr(result, "mu"):
        used = v > 0
        assert not result.coef[~used].any()
        norm, penalty = (result.coef[used] ** 2 / v[used]).sum(), (g**2 - q).max()
        assert v.sum() == pytest.approx(1)
    else:
        norm, penalty = v.sum(), (g**2 / (1 + q)).sum()
        np.testing.assert_allclose(result.metric, 1 / (1 + q))
    np.testing.assert_allclose(result.radius, radius, rtol=1e-9)
    np.testing.assert_allclose(norm / 2 + lam * radius + C * loss, result.objective, rtol=1e-6)
    np.testing.assert_allclose(result.alpha.sum() - penalty / 2, result.dual_objective, rtol=1e-6)
    assert (result.alpha >= 0).all()
    assert (result.alpha <= C * (1 + 1e-12)).all()
    assert (result.eta >= 0).all()
    assert result.eta.sum() == pytest.approx(lam)


@BOTH
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("C", "lam"), [(1.0, 0.0), (1.0, 0.3), (10.0, 30.0), (0.1, 1.0)])
def test_m5_m7_p4_p5_constraint_generation_is_the_problem_with_all_pairs(solve, C, lam, fit_intercept):
    """Identities M5, M7, P4 and P5."""
    result = solve(X, y, C, lam, fit_intercept=fit_intercept)
    check_certificate(result)
    check_point(result, X, y, C, lam)
    np.testing.assert_allclose(result.objective, oracle(solve, X, y, C, lam, fit_intercept), rtol=1e-6)
    if fit_intercept:
        assert abs(y @ result.alpha) < 1e-9 * result.alpha.sum()


@BOTH
def test_pairs_with_a_multiplier_are_diameters(solve):
    result = solve(X, y, 1.0, 3.0)
    i, j = result.active_pairs.T
    np.testing.assert_allclose((X[i] - X[j]) ** 2 @ scaling(result) / 2, result.radius, rtol=1e-5)
    assert 1 <= len(result.active_pairs) <= X.shape[1]
    assert len(result.pairs) < 40


def test_m1_without_radius_the_squared_l1_svm():
    """Identity M1."""
    w, b = cp.Variable(3), cp.Variable()
    expected = minimum(cp.square(cp.norm1(w)) / 2 + cp.sum(cp.pos(1 - margins(X, y, w, b))))
    result = rsvm_mu_plus(X, y, 1.0, 0.0)
    np.testing.assert_allclose(result.objective, expected, rtol=1e-6)
    assert len(result.active_pairs) == 0


def test_m2_one_feature_is_the_svm_and_its_range():
    """Identity M2."""
    x = X[:, :1]
    expected = svm(x, y, 1.0) + 2.0 * np.ptp(x) ** 2 / 2
    np.testing.assert_allclose(rsvm_mu_plus(x, y, 1.0, 2.0).objective, expected, rtol=1e-6)


def test_p1_without_radius_the_svm():
    """Identity P1."""
    result = rsvm_plus(X, y, 1.0, 0.0)
    np.testing.assert_allclose(result.objective, svm(X, y, 1.0), rtol=1e-6)
    np.testing.assert_allclose(result.metric, 1)


@pytest.mark.parametrize(("solve", "power"), [(rsvm_mu_plus, 4), (rsvm_plus, 2)])
def test_m3_p2_scaling(solve, power):
    """Identities M3 and P2."""
    s = 3.0
    base, scaled = solve(X, y, s**2, s**power), solve(s * X, y, 1.0, 1.0)
    np.testing.assert_allclose(scaled.objective, base.objective / s**2, rtol=1e-6)
    np.testing.assert_allclose(s * scaled.coef, base.coef, atol=1e-4)


def test_m4_the_radius_falls_and_the_objective_is_concave_in_lambda():
    """Identity M4."""
    results = [rsvm_mu_plus(X, y, 1.0, lam) for lam in (0.0, 0.5, 1.0, 1.5, 2.0)]
    objectives = np.array([result.objective for result in results])
    assert (np.diff([result.radius for result in results]) <= 1e-6).all()
    assert (np.diff(objectives) >= 0).all()
    assert (np.diff(objectives, 2) <= 1e-6 * objectives[0]).all()


def test_m6_the_bound_chain_of_the_radius():
    """Identity M6."""
    result = rsvm_mu_plus(X, y, 1.0, 1.0)
    V, half = X * np.sqrt(result.mu), np.sqrt(result.radius / 2)
    c, R = cp.Variable(3), np.sqrt(result.mu @ (np.ptp(X, axis=0) / 2) ** 2)
    meb = minimum(cp.max(cp.norm(V - cp.reshape(c, (1, 3), order="C"), axis=1)))
    assert half <= meb * (1 + 1e-6)
    assert meb <= min(R, np.sqrt(6 / 4) * half) * (1 + 1e-6)


def test_m8_a_large_lambda_forgets_the_labels():
    """Identity M8."""
    lam, other = 1e6, np.roll(y, 1) * np.sign(X[:, 0])
    mu = cp.Variable(3, nonneg=True)
    radius = minimum(cp.max(d2(X) @ mu) / 2, [cp.sum(mu) == 1])
    first, second = rsvm_mu_plus(X, y, 1.0, lam), rsvm_mu_plus(X, other, 1.0, lam)
    np.testing.assert_allclose([first.radius, second.radius], radius, rtol=1e-4)
    np.testing.assert_allclose(first.mu, second.mu, atol=1e-3)


@BOTH
def test_m9_translation_and_permutation(solve):
    """Identity M9."""
    order = [2, 0, 1]
    base = solve(X, y, 1.0, 0.5)
    moved, permuted = solve(X + np.array([4.0, -9.0, 2.0]), y, 1.0, 0.5), solve(X[:, order], y, 1.0, 0.5)
    for other, expected in ((moved, scaling(base)), (permuted, scaling(base)[order])):
        np.testing.assert_allclose(scaling(other), expected, atol=1e-4)
    np.testing.assert_allclose(permuted.coef, base.coef[order], atol=1e-4)


def test_p3_large_c_and_lambda_are_invariant_to_feature_scales():
    """Identity P3."""
    D = np.array([1.0, 5.0, 0.3])
    base, other = (rsvm_plus(A, y, 1e5, 1e5).coef for A in (X, X * D))
    np.testing.assert_allclose(other * D, base, atol=1e-3 * np.abs(base).max())


def test_p7_the_model_is_the_svm_on_its_metric():
    """Identity P7."""
    result = rsvm_plus(X, y, 1.0, 0.5)
    q = 1 / result.metric - 1
    np.testing.assert_allclose(svm(X * np.sqrt(result.metric), y, 1.0), result.objective, rtol=1e-6)
    np.testing.assert_allclose(result.coef, X.T @ (result.alpha * y) / (1 + q), atol=1e-4)


def test_p6_the_mean_over_pairs_is_the_scatter():
    """Identity P6."""
    n, S = len(X), ((X - X.mean(axis=0)) ** 2).sum(axis=0)
    np.testing.assert_allclose(d2(X).mean(axis=0), 2 * S / (n - 1))


@BOTH
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights(solve, fit_intercept):
    check_weights(lambda *args, **kw: solve(*args, 1.0, 0.3, fit_intercept=fit_intercept, **kw), X, y)


@BOTH
@pytest.mark.parametrize("name", hard_problems())
def test_hard_scalings(solve, name):
    X, y = hard_problems()[name]
    for C in (1e-4, 1.0, 1e4):
        for lam in (0.0, 1.0, 1e3):
            result = solve(X, y, C, lam)
            check_certificate(result)
            check_point(result, X, y, C, lam)


def guesses(slack):
    """Sets of rows to begin with: all, the wrong sides of the margin, and too few to balance the classes."""
    near = np.abs(slack) <= np.median(np.abs(slack))
    return {
        "all": ActiveSet.all_rows(len(slack)),
        "wrong sides": ActiveSet(near, ~near & (slack < 0)),
        "no balance": ActiveSet(np.abs(slack) < 0.05, slack > 0.05 * np.sign(np.arange(len(slack)) % 3 - 0.5)),
    }


@BOTH
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("guess", ["all", "wrong sides", "no balance"])
@pytest.mark.parametrize(("C", "lam"), [(0.02, 3.0), (1.0, 0.1)])
def test_rows_far_from_the_margin_may_be_left_out(solve, fit_intercept, guess, C, lam, monkeypatch):
    """The answer is that of all rows, whatever the guess which of them count."""
    big, labels = blobs(n=500, d=4)
    assert (
        50 < guess_active_set(prepare(big, labels, C, None, fit_intercept), np.ones(4), lambda w: None).free.sum() < 150
    )
    result = solve(big, labels, C, lam, fit_intercept=fit_intercept)
    check_certificate(result)
    check_point(result, big, labels, C, lam)

    def guessed(data, *_):
        return guesses(1 - data.y * (data.X @ result.coef + result.intercept))[guess]

    monkeypatch.setattr("radiusmargin.solvers.conic.rsvm.guess_active_set", guessed)
    other = solve(big, labels, C, lam, fit_intercept=fit_intercept)
    check_certificate(other)
    np.testing.assert_allclose(result.objective, other.objective, rtol=1e-8)
    np.testing.assert_allclose(result.coef, other.coef, atol=1e-4 * np.abs(other.coef).max())


@BOTH
def test_a_limit_of_rounds_is_reported(solve, monkeypatch):
    monkeypatch.setattr("radiusmargin.solvers.conic.rsvm.MOST_ROUNDS", 1)
    big, labels = blobs(n=300, d=8)
    result = solve(big, labels, 1.0, 300.0)
    assert result.n_rounds == 1
    assert not result.converged
    assert result.objective >= result.dual_objective


@BOTH
def test_a_solver_that_always_fails_is_a_clear_error(solve, monkeypatch):
    def fail(self, **_):
        raise ConicSolverError("NumericalError")

    monkeypatch.setattr(ConicProgram, "solve", fail)
    with pytest.raises(ConicSolverError, match=r"no scaling of the problem was solved: NumericalError"):
        solve(X, y)


@BOTH
@pytest.mark.parametrize(("C", "lam", "name"), [(0.0, 1.0, "C"), (1.0, -1.0, "lam"), (1.0, np.inf, "lam")])
def test_bad_parameters(solve, C, lam, name):
    with pytest.raises(ValueError, match=rf"{name} must be a number in .0, inf\), got"):
        solve(X, y, C, lam)
