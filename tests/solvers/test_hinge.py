"""The hinge solver against an oracle, its certificate, its invariances and its error messages."""

import os
import signal
import subprocess
import sys
import textwrap
import time
import warnings
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import SVC

from radiusmargin._checks import ConvergenceWarning
from radiusmargin.solvers import (
    COMPILED,
    Batch,
    Dense,
    Options,
    Quadratics,
    Sparse,
    Start,
    hinge_svm,
    hinge_svm_batch,
    hinge_svm_path,
    rows_of,
    solve,
)
from radiusmargin.solvers import reference as numpy_twin


def overlapping(n=60, d=4, seed=0, shift=0.7):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    return rng.normal(size=(n, d)) + shift * y[:, None] / np.sqrt(d), y


def random_spd(d, seed=0):
    A = np.random.default_rng(seed).normal(size=(d, d + 2))
    return A @ A.T / d + 0.1 * np.eye(d)


def objective(X, y, C, w, b, B=None, weight=None):
    X = X.toarray() if sparse.issparse(X) else X
    B = np.eye(X.shape[1]) if B is None else np.diag(B) if B.ndim == 1 else B
    loss = np.maximum(0.0, 1.0 - y * (X @ w + b))
    return 0.5 * w @ B @ w + C * (loss if weight is None else weight * loss).sum()


def assert_certified(X, y, C, result, tol=1e-6, B=None, weight=None, fit_intercept=True):
    """The gap is strict: recompute both objectives from (w, b) and from a feasible alpha."""
    X = X.toarray() if sparse.issparse(X) else X
    bound = C * (np.ones(len(y)) if weight is None else weight)
    assert np.all(result.alpha >= 0)
    assert np.all(result.alpha <= bound * (1 + 1e-12))
    if fit_intercept:
        assert abs(y @ result.alpha) <= 1e-9 * max(result.alpha.sum(), 1e-300)
    primal = objective(X, y, C, result.coef, result.intercept, B, weight)
    Bm = np.eye(X.shape[1]) if B is None else np.diag(B) if B.ndim == 1 else B
    g = (X - X.mean(axis=0) if fit_intercept else X).T @ (y * result.alpha)
    dual = result.alpha.sum() - 0.5 * g @ np.linalg.solve(Bm, g)
    assert result.objective == pytest.approx(primal, rel=1e-7)
    assert result.dual_objective == pytest.approx(dual, rel=1e-6)
    assert result.objective >= result.dual_objective * (1 - 1e-12)
    assert result.gap <= tol
    assert result.converged


def oracle(X, y, C, B=None, weight=None, fit_intercept=True):
    cp = pytest.importorskip("cvxpy")
    n, d = X.shape
    w, b = cp.Variable(d), cp.Variable() if fit_intercept else 0.0
    B = np.eye(d) if B is None else np.diag(B) if B.ndim == 1 else B
    weight = np.ones(n) if weight is None else weight
    loss = cp.pos(1 - cp.multiply(y, X @ w + b))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(np.linalg.cholesky(B).T @ w) + C * weight @ loss))
    return problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)


def twin(batch, options):
    return numpy_twin.solve_batch(batch, options, Start())


def one_problem(X, y, Cs, B=None, weight=None, intercept=True):
    """The batch of one labelling of all rows."""
    weight = np.ones(len(y)) if weight is None else weight
    form = Quadratics(None if B is None else B[None])
    return Batch(rows_of(X), y[None], weight, np.atleast_1d(Cs).astype(float), form, intercept=intercept)


BACKENDS = [pytest.param(solve, id="compiled"), pytest.param(twin, id="numpy")] if COMPILED else [twin]


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("C", [0.01, 1.0, 100.0])
@pytest.mark.parametrize("kind", ["identity", "diagonal", "dense"])
def test_matches_the_oracle(kind, C, fit_intercept):
    X, y = overlapping()
    weight = np.random.default_rng(1).uniform(0, 2, len(y))
    B = {"identity": None, "diagonal": np.array([0.5, 1.0, 2.0, 3.0]), "dense": random_spd(4)}[kind]
    result = hinge_svm(X, y, C, B, weight, fit_intercept=fit_intercept, tol=1e-8)
    assert_certified(X, y, C, result, 1e-8, B, weight, fit_intercept)
    assert result.objective == pytest.approx(oracle(X, y, C, B, weight, fit_intercept), rel=1e-6)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("C", [1e-3, 1.0, 1e4])
