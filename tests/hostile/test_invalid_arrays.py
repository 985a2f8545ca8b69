"""Arrays that make no sense, at every entry to the compiled core: a ValueError that names them, never a crash.

`make sanitize` runs this file on a core that notices every read beyond an array.
"""

import re
from importlib import import_module

import numpy as np
import pytest
from scipy import sparse

from radiusmargin import FSVM, FSVMCV, SVM
from radiusmargin.estimators import KernelMap
from radiusmargin.kernels import KernelFunction
from radiusmargin.solvers import (
    Batch,
    ClassLabels,
    Dense,
    Kernel,
    KernelSearch,
    Options,
    Quadratics,
    Sparse,
    Start,
    hinge_svm,
    hinge_svm_batch,
    hinge_svm_path,
    kernel_scores,
    kernel_svm,
    solve,
    solve_kernel,
)

rng = np.random.default_rng(0)
N, D = 24, 5
X = rng.standard_normal((N, D)) * (rng.random((N, D)) < 0.6)
y = np.where(np.arange(N) % 2, 1.0, -1.0)
RBF = KernelFunction("rbf", gamma=0.5)


def csr(kind=sparse.csr_array, **broken):
    """The rows as a sparse matrix, some of whose arrays were changed after it was made."""
    matrix = kind(X)
    for name, values in broken.items():
        setattr(matrix, name, values)
    return matrix


def with_entry(values, place, entry):
    values = np.array(values)
    values[place] = entry
    return values


SOUND = csr()
nnz, indices, indptr = SOUND.nnz, SOUND.indices, SOUND.indptr
UNSOUND = {
    "index of the column after the last": csr(indices=with_entry(indices, 3, D)),
    "huge index": csr(indices=with_entry(indices, nnz - 1, 2**31 - 1)),
    "negative index": csr(indices=with_entry(indices, 0, -1)),
    "index of 64 bits": csr(indices=with_entry(indices.astype(np.int64), 5, 2**40)),
    "index of 64 bits that is negative": csr(indices=with_entry(indices.astype(np.int64), 5, -(2**40))),
    "rows end beyond the entries": csr(indptr=with_entry(indptr, -1, nnz + 1000)),
    "rows that go back": csr(indptr=with_entry(indptr, 4, nnz)),
    "rows that begin before the entries": csr(indptr=with_entry(indptr, 0, -5)),
    "negative end of a row": csr(indptr=with_entry(indptr, 7, -1)),
    "too few rows": csr(indptr=indptr[:-3]),
    "too many rows": csr(indptr=np.append(indptr, nnz)),
    "values missing": csr(data=SOUND.data[:-4]),
    "indices missing": csr(indices=indices[:-4]),
    "a csr_matrix": csr(sparse.csr_matrix, indices=with_entry(indices, 3, D)),
    "columns": sparse.csc_array(X),
    "blocks": sparse.bsr_array(X),
    "triples": sparse.coo_array(X),
}
UNSOUND["columns"].indices = with_entry(UNSOUND["columns"].indices, 2, N + 7)
UNSOUND["blocks"].indices = with_entry(UNSOUND["blocks"].indices, 0, D)
UNSOUND["triples"].coords = (UNSOUND["triples"].row, with_entry(UNSOUND["triples"].col, 0, D))

ENTRIES = {
    "hinge_svm": lambda X: hinge_svm(X, y),
    "hinge_svm_path": lambda X: hinge_svm_path(X, y, [0.1, 1.0]),
    "hinge_svm_batch": lambda X: hinge_svm_batch(X, y, [0.1, 1.0]),
    "solve": lambda X: solve(Batch(Sparse(X), y[None], np.ones(N), np.ones(1))),
    "kernel_svm": lambda X: kernel_svm(X, y, kernel=RBF),
    "solve_kernel": lambda X: solve_kernel(Batch(Kernel(X, RBF), y[None], np.ones(N), np.ones(1)), Options()),
    "kernel_scores": lambda X: kernel_scores(X, SOUND, np.ones((1, N)), kernel=RBF),
    "kernel_scores: vectors": lambda X: kernel_scores(SOUND, X, np.ones((1, N)), kernel=RBF),
    "SVM": lambda X: SVM().fit(X, y),
    "SVM: no labels of whole numbers": lambda X: SVM().fit(X, y.astype(str)),
    "SVM, rbf": lambda X: SVM(kernel="rbf").fit(X, y),
    "FSVM": lambda X: FSVM().fit(X, y),
    "FSVM, whitening 0": lambda X: FSVM(whitening=0).fit(X, y),
    "FSVMCV": lambda X: FSVMCV(cv=2, random_state=0).fit(X, y),
    "FSVM in chunks": lambda X: FSVM().fit(lambda: iter([(X, y)])),
    "KernelMap": lambda X: KernelMap().fit(X),
    "predict": SVM().fit(SOUND, y).predict,
    "predict, rbf": SVM(kernel="rbf").fit(SOUND, y).predict,
    "decision_function": FSVM(whitening=0).fit(SOUND, y).decision_function,
    "transform": KernelMap().fit(SOUND).transform,
}


