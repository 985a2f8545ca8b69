"""Figures of a comparison: accuracies, ranks, times, radius and margin, spectra, kernel components.

Most functions take a :class:`radiusmargin.paper.Summary`. They return a Matplotlib ``Figure`` without pyplot, so that they can be
called from any thread.
"""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from .kernels import KindsDisplay

__all__ = [
    "new_figure",
    "plot_accuracy",
    "plot_critical_difference",
    "plot_dimensions",
    "plot_radius_margin",
    "plot_search",
    "plot_spectrum",
    "plot_time",
    "short_name",
]

INK, MUTED, GRID = "#1f2933", "#7b8794", "#e4e7eb"
#: Wong's colour-blind-safe palette, and further colours.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#9467bd", "#66a61e", "#8c8c8c")
MARKERS = "osD^vP*X<>hp"
POINTS = {"ms": 5, "lw": 1.4}  # style of error bars


def short_name(dataset: str) -> str:
    """Return the name of a data set without its group.

    >>> short_name("ida/breast-cancer"), short_name("my table.csv")
    ('breast-cancer', 'my table.csv')
    """
    return dataset.partition("/")[2] or dataset


def styles(summary) -> dict[str, dict]:
    """Return colour and marker of each model, the same in all figures."""
    return {
        key: {"color": COLOURS[i % len(COLOURS)], "marker": MARKERS[i % len(MARKERS)]}
        for i, key in enumerate(summary.models)
    }


def new_figure(width, height, **options):
    """Return a figure without background, and its axes, in the style of the page."""
    figure = Figure(figsize=(width, height), layout="constrained", facecolor="none")
    axes = figure.subplots(**options)
    for ax in np.atleast_1d(axes).ravel():
        ax.set_facecolor("none")
        ax.spines[["top", "right", "left"]].set_visible(False)
        ax.spines["bottom"].set_color(MUTED)
        ax.tick_params(colors=INK, length=0, labelsize=9)
        ax.set_axisbelow(True)
    return figure, axes


