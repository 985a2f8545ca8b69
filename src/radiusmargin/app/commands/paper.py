"""``radiusmargin paper``: all tables and figures of the F-SVM paper that the data allow, on one page."""

from __future__ import annotations

from functools import partial
from pathlib import Path

import click

from ..._writing import check_folder
from ...tables import DataError
from .faces import FACE_NAMES
from .reproduce import TABLES, make_exhibit
from .shared import Names, console

__all__ = ["command", "make_paper"]


@click.command("paper")
@click.option("--quick", is_flag=True, help="Few sets, runs and configurations: minutes.")
@click.option("--only", type=Names(), help="Only these tables and figures: table2,figure1,…")
@click.option("--jobs", type=int, default=None, help="Processes; timings always use one.  [default: all cores]")
@click.option(
    "--out", default="reproduction", show_default=True, type=click.Path(path_type=Path), help="Folder for all files."
)
def command(quick, only, jobs, out):
    """Make the tables and figures of the F-SVM paper (arXiv:1504.05035), our numbers beside its own, on one page.

    Without any data folder it takes seven UCI sets that come with the package, and samples from the generators of
    ringnorm, twonorm and waveform. With RADIUSMARGIN_DATA it takes the IDA versions of the sets, which fit the paper's
    numbers, and the faces of LFW. Whatever could not be had is listed at the end, with what to do; the exit code is 1 then.
    The cells go to OUT/cells.jsonl as they are finished: stop it at any time, and the next call goes on from there.
    """
    from ...paper.whole import BEYOND, PAPER

    names = [*PAPER, *BEYOND]
    unknown = sorted(set(only or ()) - {*TABLES, *FACE_NAMES})
    if unknown:
        raise click.UsageError(f"--only: no such table or figure as {', '.join(unknown)}; known are {', '.join(names)}")
    if out.exists() and not out.is_dir():
        raise click.UsageError(f"--out must be a folder, and {out} is a file")
    check_folder(out)
    make = partial(make_exhibit, out=out, jobs=jobs, quick=quick)
    return make_paper(make, out, only or names, quick=quick)


def make_paper(make, out: Path, names, *, quick: bool) -> int:
    """Make exhibits one after the other, write their page, and list what was left out; the exit code says if anything was."""
    from ...paper.whole import by_reason, write_page

    items, left_out, n_failed = {}, {}, 0
    for name in names:
        try:
            items[name], failed, missing = make(name)
        except DataError as error:
            left_out[f"{name}: left out"] = str(error)
            continue
        n_failed += failed
        if missing:
            left_out[f"{name}: not on {', '.join(missing)}"] = "\n".join(missing.values())
    path = write_page(items, left_out, out / "report.html", quick=quick)
    terminal = console()
    for reason, whats in by_reason(left_out).items():
        terminal.print("\n".join(whats), style="yellow", markup=False)
        terminal.print(reason, markup=False)
    failures = f", {n_failed} cells failed" if n_failed else ""
    terminal.print(f"{len(items)} of {len(names)} tables and figures made{failures}; wrote {path}", markup=False)
    return 1 if n_failed or left_out else 0
