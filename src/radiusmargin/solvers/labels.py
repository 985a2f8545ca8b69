"""Labellings of rows by the classes that they belong to: what many classes take no memory for."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import numpy as np

REST = -1  # in place of the class labelled -1: all others


@dataclass(frozen=True, eq=False)
class ClassLabels:
    """K labellings by -1, 0 and +1, kept as the class of every row and the two sides of every labelling.

    It stands for an array of shape (K, n): ``labels[k]`` is a row of it, ``labels[numbers]`` several, `np.asarray` all.

    Parameters
    ----------
    codes : ndarray of shape (n,)
        Classes of the rows, numbered from 0.
    sides : ndarray of shape (K, 2)
        Of every labelling the class that is -1, or `REST` for all others, and the class that is +1. Rows of other classes are
        labelled 0: they take no part.
    n_classes : int

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.solvers import ClassLabels
    >>> labels = ClassLabels(np.array([0, 1, 2, 1]), np.array([[0, 1], [-1, 2]]), 3)
    >>> labels.shape, labels[0].tolist(), labels[1].tolist()
    ((2, 4), [-1.0, 1.0, 0.0, 1.0], [-1.0, -1.0, 1.0, -1.0])
    """

    codes: np.ndarray
    sides: np.ndarray
    n_classes: int

    def __post_init__(self):  # codes are looked at by the solver: here it would take longer than all else
        if self.codes.ndim != 1 or self.sides.ndim != 2 or self.sides.shape[1] != 2 or not self._are_integers:
            raise ValueError(
                "codes must be integers of shape (n,) and sides integers of shape (K, 2), got "
                f"{self.codes.dtype} {self.codes.shape} and {self.sides.dtype} {self.sides.shape}."
            )
        if self.sides.size and not (self.sides.min() >= REST and self.sides.max() < self.n_classes):
            raise ValueError(f"sides must be numbers of classes, 0 to {self.n_classes - 1}, or {REST} for all others.")

    @property
    def _are_integers(self):
        return self.codes.dtype.kind in "iu" and self.sides.dtype.kind in "iu"

    @property
    def shape(self) -> tuple[int, int]:
        return len(self.sides), len(self.codes)

    @property
    def ndim(self) -> int:
        return 2

    def __len__(self) -> int:
        return len(self.sides)

    def __iter__(self) -> Iterator[np.ndarray]:
        return (self[k] for k in range(len(self)))

    def __getitem__(self, index) -> np.ndarray:
        k, *rows = index if isinstance(index, tuple) else (index,)
        minus, plus = self.sides[k, 0, ..., None], self.sides[k, 1, ..., None]
        codes = self.codes[tuple(rows)] if rows else self.codes
        others = np.where(minus == REST, codes != plus, codes == minus)
        return (codes == plus).astype(float) - others

    def __array__(self, dtype=None, copy=None):
        return np.asarray(self[:], dtype=dtype)

    def part(self, problems: slice | np.ndarray) -> ClassLabels:
        """Some of the labellings, by a slice or by numbers."""
        return ClassLabels(self.codes, self.sides[problems], self.n_classes)


__all__ = ["REST", "ClassLabels"]
