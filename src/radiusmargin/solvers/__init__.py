"""Solvers: functions of arrays that return a solution with its certificate."""

from .._checks import ConvergenceWarning
from ..problems import HingeResult, Result
from .hinge import COMPILED, HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path, solve
from .kernel import KernelResult, KernelResults, held_out_scores, kernel_scores, kernel_svm, solve_kernel, unbeaten

__all__ = [
    "COMPILED",
    "ConvergenceWarning",
    "HingeBatch",
    "HingeResult",
    "KernelResult",
    "KernelResults",
    "Result",
    "held_out_scores",
    "hinge_svm",
    "hinge_svm_batch",
    "hinge_svm_path",
    "kernel_scores",
    "kernel_svm",
    "solve",
    "solve_kernel",
    "unbeaten",
]
