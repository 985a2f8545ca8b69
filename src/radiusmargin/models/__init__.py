"""The models: one file each, all with one interface."""

from .algorithm_one import FSVMAlgorithm1
from .fsvm import FSVM
from .mrsvm import MRSVM
from .msvm import MSVM
from .registry import ModelEntry, get_model, list_models, make_model
from .rmm import RMM
from .rsvm import RSVMMuPlus, RSVMPlus
from .semi_whitening import SemiWhitening
from .sigma_svm import SigmaSVM
from .svm import SVM
from .svml import SVML

__all__ = [
    "FSVM",
    "MRSVM",
    "MSVM",
    "RMM",
    "SVM",
    "SVML",
    "FSVMAlgorithm1",
    "ModelEntry",
    "RSVMMuPlus",
    "RSVMPlus",
    "SemiWhitening",
    "SigmaSVM",
    "get_model",
    "list_models",
    "make_model",
]
