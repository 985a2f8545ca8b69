"""The protocol: nothing of a test fold reaches a fit, and Table 6 and Figures 4 and 5 are read from such fits."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.decomposition import PCA

from radiusmargin import FSVM
from radiusmargin.datasets import DataError
from radiusmargin.experiments import face_cells, faces
from radiusmargin.experiments.face_tables import (
    dimension_table,
    face_table,
    paper_rows,
    roc_curves,
    roc_table,
    write_faces,
)
from radiusmargin.experiments.faces import FACES, FaceSpec, make_face_plan, run_faces
from radiusmargin.experiments.store import Store
from radiusmargin.experiments.tuning import pipeline
from radiusmargin.pairs import ImageProjection, PairTask, PairVerifier, cross_verify, inner_splits, make_pairs

TASK = make_pairs(n_people=48, n_images=3, n_features=8, random_state=0)
SPEC = FaceSpec("table6", "Table 6", ("svm", "fsvm"), {"generated": (3, 8)}, inner_folds=3, budget=3)


def spoiled(task, fold):
    """The task with the images of one fold's pairs replaced by others, far away."""
    table = task.tables["generated"].copy()
    rows = np.unique(task.pairs[task.folds == fold])
    table[rows] = 1e3 * np.random.default_rng(1).normal(size=(len(rows), table.shape[1]))
    return replace(task, tables={"generated": table})


class Recorder(ImageProjection):
    """A projection that keeps what it was fitted to."""

    seen: ClassVar[list] = []  # of the class, so that clones share it

    def fit(self, X, y=None):
        Recorder.seen.append(X.copy())
        return super().fit(X)


def images_of(task, pairs):
    return {row.tobytes() for row in task.tables["generated"][np.unique(pairs)]}


def test_projection_of_the_verifier_sees_the_training_images_and_no_others():
    Recorder.seen = []
    cross_verify(PairVerifier("svm", projection=Recorder(4)), TASK, "generated")
    assert len(Recorder.seen) == TASK.n_folds
    for fold, rows in enumerate(Recorder.seen):
        seen = {row.tobytes() for row in rows}
        assert len(seen) == len(rows)
        assert seen == images_of(TASK, TASK.pairs[TASK.folds != fold])
        assert not seen & images_of(TASK, TASK.pairs[TASK.folds == fold])


def test_a_search_inside_never_sees_the_test_fold():
    Recorder.seen = []
    grid = {"projection__n_components": [2, 4]}
    result = cross_verify(PairVerifier("svm", projection=Recorder(4)), TASK, "generated", param_grid=grid)
    per_fold = len(Recorder.seen) // TASK.n_folds
    assert per_fold == 2 * 3 + 1
    for number, rows in enumerate(Recorder.seen):
        test = TASK.folds == number // per_fold
        assert not {row.tobytes() for row in rows} & images_of(TASK, TASK.pairs[test])
    assert all(set(params) == set(grid) for params in result.params)


def _trained(task, fold, monkeypatch, leak):
    """Everything that the experiment learns for a fold, with or without a leak put into it."""
    if leak:
        monkeypatch.setattr(face_cells, "distinct_images", lambda rows: task.tables["generated"])
    cells = [cell for cell in make_face_plan(SPEC, task) if cell.run == fold]
    outer, inner = face_cells.nested_views(cells[0], task.tables["generated"], task.pairs, task.folds, 8)
    records = face_cells.run_group(cells, task.tables["generated"], task.pairs, task.y, task.folds, None)
    rows = [view.rows[np.unique(task.pairs[outer.train])] for view in (outer, *inner)]
    return np.stack(rows), [(r["params"], r["inner_accuracy"]) for r in records]


@pytest.mark.parametrize("leak", [False, True])
def test_what_is_learned_does_not_depend_on_the_test_images(leak, monkeypatch):
    rows, chosen = _trained(TASK, 1, monkeypatch, leak)
    rows_spoiled, chosen_spoiled = _trained(spoiled(TASK, 1), 1, monkeypatch, leak)
    unchanged = np.array_equal(rows, rows_spoiled) and chosen == chosen_spoiled
    assert unchanged != leak  # the same check finds a leak that is there


def test_projections_inside_see_their_own_training_images_only(monkeypatch):
    Recorder.seen = []
    monkeypatch.setattr(face_cells, "ImageProjection", Recorder)
    cell = make_face_plan(SPEC, TASK)[0]
    outer, inner = face_cells.nested_views(cell, TASK.tables["generated"], TASK.pairs, TASK.folds, 8)
    assert len(Recorder.seen) == 1 + len(inner) == 4
    for view, rows in zip((outer, *inner), Recorder.seen, strict=True):
        assert {row.tobytes() for row in rows} == images_of(TASK, TASK.pairs[view.train])
        assert not images_of(TASK, TASK.pairs[view.train]) & images_of(TASK, TASK.pairs[view.test])
        assert set(view.train) <= set(outer.train)


def test_inner_splits_keep_folds_whole():
    folds = TASK.folds[TASK.folds != 2]
    for train, test in inner_splits(folds, 3):
        assert not set(folds[train]) & set(folds[test])
    with pytest.raises(ValueError, match="at least 2 of them"):
        inner_splits([0, 0, 0], 3)


