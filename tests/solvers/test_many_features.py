"""Many features: one multiplier after the other, against an oracle, LinearSVC's own problem, and hostile matrices."""

from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.svm import LinearSVC
from test_hinge import assert_certified, objective

from radiusmargin.solvers import (
    REST,
    Batch,
    ClassLabels,
    Dense,
    Options,
    Quadratics,
    Sparse,
    hinge_svm,
    hinge_svm_batch,
    hinge_svm_path,
    solve,
)
from radiusmargin.solvers import reference as numpy_twin


def words(n=60, d=450, stored=12, seed=0):
    """Rows with a few positive entries and of unit length, some columns much more common than others; -1 and +1."""
    rng = np.random.default_rng(seed)
    common = 1 / (3 + np.arange(d))
    y = np.where(np.arange(n) % 3 == 0, 1.0, -1.0)
    X = np.zeros((n, d))
    for i in range(n):
        p = common * (1 + 0.8 * y[i] * np.where(np.arange(d) % 2, 1, -1))
        X[i, rng.choice(d, stored, replace=False, p=p / p.sum())] = rng.exponential(size=stored) + 0.1
    return sparse.csr_array(X / np.linalg.norm(X, axis=1, keepdims=True)), y


def oracle(X, y, C, B, weight, fit_intercept):
    """The optimum by Clarabel; B is a diagonal."""
    cp = pytest.importorskip("cvxpy")
    w, b = cp.Variable(X.shape[1]), cp.Variable() if fit_intercept else 0.0
    loss = weight @ cp.pos(1 - cp.multiply(y, X @ w + b))
    problem = cp.Problem(cp.Minimize(0.5 * cp.sum_squares(cp.multiply(np.sqrt(B), w)) + C * loss))
    return problem.solve(solver="CLARABEL", tol_gap_abs=1e-10, tol_gap_rel=1e-10)


@pytest.mark.parametrize("form", ["sparse", "dense", "dense, no zeros"])
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("B", ["identity", "diagonal"])
@pytest.mark.parametrize("C", [0.05, 2.0, 100.0])
def test_matches_the_oracle(form, fit_intercept, B, C):
    """Dense rows of zeros, mostly, are solved as sparse ones."""
    X, y = words()
    X = sparse.csr_array(X.toarray() + 0.01) if form == "dense, no zeros" else X
    B = None if B == "identity" else np.random.default_rng(1).uniform(0.1, 3.0, X.shape[1])
    weight = np.random.default_rng(2).uniform(0.2, 2.0, len(y))
    data = X if form == "sparse" else X.toarray()
    result = hinge_svm(data, y, C, B, weight, fit_intercept, tol=1e-8)
    assert_certified(X, y, C, result, 1e-8, B, weight, fit_intercept)
    optimum = oracle(X, y, C, np.ones(X.shape[1]) if B is None else B, weight, fit_intercept)
    assert result.objective == pytest.approx(optimum, rel=1e-6)


@pytest.mark.parametrize("rows", ["dense", "sparse", "each row twice"])
@pytest.mark.parametrize("B", ["identity", "diagonal", "dense"])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_a_band_of_fewer_rows_than_features(rows, B, fit_intercept):
    """Newton's systems are then solved in the rows of the band: of 300 about forty are on the margin, of 90 features."""
    rng = np.random.default_rng(3)
    X = rng.normal(size=(300, 90)) * rng.uniform(0.3, 3.0, 90) + 5.0
    y = np.where((X - 5.0) @ rng.normal(size=90) + 2 * rng.normal(size=300) > 0, 1.0, -1.0)
    if rows == "each row twice":  # their inner products are singular
        X, y = np.repeat(X[:150], 2, axis=0), np.repeat(y[:150], 2)
    mixed = np.linalg.qr(rng.normal(size=(90, 90)))[0] * rng.uniform(0.5, 2.0, 90)
    B = {"identity": None, "diagonal": rng.uniform(0.2, 5.0, 90), "dense": mixed @ mixed.T}[B]
    data = sparse.csr_array(X) if rows == "sparse" else X
    for C in (1e-3, 1.0):
        result = hinge_svm(data, y, C, B, None, fit_intercept, tol=1e-8)
        assert_certified(X, y, C, result, 1e-8, B, None, fit_intercept)


