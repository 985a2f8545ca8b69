"""A verification task in memory, and two that need no download: Olivetti's faces, where cached, and generated ones."""

from __future__ import annotations

from dataclasses import dataclass, field

import numpy as np

__all__ = ["PairTask", "make_pairs", "offline_pairs", "olivetti_pairs"]


@dataclass(frozen=True, eq=False)
class PairTask:
    """Pairs of images, their labels and their folds.

    Attributes
    ----------
    name : str
    tables : dict of str to ndarray of shape (n_images, n_features)
        Features of the images by kind, such as "attribute" and "combined"; NaN where one is not known.
    pairs : ndarray of int of shape (n_pairs, 2)
        Rows of the tables.
    y : ndarray of shape (n_pairs,)
        1 for the same person, 0 for two.
    folds : ndarray of int of shape (n_pairs,)
        The fold of each pair, from 0.
    blocks : dict of str to tuple of int
        Widths of the blocks of a table that has several.
    messages : tuple of str
        What one should know about the data.
    """

    name: str
    tables: dict
    pairs: np.ndarray
    y: np.ndarray
    folds: np.ndarray
    blocks: dict = field(default_factory=dict)
    messages: tuple[str, ...] = ()

    @property
    def n_folds(self) -> int:
        return int(self.folds.max()) + 1


def make_pairs(n_people=120, n_images=4, n_features=20, *, n_folds=4, noise=0.6, random_state=None) -> PairTask:
    """Generated faces: a point for every person, and images scattered around it.

    As in LFW, a person belongs to one fold, and every fold has as many pairs of the same person as of two.

    Examples
    --------
    >>> task = make_pairs(n_people=8, n_images=3, n_folds=2, random_state=0)
    >>> task.pairs.shape, task.tables["generated"].shape, task.y.mean().item()
    ((48, 2), (24, 20), 0.5)
    """
    generator = np.random.default_rng(random_state)
    scales = np.linspace(1.0, 0.2, n_features)
    people = generator.normal(size=(n_people, n_features)) * scales
    images = np.repeat(people, n_images, axis=0) + noise * generator.normal(size=(n_people * n_images, n_features))
    person = np.repeat(np.arange(n_people), n_images)
    pairs, y, folds = _draw_pairs(person, n_folds, generator)
    return PairTask("generated", {"generated": images}, pairs, y, folds, messages=("generated, not faces",))


def olivetti_pairs(*, data_home=None, n_folds=5, random_state=0) -> PairTask:
    """Pairs of scikit-learn's Olivetti faces, 40 people with 10 images each; OSError where they are not cached."""
    from sklearn.datasets import fetch_olivetti_faces

    faces = fetch_olivetti_faces(data_home=data_home, download_if_missing=False)
    pairs, y, folds = _draw_pairs(faces.target, n_folds, np.random.default_rng(random_state))
    told = ("Olivetti faces, pixels; pairs drawn by this package, no official protocol",)
    return PairTask("olivetti", {"pixels": faces.data}, pairs, y, folds, messages=told)


def offline_pairs(*, data_home=None, random_state=0) -> PairTask:
    """Olivetti's faces where they are cached, generated pairs where not; nothing is downloaded."""
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
