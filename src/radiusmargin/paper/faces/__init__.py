"""Verification of pairs: symmetric features, `PairVerifier`, thresholds and ROC curves, and the LFW protocol."""

from .attributes import load_attributes
from .cache import cache_folder
from .detection import detect_landmarks
from .features import FeatureTable, PairFeatures, as_table
from .images import face_table
from .landmarks import Face, load_landmarks
from .lbp import LbpFeatures
from .ldml import LDML
from .lfw import LFW, LFWPairs, find_lfw, load_lfw, read_pairs
from .projection import ImageProjection
from .protocol import Verification, cross_verify, inner_splits
from .recipes import RECIPES, Recipe, lfw_tasks
from .scores import RocCurve, choose_threshold, equal_error_rate, roc, tpr_at_fpr
from .sift import SiftFeatures
from .task import PairTask, make_pairs, offline_pairs, olivetti_pairs
from .verifier import PairVerifier

__all__ = [
    "LDML",
    "LFW",
    "RECIPES",
    "Face",
    "FeatureTable",
    "ImageProjection",
    "LFWPairs",
    "LbpFeatures",
    "PairFeatures",
    "PairTask",
    "PairVerifier",
    "Recipe",
    "RocCurve",
    "SiftFeatures",
    "Verification",
    "as_table",
    "cache_folder",
    "choose_threshold",
    "cross_verify",
    "detect_landmarks",
    "equal_error_rate",
    "face_table",
    "find_lfw",
    "inner_splits",
    "lfw_tasks",
    "load_attributes",
    "load_landmarks",
    "load_lfw",
    "make_pairs",
    "offline_pairs",
    "olivetti_pairs",
    "read_pairs",
    "roc",
    "tpr_at_fpr",
]
