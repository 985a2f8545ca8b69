"""Chunks of rows, and the sources that read them.

First a chunk and its blocks, then the contract of a source and the sources that this process reads in threads (those of
Dask are in `dask_source`), last the functions that find the source of what a user passed to `fit` or `predict`.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from functools import partial
from itertools import count
from typing import Any, Protocol, Self, TypeVar

import numpy as np
from joblib import Parallel, delayed, effective_n_jobs
from scipy import sparse
from threadpoolctl import threadpool_limits

from .._blocks import split
from .._checks import check_shape, check_sparse_indices, check_weights
from .._types import ArrayLike

_ODD = np.uint64(0x9E3779B97F4A7C15)
_MIX = np.uint64(0xBF58476D1CE4E5B9)
_HALF = np.uint64(32)


@dataclass(frozen=True, eq=False)
class Block:
    """A block of rows of a chunk, in double precision and all of positive weight.

    Parameters
    ----------
    X : ndarray of shape (m, d)
    codes : ndarray of shape (m,)
        Class index of every row.
    weight : ndarray of shape (m,)
    places : ndarray of shape (m,)
        Row numbers in the chunk.
    """

    X: np.ndarray
    codes: np.ndarray
    weight: np.ndarray
    places: np.ndarray

    def fingerprint(self, names: np.ndarray) -> int:
        """Hash of the rows with their labels and weights, independent of the order of the rows.

        It is computed in integers, so that it is the same on every machine. `names` has a number for each class.
        """
        X = self._read
        odd = _ODD * (2 * np.arange(X.shape[1], dtype=np.uint64) + np.uint64(1))
        rows = np.einsum("ij,j->i", X.view(np.uint64), odd) + self.weight.view(np.uint64) * _MIX
        rows = (rows ^ (rows >> _HALF)) * _MIX  # otherwise swapping an entry of two rows would go unnoticed
        rows ^= rows >> _HALF
        return int(np.einsum("i,i->", rows, names[self.codes]))

    @property
    def _read(self):
        """The rows as they were read, which a map of them may round differently on another machine."""
        return self.X


@dataclass(frozen=True, eq=False)
class MappedBlock(Block):
    """A block of mapped rows, with the rows as they were read."""

    read: np.ndarray

    @property
    def _read(self):
        return self.read


@dataclass(frozen=True, eq=False)
class Chunk:
    """Rows, labels and weights of one part of the data, as a source read them.

    Parameters
    ----------
    index : int
        Number of the chunk in its source.
    X : array, sparse matrix or data frame of shape (m, d)
        Any numeric type; m may be zero.
    y : array-like of shape (m,)
        Labels of any type.
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
            X = _numbers_of(X, self.index)
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
        """Sorted labels of the rows of positive weight, and their counts."""
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
        """Iterate over the rows of positive weight, a block at a time, with the indices of their classes."""
        for rows in split(len(self.y), self.n_features):
            X = self.X[rows].toarray() if sparse.issparse(self.X) else self.X[rows]
            weight, places = self.weight[rows], np.arange(rows.start, rows.start + X.shape[0])
            y = self.y[rows]
            if not weight.all():
                kept = weight > 0
                X, y, weight, places = X[kept], y[kept], weight[kept], places[kept]
            if len(y):
                yield self._block(np.ascontiguousarray(X, dtype=float), self._codes(y, classes), weight, places)

    def _block(self, X, *labels):
        return Block(X, *labels)

    @property
    def n_features(self) -> int:
        """Number of columns of the blocks."""
        return self.X.shape[1]

    def _codes(self, y, classes):
        if y.dtype.kind in "iufb":
            codes = np.minimum(np.searchsorted(classes, y), len(classes) - 1)
            found = classes[codes] == y
        else:  # comparing all rows with a label is quicker than searching for one string after the other
            codes = np.full(len(y), -1)
            for k, label in enumerate(classes):
                codes[y == label] = k
            found = codes >= 0
        if not np.all(found):
            raise ChangedChunkError(f"chunk {self.index}: labels that were not there when it was first read.")
        return codes


def _numbers_of(frame, index):
    try:
        return frame.to_numpy(dtype=float)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"chunk {index}: columns must be numbers without gaps ({error}). Categories and dates are encoded in memory only: "
            "fit a TableEncoder to a sample, and transform each chunk."
        ) from error


@dataclass(frozen=True, eq=False)
class MappedChunk(Chunk):
    """A chunk whose rows are mapped, a block at a time.

    Parameters
    ----------
    function : callable
        Maps rows (m, d) to rows (m, width).
    width : int
    """

    function: Any = None
    width: int = 0

    @property
    def n_features(self) -> int:
        return max(1, self.width)

    def _block(self, X, *labels):
        return MappedBlock(self.function(X), *labels, read=X)


