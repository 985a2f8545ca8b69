"""Calls that make no sense, and arrays that lie oddly in memory."""

import numpy as np
import pytest
from scipy import sparse

from radiusmargin import FSVM, FSVMCV
from radiusmargin.estimators import list_models, make_model
from radiusmargin.paper.data import make_twonorm
from radiusmargin.solvers import hinge_svm_batch

X, y = make_twonorm(40, 3, random_state=0)
EVERY, NONE = np.arange(40), np.array([], dtype=int)


@pytest.mark.parametrize(
    ("cv", "message"),
    [([], "cv must give at least one split"), ([(EVERY, NONE)], "cv: split 0 has no test rows")],
)
def test_splits_that_test_nothing_are_named(cv, message):
    with pytest.raises(ValueError, match=message):
        FSVMCV(cv=cv).fit(X, y)


@pytest.mark.parametrize("model", [FSVM(), FSVMCV()])
def test_weights_of_classes_that_are_not_there_are_named(model):
    with pytest.raises(ValueError, match="class_weight has unknown classes"):
        model.set_params(class_weight={7: 2.0}).fit(X, y)


def test_a_test_part_of_rows_without_weight_is_empty():
    weight = np.ones(40)
    weight[:5] = 0
    with pytest.raises(ValueError, match="no test rows of positive weight"):
        FSVMCV(cv=[(EVERY[5:], EVERY[:5])]).fit(X, y, sample_weight=weight)


@pytest.mark.parametrize("n_jobs", [2**31, 2**63, 10**30, 0, 1.5])
def test_more_threads_than_can_be_counted_are_refused(n_jobs):
    with pytest.raises(ValueError, match="n_jobs must be a positive number of threads"):
        FSVMCV(n_jobs=n_jobs).fit(X, y)
    with pytest.raises(ValueError, match="n_jobs must be a positive number of threads"):
        hinge_svm_batch(X, np.where(y > 0, 1.0, -1.0), [1.0], n_jobs=n_jobs)


def packed(X):
    """The rows as a field of packed records: float64 at odd addresses."""
    records = np.zeros(len(X), dtype=[("flag", "i1"), ("row", "f8", X.shape[1:])])
    records["row"] = X
    return records["row"]


@pytest.mark.parametrize("key", [entry.key for entry in list_models() if entry.exact])
def test_a_view_of_packed_records_is_an_array_like_any_other(key):
    plain, view = (make_model(key, random_state=0).fit(rows, y) for rows in (X, packed(X)))
    np.testing.assert_allclose(view.decision_function(packed(X)), plain.decision_function(X), rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("model", [FSVM(kernel="rbf"), FSVMCV(random_state=0), FSVMCV(kernel="rbf", random_state=0)])
def test_also_with_a_kernel_and_in_the_search(model):
    expected = model.fit(X, y).decision_function(X)
    np.testing.assert_allclose(model.fit(packed(X), y).decision_function(packed(X)), expected, rtol=1e-9, atol=1e-9)


@pytest.mark.parametrize("form", [np.asarray, sparse.csr_array])
@pytest.mark.parametrize("entry", [np.nan, np.inf, -np.inf])
def test_a_single_bad_entry_among_doubles_is_named(entry, form):
    bad = X.copy()
    bad[7, 1] = entry
    bad, model = form(bad), FSVM().fit(X, y)
    for call in (lambda: FSVM().fit(bad, y), lambda: model.predict(bad)):
        with pytest.raises(ValueError, match=r"Input X contains (NaN|infinity)"):
            call()


def test_entries_whose_sum_overflows_are_finite_all_the_same():
    huge = X.copy()
    huge[:, 2] = 1e307
    np.testing.assert_array_equal(FSVM().fit(X, y).predict(huge[:0:-1]), FSVM().fit(X, y).predict(huge)[:0:-1])


@pytest.mark.parametrize("rows", [X[:, :2], X[0], X[:0], sparse.csr_array(X[:, :2]), sparse.csr_array(X[:0])])
def test_rows_of_another_shape_are_refused_also_as_doubles(rows):
    with pytest.raises(ValueError, match=r"features|1D array|0 sample"):
        FSVM().fit(X, y).predict(rows)


def test_labels_of_another_length_are_refused_also_as_integers():
    with pytest.raises(ValueError, match="inconsistent numbers of samples"):
        FSVM().fit(X, y[:-1])
