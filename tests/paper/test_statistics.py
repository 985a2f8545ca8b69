"""The tests between classifiers, against SciPy and against Demšar's examples (JMLR 7, 2006)."""

import numpy as np
import pytest
from numpy.testing import assert_allclose
from scipy import stats

from radiusmargin.paper import statistics as st

# Demšar's Table 6: AUC of four variants of C4.5 on 14 sets. His ranks tell apart two numbers that both print as .975, so
# one of them has a digit more here.
DEMSAR = np.array([
    [0.763, 0.768, 0.771, 0.798], [0.599, 0.591, 0.590, 0.569], [0.954, 0.971, 0.968, 0.967],
    [0.628, 0.661, 0.654, 0.657], [0.882, 0.888, 0.886, 0.898], [0.936, 0.931, 0.916, 0.931],
    [0.661, 0.668, 0.609, 0.685], [0.583, 0.583, 0.563, 0.625], [0.775, 0.838, 0.866, 0.875],
    [1.000, 1.000, 1.000, 1.000], [0.940, 0.962, 0.965, 0.962], [0.619, 0.666, 0.614, 0.669],
    [0.972, 0.981, 0.9751, 0.975], [0.957, 0.978, 0.946, 0.970],
])  # fmt: skip


def test_ranks_and_friedman_of_demsars_example():
    result = st.friedman(DEMSAR)
    assert_allclose(result.ranks, [3.143, 2.000, 2.893, 1.964], atol=5e-4)
    # He prints 9.28 and 3.69, from the formulas without the correction for ties.
    k, N = 4, 14
    plain = 12 * N / (k * (k + 1)) * (np.sum(result.ranks**2) - k * (k + 1) ** 2 / 4)
    assert plain == pytest.approx(9.28, abs=0.005)
    assert (N - 1) * plain / (N * (k - 1) - plain) == pytest.approx(3.69, abs=0.005)
    assert result.chi2 > plain
    assert result.F_pvalue < 0.05


def test_friedman_is_scipys():
    scores = np.random.default_rng(0).normal(size=(9, 5)).round(1)
    reference = stats.friedmanchisquare(*scores.T)
    result = st.friedman(scores)
    assert_allclose([result.chi2, result.pvalue], [reference.statistic, reference.pvalue], rtol=1e-10)


def test_friedman_of_equal_scores_finds_nothing():
    result = st.friedman(np.ones((4, 3)))
    assert (result.chi2, result.pvalue, result.F_pvalue) == (0.0, 1.0, 1.0)


def test_friedman_of_one_order_throughout_is_decisive():
    result = st.friedman(np.arange(12.0).reshape(4, 3))
    assert result.ranks.tolist() == [3.0, 2.0, 1.0]
    assert np.inf == result.F
    assert result.F_pvalue == 0.0


@pytest.mark.parametrize("shape", [(1, 4), (5, 2)])
def test_friedman_needs_sets_and_models(shape):
    with pytest.raises(ValueError, match="two data sets and three models"):
        st.friedman(np.zeros(shape))


@pytest.mark.parametrize(
    ("k", "alpha", "q"),
    [
        (2, 0.05, 1.960),
        (4, 0.05, 2.569),
        (5, 0.05, 2.728),
        (10, 0.05, 3.164),
        (4, 0.1, 2.291),
        (10, 0.1, 2.920),
    ],
)
def test_critical_values_are_those_of_demsars_table_5(k, alpha, q):
    assert st.critical_difference(k, 30, alpha) == pytest.approx(q * np.sqrt(k * (k + 1) / 180), abs=2e-3)


def test_nemenyi_p_values_agree_with_the_critical_difference():
    ranks = st.mean_ranks(DEMSAR)
    p = st.nemenyi(DEMSAR)
    assert_allclose(p, p.T)
    assert_allclose(np.diag(p), 1.0)
    for alpha in (0.05, 0.1):
        differs = np.abs(ranks[:, None] - ranks) > st.critical_difference(4, 14, alpha)
        assert np.array_equal(p < alpha, differs)


