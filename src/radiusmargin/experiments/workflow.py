"""From a specification to a summary: load, plan, run; and the sentences that say what was done."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from scipy import sparse

from ..datasets import DataError, TaskData, load
from .catalogue import SELF_TUNING, is_conic, model_name, resolve_models
from .faces import load_pair_tasks
from .plan import make_plan
from .run import execute
from .spec import Spec
from .splits import split_note, subsample
from .store import Store
from .summary import Summary

__all__ = ["Outcome", "load_tasks", "run_experiment"]

#: Sparse tables with no more numbers than this, zeros included, are made dense: few models take sparse ones.
DENSE_LIMIT = 20_000_000


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished experiment."""

    spec: Spec
    tasks: dict[str, TaskData]
    records: list[dict]

    @property
    def summary(self) -> Summary:
        return Summary(self.records, self.spec.baseline)

    @property
    def n_failed(self) -> int:
        return sum(record["status"] != "ok" for record in self.records)


def load_tasks(spec: Spec) -> dict[str, TaskData]:
    """The data sets of a specification, cut to size and dense."""
    if spec.protocol == "pairs":
        return load_pair_tasks(spec.datasets)
    return {name: prepared(load(name), spec) for name in spec.datasets}


def prepared(task: TaskData, spec: Spec) -> TaskData:
    """The task as the cells see it: cut to ``max_rows``, and dense."""
    from dataclasses import replace

    task = subsample(task, spec.max_rows)
    if not sparse.issparse(task.X):
        return task
    if task.n_samples * task.n_features > DENSE_LIMIT:
        raise DataError(
            f"{task.name} is sparse, and dense it would hold {task.n_samples * task.n_features:,} numbers: too many for"
            " a comparison. Cut it with --max-rows."
        )
    return replace(task, X=task.X.toarray())


def run_experiment(
    spec: Spec,
    tasks: dict[str, TaskData],
    store: Store | Path | None = None,
    *,
    jobs: int | None = None,
    progress: Callable[[int], Callable[[dict], None]] | None = None,
) -> Outcome:
    """Run what the store does not hold yet.

    Parameters
    ----------
    spec : Spec
    tasks : dict of str to TaskData
    store : Store, path or None
        None keeps the cells in a temporary file.
    jobs : int or None
        As in :func:`~radiusmargin.experiments.execute`.
    progress : callable, optional
        Called with the number of cells; what it returns is called with every record.
    """
    plan = make_plan(spec, tasks)
    report = progress(len(plan)) if progress else None
    if store is None:
        with tempfile.TemporaryDirectory(prefix="radiusmargin-") as folder:
            return Outcome(
                spec,
                tasks,
                execute(plan, tasks, Store(Path(folder, "cells.jsonl")), jobs=jobs, progress=report),
            )
    store = store if isinstance(store, Store) else Store(store)
    return Outcome(spec, tasks, execute(plan, tasks, store, jobs=jobs, progress=report))


def protocol_notes(spec: Spec) -> list[str]:
    """How the numbers came about, in sentences."""
    budget = "its whole grid" if spec.budget is None else f"at most {spec.budget} configurations of its grid"
    grid = f"Every model tries {budget}"
    if spec.protocol == "honest":
        notes = [
            f"Protocol honest: nested. Hyper-parameters by stratified {spec.inner_folds}-fold "
            "cross-validation inside the"
            " training part, everything (standardisation, kernel map, metric) fitted there, the test "
            "part looked at once."
        ]
        if spec.splits == "folds":
            notes.append(
                f"Outer splits: {spec.runs} × stratified {spec.folds}-fold cross-validation, the same for every model."
            )
    elif spec.protocol == "paper":
        notes = [
            f"Protocol paper: hyper-parameters by {spec.folds}-fold cross-validation over the whole "
            "set, and the mean accuracy"
            f" of the same folds is reported, over {spec.runs} runs with folds drawn anew. Not nested, "
            "hence optimistic."
        ]
    elif spec.protocol == "pairs":
        notes = [
            "Protocol pairs: nested. One fold is tested at a time. Projections, metrics and models are learned from the other "
            f"folds; hyper-parameters by {spec.inner_folds} parts of these, each fold, and so each person, kept whole, with "
            "projections and metrics learned anew in every part."
        ]
    else:
        notes = [
            f"Protocol timing: one fit on {spec.folds - 1}/{spec.folds} of the set, one cell at a time, one thread; the"
            f" hyper-parameters are chosen on a sample of at most {spec.timing_rows} of those rows, outside the clock."
        ]
    notes.append(f"{grid} on the same inner folds." if spec.protocol != "paper" else f"{grid} on the same folds.")
    limits = {**vars(spec), **spec.conic}
    if spec.protocol == "pairs" and limits["max_components"]:
        conic = [model_name(key) for key in resolve_models(spec.models) if is_conic(key)]
        notes += [f"{', '.join(conic)}: at most {limits['max_components']} principal components of the pair features and "
                  f"{limits['budget']} configurations, for time."] * bool(conic)  # fmt: skip
    if spec.kernel == "rbf" and spec.max_components:
        conic = [model_name(key) for key in resolve_models(spec.models) if is_conic(key)]
        notes += [f"{', '.join(conic)}: the first {spec.max_components} kernel components only, for time."] * bool(
            conic
        )
    own = [entry.name for entry in SELF_TUNING if entry.key in resolve_models(spec.models)]
    return notes + [f"{name} searches a grid of its own on the same folds, larger than the others'." for name in own]


def data_notes(spec: Spec, tasks: dict[str, TaskData]) -> list[str]:
    """What of the splits is official, and what was done to the data."""
    official = spec.protocol == "honest" and spec.splits == "official"
    notes = [f"{split_note(task, spec.runs)}; {_told(task, True)}." for task in tasks.values()] if official else []
    return notes + [f"{task.name}: {_told(task, False)}." for task in tasks.values() if _told(task, False)]


def _told(task, of_splits):
    """The messages of a task that speak of its splits, or those that do not."""
    about = [("split" in line or "realisation" in line) for line in task.messages]
    return "; ".join(
        line for line, yes in zip(task.messages, about, strict=True) if yes == of_splits and "known split" not in line
    )
