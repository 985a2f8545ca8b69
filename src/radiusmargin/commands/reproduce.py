"""``radiusmargin reproduce``: the paper's tables and figure, ours beside the paper's."""

from __future__ import annotations

from pathlib import Path

import click

from .faces import FACE_NAMES, load_faces, write_faces
from .shared import Names, console, default_jobs, progress_bar, show_table

__all__ = ["command"]

PAPER = ("table2", "table3", "table4", "table5", "figure2")


@click.command("reproduce")
@click.argument("what", metavar="|".join([*PAPER, *FACE_NAMES, "all", "FILE.toml"]))
@click.option(
    "--protocol",
    type=click.Choice(["honest", "paper"]),
    help="Nested selection, or selection and report on the same folds.  [default: honest]",
)
@click.option("--runs", type=click.IntRange(1), help="Splits of each set, or repetitions of the folds.")
@click.option("--datasets", type=Names(), help="Only these sets: ida/heart,… or heart,….")
@click.option("--models", type=Names(), help="Only these models.")
@click.option("--jobs", type=int, default=None, help="Processes; timings always use one.  [default: all cores]")
@click.option("--quick", is_flag=True, help="Few sets, runs and configurations: under two minutes.")
@click.option(
    "--out",
    default="reproduction",
    show_default=True,
    type=click.Path(path_type=Path),
    help="Folder for tables and the store.",
)
@click.option("--offline", is_flag=True, help="For the faces: pairs that need no download, in place of LFW.")
def command(what, protocol, runs, datasets, models, jobs, quick, out, offline):
    """Run the paper's experiments and print our numbers beside its own.

    Needs the IDA sets, and LFW for table6 and figures 3 to 5: set RADIUSMARGIN_DATA to their folder. "all" is the
    tables and the figure of the IDA sets. The cells go to OUT/cells.jsonl as they are
    finished: stop it at any time, and the next call goes on from there. FILE.toml is a specification of your
    own.
    """
    if what in FACE_NAMES and (protocol == "paper" or runs or datasets):
        raise click.UsageError(f"{what} has the official folds of LFW: no --protocol paper, --runs or --datasets")
    if offline and what not in FACE_NAMES:
        raise click.UsageError(f"--offline goes with {', '.join(FACE_NAMES)} only")
    names = PAPER if what == "all" else (what,)
    options = {"runs": runs, "datasets": datasets, "models": models}
    failed = [_one(name, protocol, options, jobs, quick, out, offline) for name in names]
    return 1 if any(failed) else 0


def _one(name, protocol, options, jobs, quick, out, offline) -> int:
    from ..experiments import load_spec, outputs, workflow
    from ..experiments.catalogue import resolve_models

    spec = load_spec(name, quick=quick)
    options = {**options, "datasets": _known_sets(options["datasets"], spec)}
    faces = spec.protocol == "pairs"
    if spec.protocol != "timing" and not spec.components and not faces:
        options["protocol"] = protocol
    spec = spec.with_options(**options)
    resolve_models(spec.models)  # a wrong name is told before the data are read
    if out.exists() and not out.is_dir():
        raise click.UsageError(f"--out must be a folder, and {out} is a file")
    spec, tasks = load_faces(spec, offline) if faces else (spec, workflow.load_tasks(spec))
    with progress_bar(spec.name) as progress:
        outcome = workflow.run_experiment(
            spec, tasks, out / "cells.jsonl", jobs=jobs or default_jobs(), progress=progress
        )
    written = outputs.write_all(outcome, out)  # first of all, for a terminal may go away
    written += write_faces(outcome, out) if faces else []
    terminal = console()
    show_table(outputs.main_table(outcome), terminal)
    for path in written:
        terminal.print(f"wrote {path}", markup=False)
    return outcome.n_failed


def _known_sets(names, spec):
    """Full names of sets that may be given without their group."""
    if names is None:
        return None
    short = {name.partition("/")[2]: name for name in spec.datasets}
    return tuple(short.get(name, name if "/" in name else f"ida/{name}") for name in names)
