"""Geometry of a set of points: scatter, whitening, enclosing balls, and the bounds between them.

Everything here is a function of arrays and needs NumPy and SciPy only.
"""

from .bounds import RadiusBounds, radius_bounds
from .diameter import farthest_pair
from .enclosing_ball import EnclosingBall, minimum_enclosing_ball
from .means import geometric_mean
from .powers import matrix_power, range_basis, semi_whitening, whitening
from .ratio import RadiusMargin, RadiusMarginComparison, radius_margin
from .scatter import scatter_matrix
from .tempered import TemperedScatter, tempered_scatter

__all__ = [
    "EnclosingBall",
    "RadiusBounds",
    "RadiusMargin",
    "RadiusMarginComparison",
    "TemperedScatter",
    "farthest_pair",
    "geometric_mean",
    "matrix_power",
    "minimum_enclosing_ball",
    "radius_bounds",
    "radius_margin",
    "range_basis",
    "scatter_matrix",
    "semi_whitening",
    "tempered_scatter",
    "whitening",
]
