"""Data: generators, a registry with checksums, loaders, and readers for a user's own tables."""

from radiusmargin.datasets.generators import (
    make_gaussian_mixture,
    make_ill_conditioned,
    make_ringnorm,
    make_twonorm,
    make_waveform,
)
from radiusmargin.datasets.loaders import Availability, available, load
from radiusmargin.datasets.registry import DataFile, Dataset, get_dataset, list_datasets
from radiusmargin.datasets.tables import read_table
from radiusmargin.datasets.task import DataError, MissingDependencyError, TaskData, UnknownNameError

__all__ = [
    "Availability",
    "DataError",
    "DataFile",
    "Dataset",
    "MissingDependencyError",
    "TaskData",
    "UnknownNameError",
    "available",
    "get_dataset",
    "list_datasets",
    "load",
    "make_gaussian_mixture",
    "make_ill_conditioned",
    "make_ringnorm",
    "make_twonorm",
    "make_waveform",
    "read_table",
]
