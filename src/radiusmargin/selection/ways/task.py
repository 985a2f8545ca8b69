"""What a way is asked, and how it fits."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from ...problems import Options
from ..plan import Group, Member


@dataclass(frozen=True, eq=False)
class Task:
    """Members of a group (some exponents times some Cs) on some splits, to a relative gap."""

    group: Group
    powers: tuple[float, ...]
    Cs: np.ndarray
    splits: tuple[int, ...]
    tol: float

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


@dataclass(frozen=True)
class Fitting:
    """How all members of a search are fitted."""

    max_iter: int = 1000
    n_threads: int | None = None
    intercept: bool = True

    def options(self, tol, keep_alpha=False) -> Options:
        return Options(float(tol), int(self.max_iter), self.n_threads, keep_alpha)
