"""The kernel machine: support vector machines in the space of a kernel, without a map into it."""

from .entry import solve_kernel
from .functions import kernel_svm
from .result import Expansions, KernelResult, KernelResults
from .scores import kernel_scores
from .search import search_kernels

__all__ = [
    "Expansions",
    "KernelResult",
    "KernelResults",
    "kernel_scores",
    "kernel_svm",
    "search_kernels",
    "solve_kernel",
]
