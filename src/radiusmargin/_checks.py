"""Checks of what models and solvers are called with: a ValueError that names what is wrong, or float64 arrays."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.utils.validation import check_array


def check_data(X):
    """Dense float64 or CSR float64 with sorted indices; finite, two-dimensional, not empty."""
    if sparse.issparse(X):
        if X.dtype.kind not in "iufb":
            raise ValueError(f"X must be numeric, got dtype {X.dtype}.")
        if X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got an array of shape {X.shape}.")
        X = sparse.csr_array(X, dtype=float)
        if not X.has_canonical_format:
            X = X.copy()  # the caller's arrays are shared
            X.sum_duplicates()
        values = X.data
    else:
        X = np.asarray(X)
        if X.ndim != 2:
            raise ValueError(f"X must be two-dimensional, got an array of shape {X.shape}.")
        X = _as_float("X", X)
        if 8 not in X.strides or any(stride % 8 for stride in X.strides):
            X = np.ascontiguousarray(X)
        values = X
    if 0 in X.shape:
        raise ValueError(f"X must have at least one row and one column, got shape {X.shape}.")
    # The sum is finite if all entries are, and costs one pass; only then ask entry by entry.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not np.isfinite(values.sum())
    if suspicious and not np.isfinite(values).all():
        raise ValueError("X contains NaN or infinity.")
    return X


def check_labels(y, n, *, zero_allowed=False):
    y = np.asarray(y)
    if y.shape != (n,):
        raise ValueError(f"y must have shape ({n},) to match X, got {y.shape}.")
    if y.dtype.kind not in "iufb" or not np.all((y == 1) | (y == -1) | (zero_allowed and (y == 0))):
        found = np.unique(y[:1000])[:5].tolist()
        raise ValueError(f"y must contain only -1 and +1{' and 0' if zero_allowed else ''}, found {found}.")
    return y.astype(float)


def check_weights(sample_weight, n, y):
    """Non-negative weights; with `y`, both classes must carry some."""
    if sample_weight is None:
        weights = np.ones(n)
    else:
        weights = _as_float("sample_weight", np.asarray(sample_weight))
        if weights.shape != (n,):
            raise ValueError(f"sample_weight must have shape ({n},) to match X, got {weights.shape}.")
        weights = np.ascontiguousarray(weights)
        if not (weights >= 0).all() or not np.isfinite(weights).all():
            raise ValueError("sample_weight must be finite and not negative.")
    if y is not None:
        carries = weights > 0
        if not (carries & (y > 0)).any() or not (carries & (y < 0)).any():
            found = np.unique(y[weights > 0]).tolist()
            raise ValueError(f"y must contain both classes with positive weight, found only {found}.")
    return weights


def check_positive(name, value):
    values = np.asarray(value)
    if values.ndim > (name == "Cs"):
        raise ValueError(f"{name} must be {'a list of numbers' if name == 'Cs' else 'a number'}, got {value!r}.")
    if values.dtype.kind not in "iuf" or values.size == 0 or not (values > 0).all() or not np.isfinite(values).all():
        raise ValueError(f"{name} must be positive and finite, got {value!r}.")


def check_Cs(Cs):
    """One or several weights of the loss, as an array."""
    check_positive("Cs", Cs)
    return np.atleast_1d(np.asarray(Cs, dtype=float))


def check_count(name, value):
    """A positive whole number that fits the solver's counters."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 < value < 2**31:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")


def check_rows(rows, n):
    """Index arrays from index arrays or masks; every index in range."""
    subsets = []
    for r, part in enumerate(rows):
        part = np.asarray(part)
        if part.dtype == bool and part.shape == (n,):
            part = np.flatnonzero(part)
        if part.ndim != 1 or part.size == 0 or part.dtype.kind not in "iu":
            raise ValueError(f"rows[{r}] must be a non-empty list of row numbers or a mask of length {n}.")
        if part.min() < 0 or part.max() >= n:
            raise ValueError(f"rows[{r}] must hold row numbers from 0 to {n - 1}, got {part.min()} to {part.max()}.")
        subsets.append(part.astype(np.int64, copy=False))
    if not subsets:
        raise ValueError("rows must hold at least one subset.")
    return subsets