@pytest.mark.parametrize("entry", ENTRIES)
@pytest.mark.parametrize("unsound", UNSOUND)
def test_indices_that_lead_out_of_a_sparse_matrix_are_refused(unsound, entry):
    with pytest.raises(ValueError, match="X is not a valid sparse matrix"):
        ENTRIES[entry](UNSOUND[unsound])


def jumbled():
    """The same matrix with entries in no order, every one stored as two halves, and indices of 64 bits."""
    order = rng.permutation(nnz)
    rows, columns = SOUND.tocoo().row[order], indices[order]
    halves = np.r_[rows, rows], np.r_[columns, columns]
    by_row = np.argsort(halves[0], kind="stable")
    matrix = csr(data=np.r_[SOUND.data[order], SOUND.data[order]][by_row] / 2)
    matrix.indices, matrix.indptr = halves[1][by_row].astype(np.int64), 2 * indptr.astype(np.int64)
    return matrix


@pytest.mark.parametrize("entry", ["hinge_svm", "kernel_svm", "predict", "predict, rbf", "decision_function"])
def test_entries_in_any_order_stored_in_halves_are_the_same_matrix(entry):
    expected, found = ENTRIES[entry](SOUND), ENTRIES[entry](jumbled())
    same = (expected, found) if isinstance(found, np.ndarray) else (expected.coef, found.coef)
    np.testing.assert_allclose(*same, atol=1e-6)


FORMS = {
    "dense": Dense(X),
    "sparse": Sparse(SOUND),
    "wide": Sparse(sparse.hstack([SOUND] * 100)),
    "kernel": Kernel(X, RBF),
    "sparse kernel": Kernel(SOUND, RBF),
    "matrix": Kernel(X @ X.T),
}
NUMBERS = {
    "labels": {
        "all zero": (0 * y)[None],
        "NaN": with_entry(y, 3, np.nan)[None],
        "two": with_entry(y, 3, 2.0)[None],
        "one axis": y,
        "too short": y[None, :-1],
        "text": np.full((1, N), "a"),
        "objects": np.full((1, N), None),
        "classes beyond the last": ClassLabels(np.full(N, 7), np.array([[0, 1]]), 2),
    },
    "weights": {
        "NaN": with_entry(np.ones(N), 3, np.nan),
        "infinite": with_entry(np.ones(N), 3, np.inf),
        "negative": with_entry(np.ones(N), 3, -1.0),
        "all zero": np.zeros(N),
        "too short": np.ones(N - 1),
        "too long": np.ones(N + 1),
        "two axes": np.ones((N, 1)),
        "text": np.full(N, "a"),
    },
    "Cs": {
        "none": np.ones(0),
        "a number": np.array(1.0),
        "zero": np.zeros(1),
        "negative": np.array([1.0, -1.0]),
        "NaN": np.array([np.nan]),
        "infinite": np.array([np.inf]),
        "so large that sums overflow": np.array([1e308]),
    },
    "subsets": {
        "row after the last": (np.arange(N), np.array([0, 1, N])),
        "negative row": (np.array([-1, 0, 1]),),
        "huge row": (np.array([2**40, 0, 1]),),
        "fractions": (np.array([0.0, 1.5]),),
        "NaN": (np.array([np.nan, 1.0]),),
        "empty": (np.array([], dtype=int),),
        "two axes": (np.zeros((2, 2), dtype=int),),
    },
    "cells": {
        "subset beyond the last": np.array([[1, 0, 0]]),
        "label beyond the last": np.array([[0, 1, 0]]),
        "regularizer beyond the last": np.array([[0, 0, 1]]),
        "negative": np.array([[0, -1, 0]]),
        "fractions": np.array([[0.0, 0.5, 0.0]]),
        "NaN": np.array([[np.nan, 0.0, 0.0]]),
        "none": np.zeros((0, 3), dtype=int),
        "two numbers": np.zeros((1, 2), dtype=int),
    },
}


