"""A verification task in memory, and two that need no download: Olivetti's faces, where cached, and generated ones."""

from __future__ import annotations

from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import numpy as np

from .cache import content_key
from .features import PairFeatures

__all__ = ["PairTask", "make_pairs", "offline_pairs", "olivetti_pairs"]


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs of images, their labels and their folds. Two tasks are equal if their contents are.

    Parameters
    ----------
    name : str
    table : ndarray of shape (n_images, n_features) or (n_images, n_views, n_features)
        Features of the images; NaN where one is not known.
    pairs : ndarray of int of shape (n_pairs, 2)
        Rows of the table.
    y : ndarray of shape (n_pairs,)
        1 for the same person, 0 for two.
    folds : ndarray of int of shape (n_pairs,)
        The fold of each pair.
    features : PairFeatures
        What pairs are told by.
    tested : tuple of int or None
        The folds that are tested, each by what is learned from all others; None for every one.
    messages : tuple of str
        What one should know about the data.
    files : tuple of Path
        The images, in the order of the table; empty where there are none.
    """

    name: str
    table: np.ndarray
    pairs: np.ndarray
    y: np.ndarray
    folds: np.ndarray
    features: PairFeatures = field(default_factory=PairFeatures)
    tested: tuple[int, ...] | None = None
    messages: tuple[str, ...] = ()
    files: tuple[Path, ...] = ()

    @property
    def splits(self) -> list[tuple[np.ndarray, np.ndarray]]:
        """Training and test pairs of every tested fold, in order."""
        tested = np.unique(self.folds).tolist() if self.tested is None else self.tested
        if len(np.unique(self.folds)) < 2:
            raise ValueError(f"folds must name at least 2 folds, got {np.unique(self.folds).tolist()}.")
        return [(np.flatnonzero(self.folds != fold), np.flatnonzero(self.folds == fold)) for fold in tested]

    @cached_property
    def fingerprint(self) -> str:
        """A hash of everything that a result can depend on."""
        settings = {"features": str(self.features.get_params()), "tested": self.tested}
        return content_key(settings, arrays=(self.table, self.pairs, self.y, self.folds))[:16]

    def __eq__(self, other):
        return isinstance(other, PairTask) and self.fingerprint == other.fingerprint

    def __hash__(self):
        return hash(self.fingerprint)


def make_pairs(
    n_people: int = 120,
    n_images: int = 4,
    n_features: int = 20,
    *,
    n_folds: int = 4,
    noise: float = 0.6,
    random_state: int | None = None,
) -> PairTask:
    """Generated faces: a point for every person, and images scattered around it.

    As in LFW, a person belongs to one fold, and every fold has as many pairs of the same person as of two.

    Parameters
    ----------
    n_people, n_images, n_features, n_folds : int
        Images are of each person.
    noise : float
        Deviation of the images around the person's point.
    random_state : int, Generator or None

    Examples
    --------
    >>> task = make_pairs(n_people=8, n_images=3, n_folds=2, random_state=0)
    >>> task.pairs.shape, task.table.shape, task.y.mean().item()
    ((48, 2), (24, 20), 0.5)
    """
    generator = np.random.default_rng(random_state)
    scales = np.linspace(1.0, 0.2, n_features)
    people = generator.normal(size=(n_people, n_features)) * scales
    images = np.repeat(people, n_images, axis=0) + noise * generator.normal(size=(n_people * n_images, n_features))
    person = np.repeat(np.arange(n_people), n_images)
    pairs, y, folds = _draw_pairs(person, n_folds, generator)
    features = PairFeatures(("metric", "both"), blocks=(n_features // 2, n_features - n_features // 2))
    return PairTask("generated", images, pairs, y, folds, features, messages=("generated, not faces",))


def olivetti_pairs(*, data_home: str | Path | None = None, n_folds: int = 5, random_state: int | None = 0) -> PairTask:
    """Pairs of scikit-learn's Olivetti faces, 40 people with 10 images each; OSError where they are not cached.

    Parameters
    ----------
    data_home : str or Path, optional
        Of scikit-learn's cache.
    n_folds : int
    random_state : int, Generator or None
    """
    from sklearn.datasets import fetch_olivetti_faces

    faces = fetch_olivetti_faces(data_home=data_home, download_if_missing=False)
    pairs, y, folds = _draw_pairs(faces.target, n_folds, np.random.default_rng(random_state))
    told = ("Olivetti faces, pixels; pairs drawn by this package, no official protocol",)
    features = PairFeatures("metric", n_components=40)
    return PairTask("olivetti", faces.data, pairs, y, folds, features, messages=told)


def offline_pairs(*, data_home: str | Path | None = None, random_state: int | None = 0) -> PairTask:
    """Olivetti's faces where they are cached, generated pairs where not; nothing is downloaded.

    Parameters
    ----------
    data_home : str or Path, optional
        Of scikit-learn's cache.
    random_state : int, Generator or None
    """
    try:
        return olivetti_pairs(data_home=data_home, random_state=random_state)
    except OSError:
        return make_pairs(random_state=random_state)


def _draw_pairs(person, n_folds, generator):
    """Pairs of consecutive images of each person, and as many of two people of the same fold."""
    people = generator.permutation(np.unique(person))
    if len(people) < 2 * n_folds:
        raise ValueError(f"{n_folds} folds need at least {2 * n_folds} people, got {len(people)}.")
    pairs, y, folds = [], [], []
    for fold in range(n_folds):
        groups = [np.flatnonzero(person == name) for name in people[fold::n_folds]]
        same = [(g[i], g[(i + 1) % len(g)]) for g in groups for i in range(len(g) if len(g) > 2 else len(g) - 1)]
        different = []
        for _ in same:
            i, j = generator.choice(len(groups), 2, replace=False)
            different.append((generator.choice(groups[i]), generator.choice(groups[j])))
        pairs += same + different
        y += [1] * len(same) + [0] * len(same)
        folds += [fold] * (2 * len(same))
    return np.array(pairs), np.array(y), np.array(folds)
