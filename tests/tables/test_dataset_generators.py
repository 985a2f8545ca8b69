"""The generators against what is known of their distributions: moments and Bayes error rates."""

import numpy as np
import pytest
from scipy import stats
from sklearn.decomposition import PCA
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin.paper import data as datasets

N = 60_000


def error_within(errors, rate):
    """Whether a mean of 0/1 errors is within four standard errors of a rate."""
    return abs(np.mean(errors) - rate) < 4 * np.sqrt(rate * (1 - rate) / len(errors))


@pytest.mark.parametrize("n_features", [1, 5, 20])
def test_twonorm_has_the_bayes_error_of_two_unit_gaussians_four_apart(n_features):
    X, y = datasets.make_twonorm(N, n_features, random_state=0)
    assert error_within(np.sign(X.sum(axis=1)) != y, stats.norm.cdf(-2))


def test_twonorm_moments():
    X, y = datasets.make_twonorm(N, random_state=1)
    for label in (-1, 1):
        np.testing.assert_allclose(X[y == label].mean(axis=0), label * 2 / np.sqrt(20), atol=0.03)
        np.testing.assert_allclose(np.cov(X[y == label].T), np.eye(20), atol=0.05)


def ringnorm_log_odds(X):
    """log p(x | +1) - log p(x | -1) for N(0, 4I) against N(a1, I)."""
    d = X.shape[1]
    inner = stats.norm.logpdf(X, 2 / np.sqrt(d)).sum(axis=1)
    return stats.norm.logpdf(X, 0, 2).sum(axis=1) - inner


def ringnorm_bayes_error(d):
    """The boundary is a sphere around 4a/3, so each class errs with a non-central chi-square probability."""
    radius2 = 8 / 3 * (d * np.log(2) + 4 / 6)
    return (stats.ncx2.cdf(radius2 / 4, d, 16 / 9) + stats.ncx2.sf(radius2, d, 4 / 9)) / 2


def test_ringnorm_has_breimans_bayes_error():
    X, y = datasets.make_ringnorm(N, random_state=0)
    assert ringnorm_bayes_error(20) == pytest.approx(0.0124, abs=5e-5)
    assert ringnorm_bayes_error(20) == pytest.approx(0.013, abs=0.001)  # as Breiman prints it
    assert error_within(np.sign(ringnorm_log_odds(X)) != y, ringnorm_bayes_error(20))


def test_ringnorm_moments():
    X, y = datasets.make_ringnorm(N, random_state=1)
    np.testing.assert_allclose(X[y == 1].mean(axis=0), 0, atol=0.06)
    np.testing.assert_allclose(X[y == -1].mean(axis=0), 2 / np.sqrt(20), atol=0.03)
    np.testing.assert_allclose(np.cov(X[y == 1].T), 4 * np.eye(20), atol=0.2)
    np.testing.assert_allclose(np.cov(X[y == -1].T), np.eye(20), atol=0.05)


def triangle(peak):
    return np.maximum(6.0 - np.abs(np.arange(1, 22) - peak), 0)


def waveform_posterior(X):
    """Class probabilities, the mixing weight u integrated out by Gauss-Legendre quadrature."""
    nodes, weights = np.polynomial.legendre.leggauss(30)
    u = (nodes[:, None] + 1) / 2
    evidence = []
    for first, second in ((7, 15), (7, 11), (15, 11)):
        centres = u * triangle(first) + (1 - u) * triangle(second)
        evidence.append(X @ centres.T - (centres**2).sum(axis=1) / 2)
    evidence = np.array(evidence)
    density = np.exp(evidence - evidence.max(axis=(0, 2), keepdims=True)) @ weights
    return (density / density.sum(axis=0)).T


def test_waveform_has_breimans_bayes_error():
    X, y = datasets.make_waveform(N, random_state=0)
    posterior = waveform_posterior(X)
    rate = 1 - posterior.max(axis=1).mean()
    assert rate == pytest.approx(0.133, abs=0.003)
    assert rate == pytest.approx(0.14, abs=0.01)  # as Breiman prints it
    assert error_within(posterior.argmax(axis=1) != y, rate)


def test_binary_waveform_is_class_one_against_the_rest():
    X, y = datasets.make_waveform(N, binary=True, random_state=0)
    X3, y3 = datasets.make_waveform(N, random_state=0)
    np.testing.assert_array_equal(X, X3)
    np.testing.assert_array_equal(y == 1, y3 == 1)
    wrong = (waveform_posterior(X)[:, 1] > 0.5) != (y == 1)
    assert error_within(wrong, 0.083)


