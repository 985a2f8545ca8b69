"""Diagnostics of the recommended model: its errors, the calibration of its probabilities, the importance of columns."""

from __future__ import annotations

import numpy as np
from sklearn.base import clone
from sklearn.metrics import confusion_matrix
from threadpoolctl import threadpool_limits

from .cells import INTERVAL, fit_chosen
from .metrics import METRICS, measured, measured_quantity
from .page import Section
from .plan import make_plan, seed_for
from .recommend import recommend
from .splits import inner_folds, outer_split
from .tables import Table, TableCell, to_html
from .tuning import Chosen, choose

__all__ = ["answer_sections", "column_importance", "in_plain_words", "suspicions_of"]

#: Classes beyond so many make no readable confusion matrix; columns beyond so many take too long to permute.
MOST_CLASSES, MOST_COLUMNS, REPEATS = 12, 60, 5


def in_plain_words(summary, model) -> str | None:
    """Say what the score of the recommended model means for a hundred new rows; None for metrics that say no such thing."""
    if model is None or len(summary.datasets) > 1:
        return None
    if summary.metric.of_quantity:
        return _in_units(summary, model)
    if summary.metric.key not in ("accuracy", "balanced_accuracy"):
        return None
    right = round(100 * summary.entry(summary.datasets[0], model).mean)
    rows = "100 new rows" if summary.metric.key == "accuracy" else "100 new rows, as many of every class,"
    dummy = summary.dummy
    if dummy not in summary.models or not np.isfinite(guess := summary.entry(summary.datasets[0], dummy).mean):
        return f"Of {rows} {summary.names[model]} should label about {right} correctly."
    return (
        f"Of {rows} {summary.names[model]} should label about {right} correctly; always naming the most frequent class,"
        f" about {round(100 * guess)}."
    )


def _in_units(summary, model) -> str:
    """Say by how much the predictions of a quantity are off, in its units."""
    dataset, metric = summary.datasets[0], METRICS["mae"]
    error = summary.entry(dataset, model).mean_of("mae")
    guess = summary.entry(dataset, summary.dummy).mean_of("mae") if summary.dummy in summary.models else float("nan")
    text = f"Predictions of {summary.names[model]} for new rows should be off by about {metric.text(-error)} on average"
    return f"{text}; always saying the mean, by about {metric.text(-guess)}." if np.isfinite(guess) else f"{text}."


def suspicions_of(outcome, model) -> list[str]:
    """Return warnings about results too good to be true: a column that alone decides, or no error on any split."""
    said = [
        line for task in outcome.tasks.values() for line in task.messages if line.startswith("suspiciously perfect")
    ]
    if said or model is None or len(outcome.summary.datasets) > 1:
        return [f"{line[0].upper()}{line[1:]}" for line in said]
    values = outcome.summary.entry(outcome.summary.datasets[0], model).values.values()
    perfect = outcome.summary.metric.sign > 0 and all(value >= 1.0 for value in values)
    return ["Suspiciously perfect: no error on any split. Do some columns say what the label says?"] if perfect else []


def column_importance(outcome, model) -> dict[str, float]:
    """Compute by how much the score falls if a column of the held-out rows of the first split is shuffled.

    The score is the metric of the comparison where predictions alone have it, else accuracy; of a quantity, R2.
    """
    (task,) = outcome.tasks.values()
    if task.n_features > MOST_COLUMNS or not hasattr(task.X, "columns"):
        return {}
    cell = next(cell for cell in make_plan(outcome.spec, outcome.tasks) if cell.model == model)
    train, test = outer_split(task, cell)
    (X, _), y = task.encoded(train, test), task.y[train]
    record = next(r for r in outcome.records if r["key"] == cell.key)
    if cell.grid:
        chosen = Chosen(record["params"], record["inner_accuracy"], record["n_configurations"])
    else:  # its fit is its search
        groups = None if task.groups is None else task.groups[train]
        chosen = choose(cell, X, y, inner_folds(y, cell, groups, task.in_time))
    fitted, _ = fit_chosen(cell, chosen, X, y)
    encoder = clone(task.encoder).fit(task.rows(train))
    rng = np.random.default_rng(seed_for("importance", task.name))
    held_out, truth, key = task.rows(test), task.y[test], _of_predictions(outcome.spec.metric)

    def score(rows):
        predicted = fitted.predict(encoder.transform(rows))
        if task.quantity:
            return measured_quantity(truth, predicted)["r2"]
        return measured(truth, predicted, fitted.classes_)[key]

    whole = score(held_out)
    falls = {}
    for name in held_out.columns:
        shuffled = [
            held_out.assign(**{name: held_out[name].to_numpy()[rng.permutation(len(test))]}) for _ in range(REPEATS)
        ]
        falls[str(name)] = whole - float(np.mean([score(rows) for rows in shuffled]))
    return falls


