"""``radiusmargin predict``: labels, scores and probabilities of the rows of a table."""

from __future__ import annotations

import csv
import io
import sys
from pathlib import Path

import click
import numpy as np

from ..._writing import check_output, write_file
from .shared import READING, Names, printable, reading_options, refuse_inputs

__all__ = ["command"]


@click.command("predict")
@click.argument("model", type=click.Path(path_type=Path))
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--output", type=click.Path(path_type=Path), help="The CSV file to write.  [default: the terminal]")
@reading_options(READING)
@click.option(
    "--keep", type=Names(), default=(), help="Columns of TABLE to write in front, as they are; 'all' for all."
)
@click.option("--notes", is_flag=True, help="Add a column that says what is unusual about a row.")
def command(model, table, output, keep, notes, reading):
    """Predict the rows of TABLE with the file MODEL, as CSV.

    Columns are found by name; others are ignored. The label is the model's own decision; probabilities are made of its
    scores by a logistic model, and may prefer another class where the scores are close. Rows unlike those that the model was
    fitted to are counted on standard error. A model of a quantity writes its prediction and a 90 % interval.
    """
    from ...tables import ReadOptions
    from ...tables.read import read_rows, read_texts
    from ..model_file import load_bundle
    from ..unusual import unusual_rows

    if table.suffix == ".skops" and model.suffix != ".skops":
        model, table = table, model
        click.echo(f"the model file comes first: taken as predict {model} {table}", err=True)
    refuse_inputs((output,), (model, table))
    check_output(output)
    bundle = load_bundle(model)
    reading["missing"] = (*bundle.facts.get("missing", ()), *reading["missing"])
    options = ReadOptions(**reading)
    rows = read_rows(table, options, bundle.facts)
    kept = _kept(read_texts(table, options, bundle.facts), keep) if keep else {}
    predicted = bundle.predict(rows)
    lines, remarks = unusual_rows(bundle, rows)
    for line in lines:
        click.echo(printable(line), err=True)
    text = _csv(bundle.classes, kept, predicted, remarks if notes else None)
    if output is None:
        click.echo(printable(text) if sys.stdout.isatty() else text, nl=False)
    else:
        write_file(output, text)
        click.echo(f"wrote {output}: {len(rows)} rows", err=True)
    return 0


def _kept(texts, names) -> dict:
    """Columns of the input by name."""
    names = list(texts.columns) if tuple(names) == ("all",) else names
    missing = [name for name in names if name not in texts.columns]
    if missing:
        raise click.UsageError(f"--keep: there is no column {', '.join(missing)}; there are {', '.join(texts.columns)}")
    return {name: texts[name].fillna("") for name in names}


def _csv(classes, kept, predicted, remarks) -> str:
    """One line for each row; two classes have one score, positive for the second."""
    labels, scores, probabilities = predicted
    columns = {"prediction" if classes is None else "label": labels}
    if classes is None:
        columns |= {"low": scores[:, 0], "high": scores[:, 1]}
    elif scores is not None:
        scored = [classes[1]] if scores.ndim == 1 else classes
        scores = scores[:, None] if scores.ndim == 1 else scores
        columns |= {f"score_{name}": scores[:, k] for k, name in enumerate(scored)}
    if classes is not None:
        columns |= {f"probability_{name}": probabilities[:, k] for k, name in enumerate(classes)}
    if remarks is not None:
        columns["note"] = remarks
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator="\n")
    writer.writerow([*kept, *columns])
    writer.writerows(zip(*(map(_shown, column) for column in (*kept.values(), *columns.values())), strict=True))
    return stream.getvalue()


def _shown(value):
    return f"{value:.6g}" if isinstance(value, float | np.floating) else value