def test_calibrated_thresholds_come_from_the_training_folds():
    verifier = PairVerifier(FSVM(C=0.1), projection=PCA(6, random_state=0))
    plain = cross_verify(verifier, TASK, "generated")
    strict = cross_verify(verifier, TASK, "generated", calibrate={"strategy": "fpr", "max_fpr": 0.02})
    assert np.mean(strict.scores[TASK.y == 0] >= 0) < np.mean(plain.scores[TASK.y == 0] >= 0)
    mean, error = plain.fold_accuracy.mean(), plain.fold_accuracy.std(ddof=1) / 2
    assert (plain.accuracy, plain.standard_error) == pytest.approx((mean, error))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run_faces(SPEC, TASK, tmp_path_factory.mktemp("faces") / "cells.jsonl", jobs=1)


def test_a_cell_is_what_the_verifier_does(outcome):
    record = outcome.records[-1]
    cell = make_face_plan(SPEC, TASK)[-1]
    assert record["key"] == cell.key
    train = TASK.folds != cell.run
    verifier = PairVerifier(
        pipeline(cell.plain, **record["params"]),
        projection=ImageProjection(cell.dimension),
        table=TASK.tables["generated"],
    ).fit(TASK.pairs[train], TASK.y[train])
    scores = verifier.decision_function(TASK.pairs[~train])
    np.testing.assert_allclose(scores, record["scores"], rtol=1e-4, atol=1e-5)
    assert record["accuracy"] == verifier.score(TASK.pairs[~train], TASK.y[~train])


def test_the_dimension_is_chosen_by_inner_accuracy(outcome):
    for record in outcome.chosen("generated", "fsvm"):
        rivals = [r for r in outcome.records if r["cell"]["run"] == record["cell"]["run"]]
        rivals = [r["inner_accuracy"] for r in rivals if r["cell"]["model"] == "fsvm"]
        assert record["inner_accuracy"] == max(rivals)
        assert len(rivals) == 2


def test_finished_cells_are_not_run_again(outcome, tmp_path, monkeypatch):
    store = Store(tmp_path / "cells.jsonl")
    for record in outcome.records[:-1]:
        store.append(record)
    ran, told = [], []
    real = faces.run_group
    monkeypatch.setattr(faces, "run_group", lambda cells, *rest: ran.append(cells) or real(cells, *rest))
    again = run_faces(SPEC, TASK, store, jobs=1, progress=lambda total: told.append)
    assert [len(cells) for cells in ran] == [1]
    assert len(told) == len(outcome.records)
    assert [r["accuracy"] for r in again.records] == [r["accuracy"] for r in outcome.records]


def test_a_failure_is_told_and_leaves_no_mean(outcome):
    failed = {**outcome.records[0], "status": "error", "error": "ValueError: no"}
    broken = replace(outcome, records=[failed, *outcome.records[1:]])
    table = face_table(broken)
    assert broken.n_failed == 1
    assert table.rows[0][1].text == "failed"
    assert any("1 cells failed, the first with ValueError: no" in note for note in table.notes)
    assert set(roc_curves(broken)) == {"F-SVM-generated"}


def test_table6_stands_beside_the_paper_and_quotes_other_systems(outcome):
    named = replace(TASK, name="lfw", tables={"combined": TASK.tables["generated"]})
    records = [{**r, "cell": {**r["cell"], "kind": "combined"}} for r in outcome.records]
    table = face_table(replace(outcome, task=named, records=records))
    rows = {row[0].text: row for row in table.rows}
    assert rows["F-SVM-combined"][2].text == "83.25"
    assert rows["SVM-combined"][2].text == "81.90"
    assert rows["LDML (quoted)"][1].text == "not run"
    assert table.rule_before == 2
    assert sum(row["quoted"] for row in table.data) == 4
    assert paper_rows()["Nowak"] == 73.93


def test_pairs_that_are_not_lfw_are_never_beside_the_papers_numbers(outcome):
    table = face_table(outcome)
    assert "not LFW" in table.title
    assert {row[2].text for row in table.rows} == {"–"}


def test_files_and_figures_are_written(outcome, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    for name in FACES:
        paths = write_faces(replace(outcome, spec=SPEC.with_options(name=name)), tmp_path)
        assert all(path.stat().st_size > 100 for path in paths)
        assert {path.suffix for path in paths} >= (
            {".md", ".tex", ".csv"} | ({".svg", ".png"} if "f" in name else set())
        )
    assert len(dimension_table(outcome).rows) == 4
    assert [row[0].text for row in roc_table(outcome).rows] == ["SVM-generated", "F-SVM-generated"]


def test_plans_are_within_the_data_and_conic_models_are_small():
    spec = FACES["table6"]
    plan = make_face_plan(spec, TASK)
    assert {cell.dimension for cell in plan} == {8}
    assert {cell.budget for cell in plan if cell.model == "rmm"} == {spec.conic_budget}
    assert len({cell.key for cell in plan}) == len(plan)
    with pytest.raises(DataError, match="nothing has other, none of attribute, combined"):
        make_face_plan(spec, PairTask("nothing", {"other": np.eye(2)}, TASK.pairs, TASK.y, TASK.folds))


def test_the_command_reproduces_offline_and_refuses_what_does_not_apply(tmp_path, capsys, monkeypatch):
    for name in ("click", "rich", "matplotlib"):
        pytest.importorskip(name, reason="the command line needs radiusmargin[experiments]")
    from radiusmargin.cli import main

    monkeypatch.delenv("RADIUSMARGIN_DATA", raising=False)
    assert main(["reproduce", "figure5", "--offline", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "not LFW" in capsys.readouterr().out
    assert list(tmp_path.glob("figure5-*.svg"))
    assert main(["reproduce", "table6", "--out", str(tmp_path)]) == 1
    assert "Labeled Faces in the Wild was not found" in capsys.readouterr().err
    assert main(["reproduce", "table6", "--runs", "3"]) == 2
    assert main(["reproduce", "table2", "--offline"]) == 2
