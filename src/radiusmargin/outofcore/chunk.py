"""A chunk of rows, as one reading of a part of the data gives it."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from scipy import sparse

from .._checks import check_shape, check_sparse_indices, check_weights

_BLOCK = 1 << 18  # numbers that are worked on at a time: two megabytes stay in the cache of one core
_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)


@dataclass(frozen=True, eq=False)
class Block:
    """Some rows of a chunk, in double precision; all of positive weight.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    codes : ndarray of shape (m,)
        Numbers of classes.
    weight : ndarray of shape (m,)
    places : ndarray of shape (m,)
        Row numbers in the chunk.
    """

    X: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    places: np.ndarray

    def fingerprint(self, names: np.ndarray) -> int:
        """A number that changes with any bit of a row, its label or its weight; not with the order of the rows.

        Whole numbers have no rounding, so that it is the same on every machine. `names` has a number for each class.
        """
        odd = _ODD * (2 * np.arange(self.X.shape[1], dtype=np.uint64) + np.uint64(1))
        rows = np.einsum("ij,j->i", self.X.view(np.uint64), odd) + self.weight.view(np.uint64) * _MIX
        rows = (rows ^ (rows >> _HALF)) * _MIX  # else two rows could swap an entry unseen
        rows ^= rows >> _HALF
        return int(np.einsum("i,i->", rows, names[self.codes]))


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows, labels and weights, as a source gave them.

    Parameters
    ----------
    index : int
        Number of the chunk in its source.
    X : array, sparse matrix or data frame of shape (m, d)
        Of any numeric type; m may be zero.
    y : array-like of shape (m,)
        Labels of any kind.
    weight : array-like of shape (m,), optional

    Examples
    --------
    >>> import numpy as np
    >>> chunk = Chunk(0, np.eye(3, dtype=np.float32), ["a", "b", "a"])
    >>> [found.tolist() for found in chunk.labels()]
    [['a', 'b'], [2, 1]]
    >>> [(block.X.dtype.name, block.codes.tolist()) for block in chunk.blocks(np.array(["a", "b"]))]
    [('float64', [0, 1, 0])]
    """

    index: int
    X: Any
    y: Any
    weight: Any = None

    def __post_init__(self):
        X = self.X
        if hasattr(X, "to_numpy"):  # a data frame, whose columns may be of different types
            X = X.to_numpy(dtype=float)
        elif sparse.issparse(X):
            check_sparse_indices(X, f"chunk {self.index}: X")
        else:
            X = np.asarray(X)
        y = np.asarray(self.y)
        if X.ndim != 2 or (X.dtype.kind not in "iufb" and X.size):
            raise ValueError(f"chunk {self.index}: X must be two-dimensional and numeric, got {X.dtype} {X.shape}.")
        if y.shape == (X.shape[0], 1):
            y = y[:, 0]
        check_shape(f"chunk {self.index}: y", y.shape, (X.shape[0],))
        object.__setattr__(self, "X", X.tocsr() if sparse.issparse(X) else X)
        object.__setattr__(self, "y", y)
        object.__setattr__(self, "weight", self._checked_weight())

    def _checked_weight(self):
        weight = self.weight
        weight = weight if weight is None or np.ndim(weight) == 0 else np.asarray(weight).reshape(-1)
        return check_weights(weight, len(self.y), least=0, name=f"chunk {self.index}: sample_weight")

    def labels(self) -> tuple[np.ndarray, np.ndarray]:
        """The labels of rows of positive weight, sorted, and how many rows have them."""
        y = self.y if self.weight.all() else self.y[self.weight > 0]
        if y.dtype.kind == "f" and not np.isfinite(y).all():
            raise ValueError(f"chunk {self.index}: y contains NaN or infinity.")
        if y.dtype.kind == "f" and (y != np.floor(y)).any():
            raise ValueError(f"chunk {self.index}: y must hold class labels, got continuous values.")
        if y.dtype.kind != "O":
            return np.unique(y, return_counts=True)
        found = Counter(y.tolist())
        if any(label is None or label != label for label in found):
            raise ValueError(f"chunk {self.index}: y has missing labels.")
        labels = sorted(found)
        return np.array(labels, dtype=object), np.array([found[label] for label in labels], dtype=int)

    def blocks(self, classes: np.ndarray) -> Iterator[Block]:
        """The rows of positive weight, some at a time, with the numbers of their classes."""
        step = max(1, _BLOCK // max(self.X.shape[1], 1))
        for start in range(0, len(self.y), step):
            rows = slice(start, start + step)
            X = self.X[rows].toarray() if sparse.issparse(self.X) else self.X[rows]
            weight, places = self.weight[rows], np.arange(start, start + X.shape[0])
            y = self.y[rows]
            if not weight.all():
                kept = weight > 0
                X, y, weight, places = X[kept], y[kept], weight[kept], places[kept]
            if len(y):
                yield Block(np.ascontiguousarray(X, dtype=float), self._codes(y, classes), weight, places)

    def _codes(self, y, classes):
        if y.dtype.kind in "iufb":
            codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
            known = classes[codes] == y
        else:  # comparing all rows with a label is quicker than searching for one string after the other
            codes = np.full(len(y), -1)
            for k, label in enumerate(classes):
                codes[y == label] = k
            known = codes >= 0
        if not np.all(known):
            raise ChangedChunkError(f"chunk {self.index}: labels that were not there when it was first read.")
        return codes


class ChangedChunkError(RuntimeError):
    """A chunk gave other rows when it was read again: nothing can be certified about such data."""


__all__ = ["Block", "ChangedChunkError", "Chunk"]
