"""Data sets available for an experiment of the paper, and stand-ins for missing ones."""

from __future__ import annotations

from dataclasses import replace

from ..estimators.registry import BUDGET
from ..tables import DataError, TaskData
from .data.loaders import load
from .printed import PAPER_ROWS
from .spec import Spec, load_spec
from .workflow import prepared

__all__ = ["load_available"]

#: The name under which all sets of IDA are said to be missing.
IDA = "the IDA sets"

#: Sizes that are no larger than those of Table 2 on UCI's originals, where several classes are many problems.
FEWER = ("runs", "folds", "inner_folds", "budget")


def load_available(spec: Spec) -> tuple[Spec, dict[str, TaskData], dict[str, str]]:
    """Load what is there of a specification's data sets.

    Where not one of its IDA sets is there, the UCI originals take their place. Returns the specification as it can be run,
    its tasks, and why each other data set is not among them.
    """
    tasks, missing = _load_each(spec)
    if not tasks and all(name.startswith("ida/") for name in spec.datasets):
        reason = next(iter(missing.values()))
        spec = _on_uci_originals(spec)
        tasks, missing = _load_each(spec)
        missing[IDA] = f"None of the IDA sets is there; the UCI originals take their place. {reason}"
    if not tasks:
        raise DataError("\n".join(missing.values()))
    return replace(spec, datasets=tuple(tasks)), tasks, missing


def _load_each(spec):
    tasks, missing = {}, {}
    for name in spec.datasets:
        try:
            tasks[name] = prepared(load(name, generate=True), spec)
        except DataError as error:
            missing[name] = str(error)
    return tasks, missing


def _on_uci_originals(spec: Spec) -> Spec:
    """The experiment on the sets of the paper's Table 1, which have no official splits and, in five cases, more classes."""
    originals = {row: name for name, row in PAPER_ROWS.items() if name.startswith("uci/")}
    like, own = load_spec("table2-uci"), {name: getattr(spec, name) or BUDGET for name in FEWER}
    note = (
        "On UCI's originals, not on the IDA versions of the sets: folds drawn here, several classes compared in pairs."
    )
    fewer = {name: min(getattr(like, name), value) for name, value in own.items()}
    datasets = tuple(originals[PAPER_ROWS[name]] for name in spec.datasets)
    changed = {"title": f"{spec.title}, on the UCI originals", "notes": (*spec.notes, note), "max_rows": like.max_rows}
    return replace(spec, datasets=datasets, splits="folds", **fewer, **changed)
