"""Kernel machines by landmarks: the problem that they solve, and how many landmarks are taken."""

import numpy as np
import pytest
from sklearn.base import clone
from sklearn.datasets import load_iris, make_moons

from radiusmargin import FSVMCV, AutoSVM
from radiusmargin.estimators.base import TrainingData
from radiusmargin.estimators.features import Expansion, FeatureChoice
from radiusmargin.kernels import KernelFunction
from radiusmargin.multiclass import MulticlassReduction
from radiusmargin.outofcore import ArraySource, MappedSource
from radiusmargin.outofcore.solver import first_pass
from radiusmargin.search import landmarks as by
from radiusmargin.search.base import Budget
from radiusmargin.search.candidates import stratified_sample
from radiusmargin.solvers import Batch, Kernel, Options, solve_kernel


def training_of(X, y):
    K = int(y.max()) + 1
    return TrainingData(X, y, np.ones(len(y)), np.arange(len(y)), MulticlassReduction(K), np.ones(K))


@pytest.fixture(scope="module")
def moons():
    return make_moons(200, noise=0.3, random_state=0)


@pytest.mark.parametrize("in_chunks", [False, True])
@pytest.mark.parametrize("several", [False, True])
def test_with_all_rows_as_landmarks_the_problem_is_that_of_the_kernel(moons, in_chunks, several):
    X, y = load_iris(return_X_y=True) if several else moons
    training, function, Cs = training_of(X, y), KernelFunction("rbf", gamma=1.0), [0.5, 5.0]
    landmarks = by.Landmarks.of(Expansion(function, X))
    if in_chunks:
        found = by.fit_landmarks(ArraySource(X, y, rows=64), training, landmarks, Cs, Options(1e-8))
    else:
        found = by.fit_landmarks_in_memory(training, landmarks, Cs, Options(1e-8))
    expected = solve_kernel(Batch(Kernel(X, function), training.labels, training.weight, np.array(Cs)), Options(1e-8))
    assert found.certificate.max_gap <= 1e-8
    assert found.certificate.objective == pytest.approx(expected.objective.sum(), rel=1e-5)
    scores = landmarks.space.scores(X, found.coef.reshape(-1, len(X))).T.reshape(*found.coef.shape[:2], -1)
    ours = scores + found.intercept[..., None]
    theirs = np.asarray(expected.coef) @ function(X, X) + expected.intercept[..., None]
    np.testing.assert_allclose(ours, theirs.swapaxes(0, 1), atol=2e-2)


def test_objective_is_that_of_the_norm_of_the_combination(moons):
    X, y = moons
    landmarks = by.Landmarks.of(Expansion(KernelFunction("laplacian", gamma=0.5), X[:20]))
    found = by.fit_landmarks_in_memory(training_of(X, y), landmarks, [2.0], Options(1e-8))
    (coef,), (intercept,) = found.coef[0], found.intercept[0][None]
    K = landmarks.space.function(X[:20], X[:20])
    slack = np.maximum(0, 1 - (2 * y - 1) * (landmarks(X) @ coef + intercept))
    assert found.certificate.objective == pytest.approx(coef @ K @ coef / 2 + 2 * slack.sum(), rel=1e-9)


def test_landmarks_are_doubled_while_that_helps(monkeypatch):
    monkeypatch.setattr(by, "FIRST", 4)
    X = np.random.default_rng(0).uniform(-3, 3, size=(1500, 2))
    training = training_of(X, (X[:, 0] * X[:, 1] > 0).astype(int))
    asked = []

    def gain(correct, before, weight):
        asked.append(correct.mean())
        return 3.0 if len(asked) < 4 else 0.5

    monkeypatch.setattr(by, "_gain", gain)
    chosen = by.choose_landmarks(FeatureChoice("rbf", gamma=1.0), training, 10.0, Options(1e-4))
    assert len(chosen) == 4 * 2**3
    assert asked[-1] > 0.9


def test_gain_is_in_deviations_of_chance():
    correct, before = np.array([1, 1, 1, 1, 0, 1], dtype=bool), np.array([0, 0, 0, 0, 1, 1], dtype=bool)
    assert by._gain(correct, before, np.ones(6)) == pytest.approx(3 / np.sqrt(5))
    assert by._gain(correct, correct, np.ones(6)) == 0


def test_every_class_is_among_the_rows_that_are_fitted():
    codes = np.repeat([0, 1, 2], [100, 2, 1])
    train, test = by._halves(codes)
    assert set(codes[train]) == {0, 1, 2}
    assert len(test) == pytest.approx(len(codes) / 3, abs=2)
    assert not set(train) & set(test)


