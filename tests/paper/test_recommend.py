"""The answer of a comparison: whom to take, how sure, and what keeps the numbers honest."""

import itertools
import time
from dataclasses import replace
from typing import ClassVar

import numpy as np
import pytest
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.impute import SimpleImputer
from stubs import toy_plan, toy_task

from radiusmargin.paper import Spec, Store, Summary, execute, make_plan
from radiusmargin.paper.cells import OutOfTime, run_cell, time_limit
from radiusmargin.paper.metrics import METRICS, roc_auc
from radiusmargin.paper.recommend import recommend
from radiusmargin.paper.splits import inner_folds, outer_split
from radiusmargin.paper.statistics import holm, nemenyi
from radiusmargin.paper.workflow import Outcome, affordable_rows
from radiusmargin.tables import DataError, TaskData

LATE = "late"


def records(scores, metric="accuracy", dataset="toy", seconds=()):
    """Records of models with the given scores, one for each run; None is a failure, LATE a split that was stopped."""
    seconds = dict(seconds)
    for model, values in scores.items():
        for run, value in enumerate(values):
            cell = {"dataset": dataset, "model": model, "run": run, "protocol": "nested"}
            record = {"key": f"{dataset}{model}{run}", "cell": cell, "seconds": seconds.get(model, 1.0)}
            record |= {"n_train": 80, "n_test": 20}
            if value in (None, LATE):
                error = "no luck" if value is None else "over the time budget"
                yield record | {"status": "error", "error": error, "over_budget": value == LATE}
            else:
                yield record | {"status": "ok", metric: value, "tune_seconds": 1.0, "fit_seconds": 0.1}


def answer(scores, metric="accuracy", seconds=()):
    return recommend(Summary(records(scores, metric, seconds=seconds), metric=METRICS[metric]))


GOOD, SAME, BAD = [0.9, 0.91, 0.9, 0.92, 0.9], [0.89, 0.915, 0.9, 0.91, 0.905], [0.7, 0.72, 0.71, 0.7, 0.71]


def test_the_best_is_taken_and_the_others_are_worse_or_not_told_apart():
    found = answer({"dummy": [0.5] * 5, "svm": BAD, "fsvm": GOOD, "logistic": SAME})
    assert found.model == "fsvm"
    assert found.lines[0].startswith("Take F-SVM: accuracy 90.60 ± ")
    assert "without the features one has 50.00 %" in found.lines[0]
    assert found.lines[1].startswith("Worse beyond chance: SVM (−19.80)")
    assert found.lines[2] == "Not told apart from it: LogisticRegression (−0.20)."


def test_of_log_loss_less_is_better():
    found = answer({"svm": [0.3, 0.31, 0.3], "fsvm": [0.6, 0.61, 0.6]}, "log_loss")
    assert found.lines[0].startswith("Take SVM: log-loss 0.3033 ± ")
    assert "F-SVM (−0.3000)" in found.lines[1]


def test_none_beats_the_dummy():
    found = answer({"dummy": [0.5, 0.5, 0.5], "svm": [0.52, 0.49, 0.5], "fsvm": [0.48, 0.5, 0.53]})
    assert found.model is None
    assert found.lines[0].startswith("None beats the dummy: guessing without a look at the features has accuracy 50.00")


def test_all_failed():
    found = answer({"svm": [None, None], "fsvm": [None, None]})
    assert found.model is None
    assert found.lines == ("Every cell failed, so there is nothing to recommend. The first error: no luck",)


def test_a_model_that_leads_and_did_not_finish_keeps_the_others_from_being_taken():
    """A better model that ran out of time: the one that finished is not what to take."""
    found = answer({"dummy": [0.2] * 5, "logistic": [0.56] * 5, "random-forest": [0.70, 0.71, LATE, LATE, LATE]})
    assert found.model is None
    assert found.lines[0] == (
        "No recommendation yet: RandomForest leads with accuracy 70.50 % on the 2 of 5 splits that it finished, where"
        " LogisticRegression, the best that finished all, has 56.00."
    )
    assert "--budget" in found.lines[1]
    failed = answer({"svm": GOOD, "fsvm": [0.99, 0.99, None, 0.99, 0.99]})
    assert failed.model is None
    assert "F-SVM failed on the others: no luck. Leave it out (--models)" in failed.lines[1]


def test_a_mark_alone_keeps_another_from_being_taken():
    scores = {"svm": BAD, "fsvm": [0.9, 0.91, LATE, LATE, LATE], "logistic": [0.75, 0.99, 0.8, 0.9, 0.85]}
    summary = Summary(records(scores))
    assert summary.entry("toy", "fsvm").mark == "▲"
    assert summary.entry("toy", "logistic").mark == ""
    assert recommend(summary).model is None


