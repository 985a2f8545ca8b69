"""Powers on the range, whitening, semi-whitening and the geometric mean."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal

from radiusmargin.scatter import geometric_mean, matrix_power, range_basis, scatter_matrix, semi_whitening, whitening


def definite(rng, d, condition=1e3):
    Q = np.linalg.qr(rng.normal(size=(d, d)))[0]
    return (Q * np.geomspace(1.0, condition, d)) @ Q.T


@pytest.fixture
def rng():
    return np.random.default_rng(1)


@pytest.fixture
def deficient(rng):
    """Scatter of rank 3 in 6 dimensions."""
    return scatter_matrix(rng.normal(size=(4, 6)) + 10.0)


def test_powers_add_up(rng):
    S = definite(rng, 5)
    assert_allclose(matrix_power(S, 0.3) @ matrix_power(S, 0.7), S, rtol=1e-10, atol=1e-10)
    assert_allclose(matrix_power(S, -1), np.linalg.inv(S), rtol=1e-9, atol=1e-12)
    assert_allclose(matrix_power(S, 2), S @ S, rtol=1e-10, atol=1e-8)


def test_the_null_space_stays_null(deficient):
    assert_allclose(matrix_power(deficient, -1), np.linalg.pinv(deficient, rcond=1e-10), atol=1e-12)
    projection = matrix_power(deficient, 0)
    assert_allclose(projection @ projection, projection, rtol=0.0, atol=1e-12)
    assert np.trace(projection) == pytest.approx(3.0)
    assert_allclose(projection @ deficient, deficient, rtol=0.0, atol=1e-10)


@pytest.mark.parametrize("scale", [1e-12, 1.0, 1e12])
def test_range_basis_keeps_the_rank_at_every_scale(deficient, scale):
    values, vectors = range_basis(scale * deficient)
    assert values.shape == (3,)
    assert (np.diff(values) <= 0.0).all()
    assert_allclose(vectors.T @ vectors, np.eye(3), rtol=0.0, atol=1e-13)
    assert_allclose((vectors * values) @ vectors.T, scale * deficient, rtol=0.0, atol=1e-12 * values[0])
    assert (vectors[np.abs(vectors).argmax(axis=0), range(3)] > 0.0).all()


def test_range_basis_tolerance_is_relative_to_the_largest_eigenvalue():
    S = np.diag([1.0, 1e-4, 1e-6])
    assert range_basis(S)[0].size == 3
    assert range_basis(S, 1e-5)[0].size == 2
    assert range_basis(np.zeros((2, 2)))[0].size == 0


def test_powers_are_symmetric_to_the_last_bit(rng):
    for p in (-1.0, -0.5, 0.25, 1.0):
        P = matrix_power(definite(rng, 7), p)
        assert_array_equal(P, P.T)


@pytest.mark.parametrize("p", [0.0, 0.5, 1.0])
def test_whitened_rows_have_the_scatter_to_one_minus_p(rng, p):
    X = rng.normal(size=(50, 4)) @ rng.normal(size=(4, 4))
    S = scatter_matrix(X)
    assert_allclose(scatter_matrix(X @ whitening(S, p)), matrix_power(S, 1.0 - p), rtol=1e-9, atol=1e-9)


def test_whitening_of_deficient_data_is_a_projection(deficient):
    L = whitening(deficient)
    assert_allclose(L @ deficient @ L, matrix_power(deficient, 0), rtol=0.0, atol=1e-9)


def test_semi_whitening_minimises_the_bound_of_theorem_4(rng):
    S, rho, w_norm = definite(rng, 4), 0.3, 2.5
    M0 = semi_whitening(S, rho=rho, w_norm=w_norm)

    def bound(M):
        return 0.5 * w_norm**2 * np.trace(np.linalg.inv(M)) + rho * np.trace(M @ S)

    # stationary, -|w|^2/2 M^{-2} + rho S = 0: this fixes the scale that the print has wrong (E9, E10)
    inverse = np.linalg.inv(M0)
    assert_allclose(0.5 * w_norm**2 * inverse @ inverse, rho * S, rtol=1e-9, atol=1e-9)
    assert bound(M0) < min(bound(M0 * 1.01), bound(M0 / 1.01))
    printed = np.sqrt(rho) / w_norm * matrix_power(S, -0.5)
    assert bound(M0) < bound(printed)


def test_semi_whitening_is_whitening_to_one_half(rng):
    S = definite(rng, 4)
    L = matrix_power(semi_whitening(S, rho=0.5, w_norm=1.0), 0.5)
    assert_allclose(L, whitening(S, 0.5), rtol=1e-10, atol=1e-12)


@given(seed=st.integers(0, 10_000), d=st.integers(1, 8), log_condition=st.floats(0.0, 5.0))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_geometric_mean_identities(seed, d, log_condition):
    """Identity G1."""
    rng = np.random.default_rng(seed)
    A, B = definite(rng, d, 10.0**log_condition), 1e-3 * definite(rng, d, 10.0**log_condition)
    G = geometric_mean(A, B)
    atol = 1e-9 * np.abs(G).max()
    assert_array_equal(G, G.T)
    assert_allclose(G, geometric_mean(B, A), rtol=1e-8, atol=atol)
    assert_allclose(G @ np.linalg.solve(A, G), B, rtol=1e-6, atol=1e-8 * np.abs(B).max())
    T = rng.normal(size=(d, d)) + 3.0 * np.eye(d)
    congruent = T @ G @ T.T
    assert_allclose(geometric_mean(T @ A @ T.T, T @ B @ T.T), congruent, rtol=0.0, atol=1e-7 * np.abs(congruent).max())


def test_geometric_mean_anchors(rng):
    A, B = definite(rng, 5), definite(rng, 5)
    assert_allclose(geometric_mean(A, A), A, rtol=1e-10, atol=1e-10)
    assert_allclose(geometric_mean(A, np.eye(5)), matrix_power(A, 0.5), rtol=1e-10, atol=1e-10)
    assert_allclose(geometric_mean(A, np.linalg.inv(A)), np.eye(5), rtol=0.0, atol=1e-9)
    assert_allclose(geometric_mean(4.0 * A, 9.0 * B), 6.0 * geometric_mean(A, B), rtol=1e-10, atol=1e-10)
    half, inverse = matrix_power(A, 0.5), matrix_power(A, -0.5)
    definition = half @ matrix_power(inverse @ B @ inverse, 0.5) @ half
    assert_allclose(geometric_mean(A, B), definition, rtol=1e-9, atol=1e-9)


def test_geometric_mean_gives_the_metric_of_smoothed_f_svm(rng):
    """Identity F10: M T M = Q, with Q almost singular: the M-step of smoothed F-SVM."""
    T, w = definite(rng, 6, 1e4), rng.normal(size=6)
    Q = np.outer(w, w) + 1e-8 * np.eye(6)
    M = geometric_mean(np.linalg.inv(T), Q)
    assert_allclose(M @ T @ M, Q, rtol=0.0, atol=1e-9 * np.abs(Q).max())
    root = matrix_power(T, 0.5)
    nuclear = np.linalg.svd(root @ np.column_stack([w, 1e-4 * np.eye(6)]), compute_uv=False).sum()
    assert np.trace(M @ T) == pytest.approx(nuclear, rel=1e-8)


def test_geometric_mean_inverts_the_better_conditioned_matrix(rng):
    """G B^{-1} G = A to the last digits although A is all but singular, in either order of the arguments."""
    A, B = definite(rng, 8, 1e12), definite(rng, 8, 10.0)
    for G in (geometric_mean(A, B), geometric_mean(B, A)):
        assert_allclose(G @ np.linalg.solve(B, G), A, rtol=0.0, atol=1e-13 * np.abs(A).max())


def test_geometric_mean_bears_very_different_scales(rng):
    """Congruence with a diagonal matrix of condition 1e12 costs nothing."""
    A, B, D = definite(rng, 4, 10.0), definite(rng, 4, 10.0), np.geomspace(1e-6, 1e6, 4)
    G = geometric_mean(A * np.outer(D, D), B * np.outer(D, D))
    assert_allclose(G / np.outer(D, D), geometric_mean(A, B), rtol=1e-11)


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: matrix_power([[1.0, 2.0]], 1), "S must be a square matrix"),
        (lambda: matrix_power([[1.0, 0.5], [0.0, 1.0]], 1), "S must be symmetric"),
        (lambda: matrix_power([[1.0, 0.0], [0.0, -1.0]], 1), "S must be positive semi-definite"),
        (lambda: matrix_power([[-1.0]], 1), "S must be positive semi-definite"),
        (lambda: matrix_power([[np.nan]], 1), "S contains NaN or infinity"),
        (lambda: matrix_power([[1.0]], np.nan), "p must be a number in"),
        (lambda: range_basis([[1.0]], 1.0), r"rtol must be a number in \[0, 1\), got 1.0"),
        (lambda: whitening([[1.0]], 1.5), r"p must be a number in \[0, 1\], got 1.5"),
        (lambda: semi_whitening([[1.0]], rho=0.0), r"rho must be a number in \(0, inf\), got 0.0"),
        (lambda: semi_whitening([[1.0]], w_norm="big"), r"w_norm must be a number in \(0, inf\), got 'big'"),
        (lambda: geometric_mean(np.eye(2), np.eye(3)), "A and B must have the same shape"),
        (lambda: geometric_mean(np.eye(2), np.zeros((2, 2))), "B must be positive definite"),
        (lambda: geometric_mean([[1.0, 2.0], [2.0, 1.0]], np.eye(2)), "A must be positive definite"),
    ],
)
def test_bad_input_names_the_parameter(call, message):
    with pytest.raises(ValueError, match=message):
        call()


def test_a_diagonal_matrix_is_its_own_decomposition():
    S = np.diag([2.0, 0.0, 5.0, 1e-3])
    S[0, 2] = S[2, 0] = 1e-16  # within rounding of diagonal
    values, vectors = range_basis(S)
    assert values.tolist() == [5.0, 2.0, 1e-3]
    np.testing.assert_array_equal(vectors, np.eye(4)[:, [2, 0, 3]])
