"""What users do with searches, chunks and sparse rows that are not as they are in examples."""

import dask.array as da
import numpy as np
import pytest
from scipy import sparse
from sklearn.datasets import make_blobs, make_classification
from sklearn.metrics import accuracy_score
from sklearn.model_selection import GroupKFold

from radiusmargin import FSVM, FSVMCV, SVM, AutoSVM, SigmaSVM
from radiusmargin.estimators.decision import PlattCalibration, sigmoids
from radiusmargin.scatter import tempered_scatter
from radiusmargin.search.candidates import LEAST_OF_CLASS, stratified_sample


@pytest.fixture(scope="module")
def three():
    return make_classification(180, 5, n_informative=4, n_redundant=0, n_classes=3, random_state=0)


def in_chunks(X, y):
    return da.from_array(X, chunks=(len(X) // 3, X.shape[1])), da.from_array(y, chunks=len(X) // 3)


@pytest.mark.parametrize("fit_intercept", [True, False])
@pytest.mark.parametrize("whitening", [-1.0, -0.5, 0.0])
def test_columns_of_chunks_are_scaled_as_those_in_memory(whitening, fit_intercept):
    """The objective of the docstring, w'T w / 2n + C sum of losses with T = n D^(1+p), at what is returned."""
    rng = np.random.default_rng(0)
    X = rng.normal(size=(600, 4)) * [1, 100, 0.01, 1]
    X[:, 3] = X[:, 0] + X[:, 1]  # one direction without spread
    y = (X[:, 0] + 0.01 * X[:, 1] + 0.5 + rng.normal(size=600) > 0).astype(int)
    model = FSVM(0.01, whitening=whitening, fit_intercept=fit_intercept).fit(*in_chunks(X, y))
    w, b = model.coef_[0], model.intercept_[0]
    losses = np.maximum(0, 1 - (2 * y - 1) * (X @ w + b)).sum()
    objective = 0.5 * w**2 @ X.std(axis=0) ** (2 * (1 + whitening)) + 0.01 * losses
    assert model.objective_ == pytest.approx(objective, rel=1e-6)
    in_memory = FSVM(0.01, whitening=whitening, fit_intercept=fit_intercept).fit(X, y)
    assert model.objective_ == pytest.approx(in_memory.objective_, rel=1e-5)


def test_chunks_refuse_splits_of_rows_that_they_do_not_keep_in_order(three):
    X, y = in_chunks(*three)
    groups = np.arange(180) % 6
    with pytest.raises(ValueError, match="number of folds"):
        FSVMCV(cv=GroupKFold(3)).fit(X, y)
    with pytest.raises(ValueError, match="groups"):
        FSVMCV(Cs=[1.0]).fit(X, y, groups=groups)


def test_probabilities_of_chunks_are_those_of_rows(three):
    X, y = three
    model = FSVMCV([0.1, 1.0], kernel="auto", probability=True).fit(X, y)
    np.testing.assert_allclose(model.predict_proba(in_chunks(X, y)[0]).compute(), model.predict_proba(X))


def test_entries_stored_twice_are_added_up_by_predictions_too():
    rng = np.random.default_rng(0)
    X, y = rng.normal(size=(40, 3)), np.arange(40) % 2
    model = SVM(kernel="rbf", gamma=0.5).fit(sparse.csr_array(X), y)
    twice = sparse.csr_array(
        (np.repeat(X / 2, 2), np.repeat(np.tile(np.arange(3), 40), 2), np.arange(0, 241, 6)), X.shape
    )
    np.testing.assert_allclose(model.decision_function(twice), model.decision_function(sparse.csr_array(X)), atol=1e-12)
    assert twice.nnz == 240  # what was passed in stays as it is


def test_probabilities_do_not_depend_on_the_unit_of_weights(three):
    X, y = three
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    plain, tiny = (AutoSVM(kernel=["linear"], probability=True).fit(X, y, w) for w in (weight, weight / 1e6))
    np.testing.assert_allclose(tiny.predict_proba(X), plain.predict_proba(X), atol=1e-3)


def test_a_problem_without_held_out_rows_says_nothing():
    reduction = FSVM().fit(*make_blobs(30, centers=3, random_state=0)).decision_model.reduction
    scores, codes, one = np.array([[1.0, 5, 5], [-1, 5, 5]]), np.array([1, 0]), np.zeros(2, dtype=int)
    found = PlattCalibration.fit(scores, codes, np.ones(2), reduction)  # no row of the third class, so no pair with it
    alone = sigmoids(scores[:, 0], np.array([1, -1]), np.ones(2), one, 1)
    np.testing.assert_allclose((found.slope[:1], found.offset[:1]), alone)
    assert np.isfinite([found.slope, found.offset]).all()
    nothing = sigmoids(scores[:, 0], np.array([1, -1]), np.ones(2), one, 2)
    assert nothing[0][1] == pytest.approx(0, abs=0.01)
    assert nothing[1][1] == 0


def test_a_sample_has_rows_of_rare_classes():
    codes, size = np.zeros(25_000, dtype=int), 5_000
    codes[:5], codes[5:400] = 1, 2
    rows = stratified_sample(codes, size)
    assert np.bincount(codes[rows])[1:].tolist() == [5, round(size * 395 / len(codes))]
    assert len(rows) == pytest.approx(size, abs=LEAST_OF_CLASS)
    assert (np.diff(rows) > 0).all()


def test_lists_of_kernels_take_sparse_rows(three):
    X, y = three
    model = FSVMCV(kernel=["linear", "rbf"], Cs=[1.0]).fit(sparse.csr_array(X), y)
    assert model.best_score_ > 0.5


def test_a_precomputed_kernel_leaves_rows_of_no_weight_out_of_all_folds(three):
    X, y = three
    weight = np.where(np.arange(180) % 4 == 0, 0.0, 1.0)
    K = X @ X.T
    found = FSVMCV(kernel="precomputed", Cs=[0.01, 0.1], whitening=0).fit(K, y, weight)
    kept = np.flatnonzero(weight)
    without = FSVMCV(kernel="precomputed", Cs=[0.01, 0.1], whitening=0).fit(K[np.ix_(kept, kept)], y[kept])
    np.testing.assert_allclose(found.cv_results_["mean_test_score"], without.cv_results_["mean_test_score"])
    with pytest.raises(ValueError, match="square matrix"):
        FSVMCV(kernel="precomputed").fit(K[:, :50], y)


def test_a_scorer_without_weights_is_asked_without(three):
    X, y = three
    weight = np.random.default_rng(0).uniform(0.5, 2, len(y))
    model = FSVMCV(Cs=[1.0], scoring=lambda model, X, y: accuracy_score(y, model.predict(X))).fit(X, y, weight)
    assert 0.5 < model.best_score_ <= 1


def test_probability_set_after_fit_is_too_late(three):
    model = FSVMCV(Cs=[1.0]).fit(*three).set_params(probability=True)
    assert not hasattr(model, "predict_proba")


def test_few_rows_of_many_columns_are_taken_at_once():
    """In the rows or in the columns, the metric is the same."""
    X = np.random.default_rng(0).normal(size=(60, 150))
    X[:, 1:] += X[:, :1]
    wide = np.hstack([X, np.zeros((60, 100))])  # columns that do not vary make it wide
    few, many = (FSVM(0.1, whitening=0.5).fit(rows, np.arange(60) % 2) for rows in (X, wide))
    np.testing.assert_allclose(many.coef_[:, :150], few.coef_, atol=1e-6 * np.abs(few.coef_).max())
    assert tempered_scatter(wide).eigenvectors.shape == (250, 59)


@pytest.mark.parametrize("column", ["constant", "amounts"])
def test_a_column_of_large_numbers_among_words(column):
    """In the units of the data it would be all that counts: columns are standardised then, and a constant one has no say."""
    rng = np.random.default_rng(0)
    words = sparse.random_array((300, 1200), density=0.01, rng=rng, format="csr")
    y = words @ rng.normal(size=1200) > 0
    large = {"constant": np.full(300, 1e6), "amounts": 1e4 * rng.integers(0, 2, 300)}[column]
    X = sparse.csr_array(sparse.hstack([words, large[:, None]]))
    model = FSVMCV(random_state=0).fit(X, y)
    assert model.dual_gap_ <= 1e-6
    assert {p["whitening"] for p in model.cv_results_["params"]} == {0.0}
    if column == "constant":
        alone = FSVMCV(whitening=0.0, Cs=model.Cs_, cv_tol=1e-7, random_state=0).fit(words, y)
        np.testing.assert_allclose(model.scores_, alone.scores_)
        np.testing.assert_allclose(model.decision_function(X), alone.decision_function(words), atol=1e-4)


@pytest.mark.parametrize("search", [FSVMCV, AutoSVM])
def test_one_column_that_varies_and_one_that_does_not(search):
    rng = np.random.default_rng(0)
    x = rng.normal(size=60)
    y = x + rng.normal(size=60) > 0
    model = search(random_state=0).fit(np.column_stack([x, np.ones(60)]), y)
    assert model.score(np.column_stack([x, np.ones(60)]), y) > 0.6


@pytest.mark.parametrize("scale", [1e-5, 1e-2, 1e4])
def test_words_in_any_unit(scale):
    """C of the SVM in the units of the data is in those of one over their squares, and so is the range that is tried."""
    rng = np.random.default_rng(0)
    words = sparse.random_array((400, 1200), density=0.02, rng=rng, format="csr")
    y = words @ rng.normal(size=1200) > 0
    plain = FSVMCV(whitening=-1.0, random_state=0).fit(words, y)
    other = FSVMCV(whitening=-1.0, random_state=0).fit(words * scale, y)
    np.testing.assert_allclose(other.Cs_ * scale**2, plain.Cs_)
    np.testing.assert_allclose(other.scores_, plain.scores_)


def test_weights_whose_sum_is_rounded():
    """A member that is right everywhere has a share of one, or a rounding more."""
    rng = np.random.default_rng(0)
    X, y = make_blobs(90, centers=3, random_state=0, cluster_std=0.1)
    for _ in range(5):
        FSVMCV(Cs=[0.1, 1.0], kernel=["rbf"], gamma=[0.1, 1.0]).fit(X, y, 10 ** rng.uniform(-1, 1, 90))


def test_more_classes_than_kernels_have_time_for():
    X, y = make_blobs(51 * 5, centers=51, n_features=8, random_state=0)
    model = FSVMCV(2, kernel="auto", cv=2).fit(X, y)
    assert {member["whitening"] for member in model.members_} <= {0.0, 0.5}
    assert "kernel" not in model.cv_results_["params"][0]


def test_wide_sparse_rows_are_refused_where_a_covariance_is_needed():
    X = sparse.random_array((40, 6000), density=0.01, format="csr", rng=0)
    with pytest.raises(ValueError, match="6,000 are too many"):
        SigmaSVM().fit(X, np.arange(40) % 2)


@pytest.mark.parametrize(
    ("model", "fit", "match"),
    [
        (SVM(kernel="rbf", cache_size=-5), {}, "cache_size must be a positive number"),
        (FSVM(), {"sample_weight": np.full(30, 1e200)}, "sample_weight must be at most"),
    ],
)
def test_what_cannot_be_is_named(model, fit, match):
    X = np.random.default_rng(0).normal(size=(30, 2))
    with pytest.raises(ValueError, match=match):
        model.fit(X, np.arange(30) % 2, **fit)


@pytest.mark.parametrize("shape", [(2000, 600, 0.01), (3000, 1500, 0.002)])
def test_labels_of_noise_on_sparse_rows_are_solved(shape):
    """Coordinate descent is given up in time for another method: by a factor, and by products with the rows."""
    n, d, density = shape
    X = sparse.random_array((n, d), density=density, format="csr", rng=0)
    y = np.random.default_rng(0).integers(0, 2, n)
    assert FSVM(whitening=0).fit(X, y).dual_gap_ <= 1e-6
