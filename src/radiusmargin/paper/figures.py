"""Tables and figures as they are shown: made of an experiment or by themselves, written to files.

An item that needs no cells (the sizes of Table 1, the picture of Figure 1, the maps) is a function here.
"""

from __future__ import annotations

import warnings
from dataclasses import dataclass, field
from pathlib import Path

import numpy as np
from sklearn.exceptions import ConvergenceWarning
from sklearn.preprocessing import StandardScaler

from ..estimators import FSVM, SemiWhitening
from . import outputs
from .captions import single_facts
from .data.loaders import load
from .data.registry import get_dataset
from .neighbours import maps
from .printed import PAPER_ROWS, paper_sizes
from .summary import Summary
from .tables import Table, TableCell
from .workflow import Outcome

__all__ = ["PICTURES", "ReportItem", "figure1", "from_outcome", "map_figure", "save_figures", "table1"]


@dataclass(frozen=True, eq=False)
class ReportItem:
    """A table, figures by name, or both."""

    title: str
    table: Table | None = None
    figures: dict = field(default_factory=dict)
    text: str = ""
    summary: Summary | None = None


def from_outcome(outcome: Outcome) -> ReportItem:
    """The table of an experiment, and its figure where it has one."""
    table, figure = outputs.main_table(outcome), outputs.main_figure(outcome)
    figures = {} if figure is None else {outcome.spec.name: figure}
    return ReportItem(table.title, table, figures, summary=outcome.summary)


def table1() -> ReportItem:
    """The paper's Table 1: sizes of the sets as printed, and as found at UCI and in the IDA collection."""
    rows, data = [], []
    for row, printed in paper_sizes().items():
        names = [name for name, known in PAPER_ROWS.items() if known == row]
        found = {name.partition("/")[0]: get_dataset(name) for name in names}
        sizes = [_size(printed["samples"], printed["attributes"], printed["classes"])]
        sizes += [_size(found[g].n_samples, found[g].n_features, found[g].n_classes) for g in ("uci", "ida")]
        rows.append([TableCell(row), *map(TableCell, sizes)])
        data.append({"set": row, **dict(zip(("paper", "uci", "ida"), sizes, strict=True))})
    notes = (
        "Rows x features, classes. Features of the UCI sets are counted after one-hot encoding.",
        "The accuracies of the paper's Tables 2 and 4 fit the binary sets of IDA.",
        "The solar flares of the paper are the 144 different rows of IDA's 1,066.",
    )
    title, header = "Table 1: the sets", ("set", "paper", "UCI", "IDA")
    return ReportItem(title, Table(title, header, rows, notes, data, facts=single_facts()))


def _size(rows, features, classes) -> str:
    return f"{rows:,} x {features}, {classes}"


def figure1(dataset="sklearn/breast_cancer", C=0.1, eta=1.0, rounds=(1, 10)) -> ReportItem:
    """The paper's Figure 1 on data: the semi-whitened start, turns of M and (w, b), and the optimum that they lead towards."""
    from ..plots.transformation import plot_margins

    X, y = _standardised(dataset)
    views = {"SVM, standardised features": _views(FSVM(C=C, whitening=0.0), X, y)["before"]}
    views |= {"semi-whitened start": _start(C, X, y)}
    views |= {_turns(n): _after_rounds(n, C, X, y) for n in rounds}
    views |= {f"F-SVM, eta = {eta:g}": _views(FSVM(C=C, eta=eta), X, y)["after"]}
    views |= {"F-SVM": _views(FSVM(C=C), X, y)["after"]}
    title = f"Figure 1: radius and margin on {dataset}"
    header = ("metric of", "radius", "margin", "squared ratio")
    rows, data = [], []
    for name, view in views.items():
        ratio = (view["radius"] / view["margin"]) ** 2
        rows.append([TableCell(name), *(TableCell(f"{v:.4g}") for v in (view["radius"], view["margin"], ratio))])
        data.append({"metric": name, "radius": view["radius"], "margin": view["margin"], "ratio": ratio})
    notes = (
        f"C = {C:g}. The plane of a picture is spanned by the normal of the separator and the largest spread across it.",
        'A turn is the SVM in the metric M, then projected gradient steps on M (`solver="projected-gradient"`; as printed the'
        " steps make M singular). The start is M proportional to the inverse root of the scatter, with its SVM.",
        "The metric of F-SVM itself has rank one: nothing is left across the separator.",
    )
    table = Table(title, header, rows, notes, data, facts=single_facts())
    return ReportItem(title, table, {"figure1": plot_margins(views)})


def _start(C, X, y):
    """The SVM in the semi-whitened metric, scaled to the constraint tr(MS) = n of F-SVM."""
    Z = SemiWhitening().fit_transform(X)
    Z /= np.sqrt(Z.var(axis=0).sum())
    return _views(FSVM(C=C, whitening=-1.0), Z, y)["before"]


def _turns(n) -> str:
    return "after one turn" if n == 1 else f"after {n} turns"


def _after_rounds(n, C, X, y):
    """Fit by a number of rounds of F-SVM's alternation, which need not reach the optimum."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        return _views(FSVM(C=C, solver="projected-gradient", max_iter=n), X, y)["after"]


def map_figure(dataset="sklearn/wine") -> ReportItem:
    """Every transformation as a map in two dimensions."""
    from ..plots.transformation import plot_maps

    X, y = _standardised(dataset)
    title = f"Maps of {dataset}"
    return ReportItem(title, None, {"maps": plot_maps(maps(X, y), y)}, "Every transformation at its default.")


def _standardised(dataset):
    task = load(dataset)
    return StandardScaler().fit_transform(task.X), task.y


def _views(model, X, y):
    from ..plots.metric import margin_views

    return margin_views(model.fit(X, y), X, y)


#: What is made without cells, by the name to call it with.
PICTURES = {"table1": table1, "figure1": figure1, "map-figure": map_figure}


def save_figures(item: ReportItem, folder: Path) -> list[Path]:
    """Every figure as PNG and as SVG."""
    from ..plots.files import save_figure

    return [path for name, figure in item.figures.items() for path in save_figure(figure, folder / name)]