def solved(form, **changed):
    """A batch with some of its arrays changed, through the solver that it is for."""
    given = {"rows": FORMS[form], "labels": y[None], "weights": np.ones(N), "Cs": np.ones(1)} | changed
    batch = Batch(**given)
    return solve_kernel(batch, Options()) if batch.rows.kind == "kernel" else solve(batch)


@pytest.mark.parametrize("form", FORMS)
def test_every_form_is_solved(form):
    assert solved(form).converged.all()


@pytest.mark.parametrize("form", FORMS)
@pytest.mark.parametrize(("part", "kind"), [(part, kind) for part, kinds in NUMBERS.items() for kind in kinds])
def test_a_batch_of_numbers_that_make_no_sense_is_refused(part, kind, form):
    with pytest.raises(ValueError, match=r"must|labels|weights|rows|overflows"):
        solved(form, **{part: NUMBERS[part][kind]})


@pytest.mark.parametrize("sides", [[[0, 9]], [[-2, 1]], [[0.0, 1.0]], [0, 1]])
def test_classes_that_do_not_exist_are_refused(sides):
    with pytest.raises(ValueError, match="sides"):
        ClassLabels(np.arange(N) % 2, np.array(sides), 2)


@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
def test_rows_that_are_not_finite_are_refused(form, entry):
    bad = form(with_entry(X, (7, 1), entry))
    for make in (Sparse if sparse.issparse(bad) else Dense, lambda X: Kernel(X, RBF)):
        with pytest.raises(ValueError, match="X contains NaN or infinity"):
            make(bad)
    for call in (lambda: kernel_scores(bad, form(X), np.ones((1, N)), kernel=RBF), lambda: hinge_svm(bad, y)):
        with pytest.raises(ValueError, match="X contains NaN or infinity"):
            call()


@pytest.mark.parametrize("rows", [X[0], X[:0], X[:, :0], X[None], np.full((2, 2), "a"), sparse.csr_array((0, 3)), None])
def test_rows_that_are_no_matrix_are_refused(rows):
    for make in (Dense, Kernel):
        with pytest.raises(ValueError, match="X must"):
            make(rows)


@pytest.mark.parametrize(
    "rows", [X.astype(np.float32), X[::-1], np.asfortranarray(X), np.repeat(X, 2, 1)[:, ::2], X.tolist()]
)
def test_rows_in_any_layout_are_solved(rows):
    expected = hinge_svm(np.array(rows, dtype=float), y)
    result = solve(Batch(Dense(rows), y[None], np.ones(N), np.ones(1)))
    np.testing.assert_allclose(result.coef[0, 0], expected.coef, atol=1e-5)


STARTS = {
    "coef": np.ones((1, D + 1)),
    "coef of NaN": np.full((1, D), np.nan),
    "intercept": np.ones(2),
    "alpha": np.ones((1, N - 1)),
    "alpha of NaN": np.full((1, N), np.nan),
    "alpha of text": np.full((1, N), "a"),
}


@pytest.mark.parametrize("start", STARTS)
@pytest.mark.parametrize("form", ["dense", "sparse", "kernel"])
def test_a_start_that_does_not_fit_is_refused(form, start):
    batch = Batch(FORMS[form], y[None], np.ones(N), np.ones(1))
    solver = solve_kernel if form == "kernel" else solve
    with pytest.raises(ValueError, match="start: "):
        solver(batch, Options(), Start(**{start.split()[0]: STARTS[start]}))


@pytest.mark.parametrize("form", ["dense", "sparse", "wide"])
@pytest.mark.parametrize(
    "spoil",
    [
        lambda d: Quadratics(np.full((1, d), np.nan)),
        lambda d: Quadratics(np.zeros((1, d))),
        lambda d: Quadratics(-np.eye(d)[None]),
        lambda d: Quadratics(np.ones((1, d + 1))),
        lambda d: Quadratics(np.ones(d)),
        lambda d: Quadratics(np.ones((1, d)), np.full((1, d), np.inf), np.zeros(1)),
        lambda d: Quadratics(np.ones((1, d)), np.ones((1, d))),
        lambda d: Quadratics(None, np.ones((2, d)), np.zeros(1)),
    ],
)
def test_regularizers_that_make_no_sense_are_refused(spoil, form):
    with pytest.raises(ValueError, match="regularizer"):
        solved(form, regularizers=spoil(FORMS[form].shape[1]))


