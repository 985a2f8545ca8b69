"""SIFT at the points of aligned faces, at several scales, by OpenCV."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
from numpy.typing import ArrayLike

from ...tables import DataError
from .images import import_opencv
from .landmarks import SHAPE, SIDE, Face

__all__ = ["SiftFeatures"]

DESCRIPTOR = 128
DIAMETERS = 6.0  # of a keypoint, that the 4 x 4 histograms of OpenCV's descriptor span


@dataclass(frozen=True)
class SiftFeatures:
    """Where and how descriptors are taken.

    Parameters
    ----------
    points : "landmarks", "grid" or tuple of (x, y), default="landmarks"
        The nine points of each face, or the same for all, in pixels of the whole 250 x 250 image; "grid" lays `grid` x
        `grid` of them over the crop. A landmark outside the crop is moved to its edge.
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
        outside = [p for p in self.positions(SHAPE) if not (left <= p[0] < right and top <= p[1] < bottom)]
        if outside:
            raise ValueError(f"{len(outside)} points lie outside the crop {self.crop!r}, such as {outside[0]}.")

    def positions(self, landmarks: ArrayLike) -> list[tuple[float, float]]:
        """The points of a face with these landmarks, in pixels of the whole image."""
        left, top, right, bottom = self.crop
        if isinstance(self.points, str) and self.points == "grid":
            steps = (np.arange(self.grid) + 0.5) / self.grid
            return [(left + (right - left) * float(u), top + (bottom - top) * float(v)) for v in steps for u in steps]
        if isinstance(self.points, str):
            inside = np.clip(landmarks, [left, top], [right - 1, bottom - 1])
            return [(float(x), float(y)) for x, y in inside]
        return [(float(x), float(y)) for x, y in self.points]

    @property
    def n_features(self) -> int:
        return len(self.positions(SHAPE)) * len(self.scales) * DESCRIPTOR

    def extract(self, face: Face) -> np.ndarray:
        """The descriptors of a face, one after the other: all scales of the first point, then the second's."""
        cv2 = import_opencv()
        left, top, right, bottom = self.crop
        image = np.ascontiguousarray(face.image[top:bottom, left:right])
        keypoints = [
            cv2.KeyPoint(x - left, y - top, scale / DIAMETERS, 0.0, 0.0, _octave(scale))
            for x, y in self.positions(face.points)
            for scale in self.scales
        ]
        kept, descriptors = cv2.SIFT_create().compute(image, keypoints)
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
