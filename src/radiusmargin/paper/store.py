"""The store of results: one line of JSON per cell, appended and never rewritten.

A record is written with a single ``write`` to a file opened for appending and synced to the disk, so that
several processes may share a store and a process that is killed loses the cells it was working on and nothing
else. A line that was torn by a crash, or is no record of ours, is read past and counted; the next writer closes it.
"""

from __future__ import annotations

import errno
import json
import os
import threading
from pathlib import Path

try:
    import fcntl
except ImportError:  # Windows: processes that share a store may then do a cell twice, which is harmless
    fcntl = None

from .._writing import OutputError, check_output, writing

__all__ = ["Claims", "Store"]


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


def _parsed(line):
    """The record of a line, None for one that was torn or is not ours."""
    try:
        record = json.loads(line)
    except (ValueError, RecursionError):
        return None
    if not isinstance(record, dict) or record.get("status") not in ("ok", "error"):
        return None
    fields = FIELDS | BY_STATUS[record["status"]]
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
        """Whether the cell is ours now; False if another process has it."""
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