def check_problems(problems, counts):
    """An integer array of (rows, label, regularizer) triples, each in range; all combinations where None."""
    if problems is None:
        return np.stack(np.meshgrid(*map(np.arange, counts), indexing="ij"), axis=-1).reshape(-1, 3)
    problems = np.asarray(problems)
    if problems.ndim != 2 or problems.shape[1] != 3 or len(problems) == 0 or problems.dtype.kind not in "iu":
        raise ValueError("problems must be a non-empty list of (rows, label, regularizer) numbers.")
    for name, column, count in zip(("rows", "label", "regularizer"), problems.T, counts, strict=True):
        if column.min() < 0 or column.max() >= count:
            raise ValueError(
                f"problems: {name} numbers must be from 0 to {count - 1}, got {column.min()} to {column.max()}."
            )
    return problems.astype(np.int64, copy=False)


def check_regularizer(B, d):
    """None, a positive vector, or a symmetric matrix (positive definiteness is the solver's to find out)."""
    if B is None:
        return None
    B = _as_float("regularizer", np.asarray(B))
    if B.shape not in ((d,), (d, d)):
        raise ValueError(f"regularizer must have shape ({d},) or ({d}, {d}) to match X, got {B.shape}.")
    if not np.isfinite(B).all():
        raise ValueError("regularizer contains NaN or infinity.")
    if B.ndim == 1 and not (B > 0).all():
        raise ValueError("regularizer is not positive definite: a diagonal entry is not positive.")
    if B.ndim == 2 and not np.allclose(B, B.T, rtol=1e-8, atol=1e-12 * np.abs(B).max()):
        raise ValueError("regularizer must be symmetric.")
    return np.ascontiguousarray(B)


def check_init(init, n, d):
    """(coef, intercept, alpha) to start one problem from, with an axis of problems; each None where not given."""
    if isinstance(init, tuple) and len(init) == 3:
        coef, intercept, alpha = init
    elif all(hasattr(init, name) for name in ("coef", "intercept", "alpha")):
        coef, intercept, alpha = init.coef, init.intercept, init.alpha
    else:
        raise ValueError(f"init must be a HingeResult or a tuple (coef, intercept, alpha), got {type(init).__name__}.")
    parts = ("coef", coef, (d,)), ("intercept", intercept, ()), ("alpha", alpha, (n,))
    return tuple(_check_start(name, value, shape) for name, value, shape in parts)


def _check_start(name, value, shape):
    if value is None:
        return None
    value = np.ascontiguousarray(value, dtype=float).reshape(np.shape(value))
    if value.shape != shape:
        raise ValueError(f"init: {name} must have shape {shape}, got {value.shape}.")
    if not np.isfinite(value).all():
        raise ValueError(f"init: {name} contains NaN or infinity.")
    return value[None]


def _as_float(name, array):
    if array.dtype.kind not in "iufb":
        raise ValueError(f"{name} must be numeric, got dtype {array.dtype}.")
    return array.astype(float, copy=False)


def check_sample_weight(sample_weight, n):
    """Finite non-negative weights, one per row, not all zero; None and a number stand for equal ones."""
    if sample_weight is None:
        return np.ones(n)
    if isinstance(sample_weight, Real):
        weight = np.full(n, float(sample_weight))
    else:
        weight = check_array(
            sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight", accept_sparse=False
        )
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weight.shape}.")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got a minimum of {weight.min():g}.")
    if not weight.any():
        raise ValueError("sample_weight must not be zero for every sample.")
    return weight


def check_choice(name, value, choices):
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}, got {value!r}.")


def check_number(name, value, low, high=np.inf, *, low_allowed=True, high_allowed=False):
    """A real number in an interval, or a ValueError that names parameter, value and range."""
    ok = isinstance(value, Real) and not isinstance(value, bool)
    ok = ok and (value >= low if low_allowed else value > low) and (value <= high if high_allowed else value < high)
    if not ok:
        left, right = "[" if low_allowed else "(", "]" if high_allowed else ")"
        raise ValueError(f"{name} must be a number in {left}{low:g}, {high:g}{right}, got {value!r}.")


__all__ = [
    "ConvergenceWarning",
    "check_Cs",
    "check_choice",
    "check_count",
    "check_data",
    "check_init",
    "check_labels",
    "check_number",
    "check_positive",
    "check_problems",
    "check_regularizer",
    "check_rows",
    "check_sample_weight",
    "check_weights",
]
