"""Support vector machines that learn a feature transformation and a max-margin separator together."""

from importlib.metadata import PackageNotFoundError as _NotInstalled
from importlib.metadata import version as _version

from . import _moved
from .estimators import (
    FSVM,
    MRSVM,
    MSVM,
    RMM,
    SVM,
    SVML,
    FSVMAlgorithm1,
    KernelMap,
    RSVMMuPlus,
    RSVMPlus,
    SemiWhitening,
    SigmaSVM,
)
from .search import FSVMCV, AutoSVM

_moved.install()

try:
    __version__ = _version("radiusmargin")
except _NotInstalled:  # a source tree that was never installed
    __version__ = "0+unknown"

__all__ = [
    "FSVM",
    "FSVMCV",
    "MRSVM",
    "MSVM",
    "RMM",
    "SVM",
    "SVML",
    "AutoSVM",
    "FSVMAlgorithm1",
    "KernelMap",
    "RSVMMuPlus",
    "RSVMPlus",
    "SemiWhitening",
    "SigmaSVM",
]
