"""The minimum enclosing ball: anchors, certificate, oracle, degenerate points."""

from itertools import product

import cvxpy as cp
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from radiusmargin.geometry import minimum_enclosing_ball, solve_small_ball


def assert_certified(ball, X, tol=1e-9):
    """What the result promises, recomputed from the points alone."""
    spread = np.abs(X - X[0]).max()
    slack = 1e-12 * spread + 4.0 * np.finfo(float).eps * np.abs(X).max()
    A = X[ball.support] - X[0]  # centred: the formula cancels otherwise
    dual = ball.weights @ (A**2).sum(axis=1) - ((ball.weights @ A) ** 2).sum()
    assert (ball.weights > 0.0).all()
    assert ball.weights.sum() == pytest.approx(1.0, abs=1e-14)
    assert ball.support.size == np.unique(ball.support).size <= X.shape[1] + 1
    assert np.linalg.norm(X - ball.center, axis=1).max() == pytest.approx(ball.radius, rel=1e-11, abs=slack)
    assert_allclose(ball.weights @ X[ball.support], ball.center, rtol=1e-12, atol=slack)
    assert ball.lower_bound**2 == pytest.approx(dual, rel=1e-9, abs=slack**2)
    assert ball.lower_bound <= ball.radius
    assert ball.gap == pytest.approx((ball.radius - ball.lower_bound) / ball.radius if ball.radius else 0.0)
    assert ball.converged
    assert ball.gap <= tol


def test_three_points():
    """Identity B4."""
    ball = minimum_enclosing_ball([[0.0, 1.0], [2.0, 2.0], [1.0, 1.0]])
    assert ball.radius == pytest.approx(np.sqrt(5.0) / 2.0, rel=1e-15)
    assert_allclose(ball.center, [1.0, 1.5])
    assert_array_equal(ball.support, [0, 1])
    assert_allclose(ball.weights, [0.5, 0.5])


@pytest.mark.parametrize("d", [1, 2, 3, 14, 60])
def test_regular_simplex(d):
    """Identity B4."""
    ball = minimum_enclosing_ball(np.eye(d + 1))
    assert ball.radius == pytest.approx(np.sqrt(d / (d + 1.0)), rel=1e-13)
    assert_allclose(ball.weights, 1.0 / (d + 1.0), rtol=1e-10)


def test_antipodal_pair():
    """Identity B4."""
    x = np.array([1.0, -2.0, 2.0])
    ball = minimum_enclosing_ball(np.array([x, -x, 0.3 * x, [0.1, 0.2, 0.3]]))
    assert ball.radius == pytest.approx(3.0, rel=1e-15)
    assert_allclose(ball.center, 0.0, rtol=0.0, atol=1e-15)


@pytest.mark.parametrize("d", [2, 3, 6])
def test_vertices_of_the_cube_all_lie_on_one_sphere(d):
    """Identity B4."""
    ball = minimum_enclosing_ball(list(product([0.0, 1.0], repeat=d)))
    assert ball.radius == pytest.approx(np.sqrt(d) / 2.0, rel=1e-14)
    assert_allclose(ball.center, 0.5, rtol=0.0, atol=1e-12)


def test_points_of_no_weight_are_no_support():
    """Many vertices lie on the sphere here, and rounding used to leave one of them a weight of 1e-16."""
    rng = np.random.default_rng(17)
    X = np.sign(rng.normal(size=(rng.integers(4, 40), rng.integers(2, 12))))
    assert minimum_enclosing_ball(X).weights.min() > 1e-12


def test_obtuse_triangle_has_its_longest_edge_as_diameter_and_acute_one_its_circumcircle():
    obtuse = minimum_enclosing_ball([[0.0, 0.0], [4.0, 0.0], [1.0, 1.0]])
    assert_array_equal(obtuse.support, [0, 1])
    acute = minimum_enclosing_ball([[0.0, 0.0], [4.0, 0.0], [2.0, 3.0]])
    assert_array_equal(acute.support, [0, 1, 2])
    assert acute.radius == pytest.approx(13.0 / 6.0)  # abc / (4 area), with sides 4, sqrt 13, sqrt 13


@pytest.mark.parametrize(("n", "d"), [(5, 2), (12, 3), (30, 5), (8, 10)])
def test_agrees_with_clarabel(n, d):
    X = np.random.default_rng(n).normal(size=(n, d)) + 2.0
    center, radius = cp.Variable(d), cp.Variable()
    inside = cp.norm(X - np.ones((n, 1)) @ cp.reshape(center, (1, d), order="C"), axis=1) <= radius
    cp.Problem(cp.Minimize(radius), [inside]).solve(solver=cp.CLARABEL)
    ball = minimum_enclosing_ball(X)
    assert ball.radius == pytest.approx(radius.value, rel=1e-7)
    assert_allclose(ball.center, center.value, rtol=0.0, atol=1e-4)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 30),
    d=st.integers(1, 8),
    shape=st.sampled_from(["normal", "lattice", "signs", "line", "plane", "sphere", "copies", "long"]),
    scale=st.sampled_from([1e-6, 1.0, 1e6]),
)
@settings(max_examples=150, deadline=None, derandomize=True)
def test_certificate_holds_for_points_of_every_shape(seed, n, d, shape, scale):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d))
    shapes = {
        "normal": lambda: X,
        "lattice": lambda: np.round(2.0 * X),
        "signs": lambda: np.sign(X),
        "line": lambda: X[:, :1] * rng.normal(size=d),
        "plane": lambda: X[:, :2] @ rng.normal(size=(min(2, d), d)),
        "sphere": lambda: X / np.linalg.norm(X, axis=1, keepdims=True),
        "copies": lambda: np.repeat(X, 3, axis=0),
        "long": lambda: X * np.geomspace(1.0, 1e5, d),
    }
    points = scale * shapes[shape]()
    assert_certified(minimum_enclosing_ball(points), points)


