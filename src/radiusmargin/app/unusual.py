"""New rows that are unlike those that a model was fitted to: unseen categories, numbers out of range, empty columns."""

from __future__ import annotations

import numpy as np

from ..tables.checks import listed
from .model_file import Bundle

__all__ = ["unusual_rows"]


def unusual_rows(bundle: Bundle, rows) -> tuple[list[str], list[str]]:
    """Sentences about the columns that are unlike the training rows, and a note for every row.

    A number is out of range where it lies further from the range of the training rows than that is wide.
    """
    lines: list[str] = []
    notes: list[list[str]] = [[] for _ in range(len(rows))]
    if bundle.encoder is None or not len(rows):
        return lines, [""] * len(rows)
    table = bundle.encoder.cast(rows)
    ranges, values = bundle.facts.get("ranges", {}), bundle.facts.get("values", {})
    for name in table.columns:
        column = table[name]
        gaps = column.isna() | (column == "") if name in values else column.isna()
        if gaps.all():
            lines.append(f"{name}: empty in all {len(rows)} rows")
        elif name in ranges:
            low, high = ranges[name]
            out = ((column < low - (high - low)) | (column > high + (high - low))).to_numpy()
            if out.any():
                shown = listed([f"{value:g}" for value in column[out]], 3)
                lines.append(f"{name}: {_rows(out)} far outside {low:g} to {high:g}: {shown}")
                _note(notes, out, f"{name} out of range")
        elif name in values:
            out = ~column.isin(values[name]).to_numpy()
            if out.any():
                lines.append(
                    f"{name}: {_rows(out)} with values that the model has not seen: {listed(map(repr, column[out].unique()), 5)}"
                )
                _note(notes, out, f"{name} not seen")
    return lines, ["; ".join(note) for note in notes]


def _rows(where) -> str:
    count = int(where.sum())
    return f"{count} row{'s' * (count != 1)}"


def _note(notes, where, text):
    for row in np.flatnonzero(where):
        notes[row].append(text)
