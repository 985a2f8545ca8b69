"""Parse columns of numbers as people write them: currencies, percent, units, thousands separators, either decimal mark.

The marks of a column are decided by its own cells where they allow one reading only, else by the other columns of the table;
what neither decides is asked for in an error.
"""

from __future__ import annotations

import re
from dataclasses import dataclass
from typing import Any

import numpy as np

from .checks import import_pandas, listed
from .task import DataError

__all__ = ["NumberColumn", "looks_decorated", "number_column", "parse_times", "read_numbers"]

CURRENCIES = r"(?:[$€£¥₹₽₩₺₪฿]|US\$|USD|EUR|GBP|JPY|CHF|INR|CAD|AUD|Rs\.?|Fr\.|kr\.?|zł)"

#: Suffixes that multiply. A lower-case m or b may be a unit, so these do not.
MULTIPLIERS = {
    "k": 1e3,
    "K": 1e3,
    "M": 1e6,
    "Mio": 1e6,
    "Mio.": 1e6,
    "mn": 1e6,
    "B": 1e9,
    "bn": 1e9,
    "Mrd": 1e9,
    "Mrd.": 1e9,
}

SPACES = "\u0020\u00a0\u202f\u2009"

CELL = re.compile(
    rf"(?P<open>\()?\s*(?P<sign>[+\-−–]?)\s*(?P<before>{CURRENCIES})?\s*(?P<sign2>[+\-−–]?)\s*"
    rf"(?P<body>[.,]?\d(?:[\d.,'’{SPACES}]*\d)?[.,]?)(?P<power>[eE][+\-]?\d+)?"
    rf"\s*(?P<after>{CURRENCIES}|[^\W\d_][^\d\s.,()]{{0,9}}\.?|[%‰°][^\d\s.,()]{{0,3}})?(?P<trail>[\-−])?\s*(?P<close>\))?"
)

#: A number with something that was not understood on either side; letters before it make it an identifier.
DECORATED = re.compile(rf"[^\w\d]{{0,3}}\s*\d(?:[\d.,'’{SPACES}]*\d)?\s*[^\d\s]{{0,10}}")

TIME = re.compile(r"(\d{1,3}):([0-5]\d)(?::([0-5]\d(?:\.\d+)?))?\s*([aApP])?\.?(?:[mM]\.?)?")

#: The message about a table of decimal commas.
DECIMAL_COMMAS = "numbers are written with decimal commas"

#: Cells that are looked at before the others, and the share of numbers among them below which a column is text.
FIRST, LEAST = 1000, 0.5

#: A column with at least this share of numbers is taken for one; other values in it raise an error.
MOSTLY = 0.8


@dataclass(frozen=True)
class NumberColumn:
    """A column of numbers, read with a point and with a comma as decimal mark.

    Attributes
    ----------
    readings : dict of str to array
        Numbers of the different cells by decimal mark; NaN where a cell allows no such reading.
    is_number : array of bool
        The cells that are numbers in some reading.
    mark : {".", ",", ""} or None
        Decimal mark by the cells alone; "" if any will do, None if they leave it open.
    decoration : str
        Currency or unit, or the empty text.
    """

    texts: np.ndarray
    readings: dict
    is_number: np.ndarray
    mark: str | None
    decoration: str
    has_thousands: bool
    changed: bool

    def values(self, series, mark):
        """The numbers of the rows of a column, with a decimal mark."""
        numbers = dict(zip(self.texts, self.readings[mark or "."], strict=True))
        return series.map(numbers.get).astype(float)


def number_column(texts, *, thousands=None, numbers_only=False) -> NumberColumn | None:
    """Read the different cells of a column as numbers; None if it is text.

    Parameters
    ----------
    texts : array of str
        Without missing values.
    thousands : str, optional
        The separator between groups of three digits, where it is known.
    numbers_only : bool
        Whether cells that are no numbers are missing values.

    Examples
    --------
    >>> column = number_column(["$47,990.67", "(1,200.00)", "$3"])
    >>> column.mark, column.decoration, column.readings["."].tolist()
    ('.', '$', [3.0, 47990.67, -1200.0])
    >>> number_column(["4.297", "492", "1.250"]).mark  # a last zero, and whole numbers without it: thousands
    ','
    >>> number_column(["4.297", "5.293"]).mark is None, number_column(["red", "blue"]) is None
    (True, True)
    """
    texts = np.unique(np.asarray(texts, dtype=object).astype(str))
    cells = [CELL.fullmatch(text.strip()) for text in texts[:FIRST]]
    if not numbers_only and sum(cell is not None for cell in cells) < LEAST * len(cells):
        return None
    cells += [CELL.fullmatch(text.strip()) for text in texts[FIRST:]]
    found, factors, decoration = _decorations(cells, numbers_only)
    if found is None:
        return None
    readings = {mark: np.full(len(texts), np.nan) for mark in ".,"}
    for place, cell in enumerate(cells):
        if cell is not None and found[place]:
            for mark in ".,":
                readings[mark][place] = _value(cell, mark, thousands) * factors[place]
    is_number = np.isfinite(readings["."]) | np.isfinite(readings[","])
    numbers = [cell for cell, good in zip(cells, is_number, strict=True) if cell is not None and good]
    bodies = [cell["body"] for cell in numbers]
    grouped = any(re.search(rf"\d[.,'’{SPACES}]\d{{3}}(?!\d)", body) for body in bodies)
    decided = _mark(bodies, {mark: values[is_number] for mark, values in readings.items()})
    return NumberColumn(texts, readings, is_number, decided, decoration, grouped, not all(map(_is_plain, numbers)))


