"""The registry's tables as numbers: one-hot categories, filled gaps, and a sentence about each.

The fill values come from the whole table, as in the studies that these sets are known from. A user's own table is encoded
inside the folds (:mod:`radiusmargin.tables.frames`).
"""

from __future__ import annotations

import numpy as np

from ...tables import DataError, TaskData
from ...tables.checks import (
    checked_task,
    clean_labels,
    import_pandas,
    impute_median,
    label_values,
    listed,
    too_many_values,
)

__all__ = ["encode_frame"]


def encode_frame(frame, target, *, name, messages=()) -> TaskData:
    """Turn a data frame into a task.

    Numeric and boolean columns become floats with gaps filled by the median; every other column is one-hot
    encoded in the sorted order of its values, gaps filled by the most frequent one. A column with two values
    becomes one 0/1 column. Rows without a label are left out, as are columns that are empty or whose text
    differs in most rows (names, identifiers). Each of these is told in ``messages``.

    Parameters
    ----------
    frame : pandas.DataFrame
        Column names must be unique.
    target : str
        The column with the labels.
    name : str
        Name of the task.
    messages : iterable of str
        What was already done to the data.

    Examples
    --------
    >>> import pandas as pd
    >>> hue = ["red", "blue", "green", "red"]
    >>> frame = pd.DataFrame({"size": [1, None, 3, 8], "hue": hue, "y": list("abab")})
    >>> task = encode_frame(frame, "y", name="toys")
    >>> task.feature_names
    ('size', 'hue=blue', 'hue=green', 'hue=red')
    >>> task.X[1].tolist()
    [3.0, 1.0, 0.0, 0.0]
    >>> task.messages
    ('one-hot encoded: hue', 'missing values filled with the median: size (1)')
    """
    messages = list(messages)
    labelled = frame[target].notna().to_numpy()
    if not labelled.all():
        messages.append(f"rows without a label left out: {(~labelled).sum()}")
        frame = frame.loc[labelled]
    y = clean_labels(label_values(frame[target]), target)
    X, feature_names, said = _encode_features(frame.drop(columns=target))
    return checked_task(name, X, y, feature_names, messages=[*messages, *said])


def _encode_features(frame) -> tuple[np.ndarray, list[str], list[str]]:
    pd = import_pandas()
    blocks, names = [], []
    encoded, filled, dropped = [], [], []
    for column in frame.columns:
        series = frame[column]
        if pd.api.types.is_datetime64_any_dtype(series.dtype):
            raise DataError(f"column {column!r} holds dates; turn them into numbers, or remove the column")
        if not series.notna().any():
            dropped.append(f"{column} (empty)")
        elif pd.api.types.is_numeric_dtype(series.dtype):
            blocks.append(series.to_numpy(dtype=float, na_value=np.nan)[:, None])
            names.append(column)
        elif too_many_values(series.nunique(), len(series)):
            dropped.append(f"{column} ({series.nunique()} different texts)")
        else:
            block, values, n_filled = _one_hot(series)
            blocks.append(block)
            names += [f"{column}={value}" for value in values]
            encoded.append(column)
            filled += [f"{column} ({n_filled})"] if n_filled else []
    said = [
        f"{what}: {listed(columns)}"
        for what, columns in (
            ("one-hot encoded", encoded),
            ("missing values filled with the most frequent", filled),
            ("columns left out", dropped),
        )
        if columns
    ]
    X = np.hstack(blocks) if blocks else np.empty((len(frame), 0))
    X, imputed = impute_median(X, names)
    return X, names, said + imputed


def _one_hot(series):
    """The indicator columns of a categorical series, their values, and how many gaps were filled."""
    pd = import_pandas()
    gaps = series.isna().to_numpy()
    codes, values = pd.factorize(series.astype(str).mask(gaps), sort=True)
    if gaps.any():
        codes = np.where(gaps, np.bincount(codes[~gaps]).argmax(), codes)
    block = (codes[:, None] == np.arange(len(values))).astype(float)
    if len(values) == 2:  # the second column would only repeat the first one's complement
        block, values = block[:, 1:], values[1:]
    return block, list(values), int(gaps.sum())
