"""Support vector machines that learn a feature transformation and a max-margin separator together."""

from . import _moved
from ._compat import VERSION as __version__  # noqa: F401 (public by convention, not in __all__)
from .estimators import (
    FSVM,
    MRSVM,
    MSVM,
    RMM,
    SVM,
    SVML,
    SVR,
    FSVMAlgorithm1,
    KernelMap,
    QuantileSVR,
    RSVMMuPlus,
    RSVMPlus,
    SemiWhitening,
    SigmaSVM,
)
from .search import FSVMCV, AutoSVM, AutoSVR
from .tables import TableEncoder

_moved.install()

__all__ = [  # noqa: RUF022 (in groups, for readers, not sorted)
    # Start here: hyper-parameters are chosen by cross-validation.
    "AutoSVM",  # linear and kernel SVMs, tuned and averaged
    "AutoSVR",  # the first model for a quantity: kernel regression, tuned and averaged
    "FSVMCV",  # the same search with every choice open; one kernel, linear by default
    # One model with given hyper-parameters.
    "FSVM",  # F-SVM: separator and metric learned together
    "SVM",  # the plain SVM
    "SVR",  # support vector regression
    "QuantileSVR",  # conditional quantiles
    # Models that F-SVM is compared with.
    "RMM",  # relative margin machine
    "RSVMPlus",  # R-SVM+
    "RSVMMuPlus",  # R-SVM_mu+
    "MRSVM",  # MR-SVM: feature weights by margin and radius
    "SigmaSVM",  # norm mixed with the covariance
    "MSVM",  # linear map into the unit ball
    "SVML",  # learned metric of the Gaussian kernel
    "FSVMAlgorithm1",  # F-SVM by the paper's algorithm as printed
    # Transformers.
    "TableEncoder",  # a table of mixed columns as numbers
    "KernelMap",  # explicit features of a kernel
    "SemiWhitening",  # the paper's initialisation
]
