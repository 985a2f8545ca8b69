"""Checks of arguments.

A value out of range raises a ValueError that names the parameter, what it takes and what it got, in the same words
everywhere. Arrays are returned in double precision.
"""

from __future__ import annotations

import math
from difflib import get_close_matches
from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.exceptions import ConvergenceWarning
from sklearn.metrics import get_scorer_names

HEAVIEST = 1e100  # largest weight of a row
SYMMETRIC = 1e-8  # asymmetry that counts as rounding, relative to the largest entry

# -- numbers ------------------------------------------------------------------------------------------------------


def is_number(value) -> bool:
    return type(value) is float or (isinstance(value, Real) and not isinstance(value, bool))


def check_number(name, value, low, high=np.inf, *, low_allowed=True, high_allowed=False):
    """Check for a real number in an interval."""
    value = value[()] if isinstance(value, np.ndarray) and value.ndim == 0 else value
    ok = is_number(value)
    ok = ok and (value >= low if low_allowed else value > low) and (value <= high if high_allowed else value < high)
    if not ok:
        left, right = "[" if low_allowed else "(", "]" if high_allowed else ")"
        raise ValueError(f"{name} must be a number in {left}{low:g}, {high:g}{right}, got {value!r}.")


def check_positive(name, value):
    check_number(name, value, 0, low_allowed=False)


def check_count(name, value):
    """Check for a positive integer that fits the solver's counters."""
    if isinstance(value, bool) or not isinstance(value, Integral) or not 0 < value < 2**31:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")


def check_threads(name, value):
    if value is not None and (not isinstance(value, Integral) or value == 0 or value >= 2**31):
        raise ValueError(f"{name} must be a positive number of threads or -1 for every core, got {value!r}.")


def check_choice(name, value, choices, other=""):
    """Check for one of some values; `other` names what else is allowed."""
    if value not in choices:
        raise ValueError(f"{name} must be one of {', '.join(map(repr, choices))}{other}, got {value!r}.")


def check_scoring_name(scoring):
    """Check that a text is the name of a scorer of scikit-learn."""
    if not isinstance(scoring, str) or scoring in (names := get_scorer_names()):
        return
    close = get_close_matches(scoring, names, n=3)
    meant = f": did you mean {' or '.join(map(repr, close))}?" if close else "."
    raise ValueError(
        f"scoring={scoring!r} is no scorer of scikit-learn{meant} sklearn.metrics.get_scorer_names() lists them."
    )


def check_Cs(Cs) -> np.ndarray:
    """Convert one or several weights of the loss to an array."""
    values = np.asarray(Cs)
    if values.ndim > 1 or values.size == 0 or values.dtype.kind not in "iuf":
        raise ValueError(f"Cs must be a list of numbers, got {Cs!r}.")
    for C in values.ravel().tolist():
        check_positive("Cs", C)
    return np.atleast_1d(values.astype(float, copy=False))


# -- arrays -------------------------------------------------------------------------------------------------------


def check_class_labels(y):
    """Raise a ValueError for labels that are missing or cannot be sorted; anything else is left to scikit-learn."""
    labels = np.asarray(y)
    if labels.dtype.kind not in "fO":
        return
    listed = labels.ravel().tolist()
    missing = [k for k, label in enumerate(listed) if is_gap(label)]
    if missing:
        raise ValueError(
            f"y contains NaN or None in {len(missing)} of {len(listed)} rows, the first in row {missing[0]}: leave these rows out."
        )
    first = {type(label) is str: label for label in reversed(listed)}
    if len(first) == 2:
        raise ValueError(
            f"y holds texts and other labels, such as {first[True]!r} and {first[False]!r}: convert them to one type, for example "
            "with y.astype(str)."
        )


def is_gap(value) -> bool:
    return (
        value is None or type(value).__name__ in ("NAType", "NaTType") or bool(np.ndim(value) == 0 and value != value)
    )


_DOUBLE = np.dtype(float)  # of this machine's byte order: the core reads no other


def as_floats(name, values) -> np.ndarray:
    """Convert real numbers to an array in double precision."""
    if type(values) is np.ndarray and values.dtype is _DOUBLE:
        return values  # the common case, before the checks: they are part of every small fit
    array = np.asarray(values)
    if array.dtype.kind not in "iufbO":
        raise ValueError(f"{name} must be numeric, got dtype {array.dtype}.")
    try:
        return array.astype(float, copy=False)
    except (TypeError, ValueError):
        raise ValueError(f"{name} must be numeric, got dtype {array.dtype}.") from None


def check_finite(name, values: np.ndarray):
    # A finite sum proves all entries finite, in one pass without a copy; only otherwise check each entry.
    with np.errstate(over="ignore", invalid="ignore"):
        suspicious = not math.isfinite(values.sum())
    if suspicious and not np.isfinite(values).all():
        raise ValueError(f"{name} contains NaN or infinity.")


