"""The protocol test-fold, which chooses on the reported test part, beside nested cross-validation."""

import numpy as np
import pytest
from stubs import toy_plan

from radiusmargin.paper import outputs, workflow
from radiusmargin.paper.cells import run_cell


@pytest.fixture(scope="module")
def outcome():
    spec, tasks, _ = toy_plan(names=("a", "b"), protocol="test-fold", budget=6)
    return workflow.run_experiment(spec, tasks, jobs=1)


def test_choosing_on_the_test_part_never_gives_less_than_choosing_inside(outcome):
    """Linear F-SVM is fitted on all training rows by both ways, so that the largest of all accuracies includes the nested one."""
    for record in outcome.records:
        assert record["status"] == "ok"
        assert record["accuracy"] >= record["nested_accuracy"] - 1e-12


def test_its_nested_half_is_that_of_nested_cross_validation(outcome):
    _, tasks, plan = toy_plan(names=("a", "b"), budget=6)
    nested = {(c.dataset, c.model, c.run): run_cell(c, tasks[c.dataset])["accuracy"] for c in plan}
    both = {
        tuple(r["cell"][axis] for axis in ("dataset", "model", "run")): r["nested_accuracy"] for r in outcome.records
    }
    assert both == nested


def test_table_has_both_ways_and_counts_sets_against_the_nested_baseline(outcome):
    table = outputs.main_table(outcome)
    assert table.header[1:] == (
        "SVM, nested", "F-SVM, nested", "SVM, chosen on the test part", "F-SVM, chosen on the test part"
    )  # fmt: skip
    rows = {row[0].text: [cell.text for cell in row[1:]] for row in table.rows}
    ahead = rows["ahead of the nested SVM"]
    values = np.array([[float(text) for text in rows[name]] for name in ("a", "b")])
    assert ahead[0] == "–"
    assert ahead[1:] == [f"{(values[:, k] > values[:, 0]).sum()} of 2" for k in (1, 2, 3)]
    assert "chosen on the reported test part" in table.caption


def test_algorithm_1_in_units_scales_to_the_unit_interval_and_says_where_its_metric_ended():
    spec, tasks, _ = toy_plan(models=("svm", "algorithm-1-unit"), budget=3)
    outcome = workflow.run_experiment(spec, tasks, jobs=1)
    notes = outputs.main_table(outcome).notes
    assert any(note.startswith("Algorithm 1, [0, 1], t = 1: the metric became singular in") for note in notes)
