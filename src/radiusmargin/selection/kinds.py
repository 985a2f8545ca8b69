"""The kinds of models that a search tries: one kernel, or several side by side.

Everything that ``kernel="auto"`` decides by itself stands here: kinds, exponents, gammas, and how many rows it searches on.
"""

from __future__ import annotations

from dataclasses import dataclass
from numbers import Real
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.model_selection import train_test_split

from .._checks import check_choice
from ..features.space import FeatureChoice

AUTO = ("linear", "rbf", "laplacian")
# As accurate on the sets for choosing as five exponents up to 1 (79.65 and 79.59 of 100), at less than half of their time.
LINEAR_POWERS = (0.0, 0.5)
KERNEL_POWERS = (0.0,)  # whitening gained nothing there (benchmarks/averaging.py)
# What gamma is, times the number of features: on standardised features their mean squared distance is twice that number.
MULTIPLES = {"rbf": (0.03, 0.1, 0.3, 1.0, 3.0), "laplacian": (0.1, 0.3, 1.0, 3.0)}
MOST_COLUMNS = 2000  # from which the linear kind is as good and others are slow
MOST_ROWS, SAMPLE = 20_000, 5_000  # rows up to which all are searched on, and how many of more are


@dataclass(frozen=True, eq=False)
class Kind:
    """Features of one kind, and the exponents and gammas to try with them."""

    features: FeatureChoice
    powers: tuple[float, ...]
    gammas: tuple = ("scale",)


def kinds_of(search, X) -> list[Kind]:
    """The kinds that the parameters of a search name; several kinds expect standardised features."""
    choice = FeatureChoice.of(search)
    names = names_of(search.kernel, X)
    if names is None:
        return [Kind(choice, exponents(search, choice), tuple(listed(search.gamma)))]
    kinds = []
    for name in names:
        features = choice.with_(kernel=name)
        powers = exponents(search, features) if features.is_linear else KERNEL_POWERS
        kinds.append(Kind(features, powers, gammas_of(search.gamma, name, X)))
    return kinds


def names_of(kernel, X) -> tuple[str, ...] | None:
    """Kernels that are searched side by side; None of a single one."""
    if isinstance(kernel, (list, tuple)):
        return tuple(dict.fromkeys(kernel))
    if not (isinstance(kernel, str) and kernel == "auto"):
        return None
    return ("linear",) if sparse.issparse(X) or X.shape[1] > MOST_COLUMNS else AUTO


def exponents(search, choice):
    """The grid of whitening, or its default."""
    if search.whitening is None:
        return LINEAR_POWERS if choice.is_linear else KERNEL_POWERS
    return tuple(float(p) for p in listed(search.whitening))


def gammas_of(gamma, kernel, X) -> tuple:
    """The gammas that were given, or for "scale" multiples that suit standardised features."""
    if kernel not in MULTIPLES or not (isinstance(gamma, str) and gamma == "scale"):
        return tuple(listed(gamma))
    varying = max(1, int(np.count_nonzero(abs(X).max(axis=0))))  # a standardised feature that is constant is zero
    return tuple(multiple / varying for multiple in MULTIPLES[kernel])


def sampled(codes):
    """Numbers of the rows that kinds are chosen on: None for all, or of very many a stratified sample, always the same."""
    if len(codes) <= MOST_ROWS:
        return None
    rows, _ = train_test_split(np.arange(len(codes)), train_size=SAMPLE, stratify=codes, random_state=0)
    return np.sort(rows)


def check_kinds(kernel):
    """A list of kernels holds names of such as can be searched side by side."""
    if isinstance(kernel, (list, tuple)):
        if not kernel:
            raise ValueError("kernel must not be an empty list.")
        for name in kernel:
            check_choice("kernel", name, ("linear", "rbf", "laplacian", "poly", "sigmoid", "cosine"))


def check_grid(name, value):
    """One value, or a flat list of some."""
    try:
        empty = len(listed(value)) == 0
    except TypeError:  # neither a list nor a value, or a list of lists
        raise ValueError(f"{name} must be a value or a list of values, got {value!r}.") from None
    if empty:
        raise ValueError(f"{name} must not be empty.")


def listed(value: Any) -> list:
    """A list from a list, without repetitions, or from a single value."""
    return [value] if value is None or isinstance(value, (str, Real)) else list(dict.fromkeys(value))
