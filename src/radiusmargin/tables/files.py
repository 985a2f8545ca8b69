"""Opening a user's file: bounded where it is packed, and with one kind of error for whatever is wrong with it."""

from __future__ import annotations

import csv
import gzip
import io
import struct
import tokenize
import zipfile
import zlib
from contextlib import contextmanager
from pathlib import Path

from .task import DataError

__all__ = ["open_binary", "readable", "require_no_bomb"]

#: What a packed file may become: so many bytes, or so many times its own size. Beyond both it is taken for a bomb.
MOST_UNPACKED, MOST_RATIO = 2**30, 100

#: What the format libraries raise on a bad file.
UNREADABLE = (
    OSError,  # no permission, a folder, not gzip after all; SciPy's ArffError
    EOFError,  # a gzip file that was cut off
    zlib.error,  # a gzip file that was damaged
    ValueError,  # malformed content, of pandas, NumPy and scikit-learn
    NotImplementedError,  # what SciPy raises for ARFF attributes of texts or dates, and zipfile for other compressions
    zipfile.BadZipFile,  # an npz file that was cut off or damaged
    RuntimeError,  # an encrypted zip
    MemoryError,  # an array that is announced larger than it can be
    OverflowError,  # a number of more than 64 bits where an integer is wanted
    KeyError, IndexError, TypeError, AttributeError, SyntaxError, struct.error, tokenize.TokenError,  # headers
    csv.Error,  # a field longer than the csv module takes
)  # fmt: skip


@contextmanager
def readable(path):
    """Failures of the format libraries as one kind of error that names the file."""
    try:
        yield
    except DataError:
        raise
    except FileNotFoundError as error:
        raise DataError(f"there is no file {path}") from error
    except UnicodeDecodeError as error:
        raise DataError(
            f"{path} is not UTF-8 text (byte {error.object[error.start]:#04x} at {error.start});"
            " save it as UTF-8 and try again"
        ) from error
    except UNREADABLE as error:
        told = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path} cannot be read: {told}") from error


def open_binary(path):
    """The bytes of a file, unpacked where its name ends in .gz."""
    if Path(path).suffix == ".gz":
        return io.BufferedReader(_Unpacked(path), 2**18)
    return open(path, "rb")


class _Unpacked(io.RawIOBase):
    """What a gzip file holds, as long as that is no bomb."""

    def __init__(self, path):
        self._path, self._stream, self._n_bytes = path, gzip.GzipFile(path, "rb"), 0

    def readable(self):
        return True

    def readinto(self, buffer):
        chunk = self._stream.read(len(buffer))
        self._n_bytes += len(chunk)
        require_no_bomb(self._path, self._n_bytes)
        buffer[: len(chunk)] = chunk
        return len(chunk)

    def close(self):
        self._stream.close()
        super().close()


def require_no_bomb(path, n_bytes):
    """Refuse what unpacks to far more than its size, before it fills the memory."""
    if n_bytes > max(MOST_UNPACKED, MOST_RATIO * Path(path).stat().st_size):
        raise DataError(
            f"{path} unpacks to {n_bytes / 2**30:.3g} GB or more, over {MOST_RATIO} times its size: it is not read;"
            " unpack it yourself if it is meant"
        )
