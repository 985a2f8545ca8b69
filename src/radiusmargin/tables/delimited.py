"""Read delimited text; infer encoding, separator, header and what stands above it, and report them."""

from __future__ import annotations

import codecs
import csv
import io
import re
import warnings
from collections import Counter
from dataclasses import dataclass
from functools import cached_property
from itertools import zip_longest
from typing import Any

import numpy as np

from .checks import import_pandas, listed, require_size
from .files import open_binary, readable
from .numbers import CELL, DECIMAL_COMMAS, TIME
from .options import ReadOptions
from .task import DataError

__all__ = ["Dialect", "RawTable", "find_dialect", "header_and_rows", "read_csv", "require_unique", "without_blanks"]

#: Cells that stand for a missing value. The longer list of pandas has "None", which is a category in many tables.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL")

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

#: Size of the sample from which the dialect of a file is inferred.
SAMPLE_LINES, SAMPLE_CHARACTERS = 200, 1_000_000

#: Share of the cells of a column that are numbers or dates, from which a word above them is its name.
TYPED = 0.8

#: Columns and rows that are looked at for that.
MOST_LOOKED_AT, MOST_ROWS = 300, 50


@dataclass(frozen=True)
class RawTable:
    """A table as it was read, before columns of text are read as numbers.

    Attributes
    ----------
    frame : pandas.DataFrame
    messages : list of str
    marks : set of str
        Decimal marks that columns of numbers certainly have.
    """

    frame: Any
    messages: list
    marks: frozenset = frozenset()


@dataclass(frozen=True, eq=False)
class Dialect:
    """Encoding, separator and decimal mark of a text table, its first lines, and how many stand above its rows."""

    encoding: str = "utf-8-sig"
    separator: str = ","
    decimal: str = "."
    names: tuple[str, ...] = ()
    n_skipped: int = 0
    rows: tuple[tuple[str, ...], ...] = ()
    messages: tuple[str, ...] = ()

    @cached_property
    def cells(self) -> dict[str, tuple[str, ...]]:
        """The cells of the first rows, by column."""
        return dict(zip(self.names, zip_longest(*self.rows, fillvalue=""), strict=False))


def read_csv(path, options: ReadOptions | None = None, *, as_text: bool = False) -> RawTable:
    """Read a delimited text file.

    Parameters
    ----------
    path : str or Path
    options : ReadOptions, optional
        What is not given is inferred: the separator, the encoding (UTF-8, UTF-16 with a byte order mark, else
        Windows-1252), the decimal mark, the header and lines above it.
    as_text : bool
        Leave all cells as they are written, missing ones empty.
    """
    options = options or ReadOptions()
    pd = import_pandas()
    with readable(path):
        dialect = find_dialect(path, options)
        how = {
            "sep": dialect.separator, "na_values": [*MISSING, *options.missing], "keep_default_na": False,
            "skipinitialspace": True, "index_col": False, "low_memory": False, "header": None, "names": list(dialect.names),
        }  # fmt: skip
        if as_text:
            return RawTable(_parsed(pd, path, dialect, **{**how, "na_values": [], "dtype": str}), [])
        frame = _parsed(pd, path, dialect, decimal=dialect.decimal, **how)
        unclear = [] if options.mark else _unclear_columns(pd, frame, dialect)
        if unclear:
            texts = _parsed(pd, path, dialect, dtype=dict.fromkeys(unclear, str), usecols=unclear, **how)
            frame = frame.assign(**{name: texts[name] for name in unclear})
    frame = without_blanks(frame, options.missing)
    codes = _codes(pd, frame, dialect)
    messages = list(dialect.messages)
    if codes:
        messages.append(f"codes with leading zeros, read as numbers (categories, if you say so): {listed(codes)}")
    fractions = [
        name for name in frame.columns if pd.api.types.is_float_dtype(frame[name].dtype) and name not in unclear
    ]
    marked = any(_has_mark(dialect, name) for name in fractions)
    if marked and dialect.decimal == ",":
        messages.append(DECIMAL_COMMAS)
    return RawTable(frame, messages, frozenset([dialect.decimal] * marked))


