"""Radius, margin and ratio before and after a transformation."""

import numpy as np
import pytest
from numpy.testing import assert_allclose

from radiusmargin.geometry import minimum_enclosing_ball, radius_margin
from radiusmargin.scatter import scatter_matrix, whitening


@pytest.fixture
def rng():
    return np.random.default_rng(2)


def test_before_is_the_identity_metric(rng):
    X, w = rng.normal(size=(30, 3)), np.array([3.0, 0.0, 4.0])
    report = radius_margin(X, w)
    assert report.before.radius == minimum_enclosing_ball(X).radius
    assert report.before.margin == pytest.approx(0.2)
    assert report.before.ratio == pytest.approx(25.0 * report.before.radius**2)
    assert report.after == report.before
    assert report.residual == 0.0


def test_after_measures_the_weight_in_the_learned_metric(rng):
    """||v||^2 = w'M^{-1}w with M = L'L, the first term of Eq. 12."""
    X, w, L = rng.normal(size=(40, 4)), rng.normal(size=4), rng.normal(size=(4, 4))
    report = radius_margin(X, w[None, :], components=L)
    assert report.after.margin**-2 == pytest.approx(w @ np.linalg.solve(L.T @ L, w), rel=1e-9)
    assert report.after.radius == pytest.approx(minimum_enclosing_ball(X @ L.T).radius, rel=1e-12)
    assert report.residual < 1e-12


def test_a_scaled_or_rotated_space_has_the_same_ratio(rng):
    X, w = rng.normal(size=(40, 3)), rng.normal(size=3)
    Q = np.linalg.qr(rng.normal(size=(3, 3)))[0]
    report = radius_margin(X, w, components=17.0 * Q)
    assert report.after.ratio == pytest.approx(report.before.ratio, rel=1e-10)
    assert report.after.radius == pytest.approx(17.0 * report.before.radius, rel=1e-10)


def test_whitening_makes_the_ratio_invariant_to_affine_maps(rng):
    """F3: after whitening, x -> Tx + t changes nothing."""
    X, w, T = rng.normal(size=(40, 3)), rng.normal(size=3), rng.normal(size=(3, 3))
    moved, moved_w = X @ T.T + 5.0, np.linalg.solve(T.T, w)
    plain = radius_margin(X, w, components=whitening(scatter_matrix(X)))
    after = radius_margin(moved, moved_w, components=whitening(scatter_matrix(moved)))
    assert after.after.ratio == pytest.approx(plain.after.ratio, rel=1e-8)
    assert after.before.ratio != pytest.approx(plain.before.ratio, rel=1e-2)


def test_the_rank_one_metric_of_f_svm_keeps_only_the_spread_along_w(rng):
    """Finding 5: with M ~ ww' the radius is half of the range of w'x."""
    X, w = rng.normal(size=(50, 4)), rng.normal(size=4)
    report = radius_margin(X, w, components=w[None, :])
    assert report.after.margin == pytest.approx(1.0, rel=1e-12)
    assert report.after.radius == pytest.approx(np.ptp(X @ w) / 2.0, rel=1e-12)
    assert report.after.ratio < report.before.ratio


def test_the_weight_of_smallest_norm_is_meant(rng):
    X, w = rng.normal(size=(20, 2)), np.array([1.0, 2.0])
    doubled = radius_margin(X, w, components=np.vstack([np.eye(2), np.eye(2)]))
    assert doubled.after.margin == pytest.approx(np.sqrt(2.0) * doubled.before.margin, rel=1e-12)
    assert doubled.after.ratio == pytest.approx(doubled.before.ratio, rel=1e-10)


def test_a_weight_outside_the_transformation_leaves_a_residual(rng):
    report = radius_margin(rng.normal(size=(20, 2)), [3.0, 4.0], components=[[1.0, 0.0]])
    assert report.residual == pytest.approx(0.8)
    assert report.after.margin == pytest.approx(1.0 / 3.0)


def test_a_zero_weight_has_infinite_margin(rng):
    report = radius_margin(rng.normal(size=(20, 2)), np.zeros(2), components=np.eye(2))
    assert_allclose([report.before.margin, report.after.margin], np.inf)
    assert (report.before.ratio, report.after.ratio, report.residual) == (0.0, 0.0, 0.0)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"coef": [1.0]}, r"coef must have shape \(2,\), got \(1,\)"),
        ({"coef": np.ones((3, 2))}, r"coef must have shape \(2,\), got \(3, 2\)"),
        ({"coef": [1.0, np.nan]}, "coef contains NaN or infinity"),
        ({"coef": [1.0, 1.0], "components": np.eye(3)}, "components must have 2 columns"),
        ({"coef": [1.0, 1.0], "components": [1.0, 1.0]}, "components must be two-dimensional"),
    ],
)
def test_bad_input_names_the_parameter(arguments, message):
    with pytest.raises(ValueError, match=message):
        radius_margin([[0.0, 1.0], [2.0, 2.0]], **arguments)
