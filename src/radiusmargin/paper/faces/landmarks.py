"""Nine points of a face: corners of eyes, nose and mouth; where they come from, and alignment to where they should be."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...tables import DataError

__all__ = ["SHAPE", "Face", "load_landmarks"]

#: Corners of the eyes, nostrils around the tip of the nose, corners of the mouth, as (x, y) in an image of 250 x 250. The
#: medians over the images of LFW's view 1, made symmetric: a constant, so that alignment learns nothing from any image.
SHAPE = (
    (96.0, 114.0), (112.0, 114.0), (137.0, 114.0), (153.0, 114.0),
    (115.0, 142.0), (124.5, 136.0), (134.0, 142.0),
    (106.0, 158.0), (143.0, 158.0),
)  # fmt: skip
#: Their places among the 68 points of iBUG 300-W, and where each goes in a mirror.
OF_68 = (36, 39, 42, 45, 31, 30, 35, 48, 54)
MIRRORED = (3, 2, 1, 0, 6, 5, 4, 8, 7)
SIDE = 250  # of an LFW image


@dataclass(frozen=True, eq=False)
class Face:
    """A grey image and its nine points, in pixels.

    Parameters
    ----------
    image : ndarray of uint8 of shape (250, 250)
    points : ndarray of shape (9, 2)
    """

    image: np.ndarray
    points: np.ndarray

    def aligned(self) -> Face:
        """Turned, scaled and moved so that the points come nearest to `SHAPE`, in the sense of least squares."""
        import cv2

        turn = similarity(self.points, np.array(SHAPE))
        image = cv2.warpAffine(self.image, turn, (SIDE, SIDE), flags=cv2.INTER_LINEAR, borderMode=cv2.BORDER_REPLICATE)
        return Face(image, self.points @ turn[:, :2].T + turn[:, 2])

    def mirrored(self) -> Face:
        """The image in a mirror; left and right points change names."""
        points = self.points[list(MIRRORED)]
        return Face(np.ascontiguousarray(self.image[:, ::-1]), np.array([SIDE - 1, 0]) + points * [-1, 1])


def similarity(points, wanted) -> np.ndarray:
    """The 2 x 3 matrix of the rotation, scaling and shift that brings points nearest to those wanted.

    As complex numbers it is ``z -> a z + b``, linear in a and b.

    >>> square = np.array([[0.0, 0.0], [1.0, 0.0], [1.0, 1.0], [0.0, 1.0]])
    >>> similarity(square, 2 * square + [3, 4]).round(6) + 0.0
    array([[2., 0., 3.],
           [0., 2., 4.]])
    """
    z, w = (p[:, 0] + 1j * p[:, 1] for p in (np.asarray(points, dtype=float), np.asarray(wanted, dtype=float)))
    centred = z - z.mean()
    a = np.vdot(centred, w) / np.vdot(centred, centred)
    b = w.mean() - a * z.mean()
    return np.array([[a.real, -a.imag, b.real], [a.imag, a.real, b.imag]])


def load_landmarks(path: str | Path, file_names: Sequence[str]) -> tuple[np.ndarray, str]:
    """Points of images from a table.

    Parameters
    ----------
    path : str or Path
        An ``.npz`` with `files` (names as in `file_names`), `points` of shape
        (n, 68, 2), in the order of iBUG 300-W, or (n, 9, 2), in that of `SHAPE`, and, optionally, `detected`.
    file_names : sequence of str

    Returns
    -------
    points : ndarray of shape (n_images, 9, 2)
    message : str
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file; it should hold the landmarks of the images (files, points).")
    with np.load(path, allow_pickle=False) as archive:
        arrays = {name: archive[name] for name in archive.files}
    points = np.asarray(arrays.get("points", np.empty(0)), dtype=float)
    if "files" not in arrays or points.shape[1:] not in ((68, 2), (9, 2)) or len(points) != len(arrays["files"]):
        shapes = ", ".join(f"{name} {array.shape}" for name, array in arrays.items())
        raise DataError(f"{path} holds {shapes}; expected files (n,) and points (n, 68, 2) or (n, 9, 2).")
    place = {name: i for i, name in enumerate(arrays["files"].tolist())}
    missing = [name for name in file_names if name not in place]
    if missing:
        raise DataError(f"{path} lacks {len(missing)} of {len(file_names)} images, the first is {missing[0]}.")
    rows = [place[name] for name in file_names]
    found = int(arrays["detected"][rows].sum()) if "detected" in arrays else len(rows)
    nine = points[rows][:, list(OF_68)] if points.shape[1] == 68 else points[rows]
    return nine, f"nine points from {path.name}, found in {found} of {len(rows)} images"
