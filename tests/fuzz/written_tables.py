"""Random tables, written in many ways, are read to the same values or stop with a question: ``written_tables.py --variants 2000``.

A table of numbers, dates and words is written with a random separator, decimal mark, separator of thousands, quoting,
encoding, date format, decoration, header and lines above it, and read again. Wrong is a value that differs, a column that is
lost, and an error that does not name the option which answers it; and so is a question about more than one table in ten.
"""

from __future__ import annotations

import argparse
import csv
import io
import re
import sys
import tempfile
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from radiusmargin.tables import DataError, read_table
from radiusmargin.tables.columns import parse_dates

DATES = (
    "%Y-%m-%d", "%d.%m.%Y", "%d/%m/%Y", "%m/%d/%Y", "%Y/%m/%d", "%d-%m-%Y", "%m-%d-%Y", "%d.%m.%y", "%d %b %Y",
    "%b %d, %Y", "%Y-%m-%d %H:%M", "%d-%b-%Y",
)  # fmt: skip
HUES = np.array(["red", "blue", "green", "grün", "no colour"])


@dataclass
class Style:
    """How a table is written."""

    sep: str
    decimal: str
    thousands: str
    quoting: int
    encoding: str
    newline: str
    dates: str
    header: bool
    above: str
    pad: bool


def draw_style(rng) -> Style:
    decimal = rng.choice([".", ","])
    return Style(
        sep=rng.choice([",", ";", "\t", "|"]),
        decimal=decimal,
        thousands=rng.choice(["", "", "," if decimal == "." else ".", "'", " ", "\u00a0"]),
        quoting=int(rng.choice([csv.QUOTE_MINIMAL, csv.QUOTE_ALL])),
        encoding=rng.choice(["utf-8", "utf-8-sig", "cp1252", "utf-16"]),
        newline=rng.choice(["\n", "\r\n"]),
        dates=rng.choice(DATES),
        header=rng.random() < 0.8,
        above=rng.choice(["", "", "", "sep", "# made by a program", "Sales of the year", "\n"]),
        pad=rng.random() < 0.1,
    )


def draw_columns(rng, n):
    """Name -> (kind, true values, how they are written)."""
    columns = {}
    for j in range(rng.integers(1, 5)):
        scale = 10.0 ** rng.integers(-1, 6)
        values = rng.lognormal(sigma=rng.choice([0.3, 1.5]), size=n) * scale
        digits = int(rng.integers(0, 4))
        values = np.round(values * (rng.choice([1, -1], size=n) if rng.random() < 0.3 else 1), digits)
        values[rng.random(n) < 0.05] = np.nan
        how = rng.choice(["", "", "", "$", "€", "%", "kg", "()", "K"])
        columns[f"number {j}"] = ("number", values, (digits, bool(rng.integers(2)), how))
    if rng.random() < 0.6:
        start = np.datetime64("2015-01-01") + rng.integers(0, 3000, size=n)
        columns["day"] = ("date", start.astype("datetime64[D]"), None)
    if rng.random() < 0.3:
        columns["at"] = ("time", rng.integers(0, 24 * 60, size=n) / 60, None)
    columns["hue"] = ("category", rng.choice(HUES, size=n), None)
    columns["result"] = ("label", rng.permutation(np.array(["yes", "no"])[np.arange(n) % 2]), None)
    return columns


def written(style, kind, value, how) -> str:
    if kind == "number":
        return "" if np.isnan(value) else decorated(style, value, *how)
    if kind == "date":
        return value.item().strftime(style.dates)
    if kind == "time":
        return f"{int(value):02d}:{round(value % 1 * 60):02d}"
    return str(value)


def decorated(style, value, digits, fixed, how) -> str:
    if how == "K":
        value, digits = value / 1000, 6
    text = f"{abs(value):,.{digits}f}"
    if digits and (not fixed or how == "K"):
        text = text.rstrip("0").rstrip(".")
    text = text.replace(",", "T").replace(".", style.decimal).replace("T", style.thousands)
    negative = value < 0
    text = {"$": f"${text}", "€": f"{text} €", "%": f"{text}%", "kg": f"{text} kg", "K": f"{text}K"}.get(how, text)
    return (f"({text})" if how == "()" else f"-{text}") if negative else text


def write(style, columns, path):
    stream = io.StringIO()
    writer = csv.writer(stream, delimiter=style.sep, quoting=style.quoting, lineterminator=style.newline)
    if style.above == "sep":
        stream.write(f"sep={style.sep}{style.newline}")
    elif style.above and style.header:
        stream.write(style.above + style.newline)
    if style.header:
        writer.writerow(columns)
    cells = [[written(style, kind, value, how) for value in values] for kind, values, how in columns.values()]
    for row in zip(*cells, strict=True):
        writer.writerow([f" {cell} " for cell in row] if style.pad else row)
    path.write_bytes(stream.getvalue().encode(style.encoding, errors="replace"))


def verdict(style, columns, path) -> str:
    """ "same", "asked", or what is wrong."""
    try:
        task = read_table(path)
    except DataError as error:
        return "asked" if re.search(r"Pass \w+=.*command line: --", str(error)) else f"error: {error}"
    names = dict(zip(columns, columns if style.header else [f"x{j + 1}" for j in range(len(columns))], strict=True))
    if len(task.y) != len(columns["result"][1]) or task.y.tolist() != columns["result"][1].tolist():
        return "labels differ"
    for name, (kind, values, _) in columns.items():
        if kind == "label":
            continue
        if names[name] not in task.X.columns:
            return f"{name} is lost: {task.note}"
        if not same(kind, values, task.X[names[name]], task.encoder.kinds[names[name]]):
            return f"{name} is {task.X[names[name]].tolist()[:6]} and was {values.tolist()[:6]}: {task.note}"
    return "same"


def same(kind, values, found, read_as) -> bool:
    if kind in ("number", "time"):
        return read_as == "number" and np.allclose(found.to_numpy(float), values, rtol=1e-9, equal_nan=True)
    if kind == "date":
        if not read_as.startswith("date"):
            return False
        days = parse_dates(found, read_as.partition(" ")[2]).dt.tz_localize(None).to_numpy().astype("datetime64[D]")
        return (days == values).all()
    return found.str.strip().tolist() == values.tolist()


def run(n_variants, seed=0, show=print) -> Counter:
    """Verdicts over so many variants."""
    counts = Counter()
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder, "t.csv")
        for number in range(n_variants):
            rng = np.random.default_rng([seed, number])
            columns = draw_columns(rng, int(rng.integers(12, 80)))
            style = draw_style(rng)
            write(style, columns, path)
            found = verdict(style, columns, path)
            counts[found if found in ("same", "asked") else "wrong"] += 1
            if found not in ("same", "asked"):
                show(f"variant {number}: {found}\n  {style}")
    return counts


if __name__ == "__main__":
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--variants", type=int, default=2000)
    parser.add_argument("--seed", type=int, default=0)
    given = parser.parse_args()
    counts = run(given.variants, given.seed)
    print(
        f"{given.variants} tables: {counts['same']} read to the same, {counts['asked']} asked about, {counts['wrong']} wrong"
    )
    sys.exit(counts["wrong"] > 0 or counts["asked"] > 0.1 * given.variants)
