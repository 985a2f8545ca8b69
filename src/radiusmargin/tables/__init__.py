"""A stranger's table: reading it, finding out what its columns hold, and making numbers of it."""

from .read import read_table
from .task import DataError, MissingDependencyError, TaskData, UnknownNameError

__all__ = [
    "DataError",
    "MissingDependencyError",
    "TaskData",
    "UnknownNameError",
    "read_table",
]
