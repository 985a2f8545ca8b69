"""Run the cells of the face experiments: project, choose, fit, score; whatever goes wrong becomes part of the record."""

from __future__ import annotations

import time
import traceback
import warnings
from dataclasses import asdict, dataclass

import numpy as np
from threadpoolctl import threadpool_limits

from ..models import FSVM
from ..pairs import ImageProjection, PairFeatures, inner_splits, outer_splits
from ..pairs.verifier import decision_values, distinct_images
from ..selection import FSVMCV
from .catalogue import is_self_tuning
from .provenance import provenance
from .tuning import Chosen, choose, pipeline

__all__ = ["View", "nested_views", "run_group"]


def run_group(cells, table, pairs, y, folds, blocks) -> list[dict]:
    """The records of cells of one fold and kind; an exception becomes part of a cell's record."""
    with threadpool_limits(limits=1):
        views = nested_views(cells[0], table, pairs, folds, max(cell.dimension for cell in cells), blocks)
        return [_record(cell, *views, pairs, y) for cell in cells]


@dataclass(frozen=True, eq=False)
class View:
    """All images in the components of those of some training pairs, and the pairs that were held out."""

    rows: np.ndarray
    train: np.ndarray
    test: np.ndarray

    def features(self, cell, pairs, y):
        """Pair features of the training pairs and of those held out, at the dimension of a cell."""
        rows = self.rows[:, : cell.dimension]
        made = PairFeatures(cell.pair_features).fit(rows[pairs[self.train]], y[self.train])
        return made.transform(rows[pairs[self.train]]), made.transform(rows[pairs[self.test]])


def nested_views(cell, table, pairs, folds, dimension, blocks=None):
    """The view of the fold, and those of the parts of its training folds.

    Each part has a projection of its own: one that had seen the images held out would fit them better than it fits new
    ones, the more so the more components it has, and the chosen dimension would be too large.
    """

    def view(train, test):
        # Each image counts once.
        projection = ImageProjection(dimension, blocks=blocks).fit(distinct_images(table[pairs[train]]))
        return View(projection.transform(table), train, test)

    train, test = outer_splits(folds)[cell.run]
    inner = inner_splits(folds[train], cell.inner_folds)
    return view(train, test), [view(train[kept], train[left]) for kept, left in inner]


def _record(cell, outer, inner, pairs, y):
    record = {"key": cell.key, "cell": asdict(cell), "status": "ok"}
    start = time.perf_counter()
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            record |= _verified(cell, outer, inner, pairs, y)
        except Exception as error:  # whatever it is, the other cells go on
            told = {"error": f"{type(error).__name__}: {error}", "traceback": traceback.format_exc(limit=-6)}
            record |= {"status": "error", **told}
    record["warnings"] = sorted({f"{w.category.__name__}: {w.message}"[:300] for w in caught})
    record["seconds"] = time.perf_counter() - start
    return record | {"provenance": provenance()}


def _verified(cell, outer, inner, pairs, y):
    """Choose inside the training folds, fit there, and look at the test fold once."""
    found = _chosen(cell, inner, pairs, y)
    X, unseen = outer.features(cell, pairs, y)
    model = _estimator(cell, found.params).fit(X, y[outer.train])
    scores = decision_values(model, unseen)
    return {
        "accuracy": float(np.mean((scores >= 0) == (y[outer.test] == 1))),
        "inner_accuracy": found.score,
        "params": {k: v.item() if isinstance(v, np.generic) else v for k, v in found.params.items()},
        "n_configurations": found.n_configurations,
        "tune_seconds": found.seconds,
        "n_train": len(outer.train),
        "n_test": len(outer.test),
        "scores": [float(f"{score:.6g}") for score in scores],
    }


def _chosen(cell, inner, pairs, y):
    """The configuration that does best on the parts; their rows, which differ in projection, are put one below another."""
    blocks, labels, splits, start = [], [], [], 0
    for view in inner:
        train, test = view.features(cell, pairs, y)
        middle, stop = start + len(train), start + len(train) + len(test)
        splits.append((np.arange(start, middle), np.arange(middle, stop)))
        blocks += [train, test]
        labels += [y[view.train], y[view.test]]
        start = stop
    X, labels = np.concatenate(blocks), np.concatenate(labels)
    if not is_self_tuning(cell.plain):
        return choose(cell.plain, X, labels, splits)
    began = time.perf_counter()
    search = FSVMCV(combine="best", refit=False, cv=splits, n_jobs=1, random_state=0).fit(X, labels)
    configurations = len(search.cv_results_["params"])
    return Chosen(dict(search.best_params_), float(search.best_score_), configurations, time.perf_counter() - began)


def _estimator(cell, params):
    return FSVM(**params) if is_self_tuning(cell.plain) else pipeline(cell.plain, **params)
