"""Searches on tables with outliers, which a scatter by subtraction does not survive."""

import numpy as np
import pytest

from radiusmargin import FSVMCV, AutoSVM
from radiusmargin.search.fold_strategies import FoldMoments


def with_outliers(shape, cells, size, seed):
    rng = np.random.default_rng(seed)
    X = rng.normal(size=shape)
    y = (X[:, 0] + 0.5 * rng.normal(size=len(X)) > 0).astype(int)
    X[rng.integers(len(X), size=cells), rng.integers(X.shape[1], size=cells)] = size
    return X, y


@pytest.mark.parametrize("search", [FSVMCV, AutoSVM])
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize(
    ("shape", "cells", "size"), [((400, 2), 1, 1e12), ((400, 30), 5, 1e9), ((400, 2), 1, 1e100), ((60, 3), 2, 1e15)]
)
def test_tables_with_outliers_are_fitted(search, shape, cells, size, seed):
    """The fold that holds out the largest values has a scatter that subtraction cannot give."""
    X, y = with_outliers(shape, cells, size, seed)
    model = search().fit(X, y)
    assert np.isfinite(model.scores_[~model.cv_results_["given_up"]]).all()
    assert model.dual_gap_ <= 1e-6
    assert set(model.predict(X)) <= {0, 1}


def test_probabilities_of_a_table_with_an_outlier():
    X, y = with_outliers((400, 2), 1, 1e100, 0)
    assert np.isfinite(AutoSVM(probability=True).fit(X, y).predict_proba(X)).all()


@pytest.mark.parametrize("size", [1.0, 1e2, 1e3, 1e4, 1e6, 1e9])
def test_a_scatter_by_subtraction_that_is_trusted_is_accurate(size):
    """Both in the columns with outliers and in what is left of two that nearly agree."""
    for seed in range(20):
        rng = np.random.default_rng(seed)
        X, y = rng.normal(size=(200, 4)), rng.integers(0, 2, 200)
        X[:, 3] = X[:, 2] + 10.0 ** -rng.uniform(0, 4) * X[:, 3]
        X[:5, 2:] *= size
        folds = [np.arange(5), np.arange(5, 60)]
        B, trusted = FoldMoments(X, y, np.ones(200), folds, by_class=False).regularizers(np.ones(2), "total", (1.0,))
        for own, test in zip(
            B[0][trusted], [fold for fold, known in zip(folds, trusted, strict=True) if known], strict=True
        ):
            direct = np.cov(np.delete(X, test, axis=0).T, ddof=0)
            np.testing.assert_allclose(np.linalg.eigvals(np.linalg.solve(direct, own)).real, 1.0, atol=1e-6)