def test_both_backends_reach_the_same_optimum(backend, C):
    X, y = overlapping(80, 6, seed=3)
    reference = hinge_svm(X, y, C, random_spd(6), tol=1e-9)
    batch = backend(one_problem(X, y, C, random_spd(6)), Options(tol=1e-7))
    assert batch.gap[0, 0] <= 1e-7
    assert batch.objective[0, 0] == pytest.approx(reference.objective, rel=2e-7)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("method", ["auto", "interior-point"])
@pytest.mark.parametrize("n", [80, 4000])  # 4000 rows of 3 features are sifted
def test_a_linear_term_moves_the_regulariser(n, method, backend):
    """Identity H4: 1/2 (w - u)'B(w - u) with its linear term, against the same problem in w - u, whose margins are shifted."""
    cp = pytest.importorskip("cvxpy")
    X, y = overlapping(n, 3, seed=5)
    B, u = np.diag([1.0, 2.0, 4.0]), np.array([1.0, -0.5, 0.3])
    form = Quadratics(B[None], (B @ u)[None], np.array([u @ B @ u / 2]))
    batch = Batch(Dense(X), y[None], np.ones(n), np.array([0.1]), form)
    result = backend(batch, Options(method=method))[0, 0]
    v, b = cp.Variable(3), cp.Variable()
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ (v + u) + b)))
    best = cp.Problem(cp.Minimize(0.5 * cp.quad_form(v, B) + 0.1 * loss)).solve(solver="CLARABEL")
    assert result.converged
    assert result.objective == pytest.approx(best, rel=2e-6)
    np.testing.assert_allclose(result.coef, v.value + u, atol=1e-3)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("C", [1e-4, 1.0, 1e4])
@pytest.mark.parametrize("form", ["dense", "wide", "sparse"])
def test_interior_point_alone_converges(form, C, backend):
    """The fallback must be able to finish by itself: leave Newton no steps."""
    X, y = overlapping(150, 60 if form == "wide" else 5, seed=4)
    X = sparse.csr_array(X) if form == "sparse" else X
    optimum = hinge_svm(X, y, C, tol=1e-9).objective
    batch = backend(one_problem(X, y, C), Options(tol=1e-7, method="interior-point"))
    assert batch.gap[0, 0] <= 1e-7
    assert batch.objective[0, 0] == pytest.approx(optimum, rel=2e-7)


HARD = {
    "separable": lambda: overlapping(60, 4, shift=12.0),
    "duplicated rows": lambda: tuple(np.repeat(a, 5, axis=0) for a in overlapping(20, 4)),
    "constant column": lambda: (np.insert(overlapping()[0], 2, 3.0, axis=1), overlapping()[1]),
    "collinear": lambda: (overlapping()[0] @ np.ones((4, 7)), overlapping()[1]),
    "fewer rows than features": lambda: overlapping(15, 40),
    "one feature": lambda: overlapping(50, 1),
    "imbalance": lambda: (overlapping(300, 3)[0], np.where(np.arange(300) < 3, 1.0, -1.0)),
    "large features": lambda: (1e6 * overlapping()[0], overlapping()[1]),
    "small features": lambda: (1e-6 * overlapping()[0], overlapping()[1]),
    "mixed scales": lambda: (overlapping()[0] * [1e-6, 1.0, 1e3, 1e6], overlapping()[1]),
    "far from the origin": lambda: (overlapping()[0] + 1e5, overlapping()[1]),
    "two rows": lambda: (np.array([[0.0], [1.0]]), np.array([-1.0, 1.0])),
    "identical rows": lambda: (np.zeros((6, 2)), overlapping(6, 2)[1]),
}


@pytest.mark.parametrize("C", [1e-6, 1e-3, 1.0, 1e3, 1e6])
@pytest.mark.parametrize("case", HARD)
def test_hard_inputs_converge_from_cold(case, C):
    X, y = HARD[case]()
    result = hinge_svm(X, y, C)
    assert result.gap <= 1e-6
    assert objective(X, y, C, result.coef, result.intercept) == pytest.approx(result.objective, rel=1e-6)


