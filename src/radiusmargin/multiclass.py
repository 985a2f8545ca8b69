"""Multi-class problems as binary ones: every pair of classes, or every class against the rest."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np
from scipy import sparse

from ._blocks import split
from .solvers import REST, ClassLabels

ONE_PAIR = np.array([0]), np.array([1])
ONE_SIDE = np.array([[0, 1]])
# By default classes are compared in pairs if there are at most PAIRS_PER_ROW of them per row, and if their separators hold at
# most NUMBERS_PER_NUMBER times the numbers that X stores, or fit into 64 MB: more would not fit where X does. With 20 rows per
# class that is up to 400 classes.
PAIRS_PER_ROW = NUMBERS_PER_NUMBER = 10
FEW_NUMBERS = 1 << 23
# Columns from which a sparse matrix may be text. If it has more columns than rows, one-vs-rest is more accurate than pairs, by up
# to seven points; with fewer columns they are level (benchmarks/text.py several). For dense rows pairs are more accurate.
TEXT_COLUMNS = 1000
FEW_CLASSES = 30  # up to so many classes, a dense matrix of pairs and classes is quicker than a sparse one


@dataclass(frozen=True)
class MulticlassReduction:
    """Reduction of a multi-class problem to binary ones: one-vs-one (`pairs`) or one-vs-rest.

    Classes are numbered from 0. Each binary problem is a column of labels -1 and +1; rows labelled 0 take no part. Two classes
    make one column either way.
    """

    n_classes: int
    pairs: bool = True

    @classmethod
    def chosen(cls, n_classes, pairs, X, *, linear=True) -> MulticlassReduction:
        """Build a reduction; `pairs=None` means one-vs-one unless X is like text or the separators would dwarf it."""
        return cls(n_classes, bool(pairs_suit(n_classes, X, linear) if pairs is None else pairs))

    @property
    def n_problems(self) -> int:
        """Number of binary problems."""
        if self.pairs or self.n_classes == 2:
            return self.n_classes * (self.n_classes - 1) // 2
        return self.n_classes

    def columns(self, codes) -> ClassLabels:
        """Labels: a column per pair i < j, in which class j is +1, or a column per class, which is +1."""
        if self.pairs or self.n_classes == 2:
            sides = ONE_SIDE if self.n_classes == 2 else np.stack(self._pairs(), axis=1)
        else:
            sides = np.stack([np.full(self.n_classes, REST), np.arange(self.n_classes)], axis=1)
        return ClassLabels(codes, sides, self.n_classes)

    def class_scores(self, scores):
        """Combine scores (..., n, columns) to scores of the classes, whose largest is the prediction.

        For pairs these are votes, with ties broken by the sums of the pairs' scores, as in scikit-learn's
        `OneVsOneClassifier` and ``SVC(break_ties=True)``. Scores of two classes are returned unchanged.
        """
        if self.n_classes == 2 or not self.pairs:
            return scores
        votes, sums = self._of_classes(np.where(scores > 0, 0.5, -0.5)), self._of_classes(scores)
        return votes + (self.n_classes - 1) / 2 + sums / (3 * (np.abs(sums) + 1))

    def _of_classes(self, scores):
        """Sum scores (..., n, pairs) by class, to (..., n, classes)."""
        if not sparse.issparse(self._sides):
            return scores @ self._sides
        # A sparse product takes two axes only.
        added = [(self._sides.T @ block.T).T for block in scores.reshape(-1, *scores.shape[-2:])]
        return np.stack(added).reshape(*scores.shape[:-1], self.n_classes)

    def predict(self, scores):
        """Predicted class indices (..., n) from scores (..., n, columns)."""
        if scores.shape[-1] == 1:
            return (scores[..., 0] > 0).astype(int)
        blocks = split(scores.shape[-2], scores.size // max(1, scores.shape[-2]))
        if len(blocks) == 1:
            return self.class_scores(scores).argmax(axis=-1)
        return np.concatenate([self.class_scores(scores[..., block, :]).argmax(axis=-1) for block in blocks], axis=-1)

    def names(self, classes):
        """Description of each column, such as "b against a"."""
        if self.pairs or self.n_classes == 2:
            return tuple(f"{classes[j]} against {classes[i]}" for i, j in zip(*self._pairs(), strict=True))
        return tuple(f"{name} against the rest" for name in classes)

    @cached_property
    def _sides(self):
        """Matrix (pairs, classes) of -1 and +1 that sums scores of pairs by class; dense for few classes, which is quicker."""
        i, j = self._pairs()
        k = np.arange(len(i))
        places = np.concatenate([k, k]), np.concatenate([i, j])
        sides = sparse.csr_array((np.repeat([-1.0, 1.0], len(i)), places), shape=(len(i), self.n_classes))
        return sides.toarray() if self.n_classes <= FEW_CLASSES else sides

    def _pairs(self):
        if self.n_classes == 2:  # the general case takes a tenth of a small fit
            return ONE_PAIR
        return np.triu_indices(self.n_classes, 1)


def pairs_suit(n_classes, X, linear) -> bool:
    """Return True if classes are compared in pairs by default."""
    (n, d), count = X.shape, n_classes * (n_classes - 1) // 2
    if linear and sparse.issparse(X) and d >= max(TEXT_COLUMNS, n):
        return False
    stored = X.nnz if sparse.issparse(X) else X.size
    return count <= PAIRS_PER_ROW * n and count * d <= max(NUMBERS_PER_NUMBER * stored, FEW_NUMBERS)


def check_several(model, classes):
    """Raise a ValueError if there is only one class."""
    if len(classes) < 2:
        raise ValueError(
            f"{type(model).__name__} needs samples of at least 2 classes in the data (of positive weight), but "
            f"it contains only one class: {classes.tolist()}."
        )


def taking_part(column, weight):
    """Labels and weights for a solver that takes -1 and +1 only: rows labelled 0 get weight zero."""
    return np.where(column == 0, 1.0, column), weight * (column != 0)


def class_weights(class_weight, classes, codes, weight):
    """One factor per class from None, "balanced" or a dict. "balanced" counts weights, so that a weight equals copies."""
    if class_weight is None:
        return np.ones(len(classes))
    return factors_of_totals(class_weight, classes, np.bincount(codes, weight, minlength=len(classes)))


def factors_of_totals(class_weight, classes, totals):
    """`class_weights` from the total weight of each class."""
    if class_weight is None:
        return np.ones(len(classes))
    if isinstance(class_weight, str) and class_weight == "balanced":
        return np.divide(totals.sum() / len(classes), totals, out=np.ones(len(classes)), where=totals > 0)
    if isinstance(class_weight, dict):
        unknown, missing = class_weight.keys() - set(classes.tolist()), set(classes.tolist()) - class_weight.keys()
        if unknown and missing:  # as scikit-learn: most likely a typo
            raise ValueError(
                f"class_weight has unknown classes {sorted(unknown, key=str)} and is missing {sorted(missing, key=str)}."
            )
        factors = np.array([float(class_weight.get(label, 1.0)) for label in classes.tolist()])
        if not np.isfinite(factors).all() or (factors <= 0).any():
            raise ValueError(f"class_weight must hold positive numbers, got {class_weight!r}.")
        return factors
    raise ValueError(f"class_weight must be None, 'balanced' or a dict of class to weight, got {class_weight!r}.")
