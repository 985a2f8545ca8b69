"""The tables of an experiment, made of its summary: accuracies, seconds, hyper-parameters, with the paper's beside
ours.
"""

from __future__ import annotations

from collections import Counter
from dataclasses import replace

import numpy as np

from .catalogue import model_name
from .printed import paper_value
from .spec import Spec
from .statistics import mean_standard_error
from .summary import ALPHA, Summary
from .tables import Table, TableCell, transposed

__all__ = [
    "accuracy_table",
    "dimension_table",
    "findings",
    "legend",
    "model_table",
    "parameter_table",
    "parameter_text",
    "provenance_notes",
    "seconds_table",
    "short_name",
    "signed",
]


def model_table(table: Table, summary: Summary) -> Table:
    """The table of accuracies with a row for each model, and the seconds that each took; on one data set the best first.

    Models that did not finish stand below those that did.
    """
    seconds = [TableCell("seconds"), *(TableCell(f"{summary.seconds(key):.1f}") for key in summary.models)]
    table = transposed(replace(table, rows=[*table.rows, seconds]), "model")
    return replace(table, rows=[table.rows[summary.models.index(key)] for key in summary.ranking])


def accuracy_table(summary: Summary, spec: Spec) -> Table:
    """Accuracy ± standard error by set and model, then means, ranks and tests over the sets."""
    header = ("data set", *(summary.names[key] for key in summary.models))
    rows = [_accuracy_row(summary, spec, dataset) for dataset in summary.datasets]
    data = [_accuracy_record(summary, spec, d, m) for d in summary.datasets for m in summary.models]
    rule = len(rows)
    rows += _summary_rows(summary)
    if spec.paper_table and summary.protocol != "pairs":
        rows.append(_paper_mean_row(summary, spec))
    return Table(spec.title or spec.name, header, rows, legend(summary, spec), data, rule)


def _accuracy_row(summary, spec, dataset):
    entries = [summary.entry(dataset, key) for key in summary.models]
    rounded = summary.metric.rounded
    best = max((rounded(entry.mean) for entry in entries if entry.values), default=None)
    cells = [TableCell(short_name(dataset))]
    for entry in entries:
        if not entry.values:
            cells.append(TableCell("over budget" if entry.over_budget else "failed"))
            continue
        text = summary.metric.text(entry.mean, entry.standard_error)
        paper = paper_value(spec.paper_table, dataset, entry.model)
        small = "" if paper is None else f"({paper:.2f}; {signed(100 * entry.mean - paper)})"
        if entry.errors:
            small = f"{small} {len(entry.values)} of {len(entry.values) + len(entry.errors)} splits".strip()
        cells.append(TableCell(text, rounded(entry.mean) == best, entry.mark, small))
    return cells


def _plus_minus(mean, error) -> str:
    text = f"{100 * mean:.2f}"
    return f"{text} ± {100 * error:.2f}" if np.isfinite(error) else text


def short_name(dataset: str) -> str:
    """A set without its group.

    >>> short_name("ida/heart"), short_name("mine")
    ('heart', 'mine')
    """
    return dataset.partition("/")[2] or dataset


def signed(value: float) -> str:
    """Two digits with a sign, the minus one that aligns."""
    return f"{value:+.2f}".replace("-", "−")


def _accuracy_record(summary, spec, dataset, model) -> dict:
    entry = summary.entry(dataset, model)
    paper = paper_value(spec.paper_table, dataset, model)
    record = {
        "dataset": dataset, "model": model, "name": summary.names[model], "protocol": spec.protocol,
        "kernel": spec.kernel, "runs": len(entry.values), "failed": len(entry.errors),
        spec.metric: _number(summary.metric.shown(entry.mean)),
        "standard_error": _number(summary.metric.scale * entry.standard_error),
        "p_against_baseline": "" if entry.versus is None else _number(entry.versus.pvalue),
        "tune_seconds": _number(entry.median("tune_seconds")),
        "fit_seconds": _number(entry.median("fit_seconds")),
    }  # fmt: skip
    if spec.paper_table:
        record["paper"] = "" if paper is None else paper
        record["difference"] = "" if paper is None else _number(100 * entry.mean - paper)
    return record


def _number(value):
    return "" if not np.isfinite(value) else float(f"{value:.6g}")


def _summary_rows(summary):
    """Mean accuracy, mean rank, wins and Wilcoxon's p against the baseline; only with several sets."""
    if not summary.has_several_sets:
        return []
    rows = [[TableCell(name)] for name in ("mean", "mean rank", "wins / ties / losses", "Wilcoxon p")]
    best = min(summary.ranks.values(), default=None)
    for key in summary.models:
        rank = summary.ranks.get(key)
        versus = summary.versus_baseline(key)
        test = versus[1] if versus else None
        rows[0].append(TableCell(summary.metric.text(summary.mean_accuracy(key)[0]) if rank else "–"))
        rows[1].append(TableCell(f"{rank:.2f}" if rank else "–", rank == best))
        rows[2].append(TableCell(str(versus[0]) if versus else "–"))
        rows[3].append(TableCell(_p(test.pvalue) if test else "–"))
    return rows


