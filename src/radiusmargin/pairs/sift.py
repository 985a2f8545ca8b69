"""SIFT at fixed points and scales of aligned faces, by OpenCV."""

from __future__ import annotations

from dataclasses import asdict, dataclass

import numpy as np

from ..datasets import DataError, MissingDependencyError
from .cache import cached_array, content_key

__all__ = ["LANDMARKS", "SiftFeatures", "sift_table"]

#: Corners of eyes, nostrils and tip of the nose, corners of the mouth, as (x, y) in an aligned image of 250 x 250. They
#: stand for the nine detected points of Guillaumin, Verbeek and Schmid, "Is that you?" (ICCV 2009), and are estimates of
#: where alignment puts them, made without the images at hand: look at them on an average image before relying on them.
LANDMARKS = (
    (95, 113), (116, 113), (134, 113), (155, 113),
    (114, 137), (125, 135), (136, 137),
    (108, 158), (142, 158),
)  # fmt: skip

SIDE = 250  # of an LFW image, which the points refer to
DESCRIPTOR = 128
DIAMETERS = 6.0  # of a keypoint, that the 4 x 4 histograms of OpenCV's descriptor span


@dataclass(frozen=True)
class SiftFeatures:
    """Where and how descriptors are taken.

    Parameters
    ----------
    points : "landmarks", "grid" or tuple of (x, y), default="landmarks"
        Points in pixels of the whole 250 x 250 image; "grid" lays `grid` x `grid` of them over the crop.
    grid : int, default=7
    scales : tuple of float, default=(24, 48, 96)
        Widths in pixels of the patches that a descriptor covers (its 4 x 4 histograms, six diameters of a keypoint). A
        larger one is read from a coarser octave of the pyramid.
    crop : tuple (left, top, right, bottom), default=(50, 50, 200, 200)
        Nothing outside it is looked at: the background of LFW images tells people apart, and should not.
    power : float in (0, 1], default=0.5
        Descriptors of unit sum are raised to this power and have unit length then; 0.5 is known as RootSIFT. 1 leaves
        OpenCV's descriptors, at unit length.

    Examples
    --------
    >>> SiftFeatures().n_features, SiftFeatures(points="grid", grid=5, scales=(24,)).n_features
    (3456, 3200)
    """

    points: str | tuple = "landmarks"
    grid: int = 7
    scales: tuple = (24.0, 48.0, 96.0)
    crop: tuple = (50, 50, 200, 200)
    power: float = 0.5

    def __post_init__(self):
        left, top, right, bottom = self.crop
        if not (0 <= left < right <= SIDE and 0 <= top < bottom <= SIDE):
            raise ValueError(f"crop must be (left, top, right, bottom) within {SIDE} x {SIDE}, got {self.crop!r}.")
        if not 0 < self.power <= 1:
            raise ValueError(f"power must be in (0, 1], got {self.power!r}.")
        if not self.scales or min(self.scales) <= 0:
            raise ValueError(f"scales must hold positive widths, got {self.scales!r}.")
        if isinstance(self.points, str) and self.points not in ("landmarks", "grid"):
            raise ValueError(f"points must be 'landmarks', 'grid' or a sequence of (x, y), got {self.points!r}.")
        outside = [p for p in self.positions() if not (left <= p[0] < right and top <= p[1] < bottom)]
        if outside:
            raise ValueError(f"{len(outside)} points lie outside the crop {self.crop!r}, such as {outside[0]}.")

    def positions(self) -> list[tuple[float, float]]:
        """The points, in pixels of the whole image."""
        if not isinstance(self.points, str):
            return [(float(x), float(y)) for x, y in self.points]
        if self.points == "landmarks":
            return [(float(x), float(y)) for x, y in LANDMARKS]
        left, top, right, bottom = self.crop
        steps = (np.arange(self.grid) + 0.5) / self.grid
        return [(left + (right - left) * float(u), top + (bottom - top) * float(v)) for v in steps for u in steps]

    @property
    def n_features(self) -> int:
        return len(self.positions()) * len(self.scales) * DESCRIPTOR

    def extract(self, image) -> np.ndarray:
        """The descriptors of a grey image, one after the other: all scales of the first point, then the second's."""
        cv2 = import_opencv()
        left, top, right, bottom = self.crop
        face = np.ascontiguousarray(image[top:bottom, left:right])
        keypoints = [
            cv2.KeyPoint(x - left, y - top, scale / DIAMETERS, 0.0, 0.0, _octave(scale))
            for x, y in self.positions()
            for scale in self.scales
        ]
        kept, descriptors = cv2.SIFT_create().compute(face, keypoints)
        if len(kept) != len(keypoints):
            raise DataError(f"OpenCV dropped {len(keypoints) - len(kept)} of {len(keypoints)} keypoints.")
        return _normalised(descriptors, self.power).ravel()


def _octave(scale):
    """OpenCV reads the level of the pyramid from the keypoint: one octave coarser for each doubling from 24 pixels."""
    return int(max(0, np.floor(np.log2(scale / 24.0) + 1e-9)))


def _normalised(descriptors, power):
    """Power-normalised descriptors of unit length; one of a flat patch stays zero."""
    rows = np.maximum(descriptors.astype(np.float32), 0.0)
    rows = (rows / np.maximum(rows.sum(axis=1, keepdims=True), 1e-12)) ** np.float32(power)
    return rows / np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)


def sift_table(files, features=None, *, cache=None, progress=None) -> np.ndarray:
    """SIFT features of image files, kept on disk under a key of the images' bytes and the settings.

    Parameters
    ----------
    files : sequence of paths
        Images of 250 x 250.
    features : SiftFeatures, optional
    cache : str, Path or None
        Folder; see `radiusmargin.pairs.cache_folder`.
    progress : callable, optional
        Called with the number of images if there is anything to compute; what it returns is called with each file.

    Returns
    -------
    ndarray of float32 of shape (n_files, features.n_features)
    """
    features = features or SiftFeatures()
    cv2 = import_opencv()
    settings = {"sift": asdict(features), "positions": features.positions(), "opencv": cv2.__version__}

    def compute():
        step = progress(len(files)) if progress else (lambda path: None)
        table = np.empty((len(files), features.n_features), dtype=np.float32)
        for row, path in zip(table, files, strict=True):
            row[:] = features.extract(read_grey(path))
            step(path)
        return table

    return cached_array("sift", content_key(settings, files), compute, cache)


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
            "SIFT features need OpenCV, which is not installed. Install it with:  pip install 'radiusmargin[faces]'"
        ) from error
    return cv2
