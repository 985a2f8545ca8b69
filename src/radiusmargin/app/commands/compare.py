"""``radiusmargin compare``: models on your table, or on the built-in tasks, and which of them to take."""

from __future__ import annotations

from pathlib import Path
from tempfile import TemporaryDirectory

import click

from ..._writing import check_output, write_file
from .shared import (
    LEARNING,
    READING,
    Models,
    Names,
    console,
    default_jobs,
    progress_bar,
    reading_facts,
    reading_options,
    refuse_inputs,
    refuse_other_suffix,
    show_table,
)

__all__ = ["command"]

#: A larger table of one's own is cut to the first number of rows, unless --max-rows says otherwise; where models would not
#: finish within their budget, further, to no fewer than the second.
MAX_ROWS, QUICK_ROWS = 2000, 500
#: Outer and inner folds of such a table, where its classes have the rows for it.
FOLDS, QUICK_FOLDS = 5, 3
#: Processor seconds that every model has on a table of one's own, unless --budget says otherwise.
BUDGET = 60.0


@click.command("compare")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@reading_options((*LEARNING, *READING))
@click.option(
    "--datasets",
    type=Names(),
    help="Data sets of the registry instead of a file (see: radiusmargin datasets).",
)
@click.option(
    "--models",
    type=Models(),
    help="Models to compare: keys such as svm,fsvm,logistic; 'paper', the slow 'all'; +lightgbm,+catboost beside the usual.",
)
@click.option("--kernel", type=click.Choice(["linear", "rbf"]), help="Features of our models.  [default: linear]")
@click.option(
    "--metric",
    type=click.Choice(
        ["accuracy", "balanced_accuracy", "f1", "mcc", "roc_auc", "average_precision", "log_loss", "r2", "mae", "rmse"]
    ),
    help="What is compared.  [default: accuracy; balanced accuracy where one class is rare; r2 of a quantity]",
)
@click.option("--runs", type=click.IntRange(1), help="Repetitions of the outer cross-validation.")
@click.option("--folds", type=click.IntRange(2), help="Outer folds.")
@click.option("--inner-folds", type=click.IntRange(2), help="Folds of the selection inside the training part.")
@click.option("--configurations", type=click.IntRange(1), help="Most configurations tried for each model.")
@click.option(
    "--budget",
    type=click.FloatRange(0.0, min_open=True),
    help=f"Processor seconds for each model.  [default: {BUDGET:g} for a FILE]",
)
@click.option(
    "--max-rows",
    type=click.IntRange(20),
    help=f"Cut larger tables.  [default: {MAX_ROWS} rows of a FILE, fewer if models would not finish]",
)
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
    "--save", type=click.Path(path_type=Path), help="Fit the recommended model on the rows compared, and save it here."
)
@click.option(
    "--report",
    default="report.html",
    show_default=True,
    type=click.Path(path_type=Path),
    help="The page to write; '' for none.",
)
@click.option("--open", "show", is_flag=True, help="Open the page in a browser.")
def command(file, reading, json_file, csv_file, report, save, show, **options):
    """Compare models by nested cross-validation, and say which to take.

    FILE is a table: CSV, TSV, .xlsx, Parquet, npz, ARFF or LIBSVM (also .gz), or - for CSV on standard input. Without it the built-in tasks are
    used. A target of many different numbers is a quantity, for which regressors are compared; with --categories it is taken
    for classes. Every model sees the same splits; everything (encoding of categories and dates, filling of gaps, scaling,
    hyper-parameters) is chosen and fitted on training rows only.

    The exit code is 1 if a model did not finish every split, or if the file for --save was not written.
    """
    from ...paper import outputs, results
    from ...paper.recommend import recommend

    report = report if str(report) not in ("", ".") else None
    refuse_other_suffix(save)
    refuse_inputs((json_file, csv_file, report, save, options["store"]), (file,))
    check_output(json_file, csv_file, report, save)
    if save is not None and file is None:
        raise click.UsageError("--save needs a FILE")
    if file is None and any(value not in (None, (), False) for value in reading.values()):
        raise click.UsageError("--target and what else says how a table is read: each needs a FILE")
    out = console()
    outcome = _builtin_tasks(options) if file is None else _own_table(file, reading, options, out)
    written = _write(outcome, {json_file: outputs.to_json, csv_file: outputs.to_csv_text, report: outputs.report_html})
    advice = recommend(outcome.summary)
    for line in outputs.advice_lines(outcome):
        out.print(line, style="bold", markup=False)
    out.print()
    show_table(results.model_table(outputs.main_table(outcome), outcome.summary), out)
    saved = save is None or _saved(save, advice, outcome, reading)
    for path in [*written, *([save] if save is not None and saved else [])]:
        out.print(f"wrote {path}", markup=False)
    if show and report is not None:
        click.launch(str(report))
    return 0 if outcome.is_complete and saved else 1


def _write(outcome, makers):
    """Every file that was asked for: all made before the first is written."""
    texts = {path: make(outcome) for path, make in makers.items() if path is not None}
    return [write_file(path, text) for path, text in texts.items()]


