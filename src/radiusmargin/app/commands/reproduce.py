"""``radiusmargin reproduce``: the paper's tables and figures, ours beside the paper's."""

from __future__ import annotations

import shlex
from functools import partial
from pathlib import Path

import click

from ..._writing import check_folder, check_output
from .faces import FACE_NAMES, load_faces, write_faces
from .shared import Names, console, default_jobs, progress_bar, show_table

__all__ = ["command"]

#: What is not of faces.
TABLES = (
    "table1", "figure1", "table2", "table2-uci", "table3", "table4", "table5", "figure2", "transformations", "maps",
    "map-figure", "criteria",
)  # fmt: skip


@click.command("reproduce")
@click.argument("what", metavar="|".join([*TABLES, *FACE_NAMES, "all", "FILE.toml"]))
@click.option(
    "--protocol",
    type=click.Choice(["nested", "paper", "test-fold"]),
    help="Nested selection, selection and report on the same folds, or selection on the test part.  [default: nested]",
)
@click.option("--runs", type=click.IntRange(1), help="Splits of each set, or repetitions of the folds.")
@click.option("--datasets", type=Names(), help="Only these sets: ida/heart,… or heart,…; of faces these recipes.")
@click.option("--models", type=Names(), help="Only these models.")
@click.option("--against", "baseline", metavar="MODEL", help="The model that the others are tested against.")
@click.option("--configurations", "budget", type=click.IntRange(1), help="How many are tried of each model.")
@click.option("--differences", is_flag=True, help="Also paired differences by set, and what was chosen how often.")
@click.option("--jobs", type=int, default=None, help="Processes; timings always use one.  [default: all cores]")
@click.option("--quick", is_flag=True, help="Few sets, runs and configurations: under two minutes.")
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder for tables and the store.",
)
@click.option(
    "--into",
    metavar="PAGE.md#BLOCK",
    help="Rewrite a block of a page, and its record in tables/BLOCK.json: command, table, caption.",
)
@click.option("--offline", is_flag=True, help="For the faces: pairs that need no download, in place of LFW.")
@click.pass_context
def command(context, what, protocol, jobs, quick, out, offline, differences, into, **options):
    """Run the paper's experiments and print our numbers beside its own.

    Needs the IDA and UCI sets, and LFW for table6 and figures 3 to 5: set RADIUSMARGIN_DATA to their folder. "all" is
    what `radiusmargin paper` makes. transformations, maps,
    map-figure (nearest neighbours after a learned transformation), criteria (choosing without folds), table6-narrow,
    table6-wide, table6-best and view1 (faces) go beyond the paper. The cells go to OUT/cells.jsonl as they are finished:
    stop it at any time, and the next call goes on from there. FILE.toml is a specification of your own.
    """
    if what in FACE_NAMES and (protocol in ("paper", "test-fold") or options["runs"]):
        raise click.UsageError(f"{what} has the official folds of LFW: no --protocol paper or --runs")
    if offline and what not in FACE_NAMES:
        raise click.UsageError(f"--offline goes with {', '.join(FACE_NAMES)} only")
    if options["baseline"] and what == "all":
        raise click.UsageError("--against goes with one table: the models of all of them differ")
    if out.exists() and not out.is_dir():
        raise click.UsageError(f"--out must be a folder, and {out} is a file")
    check_folder(out)
    into = _checked_block(into, what)
    if what == "all":
        from ...paper.whole import BEYOND, PAPER
        from .paper import make_paper

        make = partial(make_exhibit, out=out, jobs=jobs, quick=quick, protocol=protocol, options=options)
        return make_paper(make, out, [*PAPER, *BEYOND], quick=quick)
    how = {"protocol": protocol, "jobs": jobs, "quick": quick, "offline": offline}
    item, failed, details, _ = _one(what, options=options, out=out, differences=differences, **how)
    if into is not None:
        _write_blocks(*into, _call(context), {"": item.table} | {f"-{end}": table for end, table in details.items()})
    return 1 if failed else 0


def _checked_block(into, what):
    """(page, name of the block) of an option; a mistake is told before the work."""
    if into is None:
        return None
    from ...paper.captions import pick_block

    page, _, block = into.partition("#")
    if what == "all" or not Path(page).is_file() or pick_block(Path(page).read_text(encoding="utf-8"), block) is None:
        raise click.UsageError(
            f"--into takes one table and PAGE.md#BLOCK, where PAGE.md has <!-- begin BLOCK --> and <!-- end BLOCK -->; got {into}"
        )
    check_output(page)
    check_folder(Path(page).parent / "tables")
    return Path(page), block


