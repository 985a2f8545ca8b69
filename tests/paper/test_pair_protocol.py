"""The protocol: nothing of a test fold reaches a fit, and Table 6 and Figures 3 to 5 are read from such fits."""

from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest

from radiusmargin import FSVM
from radiusmargin.paper import Spec, Store, cells, figures, load_spec, make_plan
from radiusmargin.paper.face_cells import nested_views, verified
from radiusmargin.paper.face_figures import published_curves, roc_curves, roc_table, systems_table
from radiusmargin.paper.faces import PairFeatures, PairVerifier, cross_verify, features, inner_splits, make_pairs
from radiusmargin.paper.outputs import main_table, to_json, write_all
from radiusmargin.paper.statistics import corrected_t_test, holm
from radiusmargin.paper.tuning import pipeline
from radiusmargin.paper.workflow import Outcome, run_experiment
from radiusmargin.tables import DataError

FEATURES = PairFeatures(("metric", "both"), n_components=(3, None), blocks=(5, 3))
TASK = replace(make_pairs(n_people=48, n_images=3, n_features=8, random_state=0), features=FEATURES)
TASKS = {"offline/generated": TASK}
SPEC = Spec(
    "table6",
    "Table 6",
    tuple(TASKS),
    ("svm", "fsvm", "ldml"),
    "pairs",
    splits="official",
    runs=4,
    inner_folds=3,
    budget=3,
)


@pytest.fixture(autouse=True, scope="module")
def own_cache(tmp_path_factory):
    """No test reads or writes the user's cache."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("RADIUSMARGIN_CACHE", str(tmp_path_factory.mktemp("cache")))
        yield


def cell_of(model, run=1, **options):
    plan = make_plan(SPEC.with_options(**options), TASKS)
    return next(cell for cell in plan if (cell.model, cell.run) == (model, run))


def spoiled(task, fold, what="images"):
    """The task with the images, or the labels, of one fold's pairs replaced by others."""
    chosen = task.folds == fold
    if what == "labels":
        return replace(task, y=np.where(chosen, 1 - task.y, task.y))
    table, rows = task.table.copy(), np.unique(task.pairs[chosen])
    table[rows] = 1e3 * np.random.default_rng(1).normal(size=(len(rows), table.shape[1]))
    return replace(task, table=table)


