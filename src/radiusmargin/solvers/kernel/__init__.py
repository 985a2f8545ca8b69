"""The kernel machine: support vector machines in the space of a kernel, without a map into it."""

from .entry import solve_kernel
from .expansion import kernel_scores
from .functions import kernel_svm
from .result import Expansions, KernelResult, KernelResults
from .search import held_out_scores, unbeaten

__all__ = [
    "Expansions",
    "KernelResult",
    "KernelResults",
    "held_out_scores",
    "kernel_scores",
    "kernel_svm",
    "solve_kernel",
    "unbeaten",
]
