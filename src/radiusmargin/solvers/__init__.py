"""Solvers: functions of arrays that return a solution with its certificate."""

from .._checks import ConvergenceWarning
from ..problems import HingeResult, Result
from .hinge import COMPILED, HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path, solve

__all__ = [
    "COMPILED",
    "ConvergenceWarning",
    "HingeBatch",
    "HingeResult",
    "Result",
    "hinge_svm",
    "hinge_svm_batch",
    "hinge_svm_path",
    "solve",
]
