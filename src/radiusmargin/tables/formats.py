"""Readers of file formats, one function each; a DataError says what cannot be read."""

from __future__ import annotations

import csv
import io
import re
import zipfile
from pathlib import Path

import numpy as np
from scipy.io import arff
from sklearn.datasets import load_svmlight_file

from .checks import import_pandas, listed, require_size
from .delimited import SAMPLE_LINES, header_and_rows, require_unique, without_blanks
from .files import open_binary, readable, require_no_bomb
from .task import DataError, MissingDependencyError

__all__ = ["read_arff", "read_excel", "read_idx", "read_npz", "read_parquet", "read_svmlight"]

#: Limit on the columns of a LIBSVM file, whose number is known from the largest index only.
MOST_COLUMNS = 10_000_000


def read_parquet(path):
    """Read a Parquet file (needs pyarrow); return a data frame and an empty list of messages."""
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
    """Decode bytes, which some programs write for text; invalid bytes are escaped, so that values stay distinct."""
    return value.decode(errors="backslashreplace") if isinstance(value, bytes) else value


def read_excel(path, options):
    """Read a sheet of a spreadsheet (needs openpyxl); return a data frame and messages about what was inferred."""
    pd = import_pandas()
    with readable(path):
        with zipfile.ZipFile(path) as archive:
            require_no_bomb(path, sum(member.file_size for member in archive.infolist()))
        try:
            sheets = pd.read_excel(
                path, sheet_name=None, header=None, dtype=object, engine="openpyxl", keep_default_na=False
            )
        except ImportError as error:
            raise MissingDependencyError(
                "reading spreadsheets needs openpyxl, which is not installed: pip install openpyxl, or save the sheet as CSV"
            ) from error
    names = [name for name, cells in sheets.items() if not cells.empty]
    if not names or (options.sheet is not None and options.sheet not in sheets):
        raise DataError(
            f"{path} has no sheet {options.sheet!r}; it has {listed(sheets)}" if names else f"{path} is empty"
        )
    name = options.sheet or names[0]
    messages = [f"sheet {name!r} of {listed(names)}"] if len(names) > 1 and options.sheet is None else []
    cells = without_blanks(sheets[name], options.missing)
    cells = cells[cells.notna().any(axis=1)]
    shown = cells.head(SAMPLE_LINES).astype(object).where(cells.head(SAMPLE_LINES).notna(), "").astype(str)
    header, n_above = header_and_rows(
        path, [[cell.strip() for cell in row] for row in shown.to_numpy()], options, messages
    )
    require_size(path, len(header), header)
    require_unique(header, path)
    frame = cells.iloc[n_above:].reset_index(drop=True).infer_objects()
    frame.columns = header
    if frame.empty:
        raise DataError(f"{path} has a header line but no rows")
    return frame, messages


def read_arff(path):
    """Read an ARFF file; return a data frame, nominal attributes as text, and an empty list of messages."""
    pd = import_pandas()
    with readable(path):
        with open_binary(path) as stream:
            text = stream.read().decode("utf-8-sig")
        names = re.findall(r"""(?im)^\s*@attribute\s+('[^']*'|"[^"]*"|\S+)""", text)
        require_size(path, len(names), names)
        try:
            records, meta = arff.loadarff(io.StringIO(text))
        except StopIteration:  # raised by SciPy's reader on a file without a header
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
    """Raise a DataError for rows with too many values, which SciPy's reader ignores."""
    lines = text.splitlines()
    start = next(i for i, line in enumerate(lines) if line.strip().lower().startswith("@data")) + 1
    for number, line in enumerate(lines[start:], start + 1):
        if not line.strip() or line.lstrip().startswith("%") or line.count(",") < n_attributes:
            continue
        if all(len(next(csv.reader([line], quotechar=quote, skipinitialspace=True))) > n_attributes for quote in "'\""):
            raise DataError(f"{path} has more values in line {number} than its {n_attributes} attributes")


def read_npz(path) -> dict[str, np.ndarray]:
    """Read the arrays of an ``.npz`` file; pickled objects are refused, since loading one runs its code."""
    with readable(path), open(path, "rb") as stream:
        archive = np.load(stream, allow_pickle=False)
        if isinstance(archive, np.ndarray):
            raise DataError(f"{path} holds a bare array, not an .npz archive")
        require_no_bomb(path, sum(member.file_size for member in archive.zip.infolist()))
        arrays = {key: archive[key] for key in archive.files}
    foreign = [key for key, array in arrays.items() if not isinstance(array, np.ndarray)]
    if foreign:
        raise DataError(f"{path} is a zip file but not an .npz archive: it holds {listed(foreign)}")
    return arrays


def read_svmlight(path, *, zero_based="auto", n_features=None):
    """Read a LIBSVM/SVMlight text file, gzipped or not; return sparse X and y."""
    with readable(path), open_binary(path) as stream:
        X, y = load_svmlight_file(stream, zero_based=zero_based, n_features=n_features)
    if not X.shape[0]:
        raise DataError(f"{path} is empty")
    if X.shape[1] > MOST_COLUMNS:
        raise DataError(
            f"{path} has a column index of {X.shape[1]:,}, more than the limit of {MOST_COLUMNS:,}: renumber the columns"
        )
    return X, y


def read_idx(path) -> np.ndarray:
    """Read an array of bytes in the IDX format of MNIST, gzipped or not.

    The format is two zero bytes, a type code (8: unsigned byte), the number of axes, their lengths as big-endian
    32-bit integers, then the values in C order.
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
            raise DataError(f"{path} declares shape {shape} but holds {values.size} values")
        return values.reshape(shape)
