"""Ways to score members of a search on its splits: one that serves all, and quicker ones for groups that allow them.

A `Task` says which members of which group are fitted on which splits, and how well.
"""

from typing import Protocol

from .fold_by_fold import FoldByFold
from .kernel_folds import KernelFolds
from .linear_folds import LinearFolds
from .one_fit import OneFit
from .sparse_folds import SparseFolds


class Way(Protocol):
    """Built of the data once for a kind, and asked for one group at a time (`KernelFolds`: for several together)."""

    def score(self, task, scores) -> tuple[int, ...]:
        """Score what the task asks for; the splits that are left to another way."""


__all__ = ["FoldByFold", "KernelFolds", "LinearFolds", "OneFit", "SparseFolds", "Way"]
