"""Choosing hyper-parameters: regularisation paths, cross-validation in batched calls, and criteria without refitting."""

from .autosvm import AutoSVM
from .fold_strategies import radius_margin_bound, span_loo
from .fsvmcv import FSVMCV
from .path import FSVMPath, fsvm_path

__all__ = [
    "FSVMCV",
    "AutoSVM",
    "FSVMPath",
    "fsvm_path",
    "radius_margin_bound",
    "span_loo",
]
