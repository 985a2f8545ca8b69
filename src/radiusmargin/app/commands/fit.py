"""``radiusmargin fit``: one model on a whole table, saved with its encoding and its certificate."""

from __future__ import annotations

from pathlib import Path

import click

from ..._writing import check_output, write_file
from .shared import (
    LEARNING,
    READING,
    Models,
    console,
    reading_facts,
    reading_options,
    refuse_inputs,
    refuse_other_suffix,
)

__all__ = ["command"]


@click.command("fit")
@click.argument("table", type=click.Path(path_type=Path))
@click.option("-o", "--output", required=True, type=click.Path(path_type=Path), help="The model file, model.skops.")
@reading_options((*LEARNING, *READING))
@click.option("--model", type=Models(), help="Key or name of a model.  [default: the one to start with]")
@click.option("--kernel", type=click.Choice(["linear", "rbf"]), help="Features of the model.  [default: linear]")
@click.option("--inner-folds", type=click.IntRange(2), help="Folds of the choice of hyper-parameters.  [default: 5]")
@click.option("--max-rows", type=click.IntRange(20), help="Cut larger tables to a stratified sample.")
@click.option("--report", type=click.Path(path_type=Path), help="A page with what was tried, averaged and proven.")
def command(table, output, reading, model, max_rows, report, **options):
    """Fit a model on TABLE and save it.

    The file holds one pipeline, encoding included, the calibration of its scores, its certificate of optimality and
    where it comes from. Opening it runs no code. A target of many different numbers is a quantity, and AutoSVR is fitted;
    with --categories it is taken for classes.
    """
    from ...paper import Spec
    from ...paper.splits import subsample
    from ...tables import read_table
    from ..final import DEFAULT_MODEL, fit_final, fit_quantity
    from ..model_file import save_bundle
    from ..model_page import model_page
    from .describe import describe

    if model is not None and len(model) != 1:
        raise click.UsageError("--model takes one name")
    refuse_other_suffix(output)
    refuse_inputs((output, report), (table,))
    check_output(output, report)
    out = console()
    task = subsample(read_table(table, **reading, quantity=True), max_rows)
    if task.quantity and (model is not None or any(value is not None for value in options.values())):
        raise click.UsageError(
            "the target is a quantity, for which AutoSVR is fitted: leave --model and its options out"
        )
    for line in task.messages:
        out.print(f"{task.name}: {line}", style="yellow", markup=False)
    spec = Spec("fit").with_options(**options)
    if task.quantity:
        bundle = fit_quantity(task, reading_facts(reading))
    else:
        bundle = fit_final(task, model[0] if model else DEFAULT_MODEL, spec=spec, facts=reading_facts(reading))
    page = model_page(bundle) if report is not None else None  # made before the first file is written
    save_bundle(bundle, output)
    describe(bundle, out)
    out.print(f"wrote {output}", markup=False)
    if page is not None:
        out.print(f"wrote {write_file(report, page)}", markup=False)
    return 0
