"""The page: sections of text, tables and figures in one file that needs no network.

Figures are vector graphics inside the page, so that their ink, grid and paper are those of the page, by day and by night.
"""

from __future__ import annotations

import io
import re
from dataclasses import dataclass
from importlib import resources

from jinja2 import Environment, StrictUndefined
from markupsafe import Markup, escape

__all__ = ["Section", "figure_svg", "render_report"]

#: Colours of the figures that are the page's to choose.
COLOURS = {"#1f2933": "--ink", "#7b8794": "--muted", "#e4e7eb": "--line", "#ffffff": "--paper", "#0072b2": "--accent"}


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
    folded : bool
        Whether it is for specialists, and opens on a click.
    """

    title: str
    text: str = ""
    table: str = ""
    figure: object = None
    alt: str = ""
    folded: bool = False

    @property
    def anchor(self) -> str:
        return "".join(c if c.isalnum() else "-" for c in self.title.lower())

    @property
    def image(self) -> Markup:
        return Markup("" if self.figure is None else figure_svg(self.figure, self.alt or self.title))

    @property
    def width(self) -> int:
        """Of the figure, in pixels of its own size: below two thirds of that its letters are too small."""
        return round(96 * self.figure.get_figwidth())

    @property
    def markup(self) -> Markup:
        return Markup(self.table)


def figure_svg(figure, alt: str) -> str:
    """A figure as an SVG element, with its letters drawn as paths and its colours those of the page."""
    import matplotlib

    stream = io.StringIO()
    with matplotlib.rc_context({"svg.fonttype": "path", "svg.hashsalt": alt}):
        figure.savefig(stream, format="svg", metadata={"Date": None})
    svg = re.sub(r"<metadata>.*?</metadata>", "", stream.getvalue(), flags=re.DOTALL)
    svg = re.sub(r' xmlns(:\w+)?="[^"]*"', "", svg[svg.index("<svg") :])  # a page needs no names of namespaces
    for colour, name in COLOURS.items():
        svg = svg.replace(colour, f"var({name})")
    # Letters have no colour of their own where they are black.
    svg = svg.replace("<svg ", f'<svg role="img" aria-label="{escape(alt)}" fill="currentColor" ', 1)
    return re.sub(r' (width|height)="[\d.]+pt"', "", svg, count=2)


def render_report(
    title: str,
    *,
    subtitle: str = "",
    facts: list[tuple[str, str]] = (),
    advice: list[str] = (),
    findings: list[str] = (),
    picture: Section | None = None,
    sections: list[Section] = (),
    footer: list[str] = (),
) -> str:
    """The page as a string.

    Parameters
    ----------
    title, subtitle : str
    facts : list of (value, label)
        Large numbers at the head of the page.
    advice : list of str
        What to do about it, a sentence each, before everything else.
    findings : list of str
        The reading of the results, a sentence each.
    picture : Section, optional
        The one that goes with the advice.
    sections : list of Section
    footer : list of str
        Provenance, a line each.
    """
    folder = resources.files(__package__)
    template = folder.joinpath("page.html.j2").read_text(encoding="utf-8")
    style = folder.joinpath("style.css").read_text(encoding="utf-8")
    environment = Environment(autoescape=True, undefined=StrictUndefined, trim_blocks=True, lstrip_blocks=True)
    environment.globals["style"] = Markup(style)
    return environment.from_string(template).render(
        title=title, subtitle=subtitle, facts=facts, advice=advice, findings=findings, picture=picture, sections=sections, footer=footer,
    )  # fmt: skip
