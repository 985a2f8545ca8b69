"""Scatter matrices: the definition, weights as repetitions, sparse as dense."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from numpy.testing import assert_allclose, assert_array_equal
from scipy import sparse

from radiusmargin.scatter import scatter_matrix, tempered_scatter


@pytest.fixture
def rng():
    return np.random.default_rng(0)


def by_definition(X, weight):
    mean = weight @ X / weight.sum()
    return sum(s * np.outer(x - mean, x - mean) for s, x in zip(weight, X, strict=True))


def test_total_scatter_is_the_sum_of_outer_products(rng):
    X, weight = rng.normal(size=(30, 4)), rng.uniform(size=30)
    assert_allclose(scatter_matrix(X), by_definition(X, np.ones(30)), rtol=1e-12, atol=1e-12)
    assert_allclose(scatter_matrix(X, sample_weight=weight), by_definition(X, weight), rtol=1e-12, atol=1e-12)


def test_many_blocks_give_the_same_as_one_product(rng):
    X = rng.normal(size=(10_000, 7))
    Z = X - X.mean(axis=0)
    assert_allclose(scatter_matrix(X), Z.T @ Z, rtol=1e-11, atol=1e-9)


@pytest.mark.parametrize("kind", ["total", "within"])
@pytest.mark.parametrize("container", [np.asarray, sparse.csr_matrix, sparse.csc_array])
def test_integer_weights_are_repeated_rows(rng, kind, container):
    X, y, counts = rng.normal(size=(40, 5)), rng.integers(3, size=40), rng.integers(4, size=40)
    weighted = scatter_matrix(container(X), y, sample_weight=counts, kind=kind)
    repeated = scatter_matrix(container(np.repeat(X, counts, axis=0)), np.repeat(y, counts), kind=kind)
    assert_allclose(weighted, repeated, rtol=1e-12, atol=1e-12)


def test_within_scatter_adds_up_the_classes(rng):
    X, y = rng.normal(size=(30, 3)), np.array(["red", "green", "blue"])[rng.integers(3, size=30)]
    expected = sum(scatter_matrix(X[y == label]) for label in np.unique(y))
    assert_allclose(scatter_matrix(X, y, kind="within"), expected, rtol=1e-13)


def test_total_is_within_plus_between(rng):
    X, y = rng.normal(size=(50, 3)) + 5.0, rng.integers(4, size=50)
    counts = np.bincount(y)
    centroids = np.array([X[y == k].mean(axis=0) for k in range(4)])
    between = scatter_matrix(centroids, sample_weight=counts)
    assert_allclose(scatter_matrix(X), scatter_matrix(X, y, kind="within") + between, rtol=1e-12, atol=1e-12)


@pytest.mark.parametrize("kind", ["total", "within"])
def test_sparse_equals_dense_and_does_not_densify(rng, kind, monkeypatch):
    X = sparse.random_array((200, 6), density=0.2, random_state=rng, format="csr")
    y, weight = rng.integers(2, size=200), rng.uniform(size=200)
    expected = scatter_matrix(X.toarray(), y, sample_weight=weight, kind=kind)
    dense = sparse.csr_array.toarray

    def small_only(self, *args, **kwargs):
        assert self.shape[0] <= 6, "the rows were densified"
        return dense(self, *args, **kwargs)

    monkeypatch.setattr(sparse.csr_array, "toarray", small_only)
    assert_allclose(scatter_matrix(X, y, sample_weight=weight, kind=kind), expected, rtol=0.0, atol=1e-12)


def test_a_large_mean_costs_no_digits(rng):
    X = np.round(rng.normal(size=(500, 3)) * 64.0) / 64.0  # exactly representable after the shift as well
    assert_allclose(scatter_matrix(X + 2.0**40), scatter_matrix(X), rtol=1e-10, atol=1e-9)


@given(seed=st.integers(0, 10_000), n=st.integers(1, 60), d=st.integers(1, 8))
@settings(max_examples=40, deadline=None, derandomize=True)
def test_symmetric_to_the_last_bit_and_semi_definite(seed, n, d):
    rng = np.random.default_rng(seed)
    X, weight = rng.normal(size=(n, d)) * 10.0 ** rng.uniform(-3, 3, size=d), rng.uniform(0.1, 1.0, size=n)
    for S in (scatter_matrix(X, sample_weight=weight), scatter_matrix(sparse.csr_array(X))):
        assert_array_equal(S, S.T)
        assert np.linalg.eigvalsh(S).min() >= -1e-10 * np.trace(S)


@pytest.mark.parametrize("container", [np.asarray, sparse.csr_array])
def test_constant_columns_have_exact_zeros(rng, container):
    X = np.column_stack([rng.normal(size=1001), np.full(1001, 0.1), np.full(1001, 1e8 / 3.0)])
    S = scatter_matrix(container(X), sample_weight=rng.uniform(size=1001))
    assert S[0, 0] > 1.0
    assert_array_equal(S[1:], 0.0)
    assert_array_equal(S[:, 1:], 0.0)


def test_a_row_of_weight_zero_is_not_there(rng):
    X = rng.normal(size=(10, 2))
    X[3] = 1e12
    weight = np.ones(10)
    weight[3] = 0.0
    assert_array_equal(scatter_matrix(X, sample_weight=weight), scatter_matrix(np.delete(X, 3, axis=0)))


def test_float32_and_lists_are_accumulated_in_double(rng):
    X = rng.normal(size=(20, 3)).astype(np.float32)
    S = scatter_matrix(X)
    assert S.dtype == np.float64
    assert_allclose(scatter_matrix(X.tolist()), S, rtol=1e-14)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": [[1.0, np.nan]]}, "X contains NaN or infinity"),
        ({"X": [[1.0, np.inf]]}, "X contains NaN or infinity"),
        ({"X": sparse.csr_array([[1.0, np.nan]])}, "X contains NaN or infinity"),
        ({"X": [1.0, 2.0]}, "X must be two-dimensional"),
        ({"X": np.empty((0, 2))}, "X must have at least one row"),
        ({"X": [["a", "b"]]}, "X must be numeric"),
        ({"X": [[1.0]], "kind": "between"}, "kind must be one of 'total', 'within', got 'between'"),
        ({"X": [[1.0]], "kind": "within"}, "y must hold the class labels"),
        ({"X": [[1.0]], "kind": "within", "y": [1, 2]}, r"y must have shape \(1,\), got \(2,\)"),
        ({"X": [[1.0], [2.0]], "sample_weight": [1.0, -2.0]}, "sample_weight must not be negative"),
        ({"X": [[1.0], [2.0]], "sample_weight": [1.0]}, r"sample_weight must have shape \(2,\)"),
        ({"X": [[1.0], [2.0]], "sample_weight": [0.0, 0.0]}, "sample_weight must be above zero for at least 1"),
    ],
)
def test_bad_input_names_the_parameter(arguments, message):
    with pytest.raises(ValueError, match=message):
        scatter_matrix(**arguments)


def test_a_tempered_scatter_takes_lists_and_names_what_is_wrong():
    X = [[0.0, 1.0], [2.0, 5.0], [4.0, 3.0]]
    assert_array_equal(tempered_scatter(X).matrix(1.0), tempered_scatter(np.array(X)).matrix(1.0))
    with pytest.raises(ValueError, match="X contains NaN or infinity"):
        tempered_scatter([[np.nan, 1.0], [2.0, 5.0]])
    with pytest.raises(ValueError, match="y must hold the class labels"):
        tempered_scatter(X, kind="within")
