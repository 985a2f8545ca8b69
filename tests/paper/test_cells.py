"""Single cells: the three protocols, the searches, portraits."""

import dataclasses

import numpy as np
import pytest
from stubs import toy_plan, toy_task

from radiusmargin.paper import tuning
from radiusmargin.paper.catalogue import is_batched, is_scale_free
from radiusmargin.paper.cells import run_cell
from radiusmargin.paper.splits import inner_folds, outer_split


def one_cell(model="fsvm", task=None, **options):
    _, _, plan = toy_plan(models=(model,), **{"budget": 4, **options})
    return plan[0], task or toy_task(splits=2)


def test_an_honest_record_says_what_was_done():
    cell, task = one_cell()
    record = run_cell(cell, task)
    assert record["status"] == "ok"
    assert (record["n_train"], record["n_test"]) == (40, 20)
    assert record["accuracy"] * 20 == pytest.approx(round(record["accuracy"] * 20))
    assert record["params"]["C"] in cell.grid["C"]
    assert record["n_configurations"] == 4
    assert record["gap"] < 1e-6
    assert {"versions", "cpu", "time", "compiled_core"} <= record["provenance"].keys()
    assert record["cell"]["dataset"] == "toy"
    assert run_cell(cell, task)["accuracy"] == record["accuracy"]


def test_the_test_part_is_never_looked_at_before_the_end():
    """Whatever the test rows and their labels are, what is chosen and fitted stays the same."""
    cell, task = one_cell()
    _, test = outer_split(task, cell)
    X = task.X.copy()
    X[test] = 1e3
    changed = dataclasses.replace(task, X=X)
    a, b = run_cell(cell, task), run_cell(cell, changed)
    assert a["params"] == b["params"]
    assert a["inner_accuracy"] == b["inner_accuracy"]
    assert a["portrait"] == b["portrait"]


@pytest.mark.parametrize("model", ["svm", "fsvm", "fsvm-tempered"])
def test_the_batched_search_is_the_grid_search(model):
    cell, task = one_cell(model, toy_task(n=120, d=6), budget=8)
    assert is_batched(cell)
    train, _ = outer_split(task, cell)
    X, y = task.X[train], task.y[train]
    folds = inner_folds(y, cell)
    batched, plain = tuning._batched_search(cell, X, y, folds), tuning._grid_search(cell, X, y, folds)
    assert batched.n_configurations == plain.n_configurations
    assert batched.score == pytest.approx(plain.score, abs=0.02)  # the batched fits stop at a looser gap
    assert set(batched.params) == set(plain.params)


@pytest.mark.parametrize("multi_class", ["ovo", "ovr"])
def test_the_batched_search_has_the_parameters_of_the_model(multi_class):
    rng = np.random.default_rng(0)
    y = np.arange(120) % 8
    X = y[:, None] + 0.2 * rng.normal(size=(120, 1))  # on a line, where only pairs tell the classes apart
    cell, _ = one_cell("fsvm", toy_task(n=120, d=6), budget=8)
    cell = dataclasses.replace(cell, fixed={"multi_class": multi_class})
    folds = inner_folds(y, cell)
    for search in (tuning._batched_search, tuning._grid_search):
        assert (search(cell, X, y, folds).score > 0.8) == (multi_class == "ovo")


@pytest.mark.parametrize("model", ["fsvm-cv", "rmm", "svm-raw"])
def test_other_models_go_their_own_way(model):
    cell, task = one_cell(model)
    assert not is_batched(cell)
    record = run_cell(cell, task)
    assert record["status"] == "ok"
    assert record["accuracy"] > 0.7


def test_what_is_standardised():
    assert is_scale_free(one_cell("fsvm")[0])
    assert is_scale_free(one_cell("svm-raw")[0])
    assert not is_scale_free(one_cell("rmm")[0])
    assert not is_scale_free(one_cell("fsvm", kernel="rbf")[0])
    assert tuning.pipeline(one_cell("fsvm")[0]).named_steps["scale"] == "passthrough"
    assert tuning.pipeline(one_cell("rmm")[0]).named_steps["scale"] != "passthrough"


def test_units_do_not_matter_to_a_standardised_model():
    cell, task = one_cell("rmm", budget=2)
    other = dataclasses.replace(task, X=task.X * np.array([1e-3, 1.0, 10.0, 1e3]))
    assert run_cell(cell, task)["accuracy"] == run_cell(cell, other)["accuracy"]


@pytest.mark.parametrize("model", ["svm", "fsvm", "rmm", "fsvm-cv"])
def test_kernels(model):
    cell, task = one_cell(model, kernel="rbf", budget=2, max_components=10)
    record = run_cell(cell, task)
    assert record["status"] == "ok", record.get("error")
    assert "portrait" not in record
    assert cell.fixed.get("n_components") == (10 if model == "rmm" else None)


def test_the_papers_protocol_reports_the_folds_it_selected_on():
    cell, task = one_cell(protocol="paper", folds=5)
    record = run_cell(cell, task)
    assert record["n_test"] == 12
    train_and_test = tuning.choose(cell, task.X, task.y, [(np.arange(30), np.arange(30, 60))] * 2)
    assert 0.5 < train_and_test.score <= 1.0
    assert record["accuracy"] == pytest.approx(round(record["accuracy"] * 60) / 60)


def test_timing_fits_the_whole_training_part_with_choices_from_a_sample():
    cell, task = one_cell(protocol="timing", folds=10, timing_rows=20, budget=2)
    record = run_cell(cell, task)
    assert record["n_train"] == 54
    assert record["n_fits"] >= 1
    assert 0 < record["fit_seconds"] < record["seconds"]


def test_a_portrait_shows_radius_and_margin_in_standard_units():
    task = toy_task()
    cell, _ = one_cell("fsvm")
    scaled = dataclasses.replace(task, X=task.X * 1e3)
    a, b = (run_cell(cell, t)["portrait"] for t in (task, scaled))
    for part in ("before", "after"):
        assert a[part]["ratio"] == pytest.approx(a[part]["radius"] ** 2 / a[part]["margin"] ** 2)
        assert a[part]["ratio"] == pytest.approx(b[part]["ratio"], rel=1e-3)
    assert a["after"]["ratio"] < a["before"]["ratio"]
    assert a["spectrum"][0] == pytest.approx(1.0)  # the exact metric has rank one
    assert sum(a["data_spectrum"]) == pytest.approx(1.0)
    assert "after" not in run_cell(one_cell("svm")[0], task)["portrait"]


def test_an_error_is_part_of_the_record():
    cell, task = one_cell()
    record = run_cell(cell, dataclasses.replace(task, y=np.array([1] + [-1] * 59)))
    assert record["status"] == "error"
    assert "smallest class" in record["error"]
    assert "Traceback" in record["traceback"]


@pytest.mark.parametrize("model", ["fsvm-span", "fsvm-bound"])
def test_criteria_without_folds_run_as_searches_of_their_own(model):
    cell, task = one_cell(model)
    record = run_cell(cell, task)
    assert record["status"] == "ok"
    assert record["n_configurations"] > 3
    assert record["gap"] < 1e-6
