"""The kernel machine: the problem of SVC, a certificate that holds, rows that are shared, and its invariances."""

import warnings

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse
from sklearn.datasets import make_classification
from sklearn.svm import SVC

from radiusmargin import SVM
from radiusmargin._checks import ConvergenceWarning
from radiusmargin.kernels import KernelFunction
from radiusmargin.solvers import (
    Batch,
    ClassLabels,
    Kernel,
    KernelSearch,
    Options,
    Start,
    kernel_scores,
    kernel_svm,
    solve_kernel,
)
from radiusmargin.solvers import kernel as backend
from radiusmargin.solvers.kernel import PairOptions, solve_one

KERNELS = {
    "rbf": KernelFunction("rbf", gamma=0.2),
    "laplacian": KernelFunction("laplacian", gamma=0.1),
    "linear": KernelFunction("linear"),
    "poly": KernelFunction("poly", gamma=0.1, degree=2, coef0=1.0),
    "cosine": KernelFunction("cosine"),
    "callable": KernelFunction(lambda X, Y: 1.0 / (1.0 + np.abs(X[:, None] - np.asarray(Y)[None]).sum(axis=2))),
}
needs_core = pytest.mark.skipif(
    not backend.COMPILED, reason="tests what only the compiled core does; this installation has none"
)


def data(n=240, seed=0):
    X, y = make_classification(n, 6, n_informative=4, flip_y=0.1, class_sep=0.7, random_state=seed)
    return X, 2.0 * y - 1.0


def objectives(K, y, c, result):
    """Both objectives from the definition, at what was returned."""
    v = result.coef
    score = K @ v
    loss = c @ np.maximum(0.0, 1.0 - y * (score + result.intercept))
    return 0.5 * v @ score + loss, np.abs(v).sum() - 0.5 * v @ score


def assert_certified(K, y, c, result, tol, fit_intercept=True):
    P, D = objectives(K, y, c, result)
    assert P * (1 - 1e-12) <= result.objective <= P * (1 + 0.5 * tol + 1e-9)  # rounded up
    assert D * (1 + 1e-12) >= result.dual_objective >= D - P * (0.5 * tol + 1e-9)  # rounded down
    assert tol * P >= P - D
    assert result.converged
    alpha = y * result.coef
    assert alpha.min() >= 0
    assert (alpha <= c * (1 + 1e-15)).all()
    if fit_intercept:
        assert abs(result.coef.sum()) <= 1e-9 * max(1.0, np.abs(result.coef).sum())


def of_svc(K, y, C, weight=None):
    """Decision values of SVC with tol=1e-6, and the relative gap that it leaves."""
    model = SVC(C=C, kernel="precomputed", tol=1e-6).fit(K, y, sample_weight=weight)
    scores, v = model.decision_function(K), np.zeros(len(y))
    v[model.support_] = model.dual_coef_[0]
    loss = C * (np.ones(len(y)) if weight is None else weight) @ np.maximum(0.0, 1.0 - y * scores)
    square = v @ K @ v
    return scores, (square + loss - np.abs(v).sum()) / (0.5 * square + loss)


TWENTY = [(name, C, "plain") for name in KERNELS for C in (0.1, 1.0)]
TWENTY += [(name, 10.0, "plain") for name in KERNELS if name != "callable"]  # of which SVC stops at a gap of 2e-6
TWENTY += [("rbf", 3.0, "weighted"), ("linear", 1.0, "weighted"), ("rbf", 1.0, "sparse"), ("laplacian", 1.0, "sparse")]
TWENTY += [("rbf", 1.0, "tiny cache"), ("poly", 1.0, "tiny cache")]


