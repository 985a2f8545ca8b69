"""Read a table from a file, infer the type of each column, and encode it as numbers."""

from .options import ReadOptions
from .read import read_table
from .table_encoder import TableEncoder
from .task import DataError, MissingDependencyError, TaskData, UnknownNameError

__all__ = [
    "DataError",
    "MissingDependencyError",
    "ReadOptions",
    "TableEncoder",
    "TaskData",
    "UnknownNameError",
    "read_table",
]
