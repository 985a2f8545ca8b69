import numpy as np
import pytest
from sklearn.pipeline import make_pipeline
from sklearn.svm import SVC
from sklearn.utils.estimator_checks import parametrize_with_checks

from radiusmargin import FSVM, SemiWhitening
from radiusmargin.scatter import scatter_matrix


@parametrize_with_checks([SemiWhitening(), SemiWhitening(standardise=False)])
def test_scikit_learn_checks(estimator, check):
    check(estimator)


def data(n=90, d=4):
    rng = np.random.default_rng(0)
    y = np.arange(n) % 2
    return (rng.normal(size=(n, d)) + y[:, None]) @ rng.normal(size=(d, d)), y


def test_a_linear_svm_on_it_is_the_semi_whitened_member_of_the_family():
    X, y = data()
    pipeline = make_pipeline(SemiWhitening(), SVC(kernel="linear", C=0.5, tol=1e-8)).fit(X, y)
    model = FSVM(C=0.5, whitening=0.5, tol=1e-9).fit(X, y)
    np.testing.assert_allclose(pipeline.decision_function(X), model.decision_function(X), atol=1e-4)


def test_without_standardising_it_is_theorem_4():
    """M ~ S^{-1/2}: the scatter of the transformed data is S^{1/2}, up to scale."""
    X, _ = data()
    Z = SemiWhitening(standardise=False).fit_transform(X)
    values, vectors = np.linalg.eigh(scatter_matrix(X) / len(X))
    np.testing.assert_allclose(scatter_matrix(Z) / len(X), (vectors * np.sqrt(values)) @ vectors.T, atol=1e-10)


@pytest.mark.parametrize("copies", [1, 3])
def test_collinear_features_do_no_harm(copies):
    X, _ = data()
    transformer = SemiWhitening().fit(np.hstack([X] + [X[:, :1]] * copies))
    assert transformer.components_.shape == (4, 4 + copies)


def test_the_root_is_symmetric_in_whatever_units():
    X, _ = data(d=2)
    L = SemiWhitening(standardise=False).fit(X * [1.0, 1e5]).components_
    assert L[0, 1] == pytest.approx(L[1, 0], rel=1e-6)
