"""The registry: complete, unambiguous, and fair in what it lets each model try."""

from contextlib import nullcontext
from math import prod

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

import radiusmargin
from radiusmargin.estimators import get_model, list_models, make_model
from radiusmargin.estimators.base import MarginClassifier
from radiusmargin.estimators.registry import BUDGET

ENTRIES = pytest.mark.parametrize("entry", list_models(), ids=lambda entry: entry.key)


def test_names_are_unambiguous():
    names = [name.lower() for entry in list_models() for name in {entry.key, entry.name.lower()}]
    assert len(names) == len(set(names))


def test_every_public_model_is_registered():
    classes = {getattr(radiusmargin, name) for name in radiusmargin.__all__}
    classifiers = {cls for cls in classes if isinstance(cls, type) and issubclass(cls, MarginClassifier)}
    plain = {cls for cls in classifiers if not cls.__name__.endswith("CV")}
    assert plain == {entry.estimator for entry in list_models()}


def test_the_columns_of_the_paper():
    columns = [entry.name for entry in list_models() if entry.in_paper]
    assert columns == ["SVM", "RMM", "R-SVM+", "R-SVM_mu+", "F-SVM"]


WHICH = pytest.mark.parametrize("which", ["grid", "kernel_grid"])


@ENTRIES
@WHICH
def test_every_grid_has_the_same_budget_and_holds_parameters(entry, which):
    grid = getattr(entry, which).within(BUDGET)
    assert prod(len(values) for values in grid.values()) == BUDGET
    assert set(grid) <= set(make_model(entry.key).get_params())
    assert ("gamma" in grid) == (grid.get("kernel") == ["rbf"]) == (which == "kernel_grid")


@ENTRIES
@WHICH
def test_every_model_has_three_central_values_of_C_whatever_the_budget(entry, which):
    """And no grid is larger than the budget but for those three, smaller than half of it, or says a thing twice."""
    grid = getattr(entry, which)
    low, *_, high = np.log2(grid.within(10**6)["C"])
    for budget in range(1, 50):
        axes = grid.within(budget)
        centred = np.abs(np.log2(axes["C"]) - (low + high) / 2) <= (high - low) / 4
        assert centred.sum() >= 3
        assert len(axes["C"]) >= max(len(values) for values in axes.values())
        size = prod(len(values) for values in axes.values())
        assert size <= max(budget, 3)
        assert size >= min(budget / 2, BUDGET)
        assert all(len(set(values)) == len(values) for values in axes.values())


@ENTRIES
def test_the_corners_of_the_grid_can_be_fitted(entry):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + y[:, None]
    for corner in (0, -1):
        grid = entry.grid.within(BUDGET)
        model = make_model(entry.key, **{name: values[corner] for name, values in grid.items()})
        with nullcontext() if entry.exact else pytest.warns(ConvergenceWarning, match="gap"):
            model.fit(X, y)
        assert model.dual_gap_ <= 1e-6 or not entry.exact


@ENTRIES
def test_entries_are_found_by_key_and_by_name(entry):
    assert get_model(entry.key.upper()) is get_model(entry.name.lower()) is entry
    model = make_model(entry.name, C=3.0)
    assert type(model) is entry.estimator
    assert entry.fixed.items() <= model.get_params().items()
    assert model.C == 3.0
    assert entry.reference


@pytest.mark.parametrize("name", ["fsvm2", "", None])
def test_an_unknown_model_is_an_error_that_lists_the_known_ones(name):
    with pytest.raises(ValueError, match=r"there is no model .*; known are svm \(SVM\), .*msvm \(MSVM\)"):
        get_model(name)
