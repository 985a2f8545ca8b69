"""Kernel rows and values from the compiled core, from a caller's function, or from the NumPy twin."""

from __future__ import annotations

from numbers import Integral

import numpy as np
from scipy import sparse

from ..kernel_rows import Kernel
from . import numpy_twin

try:
    from ... import _core

    COMPILED = True
except ImportError:  # installed with RADIUSMARGIN_PURE_PYTHON=1
    COMPILED = False

FAR = 2.0**40  # from one, of a gamma
_NAMES = ("rbf", "laplacian", "linear", "poly", "sigmoid", "cosine")  # that compiled code knows


def make_rows(rows: Kernel, cache_size: float):
    """Rows of the core, or of its NumPy twin."""
    cache = cache_size * 2.0**20
    if not COMPILED:
        return numpy_twin.KernelRows(rows, cache)
    if rows.function is None:
        return _core.given_kernel_rows(np.ascontiguousarray(rows.X), cache)
    parameters = _parameters(rows.function)
    if parameters is None:
        everything = np.arange(rows.shape[0])
        return _core.called_kernel_rows(lambda some: rows.block(some, everything), rows.block, rows.diagonal(), cache)
    parameters, X = _in_reach(parameters, rows.X)
    X = _form(rows.function, X)
    return (_core.sparse_kernel_rows if sparse.issparse(rows.X) else _core.dense_kernel_rows)(parameters, X, cache)


def values(function, X, Y) -> np.ndarray:
    """The kernel between two sets of rows, in double precision."""
    parameters = _parameters(function)
    if parameters is None or sparse.issparse(X) != sparse.issparse(Y):
        return function(X, Y)
    out = np.empty((X.shape[0], Y.shape[0]))
    compute = _core.sparse_kernel_values if sparse.issparse(X) else _core.dense_kernel_values
    compute(parameters, _form(function, X), _form(function, Y), out)
    return out


def _parameters(function):
    """(name, gamma, degree, coef0) of a kernel that compiled code knows, else None."""
    name = getattr(function, "kernel", None)
    if not COMPILED or not isinstance(name, str) or name not in _NAMES:
        return None
    if name == "poly" and not (isinstance(function.degree, Integral) and 0 <= function.degree <= 64):
        return None
    degree = int(function.degree) if name == "poly" else 0
    return "linear" if name == "cosine" else name, float(function.gamma), degree, float(function.coef0)


def _in_reach(parameters, X):
    """Both in units in which squares of single precision neither overflow nor vanish: gamma times a product of two is the same."""
    name, gamma, *rest = parameters
    if name == "linear" or 1 / FAR <= gamma <= FAR:
        return parameters, X
    share = 1.0 if name == "laplacian" else 0.5  # of gamma's exponent that each number of X gets
    unit = 2.0 ** round(share * np.log2(gamma))  # which rounds nothing
    return (name, gamma / unit / (1.0 if name == "laplacian" else unit), *rest), X * unit


def _form(function, X):
    """The data as compiled code takes them; the cosine is the inner product of rows of length one."""
    if function.kernel == "cosine":
        X = _unit_rows(X)
    if not sparse.issparse(X):
        return np.ascontiguousarray(X, dtype=float)
    X = sparse.csr_array(X)
    arrays = (
        X.data.astype(float, copy=False),
        X.indices.astype(np.int32, copy=False),
        X.indptr.astype(np.int64, copy=False),
    )
    return (*map(np.ascontiguousarray, arrays), X.shape[1])


def _unit_rows(X):
    squares = np.asarray(X.multiply(X).sum(axis=1)).ravel() if sparse.issparse(X) else np.einsum("ij,ij->i", X, X)
    inverse = np.divide(1.0, np.sqrt(squares), out=np.zeros(len(squares)), where=squares > 0)[:, None]
    return sparse.csr_array(X.multiply(inverse)) if sparse.issparse(X) else X * inverse