def _is_plain(cell) -> bool:
    return not (cell["open"] or cell["before"] or cell["after"] or cell["trail"])


def _decorations(cells, numbers_only):
    """Find the cells that are numbers with the same decoration, their factors, and that decoration; None for a mixture."""
    befores = {cell["before"] for cell in cells if cell and cell["before"]}
    afters = {cell["after"] for cell in cells if cell and cell["after"]}
    found = np.array([cell is not None and bool(cell["open"]) == bool(cell["close"]) for cell in cells], dtype=bool)
    factors = np.ones(len(cells))
    if len(befores) > 1:
        return None, factors, ""
    multiply = bool(afters) and afters <= set(MULTIPLIERS)
    if multiply:
        factors = np.array([MULTIPLIERS.get(cell["after"] or "", 1.0) if cell else 1.0 for cell in cells])
    elif len(afters) > 1 or (afters and befores):
        return None, factors, ""
    elif afters and not re.fullmatch(CURRENCIES, next(iter(afters))):  # 5 % and 5: are these the same?
        bare = [cell for cell, good in zip(cells, found, strict=True) if good and not cell["after"]]
        if bare and not numbers_only:
            return None, factors, ""
    return found, factors, "".join([*befores, *([] if multiply else afters)])


def _value(cell, mark, thousands) -> float:
    """Number of a cell with a given decimal mark; NaN if its marks do not allow that."""
    body, other = cell["body"], "," if mark == "." else "."
    separators = [other, "'", "’", *SPACES] if thousands is None else [thousands]
    if not re.fullmatch(rf"\d+(?:\{mark}\d*)?|\{mark}\d+", body):
        for separator in separators:
            groups = re.escape(separator)
            thousand = rf"[1-9]\d{{0,2}}(?:{groups}\d{{3}})+"
            lakh = r"|[1-9]\d?(?:,\d{2})*,\d{3}" if separator == "," else ""
            if separator != mark and re.fullmatch(rf"(?:{thousand}{lakh})(?:\{mark}\d*)?", body):
                body = body.replace(separator, "")
                break
        else:
            return float("nan")
    negative = (cell["sign"] in "-−–" and cell["sign"]) or (cell["sign2"] in "-−–" and cell["sign2"])
    value = float(body.replace(mark, ".") + (cell["power"] or ""))
    return -value if negative or cell["trail"] or cell["open"] else value


def _mark(bodies, readings) -> str | None:
    """Decimal mark of a column by its cells; "" if it does not matter, None if it stays open."""
    point, comma = readings["."], readings[","]
    only_point, only_comma = np.isfinite(point) & np.isnan(comma), np.isfinite(comma) & np.isnan(point)
    if only_point.any() or only_comma.any():
        return None if only_point.any() and only_comma.any() else "." if only_point.any() else ","
    if (point == comma).all():
        return ""
    marked = [body for body in bodies if "." in body or "," in body]
    marks = {mark for body in marked for mark in ".," if mark in body}
    if len(marks) != 1:
        return None
    (mark,) = marks
    whole = [body for body in bodies if mark not in body]
    padded = [body for body in marked if body.endswith("0")]
    if whole and all(len(body) <= 3 for body in whole) and padded and len(marked) > 1:
        return "," if mark == "." else "."  # fractions are written without their last zeros, or whole numbers with them
    if any(len(body) > 3 and body.isdigit() for body in whole) and not padded:
        return mark  # 12345 has no separator, so that of 4.297 is none
    return None


def looks_decorated(texts) -> bool:
    """Tell whether most cells are a number with something around it that was not understood.

    >>> looks_decorated(["~5 kg", "7 lb", "12 kg"]), looks_decorated(["K1001", "K1002"])
    (True, False)
    """
    return bool(np.mean([DECORATED.fullmatch(text.strip()) is not None for text in texts]) > MOSTLY)


def parse_times(texts):
    """Hours of times such as 14:35 or 2:35 PM; None if a cell is no time.

    >>> parse_times(["14:30", "2:45 PM"]).tolist(), parse_times(["14:30", "noon"]) is None
    ([14.5, 14.75], True)
    """
    hours = []
    for text in texts:
        found = TIME.fullmatch(text.strip())
        if found is None:
            return None
        hour, half = int(found[1]), (found[4] or "").lower()
        hour = hour % 12 + 12 * (half == "p") if half else hour
        hours.append(hour + int(found[2]) / 60 + float(found[3] or 0) / 3600)
    return np.array(hours)


# -- The columns of a table, which decide about the marks of each other -----------------------------------------------