def test_the_headline_names_what_did_not_finish():
    found = answer({"svm": GOOD, "fsvm": [0.5, LATE, LATE, LATE, LATE], "rmm": [LATE] * 5})
    assert found.model == "svm"
    assert found.lines[0].startswith("Take SVM, of the models that finished: accuracy 90.60 ")
    assert (
        "Not finished, and behind on the splits they did: F-SVM (1 of 5 splits), RMM (0 of 5 splits)." in found.lines[0]
    )
    assert answer({"svm": [LATE] * 2, "fsvm": [0.5, LATE]}).lines == (
        "No model finished every split, so there is nothing to recommend: SVM (0 of 2 splits), F-SVM (1 of 2 splits).",
    )


def test_over_several_sets_too():
    rows = [*records({"svm": [0.7] * 3, "fsvm": [0.9] * 3}, dataset="a")]
    rows += records({"svm": [0.7] * 3, "fsvm": [0.9, LATE, LATE]}, dataset="b")
    assert recommend(Summary(rows)).lines[0].startswith("No recommendation yet: F-SVM did not finish")
    rows[9:] = records({"svm": [0.7] * 3, "fsvm": [LATE] * 3}, dataset="b")
    assert recommend(Summary(rows)).model is None


def test_a_tie_goes_to_the_quicker_and_is_called_one():
    found = answer({"svm": GOOD, "fsvm": GOOD, "logistic": SAME}, seconds={"svm": 7.0, "logistic": 0.2})
    assert found.model == "fsvm"
    assert found.lines[1] == "Level with it, and slower: SVM."
    assert "(−0.00)" not in " ".join(found.lines)


def test_the_seconds_of_the_advice_are_those_of_the_table():
    found = answer({"svm": GOOD, "fsvm": SAME}, seconds={"svm": 8.0, "fsvm": 0.5})
    assert found.lines[-1] == "Among those F-SVM takes least time, 1/16 of SVM's."


def test_one_split_says_nothing_of_chance():
    assert "one split only" in answer({"svm": [0.8], "fsvm": [0.9]}).lines[1]


def test_over_several_sets_the_mean_rank_decides():
    rows = [r for d in "abcdef" for r in records({"dummy": [0.5] * 3, "svm": [0.7] * 3, "fsvm": [0.9] * 3}, dataset=d)]
    found = recommend(Summary(rows))
    assert found.lines[0] == "Take F-SVM: best mean rank, 1.00, over 6 data sets."


def test_holm_and_nemenyi_are_those_of_scikit_posthocs():
    posthocs = pytest.importorskip("scikit_posthocs")
    rng = np.random.default_rng(0)
    groups = [rng.normal(size=12) + 0.4 * k for k in range(5)]
    upper = np.triu_indices(5, 1)
    plain, corrected = (posthocs.posthoc_ttest(groups, p_adjust=how).to_numpy()[upper] for how in (None, "holm"))
    np.testing.assert_allclose(holm(plain), corrected)
    scores = rng.normal(size=(12, 5)) + 0.5 * np.arange(5)
    np.testing.assert_allclose(
        nemenyi(scores)[upper], posthocs.posthoc_nemenyi_friedman(scores).to_numpy()[upper], atol=1e-4
    )


def test_marks_are_corrected_for_all_tests_of_a_table():
    """Seventy-seven comparisons of models that do not differ: uncorrected, some would be marked."""
    rng = np.random.default_rng(0)
    names = ["svm", *(f"m{i}" for i in range(77))]
    summary = Summary(records({name: list(0.8 + 0.01 * rng.normal(size=5)) for name in names}))
    assert not any(entry.mark for entry in summary.entries)


class Spy(TransformerMixin, BaseEstimator):
    """An imputer that writes down which rows it was fitted on."""

    seen: ClassVar[list] = []

    def fit(self, X, y=None):
        Spy.seen.append(X[:, -1].astype(int).tolist())
        self.imputer_ = SimpleImputer(strategy="median").fit(X[:, :-1])
        return self

    def transform(self, X):
        return self.imputer_.transform(X[:, :-1])


def test_nothing_is_fitted_on_test_rows():
    """The last column numbers the rows; and a gap is filled by what the training rows alone say."""
    Spy.seen.clear()
    plain = toy_task(n=60)
    X = np.column_stack([plain.X, np.arange(60)])
    X[::7, 0] = np.nan
    task = TaskData("toy", X, plain.y, tuple("abcde"), encoder=Spy())
    plan = make_plan(Spec("toy", models=("svm",), folds=3, inner_folds=2, budget=2), {"toy": task})
    for cell in plan:
        record = run_cell(cell, task)
        assert record["status"] == "ok", record.get("traceback")
        train, _ = outer_split(task, cell)
        assert Spy.seen[-1] == train.tolist()
    assert len(Spy.seen) == 3
    train, test = outer_split(task, plan[0])
    gaps = np.isnan(X[test, 0])
    _, unseen = task.encoded(train, test)
    assert (unseen[gaps, 0] == np.nanmedian(X[train, 0])).all()