@pytest.mark.parametrize(("name", "C", "form"), TWENTY)
def test_it_is_svc_with_the_same_tol(name, C, form):
    """Identity K2."""
    X, y = data()
    X = X / X.std(axis=0)
    X = np.where(np.abs(X) < 0.5, 0.0, X) if form == "sparse" else X
    K, weight = (
        KERNELS[name](X),
        np.random.default_rng(0).uniform(0.1, 2, len(y)) if form == "weighted" else np.ones(len(y)),
    )
    rows = sparse.csr_array(X) if form == "sparse" else X
    arguments = {
        "kernel": KERNELS[name],
        "sample_weight": weight,
        "cache_size": 1e-3 if form == "tiny cache" else 500.0,
    }
    result = kernel_svm(rows, y, C, **arguments, tol=1e-6)
    assert_certified(K, y, C * weight, result, 1e-6)
    expected, gap = of_svc(K, y, C, weight)
    assert gap < 1e-6
    np.testing.assert_allclose(K @ result.coef + result.intercept, expected, atol=1e-4)


@pytest.mark.parametrize("kernel", ["rbf", "poly"])
def test_three_classes_are_those_of_svc(kernel):
    X, y = make_classification(150, 6, n_informative=4, n_classes=3, class_sep=0.7, random_state=0)
    X = X / X.std(axis=0)
    arguments = {"kernel": kernel, "gamma": 0.1, "coef0": 1.0, "degree": 2}
    theirs = SVC(**arguments, tol=1e-6, decision_function_shape="ovo").fit(X, y)
    ours = SVM(**arguments, tol=1e-6).fit(X, y)
    scores = kernel_scores(
        X, X[ours.support_], pairwise(ours, y), kernel=KernelFunction(kernel, gamma=0.1, degree=2, coef0=1.0)
    )
    np.testing.assert_allclose(np.abs(scores + ours.intercept_), np.abs(theirs.decision_function(X)), atol=1e-4)


def pairwise(model, y):
    """Coefficients of the support vectors, a row for each pair of classes, from SVC's layout."""
    codes, rows = y[model.support_], []
    for i, j in zip(*np.triu_indices(3, 1), strict=True):
        rows.append(-np.where(codes == i, model.dual_coef_[j - 1], np.where(codes == j, model.dual_coef_[i], 0.0)))
    return np.array(rows)


@pytest.mark.parametrize("name", KERNELS)
def test_a_gap_bounds_how_far_scores_are_off(name):
    """Identity K4: P is strongly convex in the separator: |score - best| <= sqrt(2 k(x, x) (P - D)), but for the intercept."""
    X, y = data()
    K = KERNELS[name](X)
    loose = kernel_svm(X, y, 10.0, kernel=KERNELS[name], tol=1e-3)
    tight = kernel_svm(X, y, 10.0, kernel=KERNELS[name], tol=1e-9)
    bound = np.sqrt(2.0 * np.diag(K) * (loose.objective - loose.dual_objective))
    assert (np.abs(K @ (loose.coef - tight.coef)) <= 1.001 * bound).all()
    np.testing.assert_allclose(K @ tight.coef + tight.intercept, of_svc(K, y, 10.0)[0], atol=5e-4)


@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "poly", "cosine"])
def test_sparse_rows_and_tiny_caches(name):
    X, y = data(150)
    X[X < 0.3] = 0.0
    K = KERNELS[name](X)
    for rows in (X, sparse.csr_array(X)):
        result = kernel_svm(rows, y, 5.0, kernel=KERNELS[name], tol=1e-6, cache_size=1e-3)
        assert_certified(K, y, np.full(len(y), 5.0), result, 1e-6)


def test_given_matrix_and_weights():
    X, y = data()
    K, weight = KERNELS["rbf"](X), np.random.default_rng(0).uniform(0, 2, len(y))
    weight[:20] = 0.0
    result = kernel_svm(K, y, 3.0, sample_weight=weight, tol=1e-8)
    assert_certified(K, y, 3.0 * weight, result, 1e-8)
    some = slice(20, None)
    expected, _ = of_svc(K[some, some], y[some], 3.0, weight[some])
    np.testing.assert_allclose((K @ result.coef + result.intercept)[some], expected, atol=1e-4)


