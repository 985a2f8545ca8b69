"""What a kernel map refuses, and how it says so."""

from __future__ import annotations

from numbers import Integral, Real

import numpy as np
from scipy import sparse
from sklearn.utils.validation import check_array

from .functions import KERNELS

ENGINES = ("auto", "exact", "cholesky", "landmarks")


def check_parameters(model):
    """Raise a ValueError that names the parameter of a `KernelMap` that is out of range."""
    if not callable(model.kernel) and model.kernel not in KERNELS:
        choices = ", ".join(map(repr, KERNELS))
        raise ValueError(f"kernel must be one of {choices} or a callable, got {model.kernel!r}.")
    if model.engine not in ENGINES:
        raise ValueError(f"engine must be one of {', '.join(map(repr, ENGINES))}, got {model.engine!r}.")
    if isinstance(model.kernel, str) and model.kernel == "poly":
        _check_integer("degree", model.degree)
    if model.n_landmarks is not None:
        _check_integer("n_landmarks", model.n_landmarks)
    _check_components(model.n_components)
    if not (_is_number(model.tol) and 0 < model.tol < 1):
        raise ValueError(f"tol must be a number in (0, 1), got {model.tol!r}.")
    if not (_is_number(model.whitening) and 0 <= model.whitening <= 1):
        raise ValueError(f"whitening must be a number in [0, 1], got {model.whitening!r}.")
    if not (_is_number(model.coef0) and np.isfinite(model.coef0)):
        raise ValueError(f"coef0 must be a finite number, got {model.coef0!r}.")


def check_weights(sample_weight, n):
    if sample_weight is None:
        return np.ones(n)
    weight = check_array(sample_weight, ensure_2d=False, dtype=np.float64, input_name="sample_weight")
    if weight.shape != (n,):
        raise ValueError(f"sample_weight must have shape ({n},), got {weight.shape}.")
    if (weight < 0).any():
        raise ValueError(f"sample_weight must not be negative, got a minimum of {weight.min():g}.")
    if np.count_nonzero(weight) < 2:
        raise ValueError("sample_weight is zero for all rows but one, or for all: at least two rows must count.")
    return weight


def check_kernel_matrix(K):
    K = K.toarray() if sparse.issparse(K) else K
    if K.shape[0] != K.shape[1]:
        raise ValueError(f"a precomputed kernel must be a square matrix in fit, got shape {K.shape}.")
    if np.abs(K - K.T).max() > 1e-8 * np.abs(K).max():
        raise ValueError("a precomputed kernel must be symmetric in fit.")
    return K


def _check_components(value):
    if isinstance(value, Integral) and not isinstance(value, bool):
        _check_integer("n_components", value)
    elif value is not None and not (_is_number(value) and 0 < value <= 1):
        raise ValueError(f"n_components must be a positive integer, a fraction in (0, 1] or None, got {value!r}.")


def _check_integer(name, value):
    if not isinstance(value, Integral) or isinstance(value, bool) or value < 1:
        raise ValueError(f"{name} must be a positive integer, got {value!r}.")


def _is_number(value):
    return isinstance(value, Real) and not isinstance(value, bool)
