"""The page: sections of text, tables and figures in one file that needs no network."""

from __future__ import annotations

import base64
import io
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup

__all__ = ["Section", "figure_uri", "render_report"]


@dataclass(frozen=True)
class Section:
    """A heading, some words, and a table or a figure.

    Attributes
    ----------
    title, text : str
        Plain text; the text may be empty.
    table : str
        HTML of a table, or empty.
    figure : matplotlib.figure.Figure or None
    alt : str
        What the figure shows, for those who do not see it.
    """

    title: str
    text: str = ""
    table: str = ""
    figure: object = None
    alt: str = ""

    @property
    def anchor(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())

    @property
    def image(self) -> str:
        return "" if self.figure is None else figure_uri(self.figure)

    @property
    def markup(self) -> Markup:
        return Markup(self.table)


def figure_uri(figure) -> str:
    """A figure as a data URI of an SVG, with its letters drawn as paths."""
    import matplotlib

    stream = io.BytesIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": "radiusmargin"}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    return "data:image/svg+xml;base64," + base64.b64encode(stream.getvalue()).decode("ascii")


def render_report(
    title: str,
    *,
    subtitle: str = "",
    facts: list[tuple[str, str]] = (),
    findings: list[str] = (),
    sections: list[Section] = (),
    footer: list[str] = (),
) -> str:
    """The page as a string.

    Parameters
    ----------
    title, subtitle : str
    facts : list of (value, label)
        Large numbers at the head of the page.
    findings : list of str
        The reading of the results, a sentence each.
    sections : list of Section
    footer : list of str
        Provenance, a line each.
    """
    folder = resources.files(__package__)
    template = folder.joinpath("page.html.j2").read_text(encoding="utf-8")
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    return environment.from_string(template).render(
        title=title, subtitle=subtitle, facts=facts, findings=findings, sections=sections, footer=footer,
        style=Markup(style),
    )  # fmt: skip
