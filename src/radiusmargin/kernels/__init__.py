"""Explicit feature maps of kernels, and how accuracy depends on their dimension."""

from .map import KernelMap

__all__ = ["KernelMap"]
