"""Read delimited text; infer encoding, separator, decimal mark, thousands separators and header, and report them."""

from __future__ import annotations

import codecs
import io
import re
import warnings
from collections import Counter
from dataclasses import dataclass

from .checks import import_pandas, listed, require_size
from .files import open_binary, readable
from .task import DataError

__all__ = ["Dialect", "find_dialect", "read_csv", "require_unique"]

#: Cells that stand for a missing value. The longer list of pandas has "None", which is a category in many tables.
MISSING = ("", "?", "NA", "N/A", "n/a", "#N/A", "NaN", "nan", "null", "NULL")

SEPARATORS = {",": "commas", ";": "semicolons", "\t": "tabs", "|": "bars"}

#: Size of the sample from which the dialect of a file is inferred.
SAMPLE_LINES, SAMPLE_CHARACTERS = 200, 1_000_000


@dataclass(frozen=True)
class Dialect:
    """Encoding, separator and decimal mark of a text table."""

    encoding: str = "utf-8-sig"
    separator: str = ","
    decimal: str = "."

    @property
    def messages(self) -> list[str]:
        """Messages about what differs from UTF-8, commas and decimal points."""
        said = []
        if self.encoding != "utf-8-sig":
            said.append(f"read as {self.encoding}, since it is not UTF-8")
        if self.separator != ",":
            said.append(f"columns are separated by {SEPARATORS[self.separator]}")
        if self.decimal != ".":
            said.append("numbers are written with decimal commas")
        return said


def read_csv(path, separator=None, missing=()):
    """Read a delimited text file; return a data frame and messages about what was inferred.

    Parameters
    ----------
    path : str or Path
    separator : str, optional
        Inferred by default, as are the encoding (UTF-8, UTF-16 with a byte order mark, else Windows-1252), the decimal
        mark, and whether the first line is a header: a line of numbers only is a row.
    missing : iterable of str
        Words that stand for a missing value, beside the usual ones.
    """
    pd = import_pandas()
    with readable(path):
        dialect = find_dialect(path, separator)
        options = {
            "sep": dialect.separator, "decimal": dialect.decimal, "na_values": [*MISSING, *missing],
            "keep_default_na": False, "skipinitialspace": True, "index_col": False, "low_memory": False,
        }  # fmt: skip
        messages = [] if separator else dialect.messages
        with _text(path, dialect.encoding) as lines:
            first = pd.read_csv(lines, header=None, nrows=1, **{**options, "na_values": [], "dtype": str}).iloc[0]
        names = [cell.strip() if isinstance(cell, str) else "" for cell in first]
        headless = all(_is_number(cell, dialect.decimal) for cell in names)
        if headless:
            names = [f"x{j + 1}" for j in range(len(names))]
            messages.append("no header line: columns are named x1, x2, …")
        names = [name or f"column {j + 1}" for j, name in enumerate(names)]
        require_unique(names, path)
        with _text(path, dialect.encoding) as lines:
            frame = _parsed(pd, path, lines, header=None if headless else 0, names=names, **options)
    return _without_thousands(pd, frame, dialect.decimal, messages), messages


def _parsed(pd, path, lines, **options):
    with warnings.catch_warnings():
        # pandas only warns when rows are longer than the header, and then drops cells
        warnings.simplefilter("error", pd.errors.ParserWarning)
        try:
            frame = pd.read_csv(lines, **options).copy()  # one block of numbers rather than one for each column
        except pd.errors.ParserWarning as error:
            raise DataError(f"{path} cannot be read: {error}") from error
    if frame.empty:
        raise DataError(f"{path} has a header line but no rows")
    return frame


def require_unique(names, path):
    """Raise a DataError if two columns have the same name."""
    repeated = sorted(str(name) for name, count in Counter(names).items() if count > 1)
    if repeated:
        raise DataError(f"{path} has columns of the same name: {listed(repeated)}; rename them")