def _paper_mean_row(summary, spec):
    cells = [TableCell("paper's mean")]
    for key in summary.models:
        values = [paper_value(spec.paper_table, dataset, key) for dataset in summary.datasets]
        known = all(value is not None for value in values)
        cells.append(TableCell(f"{np.mean(values):.2f}" if known else "–"))
    return cells


def _p(value) -> str:
    return f"{value:.3f}" if value >= 0.001 else "<0.001"


def legend(summary: Summary, spec: Spec) -> tuple[str, ...]:
    """What the entries of the table mean."""
    if spec.components:
        return ("Accuracy in % ± standard error over the splits, by the number of components.",)
    if spec.quantity == "seconds":
        return (
            "Processor seconds of one fit, median over runs, one thread, one at a time. In brackets: the "
            "paper's number; ours over"
            " the paper's. The paper's hardware and software are of 2015 or before: compare columns, not levels.",
        )
    base = summary.names[summary.baseline]
    notes = []
    if spec.protocol == "nested":
        notes.append(
            f"{summary.metric.name}{' in %' * (summary.metric.scale == 100)} ± standard error of the mean over the splits, "
            "which overlap: Nadeau and Bengio's correction is "
            f"applied. ▲ and ▼: significantly better or worse than {base} at {100 * ALPHA:.0f} % "
            "(corrected paired t-test; Holm's correction for all tests of the table)."
        )
    elif spec.protocol == "pairs":
        notes.append(
            "Accuracy in % ± standard error over the folds, as it is reported on LFW. ▲ and ▼: significantly better or worse "
            f"than {base} at {100 * ALPHA:.0f} % (paired t-test with Nadeau and Bengio's correction; Holm's correction for all "
            "tests of the table)."
        )
    else:
        notes.append(
            "Accuracy in % ± standard error over the runs. Selected and reported on the same folds, "
            "as the paper has it: "
            f"optimistic. ▲ and ▼: different from {base} at {100 * ALPHA:.0f} % (paired t-test over runs, "
            "Holm's correction)."
        )
    if spec.protocol == "nested" and any(r.get("n_test", 0) > r.get("n_train", 0) for r in summary.records):
        notes.append(
            "Where the test part is larger than the training part, the correction would take the splits to be almost the"
            " same; it is capped at its value for equal parts, which still is on the safe side."
        )
    if spec.paper_table:
        notes.append("In brackets: the paper's number; ours minus the paper's.")
    if summary.has_several_sets:
        notes.append(f"Wins/ties/losses and Wilcoxon's signed-rank test over data sets are against {base}.")
    return (*notes, *_singular_notes(summary), *_friedman_note(summary))


def _singular_notes(summary):
    """Count the fits of Algorithm 1 whose metric became singular, after which there is no gradient."""
    for key in summary.models:
        ends = [
            record["singular"] for record in summary.records if record["cell"]["model"] == key and "singular" in record
        ]
        if ends:
            yield f"{summary.names[key]}: the metric became singular in {sum(ends)} of {len(ends)} final fits."


def _friedman_note(summary):
    test = summary.friedman
    if test is None:
        return []
    return [
        f"Friedman over {len(summary.datasets)} sets: χ² = {test.chi2:.2f}, p = {_p(test.pvalue)}; Iman–Davenport "
        f"F = {test.F:.2f}, p = {_p(test.F_pvalue)}; Nemenyi's critical difference of mean ranks at "
        f"{100 * ALPHA:.0f} % is {summary.critical_difference:.2f}."
    ]


def seconds_table(summary: Summary, spec: Spec) -> Table:
    """Seconds of one fit by set and model, with the paper's."""
    header = ("data set", *(summary.names[key] for key in summary.models))
    rows, data = [], []
    for dataset in summary.datasets:
        row = [TableCell(short_name(dataset))]
        for key in summary.models:
            seconds = summary.entry(dataset, key).median("fit_seconds")
            paper = paper_value(spec.paper_table, dataset, key)
            small = f"({paper:.3g}; ×{seconds / paper:.2g})" if paper and np.isfinite(seconds) else ""
            row.append(TableCell(f"{seconds:.2g}" if np.isfinite(seconds) else "failed", small=small))
            data.append(_seconds_record(summary, spec, dataset, key, seconds, paper))
        rows.append(row)
    return Table(spec.title or spec.name, header, rows, legend(summary, spec), data)


def _seconds_record(summary, spec, dataset, key, seconds, paper) -> dict:
    entry = summary.entry(dataset, key)
    return {
        "dataset": dataset, "model": key, "name": summary.names[key], "kernel": spec.kernel,
        "runs": len(entry.values), "failed": len(entry.errors), "n_train": _number(entry.median("n_train")),
        "fit_seconds": _number(seconds), "tune_seconds": _number(entry.median("tune_seconds")),
        "paper": "" if paper is None else paper,
        "ratio": "" if not paper else _number(seconds / paper),
    }  # fmt: skip


