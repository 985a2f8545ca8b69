"""Solvers: functions of arrays that return a solution with its certificate."""

from .._checks import ConvergenceWarning
from .hinge import COMPILED, HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path, solve
from .kernel import kernel_scores, kernel_svm, solve_kernel
from .kernel_search import FoldScores, KernelSearch
from .least_squares import LeastSquaresResult, least_squares_svm
from .problem import (
    IDENTITY,
    REST,
    Batch,
    ClassLabels,
    Dense,
    Kernel,
    Options,
    Quadratics,
    Rows,
    Sparse,
    Start,
    Targets,
    balanced,
    rows_of,
)
from .result import HingeResult, KernelResult, KernelResults, Result, Results, certificate, relative_gap

__all__ = [
    "COMPILED",
    "IDENTITY",
    "REST",
    "Batch",
    "ClassLabels",
    "ConvergenceWarning",
    "Dense",
    "FoldScores",
    "HingeBatch",
    "HingeResult",
    "Kernel",
    "KernelResult",
    "KernelResults",
    "KernelSearch",
    "LeastSquaresResult",
    "Options",
    "Quadratics",
    "Result",
    "Results",
    "Rows",
    "Sparse",
    "Start",
    "Targets",
    "balanced",
    "certificate",
    "hinge_svm",
    "hinge_svm_batch",
    "hinge_svm_path",
    "kernel_scores",
    "kernel_svm",
    "least_squares_svm",
    "relative_gap",
    "rows_of",
    "solve",
    "solve_kernel",
]
