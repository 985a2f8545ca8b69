"""Pictures of the tables in benchmarks/RESULTS.md, drawn when the site is built, so that they cannot differ from them."""

from __future__ import annotations

import re
from dataclasses import dataclass
from pathlib import Path

import numpy as np
from matplotlib.figure import Figure
from matplotlib.ticker import NullFormatter

RESULTS = Path(__file__).parents[2] / "benchmarks" / "RESULTS.md"
INK, FAINT = "#7b8794", "#7b879455"  # legible on white and on black
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7")
WIDTH = 4.8  # inches: at 400 pixels, a telephone, letters of nine points are ten pixels high
RATIO = re.compile(r"(>?)\s*([\d.]+)x")


@dataclass(frozen=True)
class Table:
    """A table of Markdown, by columns."""

    columns: dict[str, list[str]]

    def __getitem__(self, name) -> list[str]:
        """The column whose title begins so."""
        return next(column for title, column in self.columns.items() if title.startswith(name))

    def ratios(self, name) -> list[float]:
        """What precedes the x in every cell; NaN where there is none."""
        found = [RATIO.search(cell) for cell in self[name]]
        return [float(match[2]) if match else float("nan") for match in found]

    def numbers(self, name) -> list[float]:
        return [float(cell) for cell in self[name]]


def section(text, name) -> str:
    """What stands between the marks of a section."""
    match = re.search(rf"<!-- begin {re.escape(name)} -->(.*?)<!-- end {re.escape(name)} -->", text, re.DOTALL)
    if match is None:
        raise LookupError(f"benchmarks/RESULTS.md has no section {name!r}")
    return match[1]


def tables(part) -> list[Table]:
    """All tables of a text."""
    found = []
    for block in re.findall(r"(?:^\|.*\|[ ]*\n)+", part + "\n", re.MULTILINE):
        head, _, *rows = [[cell.strip() for cell in line.strip().strip("|").split("|")] for line in block.splitlines()]
        found.append(Table({title: [row[k] for row in rows] for k, title in enumerate(head)}))
    return found


def _axes(height):
    figure = Figure(figsize=(WIDTH, height), layout="constrained", facecolor="none")
    ax = figure.subplots()
    ax.set_facecolor("none")
    ax.spines[:].set_visible(False)
    ax.tick_params(colors=INK, length=0, labelsize=9)
    ax.grid(axis="x", color=FAINT, lw=0.7)
    ax.set_axisbelow(True)
    return figure, ax


def bars(labels, series: dict[str, list[float]], xlabel) -> Figure:
    """Ratios on a logarithmic axis, from 1: to the right of it ours is quicker."""
    figure, ax = _axes(0.9 + len(labels) * (0.11 + 0.13 * len(series)))
    places = np.arange(len(labels), dtype=float)[::-1]
    width = 0.8 / len(series)
    for k, (name, values) in enumerate(series.items()):
        at = places + 0.4 - width * (k + 0.5)
        ax.barh(at, np.asarray(values) - 1, width * 0.85, left=1, color=COLOURS[k], label=name)
        for y, value in zip(at, values, strict=True):
            if np.isfinite(value):
                ax.text(max(value, 1) * 1.06, y, f"{value:g}x", va="center", fontsize=7.5, color=INK)
    ax.set_xscale("log")
    ax.axvline(1, color=INK, lw=1)
    ax.margins(x=0.12)
    ax.set_yticks(places, labels)
    ax.set_ylim(-0.6, len(labels) - 0.4)
    ax.set_xlabel(xlabel, fontsize=9, color=INK)
    ax.xaxis.set_major_formatter(lambda value, _: f"{value:g}x")
    ax.xaxis.set_minor_formatter(NullFormatter())
    if len(series) > 1:
        figure.legend(
            frameon=False,
            fontsize=9,
            labelcolor=INK,
            ncols=len(series) if sum(map(len, series)) < 40 else 1,
            loc="outside upper left",
        )
    return figure


