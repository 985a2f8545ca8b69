"""What is different about the face experiments of ``radiusmargin reproduce``: their data, and files of their own."""

from __future__ import annotations

from .shared import progress_bar

__all__ = ["FACE_NAMES", "load_faces", "write_faces"]

FACE_NAMES = ("table6", "table6-narrow", "table6-wide", "table6-best", "figure3", "figure4", "figure5", "view1")
OFFLINE = ("offline/pairs",)


def load_faces(spec, offline):
    """The specification and tasks of a call: LFW, or pairs that need no download."""
    from dataclasses import replace

    from ...paper.face_figures import load_pair_tasks

    names = OFFLINE if offline else spec.datasets
    with progress_bar("features of images") as begin:
        tasks = load_pair_tasks(names, progress=lambda total: _step_of(begin(total)))
    runs = min(len(task.splits) for task in tasks.values())
    if offline:
        title = f"{spec.title} (on {next(iter(tasks.values())).name} pairs: not LFW)"
        spec = replace(spec, name=f"{spec.name}-offline", title=title, notes=(), paper_table="")
    return replace(spec, datasets=tuple(tasks), runs=runs), tasks


def write_faces(outcome, folder):
    """The table of other systems, beside Table 6; returns the paths."""
    from ...paper.face_figures import systems_table
    from ...paper.faces import find_lfw
    from ...paper.tables import write_table

    if not outcome.spec.paper_table:
        return []
    return write_table(systems_table(find_lfw()[0].parent / "roc"), folder, "table6-systems")


def _step_of(step):
    """The bar counts records; an image is one."""
    return lambda path: step({"cell": {"dataset": path.stem, "model": ""}, "status": "ok"})
