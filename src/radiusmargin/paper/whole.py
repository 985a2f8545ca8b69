"""All tables and figures of the paper on one page, with a conclusion that is computed from them."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from .._writing import write_file
from .figures import ReportItem
from .printed import paper_value
from .summary import Summary
from .tables import Table, to_html

__all__ = ["BEYOND", "PAPER", "by_reason", "conclusion", "write_page"]

#: The paper's tables and figures, in the order of the page; Table 2 also on the sets that its Table 1 lists.
PAPER = (
    "table1", "figure1", "table2", "table2-uci", "table3", "table4", "table5", "figure2", "figure3", "figure4", "figure5",
    "table6",
)  # fmt: skip
#: What this package adds.
BEYOND = ("transformations", "maps", "map-figure", "criteria")


def write_page(items: dict[str, ReportItem], left_out: dict[str, str], path: Path, *, quick: bool) -> Path:
    """Write everything that was made, by name, into one page, which says what was left out and why."""
    from .page import render_report

    run = "quick" if quick else "full"
    said = conclusion({name: item.summary for name, item in items.items()}, _table(items.get("figure1")))
    small = ": few sets, runs and configurations, to see that it works and not to rest a conclusion on" * quick
    page = render_report(
        "The F-SVM paper, run again",
        subtitle=f"This is a {run} run{small}. Our numbers beside the paper's, with the protocol under every table.",
        facts=[
            (f"{len([n for n in items if n in PAPER])} of {len(PAPER)}", "tables and figures of the paper"),
            (run, "run"),
        ],
        findings=[f"{name}: {reason.partition(chr(10))[0]}" for name, reason in left_out.items()],
        sections=[*_sections(items), *_closing(said, left_out)],
    )
    return write_file(path, page)


def _table(item) -> Table | None:
    return None if item is None else item.table


def _sections(items):
    from .page import Section

    for name, item in items.items():
        figure = next(iter(item.figures.values()), None)
        text = " ".join(["Beyond the paper."] * (name in BEYOND) + [item.text] * bool(item.text))
        yield Section(item.title, text, to_html(item.table) if item.table else "", figure, alt=item.title)


def _closing(said, left_out):
    from .page import Section

    for number, (reason, names) in enumerate(by_reason(left_out).items(), start=1):
        yield Section(f"Left out ({number})", f"{'; '.join(names)}. {reason}")
    yield Section("Conclusion", " ".join(said))


def by_reason(left_out: dict[str, str]) -> dict[str, list[str]]:
    """Gather what was left out for the same reason, so that the reason is told once.

    >>> by_reason({"table2": "no data", "table3": "no data"})
    {'no data': ['table2', 'table3']}
    """
    found: dict[str, list[str]] = {}
    for name, reason in left_out.items():
        found.setdefault(reason, []).append(name)
    return found


def conclusion(summaries: dict[str, Summary | None], figure1: Table | None) -> list[str]:
    """Conclude in five sentences, each from the run it speaks of, or saying that it was not made."""
    return [
        _of_figure1(figure1),
        _of_accuracy("Table 2", summaries.get("table2"), "table2_linear_accuracy"),
        _of_seconds("Table 3", summaries.get("table3")),
        _of_accuracy("Table 4", summaries.get("table4"), "table4_kernel_accuracy"),
        _of_accuracy("Table 6", summaries.get("table6"), "table6_lfw_accuracy"),
    ]


def _of_figure1(table) -> str:
    if table is None:
        return "Figure 1 was not made."
    first, last = table.data[0], table.data[-1]
    return (
        f"Figure 1: the squared ratio of radius and margin goes from {first['ratio']:.3g} ({first['metric']}) to"
        f" {last['ratio']:.3g} ({last['metric']})."
    )


def _of_accuracy(name, summary, printed) -> str:
    pair = ("svm", "fsvm")
    if summary is None or not set(pair) <= set(summary.models):
        return f"{name} was not run."
    entries = [[summary.entry(dataset, key) for key in pair] for dataset in summary.datasets]
    svm, fsvm = 100 * np.array([[entry.mean for entry in both] for both in entries]).T
    paper = [[paper_value(printed, dataset, key) for key in pair] for dataset in summary.datasets]
    paper = [both for both in paper if None not in both]
    theirs = f" (in the paper on {sum(b > a for a, b in paper)} of {len(paper)})" if paper else ""
    return (
        f"{name}: over {len(svm)} sets the SVM has {np.nanmean(svm):.2f} % in the mean and F-SVM {np.nanmean(fsvm):.2f} %, which is"
        f" ahead on {np.sum(fsvm > svm + 1e-9)} of them{theirs}; the difference on a single set is significant on"
        f" {sum(entry.mark != '' for _, entry in entries)}."
    )


def _of_seconds(name, summary) -> str:
    if summary is None or "svm" not in summary.models:
        return f"{name} was not run."
    seconds = {
        key: np.array([summary.entry(d, key).median("fit_seconds") for d in summary.datasets]) for key in summary.models
    }
    ratios = {summary.names[key]: np.nanmedian(own / seconds["svm"]) for key, own in seconds.items() if key != "svm"}
    listed = ", ".join(f"{model} {ratio:.2g} times" for model, ratio in ratios.items())
    return f"{name}: in the median over {len(summary.datasets)} sets a fit takes, of the SVM's seconds: {listed}."
