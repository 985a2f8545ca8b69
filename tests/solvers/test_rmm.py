"""RMM: identities, oracles, certificates, weights and hard scalings."""

import cvxpy as cp
import numpy as np
import pytest
from margin_problems import (
    blobs,
    check_certificate,
    check_weights,
    hard_problems,
    margins,
    minimum,
    random_rotation,
    svm,
)

from radiusmargin.solvers.conic.active_set import ActiveSet
from radiusmargin.solvers.conic.program import prepare
from radiusmargin.solvers.conic.rmm import _guess_active_set, _Rows, rmm

X, y = blobs()


def f(result, X=X):
    return X @ result.coef + result.intercept


def theta(result, y=y):
    lam, lam_star = result.bound_multipliers
    return result.alpha * y - lam + lam_star


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(("C", "B"), [(1.0, 1.2), (10.0, 2.0), (0.1, 1.0), (1.0, 0.5), (1.0, 50.0), (1.0, np.inf)])
def test_oracle(C, B, fit_intercept):
    w, b = cp.Variable(3), cp.Variable() if fit_intercept else 0.0
    bound = [cp.abs(X @ w + b) <= B] if np.isfinite(B) else []
    loss = C * cp.sum(cp.pos(1 - margins(X, y, w, b)))
    expected = minimum(cp.sum_squares(w) / 2 + loss, bound)
    result = rmm(X, y, C, B, fit_intercept=fit_intercept)
    check_certificate(result)
    np.testing.assert_allclose(result.objective, expected, rtol=1e-6)


def test_r1_a_wide_bound_gives_the_svm():
    """Identity R1."""
    free = rmm(X, y, 1.0, np.inf)
    np.testing.assert_allclose(free.objective, svm(X, y, 1.0), rtol=1e-7)
    wide = rmm(X, y, 1.0, 1.001 * np.abs(f(free)).max())
    np.testing.assert_allclose(wide.coef, free.coef, atol=1e-6)
    assert not free.bound_multipliers.any()
    assert wide.bound_active.size == 0


def test_r2_the_objective_falls_with_the_bound():
    """Identity R2."""
    objectives = [rmm(X, y, 1.0, B).objective for B in (0.0, 0.5, 1.0, 1.2, 1.5, 2.0, np.inf)]
    assert (np.diff(objectives) <= 1e-9).all()
    nothing = rmm(X, y, 1.0, 0.0)
    assert not nothing.coef.any()
    assert nothing.intercept == 0.0
    assert nothing.objective == pytest.approx(len(y))


@pytest.mark.parametrize("B", [0.5, 1.0, 1.3, 2.0])
def test_r3_r4_r9_duality_slackness_and_bounds(B):
    """Identities R3, R4 and R9."""
    C = 2.0
    result = rmm(X, y, C, B)
    check_certificate(result)
    lam, lam_star = result.bound_multipliers
    assert np.abs(f(result)).max() <= B * (1 + 1e-12)
    assert (result.alpha >= 0).all()
    assert (result.alpha <= C).all()
    assert abs(theta(result).sum()) < 1e-9
    np.testing.assert_allclose(X.T @ theta(result), result.coef, atol=1e-5)
    # the dual value, from the multipliers alone
    v = X.T @ theta(result)
    dual = result.alpha.sum() - B * (lam + lam_star).sum() - v @ v / 2
    np.testing.assert_allclose(dual, result.dual_objective, rtol=1e-9)
    np.testing.assert_allclose(lam * (B - f(result)), 0, atol=1e-5)
    np.testing.assert_allclose(lam_star * (B + f(result)), 0, atol=1e-5)
    assert not np.minimum(lam, lam_star).any()
    if B > 1:
        assert not (result.alpha * np.where(y > 0, lam, lam_star)).any()
    np.testing.assert_allclose(np.abs(f(result)[result.bound_active]), B, rtol=1e-5)


def test_r4_a_misclassified_point_may_sit_on_the_far_bound():
    """Identity R4."""
    x, labels = np.array([[-2.0], [-1.5], [-1.0], [1.0], [1.5], [2.0], [-3.0]]), np.repeat([-1, 1], [3, 4])
    result = rmm(x, labels, 1.0, 1.5)
    assert result.alpha[6] == pytest.approx(1.0)
    assert result.bound_multipliers[1, 6] > 0.1


