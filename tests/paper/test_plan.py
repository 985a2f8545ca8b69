"""Specifications, cells and their hashes, seeds and splits."""

import dataclasses
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest
from scipy import sparse
from sklearn.model_selection import ParameterGrid
from stubs import toy_plan, toy_task

from radiusmargin.paper import Cell, Spec, SpecError, builtin_specs, catalogue, load_spec, make_plan
from radiusmargin.paper.catalogue import resolve_models
from radiusmargin.paper.plan import data_fingerprint
from radiusmargin.paper.spec import from_document
from radiusmargin.paper.splits import inner_folds, outer_split, paper_folds, split_note, subsample
from radiusmargin.paper.workflow import protocol_notes
from radiusmargin.tables import DataError


@pytest.mark.parametrize("name", builtin_specs())
@pytest.mark.parametrize("quick", [False, True])
def test_the_specifications_of_the_package_can_be_read(name, quick):
    spec = load_spec(name, quick=quick)
    assert spec.name == name
    assert spec.datasets
    assert resolve_models(spec.models)


def test_a_specification_of_ones_own(tmp_path):
    path = tmp_path / "mine.toml"
    path.write_text(
        'name = "mine"\ndatasets = ["builtin/twonorm"]\nmodels = ["svm"]\n[quick]\nruns = 7\n',
        encoding="utf-8",
    )
    assert load_spec(path).runs == 1
    assert load_spec(path, quick=True).runs == 7


@pytest.mark.parametrize(
    ("document", "message"),
    [
        ({}, "no name"),
        ({"name": "x", "protocol": "lucky"}, "protocol must be one of nested"),
        ({"name": "x", "runs": 0}, "runs must be an integer of at least 1"),
        ({"name": "x", "runs": 1.5}, "runs must be an integer"),
        ({"name": "x", "fold": 3}, "unknown field fold"),
        ({"name": "x", "models": []}, "at least one model"),
    ],
)
def test_a_bad_specification_is_refused_by_name(document, message):
    with pytest.raises(SpecError, match=message):
        from_document(document)


def test_unreadable_and_unknown_specifications(tmp_path):
    bad = tmp_path / "bad.toml"
    bad.write_text("name = ", encoding="utf-8")
    with pytest.raises(SpecError, match=r"bad\.toml"):
        load_spec(bad)
    with pytest.raises(SpecError, match="no such file"):
        load_spec(tmp_path / "absent.toml")
    with pytest.raises(SpecError, match="known are compare"):
        load_spec("table9")


def test_models_are_found_by_key_or_name_and_misspellings_get_a_hint():
    assert resolve_models(["F-SVM", "svm", "FSVM"]) == ["fsvm", "svm"]
    assert resolve_models(["paper"])[0] == "svm"
    assert len(resolve_models(["all"])) == len(set(resolve_models(["all"])))
    with pytest.raises(DataError, match="did you mean"):
        resolve_models(["fsvmm"])


def test_a_key_depends_on_every_field_and_on_nothing_else():
    _, _, (cell, *_) = toy_plan()
    keys = {cell.key, dataclasses.replace(cell).key}
    assert len(keys) == 1
    changed = {
        "dataset": "b",
        "data": "0",
        "run": 9,
        "model": "rmm",
        "protocol": "paper",
        "kernel": "rbf",
        "splits": "official",
        "folds": 9,
        "inner_folds": 9,
        "budget": 9,
        "timing_rows": 9,
        "grid": {"C": [1.0]},
        "fixed": {"a": 1},
        "version": 0,
        "metric": "roc_auc",
    }
    assert set(changed) == {field.name for field in dataclasses.fields(Cell)}
    keys |= {dataclasses.replace(cell, **{name: value}).key for name, value in changed.items()}
    assert len(keys) == 1 + len(changed)


def test_a_key_holds_what_its_entry_fixes(monkeypatch):
    """The step of Algorithm 1 is no axis of a plan, and two steps are two results all the same."""
    before = {cell.key for cell in toy_plan(models=("algorithm-1",))[2]}
    entry = catalogue.get_model("algorithm-1")
    changed = dataclasses.replace(entry, fixed={"step": 0.5})
    monkeypatch.setattr(catalogue, "_entries", lambda: {"algorithm-1": changed})
    cells = toy_plan(models=("algorithm-1",))[2]
    assert before.isdisjoint(cell.key for cell in cells)
    assert catalogue.make_estimator(cells[0]).step == 0.5


def test_a_key_is_the_same_in_another_process():
    _, _, plan = toy_plan()
    folder = str(Path(__file__).parent)
    code = "import sys; sys.path.insert(0, sys.argv[1]); from stubs import toy_plan; print(toy_plan()[2][0].key)"
    run = subprocess.run(
        [sys.executable, "-c", code, folder],
        capture_output=True,
        text=True,
        check=True,
        env={"PYTHONHASHSEED": "7"},
    )
    assert run.stdout.strip() == plan[0].key


def test_a_plan_holds_every_combination_once():
    spec, tasks, plan = toy_plan(models=("svm", "fsvm"), names=("a", "b"), runs=2)
    assert len({cell.key for cell in plan}) == len(plan) == 2 * 2 * 2 * 3
    assert {cell.run for cell in plan} == set(range(6))
    official = make_plan(dataclasses.replace(spec, splits="official"), tasks)
    assert {cell.run for cell in official} == {0, 1}


