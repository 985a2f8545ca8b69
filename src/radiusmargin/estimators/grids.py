"""What is tried of each model: grids that are laid out for a number of configurations, not thinned to it.

Everything turns around C, so that every grid has at least three values of it near its centre, however few configurations
there are. What is left over goes to the model's own parameters, and to gamma, first to none more than to C.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import floor, prod

#: Fewest values of C: one can then tell whether the best of them is inside.
LEAST_C = 3


@dataclass(frozen=True)
class Powers:
    """Powers of two around a centre, as many as one asks for.

    Attributes
    ----------
    centre : float
        Exponent of 2 in the middle.
    spacing : float
        Distance of the exponents; less where that many would leave the range.
    reach : float
        Farthest exponent from the centre.
    most : int
        Most values that are of use.
    """

    centre: float
    spacing: float
    reach: float
    most: int = 1000

    def values(self, n: int) -> list[float]:
        """`n` powers, the middle ones first to be kept.

        >>> [Powers(0, 3, 12).values(n) for n in (1, 3)]
        [[1.0], [0.125, 1.0, 8.0]]
        >>> len(set(Powers(0, 3, 12).values(24)))
        24
        """
        n = min(n, self.most)
        step = min(self.spacing, 2 * self.reach / n)
        return [2.0 ** floor(self.centre + step * (i - (n - 1) / 2)) for i in range(n)]


@dataclass(frozen=True, eq=False, kw_only=True)
class Grid:
    """The hyper-parameters of a model, and how they share a number of configurations.

    Attributes
    ----------
    C : Powers
    gamma : Powers or None
        The Gaussian kernel's, None for linear features.
    own : dict of str to list
        The model's own parameters, from end to end.
    """

    C: Powers
    gamma: Powers | None = None
    own: Mapping[str, Sequence] = field(default_factory=dict)

    def without(self, names) -> Grid:
        """The grid where these parameters are not to be chosen."""
        return replace(self, own={name: values for name, values in self.own.items() if name not in names})

    def within(self, budget: int) -> dict[str, list]:
        """Values to try of every parameter: at most `budget` configurations, but never fewer than three values of C.

        >>> grid = Grid(C=Powers(0, 3, 12), own={"lam": [0.01, 0.1, 1.0, 10.0]})
        >>> grid.within(6)
        {'C': [0.125, 1.0, 8.0], 'lam': [0.1, 10.0]}
        >>> {name: len(values) for name, values in grid.within(24).items()}
        {'C': 6, 'lam': 4}
        >>> grid.within(1)
        {'C': [0.125, 1.0, 8.0], 'lam': [1.0]}
        """
        lengths = {"gamma": self.gamma.most} if self.gamma else {}
        lengths |= {name: len(values) for name, values in self.own.items()}
        while (longest := max(lengths.values(), default=1)) > 1 and _least(lengths) > budget:
            lengths[next(name for name, length in lengths.items() if length == longest)] -= 1
        n_C = max(LEAST_C, budget // prod(lengths.values()))
        kernel = {"kernel": ["rbf"], "gamma": self.gamma.values(lengths["gamma"])} if self.gamma else {}
        own = {name: _spread(list(values), lengths[name]) for name, values in self.own.items()}
        return {"C": self.C.values(n_C)} | kernel | own


def _least(lengths):
    """Fewest configurations of a grid in which no axis is longer than that of C."""
    return prod(lengths.values()) * max(LEAST_C, *lengths.values())


def _spread(values, n):
    """``n`` of the values, each in the middle of its share of them.

    >>> [_spread([1, 2, 3, 4], n) for n in (1, 2, 3)]
    [[3], [2, 4], [1, 3, 4]]
    """
    return [values[floor((i + 0.5) * len(values) / n)] for i in range(n)]