@pytest.mark.parametrize(
    ("change", "C"),
    [
        pytest.param(lambda X: 3.0 * X, 1.0 / 9.0, id="R5 scaling"),
        pytest.param(lambda X: X + np.array([5.0, -3.0, 100.0]), 1.0, id="R6 translation"),
        pytest.param(lambda X: X @ random_rotation(3), 1.0, id="R6 rotation"),
        pytest.param(lambda X: np.c_[X, np.zeros((40, 60))] @ random_rotation(63), 1.0, id="R6 d > n"),
    ],
)
def test_r5_r6_the_outputs_are_invariant(change, C):
    """Identities R5 and R6."""
    np.testing.assert_allclose(f(rmm(change(X), y, C, 1.5), change(X)), f(rmm(X, y, 1.0, 1.5)), atol=1e-5)


def test_r7_r8_flipped_labels_and_duplicated_rows():
    """Identities R7 and R8."""
    base = f(rmm(X, y, 1.0, 1.5))
    np.testing.assert_allclose(f(rmm(X, -y, 1.0, 1.5)), -base, atol=1e-5)
    np.testing.assert_allclose(f(rmm(np.r_[X, X], np.r_[y, y], 0.5, 1.5)), base, atol=1e-5)


@pytest.mark.parametrize("B", [0.3, 1.0])
def test_r10_below_one_the_hinge_is_linear(B):
    """Identity R10."""
    w, b = cp.Variable(3), cp.Variable()
    linear = minimum(cp.sum_squares(w) / 2 - cp.sum(margins(X, y, w, b)), [cp.abs(X @ w + b) <= B])
    assert rmm(X, y, 1.0, B).objective == pytest.approx(len(y) + linear, rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
def test_weights(fit_intercept):
    check_weights(lambda *args, **kw: rmm(*args, 1.0, 1.4, fit_intercept=fit_intercept, **kw), X, y)


@pytest.mark.parametrize("name", hard_problems())
def test_hard_scalings(name):
    X, y = hard_problems()[name]
    for C in (1e-4, 1.0, 1e4):
        for B in (1.0, 1.5, np.inf):
            check_certificate(rmm(X, y, C, B))


def test_an_iteration_limit_is_reported():
    result = rmm(X, y, 1.0, 1.5, max_iter=2)
    assert not result.converged
    assert result.objective >= result.dual_objective


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"C": 0.0}, r"C must be a number in \(0, inf\), got 0.0"),
        ({"C": np.inf}, r"C must be a number in \(0, inf\), got inf"),
        ({"B": -1.0}, r"B must be a number in \[0, inf\], got -1.0"),
        ({"B": np.nan}, r"B must be a number in \[0, inf\], got nan"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        rmm(X, y, **parameters)


def guesses(slack):
    """Sets of rows to begin with: the wrong sides of the margin, and hardly any."""
    near = np.abs(slack) <= np.median(np.abs(slack))
    few = np.abs(slack) < 0.05
    return {"wrong sides": ActiveSet(near, ~near & (slack < 0)), "few": ActiveSet(few, ~few & (slack > 0.5))}


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("guess", ["as it is", "wrong sides", "few"])
@pytest.mark.parametrize(("C", "B"), [(0.02, 1.1), (1.0, 2.0), (50.0, 1.2)])
def test_rows_away_from_margin_and_bounds_may_be_left_out(C, B, fit_intercept, guess, monkeypatch):
    """The answer is that of all rows, whatever the guess which of them count."""
    X, y = blobs(n=500, d=4)
    module = "radiusmargin.solvers.conic.rmm"
    with monkeypatch.context() as patch:
        patch.setattr(f"{module}.saves", lambda *_: False)
        expected = rmm(X, y, C, B, fit_intercept=fit_intercept)
    if guess != "as it is":
        slack = 1 - y * f(expected, X)
        order = {x.tobytes(): i for i, x in enumerate(X)}  # the solver has the rows in an order of its own
        monkeypatch.setattr(
            f"{module}._guess_active_set", lambda data, *_: guesses(slack[[order[x.tobytes()] for x in data.X]])[guess]
        )
    result = rmm(X, y, C, B, fit_intercept=fit_intercept)
    check_certificate(result)
    np.testing.assert_allclose(result.objective, expected.objective, rtol=1e-7)
    np.testing.assert_allclose(result.coef, expected.coef, atol=1e-4 * np.abs(expected.coef).max())
    assert np.abs(f(result, X)).max() <= B * (1 + 1e-9)


def test_few_rows_are_looked_at():
    X, y = blobs(n=500, d=4)
    data = prepare(X, y, 1.0, None, True)
    assert 50 < _guess_active_set(data, _Rows.of(data), 1.5).free.sum() < 250
