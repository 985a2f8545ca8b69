"""Figure of accuracy against the number of kernel components: the paper's Figure 2."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING, Any, Self

import numpy as np

from .._types import ArrayLike, Data
from ..estimators import DimensionPath, KernelMap, kernel_dimension_path
from ._matplotlib import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


class DimensionPathDisplay:
    """Mean score of each model over the number of components, with a band of one standard error.

    Parameters
    ----------
    path : DimensionPath

    Attributes
    ----------
    path : DimensionPath
    ax_, figure_ : the Matplotlib objects, once drawn
    lines_ : list of Line2D
        One per model.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.estimators import DimensionPath
    >>> path = DimensionPath(np.array([1, 10]), ("FSVM",), np.array([[[0.7, 0.8], [0.9, 0.9]]]))
    >>> DimensionPathDisplay(path).path.best
    {'FSVM': 10}
    """

    def __init__(self, path: DimensionPath):
        self.path = path

    @classmethod
    def from_result(cls, path: DimensionPath, *, ax: Axes | None = None) -> Self:
        """Draw the result of `kernel_dimension_path`."""
        return cls(path).plot(ax=ax)

    @classmethod
    def from_estimators(
        cls,
        estimators: dict | BaseEstimator,
        X: Data,
        y: ArrayLike,
        dimensions: ArrayLike,
        *,
        kernel_map: KernelMap | None = None,
        cv: Any = 5,
        scoring: str | Callable | None = None,
        ax: Axes | None = None,
    ) -> Self:
        """Compute the path of one model, or of a dict of named models, and draw it."""
        path = kernel_dimension_path(estimators, X, y, dimensions, kernel_map=kernel_map, cv=cv, scoring=scoring)
        return cls(path).plot(ax=ax)

    def plot(self, *, ax: Axes | None = None) -> Self:
        """Draw on `ax`, or on a new figure."""
        if ax is None:
            _, ax = pyplot().subplots(layout="constrained")
        path, self.lines_ = self.path, []
        for name, mean, error in zip(path.names, path.mean, path.standard_error, strict=True):
            (line,) = ax.plot(path.dimensions, mean, marker="o", markersize=4, label=name)
            ax.fill_between(
                path.dimensions, mean - error, mean + error, color=line.get_color(), alpha=0.15, linewidth=0
            )
            self.lines_.append(line)
        if path.dimensions[-1] > 10 * path.dimensions[0]:
            ax.set_xscale("log")
        ax.set_xlabel("kernel components")
        ax.set_ylabel(path.scoring)
        if len(path.names) > 1:
            ax.legend(frameon=False)
        ax.margins(y=0.1)
        self.ax_, self.figure_ = ax, ax.figure
        return self

    def table(self) -> np.ndarray:
        """Return the mean scores as an array with the dimensions in its first column."""
        return np.column_stack([self.path.dimensions, self.path.mean.T])
