"""From a specification to a summary: load, plan, run; and the sentences that say what was done."""

from __future__ import annotations

import tempfile
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path

from scipy import sparse

from ..estimators.registry import BUDGET
from ..tables import DataError, TaskData
from .catalogue import SELF_TUNING, grid_of, is_conic, model_name, resolve_models
from .data.loaders import load
from .face_figures import load_pair_tasks
from .metrics import METRICS
from .plan import SPLIT, make_plan
from .spec import Spec
from .splits import split_note, subsample
from .store import Store, execute
from .summary import Summary

__all__ = ["Outcome", "affordable_rows", "dense", "load_tasks", "run_experiment"]

#: Sparse tables with no more numbers than this, zeros included, are made dense: few models take sparse ones.
DENSE_LIMIT = 20_000_000

#: Share of the budget that is planned for, since the forecast of a model's seconds is rough.
SPARE = 0.8


@dataclass(frozen=True, eq=False)
class Outcome:
    """A finished experiment; ``notes`` are what its store had to say."""

    spec: Spec
    tasks: dict[str, TaskData]
    records: list[dict]
    notes: tuple[str, ...] = ()

    @property
    def summary(self) -> Summary:
        return Summary(self.records, self.spec.baseline, METRICS[self.spec.metric])

    @property
    def n_failed(self) -> int:
        """Cells that failed, other than by the time budget."""
        return sum(record["status"] != "ok" and not record.get("over_budget") for record in self.records)

    @property
    def is_complete(self) -> bool:
        """Tell whether every cell has a result."""
        return all(record["status"] == "ok" for record in self.records)


def load_tasks(spec: Spec) -> dict[str, TaskData]:
    """The data sets of a specification, cut to size and dense."""
    if spec.protocol == "pairs":
        return load_pair_tasks(spec.datasets)
    return {name: prepared(load(name), spec) for name in spec.datasets}


def prepared(task: TaskData, spec: Spec) -> TaskData:
    """The task as the cells see it: cut to ``max_rows``, and dense."""
    return dense(subsample(task, spec.max_rows))


def dense(task: TaskData) -> TaskData:
    """The task for models that standardise or take no sparse matrix; a DataError where it is too large for that."""
    if not sparse.issparse(task.X):
        return task
    if task.n_samples * task.n_features > DENSE_LIMIT:
        raise DataError(
            f"{task.name} is sparse, and dense, as a comparison and models that standardise need it, it would hold"
            f" {task.n_samples * task.n_features:,} numbers: too many. Cut it with --max-rows."
        )
    return replace(task, X=task.X.toarray())


def run_experiment(
    spec: Spec,
    tasks: dict[str, TaskData],
    store: Store | Path | None = None,
    *,
    jobs: int | None = None,
    progress: Callable[[int], Callable[[dict], None]] | None = None,
    seconds: float | None = None,
    only_first: bool = False,
) -> Outcome:
    """Run what the store does not hold yet, split by split: every model has its first before any has its second.

    Parameters
    ----------
    spec : Spec
    tasks : dict of str to TaskData
    store : Store, path or None
        None keeps the cells in a temporary file.
    jobs : int or None
        As in :func:`~radiusmargin.paper.execute`.
    progress : callable, optional
        Called with the number of cells; what it returns is called with every record.
    seconds : float, optional
        Budget of each model in processor seconds, as in :func:`~radiusmargin.paper.execute`.
    only_first : bool
        Run the first split only.
    """
    if store is None:
        with tempfile.TemporaryDirectory(prefix="radiusmargin-") as folder:
            store = Path(folder, "cells.jsonl")
            return run_experiment(
                spec, tasks, store, jobs=jobs, progress=progress, seconds=seconds, only_first=only_first
            )
    store = store if isinstance(store, Store) else Store(store)
    plan = [cell for cell in make_plan(spec, tasks) if cell.run == 0 or not only_first]
    report = progress(len(plan)) if progress else None
    records = execute(plan, tasks, store, jobs=jobs, progress=report, seconds=seconds)
    return Outcome(spec, tasks, records, tuple(_run_notes(store, records, seconds)))


def affordable_rows(outcome: Outcome, n_rows: int, seconds: float) -> int:
    """Rows on which the slowest model should finish all its splits, judged by the first split of every model.

    Seconds are taken to grow with the 3/2 power of the rows, between linear models and kernel machines; a split that was
    stopped, for twice as long as it ran.
    """
    spec = outcome.spec
    slowest = max(record["seconds"] * (1 if record["status"] == "ok" else 2) for record in outcome.records)
    needed = slowest * spec.runs * spec.folds
    return n_rows if needed <= seconds else int(n_rows * (SPARE * seconds / needed) ** (2 / 3))


