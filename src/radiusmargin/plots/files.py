"""Write figures to files."""

from __future__ import annotations

from pathlib import Path

from .._writing import open_output

__all__ = ["save_figure"]


def save_figure(figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and as SVG; equal figures give equal files."""
    import matplotlib

    options = {"png": {"dpi": 150, "metadata": {"Software": None}}, "svg": {"metadata": {"Date": None}}}
    paths = [stem.with_name(f"{stem.name}.{suffix}") for suffix in options]
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "radiusmargin"}):
        for path, (suffix, own) in zip(paths, options.items(), strict=True):
            with open_output(path) as stream:
                figure.savefig(stream, format=suffix, facecolor="white", **own)
    return paths