def test_autosvm_fits_kernels_to_a_sample_of_very_many_rows(moons, monkeypatch):
    X, y = moons
    exact = AutoSVM().fit(X, y)
    monkeypatch.setattr(AutoSVM, "_budget", Budget(rows=100, tol=1e-4, sweeps=100, kernel_rows=150))
    model = AutoSVM(probability=True).fit(X, y)
    sample = stratified_sample(y, 150)
    kernels = [part for part in model.decision_model.parts if hasattr(part.space, "units")]
    assert kernels
    for part in kernels:
        known = part.space.units.rows(X[sample])
        assert all((known == row).all(axis=1).any() for row in part.space.space.support)
    assert model.max_dual_gap_ <= 1e-4
    assert abs(model.score(X, y) - exact.score(X, y)) < 0.03
    assert model.predict_proba(X).shape == (200, 2)
    assert model.transform(X).shape[0] == 200
    two = clone(model).set_params(n_jobs=2).fit(X, y)
    np.testing.assert_array_equal(two.decision_function(X), model.decision_function(X))
    kernels = ["rbf", "laplacian"]
    whole = FSVMCV(kernel=kernels).fit(X, y)  # has a tol of its own, and stays exact
    assert whole.max_dual_gap_ <= 1e-6


def test_mapped_chunks_are_those_of_mapped_rows(moons):
    X, y = moons
    mapped = MappedSource(ArraySource(X, y, rows=64), np.exp, 2)
    plain = ArraySource(np.exp(X), y, rows=64)
    ours, theirs = first_pass(mapped), first_pass(plain)
    for a, b in zip(ours.moments(), theirs.moments(), strict=True):
        np.testing.assert_allclose(a.scatter, b.scatter)
    assert ours.n_features == 2
    read = first_pass(ArraySource(X, y, rows=64))
    assert ours.fingerprints == read.fingerprints != theirs.fingerprints


# -- Rows in chunks ----------------------------------------------------------------------------------------------------


@pytest.fixture(scope="module")
def rings():
    rng = np.random.default_rng(0)
    X = rng.normal(size=(900, 3))
    return X, np.array(["in", "out"])[((X[:, 0] ** 2 + X[:, 1] ** 2 > 1.4) ^ (rng.random(900) < 0.05)).astype(int)]


def test_autosvm_fits_kernels_to_rows_in_chunks(rings):
    X, y = rings
    model = AutoSVM(probability=True).fit(ArraySource(X, y, rows=200))
    assert any(member["kernel"] != "linear" for member in model.members_)
    assert model.score(X, y) > 0.88
    assert model.max_dual_gap_ <= 1e-3
    assert model.n_passes_ >= 2
    assert model.predict_proba(X).shape == (900, 2)
    assert model.transform(X).shape == (900, 1)
    assert sum(member["weight"] for member in model.members_) == pytest.approx(1)
    again = AutoSVM(kernel=["rbf", "laplacian"], combine="best", n_jobs=2).fit(ArraySource(X, y, rows=200))
    one = AutoSVM(kernel=["rbf", "laplacian"], combine="best").fit(ArraySource(X, y, rows=200))
    assert len(again.members_) == 1
    np.testing.assert_array_equal(again.decision_function(X), one.decision_function(X))


def test_kernels_in_chunks_are_those_of_rows_in_memory(rings):
    X, y = rings
    training, function = training_of(X, (y == "out").astype(int)), KernelFunction("rbf", gamma=0.3)
    landmarks = by.Landmarks.of(Expansion(function, X[:100]))
    memory = by.fit_landmarks_in_memory(training, landmarks, [1.0, 10.0], Options(1e-8))
    chunks = by.fit_landmarks(ArraySource(X, y, rows=128), training, landmarks, [1.0, 10.0], Options(1e-8))
    assert chunks.certificate.objective == pytest.approx(memory.certificate.objective, rel=1e-7)
    assert chunks.certificate.max_gap <= 1e-8


def test_dask_arrays_take_kernels_too(rings):
    da = pytest.importorskip("dask.array")
    X, y = rings
    model = AutoSVM(kernel=["rbf"]).fit(
        da.from_array(X, chunks=(300, 3)), da.from_array((y == "out").astype(int), chunks=300)
    )
    assert model.predict(da.from_array(X, chunks=(300, 3))).compute().shape == (900,)
    assert np.mean(model.predict(X) == (y == "out")) > 0.88


def test_fsvmcv_stays_linear_in_chunks(rings):
    X, y = rings
    assert hasattr(FSVMCV(kernel="auto").fit(ArraySource(X, y)), "coef_")
    with pytest.raises(ValueError, match="linear"):
        FSVMCV(kernel=["rbf"]).fit(ArraySource(X, y))
    with pytest.raises(ValueError, match="linear"):
        AutoSVM(kernel="precomputed").fit(ArraySource(X, y))
