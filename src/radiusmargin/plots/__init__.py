"""Figures, as Matplotlib objects, drawn only when asked for."""

from .metric import MarginDisplay, MetricDisplay

__all__ = ["MarginDisplay", "MetricDisplay"]
