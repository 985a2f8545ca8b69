"""A table once, written as Markdown, LaTeX, CSV and HTML."""

from __future__ import annotations

import csv
import html
import io
import re
from dataclasses import dataclass, field, replace
from pathlib import Path

from .._writing import write_file
from .captions import caption

__all__ = [
    "Table",
    "TableCell",
    "markdown_rows",
    "to_csv",
    "to_html",
    "to_latex",
    "to_markdown",
    "transposed",
    "write_table",
]


@dataclass(frozen=True)
class TableCell:
    """A text, whether it is the best of its row, and small print under or after it."""

    text: str
    best: bool = False
    mark: str = ""
    small: str = ""


@dataclass(frozen=True)
class Table:
    """A title, a header, rows of cells (the first of each names the row), and notes beneath.

    ``data`` is the same as plain records, for CSV; ``rule_before`` is the row where the summary begins; ``facts`` are what
    the caption is computed from, empty for a table without one.
    """

    title: str
    header: tuple[str, ...]
    rows: list[list[TableCell]]
    notes: tuple[str, ...] = ()
    data: list[dict] = field(default_factory=list)
    rule_before: int | None = None
    facts: dict = field(default_factory=dict)

    @property
    def caption(self) -> str:
        """Runs, configurations, protocol, models and version behind the table."""
        return caption(self.facts) if self.facts else ""


def transposed(table: Table, corner: str) -> Table:
    """The same table with rows and columns exchanged, ``corner`` being the head of its first column.

    >>> table = Table("T", ("set", "a"), [[TableCell("x"), TableCell("1")], [TableCell("y"), TableCell("2")]])
    >>> transposed(table, "model").header
    ('model', 'x', 'y')
    """
    names = [TableCell(name) for name in table.header[1:]]
    columns = zip(names, *(row[1:] for row in table.rows), strict=True)
    header = (corner, *(row[0].text for row in table.rows))
    return replace(table, header=header, rows=[list(column) for column in columns], rule_before=None)


def to_markdown(table: Table) -> str:
    """GitHub's kind of table, under a heading.

    >>> print(to_markdown(Table("T", ("set", "a"), [[TableCell("x"), TableCell("1", best=True, mark="▲")]])))
    ## T
    <BLANKLINE>
    | set | a |
    |---|---:|
    | x | **1** ▲ |
    <BLANKLINE>
    """
    lines = [f"## {table.title}", "", *markdown_rows(table), ""]
    lines += [f"*{table.caption}*", ""] if table.facts else []
    lines += [*(f"- {note}" for note in table.notes), *[""] * bool(table.notes)]
    return "\n".join(lines)


def markdown_rows(table: Table) -> list[str]:
    """The lines of a Markdown table, its header first."""
    head = [_pipes(table.header), "|---" + "|---:" * (len(table.header) - 1) + "|"]
    return head + [_pipes(_markdown_cell(cell) for cell in row) for row in table.rows]


def _pipes(texts):
    return "| " + " | ".join(text.replace("|", "\\|") for text in texts) + " |"


def _markdown_cell(cell):
    text = f"**{cell.text}**" if cell.best else cell.text
    return " ".join(part for part in (text, cell.mark, cell.small) if part)


_LATEX = {
    "\\": r"\textbackslash{}", "&": r"\&", "%": r"\%", "$": r"\$", "#": r"\#", "_": r"\_",
    "{": r"\{", "}": r"\}",
    "~": r"\textasciitilde{}", "^": r"\textasciicircum{}", "±": r"$\pm$", "−": "$-$",
    "▲": r"$\blacktriangle$",
    "▼": r"$\blacktriangledown$", "×": r"$\times$", "–": "--", "≥": r"$\ge$", "≤": r"$\le$", "<": r"$<$",
    ">": r"$>$", "χ": r"$\chi$", "²": "$^2$", "μ": r"$\mu$", "η": r"$\eta$", "ρ": r"$\rho$", "Σ": r"$\Sigma$",
    "λ": r"$\lambda$", "γ": r"$\gamma$", "⁺": "$^+$", "₊": "$_+$",
}  # fmt: skip


