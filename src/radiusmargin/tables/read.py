"""Read a user's file into a task."""

from __future__ import annotations

import atexit
import shutil
import sys
import tempfile
from dataclasses import replace
from functools import cache
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.impute import SimpleImputer

from . import formats
from .checks import MANY_VALUES, checked_task, clean_labels, listed, require_size
from .delimited import RawTable, read_csv
from .frames import table_task
from .numbers import read_numbers
from .options import ReadOptions
from .task import DataError, TaskData, UnknownNameError

__all__ = ["read_rows", "read_table", "read_texts"]

TARGET_NAMES = ("target", "class", "label", "y")


def read_table(path: str | Path, target: str | int | None = None, **options: Any) -> TaskData:
    """Read a file with a table of features and labels.

    The formats are CSV and TSV, ARFF and LIBSVM text (each also gzipped), spreadsheets (.xlsx), Parquet and npz. The types of the columns are
    inferred (:func:`~radiusmargin.tables.columns.column_kinds`) and reported in the ``messages`` of the result. Medians
    and categories are left to its ``encoder``, to be fitted on training rows.

    Parameters
    ----------
    path : str or Path
        "-" is standard input, for a CSV table.
    target : str, int or None
        The column with the labels, by name or by position (negative from the end). By default the column
        called target, class, label or y, in any case; else the last one. In an npz file, the name of the
        array of labels. A LIBSVM file has its labels in front, so there it must be None.
    **options
        As in :class:`ReadOptions`: what the table alone does not say.

    Returns
    -------
    TaskData

    Raises
    ------
    DataError
        If the file is missing, empty or unreadable, if two columns have the same name, if there is no such target, or
        if it holds one class only or features that are all constant; and where a guess would be needed to read it, with the
        options that answer the question.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toys.csv")
    >>> _ = path.write_text("size,hue,kind\\n1,red,ball\\n2,blue,ball\\n9,red,cube\\n", encoding="utf-8")
    >>> task = read_table(path)
    >>> task.feature_names, task.y.tolist()
    (('size', 'hue'), ['ball', 'ball', 'cube'])
    >>> task.encoded([0, 1, 2], [0])[1].tolist()  # size, blue, red
    [[1.0, 0.0, 1.0]]
    >>> print(task.note)
    no column is named target, class, label or y: the last one, 'kind', is the target; one-hot encoded: hue
    >>> folder.cleanup()
    """
    path, how = _local(path), ReadOptions(**options)
    suffix = kind_of_file(path)
    if suffix not in _FRAMES:
        how.require_text_table(path)
        return _ARRAYS[suffix](path, target)
    if isinstance(target, str) and not how.columns:
        how = replace(how, columns=(target,))
    raw = _FRAMES[suffix](path, how)
    column, said = choose_target(list(raw.frame.columns), target)
    is_class = raw.frame[column].nunique() <= MANY_VALUES
    numbers = read_numbers(raw, how, skip=[column] if is_class else ())
    return table_task(numbers, column, name=name_of_file(path), messages=said, options=how)


def read_rows(path, options=None, facts=None):
    """Read rows to predict, with or without labels: a data frame, or the features of an npz or LIBSVM file.

    `facts` are those of the model: columns that it takes as text stay text, and marks are those of its table where the rows
    leave them open.
    """
    path, options, facts = _local(path), options or ReadOptions(), facts or {}
    suffix = kind_of_file(path)
    if suffix in _FRAMES:
        kinds = facts.get("kinds") or {}
        raw = _FRAMES[suffix](path, replace(options, columns=tuple(facts.get("columns", ()))))
        skip = [name for name in raw.frame.columns if kinds and kinds.get(name) != "number"]
        rows = read_numbers(raw, options, skip=skip, usual=facts.get("decimal", ""))
        known = facts.get("decorations", {})
        for name, found in rows.decorations.items():
            if found != known.get(name, found):
                raise DataError(f"column {name!r} is in {found}, and was in {known[name]} where the model was fitted")
        return rows.frame
    if suffix == ".npz":
        arrays = formats.read_npz(path)
        found = next((arrays[key] for key in ("X", "data") if key in arrays), None)
        if found is None or found.ndim != 2:
            raise DataError(f"{path.name} needs a matrix X; it has {listed(arrays) or 'none'}")
        return found
    return formats.read_svmlight(path)[0].toarray()


def read_texts(path, options, facts):
    """Read the rows of a table as they are written: a data frame of text."""
    path, options = _local(path), replace(options, columns=tuple(facts.get("columns", ())))
    suffix = kind_of_file(path)
    if suffix not in _FRAMES:
        raise DataError(f"{path.name} has no named columns")
    if suffix in (".csv", ".tsv", ".txt"):
        options = replace(options, sep=options.sep or ("\t" if suffix == ".tsv" else None))
        return read_csv(path, options, as_text=True).frame
    frame = _FRAMES[suffix](path, options).frame
    return frame.astype(object).where(frame.notna(), "").astype(str)


@cache
def _standard_input() -> Path:
    """Copy standard input to a file, once, since a table is read several times; it is removed at the end."""
    folder = tempfile.mkdtemp(prefix="radiusmargin-")
    atexit.register(shutil.rmtree, folder, ignore_errors=True)
    path = Path(folder, "standard input.csv")
    path.write_bytes(sys.stdin.buffer.read())
    return path


