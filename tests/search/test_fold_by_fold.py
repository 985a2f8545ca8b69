"""Exponents of a kernel share the features of a fold."""

import numpy as np
import pytest

from radiusmargin import FSVMCV, KernelMap
from radiusmargin.paper.data import make_twonorm

X, y = make_twonorm(90, 4, random_state=0)
SEARCH = {"Cs": [0.1, 1.0], "kernel": "rbf", "gamma": [0.03, 0.3], "cv": 3, "refit": False, "cv_tol": 1e-9}


@pytest.fixture
def fits(monkeypatch):
    """The exponents that maps are fitted for."""
    whitenings, fit = [], KernelMap.fit_features

    def counted(self, X, weight):
        whitenings.append(self.whitening)
        return fit(self, X, weight)

    monkeypatch.setattr(KernelMap, "fit_features", counted)
    return whitenings


@pytest.mark.parametrize("eta", [0.0, 0.1])
def test_one_map_for_every_gamma_and_fold(fits, eta):
    together = FSVMCV(whitening=[0.25, 1.0, 0.5], eta=eta, **SEARCH).fit(X, y)
    assert fits == [0.25] * 6
    scores = {(p["whitening"], p["gamma"], p["C"]): row for p, row in zip(*_members(together), strict=True)}
    for power in (0.25, 0.5, 1.0):
        alone = FSVMCV(whitening=power, eta=eta, **SEARCH).fit(X, y)
        for params, row in zip(*_members(alone), strict=True):
            np.testing.assert_array_equal(row, scores[power, params["gamma"], params["C"]])


def test_a_number_of_components_has_maps_of_its_own(fits):
    search = FSVMCV(whitening=[0.5, 1.0], n_components=[None, 5], **SEARCH).fit(X, y)
    assert len(fits) == 12
    alone = FSVMCV(whitening=[0.5, 1.0], n_components=5, **SEARCH).fit(X, y)
    own = [p["n_components"] == 5 for p in search.cv_results_["params"]]
    np.testing.assert_array_equal(np.sort(search.scores_[own], axis=0), np.sort(alone.scores_, axis=0))


def test_pivots_are_those_of_their_exponent(fits):
    """A kernel of small rank is exhausted by pivots, whose number depends on the exponent."""
    many, labels = make_twonorm(1200, 3, random_state=0)
    FSVMCV([1.0], whitening=[0.5, 1.0], kernel="poly", degree=2, coef0=1.0, cv=2, refit=False).fit(many, labels)
    assert sorted(fits) == [0.5, 0.5, 1.0, 1.0]


def _members(search):
    return search.cv_results_["params"], search.scores_