def test_waveform_moments():
    # mean of u h + (1-u) h' is the midpoint; the covariance adds (h-h')(h-h')' / 12 to the identity
    X, y = datasets.make_waveform(N, random_state=1)
    for label, (first, second) in enumerate(((7, 15), (7, 11), (15, 11))):
        sample, difference = X[y == label], triangle(first) - triangle(second)
        np.testing.assert_allclose(sample.mean(axis=0), (triangle(first) + triangle(second)) / 2, atol=0.06)
        np.testing.assert_allclose(np.cov(sample.T), np.eye(21) + np.outer(difference, difference) / 12, atol=0.12)


def test_waveform_noise_features_are_noise():
    X, _ = datasets.make_waveform(2000, n_noise_features=19, random_state=0)
    assert X.shape == (2000, 40)
    assert abs(X[:, 21:].mean()) < 0.03


def svm_error(X, y, *steps):
    train, test = slice(0, 500), slice(500, None)
    model = make_pipeline(*steps, SVC(kernel="linear")).fit(X[train], y[train])
    return 1 - model.score(X[test], y[test])


def test_ill_conditioned_rewards_whitening_over_standardising():
    X, y = datasets.make_ill_conditioned(3000, random_state=0)
    whitened = svm_error(X, y, PCA(whiten=True))
    assert whitened < 0.04
    assert svm_error(X, y, StandardScaler()) > 1.5 * whitened


def test_ill_conditioned_keeps_the_bayes_error_of_twonorm():
    # the optimal rule, found from the sample itself: cov^-1 (m+ - m-), an affine invariant
    X, y = datasets.make_ill_conditioned(N, 8, random_state=0)
    X = X / X.std(axis=0)
    gap = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    within = np.cov(X[y == 1].T) + np.cov(X[y == -1].T)
    score = (X - X.mean(axis=0)) @ np.linalg.solve(within, gap)
    assert error_within(np.sign(score) != y, stats.norm.cdf(-2))


def test_ill_conditioned_without_condition_or_scales_is_a_rotated_twonorm():
    X, y = datasets.make_ill_conditioned(N, 4, condition=1, scale_decades=0, random_state=0)
    np.testing.assert_allclose(np.cov(X[y == 1].T), np.eye(4), atol=0.05)
    gap = X[y == 1].mean(axis=0) - X[y == -1].mean(axis=0)
    assert np.linalg.norm(gap) == pytest.approx(4, abs=0.05)


def test_gaussian_mixture_centres_lie_at_the_separation():
    X, y = datasets.make_gaussian_mixture(N, 4, n_classes=3, n_clusters=1, separation=5, random_state=0)
    for label in range(3):
        assert np.linalg.norm(X[y == label].mean(axis=0)) == pytest.approx(5, abs=0.05)
        np.testing.assert_allclose(np.cov(X[y == label].T), np.eye(4), atol=0.06)


GENERATORS = [
    datasets.make_twonorm,
    datasets.make_ringnorm,
    datasets.make_waveform,
    datasets.make_ill_conditioned,
    datasets.make_gaussian_mixture,
]


@pytest.mark.parametrize("make", GENERATORS)
def test_a_seed_fixes_the_sample_and_classes_are_balanced(make):
    X, y = make(101, random_state=3)
    X_again, y_again = make(101, random_state=np.random.RandomState(3))
    np.testing.assert_array_equal(X, X_again)
    np.testing.assert_array_equal(y, y_again)
    assert not np.array_equal(X, make(101, random_state=4)[0])
    sizes = np.unique(y, return_counts=True)[1]
    assert sizes.max() - sizes.min() <= 1
    assert len(X) == 101
    assert y.dtype.kind == "i"
    assert not np.array_equal(y, np.sort(y))


@pytest.mark.parametrize("make", GENERATORS)
@pytest.mark.parametrize("n_samples", [1, 10.5, "many"])
def test_a_bad_sample_size_is_named(make, n_samples):
    with pytest.raises(ValueError, match="n_samples must be an integer"):
        make(n_samples)


def test_bad_parameters_are_named():
    with pytest.raises(ValueError, match="condition must be at least 1"):
        datasets.make_ill_conditioned(10, condition=0.5)
    with pytest.raises(ValueError, match="n_features"):
        datasets.make_twonorm(10, 0)
    with pytest.raises(ValueError, match="n_noise_features"):
        datasets.make_waveform(10, n_noise_features=-1)
