"""Ways to score members of a search on its splits: one that serves all, and quicker ones for groups that allow them.

A way is built once for a search, and asked for one group at a time:

    score(task, scores) -> the splits that it has left to another way

A `Task` says which members of which group are fitted on which splits, and how well.
"""

from .fold_by_fold import FoldByFold
from .kernel_folds import KernelFolds
from .linear_folds import LinearFolds
from .one_fit import OneFit
from .sparse_folds import SparseFolds
from .task import Fitting, Task

__all__ = ["Fitting", "FoldByFold", "KernelFolds", "LinearFolds", "OneFit", "SparseFolds", "Task"]