def check_shape(name, found, wanted):
    if found != wanted:
        raise ValueError(f"{name} must have shape {wanted}, got {found}.")


def check_vector(name, values, size, *, nonnegative=False) -> np.ndarray:
    """Convert to a finite vector of a given size."""
    vector = as_floats(name, values)
    check_shape(name, vector.shape, (size,))
    check_finite(name, vector)
    if nonnegative and vector.size and vector.min() < 0:
        raise ValueError(f"{name} must not be negative, got a minimum of {vector.min():g}.")
    return np.ascontiguousarray(vector)


def check_points(X, name="X") -> np.ndarray:
    """Convert to a finite dense matrix with at least one row and one column."""
    if sparse.issparse(X):
        raise ValueError(f"{name} must be a dense array, got a sparse matrix; use {name}.toarray().")
    X = as_floats(name, X)
    _check_matrix_shape(name, X.shape)
    check_finite(name, X)
    return X


def check_sparse_points(X, name="X") -> sparse.csr_array:
    """Convert to a finite CSR matrix with sorted indices and no duplicates."""
    if X.dtype.kind not in "iufb":
        raise ValueError(f"{name} must be numeric, got dtype {X.dtype}.")
    check_sparse_indices(X, name)
    _check_matrix_shape(name, X.shape)
    if X.shape[1] > np.iinfo(np.int32).max:
        raise ValueError(f"{name} must have less than 2**31 columns, got {X.shape[1]}.")
    if not (type(X) is sparse.csr_array and X.dtype == np.float64):
        X = sparse.csr_array(X, dtype=float)
    X = canonical(X)
    check_finite(name, X.data)
    return X


def check_sparse_indices(X, name="X"):
    """Raise a ValueError if the index arrays of a sparse matrix are out of range, which SciPy's constructors do not check.

    Compiled code, SciPy's too, would read and write out of bounds. X may be of any type; only sparse matrices are checked.
    """
    if not sparse.issparse(X) or (X.format == "csr" and _is_valid_csr(X)):
        return
    try:
        if X.format in ("csr", "csc", "bsr"):  # in a copy of the object, not of its arrays: this check trims them
            type(X)((X.data, X.indices, X.indptr), shape=X.shape).check_format(full_check=True)
        elif X.format == "coo" and X.ndim == 2:
            type(X)((X.data, (X.row, X.col)), shape=X.shape)
    except (TypeError, ValueError) as error:
        raise ValueError(
            f"{name} is not a valid sparse matrix of shape {X.shape}: {error}. Build it again from its rows, columns and "
            "values, with scipy.sparse.coo_array."
        ) from None


def _is_valid_csr(X) -> bool:
    """Check a CSR matrix as `check_format` does, ten times as quickly; a valid matrix may give False."""
    values, indices, indptr = X.data, X.indices, X.indptr
    if indices.dtype != np.int32 or indptr.dtype.kind != "i" or len(values) != len(indices) or X.ndim != 2:
        return False
    if len(indptr) != X.shape[0] + 1 or indptr[0] != 0 or indptr[-1] > len(indices) or (indptr[1:] < indptr[:-1]).any():
        return False
    return not len(indices) or int(indices.view(np.uint32).max()) < X.shape[1]  # negative numbers are very large here


def is_plain_matrix(X, *, sparse_too: bool = False) -> bool:
    """Return True if X is a matrix of finite doubles, dense or (`sparse_too`) in CSR format.

    Such a matrix needs none of scikit-learn's checks, which take a quarter of the time of a small fit.
    """
    values = X.data if sparse_too and sparse.issparse(X) and X.format == "csr" else X
    if type(values) is not np.ndarray or values.dtype != np.float64 or X.ndim != 2 or 0 in X.shape:
        return False
    with np.errstate(over="ignore", invalid="ignore"):
        return values.flags.aligned and math.isfinite(values.sum())


def canonical(X):
    """Return X; a sparse matrix with duplicate entries is copied and these are summed."""
    if not sparse.issparse(X) or X.has_canonical_format:
        return X
    X = X.copy()  # the caller's arrays are shared
    X.sum_duplicates()
    return X


def _check_matrix_shape(name, shape):
    if len(shape) != 2:
        raise ValueError(f"{name} must be two-dimensional, got an array of shape {shape}.")
    if 0 in shape:
        raise ValueError(f"{name} must have at least one row and one column, got shape {shape}.")


def check_symmetric(name, S) -> np.ndarray:
    """Convert to a finite symmetric matrix; asymmetry beyond rounding is an error."""
    matrix = check_points(S, name)
    _check_symmetry(name, matrix)
    return (matrix + matrix.T) / 2


def check_kernel_matrix(K) -> np.ndarray:
    """Check a precomputed kernel between training rows for symmetry, without a copy of a dense one."""
    K = K.toarray() if sparse.issparse(K) else K
    _check_symmetry("a precomputed kernel in fit", K)
    return K


