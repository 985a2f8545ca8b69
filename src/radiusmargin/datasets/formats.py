"""File formats: each function reads one kind of file, and refuses in a sentence what it cannot read."""

from __future__ import annotations

import csv
import gzip
import warnings
import zlib
from contextlib import contextmanager
from pathlib import Path

import numpy as np
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

from radiusmargin.datasets.checks import listed
from radiusmargin.datasets.encode import import_pandas
from radiusmargin.datasets.task import DataError, MissingDependencyError

__all__ = ["read_arff", "read_csv", "read_idx", "read_npz", "read_parquet", "read_svmlight"]

#: Cells that stand for "not known" in a text table. pandas' own longer list would also swallow "None",
#: which is a category in many tables.
MISSING = ("", "?", "NA", "N/A", "#N/A", "NaN", "nan", "null", "NULL")

#: What the format libraries raise on a bad file.
UNREADABLE = (
    OSError,  # no permission, a folder, not gzip after all; SciPy's ArffError
    EOFError,  # a gzip file that was cut off
    zlib.error,  # a gzip file that was damaged
    ValueError,  # malformed content, of pandas, NumPy and scikit-learn
    NotImplementedError,  # SciPy, of ARFF attributes that are neither numbers nor categories
)


@contextmanager
def _readable(path):
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
        raise DataError(f"{path} cannot be read: {error}") from error


def _open_text(path):
    opener = gzip.open if Path(path).suffix == ".gz" else open
    return opener(path, "rt", encoding="utf-8-sig", newline="")


def read_csv(path, separator=None):
    """A delimited text file as a data frame, and messages about what was guessed.

    The separator is the most frequent of comma, semicolon and tab in the first line unless given. A first
    line of numbers only is a row, not a header.
    """
    pd = import_pandas()
    with _readable(path):
        with _open_text(path) as lines:
            first, skipped = "", 0
            for first in lines:
                if first.strip():
                    break
                skipped += 1
        if not first.strip():
            raise DataError(f"{path} is empty")
        messages = []
        if separator is None:
            separator = max(",;\t", key=first.count)
            if separator != ",":
                messages.append("columns are separated by " + {";": "semicolons", "\t": "tabs"}[separator])
        names = [cell.strip() for cell in next(csv.reader([first], delimiter=separator))]
        if all(_is_number(cell) for cell in names):
            names = [f"x{j + 1}" for j in range(len(names))]
            messages.append("no header line: columns are called x1, x2, …")
        else:
            skipped += 1
            require_unique(names, path)
        return _parse_csv(pd, path, separator, names, skipped), messages


def _parse_csv(pd, path, separator, names, skipped):
    with warnings.catch_warnings():
        # pandas only warns when rows are longer than the header, and then drops cells
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(
                path, sep=separator, header=None, names=names, skiprows=skipped, index_col=False,
                na_values=list(MISSING), keep_default_na=False, skipinitialspace=True, encoding="utf-8-sig",
                low_memory=False,
            )  # fmt: skip
        except pd.errors.ParserWarning as error:
            raise DataError(f"{path} cannot be read: {error}") from error
    if frame.empty:
        raise DataError(f"{path} has a header line but no rows")
    return frame


def _is_number(cell):
    try:
        float(cell)
    except ValueError:
        return False
    return True


def require_unique(names, path):
    repeated = sorted({str(name) for name in names if list(names).count(name) > 1})
    if repeated:
        raise DataError(f"{path} has columns of the same name: {listed(repeated)}; rename them")


def read_parquet(path):
    """A Parquet file as a data frame (needs pyarrow), and no messages."""
    pd = import_pandas()
    if not Path(path).exists():
        raise DataError(f"there is no file {path}")
    try:
        with _readable(path):
            frame = pd.read_parquet(path)
    except ImportError as error:
        raise MissingDependencyError(
            "reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from error
    frame.columns = [str(name) for name in frame.columns]
    require_unique(frame.columns, path)
    if frame.empty:
        raise DataError(f"{path} is empty")
    return frame, []


def read_arff(path):
    """An ARFF file as a data frame, nominal attributes as text, and no messages."""
    pd = import_pandas()
    with _readable(path), _open_text(path) as lines:
        try:
            records, meta = arff.loadarff(lines)
        except StopIteration:  # how SciPy's reader ends on a file without a header
            raise DataError(f"{path} is empty, or has no @data section") from None
    frame = pd.DataFrame({name: records[name] for name in meta.names()})
    for column in [name for name in meta.names() if meta[name][0] == "nominal"]:
        text = frame[column].str.decode("utf-8")
        frame[column] = text.mask(text == "?")
    if frame.empty:
        raise DataError(f"{path} has no rows")
    return frame, []


def read_npz(path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file; pickled objects are refused, since loading one runs its code."""
    with _readable(path):
        archive = np.load(path, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise DataError(f"{path} holds a bare array, not an .npz archive")
        with archive:
            return {key: archive[key] for key in archive.files}


def read_svmlight(path, *, zero_based="auto", n_features=None):
    """A LIBSVM/SVMlight text file, gzipped or not: sparse X and y."""
    with _readable(path):
        X, y = load_svmlight_file(str(path), zero_based=zero_based, n_features=n_features)
    if not X.shape[0]:
        raise DataError(f"{path} is empty")
    return X, y


def read_idx(path) -> np.ndarray:
    """An array of bytes in the IDX format of MNIST, gzipped or not.

    Two zero bytes, a type code (8: unsigned byte), the number of axes, their lengths as big-endian 32-bit
    integers, then the values in C order.
    """
    opener = gzip.open if Path(path).suffix == ".gz" else open
    with _readable(path):
        with opener(path, "rb") as stream:
            content = stream.read()
        if len(content) < 4 or content[:3] != b"\x00\x00\x08":
            raise DataError(f"{path} is not an IDX file of bytes: it starts with {content[:4].hex(' ')!r}")
        n_axes = content[3]
        shape = tuple(np.frombuffer(content, ">u4", count=n_axes, offset=4).tolist())
        values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
        if values.size != np.prod(shape, dtype=int):
            raise DataError(f"{path} announces shape {shape} but holds {values.size} values")
        return values.reshape(shape)
