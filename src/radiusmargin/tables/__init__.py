"""Read a table from a file, infer the type of each column, and encode it as numbers."""

from .read import read_table
from .table_encoder import TableEncoder
from .task import DataError, MissingDependencyError, TaskData, UnknownNameError

__all__ = [
    "DataError",
    "MissingDependencyError",
    "TableEncoder",
    "TaskData",
    "UnknownNameError",
    "read_table",
]