def _parsed(pd, path, dialect, **how):
    with warnings.catch_warnings(), _text(path, dialect.encoding) as lines:
        for _ in range(dialect.n_skipped):
            lines.readline()
        # pandas only warns when rows are longer than the header, and then drops cells
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(lines, **how).copy()  # one block of numbers rather than one for each column
        except pd.errors.ParserWarning as error:
            raise DataError(f"{path} cannot be read: {error}") from error
        except pd.errors.EmptyDataError:
            frame = pd.DataFrame()
    if frame.empty:
        raise DataError(f"{path} has a header line but no rows")
    return frame


def without_blanks(frame, words=()):
    """Set cells of text to missing that stand for it, also with blanks around them, which quotes keep."""
    pd, missing = import_pandas(), {*MISSING, *words}
    for name in frame.columns[[not pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]]:
        gaps = frame[name].map(lambda cell: isinstance(cell, str) and cell.strip() in missing)
        if gaps.any():
            frame[name] = frame[name].mask(gaps.astype(bool))
    return frame


def _unclear_columns(pd, frame, dialect) -> list[str]:
    """Columns that pandas took for fractions, though all marks may be thousands separators: 4.297 and 492."""
    unclear = []
    for name in frame.columns[[pd.api.types.is_float_dtype(dtype) for dtype in frame.dtypes]]:
        values = np.abs(frame[name].to_numpy())
        values = values[np.isfinite(values)]
        fraction = values % 1
        if not fraction.any() and len(values) < len(frame) and not _has_mark(dialect, name):
            continue  # whole numbers with gaps
        short = np.abs(values * 1000 - np.round(values * 1000)) < 1e-6
        if short.all() and (fraction[(values < 1) | (values >= 1000)] == 0).all():
            unclear.append(name)
    return [name for name in unclear if not _is_fraction(dialect, name)]


def _has_mark(dialect, name) -> bool:
    return any(dialect.decimal in cell for cell in dialect.cells.get(name, ()))


def _is_fraction(dialect, name) -> bool:
    """Tell whether a mark in the first lines is certainly a decimal one, since other than three digits follow it."""
    mark = re.escape(dialect.decimal)
    return any(re.fullmatch(rf"[^{mark}]*{mark}(?!\d{{3}}$)\d*", cell) for cell in dialect.cells.get(name, ()))


def _codes(pd, frame, dialect) -> list[str]:
    """Columns of whole numbers written with leading zeros, such as postal codes."""
    whole = [name for name in frame.columns if pd.api.types.is_numeric_dtype(frame[name].dtype)]
    return [
        name
        for name in whole
        if any(cell[:1] == "0" and len(cell) > 1 and cell.isdigit() for cell in dialect.cells.get(name, ()))
    ]