def _of_predictions(metric) -> str:
    return metric if metric in ("balanced_accuracy", "f1", "mcc") else "accuracy"


def answer_sections(outcome) -> list[Section]:
    """Sections about the recommended model on a table of one's own; empty where none is recommended."""
    from ..plots.answer import plot_curves

    summary = outcome.summary
    model = recommend(summary).model
    if model is None or len(summary.datasets) > 1:
        return []
    name = summary.names[model]
    held = [record["held_out"] for record in summary.entry(summary.datasets[0], model).records if "held_out" in record]
    if not held:
        return []
    truth, predicted = (np.concatenate([part[which] for part in held]) for which in ("truth", "predicted"))
    if summary.metric.of_quantity:
        return [_quantity_section(summary, name, truth, predicted), *_importance_sections(outcome, model, name)]
    classes = held[0]["classes"]
    sections = []
    if len(classes) <= MOST_CLASSES:
        table = _confusion_table(truth, predicted, classes)
        where = "Rows are the true classes, columns what the model said, over all held-out rows."
        sections.append(Section(f"Where {name} errs", where, table=to_html(table)))
    if held[0].get("scores"):
        scores = np.concatenate([part["scores"] for part in held])
        sections.append(
            Section(
                f"How sure {name} is",
                f"Left, how many of class {classes[1]} are found (up) at how many false alarms (right), for every threshold; the area"
                " is ROC AUC."
                + " Right, how often a probability came true: on the dashed line it says what it means."
                * held[0]["is_probability"],
                figure=plot_curves(truth == 1, scores, held[0]["is_probability"]),
                alt="ROC curve and calibration",
            )
        )
    return [*sections, *_importance_sections(outcome, model, name)]


def _quantity_section(summary, name, truth, predicted) -> Section:
    """Predictions of held-out rows against the truth, and what share of it the intervals of any model contain."""
    from ..plots.answer import plot_predictions

    text = "Every point is a held-out row; on the dashed line the prediction is true."
    for entry in summary.entries:
        if np.isfinite(covered := entry.mean_of("covered")):
            text += f" The {100 * INTERVAL:.0f} % intervals of {summary.names[entry.model]} contain {100 * covered:.1f} % of them."
    figure = plot_predictions(truth, predicted)
    return Section(f"How far {name} is off", text, figure=figure, alt="Predicted against true")


def _importance_sections(outcome, model, name) -> list[Section]:
    from ..plots.answer import plot_importance

    with threadpool_limits(limits=1):
        falls = column_importance(outcome, model)
    if not falls:
        return []
    return [
        Section(
            f"Which columns matter to {name}",
            "How much the score falls if a column of the held-out rows of the first split is shuffled, the mean of five times."
            " Columns that say the same share their part.",
            figure=plot_importance(falls),
            alt="Importance of columns",
        )
    ]


def _confusion_table(truth, predicted, classes) -> Table:
    counts = confusion_matrix(truth, predicted, labels=range(len(classes)))
    rows = []
    for k, name in enumerate(classes):
        found = counts[k, k] / max(counts[k].sum(), 1)
        cells = [TableCell(f"{count:,}", best=j == k) for j, count in enumerate(counts[k])]
        rows.append([TableCell(name), *cells, TableCell(f"{100 * found:.0f} %")])
    return Table("", ("class", *(f"said {name}" for name in classes), "right"), rows)
