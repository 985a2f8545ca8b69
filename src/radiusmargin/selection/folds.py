"""The training and test parts of a search: their features, and the scores of all members on them."""

from __future__ import annotations

from itertools import product

import numpy as np
from sklearn.metrics import check_scoring

from ..models.fsvm import FSVM
from .grid import Member


def take(X, rows, columns=None):
    """Rows of X; of a precomputed kernel also the columns that belong to the training rows."""
    return X[rows] if columns is None else X[np.ix_(rows, columns)]


class Fold:
    """One training and test part in the space of some features."""

    def __init__(self, search, features, unseen, mapped, codes, test_codes, test_weight):
        self.search, self.features, self.unseen, self.mapped = search, features, unseen, mapped
        self.codes, self.test_codes, self.test_weight = codes, test_codes, test_weight

    def score(self, powers, Cs, eta, key, split, scores, euclidean):
        """Put the score of every member (exponent, C) on this split into `scores`."""
        if eta > 0:
            self._score_smoothed(powers, Cs, eta, key, split, scores)
        else:
            self._score_family(powers, Cs, key, split, scores, euclidean)

    def _score_smoothed(self, powers, Cs, eta, key, split, scores):
        unseen = self._test_features(self.features)
        for p, C in product(powers, Cs):
            member = Member(p, float(C), float(eta), **key)
            with scores.work("fit", split):
                model = self.search._plain_estimator(member, self.search.cv_tol)
                model.fit(self.features.rows, self.codes, sample_weight=self.features.weight)
            with scores.work("score", split):
                scores.set(member, split, self._score_one(model.coef_, model.intercept_, unseen))

    def _score_family(self, powers, Cs, key, split, scores, euclidean):
        search, features = self.search, self.features
        with scores.work("fit", split):
            parts = features.fit_family(
            search._reduction.columns(self.codes), features.scatter(self.codes, key["scatter"]), powers, Cs,
            euclidean=euclidean, tol=search.cv_tol, max_iter=int(search.max_iter), fit_intercept=search.fit_intercept,
            n_jobs=search.n_jobs,
        )  # fmt: skip
        with scores.work("score", split):
            for found, numbers, fit in parts:
                values = self.score_fit(fit, self._test_features(found))
                for (i, p), (j, number) in product(enumerate(powers), enumerate(numbers)):
                    scores.set(Member(p, float(Cs[number]), **key), split, values[i, j])

    def _test_features(self, features):
        """Those of the fold's own features were mapped once for all sizes; a map that has grown is asked."""
        mapped = self.mapped if features is self.features else features.of(self.unseen)
        return mapped[:, : features.rows.shape[1]]

    def score_fit(self, fit, unseen):
        """Scores of fitted members, shape (P, C)."""
        if self.search.scoring is None or self.search.scoring == "accuracy":
            predicted = self.search._reduction.predict(fit.scores(unseen))
            return (predicted == self.test_codes) @ self.test_weight / self.test_weight.sum()
        P, C = fit.coef.shape[:2]
        pairs = [[(fit.coef[i, j], fit.intercept[i, j]) for j in range(C)] for i in range(P)]
        return np.array([[self._score_one(*pair, unseen) for pair in row] for row in pairs])

    def _score_one(self, coef, intercept, unseen):
        """Any scorer, on a model with the given separators."""
        model = FSVM(multi_class=self.search.multi_class)
        model.classes_, model.coef_, model.intercept_ = self.search.classes_, coef, intercept
        model.n_features_in_ = unseen.shape[1]
        scorer = check_scoring(model, scoring=self.search.scoring)
        truth = self.search.classes_[self.test_codes]
        if (self.test_weight == 1).all():
            return scorer(model, unseen, truth)
        return scorer(model, unseen, truth, sample_weight=self.test_weight)
