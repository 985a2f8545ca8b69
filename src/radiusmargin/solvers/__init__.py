"""Solvers: functions of arrays that return a solution with its certificate."""

from .._checks import ConvergenceWarning
from .hinge.backend import COMPILED
from .hinge.entry import solve
from .hinge.functions import HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path
from .kernel.entry import solve_kernel
from .kernel.functions import kernel_svm
from .kernel.result import Expansions, KernelResult, KernelResults
from .kernel.scores import kernel_scores
from .kernel.search import search_kernels
from .kernel_rows import Kernel
from .labels import REST, ClassLabels
from .multipliers import balanced
from .problem import IDENTITY, Batch, Options, Quadratics, Start
from .result import HingeResult, Result, Results, certificate, relative_gap
from .rows import Dense, Rows, Sparse, rows_of

__all__ = [
    "COMPILED",
    "IDENTITY",
    "REST",
    "Batch",
    "ClassLabels",
    "ConvergenceWarning",
    "Dense",
    "Expansions",
    "HingeBatch",
    "HingeResult",
    "Kernel",
    "KernelResult",
    "KernelResults",
    "Options",
    "Quadratics",
    "Result",
    "Results",
    "Rows",
    "Sparse",
    "Start",
    "balanced",
    "certificate",
    "hinge_svm",
    "hinge_svm_batch",
    "hinge_svm_path",
    "kernel_scores",
    "kernel_svm",
    "relative_gap",
    "rows_of",
    "search_kernels",
    "solve",
    "solve_kernel",
]