@pytest.mark.parametrize("layout", ["C", "F", "strided", "float32", "list", "csr", "csc", "int"])
def test_every_layout_gives_the_same_answer(layout):
    X, y = overlapping(90, 5, seed=2)
    X = np.round(2 * X)
    expected = hinge_svm(X, y, 0.3, tol=1e-9)
    other = {
        "C": lambda: np.ascontiguousarray(X),
        "F": lambda: np.asfortranarray(X),
        "strided": lambda: np.repeat(np.repeat(X, 2, axis=0), 3, axis=1)[::2, ::3],
        "float32": lambda: X.astype(np.float32),
        "list": lambda: X.tolist(),
        "csr": lambda: sparse.csr_array(X),
        "csc": lambda: sparse.csc_matrix(X),
        "int": lambda: X.astype(int),
    }[layout]()
    result = hinge_svm(other, y, 0.3, tol=1e-9)
    np.testing.assert_allclose(result.coef, expected.coef, atol=1e-4)
    assert result.objective == pytest.approx(expected.objective, rel=1e-8)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("B", [None, "diagonal", "dense"])
@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("method", ["auto", "interior-point"])
@pytest.mark.parametrize("intercept", [True, False])
def test_more_features_than_rows(form, B, backend, method, intercept):
    """Also by the interior point alone, which works in the principal axes of the rows then."""
    X, y = overlapping(20, 60, seed=5)
    X[np.abs(X) < 0.8] = 0.0
    B = None if B is None else np.linspace(0.5, 2, 60) if B == "diagonal" else random_spd(60)
    data = sparse.csr_array(X) if form == "sparse" else X
    batch = one_problem(data, y, 1.0, B, intercept=intercept)
    result = backend(batch, Options(1e-8, keep_alpha=True, method=method))[0, 0]
    assert_certified(X, y, 1.0, result, 1e-8, B, fit_intercept=intercept)
    assert result.objective == pytest.approx(oracle(X, y, 1.0, B, fit_intercept=intercept), rel=1e-6)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("B", [None, np.linspace(0.5, 2, 110)])
def test_about_as_many_features_as_rows(B, fit_intercept):
    """Newton then works in the coordinates of the rows: on a path, cold and warm, it is certified all the same."""
    X, y = overlapping(140, 110, seed=5)
    X += 3.0
    weight = np.random.default_rng(1).uniform(0.1, 2, len(y))
    Cs = [1e-3, 1e-2, 1.0, 100.0]
    path = hinge_svm_path(X, y, Cs, B, weight, fit_intercept=fit_intercept, tol=1e-8)
    for k, C in enumerate(Cs):
        assert_certified(X, y, C, path[k], 1e-8, B, weight, fit_intercept)
        cold = hinge_svm(X, y, C, B, weight, fit_intercept=fit_intercept, tol=1e-8)
        assert path[k].objective == pytest.approx(cold.objective, rel=2e-8)
    slow = twin(one_problem(X, y, Cs, B, weight, fit_intercept), Options(tol=1e-8))
    np.testing.assert_allclose(path.objective, slow.objective[0], rtol=2e-8)


@pytest.mark.parametrize("form", ["dense", "sparse"])
@pytest.mark.parametrize("d", [70, 5])
def test_large_and_small_feature_counts_agree_with_sparse(form, d):
    """d = 70 takes the BLAS path, d = 5 our own loops."""
    X, y = overlapping(400, d, seed=6)
    X[np.abs(X) < 0.5] = 0.0
    result = hinge_svm(sparse.csr_array(X) if form == "sparse" else X, y, 0.5, tol=1e-8)
    assert_certified(X, y, 0.5, result, 1e-8)


@pytest.mark.parametrize("shape", [(4000, 3), (600, 22), (1200, 60)])  # guided by a sample, and by a rough solution
@pytest.mark.parametrize(
    "order", ["shuffled", "sorted by class", "column-major", "sparse", "weighted", "ties", "separable"]
)
def test_sifting_agrees_with_the_direct_solve(order, shape):
    X, y = overlapping(*shape, seed=7)
    weight = np.ones(len(y))
    if order == "ties":  # half of the rows have one of two margins
        X[::2] = 2.0 * (y[::2, None] * (np.arange(X.shape[1]) == 0)) + 0.1
    if order == "separable":
        X[:, 0] += 20.0 * y
    if order == "sorted by class":
        X, y = X[np.argsort(y)], np.sort(y)
    if order == "weighted":
        weight = np.random.default_rng(0).uniform(0, 3, len(y))
    form = {"column-major": np.asfortranarray, "sparse": sparse.csr_array}.get(order, np.asarray)(X)
    Cs = np.array([0.01, 1.0, 100.0])
    direct = solve(one_problem(form, y, Cs, weight=weight), Options(tol=1e-7, method="direct"))
    alone = [
        solve(one_problem(form, y, Cs[[k]], weight=weight), Options(tol=1e-7, keep_alpha=True))[0, 0] for k in range(3)
    ]
    np.testing.assert_allclose([result.objective for result in alone], direct.objective[0], rtol=2e-7)
    if order == "shuffled":
        assert any(result.method.startswith("sifting") for result in alone)
    for C, result in zip(Cs, alone, strict=True):
        assert objective(X, y, C, result.coef, result.intercept, weight=weight) == pytest.approx(
            result.objective, rel=1e-9
        )
        assert abs(y @ result.alpha) <= 1e-9 * result.alpha.sum()
        assert result.gap <= 1e-7


