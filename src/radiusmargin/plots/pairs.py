"""Figures of face verification: ROC curves with a zoom, and examples of pairs, as a Matplotlib ``Figure`` without pyplot."""

from __future__ import annotations

import numpy as np

__all__ = ["plot_examples", "plot_roc"]

INK, GRID = "#1f2933", "#e4e7eb"
#: Wong's colour-blind-safe palette.
COLOURS = ("#0072b2", "#d55e00", "#009e73", "#cc79a7", "#e69f00", "#56b4e9", "#444444")
LINES = ("-", "--", "-.", ":")
GREYS, DASHES = ("#222222", "#666666", "#999999"), ("-", "--", ":", "-.", (0, (5, 1, 1, 1, 1, 1)), (0, (1, 3)))
POINTS = 800
FACE = (slice(60, 190), slice(65, 185))  # part of an aligned image of 250 x 250 pixels
ZOOM = (0.0, 0.3, 0.6, 1.0)


def plot_roc(curves, others=None, *, zoom=ZOOM):
    """Draw ROC curves, whole and zoomed into a corner: the paper's Figure 5.

    Parameters
    ----------
    curves : dict of str to RocCurve
        Objects with `fpr`, `tpr` and `equal_error_rate`.
    others : dict of str to RocCurve, optional
        Curves for comparison, drawn thin and grey.
    zoom : tuple (low FPR, high FPR, low TPR, high TPR)

    Examples
    --------
    >>> from radiusmargin.paper.faces import roc
    >>> len(plot_roc({"SVM": roc([1, 1, 0, 0], [0.9, 0.4, 0.6, 0.1])}).axes)
    2
    """
    if not curves:
        raise ValueError("curves must hold at least one ROC curve.")
    figure, (whole, corner) = _axes(2, 9.6, 4.6)
    styles = [{"color": COLOURS[i % len(COLOURS)], "ls": LINES[i // len(COLOURS) % len(LINES)], "lw": 1.5}
              for i in range(len(curves))]  # fmt: skip
    styles += [
        {"color": GREYS[i % len(GREYS)], "ls": DASHES[i % len(DASHES)], "lw": 1.0} for i in range(len(others or {}))
    ]
    for style, (name, curve) in zip(styles, {**curves, **(others or {})}.items(), strict=True):
        label = f"{name} (equal error {100 * curve.equal_error_rate:.1f} %)"
        points = np.unique(np.linspace(0, len(curve.fpr) - 1, POINTS).astype(int))  # more than a figure can resolve
        for ax in (whole, corner):
            ax.plot(curve.fpr[points], curve.tpr[points], label=label, **style)
    for ax in (whole, corner):
        ax.plot([0, 1], [1, 0], color=GRID, lw=1, zorder=0)  # equal errors
        ax.set_aspect("auto")
        ax.set_xlabel("false positive rate", fontsize=9, color=INK)
    whole.set(xlim=(0, 1), ylim=(0, 1.005))
    corner.set(xlim=zoom[:2], ylim=(zoom[2], zoom[3] + 0.005))
    corner.set_title("zoom", loc="left", fontsize=10, color=INK)
    whole.set_ylabel("true positive rate", fontsize=9, color=INK)
    whole.add_patch(_frame(zoom))
    whole.legend(frameon=False, fontsize=7, loc="lower right")
    return figure


def plot_examples(examples):
    """Draw pairs of images in rows, with the score of each pair: the paper's Figure 3.

    Parameters
    ----------
    examples : dict of str to list of (path, path, score)
        One row per name; scores are relative to the threshold, positive for "same".
    """
    import cv2

    figure = _figure(1.9 * max(map(len, examples.values())), 1.5 * len(examples))
    parts = figure.subfigures(len(examples), 1, squeeze=False)[:, 0]
    for part, (name, pairs) in zip(parts, examples.items(), strict=True):
        part.suptitle(name, fontsize=9, color=INK, x=0.01, ha="left", fontweight="bold")
        for ax, (a, b, score) in zip(part.subplots(1, len(pairs), squeeze=False)[0], pairs, strict=True):
            faces = [cv2.imread(str(path), cv2.IMREAD_GRAYSCALE)[FACE] for path in (a, b)]
            ax.imshow(np.hstack(faces), cmap="gray", vmin=0, vmax=255, interpolation="bilinear")
            ax.set_title(f"{score:+.2f}".replace("-", "−"), fontsize=8, color=INK, pad=2)
            ax.set_axis_off()
    return figure


def _figure(width, height):
    try:
        from matplotlib.figure import Figure
    except ImportError as error:
        raise ImportError("Plots need Matplotlib: pip install 'radiusmargin[experiments]'.") from error
    return Figure(figsize=(width, height), layout="constrained")


def _axes(n, width, height):
    figure = _figure(width, height)
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
