"""Describable attributes of LFW images: N. Kumar, A. Berg, P. Belhumeur, S. Nayar, ICCV 2009."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...tables import DataError

if TYPE_CHECKING:
    from .lfw import LFWPairs

__all__ = ["load_attributes"]

FILES = ("lfw_attributes.txt", "lfw_attributes.npz", "attributes.npz", "attributes.txt")
FORMATS = (
    "a text file with a line '# person imagenum name ...' and tab-separated rows (Columbia's lfw_attributes.txt), or an"
    " .npz with `attributes`: of shape (n_images, k) together with `person` and `imagenum`, or of shape (n_pairs, 2, k)"
    " together with `index`, the places of those pairs in pairs.txt from 0 (not needed if all are there)"
)


def load_attributes(path: str | Path, lfw: LFWPairs) -> tuple[np.ndarray, str]:
    """Attributes of the images of a pairs file.

    Parameters
    ----------
    path : str or Path
        A file, or a folder to look for one of lfw_attributes.txt, lfw_attributes.npz, attributes.npz, attributes.txt.
        Formats: text with a line ``# person imagenum name ...`` and tab-separated rows; an ``.npz`` with `attributes`
        of shape (n_images, k), `person` and `imagenum`; or one with `attributes` of shape (n_pairs, 2, k) and `index`,
        the places of those pairs in the pairs file.
    lfw : LFWPairs

    Returns
    -------
    table : ndarray of shape (n_images, k)
        In the order of ``lfw.images``; NaN for images without attributes.
    message : str
        How many are missing.
    """
    path = _found(Path(path))
    table = _from_npz(path, lfw) if path.suffix == ".npz" else _from_text(path, lfw)
    known = ~np.isnan(table).any(axis=1)
    if not known.any():
        raise DataError(f"{path} has attributes of none of the {len(lfw.images)} images of the pairs.")
    whole = int(known[lfw.pairs].all(axis=1).sum())
    return table, (
        f"{table.shape[1]} attributes from {path.name}: known for both images of {whole} of {len(lfw.pairs)} pairs; a"
        " missing one takes the mean of the training images"
    )


def _found(path):
    if path.is_file():
        return path
    looked = [path / name for name in FILES] if path.is_dir() else [path]
    found = next((file for file in looked if file.is_file()), None)
    if found is None:
        raise DataError(
            "the attributes of LFW were not found. Looked at:"
            + "".join(f"\n  - {file}: no such file" for file in looked)
            + f"\nPut one there, or name it (attributes=...): {FORMATS}."
        )
    return found


def _from_text(path, lfw):
    lines = [line.split("\t") for line in path.read_text(encoding="utf-8").splitlines() if line.strip()]
    # The head of Columbia's file is the second comment, and its mark a field of its own.
    head = next((i for i, fields in enumerate(lines) if {"person", "imagenum"} <= set(fields)), None)
    if head is None:
        raise DataError(f"{path} has no line with 'person' and 'imagenum'; expected {FORMATS}.")
    names = lines[head][lines[head].index("person") :]
    persons, numbers, values = [], [], []
    for fields in lines[head + 1 :]:
        try:
            if len(fields) != len(names):
                raise ValueError(f"{len(fields)} fields")
            persons.append(fields[0].replace(" ", "_"))
            numbers.append(int(fields[1]))
            values.append([float(field) for field in fields[2:]])
        except ValueError as error:
            raise DataError(f"{path}: the row of {fields[0]!r} does not fit the head's {len(names)}: {error}") from None
    return _placed(persons, numbers, np.array(values).reshape(len(values), len(names) - 2), lfw)


def _from_npz(path, lfw):
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    values = np.asarray(arrays.get("attributes", np.empty(0)), dtype=float)
    if values.ndim == 2 and {"person", "imagenum"} <= arrays.keys():
        return _placed(arrays["person"].tolist(), arrays["imagenum"].tolist(), values, lfw)
    if values.ndim == 3 and values.shape[1] == 2:
        index = np.asarray(arrays.get("index", np.arange(len(values))))
        if len(index) == len(values) and (len(values) == len(lfw.pairs) or "index" in arrays):
            return _from_pairs(path, values, index, lfw)
    shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
    raise DataError(f"{path} holds {shapes or 'nothing'}; expected {FORMATS}.")


def _placed(persons, numbers, values, lfw):
    place = {image: i for i, image in enumerate(lfw.images)}
    table = np.full((len(lfw.images), values.shape[1]), np.nan)
    for person, number, row in zip(persons, numbers, values, strict=True):
        i = place.get((person, int(number)))
        if i is not None:
            table[i] = row
    return table


def _from_pairs(path, values, index, lfw):
    if index.min() < 0 or index.max() >= len(lfw.pairs):
        raise DataError(f"{path}: index must be places of pairs, 0 to {len(lfw.pairs) - 1}, got {index.max()}.")
    table = np.full((len(lfw.images), values.shape[2]), np.nan)
    table[lfw.pairs[index].ravel()] = values.reshape(-1, values.shape[2])
    if not np.array_equal(table[lfw.pairs[index]], values, equal_nan=True):
        raise DataError(f"{path} gives one image different attributes in different pairs; are the pairs in order?")
    return table