problems = st.tuples(st.integers(0, 10_000), st.integers(4, 40), st.integers(1, 6), st.floats(-3, 3))


@settings(max_examples=40, deadline=None)
@given(problems)
def test_the_gap_is_never_negative_and_always_reached(spec):
    seed, n, d, log_C = spec
    X, y = overlapping(n, d, seed)
    assert_certified(X, y, 10**log_C, hinge_svm(X, y, 10**log_C))


@settings(max_examples=30, deadline=None)
@given(problems)
def test_integer_weights_equal_repeated_rows(spec):
    """Identity H3."""
    seed, n, d, log_C = spec
    X, y = overlapping(n, d, seed)
    weight = np.random.default_rng(seed).integers(0, 4, n)
    weight[:2] = np.maximum(weight[:2], 1)  # both classes keep a row
    repeated = np.repeat(np.arange(n), weight)
    a = hinge_svm(X, y, 10**log_C, sample_weight=weight, tol=1e-9)
    b = hinge_svm(X[repeated], y[repeated], 10**log_C, tol=1e-9)
    assert a.objective == pytest.approx(b.objective, rel=1e-8)
    np.testing.assert_allclose(a.coef, b.coef, atol=1e-3 * (1e-3 + np.abs(b.coef).max()))


@settings(max_examples=30, deadline=None)
@given(problems, st.sampled_from([1e-2, 0.1, 7.0, 30.0]))
def test_scaling_law(spec, factor):
    """Identity H1: min over w of (cX, C) is that of (X, c^2 C) divided by c^2."""
    seed, n, d, log_C = spec
    X, y = overlapping(n, d, seed)
    a = hinge_svm(factor * X, y, 10**log_C, tol=1e-9)
    b = hinge_svm(X, y, factor**2 * 10**log_C, tol=1e-9)
    assert a.objective * factor**2 == pytest.approx(b.objective, rel=1e-7)


@settings(max_examples=25, deadline=None)
@given(problems)
def test_label_flip_permutation_and_translation(spec):
    """Identity H2."""
    seed, n, d, log_C = spec
    X, y = overlapping(n, d, seed)
    rng = np.random.default_rng(seed)
    order, shift = rng.permutation(n), rng.normal(size=d) * 10
    base = hinge_svm(X, y, 10**log_C, tol=1e-9)
    for other in (
        hinge_svm(X, -y, 10**log_C, tol=1e-9),
        hinge_svm(X[order], y[order], 10**log_C, tol=1e-9),
        hinge_svm(X + shift, y, 10**log_C, tol=1e-9),
    ):
        assert other.objective == pytest.approx(base.objective, rel=1e-7)


def start_of(result):
    return Start(result.coef[None], np.array([result.intercept]), result.alpha[None])


def started(X, y, C, start, form=None, tol=1e-6):
    """One problem of all rows, from a start."""
    batch = Batch(rows_of(X), y[None], np.ones(len(y)), np.array([C]), form or Quadratics())
    return solve(batch, Options(tol), start)[0, 0]


@settings(max_examples=25, deadline=None)
@given(problems)
def test_warm_start_gives_the_same_optimum(spec):
    seed, n, d, log_C = spec
    X, y = overlapping(n, d, seed)
    B = random_spd(d, seed)
    start = hinge_svm(X, y, 3 * 10**log_C)
    warm = started(X, y, 10**log_C, start_of(start), Quadratics(B[None]), tol=1e-8)
    assert warm.objective == pytest.approx(hinge_svm(X, y, 10**log_C, B, tol=1e-8).objective, rel=1e-7)


def test_warm_start_saves_steps():
    X, y = overlapping(300, 8, seed=9)
    cold = hinge_svm(X, y, 1.0)
    assert started(X, y, 1.0, start_of(cold)).n_iter <= 2 < cold.n_iter