class ChangedChunkError(RuntimeError):
    """A chunk had different rows when it was read again. Nothing can be certified about such data."""


# -- Sources ----------------------------------------------------------------------------------------------------------


class Summary(Protocol):
    """Result of a task on a chunk. Its size does not depend on that of the chunk."""

    def merged(self, other: Self) -> Self:
        """Combine with the summary of a later chunk."""


S = TypeVar("S", bound=Summary)


class ChunkSource(ABC):
    """Data in chunks that can be read any number of times.

    Attributes
    ----------
    n_features : int or None
    n_rows : int or None
        None if it is not known before the data are read.
    """

    n_features: int | None = None
    n_rows: int | None = None

    @abstractmethod
    def reduce(self, task: Callable[[Chunk], S], name: str) -> S:
        """Apply a task to every chunk and merge the summaries, in an order that depends on the number of chunks only."""


class MappedSource(ChunkSource):
    """Another source whose rows are mapped: linear models of them are models of the features.

    Features exist a block at a time, whatever the size of a chunk, and anew in every pass.

    Parameters
    ----------
    source : ChunkSource
    function : callable
        Maps rows (m, d) to rows (m, width). With Dask it is sent to the workers.
    width : int

    Examples
    --------
    >>> import numpy as np
    >>> from radiusmargin.outofcore import ArraySource, MappedSource
    >>> source = MappedSource(ArraySource(np.ones((5, 2)), np.array([0, 1, 0, 1, 0])), np.square, 2)
    >>> source.n_rows, source.n_features
    (5, 2)
    """

    def __init__(self, source: ChunkSource, function: Callable[[np.ndarray], np.ndarray], width: int):
        self.source, self.function = source, function
        self.n_rows, self.n_features = source.n_rows, width

    def reduce(self, task: Callable[[Chunk], S], name: str) -> S:
        return self.source.reduce(partial(_on_mapped, task, self.function, self.n_features), name)


def _on_mapped(task, function, width, chunk):
    return task(MappedChunk(chunk.index, chunk.X, chunk.y, chunk.weight, function, width))


CHUNK = 1 << 22  # numbers that each thread reads at a time: 32 MiB of doubles


class ArraySource(ChunkSource):
    """Slices of an array-like: a memory map, a zarr or an HDF5 array.

    Parameters
    ----------
    X : array-like of shape (n, d)
        Anything whose slices of rows are arrays.
    y : array-like of shape (n,)
    weight : array-like of shape (n,), or a number, optional
    n_threads : int or None, default=1
        -1 uses all cores.
    rows : int, optional
        Rows of a chunk. Default: about four million numbers, in whole chunks of the array if it is chunked itself.

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
        given: tuple[tuple[str, Any], ...] = (("y", y), ("sample_weight", weight))
        for name, values in given:
            if hasattr(values, "__len__") and len(values) != self.n_rows:
                raise ValueError(f"{name} must have {self.n_rows} entries to match X, got {len(values)}.")
        self.rows = rows or self._whole_chunks()

    def _whole_chunks(self):
        wanted = max(1, CHUNK // max(1, self.X.shape[1]))
        own = getattr(self.X, "chunks", None)
        return max(1, wanted // own[0]) * own[0] if own else wanted

    def chunks(self) -> Iterator[Chunk]:
        return (self._chunk(i) for i in range(self._count))

    @property
    def _count(self):
        return -(-self.X.shape[0] // self.rows)

    def _chunk(self, i):
        rows = slice(i * self.rows, (i + 1) * self.rows)
        weight = self.weight[rows] if hasattr(self.weight, "__len__") else self.weight
        return Chunk(i, self.X[rows], self.y[rows], weight)

    def reduce(self, task: Callable[[Chunk], S], name: str) -> S:
        return in_threads((partial(self._run, task, i) for i in range(self._count)), self.n_threads)

    def _run(self, task, i):
        return task(self._chunk(i))  # in the thread: chunks are read in parallel


class ReaderSource(ChunkSource):
    """Chunks from a function: each call returns a new iterator of ``(X, y)`` or ``(X, y, weight)``.

    Parameters
    ----------
    read : callable
        Its iterators must yield the same chunks in the same order.
    n_threads : int or None, default=1
        Threads that work on chunks; the chunks are read one after the other.

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
                "a function that reads chunks must return a new iterator of (X, y) or (X, y, weight) each time it is "
                f"called, got a {type(parts).__name__} from it."
            )
        for i, part in enumerate(parts):
            if not isinstance(part, tuple) or len(part) not in (2, 3):
                raise ValueError(f"chunk {i} must be (X, y) or (X, y, weight), got a {type(part).__name__}.")
            yield part

    def reduce(self, task: Callable[[Chunk], S], name: str) -> S:
        return in_threads((partial(task, chunk) for chunk in self.chunks()), self.n_threads)


