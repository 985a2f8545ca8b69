"""The registry: complete, unambiguous, and fair in what it lets each model try."""

from math import prod

import numpy as np
import pytest

import radiusmargin
from radiusmargin.models import get_model, list_models, make_model
from radiusmargin.models.base import MarginClassifier
from radiusmargin.models.registry import BUDGET

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


@ENTRIES
@pytest.mark.parametrize("which", ["grid", "kernel_grid"])
def test_every_grid_has_the_same_budget_and_holds_parameters(entry, which):
    grid = getattr(entry, which)
    assert prod(len(values) for values in grid.values()) == BUDGET
    assert set(grid) <= set(make_model(entry.key).get_params())
    assert all(len(set(values)) == len(values) for values in grid.values())
    assert "gamma" in entry.kernel_grid
    assert entry.kernel_grid["kernel"] == ["rbf"]


@ENTRIES
def test_the_corners_of_the_grid_can_be_fitted(entry):
    rng = np.random.default_rng(0)
    y = np.arange(40) % 2
    X = rng.normal(size=(40, 3)) + y[:, None]
    for corner in (0, -1):
        model = make_model(entry.key, **{name: values[corner] for name, values in entry.grid.items()})
        assert model.fit(X, y).dual_gap_ <= 1e-6


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
