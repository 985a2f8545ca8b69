"""Figures of learned transformations: the paper's Figure 1, and maps in two dimensions."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure

from .comparison import COLOURS, INK, MARKERS, MUTED
from .metric import MarginDisplay

__all__ = ["plot_maps", "plot_margins"]


def plot_margins(views: dict[str, dict]) -> Figure:
    """Draw separator, margin and enclosing ball of several views, as `margin_views` returns them, three in a row."""
    columns, lines = min(3, len(views)), -(-len(views) // 3)
    figure = Figure(figsize=(4.2 * columns, 4.6 * lines), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns)).ravel()
    for axis in axes[len(views) :]:
        axis.set_visible(False)
    axes = axes[: len(views)]
    MarginDisplay(views).plot(axes)
    for axis in axes:
        axis.title.set_fontsize(10)
        axis.tick_params(labelsize=8)
    return figure


def plot_maps(maps: dict[str, np.ndarray], y) -> Figure:
    """Draw the points of several two-dimensional maps, coloured by class."""
    columns = min(3, len(maps))
    lines = -(-len(maps) // columns)
    figure = Figure(figsize=(3.2 * columns, 3.0 * lines + 0.3), layout="constrained")
    axes = np.atleast_1d(figure.subplots(lines, columns)).ravel()
    for axis in axes[len(maps) :]:
        axis.set_visible(False)
    classes = np.unique(y)
    for axis, (name, points) in zip(axes, maps.items(), strict=False):
        second = points[:, 1] if points.shape[1] > 1 else np.zeros(len(points))
        for k, label in enumerate(classes):
            here = y == label
            axis.plot(points[here, 0], second[here], MARKERS[k % len(MARKERS)], color=COLOURS[k % len(COLOURS)],
                      ms=4, mew=0, alpha=0.75, label=str(label))  # fmt: skip
        axis.set_title(name, fontsize=10, color=INK, loc="left", fontweight="bold")
        axis.set(xticks=[], yticks=[])
        axis.spines[:].set_color(MUTED)
    handles, labels = axes[0].get_legend_handles_labels()
    figure.legend(handles, labels, frameon=False, fontsize=9, loc="outside lower center", ncols=min(len(labels), 10))
    return figure
