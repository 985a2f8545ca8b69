"""Figure of a search over several kernels: scores, averaged candidates, and the best one."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self

import numpy as np

from ._matplotlib import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..search import FSVMCV

WIDTH, HEIGHT = 3.0, 3.2
LARGEST = 130.0  # area of the largest dot, in points squared
DOT = "#fdfdfd"  # not white, which a report replaces by the colour of its page


@dataclass(frozen=True, eq=False)
class Panel:
    """Mean scores of one kernel: a row for each value of its second parameter, a column for each C."""

    kernel: str
    axis: str
    values: list
    Cs: np.ndarray
    scores: np.ndarray

    @classmethod
    def of(cls, kernel, params, scores) -> Panel:
        axis = "whitening" if kernel == "linear" else "gamma"
        values, Cs = sorted({p[axis] for p in params}, key=_number), np.unique([p["C"] for p in params])
        table = np.full((len(values), len(Cs)), np.nan)
        for p, score in zip(params, scores, strict=True):
            cell = values.index(p[axis]), int(np.searchsorted(Cs, p["C"]))
            table[cell] = np.fmax(table[cell], score)  # the best of candidates that differ in other parameters
        return cls(kernel, axis, values, Cs, table)

    def cell(self, params):
        return int(np.searchsorted(self.Cs, params["C"])), self.values.index(params[self.axis])


def _short(value):
    """
    >>> _short(0.0254), _short(1000.0), _short("scale")
    ('0.025', '1000', 'scale')
    """
    return value if isinstance(value, str) else f"{float(f'{value:.2g}'):g}"


def _number(value):
    """Sort key of values: words such as "scale" come first."""
    return -np.inf if isinstance(value, str) else value


class KindsDisplay:
    """One panel per kernel: scores by C and gamma, or by C and whitening for the linear kernel.

    Averaged candidates are dots whose area is their weight; the best candidate is a cross.

    Parameters
    ----------
    panels : list of Panel
        Scores of each kernel.
    members : list of dict
        ``members_`` of the search.
    best : dict
        Its ``best_params_``.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from radiusmargin import AutoSVM
    >>> from radiusmargin.plots import KindsDisplay
    >>> model = AutoSVM().fit(*load_iris(return_X_y=True))
    >>> display = KindsDisplay.from_estimator(model)
    >>> [panel.kernel for panel in display.panels]
    ['linear', 'laplacian', 'laplacian-ranks', 'rbf', 'rbf-ranks']
    """

    def __init__(self, panels: list[Panel], members: list[dict], best: dict):
        self.panels, self.members, self.best = panels, members, best

    @classmethod
    def from_estimator(cls, estimator: FSVMCV, *, axes: Sequence[Axes] | None = None) -> Self:
        """Draw a fitted `AutoSVM`, or an `FSVMCV` with several kernels."""
        params, scores = estimator.cv_results_["params"], estimator.cv_results_["mean_test_score"]
        if "kernel" not in params[0]:
            raise ValueError("KindsDisplay draws searches over several kernels; CVDisplay draws this one.")
        return cls.of(params, scores, getattr(estimator, "members_", []), estimator.best_params_).plot(axes)

    @classmethod
    def of(cls, params: list[dict], scores: np.ndarray, members: list[dict], best: dict) -> KindsDisplay:
        """Build a display, not drawn yet, from parameters with their scores, the averaged candidates and the best one.

        Every dict has a "kernel", a "C", and a "whitening" or "gamma"; `members` also have a "weight".
        """
        panels = []
        for kernel in sorted({p["kernel"] for p in params}, key=lambda kernel: (kernel != "linear", kernel)):
            own = [i for i, p in enumerate(params) if p["kernel"] == kernel]
            panels.append(Panel.of(kernel, [params[i] for i in own], np.asarray(scores, dtype=float)[own]))
        return cls(panels, members, best)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        if axes is None:
            size = (WIDTH * len(self.panels) + 1, HEIGHT)
            _, axes = pyplot().subplots(1, len(self.panels), figsize=size, layout="constrained", squeeze=False)
            axes = axes[0]
        scores = np.concatenate([panel.scores.ravel() for panel in self.panels])
        low, high = np.nanpercentile(scores, 40), np.nanmax(scores)  # the differences that matter are near the top
        for ax, panel in zip(axes, self.panels, strict=True):
            rows, columns = (np.arange(size + 1) - 0.5 for size in panel.scores.shape)
            shown = np.ma.masked_invalid(panel.scores)
            image = ax.pcolormesh(columns, rows, shown, vmin=low, vmax=high, cmap="viridis")
            self._label(ax, panel)
            self._mark(ax, panel)
        self.colorbar_ = axes[0].figure.colorbar(
            image, ax=list(axes), label="cross-validated score (the best of many is too high)", extend="min"
        )
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _label(self, ax, panel):
        share = sum(m["weight"] for m in self.members if m["kernel"] == panel.kernel)
        ax.set_title(
            f"{panel.kernel}: {share:.0%} of the average" if share else f"{panel.kernel}: left out", fontsize=9
        )
        ticks = range(0, len(panel.Cs), max(1, len(panel.Cs) // 4))
        ax.set_xticks(ticks, [_short(panel.Cs[i]) for i in ticks], fontsize=8)
        ax.set_yticks(range(len(panel.values)), [_short(value) for value in panel.values], fontsize=8)
        ax.set_xlabel("C", fontsize=9)
        ax.set_ylabel(panel.axis, fontsize=9)

    def _mark(self, ax, panel):
        own = [m for m in self.members if m["kernel"] == panel.kernel]
        if own:
            x, y = np.transpose([panel.cell(m) for m in own])
            largest = max(m["weight"] for m in self.members)
            ax.scatter(
                x, y, s=[LARGEST * m["weight"] / largest for m in own], color=DOT, edgecolor="black", linewidth=0.8
            )
        if self.best["kernel"] == panel.kernel:
            ax.scatter(*panel.cell(self.best), marker="x", color="tab:red", s=60, linewidth=2)
