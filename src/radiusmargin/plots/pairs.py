"""Figures of verification: ROC curves with a zoom, and accuracy against the dimension of PCA.

The functions take plain numbers and return a Matplotlib ``Figure`` without pyplot.
"""

from __future__ import annotations

import numpy as np

__all__ = ["plot_roc", "plot_verification_dimensions"]

INK, GRID = "#1f2933", "#e4e7eb"
#: Wong's palette, which readers with colour-blindness can tell apart.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
LINES = ("-", "--", "-.", ":")
MARKERS = "osD^vP*"
ZOOM = (0.0, 0.3, 0.6, 1.0)


def plot_roc(curves, *, zoom=ZOOM):
    """ROC curves, whole and, beside it, the corner that matters: the paper's Figure 5.

    Parameters
    ----------
    curves : dict of str to RocCurve
        Anything with `fpr`, `tpr` and `equal_error_rate`.
    zoom : tuple (low FPR, high FPR, low TPR, high TPR)

    Examples
    --------
    >>> from radiusmargin.pairs import roc
    >>> len(plot_roc({"SVM": roc([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1])}).axes)
    2
    """
    if not curves:
        raise ValueError("curves must hold at least one ROC curve.")
    figure, (whole, corner) = _axes(2, 9.6, 4.6)
    for number, (name, curve) in enumerate(curves.items()):
        look = {"color": COLOURS[number % len(COLOURS)], "ls": LINES[number // len(COLOURS) % len(LINES)], "lw": 1.5}
        label = f"{name} (equal error {100 * curve.equal_error_rate:.1f} %)"
        for ax in (whole, corner):
            ax.plot(curve.fpr, curve.tpr, label=label, **look)
    for ax in (whole, corner):
        ax.plot([0, 1], [1, 0], color=GRID, lw=1, zorder=0)  # equal errors
        ax.set_aspect("auto")
        ax.set_xlabel("false positive rate", fontsize=9, color=INK)
    whole.set(xlim=(0, 1), ylim=(0, 1.005))
    corner.set(xlim=zoom[:2], ylim=(zoom[2], zoom[3] + 0.005))
    corner.set_title("zoom", loc="left", fontsize=10, color=INK)
    whole.set_ylabel("true positive rate", fontsize=9, color=INK)
    whole.add_patch(_frame(zoom))
    whole.legend(frameon=False, fontsize=8, loc="lower right")
    return figure


def plot_verification_dimensions(points):
    """Accuracy against the dimension of PCA, a panel for each kind of features: the paper's Figure 4.

    Parameters
    ----------
    points : sequence of (kind, model, dimension, accuracy in %, standard error)

    Examples
    --------
    >>> len(plot_verification_dimensions([("attribute", "SVM", 10, 70.0, 1.0), ("combined", "SVM", 50, 75.0, 1.0)]).axes)
    2
    """
    kinds = list(dict.fromkeys(point[0] for point in points))
    models = list(dict.fromkeys(point[1] for point in points))
    if not kinds:
        raise ValueError("points must not be empty.")
    figure, axes = _axes(len(kinds), 4.8 * len(kinds), 3.6)
    for kind, ax in zip(kinds, axes, strict=True):
        for number, model in enumerate(models):
            mine = np.array(sorted(point[2:] for point in points if point[:2] == (kind, model))).reshape(-1, 3)
            ax.errorbar(
                *mine[:, :2].T, yerr=mine[:, 2], color=COLOURS[number % len(COLOURS)], ms=5, lw=1.4, capsize=2,
                marker=MARKERS[number % len(MARKERS)], label=model,
            )  # fmt: skip
        ax.set_title(kind, loc="left", fontsize=10, color=INK, fontweight="bold")
        ax.set_xlabel("dimension of PCA", fontsize=9, color=INK)
    axes[0].set_ylabel("accuracy (%)", fontsize=9, color=INK)
    axes[0].legend(frameon=False, fontsize=9)
    return figure


def _axes(n, width, height):
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Plots need Matplotlib: pip install 'radiusmargin[experiments]'.") from error
    figure = Figure(figsize=(width, height), layout="constrained")
    axes = figure.subplots(1, n, squeeze=False)[0]
    for ax in axes:
        ax.grid(color=GRID, lw=0.7)
        ax.spines[["top", "right"]].set_visible(False)
        ax.tick_params(colors=INK, length=0, labelsize=9)
        ax.set_axisbelow(True)
    return figure, axes


def _frame(zoom):
    from matplotlib.patches import Rectangle

    low, high, bottom, top = zoom
    return Rectangle((low, bottom), high - low, top - bottom, fill=False, color=INK, lw=0.6, ls=(0, (3, 3)))
