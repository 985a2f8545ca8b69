"""A user's own file as a task."""

from __future__ import annotations

from pathlib import Path

import numpy as np

from radiusmargin.datasets import formats
from radiusmargin.datasets.checks import checked_task, clean_labels, impute_median, listed
from radiusmargin.datasets.delimited import read_csv
from radiusmargin.datasets.encode import encode_frame
from radiusmargin.datasets.task import DataError, TaskData, UnknownNameError

__all__ = ["read_table"]

TARGET_NAMES = ("target", "class", "label", "y")


def read_table(path, target=None) -> TaskData:
    """Read a file with a table of features and labels.

    Takes CSV and TSV, ARFF and LIBSVM text (each also gzipped), Parquet and npz. Text columns are one-hot
    encoded and missing values filled (see :func:`~radiusmargin.datasets.encode.encode_frame`); whatever was
    done or guessed is told in the ``messages`` of the result.

    Parameters
    ----------
    path : str or Path
    target : str, int or None
        The column with the labels, by name or by position (negative from the end). By default the column
        called target, class, label or y, in any case; else the last one. In an npz file, the name of the
        array of labels. A LIBSVM file has its labels in front, so there it must be None.

    Returns
    -------
    TaskData

    Raises
    ------
    DataError
        If the file is missing, empty or not readable, has two columns of one name or no such target, if it
        holds one class only, or features that are all constant.

    Examples
    --------
    >>> import pathlib, tempfile
    >>> folder = tempfile.TemporaryDirectory()
    >>> path = pathlib.Path(folder.name, "toys.csv")
    >>> _ = path.write_text("size,hue,kind\\n1,red,ball\\n2,blue,ball\\n9,red,cube\\n", encoding="utf-8")
    >>> task = read_table(path)
    >>> task.feature_names, task.y.tolist()
    (('size', 'hue=red'), ['ball', 'ball', 'cube'])
    >>> print(task.note)
    no column is called target, class, label or y: the last one, 'kind', is the target; one-hot encoded: hue
    >>> folder.cleanup()
    """
    path = Path(path)
    if path.is_dir():
        raise DataError(f"{path} is a folder, not a file")
    suffix = path.with_suffix("").suffix if path.suffix == ".gz" else path.suffix
    reader = _READERS.get(suffix.lower())
    if reader is None:
        raise DataError(f"{path.name}: unknown kind of file {suffix!r}; known are {', '.join(_READERS)}")
    return reader(path, target)


def _from_frame(read):
    def reader(path, target):
        frame, messages = read(path)
        column, said = choose_target(list(frame.columns), target)
        return encode_frame(frame, column, name=path.name, messages=[*messages, *said])

    return reader


def choose_target(columns, target) -> tuple[str, list[str]]:
    """The name of the target column, and a message where it had to be guessed.

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
        told = f"no column is called {', '.join(TARGET_NAMES[:-1])} or {TARGET_NAMES[-1]}"
        return columns[-1], [f"{told}: the last one, {columns[-1]!r}, is the target"]
    if target in columns:
        return target, []
    try:  # a command line can only pass text, so "3" may be a position
        return columns[int(target)], []
    except (ValueError, IndexError):
        raise UnknownNameError(f"there is no column {target!r}; the columns are {listed(columns, 30)}") from None


def _read_npz(path, target) -> TaskData:
    arrays = formats.read_npz(path)
    X, y, target, messages = _features_and_labels(path, arrays, target)
    names = arrays.get("feature_names", np.array([f"x{j + 1}" for j in range(X.shape[1])]))
    if names.shape != X.shape[1:]:
        raise DataError(f"{path.name}: feature_names of shape {names.shape} for {X.shape[1]} features")
    if X.dtype.kind not in "fiub":
        raise DataError(f"{path.name}: the features are of type {X.dtype}, not numbers")
    X, said = impute_median(X.astype(float), names)
    return checked_task(path.name, X, clean_labels(y, target), names, messages=[*messages, *said])


def _features_and_labels(path, arrays, target):
    """X and y from the arrays of an npz file: separate, or one matrix that holds both."""
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
        raise DataError(f"{path.name}: {features} of shape {X.shape} and {label} of shape {y.shape} do not fit")
    return X, y, label, []


def _read_libsvm(path, target) -> TaskData:
    if target is not None:
        raise DataError(f"{path.name}: LIBSVM files carry the label in front of each line; leave out the target")
    X, y = formats.read_svmlight(path)
    names = [f"x{j + 1}" for j in range(X.shape[1])]
    return checked_task(path.name, X, clean_labels(y, "label"), names)


_READERS = {
    ".csv": _from_frame(read_csv),
    ".tsv": _from_frame(lambda path: read_csv(path, "\t")),
    ".parquet": _from_frame(formats.read_parquet),
    ".arff": _from_frame(formats.read_arff),
    ".npz": _read_npz,
    ".svm": _read_libsvm,
    ".libsvm": _read_libsvm,
}
