"""Figures of regularisation paths and cross-validation curves."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np

from ._matplotlib import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from ..search import FSVMCV, FSVMPath


class PathDisplay:
    """Coefficients and number of support vectors along C.

    Parameters
    ----------
    path : FSVMPath
    column : int, default=0
        Index of the binary problem.
    """

    def __init__(self, path: FSVMPath, column: int = 0):
        self.path, self.column = path, column

    @classmethod
    def from_path(cls, path: FSVMPath, *, column: int = 0, axes: Sequence[Axes] | None = None) -> Self:
        """Draw an `FSVMPath`; `column` is the index of a binary problem."""
        return cls(path, column).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        if axes is None:
            _, axes = pyplot().subplots(1, 2, figsize=(10, 4), layout="constrained")
        order = np.argsort(self.path.Cs)
        Cs = self.path.Cs[order]
        axes[0].semilogx(Cs, self.path.coef[order, self.column])
        axes[0].set(xlabel="C", ylabel="coefficient", title=self.path.problems[self.column])
        axes[1].semilogx(Cs, self.path.n_support[order, self.column])
        axes[1].set(xlabel="C", ylabel="support vectors", title="number of support vectors")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


class CVDisplay:
    """Score against C, one curve per whitening exponent, with a band of one standard error around the best curve.

    Parameters
    ----------
    results : dict
        ``cv_results_`` of an `FSVMCV`.
    best_params : dict
        Its ``best_params_``.
    """

    def __init__(self, results: dict, best_params: dict):
        self.results, self.best_params = results, best_params

    @classmethod
    def from_estimator(cls, estimator: FSVMCV, *, ax: Axes | None = None) -> Self:
        """Draw a fitted `FSVMCV`, with all other parameters at their best values."""
        return cls(estimator.cv_results_, estimator.best_params_).plot(ax)

    def plot(self, ax: Axes | None = None) -> Self:
        if ax is None:
            _, ax = pyplot().subplots(figsize=(6, 4), layout="constrained")
        others = {k: v for k, v in self.best_params.items() if k not in ("C", "whitening")}
        splits = np.column_stack([v for k, v in self.results.items() if k.startswith("split")])
        error = splits.std(axis=1, ddof=1) / np.sqrt(splits.shape[1]) if splits.shape[1] > 1 else np.zeros(len(splits))
        params = self.results["params"]
        rows = np.array([all(p[k] == v for k, v in others.items()) for p in params])
        for p in sorted({q["whitening"] for q in params}):
            curve = np.flatnonzero(rows & np.array([q["whitening"] == p for q in params]))
            curve = curve[np.argsort([params[i]["C"] for i in curve])]
            Cs, mean = [params[i]["C"] for i in curve], self.results["mean_test_score"][curve]
            (line,) = ax.semilogx(Cs, mean, marker=".", label=f"whitening {p:g}")
            if p == self.best_params["whitening"]:
                ax.fill_between(Cs, mean - error[curve], mean + error[curve], color=line.get_color(), alpha=0.2)
        ax.axvline(self.best_params["C"], color="black", linewidth=0.8, linestyle="--")
        ax.set(xlabel="C", ylabel="cross-validated score (the best of many is too high)")
        ax.legend()
        self.ax_, self.figure_ = ax, ax.figure
        return self
