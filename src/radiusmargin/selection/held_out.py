"""The rows that a split holds out, and the scores of fitted members on them."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.metrics import check_scoring

from ..models.fsvm import FSVM
from .family import blocks


class HeldOut:
    """The true codes and the weights of the rows that a split of a search tests on."""

    def __init__(self, search, codes, weight):
        self.search, self.codes, self.weight = search, codes, weight

    def score(self, fit, rows):
        """Scores (P, C) of fitted members on these rows, in the features that the members are linear in."""
        P, C = fit.coef.shape[:2]
        if self.search.scoring is None or self.search.scoring == "accuracy":
            return self._accuracy(fit.coef.reshape(P * C, -1, fit.coef.shape[-1]), fit.intercept, rows).reshape(P, C)
        values = [self.score_one(fit.coef[i, j], fit.intercept[i, j], rows) for i, j in product(range(P), range(C))]
        return np.reshape(values, (P, C))

    def _accuracy(self, coef, intercept, rows):
        (M, K, d), accuracy = coef.shape, np.empty(len(coef))
        intercept = intercept.reshape(M, K)
        for block in blocks(M, K * len(self.codes)):
            decision = np.asarray(rows @ coef[block].reshape(-1, d).T) + intercept[block].ravel()
            predicted = self.search._reduction.predict(decision.T.reshape(-1, K, len(self.codes)).transpose(0, 2, 1))
            accuracy[block] = (predicted == self.codes) @ self.weight / self.weight.sum()
        return accuracy

    def score_one(self, coef, intercept, rows):
        """Any scorer, on a model with the given separators."""
        model = FSVM(multi_class=self.search.multi_class)
        model.classes_, model.coef_, model.intercept_ = self.search.classes_, coef, intercept
        model.n_features_in_, model._pairwise = rows.shape[1], self.search._pairwise
        scorer = check_scoring(model, scoring=self.search.scoring)
        truth = self.search.classes_[self.codes]
        if (self.weight == 1).all():
            return scorer(model, rows, truth)
        return scorer(model, rows, truth, sample_weight=self.weight)
