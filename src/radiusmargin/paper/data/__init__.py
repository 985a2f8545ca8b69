"""Data sets of the experiments: generators, a registry with checksums, and loaders."""

from .generators import make_gaussian_mixture, make_ill_conditioned, make_ringnorm, make_twonorm, make_waveform
from .loaders import Availability, available, load
from .registry import DataFile, Dataset, get_dataset, list_datasets

__all__ = [
    "Availability",
    "DataFile",
    "Dataset",
    "available",
    "get_dataset",
    "list_datasets",
    "load",
    "make_gaussian_mixture",
    "make_ill_conditioned",
    "make_ringnorm",
    "make_twonorm",
    "make_waveform",
]
