"""What is minimised, in arrays: rows, labels, regularisers, and what comes back."""

from .batch import Batch, Options, Start
from .multipliers import balanced
from .regularizers import Quadratics
from .result import HingeResult, Result, Results, relative_gap
from .rows import Dense, InnerProducts, Rows, Sparse, rows_of

__all__ = [
    "Batch",
    "Dense",
    "HingeResult",
    "InnerProducts",
    "Options",
    "Quadratics",
    "Result",
    "Results",
    "Rows",
    "Sparse",
    "Start",
    "balanced",
    "relative_gap",
    "rows_of",
]
