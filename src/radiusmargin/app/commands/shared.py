"""What the commands share: lists of names, the progress bar, tables in the terminal."""

from __future__ import annotations

import json
import os
import re
import sys
import time
from contextlib import contextmanager
from functools import wraps

import click
from click.shell_completion import CompletionItem
from rich.console import Console
from rich.progress import (
    BarColumn,
    MofNCompleteColumn,
    Progress,
    TextColumn,
    TimeElapsedColumn,
    TimeRemainingColumn,
)
from rich.segment import Segment
from rich.table import Table as RichTable
from rich.text import Text

__all__ = [
    "LEARNING",
    "READING",
    "Models",
    "Names",
    "console",
    "default_jobs",
    "printable",
    "progress_bar",
    "reading_facts",
    "reading_options",
    "refuse_inputs",
    "refuse_other_suffix",
    "show_json",
    "show_table",
]

#: Seconds between lines about the progress where there is no terminal to draw a bar on.
LINE_SECONDS = 10.0


#: What a terminal obeys rather than shows: escape sequences and control characters; and what no file can hold as text.
CONTROLS = re.compile("\x1b\\[[0-?]*[ -/]*[@-~]|[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff]")


def printable(text: str) -> str:
    """Take escape sequences and control characters out of a text: names in a stranger's file may hold them.

    >>> printable("\\x1b[31mred\\x07 alert\\n")
    'red alert\\n'
    """
    return CONTROLS.sub("", text)


class _Terminal(Console):
    """A console whose texts hold no escape sequences but those of their styles."""

    def render(self, renderable, options=None):
        for segment in super().render(renderable, options):
            yield segment if segment.control else Segment(printable(segment.text), segment.style)


def console(stderr=False, **options) -> Console:
    """The terminal; as wide as is needed where the output goes to a file."""
    wide = None if os.isatty(2 if stderr else 1) else 400
    return _Terminal(stderr=stderr, highlight=False, width=wide, **options)


def show_json(document) -> None:
    """Print JSON, with characters that a terminal obeys escaped."""
    text = json.dumps(document, indent=1, ensure_ascii=False)
    click.echo(CONTROLS.sub(lambda found: json.dumps(found[0])[1:-1], text))


class Names(click.ParamType):
    """Names separated by commas.

    >>> Names().convert("svm, fsvm", None, None)
    ('svm', 'fsvm')
    """

    name = "a,b,…"

    def convert(self, value, param, context):
        if isinstance(value, tuple):
            return value
        return tuple(part.strip() for part in value.split(",") if part.strip())


class Models(Names):
    """Names of models; a shell completes the last of them."""

    def shell_complete(self, context, param, incomplete):
        from ...paper.catalogue import known_models

        done, comma, last = incomplete.rpartition(",")
        names = ["all", "paper", *known_models()]
        return [CompletionItem(done + comma + name) for name in names if name.startswith(last)]


#: Options of how a file is read, of every command that takes a table.
READING = (
    click.option("--missing", type=Names(), default=(), help="Words that stand for a missing value."),
    click.option(
        "--numbers", type=Names(), default=(), help="Columns of numbers: whatever is not one in them is missing."
    ),
    click.option("--sep", help="What separates columns: ';' or tab, for instance.  [default: found out]"),
    click.option("--decimal", type=click.Choice([".", ","]), help="Decimal mark of numbers.  [default: found out]"),
    click.option("--thousands", help="Separator of thousands in numbers.  [default: found out]"),
    click.option(
        "--header/--no-header", default=None, help="Whether the first line names columns.  [default: found out]"
    ),
    click.option("--sheet", help="Sheet of a spreadsheet.  [default: the first]"),
)

#: Options that decide what of a table is learnt from.
LEARNING = (
    click.option(
        "--target",
        help="Column with the labels, by name or position. By default target, class, label or y, else the last.",
    ),
    click.option(
        "--categories", type=Names(), default=(), help="Columns that are categories, though they look like numbers."
    ),
    click.option("--drop", type=Names(), default=(), help="Columns to leave out."),
    click.option(
        "--groups", help="Column of what has several rows, such as patients: these stay on one side of a split."
    ),
    click.option("--time-order", help="Column by which rows are ordered: models are tested on later rows."),
    click.option("--date-format", help="Format of dates that fit several, such as %d/%m/%Y.  [default: found out]"),
)


