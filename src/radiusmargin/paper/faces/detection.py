"""Landmarks found by dlib: V. Kazemi, J. Sullivan, "One millisecond face alignment", CVPR 2014.

The model of 68 points was trained on iBUG 300-W, which is for research: so is what it finds. Nothing of it comes with this
package.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from importlib.util import find_spec
from pathlib import Path

import numpy as np

from ...tables import MissingDependencyError
from .images import read_grey
from .landmarks import SIDE

__all__ = ["detect_landmarks"]

MODEL = "models/shape_predictor_68_face_landmarks.dat"
#: Where alignment puts a face, (left, top, right, bottom): taken where the detector finds none.
BOX = (75, 80, 175, 180)


def detect_landmarks(files: Sequence[Path], *, progress: Callable | None = None) -> tuple[np.ndarray, np.ndarray]:
    """The 68 points of the face in the middle of each image; needs ``pip install 'radiusmargin[landmarks]'``.

    Kept with ``np.savez("landmarks.npz", files=names, points=points, detected=detected)``, they are what `load_landmarks`
    reads.

    Parameters
    ----------
    files : sequence of paths
        Images of 250 x 250.
    progress : callable, optional
        As in `face_table`.

    Returns
    -------
    points : ndarray of int16 of shape (n_files, 68, 2)
    detected : ndarray of bool of shape (n_files,)
        False where no face was found, and a box in the middle was taken for one.
    """
    dlib, shape_of = _dlib()
    find = dlib.get_frontal_face_detector()
    step = progress(len(files)) if progress else (lambda path: None)
    points, detected = np.empty((len(files), 68, 2), dtype=np.int16), np.empty(len(files), dtype=bool)
    for i, path in enumerate(files):
        image = read_grey(path)
        faces = list(find(image, 1))
        detected[i] = bool(faces)
        face = min(faces, key=_off_centre) if faces else dlib.rectangle(*BOX)
        points[i] = [(point.x, point.y) for point in shape_of(image, face).parts()]
        step(path)
    return points, detected


def _off_centre(face):
    centre = face.center()
    return (centre.x - SIDE / 2) ** 2 + (centre.y - SIDE / 2) ** 2


def _dlib():
    """dlib, and its predictor of 68 points."""
    spec = find_spec("face_recognition_models")  # found and not imported: its import needs a retired part of setuptools
    try:
        import dlib
    except ImportError:
        dlib = None
    if dlib is None or spec is None:
        raise MissingDependencyError(
            "finding landmarks needs dlib and its model, which are not installed. Install them with:  pip install"
            " 'radiusmargin[landmarks]'"
        )
    return dlib, dlib.shape_predictor(str(Path(spec.origin).parent / MODEL))
