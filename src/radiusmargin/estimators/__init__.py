"""The models as scikit-learn estimators, one file each.

Shared by them: `base` (fit and predict), `features` (the space of a model), `decision` (scores, classes, probabilities), `family` (whitening
exponents and metrics), `expansion` (kernel machines), `kernel_map` and `kernel_pca`; `registry` lists all models.
"""

from .algorithm_one import FSVMAlgorithm1
from .dimension_path import DimensionPath, LeadingFeatures, kernel_dimension_path
from .fsvm import FSVM
from .kernel_map import KernelMap
from .mrsvm import MRSVM
from .msvm import MSVM
from .registry import ModelEntry, get_model, list_models, make_model
from .rmm import RMM
from .rsvm import RSVMMuPlus, RSVMPlus
from .semi_whitening import SemiWhitening
from .sigma_svm import SigmaSVM
from .svm import SVM
from .svml import SVML
from .svr import SVR, QuantileSVR

__all__ = [
    "FSVM",
    "MRSVM",
    "MSVM",
    "RMM",
    "SVM",
    "SVML",
    "SVR",
    "DimensionPath",
    "FSVMAlgorithm1",
    "KernelMap",
    "LeadingFeatures",
    "ModelEntry",
    "QuantileSVR",
    "RSVMMuPlus",
    "RSVMPlus",
    "SemiWhitening",
    "SigmaSVM",
    "get_model",
    "kernel_dimension_path",
    "list_models",
    "make_model",
]
