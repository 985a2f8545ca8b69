"""Solvers: functions of arrays that return a solution with its certificate."""

from .._checks import ConvergenceWarning
from ..problems import HingeResult, Result
from .hinge import COMPILED, HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path, solve
from .kernel import KernelResult, KernelResults, kernel_scores, kernel_svm, search_kernels, solve_kernel

__all__ = [
    "COMPILED",
    "ConvergenceWarning",
    "HingeBatch",
    "HingeResult",
    "KernelResult",
    "KernelResults",
    "Result",
    "hinge_svm",
    "hinge_svm_batch",
    "hinge_svm_path",
    "kernel_scores",
    "kernel_svm",
    "search_kernels",
    "solve",
    "solve_kernel",
]
