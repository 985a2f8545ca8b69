"""The files that an experiment leaves: tables, a page, plain data."""

from __future__ import annotations

import json
from dataclasses import replace
from pathlib import Path

from .._writing import write_file
from . import results
from .answer import answer_sections, in_plain_words, suspicions_of
from .captions import run_facts
from .differences import detail_tables
from .face_figures import examples_table, make_figure, roc_table
from .leakage import leakage_table
from .recommend import recommend
from .splits import SAMPLE
from .tables import Table, to_csv, to_html, write_table
from .workflow import Outcome, data_notes, protocol_notes

__all__ = [
    "details",
    "main_figure",
    "main_table",
    "report_html",
    "search_section",
    "to_csv_text",
    "to_json",
    "write_all",
]


def main_table(outcome: Outcome) -> Table:
    """The table of an experiment, with every deviation among its notes."""
    spec = outcome.spec
    if spec.components:
        table = results.dimension_table(outcome.records, spec)
    elif spec.quantity == "seconds":
        table = results.seconds_table(outcome.summary, spec)
    elif spec.quantity == "roc":
        table = roc_table(outcome)
    elif spec.quantity == "examples":
        table = examples_table(outcome)
    elif spec.protocol == "test-fold":
        table = leakage_table(outcome.summary, spec)
    else:
        table = results.accuracy_table(outcome.summary, spec)
    notes = (*table.notes, *protocol_notes(spec), *spec.notes, *data_notes(spec, outcome.tasks))
    notes += (*outcome.notes, *results.provenance_notes(outcome.summary))
    return replace(table, notes=notes, facts=run_facts(spec, outcome.summary))


def details(outcome: Outcome) -> dict[str, Table]:
    """Differences and choices behind a table of accuracies, by the ending of their file names; else nothing."""
    spec = outcome.spec
    if spec.quantity != "accuracy" or spec.components or spec.protocol == "test-fold":
        return {}
    facts = run_facts(spec, outcome.summary)
    return {ending: replace(table, facts=facts) for ending, table in detail_tables(outcome.summary).items()}


def main_figure(outcome: Outcome):
    """The figure that an experiment is made for; None where it is made for its table."""
    from ..plots.comparison import plot_dimensions

    if outcome.spec.protocol == "pairs":
        return make_figure(outcome)
    return plot_dimensions(outcome.records, outcome.summary.names) if outcome.spec.components else None


def _is_comparison(spec) -> bool:
    """Tell whether models are compared on data sets: only then there is one to recommend."""
    return spec.quantity == "accuracy" and not spec.components and spec.protocol != "pairs"


def advice_lines(outcome: Outcome) -> tuple[str, ...]:
    """Return sentences of advice: the recommendation, reasons to doubt it, and the rows it rests on."""
    found = recommend(outcome.summary)
    plain = in_plain_words(outcome.summary, found.model)
    samples = [line for task in outcome.tasks.values() for line in task.messages if SAMPLE in line]
    return (
        *([plain] if plain else []),
        *found.lines,
        *suspicions_of(outcome, found.model),
        *(f"Compared on {line}." for line in samples[-1:]),  # who decides by a sample should know it at once
    )


def to_json(outcome: Outcome) -> str:
    """Specification, summary and all records."""
    summary = outcome.summary
    document = {
        "specification": {key: value for key, value in vars(outcome.spec).items()},
        "table": main_table(outcome).data,
        "ranks": summary.ranks,
        "friedman": None if summary.friedman is None else {
            "chi2": summary.friedman.chi2, "p": summary.friedman.pvalue, "F": summary.friedman.F,
            "F_p": summary.friedman.F_pvalue, "critical_difference": summary.critical_difference,
        },
        "recommendation": list(advice_lines(outcome)) if _is_comparison(outcome.spec) else [],
        "notes": list(main_table(outcome).notes),
        "records": outcome.records,
    }  # fmt: skip
    return json.dumps(_without_nan(document), indent=1, ensure_ascii=False, default=str) + "\n"


def _without_nan(value):
    """JSON has neither NaN nor infinity: both become null."""
    if isinstance(value, dict):
        return {key: _without_nan(item) for key, item in value.items()}
    if isinstance(value, list | tuple):
        return [_without_nan(item) for item in value]
    if isinstance(value, float) and (value != value or value in (float("inf"), float("-inf"))):
        return None
    return value


def to_csv_text(outcome: Outcome) -> str:
    """The table as CSV."""
    return to_csv(main_table(outcome))


def write_all(outcome: Outcome, folder, details: dict[str, Table] | None = None) -> list[Path]:
    """Markdown, LaTeX, CSV and HTML of an experiment, and tables beside it by the ending of their names; returns the paths."""
    folder = Path(folder)
    named = outcome.spec.protocol in ("nested", "paper", "test-fold")
    name = f"{outcome.spec.name}-{outcome.spec.protocol}" if named else outcome.spec.name
    page = report_html(outcome)  # made before the first file is written
    tables = {name: main_table(outcome)} | {f"{name}-{ending}": table for ending, table in (details or {}).items()}
    paths = [path for name, table in tables.items() for path in write_table(table, folder, name)]
    return [*paths, write_file(folder / f"{name}.html", page)]


