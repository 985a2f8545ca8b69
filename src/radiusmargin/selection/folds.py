"""The training and test parts of a search: their features, and the scores of all members on them."""

from __future__ import annotations

from itertools import product

import numpy as np

from .grid import Member


def take(X, rows, columns=None):
    """Rows of X; of a precomputed kernel also the columns that belong to the training rows."""
    return X[rows] if columns is None else X[np.ix_(rows, columns)]


class Fold:
    """One training and test part in the space of some features."""

    def __init__(self, search, features, codes, unseen, mapped, held_out):
        self.search, self.features, self.codes = search, features, codes
        self.unseen, self.mapped, self.held_out = unseen, mapped, held_out

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
                scores.set(member, split, self.held_out.score_one(model.coef_, model.intercept_, unseen))

    def _score_family(self, powers, Cs, key, split, scores, euclidean):
        search, features = self.search, self.features
        options = {"tol": search.cv_tol, "max_iter": int(search.max_iter), "fit_intercept": search.fit_intercept}
        with scores.work("fit", split):
            space = features.scatter(self.codes, key["scatter"])
            columns = search._reduction.columns(self.codes)
            parts = features.fit_family(
                columns, space, powers, Cs, euclidean=euclidean, n_jobs=search.n_jobs, **options
            )
        with scores.work("score", split):
            for found, numbers, fit in parts:
                values = self.held_out.score(fit, self._test_features(found))
                for (i, p), (j, number) in product(enumerate(powers), enumerate(numbers)):
                    scores.set(Member(p, float(Cs[number]), **key), split, values[i, j])

    def _test_features(self, features):
        """Those of the fold's own features were mapped once for all sizes; a map that has grown is asked."""
        mapped = self.mapped if features is self.features else features.of(self.unseen)
        return mapped[:, : features.rows.shape[1]]
