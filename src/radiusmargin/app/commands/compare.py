"""``radiusmargin compare``: models on your table, or on the built-in tasks, and which of them to take."""

from __future__ import annotations

from pathlib import Path

import click

from ..._writing import check_output, write_file
from .shared import Models, Names, console, default_jobs, progress_bar, show_table, table_options

__all__ = ["command"]

#: A larger table of one's own is cut to so many rows, unless --max-rows says otherwise: an answer within a minute.
MAX_ROWS, QUICK_ROWS = 2000, 500
#: Outer and inner folds of such a table, where its classes have the rows for it.
FOLDS, QUICK_FOLDS = 5, 3
#: Seconds of computing that every model has on a table of one's own, unless --budget says otherwise.
BUDGET = 60.0


@click.command("compare")
@click.argument("file", required=False, type=click.Path(path_type=Path))
@table_options
@click.option(
    "--datasets",
    type=Names(),
    help="Data sets of the registry instead of a file (see: radiusmargin datasets).",
)
@click.option(
    "--models", type=Models(), help="Models to compare: keys such as svm,fsvm,logistic; 'paper', the slow 'all'."
)
@click.option("--kernel", type=click.Choice(["linear", "rbf"]), help="Features of our models.  [default: linear]")
@click.option(
    "--metric",
    type=click.Choice(["accuracy", "balanced_accuracy", "roc_auc", "log_loss"]),
    help="What is compared.  [default: accuracy; balanced accuracy where one class is rare]",
)
@click.option("--runs", type=click.IntRange(1), help="Repetitions of the outer cross-validation.")
@click.option("--folds", type=click.IntRange(2), help="Outer folds.")
@click.option("--inner-folds", type=click.IntRange(2), help="Folds of the selection inside the training part.")
@click.option("--configurations", type=click.IntRange(1), help="Most configurations tried for each model.")
@click.option(
    "--budget",
    type=click.FloatRange(0.0, min_open=True),
    help=f"Seconds for each model.  [default: {BUDGET:g} for a FILE]",
)
@click.option("--max-rows", type=click.IntRange(20), help=f"Cut larger tables.  [default: {MAX_ROWS} rows of a FILE]")
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
def command(file, target, missing, categories, drop, json_file, csv_file, report, jobs, store, save, budget, **options):
    """Compare models by nested cross-validation, and say which to take.

    FILE is a table: CSV, TSV, Parquet, npz, ARFF or LIBSVM (also .gz). Without it the built-in tasks are
    used. Every model sees the same splits; everything (encoding of categories and dates, filling of gaps, scaling,
    hyper-parameters) is chosen and fitted on training rows only.
    """
    from ...paper import Store, outputs, results, workflow
    from ...paper.recommend import recommend

    report = report if str(report) not in ("", ".") else None
    check_output(json_file, csv_file, report, save)
    if store is not None:
        Store(store).check()
    if save is not None and file is None:
        raise click.UsageError("--save needs a FILE")
    reading = {"missing": missing, "categories": categories, "drop": drop}
    spec, tasks = _prepared(file, target, reading, options)
    seconds = budget or (BUDGET if file is not None else None)
    out = console()
    for line in _messages(tasks):
        out.print(line, style="yellow", markup=False)
    with progress_bar("comparing") as progress:
        outcome = workflow.run_experiment(
            spec, tasks, store, jobs=jobs or default_jobs(), progress=progress, seconds=seconds
        )
    written = _write(outcome, {json_file: outputs.to_json, csv_file: outputs.to_csv_text, report: outputs.report_html})
    advice = recommend(outcome.summary)
    for line in advice.lines:
        out.print(line, style="bold", markup=False)
    out.print()
    show_table(results.model_table(outputs.main_table(outcome), outcome.summary), out)
    if save is not None:
        facts = {"missing": list(missing), "target": str(target or ""), "why": list(advice.lines)}
        written += _saved(save, advice.model, spec, tasks, facts)
    for path in written:
        out.print(f"wrote {path}", markup=False)
    return 1 if outcome.n_failed else 0


def _write(outcome, makers):
    """Every file that was asked for: all made before the first is written."""
    texts = {path: make(outcome) for path, make in makers.items() if path is not None}
    return [write_file(path, text) for path, text in texts.items()]


def _saved(path, model, spec, tasks, facts):
    """The recommended model, fitted on all rows that were compared on; nothing where none is recommended."""
    from ..final import fit_final
    from ..model_file import save_bundle

    if model is None:
        click.echo(f"no model is recommended, so {path} was not written", err=True)
        return []
    (task,) = tasks.values()
    return [save_bundle(fit_final(task, model, spec=spec, facts=facts), path)]


def _prepared(file, target, reading, options):
    """The specification and the data of a call."""
    from dataclasses import replace

    from ...paper import load_spec, workflow

    options = dict(options)
    datasets, quick = options.pop("datasets"), options.pop("quick")
    options["budget"] = options.pop("configurations")
    if file is not None and datasets:
        raise click.UsageError("give a FILE or --datasets, not both")
    if file is None and (target is not None or any(reading.values())):
        raise click.UsageError("--target, --missing, --categories and --drop: each needs a FILE")
    spec = load_spec("compare", quick=quick)
    if file is not None:
        usual = (QUICK_ROWS, QUICK_FOLDS) if quick else (MAX_ROWS, FOLDS)
        return _own_table(file, target, reading, spec, options, *usual)
    spec = spec.with_options(datasets=datasets, **options)
    if datasets:
        spec = replace(spec, title="Accuracy", max_rows=options["max_rows"])
    return spec, workflow.load_tasks(spec)


def _own_table(file, target, reading, spec, options, max_rows, n_folds):
    """A table of one's own: sizes, folds and metric that suit it, unless they are given."""
    from ...paper import workflow
    from ...paper.catalogue import resolve_models
    from ...paper.metrics import METRICS, metric_for
    from ...paper.splits import suitable_folds
    from ...tables import read_table

    resolve_models(options["models"] or ())  # a wrong name is told before the data are read
    spec = spec.with_options(max_rows=max_rows).with_options(**options)
    task = workflow.prepared(read_table(file, target, **reading), spec)
    metric = METRICS[options["metric"]] if options["metric"] else metric_for(task.y)
    task, folds, inner_folds = suitable_folds(task, options["folds"], options["inner_folds"], n_folds)
    title = f"{metric.name} on {task.name}"
    spec = spec.with_options(
        title=title, datasets=(task.name,), folds=folds, inner_folds=inner_folds, metric=metric.key
    )
    return spec, {task.name: task}


def _messages(tasks):
    """What was done to a user's table, before anything is run; the built-in tasks need no words."""
    return [f"{task.name}: {line}" for task in tasks.values() if "/" not in task.name for line in task.messages]
