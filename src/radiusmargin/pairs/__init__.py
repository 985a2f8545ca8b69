"""Verification of pairs: symmetric features, `PairVerifier`, thresholds and ROC curves, and the LFW protocol."""

from .attributes import load_attributes
from .cache import cache_folder
from .features import FeatureTable, PairFeatures, as_pairs
from .lfw import LFWPairs, find_lfw, load_lfw, read_pairs
from .projection import ImageProjection
from .protocol import Verification, cross_verify, inner_splits, outer_splits
from .scores import RocCurve, choose_threshold, equal_error_rate, roc, tpr_at_fpr
from .sift import SiftFeatures, sift_table
from .task import PairTask, make_pairs, offline_pairs, olivetti_pairs
from .verifier import PairVerifier

__all__ = [
    "FeatureTable",
    "ImageProjection",
    "LFWPairs",
    "PairFeatures",
    "PairTask",
    "PairVerifier",
    "RocCurve",
    "SiftFeatures",
    "Verification",
    "as_pairs",
    "cache_folder",
    "choose_threshold",
    "cross_verify",
    "equal_error_rate",
    "find_lfw",
    "inner_splits",
    "load_attributes",
    "load_lfw",
    "make_pairs",
    "offline_pairs",
    "olivetti_pairs",
    "outer_splits",
    "read_pairs",
    "roc",
    "sift_table",
    "tpr_at_fpr",
]
