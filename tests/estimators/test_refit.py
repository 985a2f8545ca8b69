"""A fit after another: nothing of the one before is left, and after one that failed there is no model."""

import numpy as np
import pandas as pd
import pytest
from sklearn.base import clone
from sklearn.exceptions import NotFittedError

from radiusmargin import FSVM, FSVMCV, SVM


def task(n=80):
    y = np.arange(n) % 2
    return np.random.default_rng(0).normal(size=(n, 4)) + y[:, None], y


KINDS = [
    (SVM(), {}), (SVM(kernel="rbf"), {}), (SVM(kernel="rbf", n_components=3), {}), (SVM(), {"chunks": True}),
    (FSVM(), {}), (FSVM(kernel="rbf", whitening=0), {}), (FSVM(verbose=1, eta=0.1), {}), (FSVM(), {"chunks": True}),
    (FSVMCV(3, cv=2), {}), (FSVMCV(3, cv=2, combine="best"), {}), (FSVMCV(3, cv=2, probability=True), {}),
    (FSVMCV(3, cv=2), {"chunks": True}), (FSVMCV(3, cv=2, kernel=["rbf"]), {}), (FSVMCV(3, cv=2, refit=False), {}),
]  # fmt: skip


@pytest.mark.parametrize("kind", [SVM, FSVM, FSVMCV])
def test_a_fit_keeps_nothing_of_those_before(kind):
    """Whatever was fitted before: the attributes are those of a new estimator."""
    X, y = task()
    frame = pd.DataFrame(X, columns=list("abcd"))
    kinds = [(model, how) for model, how in KINDS if type(model) is kind]
    for before, how_before in kinds:
        for after, how in kinds:
            model = clone(before)
            fit(model, frame, y, **how_before)
            fit(model.set_params(**after.get_params()), X, y, **how)
            assert vars(model).keys() == vars(fit(clone(after), X, y, **how)).keys(), (before, after)


def fit(model, X, y, chunks=False):
    rows = np.asarray(X)
    return model.fit(lambda: iter([(rows[:40], y[:40]), (rows[40:], y[40:])])) if chunks else model.fit(X, y)


@pytest.mark.parametrize("model", [SVM(), FSVM(warm_start=True), FSVMCV(3, cv=2)], ids=str)
def test_after_a_fit_that_failed_there_is_no_model(model):
    X, y = task()
    model = clone(model).fit(X, y)
    with pytest.raises(ValueError, match="only one class"):
        model.fit(X[:, :3], np.zeros(len(y)))
    with pytest.raises(NotFittedError):
        model.predict(X)
