"""The passes themselves: bounds that hold whatever was asked, and answers that do not depend on the chunks."""

from itertools import pairwise

import dask.array as da
import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from radiusmargin import SVM
from radiusmargin.outofcore import ArraySource, ChangedChunkError, Chunk, ReaderSource
from radiusmargin.outofcore.first_pass import Moments
from radiusmargin.outofcore.heuristics import Limits
from radiusmargin.outofcore.queries import NearMarginQuery, NewtonQuery, QueryPass
from radiusmargin.outofcore.solver import ChunkedProblem, Coordinates, first_pass, solve_chunked
from radiusmargin.solvers import Options, hinge_svm

SMALL = Limits(sample_numbers=600, near_numbers=1 << 24)  # a sample that leaves something to find out
TIGHT = Limits(sample_numbers=4_000, near_numbers=600)  # and too few rows to sift


def overlapping(n=4000, d=3, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(n) < 0.4, 1.0, -1.0)
    return rng.standard_normal((n, d)) + 0.5 * y[:, None], y, rng.random(n) + 0.1


def one_problem(summary, C=1.0, B=None, intercept=True):
    shift = summary.pooled(np.ones(2)).mean * intercept
    return ChunkedProblem(np.array([-1.0, 1.0]), np.full(2, C), B, Coordinates(shift), intercept)


def solved(source, limits, **problem):
    summary = first_pass(source, limits)
    return solve_chunked(source, [one_problem(summary, **problem)], summary, Options(1e-7), limits)[0]


@pytest.mark.parametrize("limits", [SMALL, TIGHT])
@pytest.mark.parametrize("C", [1e-3, 1.0, 100.0])
@pytest.mark.parametrize("intercept", [True, False])
def test_passes_end_at_the_solution_of_all_rows(limits, C, intercept):
    X, y, weight = overlapping()
    B = np.array([[2.0, 0.3, 0.0], [0.3, 1.0, 0.1], [0.0, 0.1, 0.5]])
    exact = hinge_svm(X, y, C, B, weight, intercept, tol=1e-9)
    found = solved(ArraySource(X, y, weight, rows=700), limits, C=C, B=B, intercept=intercept)
    assert found.converged
    assert len(found.history) > 1
    assert found.objective == pytest.approx(exact.objective, rel=1e-6)
    assert found.dual_objective <= exact.objective * (1 + 1e-12)
    np.testing.assert_allclose(found.coef, exact.coef, rtol=2e-3, atol=2e-3)
    scores = X @ found.coef + found.intercept
    assert (found.low, found.high) == pytest.approx((scores.min(), scores.max()))


def test_objective_is_that_of_what_is_returned():
    X, y, weight = overlapping()
    found = solved(ArraySource(X + 1e4, y, weight, rows=900), SMALL)
    loss = weight @ np.maximum(0.0, 1.0 - y * ((X + 1e4) @ found.coef + found.intercept))
    excess = found.objective / (0.5 * found.coef @ found.coef + loss) - 1.0
    assert 0.0 <= excess < 1e-10  # the rounding that numbers of 1e4 may have