@pytest.mark.parametrize("d", [2, 3, 5])
def test_a_new_point_in_the_flat_of_the_support_replaces_one_of_it(d):
    """Four points of a plane, three of them the support: no circumcentre, the weights move along a ray."""
    points = np.zeros((4, d))
    points[:, :2] = [[0.0, 0.0], [4.0, 0.0], [2.0, 3.0], [2.0, -10.0]]
    weights = np.array([13.0, 13.0, 10.0]) / 36.0  # of the circumcentre (2, 5/6)
    active, beta = solve_small_ball(points, np.arange(3), weights, 1e-12)
    assert_array_equal(active, [2, 3])
    assert_allclose(beta @ points[active], [2.0, -3.5] + [0.0] * (d - 2), rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("seed", [22, 54, 58, 68, 71])
def test_a_support_of_full_dimension_gives_way_to_a_point_outside(seed):
    """Sets on which the solver stops with a gap of up to 0.11 if it cannot follow a ray."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(rng.integers(4, 40), rng.integers(1, 9)))
    for points in (X, np.round(2.0 * X)):
        assert_certified(minimum_enclosing_ball(points), points)


@pytest.mark.parametrize(("n", "d"), [(5000, 20), (1000, 60), (200, 150)])
def test_larger_sets_are_solved_to_the_gap(n, d):
    X = np.random.default_rng(d).uniform(size=(n, d))
    assert_certified(minimum_enclosing_ball(X), X)


def test_moves_with_the_points():
    rng = np.random.default_rng(5)
    X, Q = rng.normal(size=(40, 4)), np.linalg.qr(rng.normal(size=(4, 4)))[0]
    ball, moved = minimum_enclosing_ball(X), minimum_enclosing_ball(1e3 * X @ Q + 7.0)
    assert moved.radius == pytest.approx(1e3 * ball.radius, rel=1e-12)
    assert_allclose(moved.center, 1e3 * ball.center @ Q + 7.0, rtol=1e-9)
    assert_array_equal(moved.support, ball.support)


@pytest.mark.parametrize("value", [0.0, 0.1, -1e6 / 3.0])
@pytest.mark.parametrize("n", [1, 2, 3, 7, 1001])
def test_equal_points_have_radius_zero(value, n):
    ball = minimum_enclosing_ball(np.full((n, 3), value))
    assert (ball.radius, ball.lower_bound, ball.gap, ball.converged) == (0.0, 0.0, 0.0, True)
    assert_array_equal(ball.center, value)


def test_magnitudes_near_the_ends_of_floating_point():
    X = np.random.default_rng(6).normal(size=(20, 3))
    radius = minimum_enclosing_ball(X).radius
    assert minimum_enclosing_ball(1e-200 * X).radius == pytest.approx(1e-200 * radius, rel=1e-12)
    assert minimum_enclosing_ball(1e200 * X).radius == pytest.approx(1e200 * radius, rel=1e-12)


def test_an_early_stop_encloses_all_points_and_says_so():
    X = np.random.default_rng(7).normal(size=(2000, 30))
    exact, rough = minimum_enclosing_ball(X), minimum_enclosing_ball(X, max_iter=1)
    assert not rough.converged
    assert rough.n_iter == 1
    assert rough.gap > 1e-6
    assert rough.lower_bound <= exact.lower_bound
    assert exact.radius <= rough.radius
    assert np.linalg.norm(X - rough.center, axis=1).max() <= rough.radius * (1.0 + 1e-14)


def test_a_loose_tolerance_is_met_and_not_overdone():
    X = np.random.default_rng(8).uniform(size=(5000, 10))
    exact, loose = minimum_enclosing_ball(X), minimum_enclosing_ball(X, tol=0.05)
    assert loose.converged
    assert 1e-6 < loose.gap <= 0.05
    assert loose.n_iter <= exact.n_iter


def test_the_points_are_left_alone():
    X = np.random.default_rng(9).normal(size=(30, 3))
    X.flags.writeable = False
    minimum_enclosing_ball(X)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[np.nan]]}, "X contains NaN or infinity"),
        ({"X": [1.0]}, "X must be two-dimensional"),
        ({"X": [[1.0]], "tol": 0.0}, r"tol must be a number in \(0, inf\), got 0.0"),
        ({"X": [[1.0]], "max_iter": 0}, "max_iter must be a positive integer, got 0"),
    ],
)
def test_bad_input_names_the_parameter(arguments, message):
    with pytest.raises(ValueError, match=message):
        minimum_enclosing_ball(**arguments)