@pytest.mark.parametrize("name", ["rbf", "linear"])
def test_without_intercept(name):
    X, y = data()
    K = KERNELS[name](X)
    result = kernel_svm(X, y, 2.0, kernel=KERNELS[name], fit_intercept=False, tol=1e-6)
    assert result.intercept == 0.0
    assert_certified(K, y, np.full(len(y), 2.0), result, 1e-6, fit_intercept=False)


@needs_core
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("name", ["rbf", "cosine", "callable"])
def test_the_numpy_twin_agrees(name, fit_intercept, monkeypatch):
    X, y = data(120)
    arguments = {"kernel": KERNELS[name], "fit_intercept": fit_intercept, "tol": 1e-7}
    ours = kernel_svm(X, y, 2.0, **arguments)
    monkeypatch.setattr(backend, "COMPILED", False)
    twin = kernel_svm(X, y, 2.0, **arguments)
    assert_certified(KERNELS[name](X), y, np.full(len(y), 2.0), twin, 1e-7, fit_intercept)
    assert ours.objective == pytest.approx(twin.objective, rel=2e-7)


def test_nearly_singular_kernels_are_finished_by_newton():
    X, y = data()
    k = KernelFunction("poly", gamma=1.0, degree=2, coef0=1.0)
    result = kernel_svm(X, y, 100.0, kernel=k, tol=1e-6)
    assert_certified(k(X), y, np.full(len(y), 100.0), result, 1e-6)


@needs_core
@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize(
    ("kernel", "C"),
    [
        (KernelFunction("linear"), 1e3),
        (KernelFunction("cosine"), 5e4),
        (KernelFunction("poly", gamma=0.05, degree=2, coef0=1.0), 1e2),
        (KernelFunction("rbf", gamma=1e-3), 1e5),
    ],
    ids=lambda value: value.kernel if isinstance(value, KernelFunction) else f"{value:g}",
)
def test_low_rank_and_a_large_C_are_finished_from_inside(kernel, C, fit_intercept):
    rng = np.random.default_rng(5)
    X = rng.standard_normal((220, 6)) * np.geomspace(0.03, 30.0, 6)
    y = np.where(X @ rng.standard_normal(6) + 10.0 * rng.standard_normal(220) > 0, 1.0, -1.0)
    result = kernel_svm(X, y, C, kernel=kernel, fit_intercept=fit_intercept, tol=1e-6)
    assert_certified(kernel(X), y, np.full(220, C), result, 1e-6, fit_intercept)


def test_shrinking_and_sampling_on_more_rows():
    rng = np.random.default_rng(0)
    X = rng.standard_normal((2500, 70))
    y = np.where(X[:, 0] * X[:, 1] + 0.3 * rng.standard_normal(2500) > 0, 1.0, -1.0)
    k = KernelFunction("rbf", gamma=0.01)
    for columns in (70, 5):  # rows that are dear, and cheap ones
        Z = np.ascontiguousarray(X[:, :columns])
        result = kernel_svm(Z, y, 20.0, kernel=k, tol=1e-5)
        assert_certified(k(Z), y, np.full(len(y), 20.0), result, 1e-5)


@needs_core
@pytest.mark.parametrize("C", [0.1, 10.0, 1000.0])
def test_an_estimated_gap_is_relative_to_the_loss_of_zero(C):
    X, y = data(300)
    k, estimated = KERNELS["rbf"], PairOptions(1e-3, 1000, intercept=True, strict=False)
    rows = backend.make_rows(Kernel(X, k), 100.0)
    (v,), _, numbers, _ = solve_one(rows, y, np.ones(300), None, Cs=np.array([C]), options=estimated)
    intercept, score = numbers[0, 0], k(X) @ v
    objective = 0.5 * v @ score + C * np.maximum(0.0, 1.0 - y * (score + intercept)).sum()
    least = kernel_svm(X, y, C, kernel=k, tol=1e-7).objective
    assert least * (1 - 1e-6) <= objective <= least + 1.01e-3 * C * 300
    assert numbers[0, 1] == pytest.approx(objective, rel=1e-3)
    assert numbers[0, 1] - numbers[0, 2] <= 1.01e-3 * C * 300


