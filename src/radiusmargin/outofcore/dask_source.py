"""Dask collections as chunks. Dask schedules, moves and retries the tasks, on a cluster or in threads of this process."""

from __future__ import annotations

import warnings
from collections.abc import Callable
from functools import reduce
from uuid import uuid4

import dask
import dask.array as da
import numpy as np
from threadpoolctl import threadpool_limits

from .sources import Chunk, ChunkSource

FAN_IN = 8  # summaries that one task merges
LABEL, WEIGHT = "__label__", "__weight__"  # columns added to those of X


class DaskSource(ChunkSource):
    """Blocks of rows of a dask array, or partitions of a dask data frame.

    Parameters
    ----------
    X : dask.array.Array or dask.dataframe.DataFrame of shape (n, d)
        The sizes of its chunks may be unknown.
    y : dask collection, or array-like where the sizes of the chunks of X are known
    weight : likewise, or a number, optional
    """

    def __init__(self, X, y, weight=None):
        if y is None:
            raise ValueError("y must hold the labels of the rows of X, got None.")
        self.n_features = X.shape[1] if isinstance(X, da.Array) else len(X.columns)
        self.n_rows = _rows(X)
        self.parts = _parts_of_frame(X, y, weight) if _are_frames(X, y, weight) else _parts(X, y, weight)

    def reduce(self, task, name):
        """Run one pass as one graph: a task per chunk, and a tree of tasks that merge neighbours."""
        token = uuid4().hex  # keys must be new in every pass
        shared = dask.delayed(task, name=f"query-{name}-{token}", traverse=False)
        level = [
            dask.delayed(_summary, pure=False)(shared, i, *part, dask_key_name=f"{name}-{token}-{i}")
            for i, part in enumerate(self.parts)
        ]
        depth = 0
        while len(level) > 1:
            groups = [level[i : i + FAN_IN] for i in range(0, len(level), FAN_IN)]
            level = [
                dask.delayed(_merged, pure=False)(group, dask_key_name=f"merge-{name}-{token}-{depth}-{i}")
                for i, group in enumerate(groups)
            ]
            depth += 1
        with threadpool_limits(1, user_api="blas"):
            return level[0].compute()


def _summary(task, index, X, y=None, weight=None):
    if y is None:  # labels and weights are columns of the frame
        frame, features = X, [name for name in X.columns if name not in (LABEL, WEIGHT)]
        X, y, weight = frame[features], frame[LABEL], frame[WEIGHT] if WEIGHT in frame.columns else None
    with threadpool_limits(1, user_api="blas"):  # the threads of a worker work on chunks
        return task(Chunk(index, X, y, weight))


def _merged(summaries):
    return reduce(lambda a, b: a.merged(b), summaries)


# -- Rows with their labels and weights -------------------------------------------------------------------------------


def _are_frames(X, *others):
    """Return True if X is a data frame, and labels and weights are series, numbers or None."""
    return not isinstance(X, da.Array) and all(v is None or np.ndim(v) == 0 or hasattr(v, "to_frame") for v in others)


def _parts_of_frame(X, y, weight):
    """Partitions of X with labels and weights as columns: Dask may partition separate collections differently."""
    columns = {LABEL: y} | ({} if weight is None else {WEIGHT: weight})
    return [(part,) for part in _blocks(X.assign(**columns))]


def _parts(X, y, weight):
    rows = _blocks(X.rechunk({1: -1}) if isinstance(X, da.Array) else X, optimize_graph=isinstance(X, da.Array))
    constant = weight is None or np.ndim(weight) == 0
    weights = [weight] * len(rows) if constant else _aligned("sample_weight", weight, X)
    return list(zip(rows, _aligned("y", y, X), weights, strict=True))


def _blocks(collection, optimize_graph=True):
    """One delayed object for each chunk of rows."""
    return list(np.asarray(collection.to_delayed(optimize_graph=optimize_graph), dtype=object).ravel())


def _rows(X):
    if not isinstance(X, da.Array) or np.isnan(X.shape[0]):
        return None
    return int(X.shape[0])


def _aligned(name, values, X):
    """Blocks of labels or weights that match those of X."""
    sizes = X.chunks[0] if isinstance(X, da.Array) else None
    sizes_known = sizes is not None and not np.isnan(sizes).any()
    if not dask.is_dask_collection(values):
        if not sizes_known:
            raise ValueError(
                f"{name} must be a dask collection with the partitions of X, whose sizes are unknown; got a "
                f"{type(values).__name__}."
            )
        values = da.from_array(np.asarray(values), chunks=-1)
    if isinstance(values, da.Array):
        if values.ndim == 2 and values.shape[1] == 1:
            values = values[:, 0]
        if sizes_known and not np.isnan(values.shape[0]):
            if values.shape[0] != X.shape[0]:
                raise ValueError(f"{name} must have {X.shape[0]} entries to match X, got {values.shape[0]}.")
            values = values.rechunk((sizes,))
    blocks = _blocks(values, optimize_graph=isinstance(values, da.Array))
    expected = len(sizes) if sizes is not None else X.npartitions
    if len(blocks) != expected:
        raise ValueError(
            f"{name} must have the {expected} partitions of X, got {len(blocks)}: repartition one of them."
        )
    return blocks


# -- Functions of rows ------------------------------------------------------------------------------------------------


def map_blocks(function: Callable, X):
    """Apply a function of rows lazily to every chunk. A data frame gives a series or a data frame, an array an array."""
    if not isinstance(X, da.Array):
        like = _of_rows(function, np.zeros((1, len(X.columns))))
        return X.map_partitions(_as_frame, function, meta=_as_frame(X._meta, None, like[:0]))
    X = X.rechunk({1: -1})
    like = _of_rows(function, np.zeros((1, X.shape[1])))
    how = {"drop_axis": 1} if like.ndim == 1 else {"chunks": (X.chunks[0], like.shape[1:])}
    return X.map_blocks(_of_block, function, dtype=like.dtype, meta=like[:0], **how)


def _of_block(block, function):
    return _of_rows(function, block)


def _as_frame(block, function, values=None):
    import pandas as pd

    values = _of_rows(function, block) if values is None else values
    return (pd.Series if values.ndim == 1 else pd.DataFrame)(values, index=block.index)


def _of_rows(function, block):
    with warnings.catch_warnings():  # arrays in place of a frame have no names
        warnings.filterwarnings("ignore", "X does not have valid feature names", UserWarning)
        return function(block) if len(block) else function(np.zeros((1, block.shape[1])))[:0]


__all__ = ["DaskSource", "map_blocks"]
