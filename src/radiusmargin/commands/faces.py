"""The face experiments of ``radiusmargin reproduce``: table6, figure4 and figure5."""

from __future__ import annotations

import click

from .shared import console, default_jobs, progress_bar, show_table

__all__ = ["FACE_NAMES", "reproduce_faces"]

FACE_NAMES = ("table6", "figure4", "figure5")
#: What ``--quick`` leaves of a specification.
QUICK = {"budget": 4, "models": ("svm", "fsvm")}
QUICK_DIMENSIONS = {
    "table6": {"attribute": (73,), "combined": (100,)},
    "figure5": {"attribute": (73,), "combined": (100,)},
}


def reproduce_faces(name, models, jobs, quick, out, offline) -> int:
    """Run one of the experiments, write its files to a folder, and return the number of failed cells."""
    from ..experiments.catalogue import resolve_models
    from ..experiments.face_tables import main_table, write_faces
    from ..experiments.faces import FACES, load_faces, run_faces

    spec = FACES[name]
    if quick:
        smaller = {**spec.dimensions, **QUICK_DIMENSIONS.get(name, {})}
        spec = spec.with_options(**QUICK, dimensions=smaller)
    spec = spec.with_options(models=models)
    resolve_models(spec.models)  # a wrong name is told before the data are read
    if out.exists() and not out.is_dir():
        raise click.UsageError(f"--out must be a folder, and {out} is a file")
    with progress_bar("SIFT features") as begin:
        task = load_faces(offline=offline, progress=lambda total: _step_of(begin(total)))
    with progress_bar(name) as progress:
        outcome = run_faces(spec, task, out / "cells.jsonl", jobs=jobs or default_jobs(), progress=progress)
    written = write_faces(outcome, out)
    terminal = console()
    show_table(main_table(outcome), terminal)
    for path in written:
        terminal.print(f"wrote {path}", markup=False)
    return outcome.n_failed


def _step_of(step):
    """The bar counts records; an image is one."""
    return lambda path: step({"cell": {"dataset": path.stem, "model": ""}, "status": "ok"})
