"""What stands behind the sentences under a table: paired differences, what was chosen how often, accuracies inside."""

from __future__ import annotations

from collections import Counter

import numpy as np

from .results import parameter_text, short_name, signed
from .statistics import resampled_standard_error, win_tie_loss
from .summary import Summary
from .tables import Table, TableCell

__all__ = ["choice_table", "detail_tables", "difference_table", "inner_table"]


def detail_tables(summary: Summary) -> dict[str, Table]:
    """The tables that go with an experiment, by the ending of their file names."""
    tables = {"differences": difference_table(summary), "chosen": choice_table(summary)}
    return tables | ({"inside": inner_table(summary)} if summary.protocol == "pairs" else {})


def difference_table(summary: Summary) -> Table:
    """Every model minus the baseline on the same splits: the mean, its standard error, and on how many splits it was ahead.

    The error is the one of the table of accuracies, of differences in place of accuracies.
    """
    base, others = summary.baseline, [key for key in summary.models if key != summary.baseline]
    rows, data = [], []
    for dataset in summary.datasets:
        found = [_paired(summary, dataset, key) for key in others]
        rows.append([TableCell(short_name(dataset)), *(_difference_cell(pair) for pair in found)])
        data += [{"dataset": dataset, "model": key, **pair} for key, pair in zip(others, found, strict=True)]
    if summary.has_several_sets:
        rows.append([TableCell("mean"), *(_mean_cell(summary, data, key) for key in others)])
    name = summary.names[base]
    corrected = (
        "" if summary.protocol == "paper" else ", with Nadeau and Bengio's correction for the overlap of the splits"
    )
    notes = (
        f"Differences from {name} on the same splits ± their standard error{corrected}. In brackets: splits on which a model"
        f" was ahead of {name}, level with it, and behind it. Positive is better. The mean is over the sets.",
    )
    rule = len(rows) - 1 if summary.has_several_sets else None
    return Table(f"Minus {name}", ("data set", *(summary.names[key] for key in others)), rows, notes, data, rule)


def _paired(summary, dataset, model) -> dict:
    """Differences of the runs that a model and the baseline both have."""
    entry, base = summary.entry(dataset, model), summary.entry(dataset, summary.baseline)
    runs = sorted(entry.values.keys() & base.values.keys())
    a, b = (np.array([which.values[run] for run in runs]) for which in (entry, base))
    if not runs:
        return {"runs": 0, "difference": "", "standard_error": "", "ahead": ""}
    shown = summary.metric.scale * (a - b)
    error = resampled_standard_error(shown, summary.test_ratio(entry))
    counts = win_tie_loss(a, b, 1e-12)
    return {"runs": len(runs), "difference": float(shown.mean()), "standard_error": error, "ahead": str(counts)}


def _difference_cell(pair) -> TableCell:
    if not pair["runs"]:
        return TableCell("–")
    error = pair["standard_error"]
    text = signed(pair["difference"]) + (f" ± {error:.2f}" if np.isfinite(error) else "")
    return TableCell(text, small=f"({pair['ahead']})")


def _mean_cell(summary, data, model) -> TableCell:
    found = [row["difference"] for row in data if row["model"] == model and row["runs"]]
    return TableCell(signed(float(np.mean(found))) if len(found) == len(summary.datasets) else "–")


def choice_table(summary: Summary) -> Table:
    """How often each value of each hyper-parameter was chosen, by set and model."""
    rows, data = [], []
    for dataset in summary.datasets:
        row = [TableCell(short_name(dataset))]
        for key in summary.models:
            counts = _counts(summary.entry(dataset, key).records)
            row.append(TableCell("; ".join(_counted(name, found) for name, found in counts.items()) or "–"))
            data += [
                {"dataset": dataset, "model": key, "parameter": name, "value": value, "count": count}
                for name, found in counts.items()
                for value, count in found.most_common()
            ]
        rows.append(row)
    header = ("data set", *(summary.names[key] for key in summary.models))
    notes = (
        "Every hyper-parameter by itself: the values that were chosen, the most frequent first, and on how many splits.",
    )
    return Table("Chosen values", header, rows, notes, data)


def _counts(records) -> dict[str, Counter]:
    names = dict.fromkeys(name for record in records for name in record["params"] if name != "kernel")
    return {name: Counter(parameter_text(r["params"][name]) for r in records if name in r["params"]) for name in names}


def _counted(name, found) -> str:
    return f"{name} " + ", ".join(f"{value} ×{count}" for value, count in found.most_common())


def inner_table(summary: Summary) -> Table:
    """Accuracy inside the training folds, by which one may choose among the recipes of one task."""
    rows, data, before = [], [], None
    for dataset in summary.datasets:
        row = [TableCell(short_name(dataset))]
        for key in summary.models:
            inside = _inside(summary, dataset, key)
            small = ""
            if before is not None and inside and (other := _inside(summary, before, key)).keys() == inside.keys():
                ahead = sum(inside[run] > other[run] for run in inside)
                small = f"({ahead} of {len(inside)})"
            mean = 100 * float(np.mean(list(inside.values()))) if inside else float("nan")
            row.append(TableCell(f"{mean:.2f}" if inside else "–", small=small))
            data.append({"dataset": dataset, "model": key, "inner_accuracy": mean if inside else ""})
        rows.append(row)
        before = dataset
    header = ("data set", *(summary.names[key] for key in summary.models))
    notes = (
        "Accuracy in % of the chosen configuration inside the training folds. In brackets: folds in which it is above that of"
        " the row before.",
    )
    return Table("Accuracy inside the training folds", header, rows, notes, data)


def _inside(summary, dataset, model) -> dict[int, float]:
    records = summary.entry(dataset, model).records
    return {r["cell"]["run"]: r["inner_accuracy"] for r in records if r.get("inner_accuracy") is not None}