def in_threads(calls: Iterable[Callable[[], S]], n_threads: int | None) -> S:
    """Run calls in threads and merge their summaries in order; only a few calls are under way at a time."""
    n_threads = effective_n_jobs(n_threads)
    with threadpool_limits(1, user_api="blas"):  # the threads work on chunks
        if n_threads == 1:
            return merged(call() for call in calls)
        pool = Parallel(n_threads, backend="threading", return_as="generator", pre_dispatch=n_threads + 1)
        return merged(pool(delayed(call)() for call in calls))


def merged(summaries: Iterable[S]) -> S:
    """Merge neighbours, then pairs of neighbours, and so on: the order depends on the number of summaries only."""
    stack: list[tuple[int, S]] = []
    for summary in summaries:
        size = 1
        while stack and stack[-1][0] == size:
            size, summary = 2 * size, stack.pop()[1].merged(summary)
        stack.append((size, summary))
    if not stack:
        raise ValueError(
            "there are no chunks; a function that reads them must return a new iterator each time it is called."
        )
    _, summary = stack.pop()
    while stack:
        summary = stack.pop()[1].merged(summary)
    return summary


# -- The source of a user's data --------------------------------------------------------------------------------------


LARGE = 1 << 30  # bytes, as doubles, from which a memory map is not read as a whole


def in_chunks(X: Any) -> bool:
    """Return True if X is to be read chunk by chunk.

    This holds for a dask array or data frame, an array on disk (zarr, HDF5), a memory map of at least a gigabyte, a
    function that returns an iterator of chunks, and a `ChunkSource`.

    Parameters
    ----------
    X : Any
        The X passed to `fit` or `predict`.
    """
    if type(X) is np.ndarray or sparse.issparse(X):
        return False
    if isinstance(X, np.ndarray):
        return isinstance(X, np.memmap) and 8 * X.size >= LARGE
    return isinstance(X, ChunkSource) or callable(X) or _is_dask(X) or _is_on_disk(X)


def _is_dask(X):
    return hasattr(X, "__dask_graph__") and hasattr(X, "to_delayed")


def _is_on_disk(X):
    return all(hasattr(X, name) for name in ("shape", "dtype", "chunks", "__getitem__"))


def source_of(X: Any, y: Any = None, weight: Any = None, n_threads: int | None = None) -> ChunkSource:
    """Return the source that reads X, which is `in_chunks`.

    Parameters
    ----------
    X : Any
        Rows that are `in_chunks`.
    y, weight : Any, optional
        Their labels and weights, in chunks too; None if X is a function, which yields them itself.
    n_threads : int or None
        Threads that read; -1 uses all cores.
    """
    if isinstance(X, ChunkSource):
        return X
    if _is_dask(X):
        from .dask_source import DaskSource

        return DaskSource(X, y, weight)
    if callable(X):
        if y is not None or weight is not None:
            raise ValueError("a function that reads chunks yields their labels and weights too: y must be None.")
        return ReaderSource(X, n_threads)
    if y is None:
        raise ValueError("y must hold the labels of the rows of X, got None.")
    return ArraySource(X, y if hasattr(y, "__getitem__") else np.asarray(y), weight, n_threads)


def map_chunks(function: Callable[[np.ndarray], np.ndarray], X: Any) -> Any:
    """Apply a function of rows to every chunk.

    The result is lazy for a dask collection, an array for an array on disk, and an iterator of arrays for a function that
    reads chunks.

    Parameters
    ----------
    function : callable
        Maps an array of rows to an array with one entry or row for each of them.
    X : Any
        Rows that are `in_chunks`.
    """
    if _is_dask(X):
        from .dask_source import map_blocks

        return map_blocks(function, X)
    if callable(X) or isinstance(X, ReaderSource):
        read = X.read if isinstance(X, ReaderSource) else X
        return (function(_rows_of(part)) for part in read())
    array = X.X if isinstance(X, ArraySource) else X
    return np.concatenate([function(array[rows]) for rows in split(array.shape[0], array.shape[1], CHUNK)])


def _rows_of(part):
    return part[0] if isinstance(part, tuple) else part


__all__ = [
    "LARGE",
    "ArraySource",
    "Block",
    "ChangedChunkError",
    "Chunk",
    "ChunkSource",
    "MappedSource",
    "ReaderSource",
    "in_chunks",
    "in_threads",
    "map_chunks",
    "merged",
    "source_of",
]