def test_weight_zero_is_a_row_left_out():
    """Identity H3."""
    X, y = overlapping()
    weight = np.ones(60)
    weight[10:20] = 0.0
    X[15] = 1e9  # would ruin the fit if it were looked at
    a, b = hinge_svm(X, y, 1.0, sample_weight=weight), hinge_svm(X[weight > 0], y[weight > 0], 1.0)
    np.testing.assert_allclose(a.coef, b.coef, rtol=1e-10)
    assert np.all(a.alpha[10:20] == 0)


def test_path_keeps_the_order_of_its_Cs():
    X, y = overlapping()
    Cs = [10.0, 0.01, 1.0]
    path = hinge_svm_path(X, y, Cs)
    assert len(path) == 3
    for k, C in enumerate(Cs):
        assert_certified(X, y, C, path[k])
        assert path[k].objective == pytest.approx(hinge_svm(X, y, C).objective, rel=2e-6)


@pytest.mark.parametrize("n_jobs", [1, 2, -1])
def test_batch_equals_one_by_one(n_jobs):
    X, y = overlapping(90, 5, seed=8)
    labels = np.column_stack([y, np.where(X[:, 0] > 0, 1.0, -1.0)])
    labels[::7, 1] = 0.0  # takes no part
    rows = [np.arange(0, 60), np.arange(30, 90), np.arange(0, 90, 2)]
    rows[2] = np.sort(np.r_[rows[2], [1, 3, 5]])
    matrices = np.stack([np.eye(5), random_spd(5)])
    Cs = [0.1, 1.0]
    batch = hinge_svm_batch(X, labels, Cs, rows=rows, regularizers=matrices, n_jobs=n_jobs, tol=1e-8)
    assert batch.coef.shape == (12, 2, 5)
    p = 0
    for part in rows:
        for label in labels.T:
            for B in matrices:
                for k, C in enumerate(Cs):
                    inside = part[label[part] != 0]
                    single = hinge_svm(X[inside], label[inside], C, B, tol=1e-8)
                    assert batch.objective[p, k] == pytest.approx(single.objective, rel=2e-8)
                p += 1
    assert batch.converged.all()


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("form", ["none", "diagonal", "dense"])
def test_batch_with_fewer_rows_than_features(form, fit_intercept):
    X, y = overlapping(90, 60, seed=3)
    matrices = {"none": None, "diagonal": np.linspace(0.5, 2, 60)[None], "dense": random_spd(60)[None]}[form]
    rows = [np.r_[k:90:6, k + 1] for k in range(3)]  # one row twice
    batch = hinge_svm_batch(X, y, [0.1, 10.0], rows=rows, regularizers=matrices, fit_intercept=fit_intercept, tol=1e-8)
    assert batch.converged.all()
    for p, part in enumerate(rows):
        for k, C in enumerate((0.1, 10.0)):
            B = None if matrices is None else matrices[0]
            single = hinge_svm(X[part], y[part], C, B, fit_intercept=fit_intercept, tol=1e-8)
            np.testing.assert_allclose(batch.coef[p, k], single.coef, atol=1e-4 * np.abs(single.coef).max())


@pytest.mark.parametrize("form", ["few features", "many features", "sparse", "sifting"])
def test_batch_rows_may_be_permuted_or_repeated(form):
    n, d = (4000, 5) if form == "sifting" else (200, 60 if form == "many features" else 5)
    X, y = overlapping(n, d, seed=10)
    data = sparse.csr_array(X) if form == "sparse" else X
    rng = np.random.default_rng(0)
    rows = [rng.permutation(n), rng.integers(0, n, n), rng.random(n) < 0.5]
    batch = hinge_svm_batch(data, y, [1.0], rows=rows)
    for p, part in enumerate(rows):
        assert batch.objective[p, 0] == pytest.approx(hinge_svm(X[part], y[part], 1.0).objective, rel=3e-6)


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"problems": [(0, 0, 10**7)]}, "regularizer numbers"),
        ({"problems": [(0, -1, 0)]}, "label numbers"),
        ({"problems": [(5, 0, 0)]}, "rows numbers"),
        ({"problems": [(0, 0)]}, "problems must be"),
        ({"rows": [-np.arange(1, 30)]}, r"rows\[0\] must hold"),
        ({"rows": [np.arange(61)]}, r"rows\[0\] must hold"),
        ({"rows": [np.arange(10.0)]}, r"rows\[0\] must be"),
        ({"rows": []}, "at least one subset"),
        ({"labels": 3.0}, "labels must have shape"),
        ({"n_jobs": 0}, "n_jobs"),
        ({"n_jobs": 1.5}, "n_jobs"),
    ],
)
def test_batch_refuses_what_does_not_fit(change, message):
    X, y = overlapping()
    with pytest.raises(ValueError, match=message):
        hinge_svm_batch(**({"X": X, "labels": y, "Cs": [1.0], "regularizers": np.ones((2, 4))} | change))