def test_a_time_budget_stops_a_model_and_not_the_others(tmp_path):
    _, tasks, plan = toy_plan(models=("dummy", "svm"))
    found = execute(plan, tasks, Store(tmp_path / "cells.jsonl"), jobs=1, seconds=0.0)
    assert all(r["error"] == "over the time budget" and r["over_budget"] for r in found)
    assert all(
        r["status"] == "ok" for r in execute(plan, tasks, Store(tmp_path / "cells.jsonl"), jobs=1, seconds=600.0)
    )


def test_work_is_stopped_from_within():
    with pytest.raises(OutOfTime), time_limit(0.05):
        any(False for _ in itertools.count())


def test_waiting_is_not_work():
    with time_limit(0.05):
        time.sleep(0.15)


def test_what_was_spent_before_counts(tmp_path):
    """The second call with a store goes on with the budget that is left."""
    _, tasks, plan = toy_plan(models=("svm",))
    store = Store(tmp_path / "cells.jsonl")
    (first,) = execute(plan[:1], tasks, store, jobs=1, seconds=600.0)
    assert all(r["status"] == "error" for r in execute(plan, tasks, store, jobs=1, seconds=first["seconds"])[1:])


def test_a_table_is_cut_until_the_slowest_model_fits():
    rows = records({"svm": [0.9], "fsvm": [LATE]}, seconds={"svm": 3.0, "fsvm": 20.0})
    outcome = Outcome(Spec("toy", folds=5), {}, list(rows))
    assert affordable_rows(outcome, 2000, 200.0) == 2000  # 2 x 20 s x 5 splits
    assert affordable_rows(outcome, 2000, 100.0) == int(2000 * 0.4 ** (2 / 3))


def test_other_metrics_need_the_honest_protocol():
    with pytest.raises(DataError, match="metric 'roc_auc' needs nested cross-validation"):
        toy_plan(metric="roc_auc", protocol="paper")


def test_errors_in_units_are_told_apart_by_their_digits():
    """Not by decimals: of a target in millions, and of one in millionths, the same is said."""
    good, bad = [2.0, 2.1, 2.0, 2.2, 2.1], [3.0, 3.2, 3.1, 3.0, 3.1]
    for unit, cost in ((1e-6, "+0.000001000"), (1.0, "+1.000"), (1e6, "+1000000")):
        scores = {"ridge": good, "svr": bad, "auto-svr": good, "dummy-regressor": [9.0, 9.1, 9.0, 9.2, 9.1]}
        found = answer({key: [unit * value for value in values] for key, values in scores.items()}, "mae")
        assert found.model == "ridge"
        text = " ".join(found.lines)
        assert "Level with it, and slower: AutoSVR" in text
        assert f" SVR ({cost})" in text


@pytest.mark.parametrize("metric", [key for key, metric in METRICS.items() if not metric.of_quantity])
@pytest.mark.parametrize("model", ["dummy", "svm", "fsvm-cv", "logistic", "linear-svc", "svc"])
def test_every_model_has_every_metric(model, metric):
    _, tasks, plan = toy_plan(models=(model,), metric=metric)
    record = run_cell(plan[0], tasks["toy"])
    assert record["status"] == "ok", record.get("traceback")
    assert np.isfinite(record[metric])


def test_the_area_of_several_classes_is_the_mean_of_each_against_the_rest():
    y = np.array([0, 1, 2, 0, 1, 2])
    assert roc_auc(y, np.eye(3)[y], [0, 1, 2]) == 1.0
    assert roc_auc(np.zeros(3), np.ones(3), [0, 1]) is None


def test_groups_are_on_one_side_of_every_split():
    plain = toy_task(n=60)
    task = replace(plain, groups=np.array([f"g{i}" for i in np.arange(60) // 4]))
    plan = make_plan(Spec("toy", models=("svm",), folds=3, inner_folds=2, budget=2), {"toy": task})
    assert plan[0].data != make_plan(Spec("toy", models=("svm",)), {"toy": plain})[0].data
    for cell in plan:
        train, test = outer_split(task, cell)
        assert not set(task.groups[train]) & set(task.groups[test])
        for learnt, held_out in inner_folds(task.y[train], cell, task.groups[train]):
            assert not set(task.groups[train][learnt]) & set(task.groups[train][held_out])
    assert run_cell(plan[0], task)["status"] == "ok"
    few = replace(plain, groups=np.where(np.arange(60) < 30, "a", "b"))
    assert "2 groups are too few for 3 folds" in run_cell(plan[0], few)["error"]


def test_in_time_models_are_tested_on_later_rows():
    task = replace(toy_task(n=60), in_time=True)
    plan = make_plan(Spec("toy", models=("svm",), folds=3, inner_folds=2, budget=2), {"toy": task})
    splits = [outer_split(task, cell) for cell in plan]
    assert all(train.max() < test.min() for train, test in splits)
    assert run_cell(plan[0], task)["status"] == "ok"
    late = replace(task, y=np.arange(60) // 30)
    assert "do not hold two rows of every class" in run_cell(plan[0], late)["error"]
