"""What a search tries: members of the family, in groups that share features, scatter and smoothing."""

from __future__ import annotations

from dataclasses import dataclass
from itertools import product
from numbers import Integral, Real

import numpy as np
from scipy import sparse

from ..features.space import FeatureChoice
from ..geometry.tempered import can_whiten

LINEAR_POWERS = (0.0, 0.25, 0.5, 0.75, 1.0)
KERNEL_POWERS = (0.0,)  # whitening gained nothing there (benchmarks/accuracy.py)
# Of text neither: rare words must not weigh as much as common ones, but somewhat more than they do (benchmarks/text.py).
TEXT_POWERS = (-1.0, -0.5)
STANDARDISED = (0.0,)  # of dense data too wide for a scatter
TEXT_COLUMNS = 1000  # of a sparse matrix from which it is taken for text, or for something like it


@dataclass(frozen=True, order=True)
class Member:
    """One configuration; the order of the fields is the order of preference among equals: less whitening, smaller C."""

    whitening: float
    C: float
    eta: float = 0.0
    scatter: str = "total"
    n_components: int | float | None = None
    gamma: float | str | None = None

    def params(self, searched):
        return {name: getattr(self, name) for name in searched}

    @property
    def preference(self):
        return (
            self.whitening, self.C, self.eta, self.scatter, str(type(self.n_components)),
            self.n_components or 0, str(self.gamma),
        )  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Members that differ in exponent and C only."""

    powers: tuple[float, ...]
    scatter: str = "total"
    eta: float = 0.0
    gamma: float | str | None = None
    n_components: int | float | None = None

    def member(self, power, C) -> Member:
        return Member(power, float(C), self.eta, self.scatter, self.n_components, self.gamma)

    def holds(self, member) -> bool:
        return member.whitening in self.powers and self.member(member.whitening, member.C) == member

    def choice(self, choice: FeatureChoice) -> FeatureChoice:
        """The features of these members, of a search over some."""
        return choice if choice.is_linear else choice.with_(gamma=self.gamma, n_components=self.n_components)

    def is_expansion(self, choice: FeatureChoice) -> bool:
        """Whether kernel values are all these members need: nothing is whitened or smoothed."""
        plain = self.powers == (0.0,) and self.eta == 0 and self.scatter == "total"
        return plain and self.choice(choice).has_kernel


def is_text(X) -> bool:
    """Whether X looks like counts of words: sparse, with many columns."""
    return sparse.issparse(X) and X.shape[1] >= TEXT_COLUMNS


def groups_of(search, choice, X) -> list[Group]:
    """All groups that the grids of a search ask for, on data X.

    With a kernel and no number of components the exponent 0 is a group of its own, which needs no map of the kernel, and so
    is every other exponent, whose default number depends on it.
    """
    powers = exponents(search, choice, X)
    forms = list(product(listed(search.scatter), listed(search.eta)))
    if choice.is_linear:  # what scales columns only needs no scatter
        parts = tuple(p for p in powers if p < 0), tuple(p for p in powers if p >= 0)
        return [Group(part, *form) for part in parts if part for form in forms]
    groups = []
    for gamma, n_components, form in product(listed(search.gamma), listed(search.n_components), forms):
        apart = n_components is None and not choice.is_transformer
        for part in [(p,) for p in sorted(powers)] if apart else [powers]:
            groups.append(Group(part, *form, gamma, n_components))
    return groups


def exponents(search, choice, X):
    """The grid of whitening, or its default."""
    if search.whitening is None:
        if not choice.is_linear:
            return KERNEL_POWERS
        if is_text(X):
            return TEXT_POWERS
        return LINEAR_POWERS if can_whiten(*X.shape) else STANDARDISED
    return tuple(float(p) for p in listed(search.whitening))


def initial_Cs(Cs, weight, is_linear):
    """From where the separator is still the difference of the class means, to where slack is nearly forbidden."""
    if not isinstance(Cs, Integral):
        return np.unique(np.asarray(listed(Cs), dtype=float))
    if Cs == 1:
        return np.array([1.0 / weight.mean()])
    low, high = max(1.0 / len(weight), 1e-4), 1e2 if is_linear else 1e3
    return np.geomspace(low, high, int(Cs)) / weight.mean()


def check_grid(name, value):
    """One value, or a flat list of some."""
    try:
        empty = len(listed(value)) == 0
    except TypeError:  # neither a list nor a value, or a list of lists
        raise ValueError(f"{name} must be a value or a list of values, got {value!r}.") from None
    if empty:
        raise ValueError(f"{name} must not be empty.")


def listed(value):
    """A list from a list, without repetitions, or from a single value."""
    return [value] if value is None or isinstance(value, (str, Real)) else list(dict.fromkeys(value))
