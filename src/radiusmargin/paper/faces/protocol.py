"""Fold-wise evaluation of a verifier: what is chosen and fitted is chosen and fitted on the other folds."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike
from sklearn.base import clone
from sklearn.model_selection import GridSearchCV, GroupKFold

from .features import FeatureTable, check_same
from .scores import RocCurve, roc

if TYPE_CHECKING:
    from .task import PairTask
    from .verifier import PairVerifier

__all__ = ["Verification", "cross_verify", "inner_splits"]


@dataclass(frozen=True, eq=False)
class Verification:
    """Scores of every pair, each from a verifier that has not seen its fold.

    Parameters
    ----------
    scores : ndarray of shape (n_pairs,)
        Relative to the threshold of the fold's verifier: a pair is accepted if its score is not negative.
    y, folds : ndarray of shape (n_pairs,)
    params : tuple of dict
        What was chosen in each fold; empty where nothing was.
    """

    scores: np.ndarray
    y: np.ndarray
    folds: np.ndarray
    params: tuple[dict, ...] = ()

    @property
    def fold_accuracy(self) -> np.ndarray:
        right = (self.scores >= 0) == check_same(self.y)
        return np.array([right[self.folds == fold].mean() for fold in np.unique(self.folds)])

    @property
    def accuracy(self) -> float:
        """Mean over the folds."""
        return float(self.fold_accuracy.mean())

    @property
    def standard_error(self) -> float:
        """Standard deviation over the folds, divided by the root of their number, as LFW has it."""
        values = self.fold_accuracy
        return float(values.std(ddof=1) / np.sqrt(len(values)))

    @property
    def roc(self) -> RocCurve:
        """Of all pairs together."""
        return roc(self.y, self.scores)


def inner_splits(folds: ArrayLike, n_splits: int) -> list[tuple[np.ndarray, np.ndarray]]:
    """Splits of training pairs that keep each of the training folds, and so each person, whole.

    Parameters
    ----------
    folds : array-like of int
        The fold of each training pair.
    n_splits : int

    Examples
    --------
    >>> [sorted(set(np.array([0, 0, 1, 2])[test])) for _, test in inner_splits([0, 0, 1, 2], 3)]
    [[np.int64(0)], [np.int64(2)], [np.int64(1)]]
    """
    folds = np.asarray(folds)
    n_splits = min(int(n_splits), len(np.unique(folds)))
    if n_splits < 2:
        raise ValueError("a choice inside the training folds needs at least 2 of them, hence 3 folds in all.")
    return list(GroupKFold(n_splits).split(folds, groups=folds))


def cross_verify(
    verifier: PairVerifier,
    task: PairTask,
    *,
    param_grid: dict | None = None,
    n_inner: int = 3,
    calibrate: dict | None = None,
    progress: Callable | None = None,
) -> Verification:
    """Evaluate a verifier under the protocol of a task's folds.

    Parameters
    ----------
    verifier : PairVerifier
        A clone of it is fitted for every fold, on pairs of the other folds; so are its features.
    task : PairTask
    param_grid : dict, optional
        Hyper-parameters of the verifier to choose among (``{"estimator__C": [...], "features__n_components": [...]}``),
        by accuracy, inside the training folds.
    n_inner : int, default=3
        Parts that the training folds are divided into for that.
    calibrate : dict, optional
        Arguments of `calibrate_threshold`. The threshold comes from one part of the training folds, with a verifier that
        was fitted to the others. None leaves it at 0.
    progress : callable, optional
        Called with the number of folds; what it returns is called after each.

    Examples
    --------
    >>> from radiusmargin.paper.faces import PairVerifier, make_pairs
    >>> result = cross_verify(PairVerifier("svm"), make_pairs(random_state=0))
    >>> len(result.fold_accuracy), bool(result.accuracy > 0.8)
    (4, True)
    """
    table = FeatureTable(task.table)
    step = progress(len(task.splits)) if progress else (lambda fold: None)
    scores, params = np.full(len(task.y), np.nan), []
    for fold, (train, test) in enumerate(task.splits):
        fitted, chosen = _fitted(clone(verifier).set_params(table=table), task, train, param_grid, n_inner)
        threshold = fitted.threshold_
        if calibrate is not None:
            threshold = _held_out_threshold(fitted, task, train, n_inner, calibrate)
        scores[test] = fitted.decision_function(task.pairs[test]) - threshold
        params.append(chosen)
        step(fold)
    tested = ~np.isnan(scores)
    return Verification(scores[tested], task.y[tested], task.folds[tested], tuple(params))


def _fitted(verifier, task, train, param_grid, n_inner):
    pairs, y = task.pairs[train], task.y[train]
    if not param_grid:
        return verifier.fit(pairs, y), {}
    inner = inner_splits(task.folds[train], n_inner)
    search = GridSearchCV(verifier, param_grid, scoring="accuracy", cv=inner, error_score="raise").fit(pairs, y)
    return search.best_estimator_, search.best_params_


def _held_out_threshold(fitted, task, train, n_inner, calibrate):
    part, rest = inner_splits(task.folds[train], n_inner)[0]
    twin = clone(fitted).fit(task.pairs[train][part], task.y[train][part])
    return twin.calibrate_threshold(task.pairs[train][rest], task.y[train][rest], **calibrate).threshold_
