"""Open a user's file: limit the size of what is decompressed, and raise one type of error for whatever is wrong."""

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

#: Limits of a decompressed file: bytes, and multiples of its own size. Beyond both it is taken for a decompression bomb.
MOST_UNPACKED, MOST_RATIO = 2**30, 100

#: Exceptions that the format libraries raise on a bad file.
UNREADABLE = (
    OSError,  # no permission, a folder, not gzip; SciPy's ArffError
    EOFError,  # a truncated gzip file
    zlib.error,  # a damaged gzip file
    ValueError,  # malformed content, from pandas, NumPy and scikit-learn
    NotImplementedError,  # ARFF attributes of type string or date (SciPy), unknown compression methods (zipfile)
    zipfile.BadZipFile,  # a truncated or damaged npz file
    RuntimeError,  # an encrypted zip
    MemoryError,  # a header that declares too large an array
    OverflowError,  # an integer of more than 64 bits
    KeyError, IndexError, TypeError, AttributeError, SyntaxError, struct.error, tokenize.TokenError,  # bad headers
    csv.Error,  # a field longer than the limit of the csv module
)  # fmt: skip


@contextmanager
def readable(path):
    """Context manager: turn the exceptions of the format libraries into a DataError that names the file."""
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
        reason = " ".join(str(error).split()) or type(error).__name__
        raise DataError(f"{path} cannot be read: {reason}") from error


def open_binary(path):
    """Open a file for reading bytes; decompress it if its name ends in .gz."""
    if Path(path).suffix == ".gz":
        return io.BufferedReader(_Unpacked(path), 2**18)
    return open(path, "rb")


class _Unpacked(io.RawIOBase):
    """Stream of a decompressed gzip file, with a limit on its size."""

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
    """Raise a DataError for a decompression bomb, before it fills the memory."""
    if n_bytes > max(MOST_UNPACKED, MOST_RATIO * Path(path).stat().st_size):
        raise DataError(
            f"{path} decompresses to {n_bytes / 2**30:.3g} GB or more, over {MOST_RATIO} times its size, and is not read;"
            " decompress it first if that is intended"
        )
