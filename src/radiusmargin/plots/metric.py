"""Figures of a learned metric: margin and enclosing ball before and after, the spectrum of M, convergence of the solver."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Self

import numpy as np
from scipy import sparse

from .._types import ArrayLike
from ..geometry import minimum_enclosing_ball
from ._matplotlib import pyplot

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from sklearn.base import BaseEstimator


class MarginDisplay:
    """Data, separator, margin and minimum enclosing ball in the plane, before and after the transformation.

    The plane is spanned by the separator's normal and the direction of largest variance perpendicular to it. The separator and
    its margin appear at their true distance, and the projected ball is a circle of its true radius.

    Parameters
    ----------
    views : dict
        The views "before" and "after" the transformation, as `margin_views` returns them.
    """

    def __init__(self, views: dict[str, dict]):
        self.views = views

    @classmethod
    def from_estimator(
        cls,
        estimator: BaseEstimator,
        X: ArrayLike,
        y: ArrayLike,
        *,
        column: int = 0,
        axes: Sequence[Axes] | None = None,
    ) -> Self:
        """Draw a fitted model on the data (X, y); `column` picks one of its separators, a row of `coef_`."""
        return cls(margin_views(estimator, X, y, column=column)).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        if axes is None:
            _, axes = pyplot().subplots(1, 2, figsize=(10, 5), layout="constrained")
        for axis, (name, view) in zip(axes, self.views.items(), strict=True):
            _draw(axis, view)
            ratio = (view["radius"] / view["margin"]) ** 2
            axis.set_title(f"{name}\nradius {view['radius']:.3g}, margin {view['margin']:.3g}, ratio² {ratio:.3g}")
        self.axes_, self.figure_ = axes, axes[0].figure
        return self


def margin_views(estimator, X, y, *, column=0) -> dict[str, dict]:
    """Compute the data of `MarginDisplay`: separator and enclosing ball "before" and "after" the transformation."""
    X = _dense(estimator.features(X))
    w, b = estimator.coef_[column], estimator.intercept_[column]
    L = estimator.components_
    v = np.linalg.lstsq(L.T, w, rcond=None)[0]
    labels = estimator.decision_model.reduction.columns(np.searchsorted(estimator.classes_, y))[column]
    return {"before": _view(X, w, b, labels), "after": _view(X @ L.T, v, b, labels)}


def _view(Z, w, b, labels):
    length = np.linalg.norm(w)
    normal = w / length if length > 0 else np.eye(len(w))[0]
    rest = Z - Z.mean(axis=0)
    rest = rest - np.outer(rest @ normal, normal)
    second = np.linalg.svd(rest, full_matrices=False)[2][0] if Z.shape[1] > 1 else np.zeros_like(normal)
    ball = minimum_enclosing_ball(Z)
    plane = np.column_stack([normal, second])
    with np.errstate(divide="ignore"):
        return {
            "points": Z @ plane, "centre": ball.center @ plane, "radius": ball.radius, "labels": labels,
            "offset": -b / length if length > 0 else 0.0, "margin": np.divide(1.0, length),
        }  # fmt: skip


def _draw(axis, view):
    for label, colour, marker in ((0, "0.75", "o"), (1, "tab:blue", "o"), (-1, "tab:orange", "s")):
        points = view["points"][view["labels"] == label]
        axis.scatter(*points.T, s=12, c=colour, marker=marker, alpha=0.7, linewidths=0)
    axis.axvline(view["offset"], color="black", linewidth=1)
    for side in (-1, 1):
        axis.axvline(view["offset"] + side * view["margin"], color="black", linewidth=0.8, linestyle="--")
    circle = pyplot().Circle(view["centre"], view["radius"], fill=False, color="tab:green", linewidth=1.2)
    axis.add_patch(circle)
    reach = 1.1 * view["radius"]
    axis.set_xlim(view["centre"][0] - reach, view["centre"][0] + reach)
    axis.set_ylim(view["centre"][1] - reach, view["centre"][1] + reach)
    axis.set_aspect("equal")
    axis.set_xlabel("along the normal of the separator")
    axis.set_ylabel("largest spread across it")


class MetricDisplay:
    """Eigenvalues of the learned metric, and objective and gap from round to round.

    Parameters
    ----------
    eigenvalues : array-like
        Eigenvalues of the metric, descending.
    history : list of dict, default=()
        ``history_`` of the model.
    """

    def __init__(self, eigenvalues: ArrayLike, history: Sequence[dict] = ()):
        self.eigenvalues, self.history = np.asarray(eigenvalues), list(history)

    @classmethod
    def from_estimator(cls, estimator: BaseEstimator, *, axes: Sequence[Axes] | None = None) -> Self:
        """Draw a fitted model; convergence needs `history_` (``verbose=1`` or an iterative solver)."""
        values = np.linalg.eigvalsh(estimator.get_mahalanobis_matrix())[::-1].clip(0)
        return cls(values, getattr(estimator, "history_", ())).plot(axes)

    def plot(self, axes: Sequence[Axes] | None = None) -> Self:
        panels = 2 if self.history else 1
        if axes is None:
            _, axes = pyplot().subplots(1, panels, figsize=(4.5 * panels, 3.5), layout="constrained", squeeze=False)
            axes = axes[0]
        share = self.eigenvalues / max(self.eigenvalues.sum(), 1e-300)
        axes[0].bar(np.arange(1, len(share) + 1), share)
        axes[0].set(xlabel="direction", ylabel="share of tr M", title="spectrum of the metric")
        axes[0].xaxis.get_major_locator().set_params(integer=True)
        if self.history:
            self._plot_convergence(axes[1])
        self.axes_, self.figure_ = axes, axes[0].figure
        return self

    def _plot_convergence(self, axis):
        for column in sorted({entry.get("column", 0) for entry in self.history}):
            part = [entry for entry in self.history if entry.get("column", 0) == column]
            rounds = np.arange(1, len(part) + 1)
            best = max(entry["dual_objective"] for entry in part)
            above = [max(entry["objective"] - best, 1e-16) / abs(best) for entry in part]
            labels = ("objective above the best bound", "relative gap") if column == 0 else (None, None)
            axis.semilogy(rounds, above, color="tab:blue", label=labels[0])
            axis.semilogy(rounds, [max(entry["gap"], 1e-16) for entry in part], color="tab:orange", label=labels[1])
        axis.set(xlabel="round", title="convergence")
        axis.xaxis.get_major_locator().set_params(integer=True)
        axis.legend()


def _dense(X):
    return X.toarray() if sparse.issparse(X) else X
