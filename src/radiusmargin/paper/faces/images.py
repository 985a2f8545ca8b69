"""Images of faces, read, aligned, and turned into tables of features that are kept on disk."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from ...tables import DataError, MissingDependencyError
from .cache import cached_array, content_key
from .landmarks import SHAPE, SIDE, Face

if TYPE_CHECKING:
    from .lbp import LbpFeatures
    from .sift import SiftFeatures

__all__ = ["face_table", "import_opencv", "read_grey"]


def face_table(
    files: Sequence[Path],
    features: SiftFeatures | LbpFeatures,
    points: np.ndarray | None = None,
    *,
    cache: str | Path | None = None,
    progress: Callable | None = None,
) -> np.ndarray:
    """Features of aligned faces and of their mirror images, kept on disk.

    The key is made of the bytes of the images, their points, the settings and OpenCV's version. A row depends on its
    image alone.

    Parameters
    ----------
    files : sequence of paths
        Images of 250 x 250.
    features : SiftFeatures or LbpFeatures
    points : ndarray of shape (n_files, 9, 2), optional
        The points of each image; by default those of `SHAPE` for all, which leaves the images as they are.
    cache : str, Path or None
        Folder; see `radiusmargin.paper.faces.cache_folder`.
    progress : callable, optional
        Called with the number of images if there is anything to compute; what it returns is called with each file.

    Returns
    -------
    ndarray of float32 of shape (n_files, 2, features.n_features)
        Of the image, and of its mirror image.
    """
    cv2 = import_opencv()
    points = np.broadcast_to(np.asarray(SHAPE if points is None else points, dtype=float), (len(files), len(SHAPE), 2))
    name = type(features).__name__
    settings = {"features": name, **asdict(features), "shape": SHAPE, "points": points.tolist(), "cv2": cv2.__version__}

    def compute():
        step = progress(len(files)) if progress else (lambda path: None)
        table = np.empty((len(files), 2, features.n_features), dtype=np.float32)
        for row, path, nine in zip(table, files, points, strict=True):
            face = Face(read_grey(path), nine).aligned()
            row[0], row[1] = features.extract(face), features.extract(face.mirrored())
            step(path)
        return table

    return cached_array(name.lower(), content_key(settings, files), compute, cache)


def read_grey(path) -> np.ndarray:
    """A grey image of 250 x 250, or an error that names the file."""
    cv2 = import_opencv()
    try:
        data = np.fromfile(path, dtype=np.uint8)
    except OSError as error:
        raise DataError(f"{path}: {error.strerror or error}.") from error
    image = cv2.imdecode(data, cv2.IMREAD_GRAYSCALE) if len(data) else None
    if image is None:
        raise DataError(f"{path} is not an image that OpenCV can read; is the download complete?")
    if image.shape != (SIDE, SIDE):
        raise DataError(
            f"{path} has {image.shape[1]} x {image.shape[0]} pixels; aligned LFW images have {SIDE} x {SIDE}."
        )
    return image


def import_opencv():
    try:
        import cv2
    except ImportError as error:
        raise MissingDependencyError(
            "features of images need OpenCV, which is not installed. Install it with:  pip install 'radiusmargin[faces]'"
        ) from error
    return cv2
