"""Arrays on disk under a key of their content: the same images and settings are computed once."""

from __future__ import annotations

import hashlib
import json
import os
import warnings
from collections.abc import Callable
from pathlib import Path

import numpy as np

from ..._writing import open_output

__all__ = ["cache_folder", "cached_array", "content_key"]

CACHE_VARIABLE = "RADIUSMARGIN_CACHE"


def cache_folder(folder: str | Path | None = None) -> Path:
    """The folder that was given, else ``RADIUSMARGIN_CACHE``, else one in the user's cache folder.

    Parameters
    ----------
    folder : str or Path, optional
    """
    if folder is not None:
        return Path(folder)
    if os.environ.get(CACHE_VARIABLE):
        return Path(os.environ[CACHE_VARIABLE])
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache", "radiusmargin")


def content_key(settings: dict, files=(), arrays=()) -> str:
    """SHA-256 of settings, of the bytes of files, in order, whose names and dates do not count, and of arrays.

    >>> content_key({"a": 1, "b": 2}) == content_key({"b": 2, "a": 1})
    True
    >>> content_key({"a": 1}) == content_key({"a": 2})
    False
    """
    digest = hashlib.sha256(json.dumps(settings, sort_keys=True, separators=(",", ":")).encode())
    for path in files:
        with open(path, "rb") as stream:
            digest.update(hashlib.file_digest(stream, "sha256").digest())
    for array in arrays:
        digest.update(f"{array.dtype.str}{array.shape}".encode())
        digest.update(np.ascontiguousarray(array))
    return digest.hexdigest()


def cached_array(name: str, key: str, compute: Callable[[], np.ndarray], folder=None) -> np.ndarray:
    """The array of a key: read where it is there, else computed and written.

    It is written under another name and renamed, so that a file under its final name is whole. A file that cannot be
    read is computed anew, with a warning.

    Parameters
    ----------
    name : str
        For people, the first part of the file's name.
    key : str
        Of `content_key`.
    compute : callable
        Makes the array.
    folder : str, Path or None
        See `cache_folder`.
    """
    path = cache_folder(folder) / f"{name}-{key[:20]}.npy"
    if path.is_file():
        try:
            return np.load(path, allow_pickle=False)
        except (ValueError, EOFError, OSError) as error:
            warnings.warn(f"{path} cannot be read ({error}); it is computed anew.", UserWarning, stacklevel=2)
    array = np.asarray(compute())
    with open_output(path) as stream:
        np.save(stream, array, allow_pickle=False)
    return array