#: Options that say where results go and how fast they come, not what they are.
PLACES = ("jobs", "out", "into")


def _call(context) -> str:
    """The command as it was called, without options about places."""
    words = ["radiusmargin", "reproduce", context.params["what"]]
    for option in context.command.params:
        value = context.params[option.name]
        if context.get_parameter_source(option.name).name == "COMMANDLINE" and option.name not in (*PLACES, "what"):
            text = ",".join(value) if isinstance(value, tuple) else str(value)
            words += option.opts[:1] if getattr(option, "is_flag", False) else [option.opts[0], text]
    return shlex.join(words)


def _write_blocks(page, block, call, tables):
    """Rewrite the block of a table, and those of the tables behind it that the page has."""
    from ...paper.captions import pick_block, save_block
    from ...paper.tables import markdown_rows

    for ending, table in tables.items():
        if pick_block(page.read_text(encoding="utf-8"), block + ending) is not None:
            record = {"page": page.name, "command": call, "facts": table.facts, "table": markdown_rows(table)}
            for path in save_block(page, block + ending, record):
                console().print(f"wrote {path}", markup=False)


#: Options of a call that leaves them all open.
OPEN = dict.fromkeys(("runs", "datasets", "models", "baseline", "budget"))


def make_exhibit(name, *, out, jobs, quick, protocol=None, options=OPEN):
    """Make a table or figure of what data there are: (item, cells that failed, missing data sets and why)."""
    if name in FACE_NAMES:
        options, protocol = {**options, "runs": None, "datasets": None}, None
    how = {"protocol": protocol, "jobs": jobs, "quick": quick, "offline": False, "as_available": True}
    item, failed, _, missing = _one(name, options=options, out=out, differences=False, **how)
    return item, failed, missing


def _one(name, *, options, out, differences, **how):
    """(item, cells that failed, tables behind it, missing data sets); its files are written and its tables are shown."""
    from ...paper import figures, outputs
    from ...paper.tables import write_table

    details, missing = {}, {}
    if name in figures.PICTURES:
        item, failed, written = _picture(figures.PICTURES[name], name, options), 0, []
        if item.table is not None:
            written = write_table(item.table, out, name)
    else:
        outcome, missing = _experiment(name, options=options, out=out, **how)
        item, failed = figures.from_outcome(outcome), outcome.n_failed
        details = outputs.details(outcome) if differences else {}
        written = outputs.write_all(outcome, out, details)  # first of all, for a terminal may go away
        written += write_faces(outcome, out) if outcome.spec.protocol == "pairs" else []
    written += figures.save_figures(item, out)
    terminal = console()
    if item.table is not None:
        show_table(item.table, terminal)
    for table in details.values():
        show_table(table, terminal)
    for path in written:
        terminal.print(f"wrote {path}", markup=False)
    return item, failed, details, missing


def _picture(make, name, options):
    """A table or figure without cells; a data set may be given to a figure."""
    datasets = options["datasets"]
    if name == "table1" or not datasets:
        return make()
    return make(datasets[0] if "/" in datasets[0] else f"ida/{datasets[0]}")


def _experiment(name, *, protocol, options, jobs, quick, out, offline, as_available=False):
    from ...paper import load_spec, workflow
    from ...paper.catalogue import resolve_models
    from ...paper.stand_ins import load_available

    spec = load_spec(name, quick=quick)
    against = options["baseline"] and resolve_models([options["baseline"]])[0]
    options = {**options, "datasets": _known_sets(options["datasets"], spec), "baseline": against}
    if spec.protocol in ("nested", "paper", "test-fold") and not spec.components:
        options["protocol"] = protocol
    spec = spec.with_options(**options)
    models = resolve_models(spec.models)  # a wrong name is told before the data are read
    if against and against not in models:
        raise click.UsageError(f"--against must be one of the models compared, {', '.join(models)}; got {against}")
    missing = {}
    if spec.protocol == "pairs":
        spec, tasks = load_faces(spec, offline)
    elif as_available:
        spec, tasks, missing = load_available(spec)
    else:
        tasks = workflow.load_tasks(spec)
    with progress_bar(spec.name) as progress:
        how = {"jobs": jobs or default_jobs(), "progress": progress}
        return workflow.run_experiment(spec, tasks, out / "cells.jsonl", **how), missing


def _known_sets(names, spec):
    """Full names of sets that may be given without their group."""
    if names is None:
        return None
    short = {name.partition("/")[2]: name for name in spec.datasets}
    return tuple(short.get(name, name if "/" in name else f"ida/{name}") for name in names)