def _check_symmetry(name, matrix):
    if matrix.shape[0] != matrix.shape[1]:
        raise ValueError(f"{name} must be a square matrix, got shape {matrix.shape}.")
    asymmetry = np.abs(matrix - matrix.T).max()
    if asymmetry > SYMMETRIC * np.abs(matrix).max():
        raise ValueError(f"{name} must be symmetric, got an asymmetry of {asymmetry:g}.")


# -- labels and weights of rows -----------------------------------------------------------------------------------


def check_labels(y, n, *, zero_allowed=False) -> np.ndarray:
    """Convert labels -1 and +1 to floats."""
    y = np.asarray(y)
    check_shape("y", y.shape, (n,))
    allowed = (-1, 0, 1) if zero_allowed else (-1, 1)
    if y.dtype.kind not in "iufb" or sum(np.count_nonzero(y == label) for label in allowed) < n:
        found = np.unique(y[:1000])[:5].tolist()
        raise ValueError(f"y must contain only -1 and +1{' and 0' if zero_allowed else ''}, found {found}.")
    return y.astype(float)


def check_weights(sample_weight, n, *, least=1, name="sample_weight") -> np.ndarray:
    """Convert to non-negative weights, positive for at least `least` rows; None or a number means equal weights."""
    if sample_weight is None:
        return np.ones(n)
    if is_number(sample_weight):
        sample_weight = np.full(n, float(sample_weight))
    weights = check_vector(name, sample_weight, n, nonnegative=True)
    if weights.max(initial=0.0) > HEAVIEST:
        raise ValueError(
            f"{name} must be at most {HEAVIEST:g}, got {weights.max():g}: squares of their sums would overflow."
        )
    positive = np.count_nonzero(weights)
    if positive < least:
        raise ValueError(f"{name} must be above zero for at least {least} of the rows, got {positive}.")
    return weights


def check_both_classes(y, weights):
    """Check that labels -1 and +1 both have rows of positive weight."""
    taking_part = y if np.count_nonzero(weights) == len(y) else y[weights > 0]
    if not taking_part.max(initial=0.0) > 0 > taking_part.min(initial=0.0):
        found = np.unique(taking_part).tolist()
        raise ValueError(f"y must contain both classes with positive weight, found only {found}.")


def check_taking_part(y):
    """Check the labels of the rows that take part in a problem: -1 and +1, for at least one row."""
    if not len(y):
        raise ValueError("a problem has no rows: none of positive weight is labelled -1 or +1.")
    if not (np.abs(y) == 1).all():
        raise ValueError("labels must be -1, +1, or 0 for a row that takes no part.")


# -- hinge problems in arrays -------------------------------------------------------------------------------------


def check_rows(rows, n, name="rows") -> list[np.ndarray]:
    """Convert index arrays or masks to index arrays; every index must be in range."""
    subsets = []
    for r, part in enumerate(rows):
        part = np.asarray(part)
        if part.dtype == bool and part.shape == (n,):
            part = np.flatnonzero(part)
        if part.ndim != 1 or part.size == 0 or part.dtype.kind not in "iu":
            raise ValueError(f"{name}[{r}] must be a non-empty list of row numbers or a mask of length {n}.")
        if part.min() < 0 or part.max() >= n:
            raise ValueError(f"{name}[{r}] must hold row numbers from 0 to {n - 1}, got {part.min()} to {part.max()}.")
        subsets.append(part.astype(np.int64, copy=False))
    if not subsets:
        raise ValueError(f"{name} must hold at least one subset.")
    return subsets


def check_problems(problems, counts) -> np.ndarray:
    """Convert to an array of (rows, label, regularizer) numbers, each in range; None means all combinations."""
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


def check_regularizer(B, d) -> np.ndarray | None:
    """Check for None, a positive vector, or a symmetric matrix (the solver finds out if it is positive definite)."""
    if B is None:
        return None
    B = as_floats("regularizer", B)
    if B.shape not in ((d,), (d, d)):
        raise ValueError(f"regularizer must have shape ({d},) or ({d}, {d}) to match X, got {B.shape}.")
    check_finite("regularizer", B)
    if B.ndim == 1 and not (B > 0).all():
        raise ValueError("regularizer is not positive definite: a diagonal entry is not positive.")
    if B.ndim == 2:
        _check_symmetry("regularizer", B)
    return np.ascontiguousarray(B)


__all__ = [
    "ConvergenceWarning",
    "as_floats",
    "check_Cs",
    "check_both_classes",
    "check_choice",
    "check_count",
    "check_finite",
    "check_kernel_matrix",
    "check_labels",
    "check_number",
    "check_points",
    "check_positive",
    "check_problems",
    "check_regularizer",
    "check_rows",
    "check_shape",
    "check_sparse_indices",
    "check_sparse_points",
    "check_symmetric",
    "check_taking_part",
    "check_threads",
    "check_vector",
    "check_weights",
    "is_number",
]
