"""Figures of one model on held-out rows: ROC curve, calibration, predicted against true, importance of columns."""

from __future__ import annotations

import numpy as np
from matplotlib.figure import Figure
from sklearn.calibration import calibration_curve
from sklearn.metrics import roc_curve

from .comparison import COLOURS, GRID, INK, MUTED, new_figure

__all__ = ["plot_curves", "plot_importance", "plot_predictions"]

#: Columns that are drawn, the most important ones.
MOST_SHOWN = 15


def plot_curves(truth, scores, is_probability) -> Figure:
    """Draw the ROC curve of a binary model and, of probabilities, how often they came true.

    Parameters
    ----------
    truth : ndarray of bool
        Whether a row is of the second class.
    scores : ndarray of float
        Scores or probabilities of the second class.
    is_probability : bool
    """
    figure, axes = new_figure(6.4 if is_probability else 3.4, 3.1, ncols=1 + is_probability, squeeze=False)
    left, *right = axes.ravel()
    wrong, found, _ = roc_curve(truth, scores)
    left.plot(wrong, found, color=COLOURS[0], lw=1.8)
    left.set_xlabel("false alarms", fontsize=9, color=INK)
    left.set_ylabel("found", fontsize=9, color=INK)
    if right:
        n_bins = int(np.clip(len(truth) // 30, 3, 10))
        came_true, said = calibration_curve(truth, np.clip(scores, 0, 1), n_bins=n_bins, strategy="quantile")
        right[0].plot(said, came_true, color=COLOURS[0], marker="o", ms=5, lw=1.4, mec="white")
        right[0].set_xlabel("probability said", fontsize=9, color=INK)
        right[0].set_ylabel("came true", fontsize=9, color=INK)
    for ax in axes.ravel():
        ax.plot([0, 1], [0, 1], color=MUTED, lw=0.8, ls=(0, (3, 3)))
        ax.set_xlim(-0.02, 1.02)
        ax.set_ylim(-0.02, 1.02)
        ax.grid(color=GRID, lw=0.7)
        ax.set_aspect("equal")
    return figure


def plot_predictions(truth, predicted) -> Figure:
    """Draw the predictions of a quantity against its true values.

    Parameters
    ----------
    truth, predicted : ndarray of float
    """
    figure, ax = new_figure(4.2, 4.0)
    ax.scatter(truth, predicted, s=10, color=COLOURS[0], alpha=0.5, lw=0, rasterized=len(truth) > 1000)
    ends = [min(truth.min(), predicted.min()), max(truth.max(), predicted.max())]
    ax.plot(ends, ends, color=MUTED, lw=0.8, ls=(0, (3, 3)))
    ax.set_xlabel("true", fontsize=9, color=INK)
    ax.set_ylabel("predicted", fontsize=9, color=INK)
    ax.grid(color=GRID, lw=0.7)
    return figure


def plot_importance(falls: dict[str, float]) -> Figure:
    """Draw how much a score falls without what each column says, the largest first.

    Parameters
    ----------
    falls : dict of str to float
    """
    names = sorted(falls, key=lambda name: -falls[name])[:MOST_SHOWN]
    figure, ax = new_figure(5.4, 0.7 + 0.26 * len(names))
    places = np.arange(len(names))[::-1]
    ax.barh(places, [100 * falls[name] for name in names], color=COLOURS[0], height=0.62)
    ax.axvline(0, color=MUTED, lw=0.8)
    ax.set_yticks(places, [_short(name) for name in names])
    ax.set_xlabel("points of the score", fontsize=9, color=INK)
    ax.grid(axis="x", color=GRID, lw=0.7)
    return figure


def _short(name) -> str:
    """Shorten the name of a column for an axis; fonts have no control characters, and a dollar sign begins a formula."""
    shown = "".join(c if c.isprintable() else "�" for c in name)
    return (shown if len(shown) <= 30 else f"{shown[:29]}…").replace("$", r"\$")
