"""``radiusmargin compare``: all models on your table, or on the built-in tasks."""

from __future__ import annotations

from pathlib import Path

import click

from .shared import Names, check_writable, console, default_jobs, progress_bar, show_table

__all__ = ["command"]


@click.command("compare")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@click.option(
    "--target",
    help="Column with the labels, by name or position. By default target, class, label or y, else the last.",
)
@click.option(
    "--datasets",
    type=Names(),
    help="Data sets of the registry instead of a file (see: radiusmargin datasets).",
)
@click.option("--models", type=Names(), help="Models to compare; 'all', 'paper', or keys such as svm,fsvm,rmm.")
@click.option("--kernel", type=click.Choice(["linear", "rbf"]), help="Features of the models.  [default: linear]")
@click.option("--runs", type=click.IntRange(1), help="Repetitions of the outer cross-validation.")
@click.option("--folds", type=click.IntRange(2), help="Outer folds.")
@click.option("--inner-folds", type=click.IntRange(2), help="Folds of the selection inside the training part.")
@click.option("--budget", type=click.IntRange(1), help="Most configurations tried for each model.")
@click.option("--max-rows", type=click.IntRange(20), help="Cut larger tables to a stratified sample.")
@click.option("--jobs", type=int, default=None, help="Processes.  [default: all cores]")
@click.option("--quick", is_flag=True, help="Fewer folds, rows and configurations.")
@click.option(
    "--store",
    type=click.Path(path_type=Path),
    help="Keep the cells here; a second call with the same file resumes.",
)
@click.option("--json", "json_file", type=click.Path(path_type=Path), help="Write everything as JSON.")
@click.option("--csv", "csv_file", type=click.Path(path_type=Path), help="Write the table as CSV.")
@click.option(
    "--report",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The page to write; '' for none.",
)
def command(file, target, datasets, json_file, csv_file, report, jobs, store, quick, **options):
    """Compare radius-margin models by nested cross-validation.

    FILE is a table: CSV, TSV, Parquet, npz, ARFF or LIBSVM (also .gz). Without it the built-in tasks are
    used. Every model sees the same splits and tries as many configurations; all is chosen and fitted on
    training rows only.
    """
    from ..experiments import outputs, results, workflow

    report = report if str(report) not in ("", ".") else None
    check_writable(json_file, csv_file, report, store)
    spec, tasks = _prepared(file, target, datasets, quick, options)
    out = console()
    for line in _messages(tasks):
        out.print(line, style="yellow", markup=False)
    with progress_bar("comparing") as progress:
        outcome = workflow.run_experiment(spec, tasks, store, jobs=jobs or default_jobs(), progress=progress)
    written = _write(outcome, {json_file: outputs.to_json, csv_file: outputs.to_csv_text, report: outputs.report_html})
    show_table(results.model_table(outputs.main_table(outcome), outcome.summary), out)
    for path in written:
        out.print(f"wrote {path}", markup=False)
    return 1 if outcome.n_failed else 0


def _write(outcome, makers):
    """Every file that was asked for: all made before the first is written."""
    from ..experiments.tables import write_text

    texts = {path: make(outcome) for path, make in makers.items() if path is not None}
    return [write_text(path, text) for path, text in texts.items()]


def _prepared(file, target, datasets, quick, options):
    """The specification and the data of a call."""
    from dataclasses import replace

    from ..datasets import read_table
    from ..experiments import load_spec, workflow

    if file is not None and datasets:
        raise click.UsageError("give a FILE or --datasets, not both")
    if target is not None and file is None:
        raise click.UsageError("--target needs a FILE")
    spec = load_spec("compare", quick=quick)
    if file is None:
        spec = spec.with_options(datasets=datasets, **options)
        if datasets:
            spec = replace(spec, title="Accuracy", max_rows=options["max_rows"])
        return spec, workflow.load_tasks(spec)
    task = read_table(file, target)
    own = {} if quick else {"budget": None, "max_rows": None, "inner_folds": 5}
    spec = replace(spec, title=f"Accuracy on {task.name}", datasets=(task.name,), **own).with_options(**options)
    return spec, {task.name: workflow.prepared(task, spec)}


def _messages(tasks):
    """What was done to a user's table, before anything is run; the built-in tasks need no words."""
    return [f"{task.name}: {line}" for task in tasks.values() if "/" not in task.name for line in task.messages]
