"""Which data come in chunks, and what reads them."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from scipy import sparse

from .sources import CHUNK, ArraySource, ChunkSource, ReaderSource

LARGE = 1 << 30  # bytes, as doubles, from which a memory map is not read as a whole


def in_chunks(X: Any) -> bool:
    """Whether rows are to be read chunk by chunk.

    Those of a dask array or data frame, of an array on disk (zarr, HDF5), of a memory map of a gigabyte and more, and of a
    function that returns an iterator of chunks.

    Parameters
    ----------
    X : Any
        What was given to `fit` or `predict`.
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
    """The source of rows that are `in_chunks`.

    Parameters
    ----------
    X : Any
        Rows that are `in_chunks`.
    y, weight : Any, optional
        Their labels and weights, in chunks too; None where X is a function that gives them.
    n_threads : int or None
        Threads that read; -1 takes every core.
    """
    if isinstance(X, ChunkSource):
        return X
    if _is_dask(X):
        from .dask_source import DaskSource

        return DaskSource(X, y, weight)
    if callable(X):
        if y is not None or weight is not None:
            raise ValueError("a function that reads chunks gives their labels and weights too: y must be None.")
        return ReaderSource(X, n_threads)
    if y is None:
        raise ValueError("y must hold the labels of the rows of X, got None.")
    return ArraySource(X, y if hasattr(y, "__getitem__") else np.asarray(y), weight, n_threads)


def map_chunks(function: Callable[[np.ndarray], np.ndarray], X: Any) -> Any:
    """A function of rows, applied to chunks of them.

    Lazily to a dask collection; to an array on disk block by block, whose results are put together; to a function that
    reads chunks as an iterator of results.

    Parameters
    ----------
    function : callable
        Of an array of rows; returns one entry or row for each of them.
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
    step = max(1, CHUNK // max(1, array.shape[1]))
    return np.concatenate([function(array[i : i + step]) for i in range(0, array.shape[0], step)])


def _rows_of(part):
    return part[0] if isinstance(part, tuple) else part


__all__ = ["LARGE", "in_chunks", "map_chunks", "source_of"]
