"""Output files: the one place where a file is written, and where it is checked beforehand that it can be."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["OutputError", "check_folder", "check_output", "open_output", "write_file", "writing"]


class OutputError(OSError):
    """A file that cannot be written; the message names it, which that of a full disk does not."""

    def __str__(self):
        return f"{self.filename} cannot be written: {self.strerror}"


def write_file(path, content: str | bytes) -> Path:
    """Write text (as UTF-8) or bytes to a file, see `open_output`; returns the path."""
    content = content.encode() if isinstance(content, str) else content
    with open_output(path) as stream:
        stream.write(content)
    return Path(path)


@contextmanager
def open_output(path):
    """Open a file for bytes that are written whole or not at all.

    A regular file, or one that does not exist, is written under another name in the same folder and renamed at the end.
    It keeps its mode, or has the one that the umask gives a new file; symbolic links are followed. A pipe, a device, and a
    file that a rename would take from its owner or its other names are written as they are.
    """
    with writing(path):
        Path(path).parent.mkdir(parents=True, exist_ok=True)
        known = _status(path)
        target = os.path.realpath(path)
        if known is not None and not _is_replaceable(known, os.path.dirname(target)):
            with open(path, "wb") as stream:
                yield stream
            return
        temporary, descriptor = _make_temporary(os.path.dirname(target), 0o666 if known is None else known.st_mode)
        try:
            with open(descriptor, "wb") as stream:
                yield stream
            if known is not None:
                os.chmod(temporary, stat.S_IMODE(known.st_mode))  # what the umask took from it
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


@contextmanager
def writing(path):
    """Turn errors of the operating system into an `OutputError` that names the file; a reader that left is no error."""
    try:
        yield
    except (BrokenPipeError, OutputError):
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror or str(error), str(path)) from error


def check_output(*paths) -> None:
    """Raise the error that writing files would raise, before the work and not after it: all but a disk that fills up.

    The folders of the files must exist; a path that is None is left out.
    """
    for path in filter(None, paths):
        with writing(path):
            _check(path)


def _check(path):
    known = _status(path)
    folder = os.path.dirname(os.path.realpath(path))
    if known is not None and stat.S_ISDIR(known.st_mode):
        raise OSError(errno.EISDIR, "it is a folder; name a file")
    if known is not None and (stat.S_ISSOCK(known.st_mode) or not os.access(path, os.W_OK)):
        raise PermissionError(errno.EACCES, os.strerror(errno.EACCES))
    if known is None and not os.path.isdir(folder):
        raise FileNotFoundError(errno.ENOENT, f"there is no folder {folder}")
    if known is None or _is_replaceable(known, folder):
        _try_temporary(folder)


def check_folder(path) -> None:
    """Raise the error that making a folder, unless it exists, and writing into it would raise."""
    path = Path(path).absolute()
    with writing(path):
        there = next(folder for folder in (path, *path.parents) if _status(folder) is not None)
        for name in path.relative_to(there).parts:
            _status(there / name)  # the system refuses a name that is too long, also of what does not exist
        _try_temporary(there)


def _try_temporary(folder):
    temporary, descriptor = _make_temporary(folder, 0o600)
    os.close(descriptor)
    os.unlink(temporary)


def _status(path):
    """Return the status of what a path leads to, None where there is nothing."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_replaceable(known, folder) -> bool:
    """Whether a rename does to a file what writing it does: a regular file of ours, under one name, in a folder of ours."""
    if not stat.S_ISREG(known.st_mode) or known.st_nlink > 1 or not os.access(folder, os.W_OK):
        return False
    return not hasattr(os, "geteuid") or (known.st_uid, known.st_gid) == (os.geteuid(), os.getegid())


def _make_temporary(folder, mode):
    """Make a file of a name that no other has, short whatever the target's name, with at most the given mode."""
    while True:
        path = os.path.join(folder, f".radiusmargin-{secrets.token_hex(6)}")
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            return path, os.open(path, flags, stat.S_IMODE(mode))
