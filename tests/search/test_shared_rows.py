"""Support vectors of an average of kernel machines are in pickles and model files once."""

import pickle
from dataclasses import replace

import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.pipeline import make_pipeline

from radiusmargin import AutoSVM, AutoSVR
from radiusmargin.app import Bundle, load_bundle, save_bundle
from radiusmargin.estimators.shared_rows import kernel_of, packed, unpacked

KERNELS = ["rbf", "laplacian", "rbf-ranks"]


@pytest.fixture(scope="module")
def fitted():
    X, y = load_wine(return_X_y=True)
    return AutoSVM(kernel=KERNELS, cv=3, probability=True).fit(X[::2], y[::2]), X[1::2]


def supports(model):
    return [kernel_of(part.space)[0].support for part in model._model.parts]


def test_a_pickle_holds_rows_once_and_decides_the_same(fitted):
    model, X = fitted
    assert len(supports(model)) >= 3
    state = model._model.__getstate__()
    assert all(np.ndim(kernel_of(part.space)[0].support) == 1 for part in state["parts"])
    assert len(state["rows"]) < sum(map(len, supports(model)))
    assert len(pickle.dumps(model._model)) < 0.7 * len(pickle.dumps(vars(model._model)))
    again = pickle.loads(pickle.dumps(model))
    for mine, theirs in zip(supports(model), supports(again), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    for rows in (X, X[:1]):
        np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


def test_a_regression_and_a_model_file_too(tmp_path, fitted):
    pytest.importorskip("skops.io")
    X, _ = load_wine(return_X_y=True)
    regression = AutoSVR().fit(X[::2, 1:], X[::2, 0])
    np.testing.assert_array_equal(
        pickle.loads(pickle.dumps(regression)).predict(X[:, 1:]), regression.predict(X[:, 1:])
    )
    model, rows = fitted
    columns = {"columns": [f"x{k}" for k in range(X.shape[1])]}
    path = save_bundle(Bundle(make_pipeline(model), None, columns), tmp_path / "m.skops")
    again = load_bundle(path).pipeline
    np.testing.assert_array_equal(again.decision_function(rows), model.decision_function(rows))


def test_a_pickle_from_before_is_read(fitted):
    model, X = fitted
    before = object.__new__(type(model._model))
    before.__setstate__({"parts": model._model.parts})
    assert before.rows is None
    np.testing.assert_array_equal(before.decisions(X), model._model.decisions(X))


def test_vectors_that_are_no_rows_stay_as_they_are(fitted):
    model, _ = fitted
    some = model._model.rows[: len(model._model.rows) // 2]
    for before, part, after in zip(
        model._model.parts,
        packed(model._model.parts, some),
        unpacked(packed(model._model.parts, some), some),
        strict=True,
    ):
        assert kernel_of(part.space)[0].support is kernel_of(before.space)[0].support
        np.testing.assert_array_equal(after.coef, before.coef)


def test_a_kernel_machine_without_support_vectors_stays_one(fitted):
    model, X = fitted
    part, rows = model._model.parts[0], model._model.rows
    none = replace(part.space, space=part.space.space.part(np.zeros(0, dtype=int)))
    empty = replace(part, space=none, coef=part.coef[:, :0])
    (again,) = unpacked(packed([empty], rows), rows)
    np.testing.assert_array_equal(again.scores(X), empty.scores(X))


def test_sparse_rows_are_not_shared():
    X, y = load_iris(return_X_y=True)
    X = sparse.csr_array(np.where(X > 2, X, 0.0))
    model = AutoSVM(kernel=["rbf", "laplacian"], cv=3).fit(X, y)
    assert model._model.rows is None
    np.testing.assert_array_equal(pickle.loads(pickle.dumps(model)).decision_function(X), model.decision_function(X))
