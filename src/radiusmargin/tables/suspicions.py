"""Checks of a table for leaks, codes of missing values, identifiers, and rows that belong together."""

from __future__ import annotations

import re

import numpy as np

from .checks import import_pandas, listed

__all__ = ["is_identifier", "leaks", "suspicions"]

#: Names of columns that hold row identifiers.
IDENTIFIER = re.compile(
    r"(row|index|id|nr|no|key|uuid|column 1|unnamed: 0)|.*[_ -](id|key|uuid)|.*[a-z]I[dD]", re.ASCII
)

#: Names of columns whose values stand for somebody who may have several rows.
SOMEBODY = re.compile(
    r"(patient|subject|person|user|customer|client|participant|household|animal|session)s?", re.IGNORECASE
)

#: Numbers that programs write for a missing value, if they lie far from all others.
SENTINELS = (-1.0, -9.0, -99.0, -999.0, -9999.0, -99999.0, 99.0, 999.0, 9999.0, 99999.0, 999999.0)

#: Fewest rows for which a column that tells the classes apart is suspicious.
LEAST_ROWS = 30


def is_identifier(name) -> bool:
    """Tell whether a name is one of row identifiers.

    >>> is_identifier("patient_id"), is_identifier("PassengerId"), is_identifier("width")
    (True, True, False)
    """
    name = str(name).strip()
    return bool(IDENTIFIER.fullmatch(name) or IDENTIFIER.fullmatch(name.lower()))


def suspicions(X, y, grouped=False):
    """Yield messages about columns of a table that may not be what they seem; `y` is None for a quantity."""
    repeated = [] if grouped else [name for name in X.columns if _identifies_several(X[name], name)]
    if repeated:
        yield (
            f"{listed(repeated)}: values repeat, so rows of one may be learnt from and tested on, and scores too high; keep them"
            f" together with groups={repeated[0]!r} (command line: --groups {repeated[0]})"
        )
    for name in X.columns:
        if _counts_rows(X[name]):
            yield f"{name} counts the rows up, as a row number does: leave it out if it is one, drop=[{name!r}] (command line: --drop {name})"
        if (found := _sentinel(X[name])) is not None:
            value, count = found
            yield (
                f"{name} holds {value:g} in {count} rows, far from all other values: if it stands for a missing value, pass"
                f" missing=['{value:g}'] (command line: --missing {value:g})"
            )
    for name in () if y is None else leaks(X, y):
        yield f"suspiciously perfect: column {name} alone tells the classes apart; is it known before the label is?"


def _counts_rows(series) -> bool:
    """Tell whether a column of whole numbers rises by one from row to row."""
    if len(series) < LEAST_ROWS or series.dtype.kind not in "iuf":
        return False
    return bool((np.diff(series.to_numpy(dtype=float)) == 1.0).all())


def _identifies_several(series, name) -> bool:
    """Tell whether a column is named like an identifier, and most of its values occur several times."""
    if not is_identifier(name) and not SOMEBODY.fullmatch(str(name).strip()):
        return False
    counts = series.value_counts()
    return 10 < len(counts) < len(series) and (counts > 1).mean() >= 0.5


def _sentinel(series):
    """An extreme value that is a usual code for a missing one, several times there and far from the rest; else None."""
    pd = import_pandas()
    if not pd.api.types.is_numeric_dtype(series.dtype) or pd.api.types.is_bool_dtype(series.dtype):
        return None
    values = series.dropna().to_numpy(dtype=float)
    for value in (values.min(), values.max()) if len(values) else ():
        rest, count = values[values != value], int(np.sum(values == value))
        if value in SENTINELS and count > 1 and len(np.unique(rest)) > 2:
            distance = rest.min() - value if value < rest.min() else value - rest.max()
            if distance > rest.max() - rest.min():
                return value, count
    return None


def leaks(X, y) -> list[str]:
    """Columns of which each alone tells the classes apart without an error.

    >>> import pandas as pd
    >>> y = np.repeat(["no", "yes"], 20)
    >>> leaks(pd.DataFrame({"a": range(40), "b": [0, 1] * 20, "c": ["x"] * 20 + ["y", "z"] * 10}), y)
    ['a', 'c']
    """
    if len(y) < LEAST_ROWS:
        return []
    codes = np.unique(y, return_inverse=True)[1]
    return [str(name) for name in X.columns if _tells_apart(X[name], codes)]


def _tells_apart(series, codes) -> bool:
    pd = import_pandas()
    if series.isna().any():
        return False
    if pd.api.types.is_numeric_dtype(series.dtype):
        order = np.argsort(series.to_numpy(dtype=float), kind="stable")
        values, ordered = series.to_numpy(dtype=float)[order], codes[order]
        changes = np.flatnonzero(np.diff(ordered))
        return len(changes) == codes.max() and bool((values[changes] < values[changes + 1]).all())
    few = series.nunique() <= max(2 * (codes.max() + 1), len(codes) / 10)
    return bool(few and (pd.Series(codes).groupby(series.astype(str).to_numpy()).nunique() == 1).all())
