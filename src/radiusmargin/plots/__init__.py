"""Figures as Matplotlib objects. Matplotlib is imported only when one is drawn."""

from .dimension import DimensionPathDisplay
from .kernels import KindsDisplay
from .metric import MarginDisplay, MetricDisplay
from .selection import CVDisplay, PathDisplay

__all__ = ["CVDisplay", "DimensionPathDisplay", "KindsDisplay", "MarginDisplay", "MetricDisplay", "PathDisplay"]