def dimension_table(records, spec: Spec) -> Table:
    """Accuracy by set, model and number of kernel components: the numbers behind the paper's Figure 2."""
    groups: dict = {}
    for record in records:
        cell = record["cell"]
        values = groups.setdefault((cell["dataset"], cell["model"]), {}).setdefault(cell["fixed"]["n_components"], [])
        if record["status"] == "ok":
            values.append(record["accuracy"])
    rows, data = [], []
    for (dataset, model), points in groups.items():
        row = [TableCell(f"{dataset.partition('/')[2] or dataset}, {model_name(model)}")]
        for k in spec.components:
            mean, error = mean_standard_error(points[k]) if points[k] else (float("nan"),) * 2
            row.append(TableCell(_plus_minus(mean, error) if points[k] else "failed"))
            data.append(
                {
                    "dataset": dataset,
                    "model": model,
                    "n_components": k,
                    "runs": len(points[k]),
                    "accuracy": _number(100 * mean),
                    "standard_error": _number(100 * error),
                }
            )
        rows.append(row)
    header = ("data set, model", *(f"{k}" for k in spec.components))
    return Table(spec.title or spec.name, header, rows, legend(None, spec), data)


def parameter_table(summary: Summary) -> Table:
    """The hyper-parameters that were chosen most often, by set and model."""
    header = ("data set", *(summary.names[key] for key in summary.models))
    rows = []
    for dataset in summary.datasets:
        row = [TableCell(short_name(dataset))]
        for key in summary.models:
            row.append(_favourite(summary.entry(dataset, key).records))
        rows.append(row)
    notes = ("The configuration chosen most often, and in how many of the runs.",)
    return transposed(Table("Chosen hyper-parameters", header, rows, notes), "model")


def _favourite(records) -> TableCell:
    texts = Counter(
        ", ".join(f"{k}={parameter_text(v)}" for k, v in r["params"].items() if k != "kernel") for r in records
    )
    if not texts:
        return TableCell("–")
    text, count = texts.most_common(1)[0]
    return TableCell(text or "none", small=f"{count}/{len(records)}")


def parameter_text(value) -> str:
    """A value of a hyper-parameter: a number as a power of two where it is one.

    >>> parameter_text(0.25), parameter_text(8.0), parameter_text(0.1)
    ('2^-2', '2^3', '0.1')
    """
    if isinstance(value, float) and value > 0 and not (0.5 < value < 2):
        exponent = np.log2(value)
        if exponent == round(exponent):
            return f"2^{int(exponent)}"
    return f"{value:g}" if isinstance(value, int | float) else str(value)


def findings(summary: Summary) -> list[str]:
    """What the numbers say, in a few plain sentences."""
    said = []
    base = summary.names[summary.baseline]
    if not any(entry.values for entry in summary.entries):
        return ["Every cell failed."]
    if summary.ranks and summary.has_several_sets:
        best = min(summary.ranks, key=summary.ranks.get)
        said.append(
            f"Best mean rank over {len(summary.datasets)} data sets: {summary.names[best]} ({summary.ranks[best]:.2f})."
        )
        test = summary.friedman
        if test is not None and test.F_pvalue >= ALPHA:
            said.append(f"Over all sets the models cannot be told apart (Iman–Davenport p = {_p(test.F_pvalue)}).")
        elif test is not None:
            said.append(f"The models differ over all sets (Iman–Davenport p = {_p(test.F_pvalue)}).")
    for mark, word in (("▲", "better"), ("▼", "worse")):
        marked = [(d, m) for d in summary.datasets for m in summary.models if summary.entry(d, m).mark == mark]
        if marked:
            counts = Counter(summary.names[m] for _, m in marked)
            listed = ", ".join(f"{name} on {n}" if len(summary.datasets) > 1 else name for name, n in counts.items())
            said.append(f"Significantly {word} than {base}: {listed}.")
    if not any(summary.entry(d, m).mark for d in summary.datasets for m in summary.models):
        said.append(f"No model differs significantly from {base} on any single set.")
    return said


def provenance_notes(summary: Summary) -> list[str]:
    """Versions, processors and warnings behind the numbers, and every failure."""
    sources = [record["provenance"] for record in summary.records]
    notes = []
    for versions, count in Counter(tuple(sorted(p["versions"].items())) for p in sources).most_common():
        listed = ", ".join(f"{name} {version}" for name, version in versions)
        notes.append(f"{count} cells with {listed}.")
    cpus = Counter(p["cpu"] for p in sources)
    notes.append("Processor: " + "; ".join(f"{cpu} ({count} cells)" for cpu, count in cpus.most_common()) + ".")
    days = sorted(p["time"][:10] for p in sources)
    notes.append(f"Run between {days[0]} and {days[-1]}." if days[0] != days[-1] else f"Run on {days[0]}.")
    kinds = Counter()
    for record in summary.records:
        for warning in record["warnings"]:
            kinds[summary.names[record["cell"]["model"]], warning["kind"]] += warning["count"]
    notes += [f"{name}: {count} × {kind}." for (name, kind), count in kinds.most_common()]
    for entry in (entry for entry in summary.errors if "over the time budget" not in entry.errors):
        notes.append(
            f"{entry.dataset}, {summary.names[entry.model]}: {len(entry.errors)} cells failed: {entry.errors[0]}"
        )
    return notes
