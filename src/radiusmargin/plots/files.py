"""Figures as files."""

from __future__ import annotations

from pathlib import Path

__all__ = ["save_figure"]


def save_figure(figure, stem: Path) -> list[Path]:
    """Write a figure as PNG and as SVG; the same figure gives the same files."""
    import matplotlib

    stem.parent.mkdir(parents=True, exist_ok=True)
    paths = [stem.with_name(f"{stem.name}.{kind}") for kind in ("png", "svg")]
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "radiusmargin"}):
        figure.savefig(paths[0], dpi=150, facecolor="white", metadata={"Software": None})
        figure.savefig(paths[1], facecolor="white", metadata={"Date": None})
    return paths
