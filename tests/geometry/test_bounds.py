"""The bound chain of the radius (errata E2 to E6) and the farthest pair."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose
from scipy import sparse
from scipy.spatial.distance import pdist

from radiusmargin import geometry as diameter
from radiusmargin.geometry import farthest_pair, radius_bounds


def assert_chain(bounds):
    slack = 1e-12 * bounds.Rbar
    for lower, upper in (
        bounds.mean_interval,
        bounds.jung_interval,
        bounds.feature_interval,
        bounds.interval,
    ):
        assert lower <= bounds.R + slack
        assert bounds.ball.lower_bound <= upper + slack


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(1, 40),
    d=st.integers(1, 20),
    power=st.sampled_from([1, 3]),
    weighted=st.booleans(),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_the_bound_chain_holds(seed, n, d, power, weighted):
    """Identities B1, B2 and B3."""
    rng = np.random.default_rng(seed)
    X = rng.normal(size=(n, d)) ** power
    assert_chain(radius_bounds(X, rng.dirichlet(np.ones(d)) if weighted else None))


@pytest.mark.parametrize("n", [2, 3, 10, 1000])
def test_theorem_1_is_sharp(n):
    """Identity B1, erratum E4: n - 1 points at zero and one at one attain Rbar = 2 (1 - 1/n) R."""
    X = np.zeros((n, 1))
    X[-1] = 1.0
    bounds = radius_bounds(X)
    assert pytest.approx(0.5, rel=1e-14) == bounds.R
    assert bounds.Rbar == pytest.approx(1.0 - 1.0 / n, rel=1e-13)
    assert bounds.mean_interval[0] == pytest.approx(bounds.R, rel=1e-13)


@pytest.mark.parametrize("d", [1, 5, 13, 14, 20, 60])
def test_the_regular_simplex_attains_jung_and_refutes_the_printed_constant(d):
    """Identity B2, erratum E5: (1 + sqrt 3)/2 fails from d = 14 on."""
    bounds = radius_bounds(np.eye(d + 1))
    assert pytest.approx(np.sqrt(0.5), rel=1e-14) == bounds.R_O
    assert bounds.jung_interval[1] == pytest.approx(bounds.R, rel=1e-12)
    assert ((1.0 + np.sqrt(3.0)) / 2.0 * bounds.R_O < bounds.R) == (d >= 14)


def test_radii_are_unsquared():
    """Erratum E2: with the printed, squared Rbar Theorem 1 would read 50 <= 10."""
    bounds = radius_bounds([[-10.0, 0.0], [10.0, 0.0]])
    assert (bounds.R, bounds.Rbar, bounds.R_O) == (10.0, 10.0, 10.0)


def test_neither_upper_bound_dominates():
    """E6: in one dimension that of MR-SVM is exact, on a sphere that of the mean."""
    line = radius_bounds([[0.0], [0.0], [1.0]])
    assert line.feature_interval[1] == line.R < line.Rbar
    square = radius_bounds([[1.0, 0.0], [-1.0, 0.0], [0.0, 1.0], [0.0, -1.0]])
    assert square.Rbar == pytest.approx(square.R)
    assert square.Rbar < square.feature_interval[1]


def test_feature_weights_enter_by_their_root():
    """E8: sum_k mu_k R_k^2 bounds the radius after D_sqrt(mu)."""
    X, mu = np.random.default_rng(0).normal(size=(30, 4)), np.array([0.1, 0.0, 0.5, 0.4])
    weighted, plain = radius_bounds(X, mu), radius_bounds(X)
    assert_allclose(weighted.R_k**2, mu * plain.R_k**2, rtol=1e-13)
    assert pytest.approx(radius_bounds(X * np.sqrt(mu)).R, rel=1e-14) == weighted.R
    assert weighted.feature_interval[1] ** 2 == pytest.approx(mu @ plain.R_k**2)


def test_one_point():
    bounds = radius_bounds([[3.0, 4.0]])
    assert (bounds.R, bounds.Rbar, bounds.R_O) == (0.0, 0.0, 0.0)
    assert bounds.interval == (0.0, 0.0)


@given(
    seed=st.integers(0, 10_000),
    n=st.integers(2, 60),
    d=st.integers(1, 10),
    shape=st.sampled_from(["normal", "sphere", "lattice", "outlier"]),
    blocks=st.sampled_from([(256, 4096), (3, 5)]),
)
@settings(max_examples=100, deadline=None, derandomize=True)
def test_farthest_pair_is_the_maximum_over_all_pairs(seed, n, d, shape, blocks):
    X = np.random.default_rng(seed).normal(size=(n, d)) + 5.0
    if shape == "sphere":
        X /= np.linalg.norm(X, axis=1, keepdims=True)
    elif shape == "lattice":
        X = np.round(X)
    elif shape == "outlier":
        X[0] += 1e4
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(diameter, "_BLOCK_ROWS", blocks[0])
        patch.setattr(diameter, "_BLOCK_COLUMNS", blocks[1])
        i, j, distance = farthest_pair(X)
    assert distance == pytest.approx(pdist(X).max(), rel=1e-12)
    assert distance == pytest.approx(np.linalg.norm(X[i] - X[j]), rel=1e-12)
    assert 0 <= i < j < n


@pytest.mark.parametrize("seed", range(8))
def test_pruning_loses_no_pair(seed, monkeypatch):
    """Uniform points: the first guess is mostly wrong, and the pair lies a few rows down the order."""
    monkeypatch.setattr(diameter, "_BLOCK_ROWS", 1)
    monkeypatch.setattr(diameter, "_BLOCK_COLUMNS", 7)
    X = np.random.default_rng(seed).uniform(-1.0, 1.0, size=(200, 6))
    assert farthest_pair(X)[2] == pytest.approx(pdist(X).max(), rel=1e-12)


def test_farthest_pair_of_equal_points():
    assert farthest_pair([[1.0, 2.0]]) == (0, 0, 0.0)
    i, j, distance = farthest_pair(np.full((3, 2), 0.1))
    assert i < j
    assert distance == 0.0


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: radius_bounds([[1.0, 2.0]], mu=[1.0]), r"mu must have shape \(2,\), got \(1,\)"),
        (lambda: radius_bounds([[1.0]], mu=[-1.0]), "mu must not be negative, got a minimum of -1"),
        (lambda: radius_bounds([[np.inf]]), "X contains NaN or infinity"),
        (lambda: farthest_pair([1.0, 2.0]), "X must be two-dimensional"),
        (lambda: farthest_pair(sparse.eye_array(3)), "X must be a dense array"),
    ],
)
def test_bad_input_names_the_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()