def find_dialect(path, separator=None) -> Dialect:
    """Infer the dialect of a file from its bytes and its first lines."""
    encoding = _encoding(path)
    lines = _first_lines(path, encoding)
    if not lines:
        raise DataError(f"{path} is empty")
    separator = separator or _separator(lines)
    header = lines[0].split(separator)
    require_size(path, len(header), header)
    return Dialect(encoding, separator, _decimal(lines[1:] or lines, separator))


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
    """Read the first lines that are not blank."""
    lines, size = [], 0
    with _text(path, encoding) as stream:
        for line in stream:
            if line.strip():
                lines.append(line.rstrip("\r\n"))
                size += len(line)
            if len(lines) == SAMPLE_LINES or size > SAMPLE_CHARACTERS:
                break
    return lines


def _separator(lines) -> str:
    """Infer the separator: one that occurs equally often in all lines, else the most frequent in the first line.

    >>> _separator(["a;b, c;d", "1,5;2;3"])
    ';'
    """
    bare = [re.sub(r'"[^"]*"', "", line) for line in lines]

    def fit(separator):
        counts = {line.count(separator) for line in bare}
        return (len(counts) == 1 and counts != {0}, bare[0].count(separator))

    return max(SEPARATORS, key=fit)


def _decimal(lines, separator) -> str:
    """Infer the decimal mark: a comma if more cells need a decimal comma than need a decimal point.

    A comma before three digits may be a thousands separator. It is a decimal mark if nothing in the table contradicts it
    and commas do not separate the columns.

    >>> _decimal(["1,5;x", "1.234,25;y"], ";"), _decimal(['"1,234.5",x'], ","), _decimal(["1,234;2.5"], ";")
    (',', '.', '.')
    """
    cells = [cell.strip().strip('"') for line in lines for cell in _cells(line, separator)]
    commas = [cell for cell in cells if re.fullmatch(r"[+-]?(\d+|\d{1,3}([.' \u00a0]\d{3})+),\d+([eE][+-]?\d+)?", cell)]
    certain = [cell for cell in commas if not re.fullmatch(r"[+-]?\d{1,3}(,\d{3})+", cell)]
    points = [cell for cell in cells if re.fullmatch(r"[+-]?\d*\.\d+([eE][+-]?\d+)?", cell)]
    if not certain and (points or separator == ","):
        return "."
    grouped = [cell for cell in points if re.fullmatch(r"[+-]?[1-9]\d{0,2}\.\d{3}", cell)]
    return "," if len(commas) > len(points) - len(grouped) else "."


def _cells(line, separator):
    return re.findall(rf'"(?:[^"]|"")*"|[^{re.escape(separator)}]+', line)


def _is_number(cell, decimal) -> bool:
    try:
        float(cell.replace(decimal, "."))
    except ValueError:
        return False
    return True


def _without_thousands(pd, frame, decimal, messages):
    """Convert columns whose texts are all numbers with thousands separators, such as 1.234,5 or 1,234.5."""
    groups = r"'\u00a0 " + (r"\." if decimal == "," else ",")
    pattern = rf"[+-]?\d{{1,3}}([{groups}]\d{{3}})*(\{decimal}\d+)?"
    changed = {}
    for name in frame.columns[[not pd.api.types.is_numeric_dtype(dtype) for dtype in frame.dtypes]]:
        texts = frame[name].dropna()
        if len(texts) and _all_match(texts.iloc[:1000], pattern) and _all_match(texts, pattern):
            plain = frame[name].str.replace(rf"[{groups}]", "", regex=True).str.replace(decimal, ".", regex=False)
            changed[name] = pd.to_numeric(plain)
    if changed:
        messages.append(f"thousands separators removed: {listed(changed)}")
    return frame.assign(**changed) if changed else frame


def _all_match(texts, pattern) -> bool:
    return all(isinstance(text, str) and re.fullmatch(pattern, text.strip()) for text in texts)