def _panels(datasets, height, **options):
    """Create a figure with a titled panel for each data set, four to a line; return it and the panels by data set."""
    columns = min(len(datasets), 4)
    lines = -(-len(datasets) // columns)
    width = 5.0 if columns == 1 else 9.6  # a single panel fits a phone
    figure, axes = new_figure(width, lines * height + 0.3, nrows=lines, ncols=columns, squeeze=False, **options)
    for ax in axes.ravel()[len(datasets) :]:
        ax.set_visible(False)
    panels = dict(zip(datasets, axes.ravel(), strict=False))
    for dataset, ax in panels.items():
        ax.set_title(short_name(dataset), fontsize=10, color=INK, loc="left", fontweight="bold")
    return figure, panels


def plot_accuracy(summary) -> Figure:
    """Draw the accuracy of every model with 95 % intervals, one panel per data set; of a single one the best on top."""
    style = styles(summary)
    figure, panels = _panels(summary.datasets, 0.5 + 0.23 * len(summary.models), sharey=True)
    places = np.array([len(summary.models) - 1 - summary.ranking.index(key) for key in summary.models])
    for dataset, ax in panels.items():
        _accuracy_panel(ax, summary, dataset, places, style)
        ax.set_yticks(places, [summary.names[key] for key in summary.models])
    return figure


def _accuracy_panel(ax, summary, dataset, places, style):
    baseline = summary.entry(dataset, summary.baseline).mean
    if np.isfinite(baseline):
        ax.axvline(summary.metric.shown(baseline), color=MUTED, lw=0.8, ls=(0, (3, 3)))
    for place, key in zip(places, summary.models, strict=True):
        entry = summary.entry(dataset, key)
        if not entry.values:
            centred = {"transform": ax.get_yaxis_transform(), "ha": "center", "va": "center"}
            ax.text(0.5, place, "failed", **centred, fontsize=8, color=MUTED)
            continue
        scale, mean = summary.metric.scale, summary.metric.shown(entry.mean)
        error = 1.96 * scale * entry.standard_error if np.isfinite(entry.standard_error) else 0.0
        signed = summary.metric.key in ("mcc", "r2")  # they may be negative
        bars = [[error if signed else min(error, mean)], [min(error, 100 - mean) if scale == 100 else error]]
        ax.errorbar(mean, place, xerr=bars, ls="", **style[key], **POINTS, mec="white", mew=0.4)
    ax.grid(axis="x", color=GRID, lw=0.7)
    ax.set_ylim(-0.7, len(places) - 0.3)
    ax.xaxis.set_major_locator(_few_ticks())


def _log_scale(ax, values):
    """Set a logarithmic x-axis over the values, with labels that do not overlap."""
    from matplotlib.ticker import FixedLocator, NullFormatter, NullLocator

    low, high = np.log10(min(values)), np.log10(max(values))
    ax.set_xscale("log")
    if high - low > 1.5:
        step = max(1, int(np.ceil((high - low) / 4)))
        ax.xaxis.set_major_locator(FixedLocator(10.0 ** np.arange(np.floor(low), np.ceil(high) + 1, step)))
    else:
        ticks = [m * 10.0**k for k in range(int(np.floor(low)), int(np.ceil(high)) + 1) for m in (1, 2, 5)]
        inside = [tick for tick in ticks if 10 ** (low - 0.05) <= tick <= 10 ** (high + 0.05)]
        ticks = inside if len(inside) > 1 else [10**low, 10**high] if high - low > 0.05 else [10**low]
        ax.xaxis.set_major_locator(FixedLocator(ticks))
        ax.xaxis.set_major_formatter(lambda value, _: f"{float(f'{value:.2g}'):g}")
    ax.xaxis.set_minor_locator(NullLocator())
    ax.xaxis.set_minor_formatter(NullFormatter())
    ax.set_xlim(10 ** (low - 0.08 * (high - low) - 0.05), 10 ** (high + 0.08 * (high - low) + 0.05))


def _few_ticks():
    from matplotlib.ticker import MaxNLocator

    return MaxNLocator(nbins=4, steps=[1, 2, 5, 10])


def plot_critical_difference(summary) -> Figure | None:
    """Draw mean ranks on a line; a bar joins models that do not differ significantly by Nemenyi's test (Demšar 2006)."""
    if summary.friedman is None:
        return None
    keys = sorted(summary.ranks, key=summary.ranks.get)
    k = len(keys)
    half = -(-k // 2)
    bars = summary.cliques
    top = 0.55 + 0.14 * len(bars)
    figure, ax = new_figure(9.6, 1.1 + 0.22 * half + 0.12 * len(bars))
    ax.spines["bottom"].set_visible(False)
    ax.set_xlim(1 - 0.9 * k / 3, k + 0.9 * k / 3)
    ax.set_ylim(-top - 0.28 * half, 0.95)
    ax.set_yticks([])
    ax.set_xticks([])
    ax.hlines(0, 1, k, color=INK, lw=1)
    for rank in range(1, k + 1):
        ax.vlines(rank, 0, 0.09, color=INK, lw=1)
        ax.text(rank, 0.15, str(rank), ha="center", va="bottom", fontsize=8.5, color=INK)
    ax.hlines(0.72, 1, 1 + summary.critical_difference, color=INK, lw=2)
    text = f"critical difference {summary.critical_difference:.2f}"
    ax.text(1 + summary.critical_difference + 0.08, 0.72, text, va="center", fontsize=8.5, color=INK)
    for number, group in enumerate(bars):
        ends = [summary.ranks[key] for key in group]
        ax.hlines(-0.16 - 0.14 * number, min(ends) - 0.04, max(ends) + 0.04, color=COLOURS[0], lw=3.2)
    _rank_labels(ax, summary, keys, half, top)
    return figure


def _rank_labels(ax, summary, keys, half, top):
    """Label the better half of the models on the left, from the top, and the others on the right, from the bottom."""
    left, right = ax.get_xlim()
    inset = 0.02 * (right - left)
    for number, key in enumerate(keys):
        on_left = number < half
        level = number if on_left else len(keys) - 1 - number
        y = -top - 0.28 * level + 0.1
        end = 1 - inset if on_left else len(keys) + inset
        ax.plot([summary.ranks[key], summary.ranks[key], end], [0, y, y], color=MUTED, lw=0.8, clip_on=False)
        weight = "bold" if key == summary.baseline else "normal"
        parts = summary.names[key], f"{summary.ranks[key]:.2f}"
        text, align, x = "  ".join(parts if on_left else parts[::-1]), "right" if on_left else "left", inset / 3
        x = end - x if on_left else end + x
        ax.text(x, y, text, ha=align, va="center", fontsize=9, color=INK, fontweight=weight)


def plot_time(summary) -> Figure | None:
    """Draw the median seconds of choosing the hyper-parameters and of one fit; None if nothing was fitted."""
    places = np.arange(len(summary.models))[::-1]
    times = {name: [_typical(summary, key, name) for key in summary.models] for name in ("fit_seconds", "tune_seconds")}
    shown = [value for values in times.values() for value in values if value > 0]
    if not shown:
        return None
    figure, ax = new_figure(6.4, 0.8 + 0.26 * len(summary.models))
    # A fit takes less time than the choice, so that its label has room on the left.
    for name, colour, label, side, align in (
        ("tune_seconds", COLOURS[4], "choosing hyper-parameters", 6, "left"),
        ("fit_seconds", COLOURS[0], "one fit", -6, "right"),
    ):
        if np.isfinite(times[name]).any():
            ax.scatter(times[name], places, color=colour, s=34, label=label, zorder=3)
        for value, place in zip(times[name], places, strict=True):
            if np.isfinite(value):
                ax.annotate(
                    _seconds(value), (value, place), (side, 0), textcoords="offset points", ha=align, va="center",
                    fontsize=8, color=MUTED,
                )  # fmt: skip
    _log_scale(ax, [min(shown) / 4, max(shown) * 4])
    ax.set_yticks(places, [summary.names[key] for key in summary.models])
    ax.set_ylim(-0.6, len(places) - 0.2)
    ax.grid(axis="x", color=GRID, lw=0.7)
    ax.set_xlabel("seconds, one thread, median (log scale)", fontsize=9, color=INK)
    figure.legend(frameon=False, fontsize=9, loc="outside upper left", ncols=2)
    return figure


def _typical(summary, model, name) -> float:
    """Return the median over the data sets of the median over the runs."""
    medians = [summary.entry(dataset, model).median(name) for dataset in summary.datasets]
    finite = [value for value in medians if np.isfinite(value)]
    return float(np.median(finite)) if finite else float("nan")


def _seconds(value) -> str:
    return f"{1000 * value:.1f} ms" if value < 0.1 else f"{value:.2g} s"


def plot_radius_margin(summary) -> Figure | None:
    """Draw squared radius over squared margin before and after the transformation, on the first splits."""
    rows = _diagnostics(summary, "before")
    if not rows:
        return None
    style = styles(summary)
    models = [key for key in summary.models if any(model == key for _, model, _ in rows)]
    figure, panels = _panels(summary.datasets, 0.5 + 0.23 * len(models), sharey=True)
    for dataset, key, found in rows:
        ax, place, colour = panels[dataset], len(models) - 1 - models.index(key), style[key]["color"]
        before = found["before"]["ratio"]
        if "after" in found:
            after = found["after"]["ratio"]
            line = {"arrowstyle": "-", "color": colour, "alpha": 0.6}
            ax.annotate("", (after, place), (before, place), arrowprops=line)
            ax.scatter(after, place, s=24, color=colour, zorder=3)
        ax.scatter(before, place, s=24, facecolor="white", edgecolor=colour, zorder=2.5)
    for dataset, ax in panels.items():
        shown = [
            part["ratio"] for d, _, p in rows if d == dataset for name, part in p.items() if name in ("before", "after")
        ]
        _log_scale(ax, [ratio for ratio in shown if 0 < ratio < np.inf] or [1.0])
        ax.grid(axis="x", color=GRID, lw=0.7)
        ax.set_ylim(-0.7, len(models) - 0.3)
        ax.set_yticks(range(len(models)), [summary.names[key] for key in reversed(models)])
    hollow = ax.scatter([], [], s=24, facecolor="white", edgecolor=INK)
    solid = ax.scatter([], [], s=24, color=INK)
    labels = ["as the features are", "after the learned transformation"]
    figure.legend([hollow, solid], labels, frameon=False, fontsize=9, loc="outside upper left", ncols=2)
    return figure


def plot_spectrum(summary) -> Figure | None:
    """Draw the eigenvalues of the learned metrics and of the data, largest first, on the first split of every data set."""
    rows = _diagnostics(summary, "spectrum")
    if not rows:
        return None
    style = styles(summary)
    figure, panels = _panels(list(dict.fromkeys(dataset for dataset, _, _ in rows)), 2.1, sharey=True)
    handles = {}
    for dataset, key, found in rows:
        ax, dashed = panels[dataset], {"color": MUTED, "marker": "", "ls": (0, (3, 2))}
        handles["data (correlations)"] = _spectrum_line(ax, found["data_spectrum"], **dashed)
        handles[summary.names[key]] = _spectrum_line(ax, found["spectrum"], **style[key])
    for ax in panels.values():
        ax.set_yscale("log")
        ax.set_ylim(1e-6, 2)
        ax.grid(color=GRID, lw=0.7)
        ax.xaxis.get_major_locator().set_params(integer=True)
    figure.legend(handles.values(), handles.keys(), frameon=False, fontsize=8.5, loc="outside upper left", ncols=5)
    return figure


def plot_search(search: dict) -> Figure:
    """Draw the scores and the averaged candidates of a search, two kernels to a line; `search` is a `search_portrait`."""
    display = KindsDisplay.of(**search)
    columns = min(len(display.panels), 2)
    lines = -(-len(display.panels) // columns)
    figure, axes = new_figure(3.6 * columns + 1.2, 2.4 * lines + 0.3, nrows=lines, ncols=columns, squeeze=False)
    for ax in axes.ravel()[len(display.panels) :]:
        ax.set_visible(False)
    display.plot(axes.ravel()[: len(display.panels)])
    for ax in display.axes_:
        ax.title.set_color(INK)
        ax.xaxis.label.set_color(INK)
        ax.yaxis.label.set_color(INK)
    bar = display.colorbar_
    bar.outline.set_visible(False)
    bar.ax.yaxis.label.set_color(INK)
    bar.ax.tick_params(colors=INK, length=0, labelsize=8)
    return figure


def _spectrum_line(ax, values, **style):
    shown = np.asarray(values)
    shown = shown[shown > 1e-6]
    style.setdefault("ls", "-")
    return ax.plot(np.arange(1, len(shown) + 1), shown, ms=4, lw=1.2, **style)[0]


def _diagnostics(summary, part):
    """Return (data set, model, diagnostics) of the runs that have a part of the diagnostics."""
    return [
        (d, m, record["portrait"])
        for d in summary.datasets
        for m in summary.models
        for record in summary.entry(d, m).records
        if part in (record.get("portrait") or {})
    ]


def plot_dimensions(records, names, *, label="kernel components") -> Figure:
    """Draw accuracy against the number of kernel components, one panel per data set: the paper's Figure 2.

    Parameters
    ----------
    records : list of dict
        Records of cells with ``n_components`` fixed.
    names : dict of str to str
        Names of the models by key.
    label : str
        Label of the x-axis.
    """
    groups: dict = {}
    for record in records:
        cell = record["cell"]
        points = groups.setdefault((cell["dataset"], cell["model"]), {})
        if record["status"] == "ok":
            points.setdefault(cell["fixed"]["n_components"], []).append(100 * record["accuracy"])
    figure, panels = _panels(list(dict.fromkeys(dataset for dataset, _ in groups)), 2.7)
    for (dataset, key), points in groups.items():
        number = list(names).index(key)
        sizes = sorted(points)
        mean, error = zip(*(_mean_error(points[k]) for k in sizes), strict=True) if sizes else ((), ())
        style = {"color": COLOURS[number], "marker": MARKERS[number], "label": names[key]}
        panels[dataset].errorbar(sizes, mean, yerr=error, **style, **POINTS, capsize=2)
    sizes = sorted({size for points in groups.values() for size in points})
    for ax in panels.values():
        _log_scale(ax, sizes or [1])
        ax.set_xticks(sizes, [str(size) for size in sizes])
        ax.set_xlabel(label, fontsize=9, color=INK)
        ax.grid(color=GRID, lw=0.7)
    handles, labels = next(iter(panels.values())).get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside upper left", ncols=4)
    next(iter(panels.values())).set_ylabel("accuracy (%)", fontsize=9, color=INK)
    return figure


def _mean_error(values):
    return np.mean(values), np.std(values, ddof=1) / np.sqrt(len(values)) if len(values) > 1 else 0.0
