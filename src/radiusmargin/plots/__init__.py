"""Figures, as Matplotlib objects, drawn only when asked for."""

from .dimension import DimensionPathDisplay
from .kernels import KindsDisplay
from .metric import MarginDisplay, MetricDisplay
from .selection import CVDisplay, PathDisplay

__all__ = ["CVDisplay", "DimensionPathDisplay", "KindsDisplay", "MarginDisplay", "MetricDisplay", "PathDisplay"]
