"""Checks of what comes in: every message names the parameter, what it got and what it takes."""

from __future__ import annotations

import numpy as np
from scipy import sparse


def check_points(X, name: str = "X") -> np.ndarray:
    """Return `X` as a finite float64 array of shape (n, d) with at least one row and one column."""
    if sparse.issparse(X):
        raise ValueError(f"{name} must be a dense array, got a sparse matrix; use {name}.toarray()")
    points = _as_float(X, name)
    if points.ndim != 2:
        raise ValueError(f"{name} must have 2 dimensions (samples, features), got shape {points.shape}")
    if 0 in points.shape:
        raise ValueError(f"{name} must have at least one sample and one feature, got shape {points.shape}")
    check_finite(points, name)
    return points


def check_sparse_points(X, name: str = "X") -> sparse.csr_array:
    """The same for a sparse matrix, which stays sparse."""
    points = sparse.csr_array(X).astype(np.float64, copy=False)
    if points.ndim != 2 or 0 in points.shape:
        raise ValueError(f"{name} must have at least one sample and one feature, got shape {points.shape}")
    check_finite(points.data, name)
    return points


def check_vector(values, size: int, name: str, *, nonnegative: bool = False) -> np.ndarray:
    """Return `values` as a finite float64 vector of length `size`."""
    vector = _as_float(values, name)
    if vector.shape != (size,):
        raise ValueError(f"{name} must have shape ({size},), got {vector.shape}")
    check_finite(vector, name)
    if nonnegative and vector.size and vector.min() < 0.0:
        raise ValueError(f"{name} must not be negative, got a minimum of {vector.min():g}")
    return vector


def check_symmetric(S, name: str) -> np.ndarray:
    """Return `S` as a finite, symmetric float64 matrix; asymmetry beyond rounding is an error."""
    matrix = check_points(S, name)
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}")
    asymmetry = np.abs(matrix - matrix.T).max()
    if asymmetry > 1e-8 * np.abs(matrix).max():
        raise ValueError(f"{name} must be symmetric, got an asymmetry of {asymmetry:g}")
    return (matrix + matrix.T) / 2.0


def check_positive(value, name: str) -> float:
    """Return `value` as a finite float above zero."""
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be a number above 0, got {value!r}") from None
    if not (np.isfinite(number) and number > 0.0):
        raise ValueError(f"{name} must be a number above 0, got {value!r}")
    return number


def _as_float(values, name: str) -> np.ndarray:
    array = np.asarray(values)
    if np.iscomplexobj(array):
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}")
    try:
        return array.astype(np.float64, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must hold real numbers, got dtype {array.dtype}") from None


def check_finite(values: np.ndarray, name: str) -> None:
    # One sum finds a NaN or an infinity without a boolean copy; a finite overflow is the rare second look.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and not np.isfinite(values).all():
        kind = "NaN" if np.isnan(values).any() else "infinity"
        raise ValueError(f"{name} must be finite, got {kind}")