def test_features_of_sizes_far_apart():
    """Inner products of rows are rounded then, and Newton's systems are formed in features."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(500, 100))
    y = np.sign(X @ rng.normal(size=100) + 5 * rng.normal(size=500))
    X *= 10.0 ** rng.uniform(-8, 8, 100)
    result = hinge_svm(X, y, 1e4, tol=1e-6)
    assert result.gap <= 1e-6
    assert result.n_iter < 100


def test_rows_far_from_the_origin_without_an_intercept():
    """Fewer rows than features: their inner products tell them no longer apart."""
    rng = np.random.default_rng(1)
    X, y = rng.normal(size=(140, 196)) + 1e4, np.sign(rng.normal(size=140))
    result = hinge_svm(X, y, 1.0, fit_intercept=False, tol=1e-6)
    assert_certified(X, y, 1.0, result, 1e-6, None, None, False)


@pytest.mark.parametrize("C", [0.1, 1.0, 10.0])
def test_the_problem_of_linear_svc(C):
    """Its intercept is one more feature, of ones, and penalised."""
    X, y = words(200, 500)
    extended = sparse.hstack([X, np.ones((200, 1))], format="csr")
    ours = hinge_svm(extended, y, C, fit_intercept=False, tol=1e-9)
    theirs = LinearSVC(C=C, loss="hinge", tol=1e-9, max_iter=1_000_000, random_state=0).fit(X, y)
    w = np.append(theirs.coef_[0], theirs.intercept_)
    assert ours.objective == pytest.approx(objective(extended, y, C, w, 0.0), rel=1e-6)
    np.testing.assert_allclose(ours.coef, w, atol=1e-3)


def test_the_intercept_is_the_best_for_its_separator():
    X, y = words(90)
    result = hinge_svm(X, y, 0.3, tol=1e-4)
    kinks = y - X @ result.coef
    losses = [np.maximum(0, 1 - y * (X @ result.coef + b)).sum() for b in kinks]
    assert np.maximum(0, 1 - y * (X @ result.coef + result.intercept)).sum() <= min(losses) * (1 + 1e-12)


def hostile():
    X, y = words()
    rows, columns = X.tocoo().coords
    order = np.random.default_rng(0).permutation(X.nnz)
    halves = np.concatenate([X.data, X.data]) / 2, (np.tile(rows, 2), np.tile(columns, 2))
    unsorted = sparse.csr_array((X.data[::-1], X.indices[::-1], X.nnz - X.indptr[::-1]), shape=X.shape)[::-1]
    empty = X.toarray()
    empty[[0, 7, 8]] = 0.0
    lengthy = X.copy()
    lengthy.indices, lengthy.indptr = X.indices.astype(np.int64), X.indptr.astype(np.int64)
    stored = X.copy()
    stored.data[::5] = 0.0
    return {
        "csc": (X.tocsc(), X, y),
        "coo in no order": (sparse.coo_array((X.data[order], (rows[order], columns[order])), shape=X.shape), X, y),
        "duplicates": (sparse.coo_array(halves, shape=X.shape), X, y),
        "unsorted": (unsorted, X, y),
        "long indices": (lengthy, X, y),
        "empty rows": (sparse.csr_array(empty), empty, y),
        "zeros that are stored": (stored, stored, y),
        "single precision": (X.astype(np.float32), X.astype(np.float32), y),
        "integers": (sparse.csr_array(np.ceil(X.toarray()).astype(int)), np.ceil(X.toarray()), y),
    }


@pytest.mark.parametrize("case", hostile())
def test_hostile_matrices(case):
    given, same, y = hostile()[case]
    same = same.toarray() if sparse.issparse(same) else same
    before = given.copy()
    result = hinge_svm(given, y, 2.0, tol=1e-8)
    assert_certified(same.astype(float), y, 2.0, result, 1e-8)
    assert (given != before).nnz == 0


@pytest.mark.parametrize("columns", [1, 500])
def test_nothing_but_zeros(columns):
    y = np.array([1.0, 1.0, 1.0, -1.0])
    result = hinge_svm(sparse.csr_array((4, columns)), y, 2.0)
    assert not result.coef.any()
    assert result.objective == pytest.approx(4.0)  # the one row on the wrong side, by two
    assert result.converged


def test_one_column_that_is_stored():
    X, y = np.zeros((30, 600)), np.where(np.arange(30) < 10, 1.0, -1.0)
    X[:, 77] = np.linspace(2, -1, 30)
    result = hinge_svm(sparse.csr_array(X), y, 5.0, tol=1e-9)
    assert_certified(X, y, 5.0, result, 1e-9)
    assert np.flatnonzero(result.coef).tolist() == [77]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10**6), st.sampled_from([0.1, 1.0, 30.0]), st.booleans())
def test_invariances(seed, C, fit_intercept):
    """Columns and rows in any order, other units, labels turned round: the optimum is the same."""
    X, y = words(40, 420, seed=seed)
    rng = np.random.default_rng(seed)
    rows, columns = rng.permutation(40), rng.permutation(420)
    options = {"fit_intercept": fit_intercept, "tol": 1e-7}
    value = hinge_svm(X, y, C, **options).objective
    assert hinge_svm(X[rows][:, columns], -y[rows], C, **options).objective == pytest.approx(value, rel=2e-7)
    assert hinge_svm(4 * X, y, C / 16, **options).objective == pytest.approx(value / 16, rel=2e-7)


def test_a_path_reaches_what_single_fits_reach():
    X, y = words(120, 600)
    Cs = [0.01, 0.1, 1.0, 10.0]
    path = hinge_svm_path(X, y, Cs, tol=1e-7)
    single = [hinge_svm(X, y, C, tol=1e-7).objective for C in Cs]
    np.testing.assert_allclose(path.objective, single, rtol=2e-7)
    assert path.n_iter.sum() > 0


@pytest.mark.parametrize("form", [sparse.csr_array, lambda X: X.toarray()])
def test_subsets_are_rows_that_were_cut_out(form):
    X, y = words(90, 500)
    subsets = [np.arange(60), np.arange(89, 20, -1), np.array([0, 1, 1, 2, 3, 3, 4, 5])]
    found = hinge_svm_batch(form(X), y, [1.0], rows=subsets, tol=1e-8)
    for result, rows in zip(found.objective[:, 0], subsets, strict=True):
        cut = hinge_svm(form(X[rows]), y[rows], 1.0, tol=1e-8)
        assert result == pytest.approx(cut.objective, rel=2e-8)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("B", ["identity", "diagonals"])
@pytest.mark.parametrize("n_parts", [2, 5, 11])
def test_parts_side_by_side_are_certified_each(fit_intercept, B, n_parts):
    """Each is what its rows alone give, at the tolerance, with its own regulariser, and multipliers of its own rows only."""
    X, y = words(130, 500)
    rng = np.random.default_rng(n_parts)
    weight = rng.uniform(0.2, 2.0, 130)
    parts = [rng.permutation(np.flatnonzero(np.arange(130) % n_parts != f)) for f in range(n_parts)]
    B = None if B == "identity" else rng.uniform(0.3, 3.0, (n_parts, 500))
    labels = np.array([y, np.where(np.arange(130) % 7 == 0, 0.0, -y)])
    cells = np.array([[f, k, 0 if B is None else f] for f in range(n_parts) for k in range(2)])
    Cs = np.array([0.02, 0.5, 20.0])
    batch = Batch(Sparse(X), labels, weight, Cs, Quadratics(B), tuple(parts), cells, fit_intercept)
    found = solve(batch, Options(1e-7, keep_alpha=True))
    assert found.converged.all()
    for p, (f, k, r) in enumerate(cells):
        rows = parts[f][labels[k, parts[f]] != 0]
        own = None if B is None else B[r]
        for j, C in enumerate(Cs):
            result = replace(found[p, j], alpha=found.alpha[p, j, rows])
            assert_certified(X[rows], labels[k, rows], C, result, 1e-7, own, weight[rows], fit_intercept)
            assert not np.delete(found.alpha[p, j], rows).any()
        alone = hinge_svm(X[rows], labels[k, rows], 0.5, own, weight[rows], fit_intercept, tol=1e-7)
        assert found.objective[p, 1] == pytest.approx(alone.objective, rel=2e-7)


@pytest.mark.parametrize("labels", ["classes", "rows"])
@pytest.mark.parametrize("n_classes", [3, 9])
def test_classes_side_by_side_are_certified_each(labels, n_classes):
    """Each against the rest, as problems alone give it; some rows are alike but for their class."""
    X, _ = words(130, 500)
    X = sparse.csr_array(sparse.vstack([X, X[:20]]))
    rng = np.random.default_rng(n_classes)
    codes, weight = rng.integers(n_classes, size=150), rng.uniform(0.2, 2.0, 150)
    rows = np.where(codes == np.arange(n_classes)[:, None], 1.0, -1.0)
    sides = np.stack([np.full(n_classes, REST), np.arange(n_classes)], axis=1)
    Cs = np.array([0.05, 1.0, 50.0])
    if labels == "rows":
        rows[0, :30] = 0.0
    batch = Batch(Sparse(X), ClassLabels(codes, sides, n_classes) if labels == "classes" else rows, weight, Cs)
    found = solve(batch, Options(1e-7, keep_alpha=True))
    assert found.converged.all()
    for k, y in enumerate(rows):
        own = y != 0
        for j, C in enumerate(Cs):
            result = replace(found[k, j], alpha=found.alpha[k, j, own])
            assert_certified(X[own], y[own], C, result, 1e-7, None, weight[own], True)
            assert not found.alpha[k, j, ~own].any()
        alone = hinge_svm(X[own], y[own], 1.0, None, weight[own], tol=1e-7)
        assert found.objective[k, 1] == pytest.approx(alone.objective, rel=2e-7)


@pytest.mark.parametrize("seed", range(20))
def test_what_goes_on_alone_is_certified_by_itself(seed):
    """Of problems side by side some are left to others on the way from a small C to a large one."""
    rng = np.random.default_rng(seed)
    n, d, K = int(rng.integers(20, 300)), 450, int(rng.integers(3, 10))
    X = sparse.random_array((n, d), density=10 ** rng.uniform(-3, -1.5), format="csr", rng=rng)
    codes, Cs = rng.integers(K, size=n), np.sort(10 ** rng.uniform(-4, 4, 4))
    sides = np.stack([np.full(K, REST), np.arange(K)], axis=1)
    found = solve(Batch(Sparse(X), ClassLabels(codes, sides, K), np.ones(n), Cs), Options(1e-6))
    for k in range(K):
        for j, C in enumerate(Cs):
            value = objective(X, np.where(codes == k, 1.0, -1.0), C, found.coef[k, j], found.intercept[k, j])
            assert found.objective[k, j] == pytest.approx(value, rel=1e-8, abs=1e-12)


def test_parts_side_by_side_stop_where_they_are_told_to():
    X, y = words(130, 500)
    parts = [np.arange(0, 100), np.arange(30, 130)]
    found = hinge_svm_batch(X, y, [0.1, 50.0], rows=parts, tol=1e-10, max_iter=3)
    assert not found.converged[:, 1].any()
    assert (found.n_iter <= 3).all()
    assert (found.dual_objective <= found.objective).all()


def test_more_of_both_than_any_matrix_is_formed_for():
    """Neither d x d nor n x n: visits alone get to the default tolerance."""
    rng = np.random.default_rng(0)
    n, d = 4300, 9000
    X = sparse.random_array((n, d), density=8 / d, random_state=rng, format="csr")
    y = np.where(X @ rng.normal(size=d) + 0.3 * rng.normal(size=n) > 0.1, 1.0, -1.0)
    result = hinge_svm(X, y, 1.0)
    assert result.converged
    g = X.T @ (y * result.alpha)
    assert abs(y @ result.alpha) <= 1e-9 * result.alpha.sum()
    assert result.dual_objective == pytest.approx(result.alpha.sum() - 0.5 * g @ g, rel=1e-9)


def test_conjugate_gradients_finish_what_visits_leave():
    """Overlapping classes on few columns, and too many of these and of rows for a matrix: visits alone take far longer."""
    rng = np.random.default_rng(0)
    n, d = 4300, 9000
    common, rare = (sparse.random_array((n, m), density=q / m, rng=rng) for m, q in ((300, 10), (d - 300, 1)))
    X = sparse.hstack([common, rare], format="csr")
    y = np.where(X @ rng.normal(size=d) + rng.normal(size=n) > 0.1, 1.0, -1.0)
    result = hinge_svm(X, y, 10.0, tol=1e-8)
    assert result.converged
    assert abs(y @ result.alpha) <= 1e-9 * result.alpha.sum()
    assert result.alpha.min() >= 0
    assert result.alpha.max() <= 10.0
    g = X.T @ (y * result.alpha)
    assert result.dual_objective == pytest.approx(result.alpha.sum() - 0.5 * g @ g, rel=1e-10)
    assert result.objective == pytest.approx(objective(X, y, 10.0, result.coef, result.intercept), rel=1e-10)


@pytest.mark.parametrize("folds", [1, 5])
def test_what_was_too_slow_to_visit_goes_on_by_products(folds):
    """Labels that the rows do not tell: most multipliers are between their bounds, at every C of the path."""
    rng = np.random.default_rng(0)
    n, d, Cs = 700, 420, [0.3, 3.0, 30.0]
    X = sparse.random_array((n, d), density=0.015, rng=rng, format="csr")
    y = rng.choice([-1.0, 1.0], n)
    rows = [np.flatnonzero(np.arange(n) % 5 != f) for f in range(folds)]
    found = hinge_svm_batch(X, y, Cs, rows=rows, tol=1e-8, max_iter=2000)
    for f, own in enumerate(rows):
        for j, C in enumerate(Cs):
            batch = Batch(Sparse(X[own]), y[own][None], np.ones(len(own)), np.array([C]))
            exact = solve(batch, Options(1e-9, method="interior-point"))[0, 0]
            assert exact.converged
            assert found.converged[f, j]
            assert found.objective[f, j] == pytest.approx(exact.objective, rel=2e-8)
            value = objective(X[own], y[own], C, found.coef[f, j], found.intercept[f, j])
            assert found.objective[f, j] == pytest.approx(value, rel=1e-10)


def test_a_million_columns():
    rng = np.random.default_rng(0)
    X = sparse.random_array((300, 1_000_000), density=3e-5, random_state=rng, format="csr")
    y = np.where(np.arange(300) % 2, 1.0, -1.0)
    path = hinge_svm_path(X, y, [0.1, 1.0], tol=1e-5)
    assert path.converged.all()
    assert path.coef.shape == (2, 1_000_000)


@pytest.mark.parametrize("backend", ["core", "twin"])
def test_class_labels_stand_for_rows_of_labels(backend):
    X, _ = words(60, 40)
    codes = np.arange(60) % 4
    labels = ClassLabels(codes, np.array([[0, 1], [2, 3], [-1, 2], [3, 0]]), 4)
    dense = np.array([labels[k] for k in range(4)])
    np.testing.assert_array_equal(dense[0], np.select([codes == 0, codes == 1], [-1, 1], 0))
    np.testing.assert_array_equal(dense[2], np.where(codes == 2, 1, -1))
    np.testing.assert_array_equal(dense, np.asarray(labels))
    subsets = np.arange(45), np.arange(59, 10, -1)
    run = solve if backend == "core" else lambda *args: numpy_twin.solve_batch(*args, numpy_twin.Start())
    for rows in (Sparse(X), Dense(X.toarray())):
        one, other = (
            run(Batch(rows, form, np.ones(60), np.array([1.0]), subsets=subsets), Options(1e-9))
            for form in (labels, dense)
        )
        np.testing.assert_array_equal(one.coef, other.coef)
        np.testing.assert_array_equal(one.objective, other.objective)


@pytest.mark.parametrize(
    ("codes", "sides"), [([0, 1, 5, 1], [[0, 1]]), ([0, 1, 0, 1], [[0, 2]]), ([0, 1, 0, 1], [[-2, 1]])]
)
def test_classes_that_are_none_are_refused(codes, sides):
    with pytest.raises(ValueError, match="numbers of classes"):
        solve(Batch(Dense(np.eye(4)), ClassLabels(np.array(codes), np.array(sides), 2), np.ones(4), np.ones(1)))


def test_a_regulariser_of_any_size():
    """Rare columns that weigh much: as where columns are standardised."""
    X, y = words(150, 700)
    variance = X.multiply(X).mean(axis=0) - X.mean(axis=0) ** 2
    B = np.where(variance > 0, variance, 1.0)
    batch = Batch(Sparse(X), y[None], np.ones(150), np.array([1e-4, 1e-2, 1.0]), Quadratics(B[None]))
    found = solve(batch, Options(1e-7, keep_alpha=True))
    assert found.converged.all()
    for k, C in enumerate(batch.Cs):
        assert_certified(X, y, C, found[0, k], 1e-7, B)


@pytest.mark.parametrize("folds", [False, True])
def test_rows_that_contradict_each_other_go_to_their_bounds_at_once(folds):
    """Alike but for their labels they would go there by a step in every pass: by thousands of them at this C."""
    rng = np.random.default_rng(0)
    n, d, C = 4300, 9000, 1000.0
    X = sparse.random_array((n, d), density=8 / d, random_state=rng, format="csr")
    y = np.where(X @ rng.normal(size=d) > 0, 1.0, -1.0)
    X, y = sparse.vstack([X, X[:40], X[:10]], format="csr"), np.concatenate([y, -y[:40], y[:10]])
    if folds:
        parts = [np.arange(len(y)), np.flatnonzero(np.arange(len(y)) % 7 > 0)]
        found = hinge_svm_batch(X, y, [1.0, C], rows=parts, tol=1e-4)
        assert found.converged.all()
        assert found.n_iter.max() < 150
        return
    weight = rng.uniform(0.5, 2.0, len(y))
    result = hinge_svm(X, y, C, None, weight, tol=1e-4)
    assert result.converged
    assert result.n_iter < 150
    assert abs(y @ result.alpha) <= 1e-9 * result.alpha.sum()
    assert (result.alpha >= 0).all()
    assert (result.alpha <= C * weight).all()
    g = X.T @ (y * result.alpha)
    assert result.dual_objective == pytest.approx(result.alpha.sum() - 0.5 * g @ g, rel=1e-10)
    loss = np.maximum(0.0, 1.0 - y * (X @ result.coef + result.intercept))
    assert result.objective == pytest.approx(0.5 * result.coef @ result.coef + C * weight @ loss, rel=1e-10)