def test_data_far_from_the_origin():
    X, y = data()
    near = kernel_svm(X, y, 1.0, kernel=KERNELS["rbf"], tol=1e-7)
    far = kernel_svm(X + 1e5, y, 1.0, kernel=KERNELS["rbf"], tol=1e-7)
    assert far.objective == pytest.approx(near.objective, rel=1e-6)


def test_a_path_keeps_the_order_of_Cs_and_equals_single_fits():
    X, y = data()
    Cs = np.array([10.0, 0.1, 1.0])
    batch = Batch(Kernel(X, KERNELS["rbf"]), y[None], np.ones(len(y)), Cs)
    path = solve_kernel(batch, Options(1e-7, keep_alpha=True))
    for k, C in enumerate(Cs):
        single = kernel_svm(X, y, C, kernel=KERNELS["rbf"], tol=1e-7)
        assert path[0, k].objective == pytest.approx(single.objective, rel=2e-7)
        assert path.alpha[0, k].max() <= C


@pytest.mark.parametrize("n_threads", [1, 2])
def test_pairs_of_classes_and_folds_on_shared_rows(n_threads):
    X, y = data(180)
    rng = np.random.default_rng(0)
    labels = np.stack([y, np.where(rng.random(180) < 0.7, 0.0, y), np.where(rng.random(180) < 0.2, 0.0, y)])
    folds = tuple(np.flatnonzero(np.arange(180) % 3 != fold) for fold in range(3))
    rows, k = Kernel(X, KERNELS["rbf"]), KERNELS["rbf"]
    batch = Batch(rows, labels, np.ones(180), np.array([0.5, 5.0]), subsets=folds)
    results = solve_kernel(batch, Options(1e-7, n_threads=n_threads), keep_scores=True)
    for p, (fold, label, _) in enumerate(batch.cells):
        some = folds[fold][labels[label][folds[fold]] != 0]
        single = kernel_svm(X[some], labels[label][some], 5.0, kernel=k, tol=1e-7)
        result = results[p, 1]
        assert result.objective == pytest.approx(single.objective, rel=2e-7)
        assert set(result.support) <= set(some)
        np.testing.assert_allclose(results.scores[p, 1], k(X) @ result.coef + result.intercept, atol=1e-4)
    without = solve_kernel(batch, Options(1e-7, n_threads=n_threads))
    assert without.scores is None
    np.testing.assert_allclose(without.objective, results.objective, rtol=2e-7)


def searched(batch, held_out, kernels, options, race=None):
    """Scores of shape (kernels, Cs, K, n); NaN of rows that a candidate was not scored on."""
    scores = np.full((len(kernels), len(batch.Cs), *batch.labels.shape), np.nan)
    search = KernelSearch(batch, held_out, kernels, options)
    candidates = np.ones(scores.shape[:2], dtype=bool)
    for folds in search.rounds() if race else [None]:
        for found in search.scores(folds, candidates):
            scores[np.ix_([found.kernel], found.Cs, range(len(batch.labels)), held_out[found.fold])] = found.values
        if race and folds[-1] + 1 < len(held_out):
            candidates = candidates & race(scores, range(folds[-1] + 1))
    return scores


