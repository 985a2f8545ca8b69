"""The features of a kernel model: those of its map and, where its labels need them, more than the default."""

from __future__ import annotations

import numpy as np
from sklearn.utils.validation import has_fit_parameter

from ..kernels import KernelMap

# Chosen on the sets of benchmarks/kernels.py:
FAITHFUL = 0.25  # share of the spectrum below which a map is no approximation of its kernel
AGREEMENT = 0.5  # of the rows on components that were left out, relative to what each says for itself,
WORTHWHILE = 0.01  # and relative to the objective
BUDGET = 9_000_000  # entries of the features: all components up to 3,000 rows


def map_features(mapping, X, weight, *, euclidean):
    """Fit a map, or a transformer in its place, and return the features of the rows.

    Where only inner products of the features matter (`euclidean`), any basis will do, and the map keeps them.
    """
    if isinstance(mapping, KernelMap):
        if euclidean:
            mapping.set_params(basis="any")
        return mapping.fit_features(X, weight, keep_gram=euclidean)
    extra = {"sample_weight": weight} if has_fit_parameter(mapping, "sample_weight") else {}
    return mapping.fit_transform(X, **extra)


def left_out_matters(mapping, X, columns, alpha):
    """Whether the multipliers of a solution agree with each other on the components that the map left out.

    With v = y alpha and R the kernel of those components, v'Rv is what they would add to ``|w|^2`` (mathematics page,
    Kernels). Its diagonal, what every row adds for itself, is there whatever the labels; the rest is what the rows tell
    about each other, of mean zero where there is nothing to be learnt.
    """
    if not mapping.definite_:  # a Cholesky factor has no negative part to drop
        return False
    if mapping.explained_ < FAITHFUL:  # the landmarks know too little of what was left out to be asked
        return True
    return any(_agree(mapping, X, y, a) for y, a in zip(columns, alpha, strict=True))


def _agree(mapping, X, y, alpha):
    support = np.flatnonzero(alpha)
    v = y[support] * alpha[support]
    rest = mapping.left_out(X[support])
    alone = v**2 @ np.einsum("ij,ij->i", rest, rest)
    mutual = np.sum((v @ rest) ** 2) - alone
    return mutual > AGREEMENT * alone and mutual > WORTHWHILE * alpha.sum()


def map_all_features(mapping, X, weight):
    """Refit the map with all components, or as many as the budget allows, and return its features."""
    n = X.shape[0]
    mapping.set_params(engine="cholesky", n_landmarks=min(n, max(1, BUDGET // n)))
    return mapping.fit_features(X, weight, keep_gram=True)
