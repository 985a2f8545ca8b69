"""The data of a search: training rows, splits of them, and how members are scored on the rows that a split holds out."""

from __future__ import annotations

from dataclasses import dataclass, replace
from inspect import signature
from typing import Any

import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.metrics import check_scoring

from .._blocks import split
from ..estimators.features import Raw
from ..estimators.linear import LinearModel
from ..estimators.training import Training
from ..multiclass import class_weights

BLOCK = 1 << 20  # scores of members that are formed at a time


@dataclass(frozen=True, eq=False)
class SearchData:
    """Checked training rows, and splits (train, test) of them.

    Attributes
    ----------
    training : Training
    splits : list of (train, test) row numbers
    classes : ndarray
    class_weight : as in `FSVM`
        Computed anew for every training part.
    scoring : str, callable or None
    criterion : str
        "cv", or what scores members without splits.
    pairwise : bool
        Whether X is a precomputed kernel, whose columns are rows too.
    """

    training: Training
    splits: list
    classes: np.ndarray
    class_weight: Any = None
    scoring: Any = None
    criterion: str = "cv"
    pairwise: bool = False

    @property
    def by_accuracy(self) -> bool:
        return self.scoring is None or self.scoring == "accuracy"

    @property
    def scores_are_shares(self) -> bool:
        """Whether a score is the share of held-out rows that are right."""
        return self.criterion == "cv" and self.by_accuracy

    def rows(self, index, train):
        """Rows of X; of a precomputed kernel their values with the training rows `train`."""
        X = self.training.X
        return X[np.ix_(index, train)] if self.pairwise else X[index]

    def factors(self, train):
        """Class weights of a training part."""
        return class_weights(self.class_weight, self.classes, self.training.codes[train], self.training.weight[train])

    def part(self, i) -> Training:
        """The training part of split i."""
        train, whole = self.splits[i][0], self.training
        return replace(
            whole, X=self.rows(train, train), codes=whole.codes[train], weight=whole.weight[train], kept=train,
            factors=self.factors(train),
        )  # fmt: skip

    def held_out(self, i) -> HeldOut:
        test = self.splits[i][1]
        return HeldOut(self, self.training.codes[test], self.training.weight[test])


@dataclass(frozen=True, eq=False)
class HeldOut:
    """The true codes and the weights of the rows that a split tests on."""

    data: SearchData
    codes: np.ndarray
    weight: np.ndarray

    def score(self, coef, intercept, rows, keep=None):
        """Scores (P, C) of members with separators (P, C, K, d) on these rows, in what the members are linear in."""
        shape, (K, d), found = coef.shape[:2], coef.shape[2:], []
        coef, intercept = coef.reshape(-1, K, d), intercept.reshape(-1, K)
        for block in split(len(coef), K * len(self.codes), BLOCK):
            values = _products(coef[block].reshape(-1, d), rows).reshape(-1, K, len(self.codes))
            values += intercept[block][..., None]
            found.append(self.score_values(values, keep, block))
        return np.concatenate(found).reshape(shape)

    def score_values(self, values, keep=None, block=slice(None)):
        """Scores (M,) of members, a block of all, by their decision values (M, K, n) on these rows, which `keep` may have."""
        if self.data.by_accuracy:
            right = self.data.training.reduction.predict(values.swapaxes(1, 2)) == self.codes
            if keep:
                keep(block, values, right)
            return right @ self.weight / self.weight.sum()
        if keep:
            keep(block, values, [None] * len(values))
        K = values.shape[1]
        return np.array([self.score_one(np.eye(K), np.zeros(K), member.T) for member in values])

    def score_one(self, coef, intercept, rows):
        """Any scorer, on one member."""
        model = FittedClassifier(LinearModel(Raw(), coef, intercept, self.data.training.reduction), self.data.classes)
        scorer = check_scoring(model, scoring=self.data.scoring)
        truth = self.data.classes[self.codes]
        weights = {} if (self.weight == 1).all() or not takes_weights(scorer) else {"sample_weight": self.weight}
        try:
            return scorer(model, rows, truth, **weights)
        except AttributeError as error:
            if "predict_proba" not in str(error):
                raise
            raise ValueError(
                f"scoring={self.data.scoring!r} needs probabilities, which the members of a search do not have: take one of "
                "classes or scores, such as 'balanced_accuracy' or 'roc_auc'."
            ) from error


def _products(coef, rows):
    """Of separators with rows: those of one separator side by side."""
    return np.asarray(rows @ coef.T).T if sparse.issparse(rows) else coef @ rows.T


def takes_weights(scorer) -> bool:
    """Whether a scorer has a `sample_weight`: those of scikit-learn have, a function of the user's may not."""
    parameters = signature(scorer).parameters
    return "sample_weight" in parameters or any(p.kind is p.VAR_KEYWORD for p in parameters.values())


class FittedClassifier(ClassifierMixin, BaseEstimator):
    """Separators as scikit-learn's scorers want them: a classifier that is fitted already."""

    def __init__(self, model, classes):
        self.model, self.classes = model, classes
        self.classes_ = classes

    def fit(self, X, y):
        return self

    def decision_function(self, X):
        return self.model.decisions(X)

    def predict(self, X):
        return self.classes[self.model.reduction.predict(self.model.scores(X))]
