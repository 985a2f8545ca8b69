"""Options that override what the reader of a table would infer."""

from __future__ import annotations

from dataclasses import dataclass, fields
from typing import Any

from .task import DataError

__all__ = ["ReadOptions"]


@dataclass(frozen=True)
class ReadOptions:
    """Answers to what a table alone does not say; by default everything is inferred, or asked for in an error.

    Parameters
    ----------
    missing : tuple of str
        Words that stand for a missing value, in addition to the usual ones.
    categories : tuple of str
        Columns that are categories, whatever they hold.
    numbers : tuple of str
        Columns that are numbers; whatever is not a number in them is missing.
    drop : tuple of str
        Columns to leave out.
    sep : str or None
        What separates columns.
    decimal, thousands : str or None
        Marks in numbers: of the fraction, and between groups of three digits.
    date_format : str or None
        Format of dates, in the notation of :meth:`datetime.datetime.strptime`.
    header : bool or None
        Whether the first line names the columns.
    sheet : str or None
        Sheet of a spreadsheet, by name.
    groups : str or None
        Column whose rows of the same value, such as those of one patient, belong to the same part of every split. It is
        not a feature.
    quantity : bool
        Whether a target of many different numbers is a quantity to predict; otherwise it is refused.
    time_order : str or None
        Column by which rows are ordered; models are tested on later rows than they learn from.
    columns : tuple of str
        Names of columns that are expected; a first line that holds one of them is a header.

    Examples
    --------
    >>> ReadOptions(thousands=".").mark
    ','
    """

    missing: tuple[str, ...] = ()
    categories: tuple[str, ...] = ()
    numbers: tuple[str, ...] = ()
    drop: tuple[str, ...] = ()
    sep: str | None = None
    decimal: str | None = None
    thousands: str | None = None
    date_format: str | None = None
    header: bool | None = None
    sheet: str | None = None
    groups: str | None = None
    time_order: str | None = None
    quantity: bool = False
    columns: tuple[str, ...] = ()

    def __post_init__(self):
        for name in ("missing", "categories", "numbers", "drop", "columns"):
            value = getattr(self, name)
            object.__setattr__(self, name, (value,) if isinstance(value, str) else tuple(value))
        if self.decimal not in (None, ".", ","):
            raise DataError(f"decimal must be a point or a comma, got {self.decimal!r}")
        if self.thousands is not None and self.thousands == self.decimal:
            raise DataError(f"decimal and thousands are both {self.decimal!r}")
        if self.sep is not None:
            object.__setattr__(self, "sep", {"\\t": "\t", "tab": "\t"}.get(self.sep, self.sep))
            if len(self.sep) != 1:
                raise DataError(f"sep must be a single character, got {self.sep!r}")

    @property
    def mark(self) -> str | None:
        """The decimal mark, if it was given or follows from the thousands separator."""
        return self.decimal or {".": ",", ",": "."}.get(self.thousands or "")

    def require_text_table(self, path: Any) -> None:
        """Raise a DataError if anything is given, since the file has no named columns of text."""
        allowed = ("columns", "quantity")  # of which neither says how a text is read
        given = [item.name for item in fields(self) if getattr(self, item.name) not in ((), None, False)]
        if given := [name for name in given if name not in allowed]:
            raise DataError(f"{path.name}: {', '.join(given)}: for tables with named columns")