class Recorder(features.ImageProjection):
    """A projection that keeps what it was fitted to."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None):
        Recorder.seen.append(X.copy())
        return super().fit(X)


@pytest.fixture
def recorded(monkeypatch, tmp_path):
    """What projections are fitted to, nothing being kept of earlier tests."""
    Recorder.seen = []
    monkeypatch.setattr(features, "ImageProjection", Recorder)
    monkeypatch.setenv("RADIUSMARGIN_CACHE", str(tmp_path))
    nested_views.cache_clear()
    yield Recorder.seen
    nested_views.cache_clear()


def images_of(task, pairs, part=slice(0, 5)):
    return {row.tobytes() for row in task.table[np.unique(pairs)][:, part]}


def test_projections_of_the_verifier_see_the_training_images_and_no_others(recorded):
    cross_verify(PairVerifier("svm", features=FEATURES), TASK)
    assert len(recorded) == 2 * len(TASK.splits)  # of two blocks
    for (train, test), rows in zip(TASK.splits, recorded[::2], strict=True):
        seen = {row.tobytes() for row in rows}
        assert len(seen) == len(rows)
        assert seen == images_of(TASK, TASK.pairs[train])
        assert not seen & images_of(TASK, TASK.pairs[test])


def test_a_search_inside_never_sees_the_test_fold(recorded):
    grid = {"features__shrinkage": [0.02, 0.1]}
    result = cross_verify(PairVerifier("svm", features=FEATURES), TASK, param_grid=grid)
    per_fold = len(recorded) // len(TASK.splits)
    assert per_fold == 2 * (2 * 3 + 1)
    for number, rows in enumerate(recorded[::2]):
        test = TASK.folds == 2 * number // per_fold
        assert not {row.tobytes() for row in rows} & images_of(TASK, TASK.pairs[test])
    assert all(set(params) == set(grid) for params in result.params)


def test_projections_inside_see_their_own_training_images_only(recorded):
    _, inner, _ = nested_views(TASK, 1, 3)
    train, test = TASK.splits[1]
    assert len(recorded) == 2 * (1 + len(inner)) == 8
    assert {row.tobytes() for row in recorded[0]} == images_of(TASK, TASK.pairs[train])
    for (kept, left), rows in zip(inner_splits(TASK.folds[train], 3), recorded[2::2], strict=True):
        seen = {row.tobytes() for row in rows}
        assert seen == images_of(TASK, TASK.pairs[train[kept]])
        assert not seen & images_of(TASK, TASK.pairs[np.concatenate([train[left], test])])


@pytest.mark.parametrize("what", ["images", "labels"])
@pytest.mark.parametrize("fold", [1, 2])
def test_what_is_learned_does_not_depend_on_the_test_fold(what, fold):
    """Projections, metrics, similarities and choices of fold 1 notice a change of fold 2, and of fold 1 they do not."""

    def learned(task):
        outer, inner, _ = nested_views(task, 1, 3)
        record = verified(cell_of("fsvm"), task)
        return (
            [outer.X, *(array for view in inner for array in (view.X, view.unseen))],
            record["params"],
            record["inner_accuracy"],
        )

    (rows, *chosen), (rows_spoiled, *chosen_spoiled) = learned(TASK), learned(spoiled(TASK, fold, what))
    same = all(np.array_equal(a, b) for a, b in zip(rows, rows_spoiled, strict=True)) and chosen == chosen_spoiled
    assert same == (fold == 1)  # the same check finds a change that is there


def test_inner_splits_keep_folds_whole():
    folds = TASK.folds[TASK.folds != 2]
    for train, test in inner_splits(folds, 3):
        assert not set(folds[train]) & set(folds[test])
    with pytest.raises(ValueError, match="at least 2 of them"):
        inner_splits([0, 0, 0], 3)


def test_calibrated_thresholds_come_from_the_training_folds():
    verifier = PairVerifier(FSVM(C=0.1), features=TASK.features)
    plain = cross_verify(verifier, TASK)
    strict = cross_verify(verifier, TASK, calibrate={"strategy": "fpr", "max_fpr": 0.02})
    assert np.mean(strict.scores[TASK.y == 0] >= 0) < np.mean(plain.scores[TASK.y == 0] >= 0)
    mean, error = plain.fold_accuracy.mean(), plain.fold_accuracy.std(ddof=1) / 2
    assert (plain.accuracy, plain.standard_error) == pytest.approx((mean, error))


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    return run_experiment(SPEC, TASKS, tmp_path_factory.mktemp("faces") / "cells.jsonl", jobs=1)


@pytest.mark.parametrize("model", ["fsvm", "ldml"])
def test_a_cell_is_what_the_verifier_does(outcome, model):
    cell = cell_of(model, run=2)
    record = next(record for record in outcome.records if record["key"] == cell.key)
    train, test = TASK.splits[2]
    signed = PairFeatures("signed", n_components=100)
    verifier = PairVerifier(
        pipeline(cell, **record["params"]), features=signed if model == "ldml" else FEATURES, table=TASK.table
    ).fit(TASK.pairs[train], TASK.y[train])
    scores = verifier.decision_function(TASK.pairs[test])
    np.testing.assert_allclose(scores, record["scores"], rtol=1e-4, atol=1e-5)
    assert record["accuracy"] == verifier.score(TASK.pairs[test], TASK.y[test])
    assert record["feature_seconds"] > 0


def test_finished_cells_are_not_run_again(outcome, tmp_path, monkeypatch):
    store = Store(tmp_path / "cells.jsonl")
    for record in outcome.records[:-1]:
        store.append(record)
    ran = []
    monkeypatch.setitem(cells._PROTOCOLS, "pairs", lambda cell, task: ran.append(cell.key) or verified(cell, task))
    again = run_experiment(SPEC, TASKS, store, jobs=1)
    assert ran == [outcome.records[-1]["key"]]
    assert [r["accuracy"] for r in again.records] == [r["accuracy"] for r in outcome.records]


def test_a_failure_is_told_and_leaves_no_curve(outcome):
    failed = {**outcome.records[0], "status": "error", "error": "ValueError: no"}
    broken = replace(outcome, records=[failed, *outcome.records[1:]])
    assert broken.n_failed == 1
    assert any("1 cells failed: ValueError: no" in note for note in main_table(broken).notes)
    assert set(roc_curves(broken)) == {"F-SVM, generated", "LDML, generated"}


def test_models_of_the_same_fold_share_what_is_learned_of_images(recorded):
    for model in ("svm", "fsvm"):
        verified(cell_of(model), TASK)
    assert len(recorded) == 2 * 4


def test_figure4_sets_the_dimension_of_blocks_that_are_projected_and_table6_narrows_conic_models():
    sizes = {k: nested_views(TASK, 0, 3, False, k)[0].X.shape[1] for k in (1, 3)}
    assert sizes == {1: 2 + 6, 3: 2 + 6}
    pixels = replace(TASK, features=PairFeatures("both", n_components=5))
    assert [nested_views(pixels, 0, 3, False, k)[0].X.shape[1] for k in (1, 3)] == [2, 6]
    conic = SPEC.with_options(models=("rmm",), conic={"max_components": 3, "budget": 3})
    cell = make_plan(conic, TASKS)[0]
    assert cell.fixed == {"pair_components": 3}
    assert cell.budget == 3
    assert verified(cell, TASK)["n_pair_features"] == 3
    narrow = make_plan(SPEC.with_options(models=("rmm", "svm"), pair_components=3, budget=3), TASKS)
    assert narrow[0].key == cell.key  # the same for all: what conic models are given is not computed twice
    assert {verified(cell, TASK)["n_pair_features"] for cell in narrow[:2]} == {3}
    view = nested_views(TASK, 0, 3)[0].narrowed(3)
    assert np.all(np.diff(view.X.std(axis=0)) < 0)  # in their units, and nothing standardises them after that
    assert all(pipeline(cell).named_steps["scale"] == "passthrough" for cell in narrow)


@pytest.mark.parametrize("name", ["table6", "table6-best", "view1"])
def test_the_smallest_C_is_small_enough_for_whitened_features(name):
    spec = load_spec(name).with_options(models=("fsvm",))
    assert min(make_plan(spec, TASKS)[0].grid["C"]) <= 2.0**-14


def test_models_of_pairs_are_for_pairs_only():
    with pytest.raises(DataError, match="ldml: a model of pairs"):
        make_plan(Spec("toy", models=("ldml",)), {"toy": TASK})
    with pytest.raises(DataError, match="fsvm-span, knn-nca: not for the face experiments"):
        make_plan(SPEC.with_options(models=("svm", "fsvm-span", "knn-nca")), TASKS)


def test_models_of_scikit_learn_run_on_pairs_too():
    for model in ("dummy", "logistic", "gradient-boosting"):
        record = verified(cell_of(model, models=(model,)), TASK)
        assert record["n_configurations"] == {"dummy": 1, "logistic": 3, "gradient-boosting": 2}[model]


def test_pairs_that_are_not_lfw_are_never_beside_the_papers_numbers(outcome):
    rows = {row[0].text: row for row in main_table(outcome).rows}
    assert not any(cell.small for cell in rows["generated"])


def test_lfw_stands_beside_the_paper(outcome):
    records = [{**r, "cell": {**r["cell"], "dataset": "lfw/combined"}} for r in outcome.records]
    spec = SPEC.with_options(paper_table=load_spec("table6").paper_table)
    table = main_table(Outcome(spec, {"lfw/combined": TASK}, records))
    assert table.rows[0][2].small.startswith("(83.25;")


@pytest.fixture
def deposited(tmp_path):
    """Curves in either direction, with repeats."""
    (tmp_path / "nowak-funneled.txt").write_text("1 1\n1 1\n0.8 0.2\n0 0\n")
    (tmp_path / "ldml-funneled.txt").write_text("0.0 0.0\n0.9 0.1\n1.0 1.0\n")
    return tmp_path


def test_accuracies_of_other_systems_are_read_from_their_curves(deposited):
    curves = published_curves(deposited)
    assert {name: round(curve.accuracy.max(), 6) for name, curve in curves.items()} == {"Nowak": 0.8, "LDML": 0.9}
    assert curves["Nowak"].equal_error_rate == pytest.approx(0.2)
    rows = [[cell.text for cell in row] for row in systems_table(deposited).rows]
    assert rows[0][:3] == ["Nowak", "73.93", "80.00"]


def test_files_and_figures_are_written(outcome, tmp_path):
    pytest.importorskip("matplotlib", reason="figures need Matplotlib")
    roc = replace(outcome, spec=SPEC.with_options(name="figure5", quantity="roc"))
    paths = write_all(roc, tmp_path) + figures.save_figures(figures.from_outcome(roc), tmp_path)
    assert {path.name for path in paths} == {f"figure5.{s}" for s in ("md", "tex", "csv", "html", "svg", "png")}
    assert all(path.stat().st_size > 100 for path in paths)
    assert [row[0].text for row in roc_table(roc).rows] == ["SVM, generated", "F-SVM, generated", "LDML, generated"]
    assert figures.from_outcome(outcome).figures == {}


def test_recipes_for_the_same_pairs_are_no_sets_to_recommend_a_model_on(outcome):
    import json

    assert json.loads(to_json(outcome))["recommendation"] == []
    twice = [{**r, "cell": {**r["cell"], "dataset": name}} for name in ("lfw/a", "lfw/b") for r in outcome.records]
    summary = replace(outcome, records=twice).summary
    assert not summary.has_several_sets
    assert summary.friedman is None


def test_marks_allow_for_the_overlap_of_the_folds_and_for_their_number(outcome):
    entry = outcome.summary.entry("offline/generated", "ldml")
    values = [list(outcome.summary.entry("offline/generated", m).values.values()) for m in ("ldml", "svm", "fsvm")]
    raw = [corrected_t_test(values[i], values[1], outcome.summary.test_ratio(entry)).pvalue for i in (0, 2)]
    assert outcome.summary.test_ratio(entry) == pytest.approx(1 / 3)
    assert entry.versus.pvalue == pytest.approx(holm(raw)[0])


def test_the_command_reproduces_offline_and_refuses_what_does_not_apply(tmp_path, capsys, monkeypatch):
    for name in ("click", "rich", "matplotlib"):
        pytest.importorskip(name, reason="the command line needs radiusmargin[experiments]")
    from radiusmargin.app.cli import main

    monkeypatch.delenv("RADIUSMARGIN_DATA", raising=False)
    assert main(["reproduce", "figure5", "--offline", "--quick", "--jobs", "1", "--out", str(tmp_path)]) == 0
    assert "not LFW" in capsys.readouterr().out
    assert list(tmp_path.glob("figure5-offline.svg"))
    assert main(["reproduce", "table6", "--out", str(tmp_path)]) == 1
    assert "Labeled Faces in the Wild was not found" in capsys.readouterr().err
    assert main(["reproduce", "table6", "--runs", "3"]) == 2
    assert main(["reproduce", "table2", "--offline"]) == 2