def test_a_shared_sparse_matrix_is_left_alone():
    X = sparse.csr_array(np.round(overlapping()[0]).astype(np.float32))
    X.indices, X.data = X.indices.copy(), X.data.copy()
    for i in range(60):
        part = slice(X.indptr[i], X.indptr[i + 1])
        X.indices[part], X.data[part] = X.indices[part][::-1].copy(), X.data[part][::-1].copy()
    X.has_sorted_indices = X.has_canonical_format = False
    before = X.toarray()
    hinge_svm(X, overlapping()[1], 1.0)
    np.testing.assert_array_equal(X.toarray(), before)


@pytest.mark.parametrize("start", [1e200, -1e308])
@pytest.mark.parametrize("n", [60, 4000])
def test_an_absurd_start_does_no_harm(n, start):
    X, y = overlapping(n, 2)
    result = started(X, y, 1.0, Start(np.array([[start, -start]]), np.zeros(1), np.full((1, n), 1e300)))
    assert result.objective == pytest.approx(hinge_svm(X, y, 1.0).objective, rel=2e-6)


def test_one_row_of_tiny_weight_still_counts_as_a_class():
    X, y = overlapping(200, 2)
    weight = np.where(y > 0, 1.0, 0.0)
    weight[1] = 1e-12
    assert hinge_svm(X, y, 1.0, sample_weight=weight).converged


def test_sparse_data_far_from_the_origin():
    X, y = overlapping(300, 5)
    result = hinge_svm(sparse.csr_array(X + 1e4), y, 1.0)
    assert result.objective == pytest.approx(hinge_svm(X, y, 1.0).objective, rel=1e-5)


@pytest.mark.parametrize("max_iter", [1, 3, 30])
@pytest.mark.parametrize("shape", [(4000, 3), (300, 3), (100, 90)])  # sifted, direct, in coordinates of the rows
def test_no_method_takes_more_steps_than_allowed(shape, max_iter):
    X, y = overlapping(*shape, shift=6.0)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        path = hinge_svm_path(1e4 * X, y, [1.0, 1e5], tol=1e-12, max_iter=max_iter)
    assert path.n_iter.max() <= max_iter
    assert np.isfinite(path.gap).all()


