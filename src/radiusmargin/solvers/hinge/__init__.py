"""Hinge problems: `solve` for batches of them, and functions of plain arrays in front of it."""

from .backend import COMPILED
from .entry import solve
from .functions import HingeBatch, hinge_svm, hinge_svm_batch, hinge_svm_path

__all__ = ["COMPILED", "HingeBatch", "hinge_svm", "hinge_svm_batch", "hinge_svm_path", "solve"]
