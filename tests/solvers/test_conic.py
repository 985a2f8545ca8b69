"""The adapter to Clarabel: multipliers, cones, failures and retries; and the helpers around it."""

import numpy as np
import pytest

from radiusmargin.solvers import Result, balanced
from radiusmargin.solvers.conic.active_set import extreme_pairs, far_pairs
from radiusmargin.solvers.conic.program import ConicProgram, ConicSolverError, best_intercept, best_of, prepare


def hinge(margins, c):
    return c @ np.maximum(0.0, 1.0 - margins)


def result(gap, converged):
    return Result(objective=1.0, dual_objective=1.0 - gap, n_iter=1, converged=converged)


def fail():
    raise ConicSolverError("singular")


def test_multipliers_satisfy_the_stationarity_of_the_lagrangian():
    rng = np.random.default_rng(0)
    A, E, q = rng.normal(size=(6, 4)), rng.normal(size=(1, 4)), rng.normal(size=4)
    program = ConicProgram(x=4)
    program.cost(linear={"x": q}, quadratic={"x": 2.0})
    program.nonnegative("A", {"x": A}, 1.0)
    program.zero("E", {"x": E}, -0.3)
    solution = program.solve()
    x, a, e = solution.values["x"], solution.multipliers["A"], solution.multipliers["E"]
    np.testing.assert_allclose(2 * x + q - A.T @ a - E.T @ e, 0, atol=1e-8)
    assert (a >= -1e-9).all()
    np.testing.assert_allclose(a * (A @ x + 1), 0, atol=1e-8)
    assert solution.status == "Solved"


def test_rotated_cones_are_tight_and_complementary():
    x = np.array([1.0, -2.0, 0.5])
    program = ConicProgram(p=3, x=3)
    program.cost(linear={"p": [1.0, 2.0, 3.0]})
    program.zero("fixed", {"x": 1.0}, -x)
    program.rotated("cone", ({"p": 1.0}, 0.0), ({}, np.full(3, 2.0)), ({"x": 1.0}, 0.0))
    solution = program.solve()
    p, (mp, mq, mx) = solution.values["p"], solution.multipliers["cone"]
    np.testing.assert_allclose(p, x**2 / 2, atol=1e-6)
    np.testing.assert_allclose(mp, [1.0, 2.0, 3.0], rtol=1e-6)
    np.testing.assert_allclose(mp * p + 2 * mq + mx * x, 0, atol=1e-6)


def test_an_infeasible_program_is_a_clear_error():
    program = ConicProgram(x=1)
    program.nonnegative("up", {"x": 1.0}, -1.0)
    program.nonnegative("down", {"x": -1.0}, 0.0)
    with pytest.raises(ConicSolverError, match="PrimalInfeasible"):
        program.solve()


def test_attempts_stop_at_the_first_that_converges_and_else_the_best_is_kept():
    good, fair, poor = result(0.0, True), result(0.1, False), result(0.5, False)
    assert best_of([lambda: poor, fail, lambda: good, lambda: pytest.fail("one too many")]) is good
    assert best_of([lambda: poor, lambda: fair, fail]) is fair
    with pytest.raises(ConicSolverError, match=r"no scaling.*singular; singular"):
        best_of([fail, fail])


@pytest.mark.parametrize("seed", range(5))
def test_best_intercept_beats_every_kink(seed):
    rng = np.random.default_rng(seed)
    u, y, c = rng.normal(size=30), np.sign(rng.normal(size=30)), rng.uniform(0.1, 2, size=30)
    values = [hinge(y * (u + b), c) for b in y - u]
    assert hinge(y * (u + best_intercept(u, y, c)), c) <= min(values) * (1 + 1e-12)


@pytest.mark.parametrize("label", [-1.0, 1.0])
def test_best_intercept_of_one_class_has_no_loss(label):
    u = np.array([0.5, -2.0, 1.0])
    y = np.full(3, label)
    assert hinge(y * (u + best_intercept(u, y, np.ones(3))), np.ones(3)) == 0.0


def test_balanced_never_grows_a_component():
    theta = np.random.default_rng(0).normal(size=20) + 0.3
    moved = balanced(theta, True)
    assert abs(moved.sum()) < 1e-12
    assert (np.abs(moved) <= np.abs(theta)).all()
    assert balanced(theta, False) is theta
    assert not balanced(np.ones(3), True).any()


@pytest.mark.parametrize("n", [2, 3, 50, 400])
@pytest.mark.parametrize("share", [0.0, 0.5, 0.99, 1.0])
def test_far_pairs_finds_the_farthest(n, share, monkeypatch):
    monkeypatch.setattr("radiusmargin.solvers.conic.active_set.BLOCK", 1000)
    V = np.random.default_rng(n).normal(size=(n, 4)) + 7.0
    D = ((V[:, None] - V[None]) ** 2).sum(-1)
    pairs, distances = far_pairs(V, share * D.max(), limit=4)
    if share == 1.0:
        assert len(pairs) == 0
        return
    np.testing.assert_allclose(distances[0], D.max())
    np.testing.assert_allclose(distances, D[tuple(pairs.T)])
    assert (distances > share * D.max()).all()
    assert len(np.unique(pairs)) == pairs.size <= 8


def test_extreme_pairs_span_each_feature():
    X = np.random.default_rng(0).normal(size=(30, 5))
    pairs = extreme_pairs(X)
    np.testing.assert_allclose(np.abs(X[pairs[:, 0]] - X[pairs[:, 1]]).max(axis=0), np.ptp(X, axis=0))


@pytest.mark.parametrize("weight", [[0.0, 0.0], [1.0, -1.0], [1.0, np.nan]])
def test_bad_weights(weight):
    with pytest.raises(ValueError, match="sample_weight"):
        prepare([[0.0], [1.0]], [-1, 1], 1.0, weight, True)
