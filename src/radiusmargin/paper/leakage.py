"""The table of the protocol test-fold: what choosing on the reported test part is worth, beside nested cross-validation."""

from __future__ import annotations

import numpy as np

from .printed import paper_value
from .results import short_name
from .spec import Spec
from .summary import Summary
from .tables import Table, TableCell

__all__ = ["leakage_table"]

#: The two ways to choose, by the key of the accuracy in a record.
WAYS = {"nested_accuracy": "nested", "accuracy": "chosen on the test part"}


def leakage_table(summary: Summary, spec: Spec) -> Table:
    """Mean accuracy of every model by both ways, and on how many sets each is ahead of the nested baseline."""
    columns = [(model, key) for key in WAYS for model in summary.models]
    means = {dataset: [_mean(summary, dataset, model, key) for model, key in columns] for dataset in summary.datasets}
    rows = [[TableCell(short_name(d)), *(TableCell(f"{value:.2f}") for value in means[d])] for d in means]
    values = np.array(list(means.values()))
    base = values[:, columns.index((summary.baseline, "nested_accuracy"))][:, None]
    n_sets = len(means)
    ahead = [f"{count} of {n_sets}" for count in np.sum(values > base + 1e-9, axis=0)]
    rows.append([TableCell("mean"), *(TableCell(f"{value:.2f}") for value in values.mean(axis=0))])
    is_base = [column == (summary.baseline, "nested_accuracy") for column in columns]
    name = summary.names[summary.baseline]
    row = [TableCell("–" if own else count) for own, count in zip(is_base, ahead, strict=True)]
    rows.append([TableCell(f"ahead of the nested {name}"), *row])
    printed = [_printed_ahead(summary, spec, model) for model in summary.models]
    rows.append([TableCell(f"the paper: ahead of its {name}"), *map(TableCell, printed * len(WAYS))])
    header = ("data set", *(f"{summary.names[model]}, {WAYS[key]}" for model, key in columns))
    data = [
        {"dataset": d, "model": model, "way": WAYS[key], "accuracy": value}
        for d in means
        for (model, key), value in zip(columns, means[d], strict=True)
    ]
    notes = (
        "Mean accuracy in %, the same splits for every column. A configuration that is chosen on the test part is the largest"
        " of many accuracies on it: the gain is there for any model with something to choose.",
    )
    return Table(f"{spec.title or spec.name}, chosen on the test part", header, rows, notes, data, n_sets)


def _mean(summary, dataset, model, key):
    values = [record[key] for record in summary.entry(dataset, model).records]
    return 100 * float(np.mean(values)) if values else float("nan")


def _printed_ahead(summary, spec, model) -> str:
    """On how many of the sets the paper prints more for a model than for the baseline."""
    pairs = [[paper_value(spec.paper_table, d, key) for key in (model, summary.baseline)] for d in summary.datasets]
    pairs = [pair for pair in pairs if None not in pair]
    if model == summary.baseline or not pairs:
        return "–"
    return f"{sum(own > base for own, base in pairs)} of {len(pairs)}"
