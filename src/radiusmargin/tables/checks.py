"""Checks that every loader applies to labels and features."""

from __future__ import annotations

import numpy as np
from scipy import sparse

from .task import DataError, MissingDependencyError, TaskData

__all__ = ["checked_task", "clean_labels", "impute_median", "listed", "require_size"]

#: A column with more distinct values than this, and than half the rows, is not a label or a category.
MANY_VALUES = 20

#: Limits of a dense table: number of columns, characters in a column name, and characters of a name in a message.
MOST_COLUMNS, LONGEST_NAME, LONGEST_SHOWN = 100_000, 1_000_000, 200


def listed(names, limit=6) -> str:
    """Join names for a message; of many names, only the first few.

    >>> listed(["a", "b"]), listed("abcd", limit=2)
    ('a, b', 'a, b, … (4)')
    """
    names = [str(name) for name in names]
    head = ", ".join(name if len(name) <= LONGEST_SHOWN else f"{name[:LONGEST_SHOWN]}…" for name in names[:limit])
    return head if len(names) <= limit else f"{head}, … ({len(names)})"


def require_size(path, n_columns, names=()) -> None:
    """Refuse a table that has more columns, or a longer name, than can be handled within seconds."""
    if n_columns > MOST_COLUMNS:
        raise DataError(
            f"{path} has {n_columns:,} columns, more than the limit of {MOST_COLUMNS:,}: select columns, write a LIBSVM file,"
            " or fit a model in Python"
        )
    if (longest := max(map(len, names), default=0)) > LONGEST_NAME:
        raise DataError(
            f"{path} has a column name of {longest:,} characters, more than the limit of {LONGEST_NAME:,}: is it a table?"
        )


def too_many_values(n_values, n_rows) -> bool:
    return n_values > max(MANY_VALUES, n_rows / 2)


def clean_labels(y, name="target") -> np.ndarray:
    """Convert labels to integers or strings without blanks around them; raise a DataError if the column looks like a
    quantity or an identifier.

    >>> clean_labels([1.0, 2.0, 1.0])
    array([1, 2, 1])
    >>> clean_labels(["yes", "no "]).tolist()
    ['yes', 'no']
    """
    y = np.asarray(y)
    if y.dtype.kind == "O":
        y = y.astype(str)
    if y.dtype.kind == "S":
        y = np.char.decode(y, "utf-8", "replace")
    if y.dtype.kind == "U":
        y = np.char.strip(y)
    if y.dtype.kind not in "biufU":
        raise DataError(f"column {name!r} holds values of type {y.dtype}, not labels")
    if y.dtype.kind == "f" and not np.isfinite(y).all():
        raise DataError(f"column {name!r} holds labels that are missing or infinite")
    n_values = len(np.unique(y))
    if n_values < 2:
        raise DataError(
            f"column {name!r} holds one class only ({y[0]!s}): classification needs two or more (rows whose label is missing, "
            "such as NA, are left out)"
            if len(y)
            else f"column {name!r} holds no labels"
        )
    real = y.dtype.kind == "f" and not np.all(y == np.round(y))
    if too_many_values(n_values, len(y)) or (real and n_values > MANY_VALUES):
        raise DataError(
            f"column {name!r} holds {n_values} different values in {len(y)} rows: a quantity or an"
            " identifier, not a class label. Quantities are predicted by AutoSVR (command line: radiusmargin fit). Else choose another"
            " target, or bin it first."
        )
    if y.dtype.kind == "U":
        return y
    # scikit-learn takes fractional labels for a regression target, and integers beyond 2^53 lose digits as floats: both
    # are kept as text
    return y.astype(str) if real or np.abs(y.astype(float)).max() >= 2**53 else y.astype(np.int64)


def impute_median(X, feature_names) -> tuple[np.ndarray, list[str]]:
    """Replace NaN by the median of its column; columns that are all NaN are left unchanged.

    >>> impute_median(np.array([[1.0], [np.nan], [3.0]]), ["a"])
    (array([[1.],
           [2.],
           [3.]]), ['missing values filled with the median: a (1)'])
    """
    missing = np.isnan(X)
    fillable = np.flatnonzero(missing.any(axis=0) & ~missing.all(axis=0))
    if not len(fillable):
        return X, []
    X = X.copy()
    for j in fillable:
        X[missing[:, j], j] = np.median(X[~missing[:, j], j])
    filled = [f"{feature_names[j]} ({missing[:, j].sum()})" for j in fillable]
    return X, [f"missing values filled with the median: {listed(filled)}"]


def _constant_columns(X) -> np.ndarray:
    if sparse.issparse(X):
        return np.asarray((X.max(axis=0) - X.min(axis=0)).todense()).ravel() == 0
    return X.max(axis=0) == X.min(axis=0)


def checked_task(name, X, y, feature_names, *, messages=(), splits=None) -> TaskData:
    """Build a TaskData; raise a DataError if features are not finite, or all of them are constant."""
    if not X.shape[0]:
        raise DataError(f"{name} holds no rows")
    if not X.shape[1]:
        raise DataError(f"{name} holds no feature columns besides the target")
    finite = np.isfinite(X.data if sparse.issparse(X) else X)
    if not finite.all():
        bad = "" if sparse.issparse(X) else f" in {listed(np.array(feature_names)[~finite.all(axis=0)])}"
        raise DataError(f"{name} holds infinite or missing values{bad}; replace them first")
    constant = _constant_columns(X)
    if constant.all():
        raise DataError(f"{name}: all {X.shape[1]} features are constant, there is nothing to learn from")
    messages = list(messages)
    if constant.any() and not sparse.issparse(X):
        messages.append(f"constant, kept: {listed(np.array(feature_names)[constant])}")
    return TaskData(name, X, y, tuple(map(str, feature_names)), splits, tuple(messages))


def import_pandas():
    """Import pandas, an optional dependency; raise an error that says how to install it."""
    try:
        import pandas
    except ImportError as error:
        raise MissingDependencyError(
            "reading tables needs pandas, which is not installed: pip install '.[experiments]' in a clone"
        ) from error
    return pandas


def label_values(series):
    """Convert a column of labels to a NumPy array: numeric dtypes to numbers, all others to text."""
    pd = import_pandas()
    if pd.api.types.is_numeric_dtype(series.dtype):
        values = series.to_numpy()
        return values if values.dtype.kind in "biuf" else series.to_numpy(dtype=float)
    return series.astype(str).to_numpy(dtype=object)
