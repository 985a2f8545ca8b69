"""Figures as files."""

from __future__ import annotations

from pathlib import Path

from .._writing import open_output

__all__ = ["save_figure"]


def save_figure(figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and as SVG; the same figure gives the same files."""
    import matplotlib

    options = {"png": {"dpi": 150, "metadata": {"Software": None}}, "svg": {"metadata": {"Date": None}}}
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in options]
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "radiusmargin"}):
        for path, (kind, how) in zip(paths, options.items(), strict=True):
            with open_output(path) as stream:
                figure.savefig(stream, format=kind, facecolor="white", **how)
    return paths
