"""Recipes: which tables of features tell pairs of LFW, and how. Chosen on view 1, as docs/faces.md tells."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from .features import PairFeatures
from .lfw import LFW, load_lfw
from .task import PairTask

__all__ = ["RECIPES", "Recipe", "lfw_tasks"]


@dataclass(frozen=True)
class Recipe:
    """Parts of a description of pairs.

    Parameters
    ----------
    parts : tuple of (table, kind, n_components)
        Kinds as in `PairFeatures`.
    mirrored : bool
        Whether mirror images take part.
    """

    parts: tuple[tuple[str, str, int | None], ...]
    mirrored: bool = False

    @property
    def tables(self) -> tuple[str, ...]:
        return tuple(table for table, _, _ in self.parts)

    def task(self, name: str, lfw: LFW, tested: tuple[int, ...] | None = None) -> PairTask:
        """The pairs of LFW with the tables of this recipe side by side."""
        n_views = 2 if self.mirrored else 1
        rows = [lfw.tables[table][:, :n_views] for table in self.tables]
        rows = [np.broadcast_to(block, (len(block), n_views, block.shape[2])) for block in rows]
        features = PairFeatures(
            tuple(kind for _, kind, _ in self.parts),
            n_components=tuple(k for _, _, k in self.parts),
            blocks=tuple(block.shape[2] for block in rows),
        )
        told, pairs = tuple(lfw.messages[table] for table in ("pairs", *self.tables)), lfw.pairs
        task = PairTask(name, np.concatenate(rows, axis=2), pairs.pairs, pairs.y, pairs.folds, features)
        return replace(task, tested=tested, messages=told, files=lfw.files)


ATTRIBUTES = ("attribute", "both", None)
SIFT_METRIC, LBP_METRIC = ("sift", "metric", 400), ("lbp", "metric", 400)
ATTRIBUTE_METRIC = ("attribute", "metric", None)

RECIPES = {
    # As in the paper: nine points, SIFT, PCA, |a - b| and a b.
    "attribute": Recipe((ATTRIBUTES,)),
    "attribute-pca": Recipe((("attribute", "both", 73),)),
    "combined": Recipe((("sift", "both", 200), ATTRIBUTES)),
    # Similarities in learned metrics.
    "attribute-metric": Recipe((ATTRIBUTE_METRIC,)),
    "sift-metric": Recipe((SIFT_METRIC,)),
    "combined-metric": Recipe((SIFT_METRIC, ATTRIBUTE_METRIC)),
    "lbp-metric": Recipe((SIFT_METRIC, LBP_METRIC, ATTRIBUTE_METRIC)),
    "mirrored-metric": Recipe((SIFT_METRIC, LBP_METRIC, ATTRIBUTE_METRIC), mirrored=True),
    "mirrored-both": Recipe((SIFT_METRIC, LBP_METRIC, ATTRIBUTES), mirrored=True),
    "images-metric": Recipe((SIFT_METRIC, LBP_METRIC), mirrored=True),
}


def lfw_tasks(
    names: Sequence[str],
    data_home: str | Path | None = None,
    *,
    view: int = 2,
    cache: str | Path | None = None,
    progress: Callable | None = None,
) -> dict[str, PairTask]:
    """Tasks of recipes by name, ``"lfw/..."`` of view 2 and ``"view1/..."`` of view 1.

    Parameters
    ----------
    names : sequence of str
        Keys of `RECIPES`.
    data_home, view, cache, progress
        See `load_lfw`.
    """
    recipes = {name: RECIPES[name] for name in names}
    tables = dict.fromkeys(table for recipe in recipes.values() for table in recipe.tables)
    lfw = load_lfw(data_home, view=view, tables=tuple(tables), cache=cache, progress=progress)
    group, tested = ("lfw", None) if view == 2 else ("view1", (3,))
    return {f"{group}/{name}": recipe.task(f"{group}/{name}", lfw, tested) for name, recipe in recipes.items()}
