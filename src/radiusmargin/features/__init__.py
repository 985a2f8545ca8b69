"""Explicit feature maps of kernels, and how accuracy depends on their dimension."""

from .dimension_path import DimensionPath, LeadingFeatures, kernel_dimension_path
from .functions import KernelFunction
from .map import KernelMap

__all__ = ["DimensionPath", "KernelFunction", "KernelMap", "LeadingFeatures", "kernel_dimension_path"]