def require_unique(names, path):
    """Raise a DataError if two columns have the same name."""
    repeated = sorted(str(name) for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise DataError(f"{path} has columns of the same name: {listed(repeated)}; rename them")


def find_dialect(path, options: ReadOptions | None = None) -> Dialect:
    """Infer the dialect of a file from its bytes and its first lines."""
    options = options or ReadOptions()
    encoding = _encoding(path)
    lines = _first_lines(path, encoding)
    said = [] if encoding == "utf-8-sig" else [f"read as {encoding}, since it is not UTF-8"]
    start, named = _above(lines, said)
    body = [line for line in lines[start:] if line.strip()]
    if not body:
        raise DataError(f"{path} is empty")
    separator = options.sep or named or _separator(body)
    if separator != "," and options.sep is None:
        said.append(f"columns are separated by {SEPARATORS.get(separator, repr(separator))}")
    require_size(path, body[0].count(separator) + 1, body[0].split(separator))
    places, rows = _split(lines[start:], separator)
    names, n_above = header_and_rows(path, rows, options, said)
    rows = rows[n_above:]
    n_skipped = start + (places[n_above] if rows else len(lines) - start)
    mark = options.mark or _decimal(rows)
    require_unique(names, path)
    return Dialect(encoding, separator, mark, tuple(names), n_skipped, tuple(map(tuple, rows)), tuple(said))


def _above(lines, said) -> tuple[int, str | None]:
    """Number of lines above the table that are blank, comments or the separator, and that separator."""
    separator = None
    comments = 0
    for start, line in enumerate(lines):
        if found := re.fullmatch(r'"?sep=(.)"?\s*', line.lstrip("\ufeff"), re.IGNORECASE):
            separator = found[1]
        elif line.startswith("#") and not any(
            line.count(s) and line.count(s) == lines[start + 1].count(s) for s in SEPARATORS if start + 1 < len(lines)
        ):
            comments += 1
        elif line.strip():
            break
    else:
        start = len(lines)
    if comments:
        said.append(f"comments above the table skipped: {comments} line{'s' * (comments > 1)}")
    return start, separator


def _split(lines, separator) -> tuple[list[int], list[list[str]]]:
    """The rows of cells in some lines, and the line that each begins at."""
    reader = csv.reader((f"{line}\n" for line in lines), delimiter=separator, skipinitialspace=True)
    places, rows, before = [], [], 0
    for row in reader:
        if any(cell.strip() for cell in row) or len(row) > 1:
            places.append(before)
            rows.append([cell.strip() for cell in row])
        before = reader.line_num
    return places, rows


def header_and_rows(path, rows, options, said) -> tuple[list[str], int]:
    """Names of the columns, and the number of first rows that are titles or the header.

    >>> header_and_rows("t.csv", [["Sales 2024"], ["size", "hue"], ["1", "red"], ["2", "blue"]], ReadOptions(), [])
    (['size', 'hue'], 2)
    >>> header_and_rows("t.csv", [["47", "Berlin"], ["12", "Paris"], ["9", "Berlin"]], ReadOptions(), [])
    (['x1', 'x2'], 0)
    """
    width = Counter(len(row) for row in rows).most_common(1)[0][0]
    n_titles = 0
    while width > 1 and n_titles + 1 < len(rows) and sum(map(bool, rows[n_titles])) <= (1 if width < 5 else 2):
        if not sum(map(bool, rows[n_titles + 1])):
            break
        n_titles += 1
    if options.header is not None and not options.header:
        n_titles = 0
    if n_titles:
        titles = [" ".join(filter(None, row)) for row in rows[:n_titles]]
        said.append(f"lines above the header skipped: {listed(map(repr, titles), 3)}")
    first, rest = rows[n_titles], rows[n_titles + 1 :]
    if _has_header(path, first, rest, options, said):
        return [cell or f"column {j + 1}" for j, cell in enumerate(first)], n_titles + 1
    said.append("no header line: columns are named x1, x2, …")
    return [f"x{j + 1}" for j in range(len(first))], n_titles


def _has_header(path, first, rest, options, said) -> bool:
    """Tell whether the first row names the columns: by the types of the cells below it, and whether it recurs in them."""
    if options.header is not None:
        return options.header
    if set(options.columns) & set(first):
        return True
    first, rest = first[:MOST_LOOKED_AT], rest[:MOST_ROWS]
    below = [[row[j] for row in rest if len(row) > j and row[j] not in MISSING] for j in range(len(first))]
    typed = [bool(cells) and np.mean([_is_typed(cell) for cell in cells]) >= TYPED for cells in below]
    above = [(cell, cells) for cell, cells, yes in zip(first, below, typed, strict=True) if yes and cell]
    alike = sum(_is_typed(cell) for cell, _ in above)
    words = sum(not _is_typed(cell) and cell not in cells for cell, cells in above)
    texts = [(cell, cells) for cell, cells, yes in zip(first, below, typed, strict=True) if cell and cells and not yes]
    recurring = sum(cell in cells for cell, cells in texts)
    if not rest:
        return not all(_is_typed(cell) for cell in first if cell)
    counted = [cell for cell, _ in above if _is_typed(cell)]
    if words and (words >= alike or _counts(counted)):
        return True
    if not words and alike > 2 and _counts(counted) and not recurring:
        said.append(f"the first line counts, and is taken for the header: {listed(first)}")
        return True
    if alike and not words and (recurring or not texts):
        return False
    few = [pair for pair in texts if len(set(pair[1])) <= max(2, len(pair[1]) / 2)]
    if not alike and not recurring:
        return True
    if not alike and recurring >= max(2, len(few) / 2):
        return False
    raise DataError(
        f"{path}: the first line, {listed(map(repr, first))}, may be a header or a row. Pass header=True or header=False"
        " (command line: --header, --no-header)"
    )


def _is_typed(cell) -> bool:
    """Tell whether a cell is a number, a date or a time."""
    return bool(
        CELL.fullmatch(cell) or TIME.fullmatch(cell) or re.fullmatch(r"\d{1,4}([-/.])\d{1,2}\1\d{1,4}([T ].*)?", cell)
    )


def _counts(cells) -> bool:
    """Tell whether cells are consecutive whole numbers, as columns without names and years are numbered."""
    if not all(cell.isdigit() for cell in cells):
        return False
    return len(cells) > 1 and set(np.diff([int(cell) for cell in cells])) == {1}


def _encoding(path) -> str:
    """Infer the encoding: UTF-16 by its mark, UTF-8 if all bytes are valid, else Windows-1252 or, failing that, Latin-1."""
    decoders = {name: codecs.getincrementaldecoder(name)() for name in ("utf-8-sig", "cp1252", "latin-1")}
    with open_binary(path) as stream:
        start = stream.read(2)
        if start in (codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE):
            return "utf-16"
        while start:
            if b"\x00" in start:
                raise DataError(f"{path} is not a text file: it holds zero bytes")
            for name in list(decoders):
                try:
                    decoders[name].decode(start)
                except UnicodeDecodeError:
                    del decoders[name]
            start = stream.read(2**20)
    if "utf-8-sig" in decoders and _ends_within_a_character(decoders["utf-8-sig"]):
        del decoders["utf-8-sig"]
    return next(iter(decoders))


def _ends_within_a_character(decoder) -> bool:
    try:
        decoder.decode(b"", final=True)
    except UnicodeDecodeError:
        return True
    return False


def _text(path, encoding):
    return io.TextIOWrapper(open_binary(path), encoding=encoding, newline="")


def _first_lines(path, encoding) -> list[str]:
    """Read the first lines, blank ones included."""
    lines, size = [], 0
    with _text(path, encoding) as stream:
        for line in stream:
            lines.append(line.rstrip("\r\n"))
            size += len(line)
            if len(lines) == SAMPLE_LINES or size > SAMPLE_CHARACTERS:
                break
    return lines


def _separator(lines) -> str:
    """Infer the separator: the one that occurs equally often in most lines; of several, the most frequent.

    >>> _separator(["a;b, c;d", "1,5;2;3"]), _separator(["Sales 2024, all", "a;b", "1,5;2", "2,5;3"])
    (';', ';')
    """
    bare = [re.sub(r'"[^"]*"', '""', line) for line in lines]

    def fit(separator):
        usual, n_lines = Counter(line.count(separator) for line in bare).most_common(1)[0]
        in_numbers = separator == "," and all(re.search(r",(?!\d)|(?<!\d),", line) is None for line in bare[1:])
        return (usual > 0) * n_lines, not (in_numbers and ";" in bare[-1]), usual, bare[0].count(separator)

    return max(SEPARATORS, key=fit)


def _decimal(rows) -> str:
    """Guess the decimal mark of most columns, which are then read fast; columns that do not have it are read as text.

    >>> _decimal([["1,5", "x"], ["1.234,25", "y"]]), _decimal([["1,234.5", "x"]]), _decimal([["1,234", "2.5"]])
    (',', '.', '.')
    """
    cells = [cell for row in rows for cell in row]
    commas = sum(re.fullmatch(r"[+-]?[\d.]*,(?!\d{3}$)\d+", cell) is not None for cell in cells)
    points = sum(re.fullmatch(r"[+-]?[\d,]*\.(?!\d{3}$)\d+([eE][+-]?\d+)?", cell) is not None for cell in cells)
    return "," if commas > points else "."
