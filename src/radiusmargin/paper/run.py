"""Carry out a plan: whatever the store does not hold yet, in any order, on any joblib backend."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from multiprocessing import current_process

from joblib import Parallel, delayed

from ..tables import TaskData
from .cells import run_cell
from .plan import Cell
from .store import Claims, Store

__all__ = ["execute"]

#: Seconds between looks at the store while another process has the last cells, and of a worker at its parent.
PATIENCE = 0.5


def execute(
    plan: list[Cell],
    tasks: dict[str, TaskData],
    store: Store,
    *,
    jobs: int | None = None,
    progress: Callable[[dict], None] | None = None,
    seconds: float | None = None,
) -> list[dict]:
    """Run the cells that are missing, and return the records of all, in the order of the plan.

    Cells that are in the store are not run again, except those that failed. Several processes may work on one
    store: each takes the cells that no other has. The timing protocol runs one cell at a time in this
    process.

    Parameters
    ----------
    plan : list of Cell
    tasks : dict of str to TaskData
    store : Store
    jobs : int or None
        Processes; -1 for all cores. None leaves it to the joblib backend that is active, which is how a Dask
        or Ray cluster is used (``joblib.parallel_config(backend="dask")``).
    progress : callable, optional
        Called with every record: first with those that were there, then with each new one.
    seconds : float, optional
        Of computing for each model; cells that begin after that, or would take longer, fail.
    """
    done = store.records()
    report = progress or (lambda record: None)
    kept = {cell.key for cell in plan if done.get(cell.key, {}).get("status") == "ok"}
    for key in kept:
        report(done[key])
    pending = {cell.key: cell for cell in plan if cell.key not in kept}
    if any(cell.protocol == "timing" for cell in plan):
        jobs = 1
    budget = Budget(seconds)
    with Claims(store.lock) as claims:
        while pending:
            before = len(pending)
            _one_pass(pending, tasks, store, claims, jobs, report, budget)
            if len(pending) == before:  # another process has all that is left
                time.sleep(PATIENCE)
                _take_over_from_others(pending, store, report)
    done = store.records()
    return [done[cell.key] for cell in plan]


class Budget:
    """Seconds of computing that each model has left."""

    def __init__(self, seconds):
        self.seconds, self._spent = seconds, Counter()

    def left(self, model) -> float | None:
        return None if self.seconds is None else self.seconds - self._spent[model]

    def spend(self, record) -> None:
        self._spent[record["cell"]["model"]] += record["seconds"]


def _one_pass(pending, tasks, store, claims, jobs, report, budget) -> None:
    """Run every cell that can be had; those of other processes stay pending."""
    mine = _claimed(list(pending.values()), pending, store, claims, report)
    parallel = Parallel(n_jobs=jobs, return_as="generator_unordered", pre_dispatch="2*n_jobs", batch_size=1)
    run = delayed(partial(_run_cell, os.getpid()))
    for record in parallel(run(cell, tasks[cell.dataset], budget.left(cell.model)) for cell in mine):
        store.append(record)
        budget.spend(record)
        claims.release(record["key"])
        pending.pop(record["key"], None)
        report(record)


def _run_cell(parent, *cell) -> dict:
    """Run a cell, here or in a worker, which is joblib's own or another backend's; its own end with their parent."""
    if current_process().name.startswith("Loky"):
        _end_with(parent)
    return run_cell(*cell)


@cache
def _end_with(parent) -> None:
    """End this process when its parent is gone: a worker that is left behind holds its memory and standard error."""

    def watch():
        while os.getppid() == parent:
            time.sleep(PATIENCE)
        os.kill(os.getpid(), signal.SIGTERM)

    threading.Thread(target=watch, daemon=True).start()


def _claimed(cells, pending, store, claims, report):
    """The cells, one by one as workers come free, that neither are done nor have been taken."""
    for cell in cells:
        if not claims.take(cell.key):
            continue
        record = store.records().get(cell.key)
        if record is not None and record["status"] == "ok":  # done by another process since we looked
            claims.release(cell.key)
            pending.pop(cell.key, None)
            report(record)
        else:
            yield cell


def _take_over_from_others(pending, store, report) -> None:
    done = store.records()
    for key in [key for key in pending if done.get(key, {}).get("status") == "ok"]:
        pending.pop(key)
        report(done[key])