def reading_options(options):
    """Decorator that adds options of how a table is read; the command takes them as one dictionary, `reading`."""

    def added(command):
        @wraps(command)
        def gathered(**given):
            reading = {name: given.pop(name) for name in names}
            return command(reading=reading, **given)

        for option in reversed(options):
            gathered = option(gathered)
        names = [parameter.name for parameter in gathered.__click_params__[-len(options) :]]
        return gathered

    return added


def refuse_inputs(outputs, inputs) -> None:
    """Raise a usage error if an output is one of the files that the command reads."""
    for output in filter(None, outputs):
        for given in filter(None, inputs):
            if os.path.exists(output) and os.path.exists(given) and os.path.samefile(output, given):
                raise click.UsageError(f"{output} is read by this command, and is not written over")


def refuse_other_suffix(path) -> None:
    """Raise a usage error unless a model file is named as one: what reads .pkl or .csv does not read it."""
    if path is not None and path.suffix not in (".skops", ""):
        raise click.UsageError(f"a model file is one of skops: name it {path.with_suffix('.skops')}, not {path}")


def reading_facts(reading) -> dict:
    """Return the options of reading that a model file keeps."""
    return {"missing": list(reading["missing"]), "target": str(reading["target"] or "")}


def default_jobs() -> int:
    """Every core that this process may use."""
    from ...paper.captions import usable_cores

    return usable_cores()


@contextmanager
def progress_bar(title):
    """A bar that counts cells, or a line now and then; hand what it yields to ``run_experiment(progress=...)``."""
    if not sys.stderr.isatty():
        yield lambda total: _lines(title, total)
        return
    columns = (
        TextColumn("{task.description}"), BarColumn(bar_width=30), MofNCompleteColumn(), TimeElapsedColumn(),
        TimeRemainingColumn(), TextColumn("{task.fields[last]}", style="dim", markup=False),
    )  # fmt: skip
    with Progress(*columns, console=console(stderr=True), transient=True) as bar:

        def begin(total):
            job = bar.add_task(title, total=total, last="")

            def step(record):
                cell = record["cell"]
                failed = "" if record["status"] == "ok" else " failed"
                bar.update(job, advance=1, last=f"{cell['dataset']} {cell['model']}{failed}")

            return step

        yield begin


def _lines(title, total):
    """Progress without a terminal: how much is done, and how long the rest will take at this rate."""
    began = told = time.monotonic()
    n_done = 0

    def step(record):
        nonlocal n_done, told
        n_done += 1
        now = time.monotonic()
        if now - told >= LINE_SECONDS:
            told = now
            left = (now - began) * (total - n_done) / n_done
            click.echo(f"{title}: {n_done} of {total}, about {left:.0f} s left", err=True)

    return step


def show_table(table, out: Console, max_notes: int | None = None) -> None:
    """A table of ours in the terminal."""
    shown = RichTable(
        title=table.title, title_justify="left", title_style="bold", box=None, pad_edge=False, padding=(0, 1)
    )
    for number, name in enumerate(table.header):
        shown.add_column(Text(name), justify="left" if number == 0 else "right", header_style="bold dim")
    for number, row in enumerate(table.rows):
        if table.rule_before is not None and number == table.rule_before - 1:
            shown.add_row(*map(_rich_cell, row), end_section=True)
        else:
            shown.add_row(*map(_rich_cell, row))
    out.print(shown)
    if table.facts:
        out.print(Text(table.caption, style="italic"))
    for note in table.notes[:max_notes]:
        out.print(Text(f"· {note}", style="dim"))


def _rich_cell(cell) -> Text:
    text = Text(cell.text, style="bold" if cell.best else "")
    if cell.mark:
        text.append(f" {cell.mark}", style="green" if cell.mark == "▲" else "red")
    if cell.small:
        text.append(f" {cell.small}", style="dim")
    return text
