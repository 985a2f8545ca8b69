"""Solvers: functions of arrays that return a solution with its certificate."""

from .hinge import COMPILED, HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path
from .result import ConvergenceWarning, HingeResult, Result

__all__ = [
    "COMPILED",
    "ConvergenceWarning",
    "HingeBatch",
    "HingeResult",
    "Result",
    "hinge_svm",
    "hinge_svm_batch",
    "hinge_svm_path",
]