@pytest.mark.parametrize("n_threads", [1, 2])
def test_held_out_scores_are_those_of_single_fits(n_threads):
    X, y = data(120)
    labels = np.stack([y, np.where(X[:, 0] > 0.5, 0.0, y)])
    held_out = [np.arange(fold, 120, 3) for fold in range(3)]
    parts = tuple(np.setdiff1d(np.arange(120), rows) for rows in held_out)
    kernels, Cs = [KERNELS["rbf"], KERNELS["laplacian"]], np.array([3.0, 0.3])
    batch = Batch(Kernel(X), labels, np.ones(120), Cs, subsets=parts)
    scores = searched(batch, held_out, kernels, Options(1e-6, n_threads=n_threads))
    assert np.isfinite(scores).all()
    for g, k in enumerate(kernels):
        for part, rows in zip(parts, held_out, strict=True):
            for label, signs in enumerate(labels):
                some = part[signs[part] != 0]
                single = kernel_svm(X[some], signs[some], 3.0, kernel=k, tol=1e-7)
                expected = k(X[rows], X[some]) @ single.coef + single.intercept
                np.testing.assert_allclose(scores[g, 0, label, rows], expected, atol=5e-3)
    with pytest.raises(ValueError, match="one entry for each of 3 subsets"):
        KernelSearch(batch, held_out[:2], kernels, Options(1e-3))


@pytest.mark.parametrize("cache_size", [500.0, 1e-3])
def test_members_that_are_dropped_are_scored_no_further(cache_size):
    X, y = data(300)
    held_out = [np.arange(fold, 300, 5) for fold in range(5)]
    parts = tuple(np.setdiff1d(np.arange(300), rows) for rows in held_out)
    kernels, Cs = [KernelFunction("rbf", gamma=g) for g in (0.03, 0.3, 30.0)], np.array([10.0, 1.0])
    batch = Batch(Kernel(X, cache_size=cache_size), y[None], np.ones(300), Cs, subsets=parts)
    asked = []

    def race(scores, seen):
        asked.append(list(seen))
        assert np.isfinite(scores[0, 0, 0, np.concatenate([held_out[part] for part in seen])]).all()
        return np.array([[True, True], [True, len(asked) < 2], [False, False]])

    whole, raced = (
        searched(batch, held_out, kernels, Options(1e-5)),
        searched(batch, held_out, kernels, Options(1e-5), race),
    )
    assert asked == ([[0], [0, 1], [0, 1, 2], [0, 1, 2, 3]] if cache_size > 1 else [[0]])
    scored = np.isfinite(raced[:, :, 0])
    assert scored[0].all()
    assert scored[1, 0].all()
    for place, most in (((1, 1), 2 if cache_size > 1 else 5), ((2, 0), 1), ((2, 1), 1)):
        assert set(np.flatnonzero(scored[place])) == set(np.concatenate(held_out[:most]))
    np.testing.assert_allclose(raced[np.isfinite(raced)], whole[np.isfinite(raced)], atol=2e-2)


def test_a_search_takes_classes_as_codes():
    X, _ = data(90)
    labels = ClassLabels(np.arange(90) % 3, np.array([[0, 1], [0, 2], [1, 2]]), 3)
    held_out = [np.arange(fold, 90, 4) for fold in range(4)]
    parts = tuple(np.setdiff1d(np.arange(90), rows) for rows in held_out)
    scores = [
        searched(
            Batch(Kernel(X), form, np.ones(90), np.array([1.0]), subsets=parts),
            held_out,
            [KERNELS["rbf"]],
            Options(1e-3),
        )
        for form in (labels, np.asarray(labels))
    ]
    np.testing.assert_allclose(*scores, atol=1e-2)


def test_a_row_that_is_there_twice_weighs_twice():
    X, y = data(60)
    twice = np.concatenate([np.arange(60), np.arange(10)])
    batch = Batch(Kernel(X, KERNELS["rbf"]), y[None], np.ones(60), np.array([1.0]), subsets=(twice,))
    single = kernel_svm(X[twice], y[twice], 1.0, kernel=KERNELS["rbf"], tol=1e-7)
    assert solve_kernel(batch, Options(1e-7)).objective[0, 0] == pytest.approx(single.objective, rel=2e-7)


