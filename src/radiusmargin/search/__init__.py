"""Model selection: `FSVMCV` and `AutoSVM`, regularisation paths, and criteria that need no cross-validation.

`base` fits both estimators: `candidates` lists what to try, `evaluate` scores it with `fold_strategies` and drops candidates
early, `scoring` keeps the scores and chooses, `ensemble` fits the chosen candidates and averages them. `path` is on its own.
`AutoSVR` has a search of its own, `least_squares`, since leave-one-out residuals of least squares need no folds.
"""

from .autosvm import AutoSVM
from .autosvr import AutoSVR
from .fold_strategies import radius_margin_bound, span_loo
from .fsvmcv import FSVMCV
from .path import FSVMPath, fsvm_path

__all__ = [
    "FSVMCV",
    "AutoSVM",
    "AutoSVR",
    "FSVMPath",
    "fsvm_path",
    "radius_margin_bound",
    "span_loo",
]