def _saved(path, advice, outcome, reading) -> bool:
    """Fit the recommended model on all rows that were compared on, and save it; whether there is one."""
    from ..final import fit_final, fit_quantity
    from ..model_file import save_bundle

    if advice.model is None:
        click.echo(f"no model is recommended, so {path} was not written", err=True)
        return False
    (task,) = outcome.tasks.values()
    facts = {"why": list(advice.lines), **reading_facts(reading)}
    if task.quantity and advice.model != "auto-svr":
        name = outcome.summary.names[advice.model]
        click.echo(
            f"{name} is recommended, and of the models of a quantity only AutoSVR can be saved, so {path} was not written;"
            " radiusmargin fit saves AutoSVR",
            err=True,
        )
        return False
    if task.quantity:
        bundle = fit_quantity(task, facts)
    else:
        bundle = fit_final(task, advice.model, spec=outcome.spec, facts=facts)
    save_bundle(bundle, path)
    return True


def _runner(options, seconds):
    """Function of a specification and tasks that runs them, with the store, processes and budget of the call."""
    from ...paper import Store, workflow

    store, jobs = options.pop("store"), options.pop("jobs") or default_jobs()
    if store is not None:
        Store(store).check()

    def run(spec, tasks, where, only_first=False):
        with progress_bar("first split" if only_first else "comparing") as progress:
            return workflow.run_experiment(
                spec, tasks, store or where, jobs=jobs, progress=progress, seconds=seconds, only_first=only_first
            )

    return run


def _builtin_tasks(options):
    """Run the built-in tasks, or data sets of the registry."""
    from dataclasses import replace

    from ...paper import load_spec, workflow

    run = _runner(options, options.pop("budget"))
    options["budget"] = options.pop("configurations")
    spec = load_spec("compare", quick=options.pop("quick"))
    options["models"] = _beside(spec.models, options["models"])
    spec = spec.with_options(**options)
    if options["datasets"]:
        spec = replace(spec, title="Accuracy", max_rows=options["max_rows"])
    return run(spec, workflow.load_tasks(spec), None)


def _own_table(file, reading, options, out):
    """Run a table of one's own, cut until the first split of every model foretells that all fit into the budget."""
    from ...paper import load_spec, workflow
    from ...paper.catalogue import resolve_models
    from ...tables import read_table

    if options.pop("datasets"):
        raise click.UsageError("give a FILE or --datasets, not both")
    seconds = options.pop("budget") or BUDGET
    run, quick, is_cut = _runner(options, seconds), options.pop("quick"), options["max_rows"] is None
    options["budget"] = options.pop("configurations")
    spec, n_folds = load_spec("compare", quick=quick), QUICK_FOLDS if quick else FOLDS
    resolve_models(name.removeprefix("+") for name in options["models"] or ())  # told before the data are read
    table = read_table(file, **reading, quantity=True)
    if table.quantity:
        spec = _of_quantity(spec, options)
        ends = f"from {table.y.min():g} to {table.y.max():g}"
        out.print(
            f"{table.name}: the target is a quantity {ends}; with --categories it is taken for classes", markup=False
        )
    options["models"] = _beside(spec.models, options["models"])
    n_rows = options["max_rows"] or (QUICK_ROWS if quick else MAX_ROWS)
    with TemporaryDirectory(prefix="radiusmargin-") as folder:
        where = Path(folder, "cells.jsonl")
        spec, task = _sized(table, spec, options, n_folds, n_rows)
        for line in task.messages:
            out.print(f"{task.name}: {line}", style="yellow", markup=False)
        while is_cut and task.n_samples > QUICK_ROWS:
            first = run(spec, {task.name: task}, where, only_first=True)
            if (fewer := workflow.affordable_rows(first, task.n_samples, seconds)) >= task.n_samples:
                break
            n_rows = max(fewer, QUICK_ROWS)
            spec, task = _sized(table, spec, options, n_folds, n_rows)
            out.print(f"{task.name}: {task.messages[-1]}, to fit into {seconds:g} s for each model", style="yellow")
        return run(spec, {task.name: task}, where)


def _of_quantity(spec, options):
    """The specification for a quantity: its models, and Ridge to test the others against."""
    from ...paper.references import REGRESSORS

    if options["kernel"] is not None:
        raise click.UsageError("the target is a quantity: leave --kernel out, which is for models of classes")
    if options["models"] == ("all",):
        options["models"] = None  # which are all there are
    return spec.with_options(models=tuple(entry.key for entry in REGRESSORS), baseline="ridge")


def _beside(usual, names):
    """Names of models, those with a plus in addition to the usual ones."""
    if not names or not any(name.startswith("+") for name in names):
        return names
    return (*usual, *(name.removeprefix("+") for name in names))


def _sized(table, spec, options, n_folds, n_rows):
    """The specification and the task for so many rows: folds and metric that suit them, unless they are given."""
    from ...paper import workflow
    from ...paper.metrics import METRICS, metric_for
    from ...paper.splits import suitable_folds

    spec = spec.with_options(**options).with_options(max_rows=n_rows)
    task = workflow.prepared(table, spec)
    usual = METRICS["r2"] if task.quantity else metric_for(task.y)
    metric = METRICS[options["metric"]] if options["metric"] else usual
    task, folds, inner_folds = suitable_folds(task, options["folds"], options["inner_folds"], n_folds)
    title = f"{metric.name} on {task.name}"
    shape = {"folds": folds, "inner_folds": inner_folds, "metric": metric.key}
    return spec.with_options(title=title, datasets=(task.name,), notes=_split_notes(task), **shape), task


def _split_notes(task) -> tuple[str, ...]:
    """Return sentences on how the folds differ from those of the protocol."""
    if task.in_time:
        return (
            "Instead of the outer folds above, each split learns from all earlier rows and tests on the next ones.",
        )
    return ("The folds keep the rows of a group together.",) if task.groups is not None else ()
