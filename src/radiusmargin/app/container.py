"""The content of a model file as plain data. Nothing that a file names is imported or made here.

A model file is a skops file: a zip archive of uncompressed members, `schema.json` with a tree of nodes, and an array in
NumPy's format for each leaf of numbers. Objects become a `Record`; `rebuild` decides what is made of them.
"""

from __future__ import annotations

import io
import json
import math
import zipfile
from dataclasses import dataclass
from typing import BinaryIO

import numpy as np
from scipy import sparse

from ..tables import DataError

__all__ = ["Record", "read_container"]

#: Arrays may take so many bytes, or so many times the size of the file, each counted as often as it is named.
MOST_BYTES, MOST_TIMES = 2**28, 20

KEY_TYPES = {"str": str, "str_": str, "int": int, "int64": int, "float": float, "float64": float, "bool": "True".__eq__}


@dataclass(frozen=True, eq=False)
class Record:
    """An object of a file: the names of its module and class, and its attributes."""

    module: str
    cls: str
    attributes: dict

    @property
    def name(self) -> str:
        """Package and class. Modules between are no part of it, so that files outlive a class that moves."""
        return f"{self.module.partition('.')[0]}.{self.cls}"


def read_container(stream: BinaryIO):
    """Parse a skops file.

    Parameters
    ----------
    stream : binary file

    Returns
    -------
    dict, list, tuple, str, number, None, array or Record
        The root of the tree.
    """
    size = stream.seek(0, io.SEEK_END)
    with zipfile.ZipFile(stream) as archive:
        members = archive.infolist()
        if any(member.compress_type != zipfile.ZIP_STORED for member in members):
            raise DataError("its members are compressed, which those of model files are not")
        if sum(member.file_size for member in members) > size:
            raise DataError("its members overlap")
        tree = json.loads(archive.read("schema.json"))
        return _Reader(archive, max(MOST_BYTES, MOST_TIMES * size)).value(tree)


class _Reader:
    """Nodes of a tree as values; an array that several nodes name is the same one."""

    def __init__(self, archive, most_bytes):
        self.archive, self.left, self.arrays = archive, most_bytes, {}

    def value(self, node):
        read = getattr(self, f"read_{node['__loader__']}", self.read_other)
        return read(node)

    def read_other(self, node):
        """What has no content of interest: a type, a function, a generator of random numbers. Its name is enough."""
        return Record(node["__module__"], node["__class__"], {})

    def read_ObjectNode(self, node):
        content = node.get("content")
        attributes = self.value(content) if content is not None else None
        record = Record(node["__module__"], node["__class__"], attributes or {})
        if record.name == "scipy.csr_array":  # as skops 0.11 writes it
            return sparse_rows(*(attributes[name] for name in ("_shape", "data", "indices", "indptr")))
        return record

    read_TreeNode = read_ObjectNode

    def read_JsonNode(self, node):
        value = json.loads(node["content"])
        if isinstance(value, str):
            value.encode()  # half a surrogate pair is no text
        if value is not None and not isinstance(value, str | int | float):
            raise DataError(f"a value is {type(value).__name__} where a number or a text should be")
        return value

    def read_DictNode(self, node):
        kinds = [KEY_TYPES[kind.cls] for kind in self.value(node["key_types"])]
        return {kind(key): self.value(own) for kind, (key, own) in zip(kinds, node["content"].items(), strict=True)}

    def read_ListNode(self, node):
        return [self.value(own) for own in node["content"]]

    def read_TupleNode(self, node):
        return tuple(self.read_ListNode(node))

    def read_NdArrayNode(self, node):
        if node["type"] == "json":  # an array of objects, which are texts, numbers or dictionaries
            items = self.read_ListNode(node)
            out = np.empty(len(items), dtype=object)
            for i, item in enumerate(items):
                out[i] = item
            return out
        array = self.file(node["file"], parse_array)
        return array if node["__class__"] == "ndarray" else array[()]

    def read_MaskedArrayNode(self, node):
        data, mask = (self.value(node["content"][name]) for name in ("data", "mask"))
        if np.asarray(mask).dtype != bool or np.shape(mask) not in ((), np.shape(data)):
            raise DataError("the mask of an array is of another shape")
        return np.ma.MaskedArray(data, mask)

    def read_SparseMatrixNode(self, node):
        matrix = self.file(node["file"], self.sparse_matrix)
        return sparse.csr_matrix(matrix) if node["__class__"].endswith("matrix") else matrix

    def file(self, name, parse):
        """An array by the name of its file, whose size is counted again each time."""
        if name not in self.arrays:
            content = self.archive.read(name)
            self.count(len(content))
            self.arrays[name] = parse(content), len(content)
        else:
            self.count(self.arrays[name][1])
        return self.arrays[name][0]

    def sparse_matrix(self, content):
        with zipfile.ZipFile(io.BytesIO(content)) as inner:
            self.count(sum(member.file_size for member in inner.infolist()))
            parts = {name: inner.read(f"{name}.npy") for name in ("format", "shape", "data", "indices", "indptr")}
        if parse_array(parts.pop("format"), "S").item() != b"csr":
            raise DataError("a sparse matrix is not stored by rows")
        return sparse_rows(*(parse_array(parts[name]) for name in ("shape", "data", "indices", "indptr")))

    def count(self, n_bytes):
        self.left -= n_bytes
        if self.left < 0:
            raise DataError(f"its arrays are over {MOST_TIMES} times as large as the file, as often as they are named")


def parse_array(content: bytes, kinds: str = "biufUV") -> np.ndarray:
    """Parse an array in NumPy's format, of some kinds of numbers or texts, never of objects."""
    stream = io.BytesIO(content)
    version = np.lib.format.read_magic(stream)
    headers = {(1, 0): np.lib.format.read_array_header_1_0, (2, 0): np.lib.format.read_array_header_2_0}
    shape, by_columns, dtype = headers[version](stream)
    if dtype.hasobject or dtype.kind not in kinds:
        raise DataError(f"an array is of type {dtype}")
    if math.prod(shape) * dtype.itemsize != len(content) - stream.tell():
        raise DataError(f"an array of shape {shape} has another number of bytes")
    if not math.prod(shape):
        return np.empty(shape, dtype)
    array = np.frombuffer(content, dtype, offset=stream.tell()).reshape(shape, order="F" if by_columns else "C")
    if dtype.kind == "b":  # any byte but zero is true
        return array.view(np.uint8) != 0
    if dtype.kind == "U":
        "".join(array.ravel().tolist()).encode()  # raises what is no text
    return array.astype(dtype.newbyteorder("="))  # a copy that may be written to


def sparse_rows(shape, data, indices, indptr) -> sparse.csr_array:
    """Make a sparse matrix of its parts; numbers of columns are checked, and sorted."""
    if any(np.asarray(numbers).dtype.kind != "i" for numbers in (shape, indices, indptr)):
        raise DataError("numbers of the columns of a sparse matrix are not whole")
    matrix = sparse.csr_array((data, indices, indptr), shape=tuple(shape))
    matrix.check_format(full_check=True)
    matrix.sum_duplicates()
    return matrix