def report_html(outcome: Outcome, title: str | None = None) -> str:
    """The page of an experiment."""
    from .page import render_report

    spec, summary, table = outcome.spec, outcome.summary, main_table(outcome)
    shown = replace(table, notes=results.legend(summary, spec))
    if not (spec.paper_table or spec.components or spec.quantity in ("roc", "examples")):
        shown = results.model_table(shown, summary)
    advice = advice_lines(outcome) if _is_comparison(spec) and not spec.paper_table else ()
    sections = _sections(outcome, summary, to_html(shown))
    picture = next((s for s in sections if advice and s.figure is not None), None)
    sections = [section for section in sections if section is not picture]
    done = len(outcome.records) - outcome.n_failed
    facts = [
        (str(len(summary.datasets)), "data sets" if len(summary.datasets) > 1 else "data set"),
        (str(len(summary.models)), "models"),
        (f"{done:,}", "cells" if not outcome.n_failed else f"cells, {outcome.n_failed} failed"),
        (f"{sum(r['seconds'] for r in outcome.records):,.0f} s", "of computing"),
    ]
    findings = [] if spec.components or spec.quantity != "accuracy" else results.findings(summary)
    if advice and len(summary.datasets) == 1:
        findings = []  # the advice says it, and more
    if outcome.n_failed:
        findings.append(f"{outcome.n_failed} cells failed; see the notes at the end.")
    return render_report(
        title or spec.title or spec.name,
        subtitle=protocol_notes(spec)[0],
        facts=facts,
        advice=advice,
        findings=findings,
        picture=picture,
        sections=sections,
        footer=[
            *protocol_notes(spec),
            *spec.notes,
            *data_notes(spec, outcome.tasks),
            *outcome.notes,
            *results.provenance_notes(summary),
        ],
    )


def _sections(outcome, summary, table_html):
    from ..plots import comparison as plots
    from .page import Section

    spec = outcome.spec
    if spec.components or spec.protocol == "pairs":
        figure, table = main_figure(outcome), Section("Table", table=table_html)
        name = "Accuracy and dimension" if spec.components else spec.title
        return [table] if figure is None else [Section(name, figure=figure), table]
    if spec.quantity == "seconds":
        return [Section("Seconds", table=table_html), Section("DataSummary", figure=plots.plot_time(summary))]
    own = any("/" not in name for name in outcome.tasks)  # a table of one's own, and a reader who is no specialist
    sections = [
        Section(summary.metric.name, table=table_html),
        Section(
            f"{summary.metric.name} with intervals",
            "Points are means over the splits, bars 95 % intervals of the mean that allow for"
            f" the overlap of the splits; the dashed line is {summary.names[summary.baseline]}.",
            figure=plots.plot_accuracy(summary),
        ),
        Section(
            "Critical difference",
            "Mean ranks over the data sets, 1 is best. Models joined by a bar are not told apart"
            " by Nemenyi's test at 5 %.",
            figure=plots.plot_critical_difference(summary),
        ),
        *(answer_sections(outcome) if own else []),
        Section("Time", "Same folds for every model.", figure=plots.plot_time(summary)),
        Section(
            "Radius and margin",
            "What the learned transformation does to the ratio that bounds the error: the squared"
            " radius of the ball around the training points over the squared margin, on the first split. Only models"
            " that learn a transformation have an ‘after’.",
            figure=plots.plot_radius_margin(summary),
            folded=own,
        ),
        Section(
            "Learned spectrum",
            "Eigenvalues of the learned metric M, largest first, as shares of their sum; dashed, those"
            " of the correlation matrix of the data. The exact F-SVM has one eigenvalue per labelling: its metric is of"
            " rank one, a projection on the separator.",
            figure=plots.plot_spectrum(summary),
            folded=own,
        ),
        *_search_of_the_recommended(summary),
        Section("Hyper-parameters", table=to_html(results.parameter_table(summary)), folded=own),
    ]
    return [section for section in sections if section.table or section.figure is not None]


def _search_of_the_recommended(summary):
    """What the recommended model tried, on one's own table, if it is a search of ours."""
    if len(summary.datasets) > 1 or (model := recommend(summary).model) is None:
        return
    records = summary.entry(summary.datasets[0], model).records
    search = next((record["search"] for record in records if record.get("search")), None)
    if search is not None:
        yield search_section(search, f"What {summary.names[model]} tried", "On the training rows of the first split. ")


def search_section(search: dict, title: str, where: str = ""):
    """The picture of a `search_portrait`, with the words that explain it."""
    from ..plots import comparison as plots
    from .page import Section

    return Section(
        title,
        f"{where}Every cell is a member of the search, brighter where its cross-validated score is higher. White dots were averaged, their"
        " area being their weight; the red cross is the best, whose score is too high: it is the largest of many.",
        figure=plots.plot_search(search),
        folded=bool(where),
        alt=f"{title}: scores by C and kernel",
    )
