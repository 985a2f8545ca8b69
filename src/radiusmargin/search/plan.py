"""What a search tries: members of the family, in groups that share features, scatter and smoothing, and tasks made of them."""

from __future__ import annotations

from dataclasses import dataclass, replace
from itertools import product
from typing import Any

import numpy as np

from ..estimators.features import FeatureChoice
from ..solvers import Options
from .candidates import Grids, Kind, listed


@dataclass(frozen=True)
class Member:
    """One configuration."""

    whitening: float
    C: float
    eta: float = 0.0
    scatter: str = "total"
    n_components: int | float | None = None
    gamma: float | str | None = None
    kernel: Any = "linear"

    @property
    def form(self) -> dict[str, Any]:
        """The parameters of `FSVM` that are not of its features."""
        return self.params(("C", "eta", "whitening", "scatter"))

    def params(self, searched):
        return {name: getattr(self, name) for name in searched}

    @property
    def preference(self):
        """The order among equals: the linear kind, less whitening, smaller C."""
        return (
            self.kernel != "linear", self.whitening, self.C, self.eta, self.scatter, str(type(self.n_components)),
            self.n_components or 0, str(self.gamma), str(self.kernel),
        )  # fmt: skip


@dataclass(frozen=True)
class Group:
    """Members that differ in exponent and C only."""

    kind: Kind
    features: FeatureChoice
    powers: tuple[float, ...]
    scatter: str = "total"
    eta: float = 0.0

    def member(self, power, C) -> Member:
        form, features = (power, float(C), self.eta, self.scatter), self.features
        if features.is_linear:
            return Member(*form)
        return Member(*form, features.n_components, features.gamma, self.kind.name)

    def holds(self, member) -> bool:
        return member.whitening in self.powers and self.member(member.whitening, member.C) == member

    @property
    def is_expansion(self) -> bool:
        """Whether kernel values are all these members need: nothing is whitened or smoothed."""
        return self.powers == (0.0,) and self.eta == 0 and self.scatter == "total" and self.features.has_kernel


@dataclass(frozen=True, eq=False)
class Task:
    """What a way is asked: members of a group (some exponents times some Cs) on some splits, and how they are fitted."""

    group: Group
    powers: tuple[float, ...]
    Cs: np.ndarray
    splits: tuple[int, ...]
    options: Options

    @property
    def members(self) -> list[Member]:
        return [self.group.member(p, C) for p in self.powers for C in self.Cs]

    def on(self, splits) -> Task:
        return replace(self, splits=tuple(splits))

    def record(self, scores, splits, values):
        """Put values of shape (P, C), or (splits, P, C) for several splits, into the scores."""
        for i, p in enumerate(self.powers):
            for j, C in enumerate(self.Cs):
                scores.set(self.group.member(p, C), splits, values[..., i, j])

    def keeper(self, scores, split):
        """What is told of the members on a split; see `Scores.keeper`."""
        return scores.keeper(self.members, split)


def groups_of(grids: Grids, kind: Kind) -> list[Group]:
    """All groups that the grids ask for, of one kind.

    With a kernel and no number of components the exponent 0 is a group of its own, which needs no map of the kernel, and so
    is every other exponent, whose default number depends on it.
    """
    forms = list(product(listed(grids.scatter), listed(grids.eta)))
    if kind.features.is_linear:  # what scales columns only needs no scatter
        parts = tuple(p for p in kind.powers if p < 0), tuple(p for p in kind.powers if p >= 0)
        return [Group(kind, kind.features, part, *form) for part in parts if part for form in forms]
    groups = []
    for gamma, n_components, form in product(kind.gammas, listed(grids.n_components), forms):
        features = kind.features.with_(gamma=gamma, n_components=n_components)
        apart = n_components is None and not features.is_transformer
        for part in [(p,) for p in sorted(kind.powers)] if apart else [kind.powers]:
            groups.append(Group(kind, features, part, *form))
    return groups
