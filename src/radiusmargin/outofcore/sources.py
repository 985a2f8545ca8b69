"""Chunks that this process reads, in threads."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator
from itertools import count
from typing import Any

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from threadpoolctl import threadpool_limits

from .._types import ArrayLike
from .chunk import Chunk
from .problem import Summary

CHUNK = 1 << 22  # numbers: 32 MiB of doubles are read at a time by each thread


class ChunkSource(ABC):
    """Chunks that can be read again and again (`radiusmargin.outofcore.problem.Source`)."""

    n_features: int | None = None
    n_rows: int | None = None

    @abstractmethod
    def reduce(self, task: Callable[[Chunk], Any], name: str) -> Any:
        """One pass: the summaries of all chunks, merged in an order that only their number decides."""


class ArraySource(ChunkSource):
    """Slices of an array-like: a memory map, a zarr or an HDF5 array.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Whatever gives arrays for slices of rows.
    y : array-like of shape (n,)
    weight : array-like of shape (n,), or a number, optional
    n_threads : int or None, default=1
        -1 takes every core.
    rows : int, optional
        Rows of a chunk. Default: about four million numbers, in whole chunks of the array where it has such.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.outofcore import ArraySource
    >>> source = ArraySource(np.ones((5, 2)), np.array([0, 1, 0, 1, 0]), rows=2)
    >>> [(chunk.index, chunk.X.shape) for chunk in source.chunks()]
    [(0, (2, 2)), (1, (2, 2)), (2, (1, 2))]
    """

    def __init__(
        self,
        X: np.ndarray,
        y: ArrayLike,
        weight: ArrayLike | None = None,
        n_threads: int | None = 1,
        rows: int | None = None,
    ):
        self.X, self.y, self.weight, self.n_threads = X, y, weight, n_threads
        if len(X.shape) != 2:
            raise ValueError(f"X must be two-dimensional, got shape {X.shape}.")
        self.n_rows, self.n_features = X.shape
        for name, values in (("y", y), ("sample_weight", weight)):
            if hasattr(values, "__len__") and len(values) != self.n_rows:
                raise ValueError(f"{name} must have {self.n_rows} entries to match X, got {len(values)}.")
        self.rows = rows or self._whole_chunks()

    def _whole_chunks(self):
        wanted = max(1, CHUNK // max(1, self.n_features))
        own = getattr(self.X, "chunks", None)
        return max(1, wanted // own[0]) * own[0] if own else wanted

    def chunks(self) -> Iterator[Chunk]:
        return (self._chunk(i) for i in range(self._count))

    @property
    def _count(self):
        return -(-self.n_rows // self.rows)

    def _chunk(self, i):
        rows = slice(i * self.rows, (i + 1) * self.rows)
        weight = self.weight[rows] if hasattr(self.weight, "__len__") else self.weight
        return Chunk(i, self.X[rows], self.y[rows], weight)

    def reduce(self, task: Callable[[Chunk], Summary], name: str) -> Summary:
        return in_threads((lambda i=i: task(self._chunk(i)) for i in range(self._count)), self.n_threads)


class ReaderSource(ChunkSource):
    """Chunks from a function that can be called again: each call returns an iterator of ``(X, y)`` or ``(X, y, weight)``.

    Parameters
    ----------
    read : callable
        Its iterators must give the same chunks in the same order.
    n_threads : int or None, default=1
        Threads that work on chunks; reading itself is done one chunk after the other.

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.outofcore import ReaderSource
    >>> def read():
    ...     for seed in range(3):
    ...         X = np.random.default_rng(seed).standard_normal((4, 2))
    ...         yield X, X[:, 0] > 0
    >>> [chunk.X.shape for chunk in ReaderSource(read).chunks()]
    [(4, 2), (4, 2), (4, 2)]
    """

    def __init__(self, read: Callable[[], Iterable], n_threads: int | None = 1):
        self.read, self.n_threads = read, n_threads

    def chunks(self) -> Iterator[Chunk]:
        return (Chunk(i, *parts) for i, parts in zip(count(), self._parts(), strict=False))

    def _parts(self):
        parts = self.read()
        if not isinstance(parts, Iterable) or parts is self.read:
            raise ValueError(
                "chunks come from a function that returns a new iterator of (X, y) or (X, y, weight) each time it is "
                f"called, got a {type(parts).__name__} from it."
            )
        for i, part in enumerate(parts):
            if not isinstance(part, tuple) or len(part) not in (2, 3):
                raise ValueError(f"chunk {i} must be (X, y) or (X, y, weight), got a {type(part).__name__}.")
            yield part

    def reduce(self, task: Callable[[Chunk], Summary], name: str) -> Summary:
        return in_threads((lambda chunk=chunk: task(chunk) for chunk in self.chunks()), self.n_threads)


def in_threads(calls: Iterable[Callable], n_threads: int | None) -> Any:
    """Merge what calls return in their order; no more than a few of them are under way at a time."""
    n_threads = effective_n_jobs(n_threads)
    with threadpool_limits(1, user_api="blas"):  # threads go over chunks
        if n_threads == 1:
            return merged(call() for call in calls)
        pool = Parallel(n_threads, backend="threading", return_as="generator", pre_dispatch=n_threads + 1)
        return merged(pool(delayed(call)() for call in calls))


def merged(summaries: Iterable) -> Any:
    """Neighbours first, then pairs of pairs, and so on: the order depends on their number only."""
    stack = []
    for summary in summaries:
        size = 1
        while stack and stack[-1][0] == size:
            size, summary = 2 * size, stack.pop()[1].merged(summary)
        stack.append((size, summary))
    if not stack:
        raise ValueError(
            "there are no chunks to learn from; a function that reads them must return a new iterator each time it is called."
        )
    _, summary = stack.pop()
    while stack:
        summary = stack.pop()[1].merged(summary)
    return summary


__all__ = ["ArraySource", "ChunkSource", "ReaderSource", "in_threads", "merged"]