def test_a_start_is_only_a_start():
    X, y = data()
    batch = Batch(Kernel(X, KERNELS["rbf"]), y[None], np.ones(len(y)), np.array([1.0]))
    cold = solve_kernel(batch, Options(1e-7, keep_alpha=True))
    for alpha in (cold.alpha[:, 0], 100 * np.random.default_rng(0).random((1, len(y)))):
        warm = solve_kernel(batch, Options(1e-7), Start(alpha=alpha))
        assert warm.objective[0, 0] == pytest.approx(cold.objective[0, 0], rel=2e-7)
    assert solve_kernel(batch, Options(1e-7), Start(alpha=cold.alpha[:, 0])).n_iter[0, 0] < cold.n_iter[0, 0]


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 10_000), st.sampled_from(["rbf", "laplacian", "poly"]), st.floats(0.05, 20.0))
def test_permutation_scaling_and_duplicates(seed, name, C):
    X, y = data(60, seed % 7)
    rng, k = np.random.default_rng(seed), KERNELS[name]
    weight = rng.uniform(0.1, 2.0, 60)
    reference = kernel_svm(X, y, C, kernel=k, sample_weight=weight, tol=1e-7).objective
    order = rng.permutation(60)
    variants = [
        (X[order], y[order], C, weight[order]),
        (X, -y, C, weight),
        (X, y, C * 4.0, weight / 4.0),
        (np.vstack([X, X]), np.concatenate([y, y]), C, np.concatenate([weight, weight]) / 2.0),
    ]
    for Z, z, D, w in variants:
        assert kernel_svm(Z, z, D, kernel=k, sample_weight=w, tol=1e-7).objective == pytest.approx(reference, rel=3e-7)


def test_an_indefinite_kernel_is_said_to_be_one():
    X, y = data(100)
    with pytest.warns(ConvergenceWarning, match="stationary point"):
        result = kernel_svm(X, y, 1.0, kernel=KernelFunction("sigmoid", gamma=0.1, coef0=-1.0))
    assert not result.definite
    K = -KERNELS["rbf"](X)
    with pytest.warns(ConvergenceWarning, match="stationary point"):
        kernel_svm(K, y, 1.0)


def test_one_class_has_most_of_the_weight_and_nothing_separates():
    X = np.zeros((20, 2))
    y = np.where(np.arange(20) < 15, 1.0, -1.0)
    result = kernel_svm(X, y, 1.0, kernel=KERNELS["rbf"], tol=1e-6)
    assert result.objective == pytest.approx(10.0)  # the five others lose 2 each
    assert result.intercept == pytest.approx(1.0)


def test_values_beyond_single_precision_end_with_an_honest_gap():
    X = 100.0 * np.random.default_rng(0).standard_normal((3, 80))
    k = KernelFunction("poly", gamma=0.5, degree=7, coef0=1.0)
    y = np.array([1.0, -1.0, 1.0])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        result = kernel_svm(X, y, 100.0, kernel=k)
    assert result.converged == (result.gap <= 1e-4)


def test_many_classes_keep_what_is_not_zero():
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(14), 8)
    X = 2.0 * rng.standard_normal((14, 5))[y] + rng.standard_normal((112, 5))
    ours, theirs = SVM(kernel="rbf", gamma=0.1, tol=1e-8).fit(X, y), SVC(gamma=0.1, tol=1e-8).fit(X, y)
    assert sparse.issparse(ours._model.coef)
    np.testing.assert_array_equal(ours.support_, theirs.support_)
    np.testing.assert_allclose(ours.dual_coef_, theirs.dual_coef_, atol=1e-5)
    np.testing.assert_allclose(np.sort(np.abs(ours.intercept_)), np.sort(np.abs(theirs.intercept_)), atol=1e-5)


def test_rows_of_zeros_have_no_direction():
    X, y = data(60)
    X[:10] = 0.0
    for name in ("cosine", "linear"):
        for fit_intercept in (True, False):
            result = kernel_svm(X, y, 1.0, kernel=KERNELS[name], fit_intercept=fit_intercept, tol=1e-6)
            assert_certified(KERNELS[name](X), y, np.ones(60), result, 1e-6, fit_intercept)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("name", ["rbf", "laplacian", "linear", "poly", "cosine"])
