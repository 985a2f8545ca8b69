"""The store of results: one line of JSON per cell, appended and never rewritten.

A record is written with a single ``write`` to a file opened for appending and synced to the disk, so that
several processes may share a store and a process that is killed loses the cells it was working on and nothing
else. A line that was torn by a crash, or is no record of ours, is read past and counted; the next writer closes it.
"""

from __future__ import annotations

import errno
import json
import os
import signal
import threading
import time
from collections import Counter
from collections.abc import Callable
from functools import cache, partial
from multiprocessing import current_process
from pathlib import Path

from joblib import Parallel, delayed

from .._writing import OutputError, check_output, writing
from ..tables import TaskData
from .cells import run_cell
from .plan import Cell

try:
    import fcntl
except ImportError:  # Windows: processes that share a store may then do a cell twice, which is harmless
    fcntl = None


class Store:
    """An append-only file of records.

    Parameters
    ----------
    path : str or Path
        Made with its folder at the first record.

    Examples
    --------
    >>> import tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> store = Store(Path(folder.name, "cells.jsonl"))
    >>> store.append({"key": "a", "status": "ok", "cell": {}, "accuracy": 0.9, "seconds": 1.0, "warnings": [],
    ...               "provenance": {}})
    >>> store.records()["a"]["accuracy"], store.note
    (0.9, '')
    >>> folder.cleanup()
    """

    def __init__(self, path):
        self.path = Path(path)
        self._offset = 0
        self._records: dict[str, dict] = {}
        self._n_passed = 0
        self._reading = threading.Lock()

    def check(self) -> None:
        """Raise the error that writing records would raise, before there are any."""
        check_output(self.path, self.lock)
        if self.path.exists() and not self.path.is_file():
            raise OutputError(errno.EINVAL, "a store is read again, which takes a regular file", str(self.path))

    @property
    def lock(self) -> Path:
        """The file of the `Claims` on its cells."""
        return self.path.with_suffix(".lock")

    def append(self, record: dict) -> None:
        """Write a record, whole and synced."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":"), default=str).encode() + b"\n"
        with writing(self.path):
            self.path.parent.mkdir(parents=True, exist_ok=True)
            descriptor = os.open(self.path, os.O_RDWR | os.O_APPEND | os.O_CREAT, 0o666)
            try:
                if self._is_torn(descriptor):
                    line = b"\n" + line
                written = os.write(descriptor, line)
                if written != len(line):
                    raise OSError(errno.ENOSPC, f"{written} of {len(line)} bytes written; is the disk full?")
                os.fsync(descriptor)
            finally:
                os.close(descriptor)

    @staticmethod
    def _is_torn(descriptor) -> bool:
        size = os.fstat(descriptor).st_size
        if not size:
            return False
        os.lseek(descriptor, size - 1, os.SEEK_SET)
        return os.read(descriptor, 1) != b"\n"

    def records(self) -> dict[str, dict]:
        """All records by key, read on from where the last call stopped.

        A success is never replaced by a failure; else the later record of a key counts.
        """
        with self._reading:
            for line in self._new_lines():
                record = _parsed(line)
                if record is None:
                    self._n_passed += bool(line.strip())
                    continue
                known = self._records.get(record["key"])
                if known is None or known["status"] != "ok" or record["status"] == "ok":
                    self._records[record["key"]] = record
            return self._records

    @property
    def note(self) -> str:
        """What was read past, in a sentence; empty where all lines are records."""
        if not self._n_passed:
            return ""
        lines = "1 line is" if self._n_passed == 1 else f"{self._n_passed} lines are"
        return f"{self.path}: {lines} torn or no record of ours, and read past; cells that are missing are run again."

    def _new_lines(self):
        if not self.path.exists():
            return []
        with open(self.path, "rb") as stream:
            stream.seek(self._offset)
            data = stream.read()
        whole = data.rfind(b"\n") + 1  # what follows is being written, or torn
        self._offset += whole
        return data[:whole].splitlines()


#: What the tables read of every record, and of those that succeeded or failed.
FIELDS = {"key": str, "status": str, "cell": dict, "seconds": int | float, "warnings": list, "provenance": dict}
BY_STATUS = {"ok": {"accuracy": int | float}, "error": {"error": str}}

#: The same of those that succeeded with a quantity.
OF_QUANTITY = {"r2": int | float}


def _parsed(line):
    """The record of a line, None for one that was torn or is not ours."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("status") not in ("ok", "error"):
        return None
    fields = FIELDS | (OF_QUANTITY if "r2" in record else BY_STATUS[record["status"]])
    return record if all(isinstance(record.get(name), kind) for name, kind in fields.items()) else None


class Claims:
    """Which process works on which cell: locks that the system drops when their process dies.

    A cell is one byte of a lock file, at the place its hash gives, so that nothing is left to clean up.
    """

    def __init__(self, path):
        self.path = Path(path)
        self._file = None

    def __enter__(self):
        if fcntl is not None:
            with writing(self.path):
                self.path.parent.mkdir(parents=True, exist_ok=True)
                self._file = open(self.path, "a+b")
        return self

    def __exit__(self, *exception):
        if self._file is not None:
            self._file.close()
            self._file = None

    def take(self, key: str) -> bool:
        """Tell whether the cell is ours now; False if another process has it."""
        if self._file is None:
            return True
        try:
            fcntl.lockf(self._file, fcntl.LOCK_EX | fcntl.LOCK_NB, 1, _place(key))
        except (BlockingIOError, PermissionError):
            return False
        return True

    def release(self, key: str) -> None:
        if self._file is not None:
            fcntl.lockf(self._file, fcntl.LOCK_UN, 1, _place(key))


def _place(key):
    return int(key[:15], 16)


# -- Carry out a plan: whatever the store does not hold yet, in any order, on any joblib backend ----------------------


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
        Processor seconds for each model, those of the cells in the store included; cells that begin after that, or
        would take longer, fail.
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
    for key in kept:
        budget.spend(done[key])
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
    """Processor seconds that each model has left."""

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


__all__ = ["Claims", "Store", "execute"]