def _local(path) -> Path:
    return _standard_input() if str(path) == "-" else Path(path)


def kind_of_file(path) -> str:
    """Return the file suffix that selects the reader, without .gz."""
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file")
    suffix = (path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix).lower()
    if suffix in (".xls", ".xlsb", ".ods", ".numbers"):
        raise DataError(f"{path.name}: unknown file format {suffix!r}; save it as CSV or .xlsx")
    if suffix not in (*_FRAMES, *_ARRAYS):
        raise DataError(f"{path.name}: unknown file format {suffix!r}; known are {', '.join((*_FRAMES, *_ARRAYS))}")
    return suffix


def name_of_file(path) -> str:
    """Return the name of a file with unprintable characters replaced.

    >>> name_of_file(Path("data/t\\x1b[2J.csv"))
    't�[2J.csv'
    """
    return "".join(character if character.isprintable() else "�" for character in path.name)


def choose_target(columns, target) -> tuple[str, list[str]]:
    """Return the name of the target column, and a message if it was guessed.

    >>> choose_target(["Class", "a"], None)
    ('Class', [])
    >>> choose_target(["a", "b"], -2)[0], choose_target(["a", "b"], "1")[0]
    ('a', 'b')
    """
    if target is None:
        lowered = [str(column).lower() for column in columns]
        for name in TARGET_NAMES:
            if name in lowered:
                return columns[lowered.index(name)], []
        reason = f"no column is named {', '.join(TARGET_NAMES[:-1])} or {TARGET_NAMES[-1]}"
        return columns[-1], [f"{reason}: the last one, {columns[-1]!r}, is the target"]
    if target in columns:
        return target, []
    try:  # a command line can only pass text, so "3" may be a position
        return columns[int(target)], []
    except (ValueError, IndexError):
        raise UnknownNameError(f"there is no column {target!r}; the columns are {listed(columns, 30)}") from None


def _read_npz(path, target) -> TaskData:
    arrays = formats.read_npz(path)
    X, y, target, messages = _features_and_labels(path, arrays, target)
    require_size(path, X.shape[1])
    names = arrays.get("feature_names", np.array([f"x{j + 1}" for j in range(X.shape[1])]))
    if names.shape != X.shape[1:]:
        raise DataError(f"{path.name}: feature_names of shape {names.shape} for {X.shape[1]} features")
    if X.dtype.kind not in "fiub":
        raise DataError(f"{path.name}: the features are of type {X.dtype}, not numbers")
    y = clean_labels(y, target)
    gaps = np.isnan(X.astype(float))
    if not gaps.any():
        return checked_task(name_of_file(path), X.astype(float), y, names, messages=messages)
    messages.append(f"missing values, filled with the median of the training rows: {listed(names[gaps.any(axis=0)])}")
    encoder = SimpleImputer(strategy="median", keep_empty_features=True)
    task = checked_task(name_of_file(path), np.where(gaps, 0.0, X), y, names, messages=messages)
    return replace(task, X=X.astype(float), encoder=encoder)


def _features_and_labels(path, arrays, target):
    """Take X and y from the arrays of an npz file: separate arrays, or one matrix that holds both."""
    features = next((key for key in ("X", "data") if key in arrays), None)
    if features is None:
        if len(arrays) != 1 or next(iter(arrays.values())).ndim != 2:
            raise DataError(f"{path.name} needs arrays X and y; it has {listed(arrays) or 'none'}")
        matrix = next(iter(arrays.values()))
        column, messages = choose_target([f"x{j + 1}" for j in range(matrix.shape[1])], target)
        j = int(column[1:]) - 1
        return np.delete(matrix, j, axis=1), matrix[:, j], column, messages
    others = [key for key in arrays if key != features]
    label = target if target is not None else next((k for k in others if k.lower() in TARGET_NAMES), None)
    if label not in others:
        wanted = "array y" if target is None else f"array {target!r}"
        raise DataError(f"{path.name} has no {wanted} of labels; it has {listed(arrays)}")
    X, y = arrays[features], arrays[label]
    if X.ndim != 2 or y.shape != (len(X),):
        raise DataError(f"{path.name}: {features} of shape {X.shape} and {label} of shape {y.shape} do not match")
    return X, y, label, []


def _read_libsvm(path, target) -> TaskData:
    if target is not None:
        raise DataError(f"{path.name}: a LIBSVM file has the label at the start of each line; leave out the target")
    X, y = formats.read_svmlight(path)
    names = [f"x{j + 1}" for j in range(X.shape[1])]
    return checked_task(name_of_file(path), X, clean_labels(y, "label"), names)


_FRAMES = {
    ".csv": read_csv,
    ".tsv": lambda path, options: read_csv(path, replace(options, sep=options.sep or "\t")),
    ".txt": read_csv,
    ".xlsx": lambda path, options: RawTable(*formats.read_excel(path, options)),
    ".parquet": lambda path, options: RawTable(*formats.read_parquet(path)),
    ".arff": lambda path, options: RawTable(*formats.read_arff(path)),
}
_ARRAYS = {".npz": _read_npz, ".svm": _read_libsvm, ".libsvm": _read_libsvm}
