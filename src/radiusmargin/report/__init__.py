"""One self-contained HTML page for an experiment."""

from .build import Section, render_report

__all__ = ["Section", "render_report"]