def test_along_a_fixed_axis_all_models_try_as_much_each_around_its_own_C():
    _, _, plan = toy_plan(models=("svm", "fsvm"), kernel="rbf", components=(2, 5), budget=24)
    assert {cell.fixed["n_components"] for cell in plan} == {2, 5}
    assert all(len(list(ParameterGrid(cell.grid))) == 24 and "n_components" not in cell.grid for cell in plan)
    svm, fsvm = (next(cell.grid for cell in plan if cell.model == key) for key in ("svm", "fsvm"))
    assert svm["gamma"] == fsvm["gamma"]
    assert min(svm["C"]) > min(fsvm["C"])  # whitened features want a smaller C


def test_a_plan_needs_data():
    with pytest.raises(DataError, match="no data set"):
        make_plan(Spec("x"), {})


def test_the_fingerprint_follows_the_data():
    task = toy_task()
    other = dataclasses.replace(task, X=task.X + 1e-12)
    relabelled = dataclasses.replace(task, y=-task.y)
    packed = dataclasses.replace(task, X=sparse.csr_matrix(task.X))
    prints = {data_fingerprint(t) for t in (task, other, relabelled, packed, toy_task(splits=2))}
    assert len(prints) == 5
    assert data_fingerprint(dataclasses.replace(task, name="other name")) == data_fingerprint(task)


def test_all_models_of_a_run_see_the_same_splits():
    _, tasks, plan = toy_plan(models=("svm", "fsvm"))
    first, second = (cell for cell in plan if cell.run == 1)
    for a, b in zip(outer_split(tasks["toy"], first), outer_split(tasks["toy"], second), strict=True):
        np.testing.assert_array_equal(a, b)
    y = tasks["toy"].y
    for (a, b), (c, d) in zip(inner_folds(y, first), inner_folds(y, second), strict=True):
        np.testing.assert_array_equal(a, c)
        np.testing.assert_array_equal(b, d)


def test_folds_partition_the_rows_and_repeats_differ():
    _, tasks, plan = toy_plan(models=("svm",), runs=2)
    tests = [outer_split(tasks["toy"], cell)[1] for cell in plan]
    for repeat in (tests[:3], tests[3:]):
        np.testing.assert_array_equal(np.sort(np.concatenate(repeat)), np.arange(60))
    assert not np.array_equal(tests[0], tests[3])


def test_official_splits_come_first_and_others_are_redrawn_at_their_size():
    task = toy_task(splits=2)
    _, _, plan = toy_plan(models=("svm",), splits="official", runs=4)
    for cell in plan[:2]:
        np.testing.assert_array_equal(outer_split(task, cell)[0], task.splits[cell.run][0])
    drawn = [outer_split(task, cell) for cell in plan[2:]]
    for train, test in drawn:
        assert (len(train), len(test)) == (30, 30)
        np.testing.assert_array_equal(np.union1d(train, test), np.arange(60))
    assert not np.array_equal(drawn[0][0], drawn[1][0])
    assert split_note(task, 4) == "toy: 2 official splits, 2 redrawn at random, 30 training and 30 test rows"
    assert split_note(task, 1).startswith("toy: 1 official split, ")


def test_splits_that_cannot_be_are_refused():
    _, _, plan = toy_plan(models=("svm",), splits="official")
    with pytest.raises(DataError, match="no official splits"):
        outer_split(toy_task(), plan[0])
    tiny = dataclasses.replace(toy_task(), y=np.array([1, 1] + [-1] * 58))
    with pytest.raises(DataError, match="smallest class has 2 rows"):
        paper_folds(tiny, plan[0])


def test_a_sample_keeps_the_classes_in_proportion():
    task = toy_task(n=400)
    small = subsample(task, 50)
    assert small.n_samples == 50
    assert np.sum(small.y == 1) == 25
    assert "50 of 400 rows" in small.note
    assert subsample(task, 1000) is task


def test_the_grid_of_a_cell_is_laid_out_for_the_budget():
    """A short grid is a plan of its own: a long one of which every other point was left out would keep its ends."""
    _, _, plan = toy_plan(models=("svm", "rmm", "fsvm-tempered"), budget=6)
    assert all(len(list(ParameterGrid(cell.grid))) == 6 for cell in plan)
    assert all({2.0**-3, 1.0, 2.0**3} <= set(cell.grid["C"]) for cell in plan if cell.model != "svm")
    _, _, plan = toy_plan(models=("svm", "rmm", "fsvm-tempered"), budget=1)
    assert all(cell.grid["C"] == [2.0**-3, 1.0, 2.0**3] for cell in plan)


def test_a_specification_may_have_a_range_of_C_of_its_own_and_another_for_conic_models():
    spec = Spec("toy", models=("svm", "rmm"), budget=16, C=(-9, 3, 8), conic={"C": (-5, 3, 12)})
    svm, rmm = (cell.grid["C"] for cell in make_plan(spec, {"toy": toy_task()})[:2])
    assert np.log2([svm[0], svm[-1]]).tolist() == [-17, -2]
    assert np.log2(rmm).tolist() == [-10, -7, -4, -1]
    with pytest.raises(SpecError, match="C must be centre, spacing and reach"):
        Spec("toy", C=(1.0,))


def test_other_settings_for_conic_models_must_be_fields():
    with pytest.raises(DataError, match="conic: unknown field bugdet"):
        Spec("toy", conic={"bugdet": 3})


def test_only_models_that_do_not_choose_their_components_are_said_to_have_few():
    spec = load_spec("table4").with_options(models=("svm", "rmm", "msvm"))
    said = [note for note in protocol_notes(spec) if "kernel components" in note]
    assert said == ["RMM: the first 200 kernel components only, for time."]
    cells = make_plan(spec.with_options(runs=1), {"toy": toy_task()})
    assert {cell.model for cell in cells if "n_components" in cell.fixed} == {"rmm"}
