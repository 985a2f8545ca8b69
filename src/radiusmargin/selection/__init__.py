"""Choosing the hyper-parameters: regularisation paths, cross-validation in batched calls, and criteria without
refitting.
"""

from .auto import AutoSVM
from .cv import FSVMCV
from .path import FSVMPath, fsvm_path
from .ways.one_fit import radius_margin_bound, span_loo

__all__ = ["FSVMCV", "AutoSVM", "FSVMPath", "fsvm_path", "radius_margin_bound", "span_loo"]
