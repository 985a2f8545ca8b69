"""Write output files, and check beforehand that they can be written."""

from __future__ import annotations

import errno
import os
import secrets
import stat
from contextlib import contextmanager, suppress
from pathlib import Path

__all__ = ["OutputError", "check_folder", "check_output", "open_output", "write_file", "writing"]


class OutputError(OSError):
    """A file that cannot be written; the message names the file, which that of a full disk does not."""

    def __str__(self):
        return f"{self.filename} cannot be written: {self.strerror}"


def write_file(path, content: str | bytes) -> Path:
    """Write text (as UTF-8) or bytes to a file by `open_output`; return the path."""
    content = content.encode() if isinstance(content, str) else content
    with open_output(path) as stream:
        stream.write(content)
    return Path(path)


@contextmanager
def open_output(path):
    """Open a file for writing bytes atomically.

    A regular or new file is written under a temporary name in the same folder and renamed at the end. It keeps its mode;
    a new file gets that of the umask. Symbolic links are followed. Pipes, devices, hard-linked files and files of another
    owner are written in place.
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
                os.chmod(temporary, stat.S_IMODE(known.st_mode))  # the umask may have cleared bits
            os.replace(temporary, target)
        except BaseException:
            with suppress(FileNotFoundError):
                os.unlink(temporary)
            raise


@contextmanager
def writing(path):
    """Turn errors of the operating system into an `OutputError` that names the file; a broken pipe is passed on."""
    try:
        yield
    except (BrokenPipeError, OutputError):
        raise
    except OSError as error:
        raise OutputError(error.errno, error.strerror or str(error), str(path)) from error


def check_output(*paths) -> None:
    """Raise the error that writing files would raise, except for a full disk, before the work starts.

    The folders of the files must exist. Paths that are None are ignored.
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
            _status(there / name)  # raises for a name that is too long, even if there is no such file
        _try_temporary(there)


def _try_temporary(folder):
    temporary, descriptor = _make_temporary(folder, 0o600)
    os.close(descriptor)
    os.unlink(temporary)


def _status(path):
    """Return the status of a path, following links; None if it does not exist."""
    try:
        return os.stat(path)
    except FileNotFoundError:
        return None


def _is_replaceable(known, folder) -> bool:
    """Whether replacing a file is the same as writing it: a regular file of ours without hard links, in our folder."""
    if not stat.S_ISREG(known.st_mode) or known.st_nlink > 1 or not os.access(folder, os.W_OK):
        return False
    return not hasattr(os, "geteuid") or (known.st_uid, known.st_gid) == (os.geteuid(), os.getegid())


def _make_temporary(folder, mode):
    """Create a file under a new, short name, with at most the given mode."""
    while True:
        path = os.path.join(folder, f".radiusmargin-{secrets.token_hex(6)}")
        with suppress(FileExistsError):
            flags = os.O_WRONLY | os.O_CREAT | os.O_EXCL | getattr(os, "O_BINARY", 0)
            return path, os.open(path, flags, stat.S_IMODE(mode))