def _run_notes(store, records, seconds):
    """What of the run, rather than of the data, a reader should know."""
    if store.note:
        yield store.note
    stopped = {record["cell"]["model"] for record in records if record.get("over_budget")}
    if stopped:
        names = _names(resolve_models(stopped))
        yield f"Stopped by the budget of {seconds:g} processor seconds for each model: {names}."


def protocol_notes(spec: Spec) -> list[str]:
    """How the numbers came about, in sentences."""
    budget = f"at most {spec.budget or BUDGET} configurations of its grid"
    folds = "folds" if spec.protocol == "paper" else "inner folds"
    notes = [*_PROTOCOL_NOTES[spec.protocol](spec), f"Every model tries {budget} on the same {folds}."]
    metric = METRICS[spec.metric]
    if own := [key for key in resolve_models(spec.models) if key in ("ridge", "auto-svr")]:
        notes.append(
            f"{_names(own)}: chosen by squared leave-one-out residuals of the training rows instead, without folds."
        )
    if spec.metric != "accuracy":
        chosen = next(other for other in METRICS.values() if other.scoring == metric.scoring).inside
        notes.append(f"Reported is {metric.name}; hyper-parameters are chosen by {chosen}.")
    own = [entry.name for entry in SELF_TUNING if entry.key in resolve_models(spec.models)]
    notes += _conic_notes(spec)
    return notes + [f"{name} searches a grid of its own on the same folds, larger than the others'." for name in own]


def _nested_notes(spec):
    stratified = "" if METRICS[spec.metric].of_quantity else "stratified "
    yield (
        f"Nested cross-validation: hyper-parameters by {stratified}{spec.inner_folds}-fold cross-validation inside the"
        " training part, everything (encoding, standardisation, kernel map, metric) fitted there, the test part looked at"
        " once."
    )
    if spec.splits == "folds":
        yield f"Outer splits: {spec.runs} × {stratified}{spec.folds}-fold cross-validation, the same for every model."


def _paper_notes(spec):
    yield (
        f"Protocol paper: hyper-parameters by {spec.folds}-fold cross-validation over the whole set, and the mean accuracy"
        f" of the same folds is reported, over {spec.runs} runs with folds drawn anew. Not nested, hence optimistic."
    )


def _test_fold_notes(spec):
    yield from _nested_notes(spec)
    yield (
        "Protocol test-fold: beside that, the configuration with the highest accuracy on the test part, and that accuracy: a"
        " selection that knows what it is judged by, shown for what such a selection is worth, no estimate of anything."
    )


def _timing_notes(spec):
    yield (
        f"Protocol timing: one fit on {spec.folds - 1}/{spec.folds} of the set, one cell at a time, one thread; the"
        f" hyper-parameters are chosen on a sample of at most {spec.timing_rows} of those rows, outside the clock."
    )


def _pairs_notes(spec):
    yield (
        "Protocol pairs: nested. One fold is tested at a time. Projections, metrics and models are learned from the other"
        f" folds; hyper-parameters by {spec.inner_folds} parts of these, each fold, and so each person, kept whole, with"
        " projections and metrics learned anew in every part."
    )
    if spec.pair_components:
        yield f"Every model is given the first {spec.pair_components} principal components of the features of pairs."


_PROTOCOL_NOTES = {
    "nested": _nested_notes,
    "paper": _paper_notes,
    "test-fold": _test_fold_notes,
    "timing": _timing_notes,
    "pairs": _pairs_notes,
}


def _conic_notes(spec):
    """What models solved by a conic program are given less of."""
    conic = [key for key in resolve_models(spec.models) if is_conic(key)]
    limits = {**vars(spec), **spec.conic}
    most = limits["max_components"]
    if not conic or not most:
        return
    if spec.protocol == "pairs":
        yield (
            f"{_names(conic)}: at most {most} principal components of the pair features and {limits['budget']} configurations,"
            " for time."
        )
    if spec.kernel == "rbf":
        capped = [key for key in conic if "n_components" not in grid_of(key, "rbf", spec.budget)]
        yield from [f"{_names(capped)}: the first {most} kernel components only, for time."] if capped else []


def _names(keys):
    return ", ".join(map(model_name, keys))


def data_notes(spec: Spec, tasks: dict[str, TaskData]) -> list[str]:
    """What of the splits is official, and what was done to the data."""
    official = spec.protocol in SPLIT and spec.splits == "official"
    notes = [f"{split_note(task, spec.runs)}; {_told(task, True)}." for task in tasks.values()] if official else []
    return notes + [f"{task.name}: {_told(task, False)}." for task in tasks.values() if _told(task, False)]


def _told(task, of_splits):
    """The messages of a task that speak of its splits, or those that do not."""
    about = [("split" in line or "realisation" in line) for line in task.messages]
    return "; ".join(
        line for line, yes in zip(task.messages, about, strict=True) if yes == of_splits and "known split" not in line
    )
