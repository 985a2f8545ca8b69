"""Labeled Faces in the Wild, image-restricted: the official pairs, folds and files.

G. Huang, M. Ramesh, T. Berg, E. Learned-Miller, "Labeled Faces in the Wild", UMass technical report 07-49, 2007.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from ...tables import DataError
from .attributes import load_attributes
from .images import face_table
from .landmarks import load_landmarks
from .lbp import LbpFeatures
from .sift import SiftFeatures

__all__ = ["LFW", "LFWPairs", "find_lfw", "load_lfw", "read_pairs"]

DATA_VARIABLE = "RADIUSMARGIN_DATA"
IMAGE_FOLDERS = ("lfw_funneled", "lfw-deepfunneled", "lfw_deepfunneled", "lfw")
TABLES = ("attribute", "sift", "lbp")
FEATURES = {"sift": SiftFeatures(), "lbp": LbpFeatures()}
LANDMARKS = "landmarks.npz"
VIEW_1 = ("pairsDevTrain.txt", "pairsDevTest.txt")


@dataclass(frozen=True, eq=False)
class LFWPairs:
    """The content of a pairs file.

    Parameters
    ----------
    images : tuple of (person, number)
        Every image that is in a pair, once, sorted. Names serve to find files and are given to no model.
    pairs : ndarray of int of shape (n_pairs, 2)
        Places in `images`.
    y : ndarray of int of shape (n_pairs,)
        1 for the same person, 0 for two.
    folds : ndarray of int of shape (n_pairs,)
    """

    images: tuple[tuple[str, int], ...]
    pairs: np.ndarray
    y: np.ndarray
    folds: np.ndarray

    @property
    def file_names(self) -> tuple[str, ...]:
        """Paths within the folder of images."""
        return tuple(f"{person}/{person}_{number:04d}.jpg" for person, number in self.images)


@dataclass(frozen=True, eq=False)
class LFW:
    """Pairs, and what is known of their images.

    Parameters
    ----------
    pairs : LFWPairs
    files : tuple of Path
        Of the images.
    tables : dict of str to ndarray of shape (n_images, n_views, n_features)
        "attribute", with NaN for images that have none; "sift" and "lbp", of the image and its mirror image.
    messages : dict of str to str
        A sentence on the pairs, and on each table.
    """

    pairs: LFWPairs
    files: tuple[Path, ...]
    tables: dict[str, np.ndarray]
    messages: dict[str, str]


def read_pairs(path: str | Path) -> LFWPairs:
    """Read ``pairs.txt``: folds and pairs per fold, then for every fold the same pairs, then the different ones.

    A pair of the same person is ``name  i  j``, one of two people is ``name  i  name  j``, separated by tabs or
    spaces. The file must hold as many lines as its head says.

    Parameters
    ----------
    path : str or Path
    """
    path = Path(path)
    if not path.is_file():
        raise DataError(f"{path}: no such file. It is {PAIRS_SOURCE}.")
    lines = [line.split() for line in path.read_text(encoding="utf-8").splitlines()]
    while lines and not lines[-1]:
        lines.pop()
    n_folds, size = _head(path, lines[0] if lines else [])
    if len(lines) != 1 + 2 * n_folds * size:
        raise DataError(
            f"{path} announces {n_folds} folds of {size} + {size} pairs, {2 * n_folds * size} lines, and has "
            f"{len(lines) - 1}; is it whole?"
        )
    found = [
        _pair(path, number, fields, (number - 2) % (2 * size) < size) for number, fields in enumerate(lines[1:], 2)
    ]
    images = tuple(sorted({image for pair in found for image in pair}))
    place = {image: i for i, image in enumerate(images)}
    pairs = np.array([[place[a], place[b]] for a, b in found])
    y = np.tile(np.repeat([1, 0], size), n_folds)
    return LFWPairs(images, pairs, y, np.repeat(np.arange(n_folds), 2 * size))


def _head(path, fields):
    try:
        numbers = [int(field) for field in fields]
        n_folds, size = numbers if len(numbers) == 2 else (1, *numbers)
    except ValueError:
        n_folds, size = 0, 0
    if n_folds < 1 or size < 1:
        raise DataError(f"{path}, line 1: expected the numbers of folds and of pairs, '10 300', got {fields!r}")
    return n_folds, size


def _pair(path, number, fields, same):
    """Both images of a line."""
    try:
        if same and len(fields) == 3:
            name, i, j = fields
            return (name, int(i)), (name, int(j))
        if not same and len(fields) == 4:
            a, i, b, j = fields
            return (a, int(i)), (b, int(j))
    except ValueError:
        pass
    wanted = "'name i j', a pair of one person" if same else "'name i name j', a pair of two people"
    raise DataError(f"{path}, line {number}: expected {wanted}, got {' '.join(fields)!r}")


def find_lfw(data_home: str | Path | None = None) -> tuple[Path, Path]:
    """``pairs.txt`` and the folder of images: in `data_home`, or in its ``lfw_home`` as scikit-learn lays it out.

    Parameters
    ----------
    data_home : str, Path or None
        By default the environment variable ``RADIUSMARGIN_DATA``.
    """
    home = data_home if data_home is not None else os.environ.get(DATA_VARIABLE)
    if not home:
        raise _not_found([f"no data folder: data_home was not given and {DATA_VARIABLE} is not set"])
    homes = [Path(home, "lfw_home"), Path(home)]
    found = next((folder for folder in homes if (folder / "pairs.txt").is_file()), None)
    if found is None:
        raise _not_found([f"{folder / 'pairs.txt'}: no such file" for folder in homes])
    images = next((found / name for name in IMAGE_FOLDERS if (found / name).is_dir()), None)
    if images is None:
        raise _not_found([f"{found / name}: no such folder" for name in IMAGE_FOLDERS])
    return found / "pairs.txt", images


PAIRS_SOURCE = "the file pairs.txt of LFW's view 2 (10 folds of 300 + 300 pairs)"


def _not_found(looked) -> DataError:
    places = "".join(f"\n  - {line}" for line in looked)
    return DataError(
        f"Labeled Faces in the Wild was not found. Looked at:{places}\n"
        f"Set {DATA_VARIABLE} (or data_home) to a folder with lfw_home/pairs.txt and lfw_home/lfw_funneled/<name>/"
        "<name>_0001.jpg, the layout of sklearn.datasets.fetch_lfw_pairs(subset='10_folds'), which downloads it where "
        "there is a network."
    )


def load_lfw(
    data_home: str | Path | None = None,
    *,
    view: int = 2,
    tables: Sequence[str] = TABLES,
    cache: str | Path | None = None,
    progress: Callable | None = None,
) -> LFW:
    """Pairs, folds and features of LFW.

    Parameters
    ----------
    data_home : str, Path or None
        See `find_lfw`. Beside the pairs it holds the attributes (`load_attributes`) and the landmarks
        (`load_landmarks`); without landmarks all images have the points of an average face.
    view : {1, 2}, default=2
        2 is the protocol's ten folds. 1 is for choosing features and models: the pairs of pairsDevTrain.txt, in three
        parts, are the folds 0 to 2, those of pairsDevTest.txt fold 3, the one to be tested.
    tables : sequence of {"attribute", "sift", "lbp"}
        What to make.
    cache, progress
        See `face_table`.
    """
    unknown = sorted(set(tables) - set(TABLES))
    if unknown or not tables:
        raise ValueError(f"tables must be some of {', '.join(map(repr, TABLES))}, got {tuple(tables)!r}.")
    pairs_file, folder = find_lfw(data_home)
    lfw = read_pairs(pairs_file) if view == 2 else _view_1(pairs_file.parent)
    made, messages = (
        {},
        {"pairs": f"LFW, view {view}, image-restricted: {len(lfw.y)} pairs of {len(lfw.images)} images"},
    )
    if "attribute" in tables:
        rows, messages["attribute"] = load_attributes(pairs_file.parent, lfw)
        made["attribute"] = rows[:, None].astype(np.float32)
    if {"sift", "lbp"} & set(tables):
        files = _existing(folder, lfw.file_names)
        points, told = _landmarks(pairs_file.parent, lfw.file_names)
        for name in sorted({"sift", "lbp"} & set(tables)):
            made[name] = face_table(files, FEATURES[name], points, cache=cache, progress=progress)
            messages[name] = f"{name.upper()} of the images in the folder {folder.name}; {told}"
    return LFW(lfw, tuple(folder / name for name in lfw.file_names), made, messages)


def _landmarks(folder, file_names):
    if (folder / LANDMARKS).is_file():
        return load_landmarks(folder / LANDMARKS, file_names)
    return None, f"no {LANDMARKS}: the points of an average face for all"


def _view_1(folder):
    """Both files of view 1 as one: three folds to train, one to test."""
    train, test = (read_pairs(folder / name) for name in VIEW_1)
    images = tuple(sorted({*train.images, *test.images}))
    place = {image: i for i, image in enumerate(images)}
    pairs = [[place[part.images[i]] for i in pair] for part in (train, test) for pair in part.pairs]
    y = np.concatenate([train.y, test.y])
    parts = np.concatenate([np.arange(n) * 3 // n for n in (train.y.sum(), len(train.y) - train.y.sum())])
    return LFWPairs(images, np.array(pairs), y, np.concatenate([parts, np.full(len(test.y), 3)]))


def _existing(folder, names):
    paths = [folder / name for name in names]
    missing = [path for path in paths if not path.is_file()]
    if missing:
        raise DataError(
            f"{len(missing)} of {len(paths)} images that the pairs name are missing, the first is {missing[0]}."
            " Unpack the archive of images anew."
        )
    return paths