@dataclass
class ReadNumbers:
    """A table whose numbers are numbers.

    Attributes
    ----------
    frame : pandas.DataFrame
    messages : list of str
    mark : str
        The decimal mark of its columns; empty if there is none, or more than one.
    decorations : dict of str to str
        Currency or unit of the columns that have one.
    """

    frame: Any
    messages: list
    mark: str
    decorations: dict


def read_numbers(raw, options, *, skip=(), usual="") -> ReadNumbers:
    """Read the columns of text of a table as numbers, where they are; raise a DataError with a question if it is unclear.

    Parameters
    ----------
    raw : RawTable
    options : ReadOptions
    skip : iterable of str
        Columns that stay as they are.
    usual : str
        Decimal mark of other tables of the kind, where this one leaves it open.
    """
    pd = import_pandas()
    frame = raw.frame
    found, times = {}, {}
    skip = {*skip, *options.categories, *options.drop} - set(options.numbers)
    for name in [c for c in frame.columns if c not in skip and not pd.api.types.is_numeric_dtype(frame[c].dtype)]:
        series = frame[name].dropna()
        if not len(series) or not series.map(lambda value: isinstance(value, str)).all():
            continue
        hours = parse_times(series.unique()) if TIME.fullmatch(series.iloc[0].strip()) else None
        if hours is not None:
            times[name] = frame[name].map(dict(zip(series.unique(), hours, strict=True)).get).astype(float)
        else:
            column = number_column(series, thousands=options.thousands, numbers_only=name in options.numbers)
            if column is not None and (name in options.numbers or _is_number_throughout(name, series, column)):
                found[name] = column
    marks = {options.mark} if options.mark else {column.mark for column in found.values() if column.mark} | raw.marks
    mark = next(iter(marks)) if len(marks) == 1 else usual if not marks else ""
    values = {name: _with_mark(frame[name], column, options.mark, mark) for name, column in found.items()}
    return ReadNumbers(
        frame.assign(**values, **times),
        list(dict.fromkeys([*raw.messages, *_number_messages(found, values, times, mark)])),
        mark,
        {name: column.decoration for name, column in found.items() if column.decoration},
    )


def _is_number_throughout(name, series, column) -> bool:
    """Tell whether all cells are numbers; a DataError if only a few are not."""
    if column.is_number.all():
        return True
    words = series[~series.isin(column.texts[column.is_number])]
    if len(words) > (1 - MOSTLY) * len(series) or series.nunique() <= 2:
        return False
    raise DataError(words_in_numbers(name, words, len(series)))


def words_in_numbers(name, words, n_rows) -> str:
    """Question about a column of numbers with a few words; as a category, every number would be a category."""
    word = words.iloc[0].strip()
    return (
        f"column {name!r} holds numbers in {n_rows - len(words)} of {n_rows} rows, and"
        f" {listed([repr(text) for text in words.value_counts().index], 5)} in the others. Pass missing=[{word!r}] if these are"
        f" missing values, numbers=[{name!r}] if all of them are, or categories=[{name!r}] if the column is a category"
        f" (command line: --missing {word!r}, --numbers {name!r}, --categories {name!r})"
    )


def _with_mark(series, column, given, usual):
    """The numbers of a column by its own mark, else by that of the table; a DataError where neither decides."""
    own = column.mark
    if given:
        lost = column.is_number & np.isnan(column.readings[given])
        if lost.any():
            shown = listed([repr(text) for text in column.texts[lost]], 3)
            raise DataError(f"column {series.name!r} holds {shown}: no number with {given!r} as its decimal mark")
        own = given
    if own is None:
        own = usual or None
    if own is None or np.isnan(column.readings[own or "."][column.is_number]).any():
        differ = column.readings["."] != column.readings[","]
        place = int(np.flatnonzero(column.is_number & differ)[0])
        text, point, comma = column.texts[place], column.readings["."][place], column.readings[","][place]
        either = (
            f"{point:.15g} or {comma:.15g}"
            if np.isfinite([point, comma]).all()
            else "a number in one way of writing only"
        )
        raise DataError(
            f"column {series.name!r} holds {text!r}, which may be {either}. Pass decimal='.' or decimal=','"
            f" (command line: --decimal . or --decimal ,), or categories=[{series.name!r}]"
        )
    return column.values(series, own)


def _number_messages(found, values, times, mark):
    """Return messages about columns of text that were read as numbers."""
    comma = [name for name, column in found.items() if (column.mark or mark) == ","]
    thousands = [name for name, column in found.items() if column.has_thousands and (values[name].abs() >= 1000).any()]
    decorated = [
        f"{name} ({column.decoration or 'factors, brackets'})" for name, column in found.items() if column.changed
    ]
    for what, names in (
        ("thousands separators removed", thousands),
        ("read as numbers without what is written around them", decorated),
        ("times of day as hours", list(times)),
    ):
        if names:
            yield f"{what}: {listed(names)}"
    if comma and any((values[name].dropna() % 1).any() for name in comma):
        yield DECIMAL_COMMAS
