"""File formats: each function reads one kind of file, and refuses in a sentence what it cannot read."""

from __future__ import annotations

import csv
import io
import re
from pathlib import Path

import numpy as np
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

from .checks import import_pandas, listed, require_size
from .delimited import require_unique
from .files import open_binary, readable, require_no_bomb
from .task import DataError, MissingDependencyError

__all__ = ["read_arff", "read_idx", "read_npz", "read_parquet", "read_svmlight"]

#: Columns of a LIBSVM file, whose last index is all there is to tell how many it has.
MOST_COLUMNS = 10_000_000


def read_parquet(path):
    """A Parquet file as a data frame (needs pyarrow), and no messages."""
    pd = import_pandas()
    if not Path(path).exists():
        raise DataError(f"there is no file {path}")
    try:
        with readable(path):
            from pyarrow import parquet

            names = parquet.read_schema(path).names
            require_size(path, len(names), names)
            frame = pd.read_parquet(path)
    except ImportError as error:
        raise MissingDependencyError(
            "reading Parquet needs pyarrow, which is not installed: pip install pyarrow"
        ) from error
    frame.columns = [str(name) for name in frame.columns]
    require_unique(frame.columns, path)
    if frame.empty:
        raise DataError(f"{path} is empty")
    for name in frame.columns[frame.dtypes.astype(str) == "object"]:
        frame[name] = frame[name].map(_decoded)
    return frame, []


def _decoded(value):
    """Text in place of bytes, which is how some programs write text; what is no text keeps its differences."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def read_arff(path):
    """An ARFF file as a data frame, nominal attributes as text, and no messages."""
    pd = import_pandas()
    with readable(path):
        with open_binary(path) as stream:
            text = stream.read().decode("utf-8-sig")
        names = re.findall(r"""(?im)^\s*@attribute\s+('[^']*'|"[^"]*"|\S+)""", text)
        require_size(path, len(names), names)
        try:
            records, meta = arff.loadarff(io.StringIO(text))
        except StopIteration:  # how SciPy's reader ends on a file without a header
            raise DataError(f"{path} is empty, or has no @data section") from None
        except IndexError:
            raise DataError(f"{path} has a row with fewer values than attributes") from None
        _require_as_many_values(path, text, len(meta.names()))
    frame = pd.DataFrame({name: records[name] for name in meta.names()})
    for column in [name for name in meta.names() if meta[name][0] == "nominal"]:
        text = frame[column].str.decode("utf-8")
        frame[column] = text.mask(text == "?")
    if frame.empty:
        raise DataError(f"{path} has no rows")
    return frame, []


def _require_as_many_values(path, text, n_attributes):
    """SciPy's reader passes over values beyond the last attribute."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().lower().startswith("@data")) + 1
    for number, line in enumerate(lines[start:], start + 1):
        if not line.strip() or line.lstrip().startswith("%") or line.count(",") < n_attributes:
            continue
        if all(len(next(csv.reader([line], quotechar=quote, skipinitialspace=True))) > n_attributes for quote in "'\""):
            raise DataError(f"{path} has more values in line {number} than its {n_attributes} attributes")


def read_npz(path) -> dict[str, np.ndarray]:
    """The arrays of an ``.npz`` file; pickled objects are refused, since loading one runs its code."""
    with readable(path), open(path, "rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise DataError(f"{path} holds a bare array, not an .npz archive")
        require_no_bomb(path, sum(member.file_size for member in archive.zip.infolist()))
        arrays = {key: archive[key] for key in archive.files}
    foreign = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
    if foreign:
        raise DataError(f"{path} is a zip file, but no .npz archive: it holds {listed(foreign)}")
    return arrays


def read_svmlight(path, *, zero_based="auto", n_features=None):
    """A LIBSVM/SVMlight text file, gzipped or not: sparse X and y."""
    with readable(path), open_binary(path) as stream:
        X, y = load_svmlight_file(stream, zero_based=zero_based, n_features=n_features)
    if not X.shape[0]:
        raise DataError(f"{path} is empty")
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(
            f"{path} has an index of {X.shape[1]:,}; at most {MOST_COLUMNS:,} columns are read: renumber them"
        )
    return X, y


def read_idx(path) -> np.ndarray:
    """An array of bytes in the IDX format of MNIST, gzipped or not.

    Two zero bytes, a type code (8: unsigned byte), the number of axes, their lengths as big-endian 32-bit
    integers, then the values in C order.
    """
    with readable(path):
        with open_binary(path) as stream:
            content = stream.read()
        if len(content) < 4 or content[:3] != b"\x00\x00\x08":
            raise DataError(f"{path} is not an IDX file of bytes: it starts with {content[:4].hex(' ')!r}")
        n_axes = content[3]
        shape = tuple(np.frombuffer(content, ">u4", count=n_axes, offset=4).tolist())
        values = np.frombuffer(content, np.uint8, offset=4 + 4 * n_axes)
        if values.size != np.prod(shape, dtype=int):
            raise DataError(f"{path} announces shape {shape} but holds {values.size} values")
        return values.reshape(shape)
