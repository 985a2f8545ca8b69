"""Turn a user's data frame into a task: separate the labels and infer column types; encoding happens within the folds."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from .checks import MANY_VALUES, clean_labels, import_pandas, label_values, listed
from .columns import column_kinds, parse_dates
from .options import ReadOptions
from .suspicions import suspicions
from .table_encoder import TableEncoder
from .task import DataError, TaskData, UnknownNameError

__all__ = ["table_task"]

#: A target with many distinct numbers, some in fewer rows than this, is a quantity.
RARE = 5


def table_task(table, target, *, name, messages=(), options=None) -> TaskData:
    """Build a task from a table whose columns may be numbers, categories, dates or text.

    Parameters
    ----------
    table : ReadNumbers
        Column names must be unique.
    target : str
        The column with the labels; rows without a label are left out.
    name : str
    messages : iterable of str
        Further messages.
    options : ReadOptions, optional
        A target among its categories is never taken for a quantity.
    """
    options = options or ReadOptions()
    frame, messages, categories = table.frame, [*table.messages, *messages], options.categories
    labelled = frame[target].notna().to_numpy()
    if not labelled.all():
        messages.append(f"rows without a label left out: {(~labelled).sum()}")
        frame = frame.loc[labelled]
    raw = label_values(frame[target])
    quantity = options.quantity and target not in categories and is_quantity(raw)
    y = raw.astype(float) if quantity else clean_labels(raw, target)
    if not quantity:
        messages += _label_messages(raw, y, target)
        if target not in categories:
            _require_classes(y, target)
    X = frame.drop(columns=target).reset_index(drop=True)
    X, groups = _without_groups(X, options.groups, messages)
    if not X.shape[1]:
        raise DataError(f"{name} holds no feature columns besides the target")
    categories = [c for c in categories if c not in (target, options.groups)]
    found = column_kinds(X, categories=categories, drop=options.drop, date_format=options.date_format)
    order = None if options.time_order is None else _order_in_time(X, options.time_order, found.kinds)
    X = X[list(found.kinds)]
    messages += [*found.messages, *_gaps(X, found.kinds), *_constant(name, X)]
    messages += suspicions(X, None if quantity else y, groups is not None)
    if order is not None:
        X, y = X.iloc[order].reset_index(drop=True), y[order]
        groups = None if groups is None else groups[order]
        messages.append(f"rows in the order of {options.time_order}: tested on later rows than learnt from")
    facts, encoder = {"decimal": table.mark, "decorations": table.decorations}, TableEncoder(found.kinds)
    task = TaskData(name, X, y, tuple(X.columns), messages=tuple(messages), encoder=encoder, facts=facts)
    return replace(task, groups=groups, in_time=order is not None, quantity=quantity)


def _column(X, name):
    if name not in X.columns:
        raise UnknownNameError(f"there is no column {name!r}; the columns are {listed(X.columns, 30)}")
    return X[name]


def _without_groups(X, name, messages):
    """Take the column of groups out of a table; a row without a group is one of its own."""
    if name is None:
        return X, None
    series = _column(X, name)
    groups = series.astype(str).mask(series.isna(), [f"row {i}" for i in range(len(X))]).to_numpy(dtype=str)
    messages.append(f"rows of the same {name} are kept together: {len(np.unique(groups))} groups, and no feature")
    return X.drop(columns=name), groups


def _order_in_time(X, name, kinds) -> np.ndarray:
    """Positions of the rows in the order of a column of dates or numbers."""
    series, kind = _column(X, name), kinds.get(name, "number")
    if kind.startswith("date"):
        series = parse_dates(series, kind.partition(" ")[2])
    elif not import_pandas().api.types.is_numeric_dtype(series.dtype):
        raise DataError(f"column {name!r} holds neither dates nor numbers, so rows have no order by it")
    if series.isna().any():
        raise DataError(f"column {name!r} is empty in {series.isna().sum()} rows, which so have no place in time")
    return np.argsort(series.to_numpy(), kind="stable")


def _label_messages(raw, y, target):
    """Yield messages about labels that were joined, or differ so little that they may be the same."""
    if y.dtype.kind != "U":
        return
    if len(np.unique(raw.astype(str))) > len(np.unique(y)):
        yield f"blanks around labels of {target} taken away"
    alike: dict = {}
    for label in np.unique(y).tolist():
        alike.setdefault(" ".join(label.casefold().split()), []).append(label)
    for labels in (labels for labels in alike.values() if len(labels) > 1):
        yield f"labels that differ in case or blanks only are classes of their own: {listed(map(repr, labels))}"


def is_quantity(y) -> bool:
    """Tell whether labels are many different finite numbers, some of them rare.

    >>> is_quantity(np.arange(30)), is_quantity(np.arange(30) % 3), is_quantity(np.array(["a"] * 30))
    (True, False, False)
    """
    if y.dtype.kind not in "iuf" or not np.isfinite(y).all():
        return False
    values, counts = np.unique(y, return_counts=True)
    return bool(len(values) > MANY_VALUES and counts.min() < RARE)


def _require_classes(y, target):
    """Raise a DataError if a numeric target looks like a quantity."""
    if is_quantity(y):
        values = np.unique(y)
        raise DataError(
            f"column {target!r} holds {len(values)} different numbers from {values[0]} to {values[-1]}, some in fewer than"
            f" {RARE} rows: a quantity, not a class label. AutoSVR (command line: radiusmargin compare or fit) predicts quantities. Else choose"
            " another target, or bin it first; if these are classes, pass"
            f" categories=[{target!r}] (command line: --categories {target!r})"
        )


def _gaps(X, kinds):
    """Yield messages about columns with missing values and how they are filled."""
    counts = {name: count for name, count in X.isna().sum().items() if count}
    median = [
        f"{name} ({count})" for name, count in counts.items() if kinds[name] != "category" and kinds[name] != "text"
    ]
    own = [f"{name} ({count})" for name, count in counts.items() if kinds[name] == "category"]
    if median:
        yield f"missing values, filled with the median of the training rows: {listed(median)}"
    if own:
        yield f"missing values, encoded as a category: {listed(own)}"


def _constant(name, X):
    """Yield a message about constant columns; raise a DataError if all are constant, or a value is infinite."""
    numbers = X.select_dtypes(["number", "bool"])
    with np.errstate(invalid="ignore"):
        constant = set(numbers.columns[(numbers.max() == numbers.min()).to_numpy() & ~numbers.isna().any().to_numpy()])
    constant |= {c for c in X.columns if c not in numbers.columns and X[c].nunique(dropna=False) == 1}
    if len(constant) == X.shape[1]:
        raise DataError(f"{name}: all {X.shape[1]} features are constant, there is nothing to learn from")
    infinite = numbers.columns[np.isinf(numbers.to_numpy(dtype=float, na_value=np.nan)).any(axis=0)]
    if len(infinite):
        raise DataError(f"{name} holds infinite values in {listed(infinite)}; replace them first")
    if constant:
        yield f"constant, kept: {listed([c for c in X.columns if c in constant])}"
