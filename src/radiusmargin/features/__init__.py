"""Explicit feature maps of kernels, and how accuracy depends on their dimension."""

from .dimension_path import DimensionPath, LeadingFeatures, kernel_dimension_path
from .map import KernelMap

__all__ = ["DimensionPath", "KernelMap", "LeadingFeatures", "kernel_dimension_path"]