def ranks(names, values, ours) -> Figure:
    """Mean ranks as dots on one line each, the best first."""
    order = np.argsort(values)
    figure, ax = _axes(0.9 + 0.27 * len(names))
    for place, k in enumerate(order[::-1]):
        colour = COLOURS[1] if ours in names[k] else COLOURS[0]
        ax.plot([1, values[k]], [place, place], color=FAINT, lw=1.5)
        ax.plot(values[k], place, "o", color=colour, ms=7)
        ax.text(values[k] + 0.18, place, f"{values[k]:.2f}", va="center", fontsize=8.5, color=INK)
    ax.set_yticks(range(len(names)), [names[k] for k in order[::-1]])
    ax.set_xlabel(f"mean rank (1 is best of {len(names)})", fontsize=9, color=INK)
    ax.set_xlim(1, max(values) + 1.2)
    return figure


def hinge(text):
    labels, series = [], {"LinearSVC": [], "SVC(linear)": []}
    for name in ("hinge-7000", "hinge-1e5", "hinge-1e6"):
        (table,) = tables(section(text, name))
        labels += [f"{data}, C = {C}" for data, C in zip(table["data"], table["C"], strict=True)]
        series["LinearSVC"] += table.ratios("LinearSVC")
        has_svc = any(title == "SVC" for title in table.columns)
        series["SVC(linear)"] += table.ratios("SVC") if has_svc else [float("nan")] * len(table["C"])
    return bars(labels, series, "times as long as ours, to 1e-3")


def kernels(text):
    table = tables(section(text, "kernels"))[0]
    sets = list(dict.fromkeys(table["data"]))
    times = dict(zip(zip(table["data"], table["C"], strict=True), table.ratios("ours"), strict=True))
    series = {f"C = {C}": [times.get((data, C), float("nan")) for data in sets] for C in dict.fromkeys(table["C"])}
    return bars([data.partition("/")[2] for data in sets], series, "SVC: times as long as ours")


def search(text):
    table = tables(section(text, "kernel-search"))[0]
    return bars([data.partition("/")[2] for data in table["data"]], {"liquidSVM": table.ratios("ratio")}, "liquidSVM: times as long as ours")  # fmt: skip


def selection(text):
    (table,) = tables(section(text, "selection"))
    others = ("LogisticRegressionCV", "GridSearchCV(LinearSVC)", "GridSearchCV(SVC linear)")
    return bars(table["data"], {name: table.ratios(name) for name in others}, "times as long as FSVMCV, C only")


def accuracy(text):
    table = tables(section(text, "accuracy-all-classes"))[0]
    return ranks(table["method"], table.numbers("mean rank"), "FSVMCV (")


def first_model(text):
    table = tables(section(text, "first-model-probabilities"))[1]  # the sets on which nothing was chosen
    return ranks(table["method"], table.numbers("mean rank"), "AutoSVM")


CHARTS = {"first-model": first_model} | {
    "hinge": hinge,
    "kernels": kernels,
    "kernel-search": search,
    "selection": selection,
    "accuracy": accuracy,
}


def draw(folder):
    """Write every chart as SVG; returns the files."""
    import matplotlib

    text = RESULTS.read_text(encoding="utf-8")
    folder.mkdir(exist_ok=True)
    files = []
    with matplotlib.rc_context({"svg.hashsalt": "charts", "svg.fonttype": "path"}):
        for name, chart in CHARTS.items():
            files.append(folder / f"{name}.svg")
            chart(text).savefig(files[-1], metadata={"Date": None})
    return files


def draw_ranks(path=RESULTS.parents[1] / "docs" / "figures" / "ranks.svg"):
    """The picture of README, which is looked at where no site is built: letters stay letters, so that a test can read them."""
    import matplotlib

    with matplotlib.rc_context({"svg.hashsalt": "charts", "svg.fonttype": "none"}):
        first_model(RESULTS.read_text(encoding="utf-8")).savefig(path, metadata={"Date": None})


def setup(app):
    app.connect("config-inited", lambda app, config: draw(Path(app.srcdir) / "_generated"))
    return {"parallel_read_safe": True}


if __name__ == "__main__":
    draw_ranks()