def test_all_rows_of_a_class_on_the_margin():
    """A rare class that is no match for the other: w = 0, and every other row is on the margin, too many to be sent."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(20_000) % 100 == 0, 1.0, -1.0)
    X = rng.standard_normal((len(y), 4)) + 0.5 * (y[:, None] > 0)
    found = solved(ArraySource(X, y, rows=3_000), Limits(sample_numbers=20_000, near_numbers=10_000), C=1.0)
    assert found.converged
    assert np.abs(found.coef).max() < 1e-3
    assert found.objective == pytest.approx(2.0 * 200, rel=1e-6)


@given(
    coef=st.lists(st.floats(-2, 2), min_size=3, max_size=3), intercept=st.floats(-2, 2), width=st.floats(1e-3, 3.0),
    share=st.sampled_from([0.0, 0.1, 1.0]), rows=st.sampled_from([50, 333, 2000]),
)  # fmt: skip
@settings(max_examples=30, deadline=None)
def test_the_reduced_problem_never_exceeds_that_of_all_rows(coef, intercept, width, share, rows):
    X, y, weight = overlapping(2000)
    source, classes = ArraySource(X, y, weight, rows=rows), np.array([-1.0, 1.0])
    probe = NearMarginQuery(np.array(coef), intercept, classes, np.ones(2), width, share)
    (answer,) = source.reduce(QueryPass((probe,), classes), "test").answers
    Z, labels, costs = answer.reduced()
    assert costs.sum() == pytest.approx(weight.sum())
    np.testing.assert_allclose((labels * costs) @ Z, (y * weight) @ X, atol=1e-8)
    for w in np.random.default_rng(0).standard_normal((5, 3)):
        assert _loss(Z, labels, costs, w) <= _loss(X, y, weight, w) * (1 + 1e-12)
    here = np.array(coef), intercept
    assert answer.loss == pytest.approx(_loss(X, y, weight, *here))
    if share:  # rows are on the side of the margin where their mean is
        assert _loss(Z, labels, costs, *here) == pytest.approx(answer.loss)


def _loss(X, y, costs, w, b=0.2):
    return costs @ np.maximum(0.0, 1.0 - y * (X @ w + b))


def test_slopes_and_curvature_are_derivatives():
    """Of the augmented Lagrangian, by differences."""
    X, y, weight = overlapping(500)
    source, classes, rng = ArraySource(X, y, weight, rows=60), np.array([-1.0, 1.0]), np.random.default_rng(1)
    w, b, dw, db = rng.standard_normal(3), 0.3, rng.standard_normal(3), 0.7
    shift = X.mean(axis=0)

    def answer(w, b, step=None):
        probe = NewtonQuery(w, b, classes, np.ones(2), 0.8, (), shift, step)
        return source.reduce(QueryPass((probe,), classes), "test").answers[0]

    def gradient(at):
        signed = at.sums[0] - at.sums[1]
        return -np.append(signed - (at.totals[0] - at.totals[1]) * shift, at.totals[0] - at.totals[1])

    h = 1e-6
    theta = np.append(dw, db + shift @ dw)
    ahead, behind = (answer(w + s * h * dw, b + s * h * db) for s in (1, -1))
    difference = (gradient(ahead) - gradient(behind)) / (2 * h)
    np.testing.assert_allclose(difference, answer(w, b).gram @ theta, rtol=1e-3)
    end = answer(w + dw, b + db, (dw, db))
    half = answer(w + dw / 2, b + db / 2)
    assert end.slopes[-1] == pytest.approx(gradient(half) @ theta)


@given(sizes=st.lists(st.integers(0, 400), min_size=1, max_size=8), seed=st.integers(0, 5))
@settings(max_examples=25, deadline=None)
def test_moments_and_sample_of_any_chunking(sizes, seed):
    X, y, weight = overlapping(max(sum(sizes), 20), seed=seed)
    edges = np.concatenate([[0], np.cumsum(sizes), [len(y)]])

    def read():
        for start, stop in pairwise(edges):
            yield X[start:stop], y[start:stop], weight[start:stop]

    summary = first_pass(ReaderSource(read), Limits(sample_rows=100))
    found = summary.pooled(np.ones(2))
    mean = weight @ X / weight.sum()
    assert found.rows == len(y)
    np.testing.assert_allclose(found.mean, mean)
    np.testing.assert_allclose(found.scatter, ((X - mean).T * weight) @ (X - mean))
    for label, sample in zip(summary.classes, summary.samples(), strict=True):
        assert 0 < len(sample) <= 50
        own = X[y == label]
        assert (sample.X[:, None] == own).all(axis=2).any(axis=1).all()
        assert len(sample) == min(len(own), len(sample)) if sample.threshold < 1 else len(own)


def test_samples_are_uniform():
    """Every row has the same chance, whatever the size of its chunk."""
    n, edges = 20_000, [0, 100, 5000, 5010, 20_000]
    X, y = np.arange(n, dtype=float)[:, None], np.arange(n) % 2

    def read():
        return ((X[a:b], y[a:b]) for a, b in pairwise(edges))

    drawn = np.concatenate(
        [sample.X[:, 0] for sample in first_pass(ReaderSource(read), Limits(sample_rows=4000)).samples()]
    )
    assert len(drawn) == 4000
    counts = np.histogram(drawn, bins=20, range=(0, n))[0]
    assert ((counts - 200) ** 2 / 200).sum() < 45  # the 0.999 quantile of chi-squared with 19 degrees of freedom


def test_constant_columns_have_no_spread():
    X = np.full((50, 2), 0.1)
    X[:, 1] = np.arange(50)
    parts = Moments.of(X[:20], np.ones(20)).merged(Moments.of(X[20:], np.ones(30)))
    assert parts.trimmed().scatter[0].tolist() == [0.0, 0.0]


def test_results_do_not_depend_on_threads():
    X, y, weight = overlapping()
    one, three = (solved(ArraySource(X, y, weight, threads, rows=300), SMALL) for threads in (1, 3))
    assert (one.coef == three.coef).all()
    assert one.objective == three.objective
    assert one.dual_objective == three.dual_objective


# -- readings that differ ------------------------------------------------------------------------------------------------


def reading(change, at=2):
    """A function that reads the same chunks, but changes one from its second call on."""
    calls = []
    X, y, weight = overlapping()

    def read():
        calls.append(1)
        for i in range(0, len(y), 1000):
            part = [values[i : i + 1000].copy() for values in (X, y, weight)]
            if len(calls) > 1 and i // 1000 == at:
                change(*part)
            yield tuple(part)

    return read


def one_bit(X, y, w):
    X[17, 1] = np.nextafter(X[17, 1], 9.0)


def swapped_entries(X, y, w):
    same = np.flatnonzero(y == y[0])[:2]
    X[same, 0] = X[same[::-1], 0]


def another_label(X, y, w):
    y[5] = -y[5]


def unknown_label(X, y, w):
    y[5] = 7.0


def another_weight(X, y, w):
    w[3] *= 1.5


@pytest.mark.parametrize("change", [one_bit, swapped_entries, another_label, unknown_label, another_weight])
def test_a_chunk_that_changes_is_no_data(change):
    with pytest.raises(ChangedChunkError, match="chunk 2"):
        solved(ReaderSource(reading(change)), SMALL)


def test_a_chunk_that_is_missing_is_noticed():
    X, y, _ = overlapping()
    calls = []

    def read():
        calls.append(1)
        stop = 4000 if len(calls) == 1 else 3000
        return ((X[i : i + 1000], y[i : i + 1000]) for i in range(0, stop, 1000))

    with pytest.raises(ChangedChunkError, match="chunk 3"):
        solved(ReaderSource(read), SMALL)


def test_the_order_of_rows_in_a_chunk_does_not_matter():
    def reverse(X, y, w):
        for values in (X, y, w):
            values[:] = values[::-1].copy()

    assert solved(ReaderSource(reading(reverse)), SMALL).converged


def test_a_reader_that_is_used_up_is_noticed():
    X, y, _ = overlapping()
    parts = iter([(X, y)])
    with pytest.raises(ValueError, match="a new iterator each time"):
        solved(ReaderSource(lambda: parts), SMALL)


# -- what a chunk may hold -------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("parts", "message"),
    [
        ((np.zeros((3, 2)), [0, 1]), r"chunk 4: y must have shape \(3,\)"),
        ((np.array([["a"]]), [0]), "chunk 4: X must be two-dimensional and numeric"),
        ((np.zeros((2, 2)), [0, 1], [1.0, -1.0]), "chunk 4: sample_weight must not be negative"),
        ((np.zeros((2, 2)), [0, 1], [1.0]), r"chunk 4: sample_weight must have shape \(2,\), got \(1,\)"),
    ],
)
def test_bad_chunks_are_named(parts, message):
    with pytest.raises(ValueError, match=message):
        Chunk(4, *parts)


@pytest.mark.parametrize("bad", [np.nan, np.inf])
def test_values_that_are_not_finite_are_named(bad):
    X, y, weight = overlapping()
    X[3500, 1] = bad
    with pytest.raises(ValueError, match="chunk 3: X contains NaN or infinity"):
        first_pass(ArraySource(X, y, weight, rows=1000))


def test_no_chunks_and_no_weight():
    with pytest.raises(ValueError, match="no chunks"):
        first_pass(ReaderSource(lambda: iter(())))
    with pytest.raises(ValueError, match="no row of positive weight"):
        first_pass(ReaderSource(lambda: iter([(np.ones((2, 1)), [0, 1], [0.0, 0.0])])))


@pytest.mark.filterwarnings("ignore::radiusmargin._checks.ConvergenceWarning")  # a gap of rounding may be above `tol`
@pytest.mark.parametrize("seed", range(8))
def test_objectives_hold_although_slacks_are_rounded(seed):
    rng = np.random.default_rng(seed)
    offset, C = 10.0 ** rng.uniform(6, 10), 10.0 ** rng.uniform(-2, 3)
    X = rng.normal(size=(1500, 4))
    y = np.where(X[:, 0] + rng.normal(size=1500) > 0, 1, -1)
    X += offset
    model = SVM(C=C).fit(da.from_array(X, chunks=(300, 4)), da.from_array(y, chunks=300))
    w, b = model.coef_[0].astype(np.longdouble), np.longdouble(model.intercept_[0])
    exact = w @ w / 2 + C * np.maximum(1 - y * (X.astype(np.longdouble) @ w + b), 0).sum()
    assert model.dual_objective_ <= exact <= model.objective_ * (1 + 1e-14)