def ill_conditioned(n=600, d=200, seed=0):
    """Nearly collinear features in raw units: a quarter of the directions carries all but a thousandth of the spread."""
    rng = np.random.default_rng(seed)
    Z = rng.normal(size=(n, d // 4)) @ rng.normal(size=(d // 4, d)) + 0.01 * rng.normal(size=(n, d))
    score = Z @ rng.normal(size=d)
    y = np.where(score / score.std() + 0.5 * rng.normal(size=n) > 0, 1.0, -1.0)
    return Z * 4.7e6 / np.linalg.norm(Z, 2), y


@pytest.mark.parametrize("kind", ["identity", "diagonal", "dense", "linear term", "sparse", "no intercept"])
def test_what_stalls_is_solved_in_principal_axes(kind):
    """Singular values from 4.7e6 down to 1e3, and a loss that outweighs the regulariser by many powers of ten."""
    X, y = ill_conditioned(*((300, 100) if kind in ("dense", "sparse") else (600, 200)))
    d = X.shape[1]
    B = {"diagonal": np.linspace(0.5, 2, d), "dense": random_spd(d)}.get(kind)
    batch = one_problem(sparse.csr_array(X) if kind == "sparse" else X, y, [1e4, 1e6], B, None, kind != "no intercept")
    if kind == "linear term":
        u = np.linspace(-1e-5, 1e-5, d)
        batch = replace(batch, regularizers=Quadratics(np.ones((1, d)), u[None], np.array([u @ u / 2])))
    results = solve(batch, Options(max_iter=400))
    assert results.gap.max() <= 1e-6


@pytest.mark.parametrize("C", [1e2, 1e4, 1e6])
def test_raw_units_of_condition_1000(C):
    rng = np.random.default_rng(0)
    for noise in (0.0, 0.5):
        Z = rng.standard_t(2, size=(800, 20))
        y = np.where(Z @ rng.normal(size=20) + noise * rng.normal(size=800) > 0, 1.0, -1.0)
        rotation = np.linalg.qr(rng.normal(size=(20, 20)))[0]
        X = (Z * np.geomspace(4.7e6, 2.2e3, 20) / np.linalg.norm(Z, axis=0)) @ rotation
        assert hinge_svm(X, y, C).gap <= 1e-6


def test_batch_refuses_a_subset_with_one_class():
    X, y = overlapping()
    with pytest.raises(ValueError, match=r"rows\[1\].*both classes"):
        hinge_svm_batch(X, y, [1.0], rows=[np.arange(60), np.arange(0, 60, 2)])


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"X": np.full((60, 4), np.nan)}, "NaN or infinity"),
        ({"X": np.full((60, 4), np.inf)}, "NaN or infinity"),
        ({"X": np.ones(60)}, "two-dimensional"),
        ({"X": np.ones((60, 0))}, "at least one"),
        ({"X": np.array([["a"] * 4] * 60)}, "numeric"),
        ({"X": 1j * np.ones((60, 4))}, "numeric"),
        ({"y": np.arange(60)}, r"only -1 and \+1"),
        ({"y": np.array(["a"] * 60)}, r"only -1 and \+1"),
        ({"y": np.ones(60)}, "both classes"),
        ({"y": np.ones(59)}, "shape"),
        ({"C": 0.0}, "C must be a number in"),
        ({"C": -1.0}, "C must be a number in"),
        ({"C": np.nan}, "C must be a number in"),
        ({"C": "1"}, "C must be a number in"),
        ({"sample_weight": -np.ones(60)}, "sample_weight"),
        ({"sample_weight": np.full(60, np.nan)}, "sample_weight"),
        ({"sample_weight": np.zeros(60)}, "sample_weight must be above zero for at least 1"),
        ({"sample_weight": np.ones(3)}, "sample_weight must have shape"),
        ({"regularizer": -np.ones(4)}, "positive definite"),
        ({"regularizer": -np.eye(4)}, "positive definite"),
        ({"regularizer": np.arange(16.0).reshape(4, 4)}, "symmetric"),
        ({"regularizer": np.ones(3)}, "regularizer must have shape"),
        ({"regularizer": np.full((4, 4), np.nan)}, "regularizer contains NaN"),
        ({"tol": 0}, "tol must be a number in"),
        ({"max_iter": 0}, "max_iter must be a positive integer"),
        ({"max_iter": 0.5}, "max_iter must be a positive integer"),
        ({"C": [1.0, 2.0]}, "C must be a number"),
        ({"X": sparse.csr_array(1j * np.ones((60, 4)))}, "numeric"),
    ],
)
def test_bad_input_is_named(change, message):
    X, y = overlapping()
    with pytest.raises(ValueError, match=message):
        hinge_svm(**({"X": X, "y": y} | change))


@pytest.mark.parametrize(
    ("start", "message"),
    [
        (Start(np.ones((1, 3))), "start: coef must have shape"),
        (Start(alpha=np.ones(60)), "start: alpha must have shape"),
        (Start(np.full((1, 4), np.nan), np.zeros(1)), "start: coef contains NaN"),
    ],
)
def test_a_start_of_another_shape_is_named(start, message):
    X, y = overlapping()
    with pytest.raises(ValueError, match=message):
        started(X, y, 1.0, start)


def test_an_early_stop_says_so_and_keeps_its_true_gap():
    X, y = overlapping(200, 10, seed=1)
    with pytest.warns(ConvergenceWarning, match="relative gap of .* after 2 iterations"):
        result = hinge_svm(X, y, 10.0, max_iter=2)
    assert not result.converged
    assert result.gap > 1e-6
    assert objective(X, y, 10.0, result.coef, result.intercept) == pytest.approx(result.objective, rel=1e-9)


def test_results_are_frozen():
    X, y = overlapping()
    with pytest.raises(AttributeError):
        hinge_svm(X, y).gap = 0.0


def test_inputs_are_left_alone():
    X, y = overlapping()
    before = X.copy(), y.copy()
    hinge_svm(X, y, 1.0)
    np.testing.assert_array_equal(X, before[0])
    np.testing.assert_array_equal(y, before[1])


INTERRUPTED = {
    "threads": "hinge_svm_batch(rng.normal(size=(20000, 150)), y[:20000], np.logspace(-3, 5, 400), tol=1e-9, n_jobs=2)",
    "many rows": "solve(Batch(Dense(X), y[None], np.ones(n), np.logspace(-3, 5, 400)), Options(1e-9, method='direct'))",
    "sparse": "hinge_svm_batch(sparse.csr_array(X), y, np.logspace(-3, 5, 400), tol=1e-9)",
}


