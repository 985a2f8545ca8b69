"""Hinge problems on rows that are read chunk by chunk, again for every pass."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from typing import Any, Protocol

import numpy as np

from .chunk import Chunk


class Summary(Protocol):
    """What a pass makes of a chunk. It is small, whatever the chunk."""

    def merged(self, other: Any) -> Any:
        """That of both chunks, of which the other comes later."""


class Source(Protocol):
    """Chunks that can be read again and again.

    Attributes
    ----------
    n_features : int or None
    n_rows : int or None
        None where only reading tells.
    """

    n_features: int | None
    n_rows: int | None

    def reduce(self, task: Callable[[Chunk], Summary], name: str) -> Summary:
        """One pass: the summaries of all chunks, merged in an order that only the number of chunks decides."""


@dataclass(frozen=True, eq=False)
class Coordinates:
    """Where a regulariser is defined: ``v = w @ inverse`` for separators, ``(x - shift) @ basis`` for rows.

    Parameters
    ----------
    shift : ndarray of shape (d,)
        Zero without an intercept, which alone can undo it.
    basis, inverse : ndarrays of shape (d, r), optional
        None is the identity.
    """

    shift: np.ndarray
    basis: np.ndarray | None = None
    inverse: np.ndarray | None = None

    def rows(self, X: np.ndarray) -> np.ndarray:
        return self.sums(X, np.ones(len(X)))

    def sums(self, X: np.ndarray, total: np.ndarray) -> np.ndarray:
        """Sums of weighted rows, from those in the user's units and the sums of their weights."""
        X = X - np.multiply.outer(total, self.shift)
        return X if self.basis is None else X @ self.basis

    def lower(self, coef: np.ndarray) -> np.ndarray:
        return coef if self.inverse is None else coef @ self.inverse

    def lift(self, coef: np.ndarray, intercept: float) -> tuple[np.ndarray, float]:
        """(coef, intercept) in the user's units."""
        coef = coef if self.basis is None else self.basis @ coef
        return coef, float(intercept - coef @ self.shift)


@dataclass(frozen=True, eq=False)
class ChunkedProblem:
    """``1/2 v'Bv + sum_i c_i max(0, 1 - y_i (x_i'w + b))`` for rows whose y_i and c_i their class tells.

    Parameters
    ----------
    signs : ndarray of shape (n_classes,)
        -1, +1, or 0 for a class that takes no part.
    costs : ndarray of shape (n_classes,)
        C times the weight of the class; that of the row is a factor.
    regularizer : ndarray of shape (r,) or (r, r), or None
        B in `coordinates`: a diagonal, a matrix, or the identity.
    coordinates : Coordinates
    intercept : bool, default=True
    """

    signs: np.ndarray
    costs: np.ndarray
    regularizer: np.ndarray | None
    coordinates: Coordinates
    intercept: bool = True
    B: np.ndarray = field(init=False, repr=False)

    def __post_init__(self):
        basis, form = self.coordinates.basis, self.regularizer
        r = len(self.coordinates.shift) if basis is None else basis.shape[1]
        B = np.eye(r) if form is None else np.diag(form) if form.ndim == 1 else form
        object.__setattr__(self, "B", B)

    def smooth_part(self, coef: np.ndarray) -> float:
        """The regulariser of a separator in the user's units."""
        v = self.coordinates.lower(coef)
        return 0.5 * float(v @ self.B @ v)

    def dual_objective(self, total: float, g: np.ndarray) -> float:
        """For multipliers with this sum, which make the combination g of rows."""
        return float(total - 0.5 * g @ np.linalg.solve(self.B, g))


__all__ = ["ChunkedProblem", "Coordinates", "Source", "Summary"]