class Careless:
    """A kernel whose values have the wrong shape, or are not finite."""

    def __init__(self, shape=lambda n, m: (n, m), value=1.0, diagonal=N):
        self.shape, self.value, self.size = shape, value, diagonal

    def __call__(self, X, Y):
        return np.full(self.shape(X.shape[0], Y.shape[0]), self.value)

    def diagonal(self, X):
        return np.ones(self.size)


CARELESS = {
    "too few columns": Careless(lambda n, m: (n, 1)),
    "too few rows": Careless(lambda n, m: (1, m) if n > 1 else (0, m)),
    "one axis": Careless(lambda n, m: (n * m,)),
    "NaN": Careless(value=np.nan),
    "short diagonal": Careless(diagonal=3),
    "long diagonal": Careless(diagonal=N + 50),
    "no kernel": "rbf",
    "no diagonal": lambda X, Y: X @ Y.T,
}


@pytest.mark.parametrize("kernel", CARELESS)
def test_kernels_that_return_nonsense_are_refused(kernel):
    with pytest.raises(ValueError, match="kernel"):
        kernel_svm(X, y, kernel=CARELESS[kernel])


@pytest.mark.parametrize(
    "parameters",
    [{"kernel": "gauss"}, {"gamma": 0.0}, {"gamma": np.nan}, {"coef0": np.inf}, {"kernel": "poly", "degree": -1}],
)
def test_parameters_of_kernels_are_checked(parameters):
    with pytest.raises(ValueError, match=next(reversed(parameters))):
        KernelFunction(**{"kernel": "rbf"} | parameters)


@pytest.mark.parametrize("kernel", ["rbf", None])
def test_errors_of_kernel_svm_name_a_kernel_that_can_be_imported(kernel):
    with pytest.raises(ValueError, match="such as") as error:
        kernel_svm(X, y, kernel=kernel)
    package, name = re.search(r"such as ([\w.]+)\.(\w+)\('rbf', gamma=1\.0\)", str(error.value)).groups()
    assert kernel_svm(X, y, kernel=getattr(import_module(package), name)("rbf", gamma=1.0)).converged


SEARCHES = {
    "held-out row beyond the last": {"held_out": [np.array([N])]},
    "negative held-out row": {"held_out": [np.array([-1])]},
    "no held-out rows for a part": {"held_out": []},
    "no kernels": {"kernels": []},
    "a name for a kernel": {"kernels": ["rbf"]},
    "a matrix that is none": {"kernels": [None]},
}


@pytest.mark.parametrize("search", SEARCHES)
def test_searches_that_make_no_sense_are_refused(search):
    given = {"held_out": [np.arange(4)], "kernels": [RBF]} | SEARCHES[search]
    batch = Batch(Kernel(X), y[None], np.ones(N), np.ones(1), subsets=(np.arange(4, N),))
    with pytest.raises(ValueError, match=r"held_out|kernel"):
        KernelSearch(batch, **given, options=Options())


@pytest.mark.parametrize(
    "shapes", [((N, D + 1), (N, D), (1, N)), ((N, D), (N, D), (1, N - 1)), ((N, D), (3, D), (1, 4))]
)
@pytest.mark.parametrize("form", [np.ones, lambda shape: sparse.csr_array(np.ones(shape))])
def test_scores_of_shapes_that_do_not_match_are_refused(form, shapes):
    X, vectors, coef = (form(shape) for shape in shapes)
    with pytest.raises(ValueError, match="shapes do not match"):
        kernel_scores(X, vectors, coef, kernel=RBF)


def test_random_sparse_matrices_are_solved_or_refused():
    random, refused = np.random.default_rng(1), 0
    for _ in range(400):
        n, d, size = (int(v) for v in random.integers(2, [9, 9, 30]))
        rows = np.sort(random.integers(-1, size + 2, n + random.integers(0, 3)))
        rows[[0, -1]] = 0, size + (random.random() < 0.1)
        matrix = sparse.csr_array((n, d))
        matrix.data, matrix.indptr = random.standard_normal(size), rows
        matrix.indices = random.integers(-(random.random() < 0.1), d + (random.random() < 0.1), size).astype(np.int32)
        labels = np.where(np.arange(n) % 2, 1.0, -1.0)
        try:
            assert hinge_svm(matrix, labels, tol=1e-3).gap <= 1e-3
            assert SVM(kernel="rbf").fit(matrix, labels).dual_gap_ <= 1e-3
        except ValueError:
            refused += 1
    assert 50 < refused < 350
