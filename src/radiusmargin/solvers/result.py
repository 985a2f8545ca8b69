from .._checks import ConvergenceWarning
from ..problems.result import HingeResult, Result, relative_gap

__all__ = ["ConvergenceWarning", "HingeResult", "Result", "relative_gap"]