@pytest.mark.parametrize("case", INTERRUPTED)
def test_ctrl_c_stops_a_long_solve(case):
    """A child process is interrupted in the middle of its work."""
    script = textwrap.dedent(f"""
        import numpy as np
        from scipy import sparse
        from radiusmargin.solvers import Batch, Dense, Options
        from radiusmargin.solvers import hinge_svm_batch, solve
        rng = np.random.default_rng(0)
        n = 100_000
        X = rng.normal(size=(n, 20)); y = np.where(rng.random(n) < 0.5, 1.0, -1.0)
        try:
            print("ready", flush=True)
            {INTERRUPTED[case]}
        except KeyboardInterrupt:
            print("interrupted", flush=True)
    """)
    process = subprocess.Popen([sys.executable, "-c", script], stdout=subprocess.PIPE, text=True, env=os.environ)
    assert process.stdout.readline().strip() == "ready"
    time.sleep(0.5)
    process.send_signal(signal.SIGINT)
    try:
        out, _ = process.communicate(timeout=120)  # a busy machine is slow to stop
    finally:
        process.kill()
    assert out.strip() == "interrupted"


def test_no_warning_on_a_plain_solve():
    X, y = overlapping()
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        hinge_svm(X, y)


@pytest.mark.parametrize("weights", [1.0, 0.3])
@pytest.mark.parametrize("form", ["features", "many features", "twin"])
def test_an_undetermined_intercept_is_in_the_middle(form, weights):
    """As many rows of either class, all at their bounds: the loss is flat in the intercept. LIBSVM takes the middle too."""
    X, y = overlapping(40, 120 if form == "many features" else 3, seed=5)
    expected = SVC(kernel="linear", C=3e-4, tol=1e-12).fit(X, y)
    batch = one_problem(X, y, 3e-4 / weights, weight=np.full(40, weights))
    results = (twin if form == "twin" else solve)(batch, Options(tol=1e-9))
    assert len(expected.support_) == 40
    assert results.intercept[0, 0] == pytest.approx(expected.intercept_[0], abs=1e-5)


FORMS = {
    "dense": Dense,
    "columns": lambda X: Dense(np.asfortranarray(X)),
    "sparse": lambda X: Sparse(sparse.csr_array(X)),
}


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("shape", [(80, 4), (150, 60), (40, 90)])
@pytest.mark.parametrize("form", FORMS)
def test_every_form_gives_the_same_answer(form, shape, backend):
    """Labellings with rows that take no part, subsets, weights: few features, many, and more than rows."""
    X, y = overlapping(*shape, seed=2)
    n, rng = len(y), np.random.default_rng(0)
    labels = np.stack([y, np.where(rng.random(n) < 0.2, 0.0, -y)])
    subsets = np.arange(n), rng.permutation(n)[: n // 2], rng.integers(0, n, n)
    rows = FORMS[form](X)
    batch = Batch(rows, labels, rng.uniform(0.5, 2, n), np.array([0.03, 3.0]), subsets=subsets)
    results = backend(batch, Options(tol=1e-9))
    expected = solve(replace(batch, rows=Dense(X)), Options(tol=1e-9))
    np.testing.assert_allclose(results.objective, expected.objective, rtol=2e-9)
    for p in range(len(batch)):
        scores = rows.scores(results.coef[p]) + results.intercept[p][:, None]
        target = Dense(X).scores(expected.coef[p]) + expected.intercept[p][:, None]
        np.testing.assert_allclose(scores, target, atol=2e-4 * np.abs(target).max())


@pytest.mark.parametrize("shape", [(30, 3), (12, 40)])
def test_beyond_the_largest_multiplier_a_path_stays(shape):
    """No multiplier at its bound: a larger C changes nothing, and costs nothing."""
    rng = np.random.default_rng(0)
    y = np.where(np.arange(shape[0]) % 2, 1.0, -1.0)
    X = rng.normal(size=shape) + 4 * y[:, None]
    Cs = [1e-4, 10.0, 100.0, 1e4]
    path = hinge_svm_path(X, y, Cs, tol=1e-8)
    assert path.converged.all()
    assert path.n_iter[0] > 0
    assert (path.n_iter[2:] == 0).all()
    np.testing.assert_array_equal(path.coef[2], path.coef[1])
    for k, C in enumerate(Cs):
        assert path.objective[k] == pytest.approx(hinge_svm(X, y, C, tol=1e-9).objective, rel=2e-8)
        assert path.objective[k] == pytest.approx(objective(X, y, C, path.coef[k], path.intercept[k]), rel=1e-12)