def test_wilcoxon_of_demsars_example():
    # C4.5 against C4.5+m: the rank sums are 93 and 12, and z = -2.54.
    result = st.wilcoxon(DEMSAR[:, 1], DEMSAR[:, 0])
    assert result.statistic == pytest.approx(12.0)
    assert result.pvalue == pytest.approx(2 * stats.norm.cdf(-2.54), rel=0.05)


def test_wilcoxon_is_symmetric_and_calm_about_equals():
    a, b = DEMSAR[:, 0], DEMSAR[:, 3]
    assert st.wilcoxon(a, b).pvalue == st.wilcoxon(b, a).pvalue
    assert st.wilcoxon(a, a).pvalue == 1.0


def test_without_overlap_the_corrected_test_is_the_paired_t_test():
    a, b = np.random.default_rng(1).normal(size=(2, 12))
    reference = stats.ttest_rel(a, b)
    result = st.corrected_t_test(a, b, 0.0)
    assert_allclose([result.statistic, result.pvalue], [reference.statistic, reference.pvalue], rtol=1e-12)


def test_nadeau_and_bengios_correction_widens_the_variance():
    """t shrinks by sqrt((1/J) / (1/J + n_test/n_train)): for 10 folds, 1/9, by the root of 0.4737."""
    a, b = np.random.default_rng(2).normal(size=(2, 10))
    plain, corrected = st.corrected_t_test(a, b, 0.0), st.corrected_t_test(a, b, 1 / 9)
    assert corrected.statistic == pytest.approx(plain.statistic * np.sqrt(0.1 / (0.1 + 1 / 9)))
    assert corrected.pvalue > plain.pvalue


def test_the_corrected_test_holds_its_level_where_the_plain_one_does_not():
    """Differences of mean zero with the correlation they assume, n_test / (n_train + n_test)."""
    rng, J, ratio, trials = np.random.default_rng(3), 20, 0.25, 2000
    shared = np.sqrt(ratio / (1 + ratio)) * rng.normal(size=(trials, 1))
    differences = shared + np.sqrt(1 / (1 + ratio)) * rng.normal(size=(trials, J))
    rates = [np.mean([st.corrected_t_test(d, np.zeros(J), r).pvalue < 0.05 for d in differences]) for r in (0.0, ratio)]
    assert rates[0] > 0.3
    assert 0.03 < rates[1] < 0.07


def test_constant_differences():
    assert st.corrected_t_test([1.0, 1.0], [1.0, 1.0], 0.1).pvalue == 1.0
    certain = st.corrected_t_test([0.5, 0.75], [0.25, 0.5], 0.1)
    assert certain.statistic == np.inf
    assert certain.pvalue == 0.5  # two splits prove nothing, however alike
    assert st.corrected_t_test(np.ones(9), np.zeros(9), 0.1).pvalue == 2.0**-8


@pytest.mark.parametrize(("a", "b", "ratio"), [([1.0], [0.0], 0.1), ([1.0, 2.0], [0.0, 0.0], -1.0)])
def test_the_corrected_test_refuses_nonsense(a, b, ratio):
    with pytest.raises(ValueError, match=r"two or more|negative"):
        st.corrected_t_test(a, b, ratio)


def test_standard_errors():
    values = np.random.default_rng(4).normal(size=30)
    assert_allclose(st.mean_standard_error(values), [values.mean(), stats.sem(values)])
    assert st.resampled_standard_error(values, 0.0) == pytest.approx(stats.sem(values))
    assert np.isnan(st.mean_standard_error([1.0])[1])
    assert np.isnan(st.resampled_standard_error([1.0], 0.1))


def test_wins_ties_and_losses_with_a_tolerance():
    assert str(st.win_tie_loss([1.0, 1.0, 1.0], [0.0, 0.99, 2.0], tolerance=0.05)) == "1/1/1"


def test_cliques_are_the_longest_groups_only():
    ranks = [1.0, 1.5, 2.0, 4.0]
    assert st.cliques(ranks, 1.0) == [(0, 1, 2)]
    assert st.cliques(ranks, 0.6) == [(0, 1), (1, 2)]
    assert st.cliques(ranks, 0.1) == []
    assert st.cliques(ranks, 5.0) == [(0, 1, 2, 3)]
