"""Hinge problems: `solve` for batches of them, and functions of plain arrays in front of it."""

from .backend import COMPILED
from .backend import backend as _backend  # noqa: F401
from .entry import solve
from .functions import HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path
from .shims import _solve, quiet_path  # noqa: F401

__all__ = ["COMPILED", "HingeBatch", "hinge_svm", "hinge_svm_batch", "hinge_svm_path", "solve"]
