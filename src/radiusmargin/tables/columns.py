"""Infer the type of each column of a table: number, category, date, text, or not usable.

Only the type is inferred here, from all rows. Medians and categories are fitted later, on training rows, by
:class:`~radiusmargin.tables.table_encoder.TableEncoder`.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

import numpy as np

from .checks import import_pandas, listed, too_many_values
from .numbers import MOSTLY, looks_decorated, words_in_numbers
from .suspicions import is_identifier
from .task import DataError, UnknownNameError

__all__ = ["Columns", "column_kinds", "parse_dates"]

#: Date formats in the order in which they are tried; ISO 8601 includes times and time zones.
DATE_FORMATS = (
    "ISO8601", "%d.%m.%Y", "%d.%m.%Y %H:%M", "%d.%m.%Y %H:%M:%S", "%d.%m.%y", "%Y.%m.%d",
    "%d/%m/%Y", "%m/%d/%Y", "%d/%m/%Y %H:%M", "%m/%d/%Y %H:%M", "%d/%m/%Y %H:%M:%S", "%m/%d/%Y %H:%M:%S",
    "%m/%d/%Y %I:%M %p", "%m/%d/%Y %I:%M:%S %p", "%d/%m/%y", "%m/%d/%y", "%y/%m/%d",
    "%Y/%m/%d", "%Y/%m/%d %H:%M", "%Y/%m/%d %H:%M:%S", "%d-%m-%Y", "%m-%d-%Y", "%d-%m-%y", "%m-%d-%y", "%Y-%m",
    "%d %b %Y", "%d %B %Y", "%d-%b-%Y", "%d-%b-%y", "%b %d, %Y", "%B %d, %Y", "%b %Y", "%B %Y",
)  # fmt: skip

#: A column whose texts have this many words on average is free text, not names.
PROSE_WORDS = 3

#: Types of cells that are not a single value; Parquet has columns of these.
NESTED = (list, tuple, set, dict, np.ndarray)


@dataclass(frozen=True)
class Columns:
    """Types of the columns that are used, and messages about the others.

    ``kinds`` maps a name to ``"number"``, ``"category"``, ``"text"`` or ``"date FORMAT"``.
    """

    kinds: dict[str, str]
    messages: tuple[str, ...] = ()


def column_kinds(frame, *, categories=(), drop=(), date_format=None) -> Columns:
    """Infer the types of the columns of a table.

    Parameters
    ----------
    frame : pandas.DataFrame
        The features.
    categories, drop : iterable of str
        Columns to treat as categories whatever they hold, and columns to leave out.
    date_format : str, optional
        Format of columns of dates that would fit several.

    Raises
    ------
    DataError
        If a column holds numbers or dates except for a few words, dates that may be read in two ways, or numbers with
        something around them that is not understood; the message names the words and the options that help.

    Examples
    --------
    >>> import pandas as pd
    >>> frame = pd.DataFrame({"size": [1.5, 2, 3], "hue": ["red", "blue", "red"],
    ...                       "day": ["2020-01-31", "2020-02-01", None], "none": [None] * 3})
    >>> found = column_kinds(frame)
    >>> found.kinds
    {'size': 'number', 'hue': 'category', 'day': 'date ISO8601'}
    >>> print(*found.messages, sep="\\n")
    one-hot encoded: hue
    dates as numbers (year, month, weekday, days): day
    columns left out: none (empty)
    """
    for name in (*categories, *drop):
        if name not in frame.columns:
            raise UnknownNameError(f"there is no column {name!r}; the columns are {listed(frame.columns, 30)}")
    pd = import_pandas()
    numeric = np.array([pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes], dtype=bool)
    empty = frame.isna().all().to_numpy()
    kinds, left_out = {}, [f"{name} (as you asked)" for name in drop]
    for name, is_numeric, is_empty in zip(frame.columns, numeric, empty, strict=True):
        if name in drop:
            continue
        if is_empty:
            kind, why = "", "empty"
        elif name in categories:
            kind, why = "category", ""
        else:
            kind, why = (
                _kind_of_numbers(frame[name], name) if is_numeric else _kind_of_texts(frame[name], name, date_format)
            )
        if kind:
            kinds[name] = kind
        else:
            left_out.append(f"{name} ({why})")
    return Columns(kinds, tuple(_sentences(kinds, left_out)))


def _sentences(kinds, left_out):
    of = {kind: [name for name in kinds if kinds[name].startswith(kind)] for kind in ("category", "date", "text")}
    for what, names in (
        ("one-hot encoded", of["category"]),
        ("dates as numbers (year, month, weekday, days)", of["date"]),
        ("free text, its words hashed to 256 columns", of["text"]),
        ("columns left out", left_out),
    ):
        if names:
            yield f"{what}: {listed(names)}"
    day_first = [name for name in of["date"] if re.search("%d.%m.%[yY]", kinds[name])]
    if day_first:
        yield f"dates are day, month, year: {listed(day_first)}"


def _kind_of_numbers(series, name):
    """Type of a numeric column: "number", unless its name and distinct integers mark it as a row identifier."""
    if is_identifier(name):
        values = series.dropna().to_numpy(dtype=float)
        if len(values) == len(series) and len(np.unique(values)) == len(values) and (values == np.round(values)).all():
            return "", "row identifier"
    return "number", ""


def _kind_of_texts(series, name, date_format=None):
    pd = import_pandas()
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return "date ISO8601", ""
    values = series.dropna()
    if values.map(lambda value: isinstance(value, NESTED)).any():
        return "", "lists or records"
    if values.map(lambda value: isinstance(value, bool | np.bool_)).all():
        return "category", ""
    texts = values.astype(str).str.strip()
    numbers = pd.to_numeric(texts, errors="coerce")
    if numbers.notna().all():  # integers beyond 64 bits
        return _kind_of_numbers(numbers.reindex(series.index), name)
    _require_numbers_throughout(pd, texts, name)
    form = _date_format(pd, texts, name, date_format)
    if form:
        return f"date {form}", ""
    n_different = texts.nunique()
    if not too_many_values(n_different, len(series)):
        return "category", ""
    if texts.iloc[:1000].str.split().str.len().mean() >= PROSE_WORDS:
        return "text", ""
    if looks_decorated(texts.unique()):
        raise DataError(
            f"column {name!r} holds numbers with something around them, such as {listed(map(repr, texts.unique()), 3)}, and is not"
            f" understood. Pass numbers=[{name!r}] to keep what is a number, categories=[{name!r}] or drop=[{name!r}]"
            f" (command line: --numbers {name}, --categories {name}, --drop {name})"
        )
    return "", f"{n_different} different texts"


def _require_numbers_throughout(pd, texts, name):
    """Raise a DataError if a numeric column has a few words in it; as a category, every number would be a category."""
    words = texts[pd.to_numeric(texts, errors="coerce").isna()]
    if len(words) > (1 - MOSTLY) * len(texts) or texts.nunique() <= 2:
        return
    raise DataError(words_in_numbers(name, words, len(texts)))


def _remedy(word, name) -> str:
    """Advice on values that do not fit their column, for `read_table`, the command line and data frames."""
    return (
        f"Pass missing=[{word!r}] if these are missing values, or categories=[{name!r}] if the column is a category"
        f" (command line: --missing {word!r}, --categories {name!r}; data frame: replace them by NaN, or use"
        f" categorical_features=[{name!r}])"
    )


def _date_format(pd, texts, name, given=None):
    """Find the format of the dates in a column; None if it holds no dates."""
    head = texts.iloc[:100]
    if not head.str.contains(r"\d").mean() >= MOSTLY:
        return None
    if given is not None and _parsed_dates(pd, head, given).notna().mean() >= MOSTLY:
        likely = [given]
    else:
        parsed = {form: _parsed_dates(pd, head, form).notna() for form in DATE_FORMATS}
        likely = [form for form in DATE_FORMATS if parsed[form].mean() >= MOSTLY]
        if not likely and np.any(list(parsed.values()), axis=0).mean() >= MOSTLY:
            raise DataError(
                f"column {name!r} holds dates in several formats, such as {listed(map(repr, head.unique()), 4)}: write them alike,"
                f" or pass drop=[{name!r}] or categories=[{name!r}] (command line: --drop {name}, --categories {name})"
            )
    dates = {form: _parsed_dates(pd, texts, form) for form in likely}
    whole = [form for form in likely if dates[form].notna().all()]
    if whole:
        _require_one_reading(texts, {form: dates[form] for form in whole}, name)
        return whole[0]
    if likely:
        strange = texts[dates[likely[0]].isna()]
        raise DataError(
            f"column {name!r} holds dates in {len(texts) - len(strange)} of {len(texts)} rows, and "
            f"{listed([repr(text) for text in strange.unique()], 5)} in the others. {_remedy(strange.iloc[0], name)}"
        )
    return None


def _require_one_reading(texts, dates, name):
    """Raise a DataError if dates have different meanings in several formats, such as 03/04/2021."""
    first, *others = dates
    for other in others:
        differ = dates[first] != dates[other]
        if differ.any():
            raise DataError(
                f"column {name!r} holds dates such as {texts[differ].iloc[0]!r}, which may be {first} or {other}. Pass"
                f" date_format={first!r} or date_format={other!r}"
                f" (command line: --date-format {first} or --date-format {other}); convert columns of a data frame with pandas.to_datetime"
            )


def _parsed_dates(pd, texts, form):
    # ISO 8601 allows 2020 for a year; here bare numbers, and years with a fraction, are not dates.
    if form == "ISO8601":
        texts = texts.where(texts.str.contains(r"^\d{4}-?\d{2}-?\d{2}(?:$|[T ])", regex=True))
    return pd.to_datetime(texts, format=form, errors="coerce", utc=True)


def parse_dates(series, form):
    """Parse the dates of a column in a given format, gaps as NaT; raise a DataError that names what is not a date."""
    pd = import_pandas()
    if pd.api.types.is_datetime64_any_dtype(series.dtype):
        return pd.to_datetime(series, utc=True)
    texts = series.astype(str).str.strip().mask(series.isna())
    dates = _parsed_dates(pd, texts, form)
    strange = texts[dates.isna() & series.notna()]
    if len(strange):
        shown = "ISO 8601" if form == "ISO8601" else form
        raise DataError(
            f"column {series.name!r} must hold dates in the format {shown}, got {listed(strange.unique(), 3)}"
        )
    return dates
