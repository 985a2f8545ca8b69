"""Support vectors of several kernel machines, stored once.

The machines of an ensemble hold nearly the same training rows, each in its own scaling. For pickles and model files they hold
numbers of rows in the user's units instead, and sparse coefficients; scaling the rows again gives the same bits.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import replace

import numpy as np
from scipy import sparse

from .features import Expansion, ScaledSpace

MOST_BYTES = 1 << 28  # of all coefficients of an ensemble that are dense


def shared_rows(parts: Iterable, X, some: np.ndarray | slice = slice(None)) -> np.ndarray | None:
    """Return the rows for `packed`, some of X; None if they are sparse, or there are less than two kernel machines."""
    several = sum(kernel_of(part.space)[0] is not None for part in parts) > 1
    if not several or not isinstance(X, np.ndarray):
        return None
    rows = np.array(X[some])  # a copy, as X may be the user's own
    return rows if len(rows) else None


def packed(parts: Iterable, rows: np.ndarray | None) -> tuple:
    """Replace support vectors by their numbers among rows, unless one is not there, and make coefficients sparse if smaller."""
    found, tables = [], {}
    for part in parts:
        expansion, scaling = kernel_of(part.space)
        if expansion is not None:
            part = replace(part, coef=_compact(part.coef))
        if rows is not None and expansion is not None and isinstance(expansion.support, np.ndarray):
            if id(scaling) not in tables:
                tables[id(scaling)] = {row.tobytes(): i for i, row in enumerate(_scaled(scaling, rows))}
            numbers = [tables[id(scaling)].get(vector.tobytes(), -1) for vector in expansion.support]
            if min(numbers, default=-1) >= 0:
                part = _with_support(part, np.array(numbers, dtype=np.int32))
        found.append(part)
    return tuple(found)


def unpacked(parts: Iterable, rows: np.ndarray | None) -> tuple:
    """Do the inverse of `packed`. Coefficients stay sparse, to which rounding is all the difference, beyond `MOST_BYTES`."""
    found, tables, left = [], {}, MOST_BYTES
    for part in parts:
        if sparse.issparse(part.coef) and (size := 8 * math.prod(part.coef.shape)) <= left:
            part, left = replace(part, coef=part.coef.toarray()), left - size
        if rows is not None and (numbers := numbers_of(part.space)) is not None:
            scaling = kernel_of(part.space)[1]
            if id(scaling) not in tables:
                tables[id(scaling)] = _scaled(scaling, rows)
            part = _with_support(part, tables[id(scaling)][numbers])
        found.append(part)
    return tuple(found)


def kernel_of(space) -> tuple:
    """Return the expansion in a kernel function and its scaling; None for each that there is not."""
    inner, scaling = (space.space, space.units) if isinstance(space, ScaledSpace) else (space, None)
    return (inner if isinstance(inner, Expansion) and inner.function is not None else None), scaling


def numbers_of(space) -> np.ndarray | None:
    """Return the numbers that stand for support vectors; None if there are none."""
    expansion, _ = kernel_of(space)
    return expansion.support if expansion is not None and np.ndim(expansion.support) == 1 else None


def _compact(coef):
    sparser = isinstance(coef, np.ndarray) and np.count_nonzero(coef) < coef.size / 2  # 12 bytes each instead of 8
    return sparse.csr_array(coef) if sparser else coef


def _scaled(scaling, rows):
    return rows if scaling is None else scaling.rows(rows)


def _with_support(part, support):
    space = part.space
    if isinstance(space, ScaledSpace):
        return replace(part, space=replace(space, space=replace(space.space, support=support)))
    return replace(part, space=replace(space, support=support))
