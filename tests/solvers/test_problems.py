"""The nouns of a problem: what they say of themselves, and what they refuse."""

from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse

from radiusmargin.solvers import Batch, Dense, Options, Quadratics, Results, Sparse, Start, relative_gap, rows_of, solve

RNG = np.random.default_rng(0)
X = RNG.normal(size=(30, 3))
LABELS = np.where(RNG.random((2, 30)) < 0.5, 1.0, -1.0)
BATCH = Batch(Dense(X), LABELS, np.ones(30), np.array([0.1, 1.0]))


@pytest.mark.parametrize("rows", [Dense(X), Sparse(sparse.csr_array(X))])
def test_every_form_of_rows_says_what_scores_are(rows):
    coef = RNG.normal(size=(4, rows.shape[1]))
    np.testing.assert_allclose(rows.scores(coef), coef @ X.T)


def test_the_form_of_a_matrix():
    assert isinstance(rows_of(X), Dense)
    assert isinstance(rows_of(sparse.csr_array(X)), Sparse)


def test_cells_are_all_combinations_where_none_are_given():
    batch = replace(BATCH, subsets=(np.arange(20), np.arange(30)), regularizers=Quadratics(np.ones((3, 3))), cells=None)
    assert len(batch) == 12
    assert batch.cells[:4].tolist() == [[0, 0, 0], [0, 0, 1], [0, 0, 2], [0, 1, 0]]


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"labels": LABELS[:, :29]}, "labels must have shape"),
        ({"labels": LABELS[0]}, "labels must have shape"),
        ({"weights": np.ones(29)}, "weights must have shape"),
        ({"Cs": np.array(1.0)}, "Cs must be a list"),
        ({"Cs": np.empty(0)}, "Cs must be a list"),
        ({"cells": np.zeros((0, 3), dtype=int)}, "cells must have shape"),
        ({"cells": np.zeros(3, dtype=int)}, "cells must have shape"),
        ({"regularizers": Quadratics(np.ones((1, 4)))}, "regularizers must have shape"),
        (
            {"regularizers": Quadratics(None, np.ones((1, 4)), np.zeros(1))},
            "linear of the regularizers must have shape",
        ),
        ({"regularizers": Quadratics(np.ones((1, 3)), np.ones((1, 3)))}, "come together"),
    ],
)
def test_shapes_that_do_not_fit_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        replace(BATCH, **change)


@pytest.mark.parametrize(
    ("change", "message"),
    [({"tol": 0}, "tol"), ({"tol": "a"}, "tol"), ({"max_iter": 0}, "max_iter"), ({"method": "smo"}, "method must be")],
)
def test_options_that_do_not_fit_are_named(change, message):
    with pytest.raises(ValueError, match=message):
        Options(**change)


def test_threads_of_every_core():
    assert Options(n_threads=None).threads == Options().threads == 1
    assert Options(n_threads=-1).threads >= 1


def test_one_relative_gap_for_numbers_and_arrays():
    """Zero where both values vanish; NaN stays NaN."""
    values = np.array([2.0, 0.0, 1.0, -2.0, np.nan]), np.array([1.0, 0.0, 1.5, -3.0, 1.0])
    expected = [0.5, 0.0, 0.0, 0.5, np.nan]
    np.testing.assert_array_equal(relative_gap(*values), expected)
    np.testing.assert_array_equal([relative_gap(P, D) for P, D in zip(*values, strict=True)], expected)


def test_the_gap_of_an_objective_of_zero():
    zero = np.zeros((1, 1))
    assert Results(np.ones(1), zero[None], zero, zero, zero, zero, zero == 0).gap.tolist() == [[0.0]]


def test_results_by_problem_and_by_C():
    results = solve(replace(BATCH, Cs=np.array([1.0, 0.1])), Options(keep_alpha=True))
    ordered = solve(BATCH, Options(keep_alpha=True))
    np.testing.assert_array_equal(results.at([1, 0]).coef, ordered.coef)
    path = results.of(1)
    assert len(path) == 2
    assert path.coef.shape == (2, 3)
    assert path[0].objective == results[1, 0].objective
    np.testing.assert_array_equal(path[0].alpha, results.alpha[1, 0])


def test_a_start_has_an_intercept_where_the_problem_has():
    coef = np.ones((2, 3))
    assert Start().theta(True) is None
    np.testing.assert_array_equal(Start(coef).theta(True), [[1, 1, 1, 0]] * 2)
    np.testing.assert_array_equal(Start(coef, np.full(2, 5.0)).theta(False), coef)


@pytest.mark.parametrize("place", [-1, 30])
def test_a_row_number_out_of_range_is_named(place):
    with pytest.raises(ValueError, match=r"subsets\[0\] must hold row numbers from 0 to 29"):
        solve(replace(BATCH, subsets=(np.array([0, 1, 2, 3, place]),), cells=None))


@pytest.mark.parametrize("cell", [[1, 0, 0], [0, 2, 0], [0, 0, 1], [0, -1, 0]])
def test_a_cell_out_of_range_is_named(cell):
    with pytest.raises(ValueError, match="cells must hold numbers"):
        replace(BATCH, cells=np.array([cell]))


def test_arrays_of_other_types_and_layouts_are_taken_as_they_mean():
    subsets = (np.arange(20), np.arange(10, 30))
    expected = solve(replace(BATCH, subsets=subsets, cells=None))
    batch = Batch(
        Dense(np.asfortranarray(X)), np.asfortranarray(LABELS.astype(int)), np.ones(30, dtype=np.float32),
        np.array([0.1, 1.0]), subsets=tuple(s.astype(np.int32) for s in subsets),
    )  # fmt: skip
    np.testing.assert_allclose(solve(batch).coef, expected.coef, rtol=1e-10)


def test_what_is_no_array_is_named():
    with pytest.raises(ValueError, match=r"subsets\[0\] must be a non-empty list of row numbers"):
        solve(replace(BATCH, subsets=("a",), cells=None))


@pytest.mark.parametrize("dtype", [">f8", "f4", "i8"])
def test_numbers_of_other_types_and_byte_orders_are_converted(dtype):
    X, y = np.array([[0.0], [1.0], [3.0], [5.0]]), np.array([[-1.0, -1.0, 1.0, 1.0]])
    weights, Cs = np.array([1.0, 2.0, 1.0, 3.0]), np.array([1.0, 8.0])
    expected = solve(Batch(Dense(X), y, weights, Cs))
    found = solve(Batch(Dense(X), y.astype(dtype), weights.astype(dtype), Cs.astype(dtype)))
    np.testing.assert_array_equal(found.coef, expected.coef)
