"""``radiusmargin predict``: labels, scores and probabilities of the rows of a table."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import click
import numpy as np

from ..._writing import check_output, write_file
from .shared import READING, printable, reading_options

__all__ = ["command"]


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The CSV file to write.  [default: the terminal]")
@reading_options(READING)
def command(model, table, output, reading):
    """Predict the rows of TABLE with the file MODEL, as CSV.

    Columns are found by name; others are ignored. The label is the model's own decision; probabilities are made of its
    scores by a logistic model, and may prefer another class where the scores are close.
    """
    from ...tables import ReadOptions
    from ...tables.read import read_rows
    from ..model_file import load_bundle

    check_output(output)
    bundle = load_bundle(model)
    reading["missing"] = (*bundle.facts.get("missing", ()), *reading["missing"])
    rows = read_rows(table, ReadOptions(**reading), bundle.facts)
    text = _csv(bundle.classes, *bundle.predict(rows))
    if output is None:
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
    else:
        write_file(output, text)
        click.echo(f"wrote {output}: {len(rows)} rows", err=True)
    return 0


def _csv(classes, labels, scores, probabilities) -> str:
    """One line for each row; two classes have one score, positive for the second."""
    columns = {"label": labels}
    if scores is not None:
        scored = [classes[1]] if scores.ndim == 1 else classes
        scores = scores[:, None] if scores.ndim == 1 else scores
        columns |= {f"score_{name}": scores[:, k] for k, name in enumerate(scored)}
    columns |= {f"probability_{name}": probabilities[:, k] for k, name in enumerate(classes)}
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow(columns)
    writer.writerows(zip(*(map(_shown, column) for column in columns.values()), strict=True))
    return stream.getvalue()


def _shown(value):
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value
