"""The protocol of pairs: compare images, choose, fit and score, along the folds of a task."""

from __future__ import annotations

import time
from dataclasses import dataclass, replace
from functools import lru_cache

import numpy as np
from sklearn.base import clone
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler

from ..estimators import FSVM
from ..search import FSVMCV
from .catalogue import is_of_pairs, is_self_tuning
from .faces.cache import cached_array, content_key
from .faces.features import PairFeatures
from .faces.protocol import inner_splits
from .faces.verifier import decision_values
from .tuning import Chosen, choose, pipeline

__all__ = ["View", "nested_views", "verified"]

#: Principal components that a model of pairs is given, of all features of an image.
PAIR_MODEL_COMPONENTS = 100


def verified(cell, task) -> dict:
    """Choose inside the training folds, fit there, and look at the test fold once."""
    fixed = dict(cell.fixed)
    sizes, narrow = fixed.pop("n_components", None), fixed.get("pair_components")
    outer, inner, seconds = nested_views(task, cell.run, cell.inner_folds, is_of_pairs(cell.model), sizes)
    if narrow is not None:
        outer, inner = outer.narrowed(narrow), [view.narrowed(narrow) for view in inner]
    cell = replace(cell, fixed=fixed)
    found = _chosen(cell, inner)
    start = time.process_time()
    fitted = _estimator(cell, found.params).fit(outer.X, outer.y)
    fit_seconds = time.process_time() - start
    scores = decision_values(fitted, outer.unseen)
    return {
        "accuracy": float(np.mean((scores >= 0) == (outer.truth == 1))),
        "inner_accuracy": None if np.isnan(found.score) else found.score,
        "params": {k: v.item() if isinstance(v, np.generic) else v for k, v in found.params.items()},
        "n_configurations": found.n_configurations,
        "n_train": len(outer.y),
        "n_test": len(outer.truth),
        "n_pair_features": outer.X.shape[1],
        "feature_seconds": seconds,  # of computing, or of reading what an earlier cell has computed
        "tune_seconds": found.seconds,
        "fit_seconds": fit_seconds,
        "scores": [float(f"{score:.6g}") for score in scores],
    }


@dataclass(frozen=True, eq=False)
class View:
    """Features of training pairs and of pairs held out, by what was learned from the training pairs."""

    X: np.ndarray
    y: np.ndarray
    unseen: np.ndarray
    truth: np.ndarray

    def narrowed(self, n_components) -> View:
        """The first principal components of the standardised pair features, in their units; these features themselves where
        there are no more of them.
        """
        few = self.X.shape[1] <= n_components
        axes = "passthrough" if few else PCA(n_components, svd_solver="covariance_eigh")
        reduce = make_pipeline(StandardScaler(), axes).fit(self.X)
        return replace(self, X=reduce.transform(self.X), unseen=reduce.transform(self.unseen))


@lru_cache(maxsize=4)
def nested_views(task, run, inner_folds, signed=False, n_components=None) -> tuple[View, list[View], float]:
    """The view of a fold, those of the parts of its training folds, and the seconds that all of them took.

    Each part has projections and metrics of its own: with some that had seen the pairs held out, these would look more alike
    than new ones. The last calls are kept, for the models of a fold come one after the other.

    Parameters
    ----------
    task : PairTask
    run : int
        Which of its splits.
    inner_folds : int
    signed : bool
        Differences for models of pairs, in place of the task's own features.
    n_components : int or None
        In place of the task's, for the blocks that have principal components.
    """
    start = time.perf_counter()
    features = PairFeatures("signed", n_components=PAIR_MODEL_COMPONENTS) if signed else clone(task.features)
    if n_components is not None:
        sizes = np.atleast_1d(np.array(features.n_components, dtype=object))
        features.set_params(n_components=[None if size is None else n_components for size in sizes])
    train, test = task.splits[run]
    outer = _view(features, task, train, test)
    inner = inner_splits(task.folds[train], inner_folds)
    return (
        outer,
        [_view(features, task, train[kept], train[left]) for kept, left in inner],
        time.perf_counter() - start,
    )


def _view(features, task, train, test):
    parts = features.parts(task.table.shape[-1])
    X = np.concatenate([_described(part, task, columns, train, test) for columns, part in parts], axis=1)
    return View(X[: len(train)], task.y[train], X[len(train) :], task.y[test])


def _described(part, task, columns, train, test):
    """A block's features of training and test pairs. Similarities, two numbers that cost the most, are kept on disk."""

    def compute():
        table = task.table[..., columns]
        X = part.fit_transform(task.pairs[train], task.y[train], table=table)
        return np.concatenate([X, part.transform(task.pairs[test], table=table)]).astype(float)

    if part.kinds != "metric":
        return compute()
    settings = {"part": str(part.get_params()), "block": _block_key(task, columns.start, columns.stop)}
    arrays = (task.pairs[train], task.y[train], task.pairs[test])
    return cached_array("similarities", content_key(settings, arrays=arrays), compute)


@lru_cache
def _block_key(task, start, stop):
    return content_key({}, arrays=(task.table[..., start:stop],))


def _chosen(cell, inner) -> Chosen:
    """The configuration that does best on the parts; their rows, which differ in features, are put one below another."""
    if not cell.grid and not is_self_tuning(cell):
        return Chosen({}, float("nan"), 1)  # nothing to choose
    blocks, labels, splits, start = [], [], [], 0
    for view in inner:
        middle, stop = start + len(view.y), start + len(view.y) + len(view.truth)
        splits.append((np.arange(start, middle), np.arange(middle, stop)))
        blocks += [view.X, view.unseen]
        labels += [view.y, view.truth]
        start = stop
    X, labels = np.concatenate(blocks), np.concatenate(labels)
    if not is_self_tuning(cell):
        return choose(cell, X, labels, splits)
    began = time.perf_counter()
    search = FSVMCV(combine="best", refit=False, cv=splits, n_jobs=1, random_state=0).fit(X, labels)
    configurations = len(search.cv_results_["params"])
    return Chosen(dict(search.best_params_), float(search.best_score_), configurations, time.perf_counter() - began)


def _estimator(cell, params):
    return FSVM(**params) if is_self_tuning(cell) else pipeline(cell, **params)