def escape_latex(text: str) -> str:
    r"""Text that LaTeX prints as it is.

    >>> print(escape_latex("R-SVM_mu+ 5 %"))
    R-SVM\_mu+ 5 \%
    """
    return "".join(_LATEX.get(character, character) for character in text)


def to_latex(table: Table) -> str:
    """A float with booktabs rules; needs the packages booktabs and amssymb."""
    columns = "l" + "r" * (len(table.header) - 1)
    caption = re.sub(r"^(Table|Figure) \d+: ", "", table.title)  # LaTeX numbers its floats itself
    lines = ["% needs booktabs and amssymb", r"\begin{table}", r"\centering\small"]
    lines += [rf"\caption{{{escape_latex(caption[:1].upper() + caption[1:])}}}"]
    lines += [
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _ampersands(map(escape_latex, table.header)),
        r"\midrule",
    ]
    for number, row in enumerate(table.rows):
        if number == table.rule_before:
            lines.append(r"\midrule")
        lines.append(_ampersands(_latex_cell(cell) for cell in row))
    lines += [r"\bottomrule", r"\end{tabular}"]
    notes = (*[table.caption] * bool(table.facts), *table.notes)
    lines += [rf"\par\smallskip\footnotesize {escape_latex(note)}" for note in notes]
    return "\n".join([*lines, r"\end{table}", ""])


def _ampersands(texts):
    return " & ".join(texts) + r" \\"


def _latex_cell(cell):
    text = escape_latex(cell.text)
    text = rf"\textbf{{{text}}}" if cell.best else text
    small = rf"{{\scriptsize {escape_latex(cell.small)}}}" if cell.small else ""
    return " ".join(part for part in (text, escape_latex(cell.mark), small) if part)


def to_csv(table: Table) -> str:
    """The plain records of the table."""
    stream = io.StringIO()
    columns = list(dict.fromkeys(name for record in table.data for name in record))
    writer = csv.DictWriter(stream, columns, lineterminator="\n")
    writer.writeheader()
    writer.writerows(table.data)
    return stream.getvalue()


def to_html(table: Table) -> str:
    """A ``<table>`` without style of its own; the report brings the style."""
    head = "".join(f"<th>{html.escape(text)}</th>" for text in table.header)
    body = []
    for number, row in enumerate(table.rows):
        rule = ' class="rule"' if number == table.rule_before else ""
        first, *rest = row
        cells = f'<th scope="row">{html.escape(first.text)}</th>' + "".join(map(_html_cell, rest))
        body.append(f"<tr{rule}>{cells}</tr>")
    notes = (*[table.caption] * bool(table.facts), *table.notes)
    notes = "".join(f"<li>{html.escape(note)}</li>" for note in notes)
    notes = f'<ul class="notes">{notes}</ul>' if notes else ""
    return (
        f'<div class="scroll"><table><thead><tr>{head}</tr></thead><tbody>{"".join(body)}</tbody></table></div>{notes}'
    )


def _html_cell(cell):
    kind = {"▲": "better", "▼": "worse"}.get(cell.mark, "")
    classes = " ".join(part for part in ("best" * cell.best, kind) if part)
    attribute = f' class="{classes}"' if classes else ""
    mark = f' <span class="mark">{cell.mark}</span>' if cell.mark else ""
    small = f"<small>{html.escape(cell.small)}</small>" if cell.small else ""
    return f"<td{attribute}>{html.escape(cell.text)}{mark}{small}</td>"


def write_table(table: Table, folder: Path, name: str) -> list[Path]:
    """A table as Markdown, LaTeX and CSV; returns the paths."""
    texts = {"md": to_markdown(table), "tex": to_latex(table), "csv": to_csv(table)}
    return [write_file(folder / f"{name}.{suffix}", text) for suffix, text in texts.items()]