def test_scores_of_new_rows(name, form, monkeypatch):
    rng = np.random.default_rng(0)
    X, vectors, coef = rng.standard_normal((70, 5)), rng.standard_normal((11, 5)), rng.standard_normal((3, 11))
    expected = KERNELS[name](X, vectors) @ coef.T
    monkeypatch.setattr("radiusmargin.solvers.kernel._BLOCK", 200)
    for n_threads in (1, 2):
        scores = kernel_scores(form(X), form(vectors), coef, kernel=KERNELS[name], n_threads=n_threads)
        np.testing.assert_allclose(scores, expected, atol=1e-10)


@needs_core
def test_a_callback_hears_and_may_end_it():
    rng = np.random.default_rng(0)
    X, y = rng.standard_normal((3000, 5)), rng.choice([-1.0, 1.0], 3000)
    batch = Batch(Kernel(X, KernelFunction("rbf", gamma=1.0)), y[None], np.ones(3000), np.array([1e4]))

    def enough(pairs, gap):
        raise TimeoutError(f"{pairs} pairs")

    with pytest.raises(TimeoutError, match="pairs"):
        solve_kernel(batch, Options(1e-9), callback=enough)
    with pytest.raises(TimeoutError, match="pairs"):
        solve_kernel(
            Batch(batch.rows, np.stack([y, -y]), batch.weights, batch.Cs), Options(1e-9, n_threads=2), callback=enough
        )


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        ({"X": np.ones((4, 2))}, "kernel matrix of shape"),
        ({"C": -1.0}, "C must be a number in"),
        ({"cache_size": 0.0}, "cache_size must be a number in"),
        ({"kernel": "rbf"}, "kernel must be a KernelFunction"),
        ({"y": np.ones(4)}, "both classes"),
        ({"tol": 0.0}, "tol must be a number in"),
    ],
)
def test_bad_arguments_are_named(arguments, message):
    good = {"X": np.eye(4), "y": np.array([1, -1, 1, -1])}
    with pytest.raises(ValueError, match=message):
        kernel_svm(**(good | arguments))


def own_loss(model, X, y):
    """C times the hinge loss of a model's own decision values."""
    return model.C * np.maximum(0.0, 1.0 - np.where(y == 1, 1.0, -1.0) * model.decision_function(X)).sum()


def test_rows_left_out_of_a_certificate_have_no_loss():
    """Multipliers that fall from C to almost zero leave an f behind that knows of neither."""
    X, y = np.array([[98.7], [102.6], [100.5], [100.6], [99.8], [100.1]]), np.array([0, 1, 0, 0, 0, 1])
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        model = SVM(C=205, kernel="poly", degree=2).fit(X, y)
    assert own_loss(model, X, y) <= model.objective_


@pytest.mark.parametrize("kernel", ["poly", "linear", "cosine", "rbf", "laplacian"])
def test_no_certificate_is_below_the_loss_of_the_model(kernel):
    """Kernels far from the origin, C up to 1e9: what is certified is what the decision values say."""
    rng = np.random.default_rng(0)
    certified = 0
    parameters = {"poly": {"kernel": "poly", "degree": 2}, "linear": {"kernel": "poly", "degree": 1, "coef0": 1.0}}
    for _ in range(300):
        n, d, offset = rng.integers(4, 30), rng.integers(2, 4), rng.choice([0.0, 30.0, 100.0, 1000.0])
        X = rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 10.0]) + offset
        y = np.append([0, 1], rng.integers(0, 2, n - 2))
        model = SVM(C=10 ** rng.uniform(-2, 9), **parameters.get(kernel, {"kernel": kernel}))
        with warnings.catch_warnings():
            warnings.simplefilter("ignore", ConvergenceWarning)
            model.fit(X, y)
        certified += model.dual_gap_ <= model.tol
        assert own_loss(model, X, y) <= model.objective_ * (1 + 1e-6) + 1e-12
    assert certified >= 50
