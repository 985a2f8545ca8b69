"""SVML: the gradient, the machine in the learned metric, and what the metric is good for."""

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.preprocessing import scale
from sklearn.svm import SVC

from radiusmargin import SVML
from radiusmargin.solvers.metric.svml import ValidationError, svml

IRIS, SPECIES = load_iris(return_X_y=True)
IRIS = scale(IRIS)


def rings(n, n_noise=4, seed=0):
    """Two rings in a plane that lies askew among noise of the same size."""
    rng = np.random.default_rng(seed)
    y = np.arange(n) % 2
    angle, radius = rng.uniform(0, 2 * np.pi, n), 1.0 + y + 0.15 * rng.normal(size=n)
    X = np.c_[radius * np.cos(angle), radius * np.sin(angle), rng.normal(size=(n, n_noise)) * 1.2]
    rotation, _ = np.linalg.qr(np.random.default_rng(99).normal(size=(X.shape[1],) * 2))
    return X @ rotation, y


X, y = rings(120)
SIGNS = 2.0 * y - 1
FOLD = np.arange(120) // 2 % 3
L = np.random.default_rng(1).normal(size=(6, 6)) * 0.2 + 0.3 * np.eye(6)


def pairs_of(codes):
    pairs = [(i, j) for j in range(3) for i in range(j)]
    return np.array([(codes == j).astype(float) - (codes == i) for i, j in pairs])


ERRORS = {
    "two classes": ValidationError(X, SIGNS[None], np.ones(120), 1.0, FOLD, tol=1e-12),
    "no intercept": ValidationError(X, SIGNS[None], np.ones(120), 1.0, FOLD, intercept=False, tol=1e-12),
    "weights": ValidationError(X, SIGNS[None], np.linspace(0.2, 3, 120), 0.5, FOLD, slope=2.0, tol=1e-12),
    "three classes": ValidationError(IRIS, pairs_of(SPECIES), np.ones(150), 1.0, np.arange(150) % 4, tol=1e-12),
}


@pytest.mark.parametrize("error", ERRORS.values(), ids=ERRORS)
def test_the_gradient_is_that_of_finite_differences(error):
    d, rng = error.X.shape[1], np.random.default_rng(2)
    root = L[:d, :d]
    _, gradient = error(root)
    for _ in range(4):
        direction = rng.normal(size=(d, d))
        step = 1e-6 * direction
        numeric = (error(root + step)[0] - error(root - step)[0]) / 2e-6
        assert np.sum(gradient * direction) == pytest.approx(numeric, rel=1e-3, abs=1e-6)


def test_the_error_is_the_smoothed_error_of_machines_on_rows_held_out():
    weights, expected = np.linspace(0.5, 2, 120), 0.0
    for part in range(3):
        rest, held = part != FOLD, part == FOLD
        machine = SVC(C=2.0, gamma=1.0, tol=1e-8).fit((X @ L.T)[rest], y[rest], sample_weight=weights[rest])
        margins = SIGNS[held] * machine.decision_function((X @ L.T)[held])
        expected += weights[held] @ (1 / (1 + np.exp(5 * margins)))
    value, _ = ValidationError(X, SIGNS[None], weights, 2.0, FOLD)(L)
    assert value == pytest.approx(expected / weights.sum(), rel=1e-4)


def test_a_rotation_after_the_map_changes_nothing():
    error = ERRORS["weights"]
    rotation, _ = np.linalg.qr(np.random.default_rng(3).normal(size=(6, 6)))
    (value, gradient), (again, rotated) = error(L), error(rotation @ L)
    assert again == pytest.approx(value, rel=1e-9)
    np.testing.assert_allclose(rotated, rotation @ gradient, atol=1e-6)


@pytest.mark.parametrize("diagonal", [False, True])
def test_what_is_returned_is_the_best_that_was_seen(diagonal):
    error, start = ERRORS["two classes"], 0.4 * np.eye(6)
    found = svml(error, start, 0.1, diagonal=diagonal, n_steps=5)
    penalty = 0.1 * np.sum((found.root - start) ** 2) / np.sum(start**2)
    assert found.objective == pytest.approx(error(found.root)[0] + penalty)
    assert found.objective == min(found.history) < found.history[0]
    assert found.history[0] == pytest.approx(error(start)[0])
    assert np.count_nonzero(found.root) == (6 if diagonal else 36)


def test_a_rotated_plane_is_found_among_noise():
    unseen, truth = rings(1000, seed=5)
    model = SVML(C=1.0, random_state=0).fit(X, y)
    plain = SVC(C=1.0).fit(X, y)
    assert model.score(unseen, truth) >= plain.score(unseen, truth) + 0.05
    # two directions carry the metric
    values = np.linalg.eigvalsh(model.get_mahalanobis_matrix())[::-1]
    assert values[1] > 2 * values[2]


@pytest.mark.parametrize("labels", [y, np.where(y == 1, 2, y * 0 + (np.arange(120) % 4 == 0))], ids=["two", "three"])
def test_held_at_its_start_it_is_svc(labels):
    model = SVML(C=2.0, lam=1e9, gamma=0.3, random_state=0).fit(X, labels)
    np.testing.assert_allclose(model.components_, np.sqrt(0.3) * np.eye(6), atol=1e-6)
    svc = SVC(C=2.0, gamma=0.3, tol=1e-8, break_ties=True).fit(X, labels)
    np.testing.assert_array_equal(model.predict(X), svc.predict(X))
    np.testing.assert_allclose(np.sort(model.support_), np.sort(svc.support_))


def test_objective_scores_and_transformation_are_those_of_the_returned_metric():
    weight = np.linspace(0.5, 2, 120)
    model = SVML(C=0.7, n_steps=5, random_state=0).fit(X, y, sample_weight=weight)
    root = model.components_
    np.testing.assert_allclose(model.transform(X), X @ root.T)
    np.testing.assert_allclose(model.get_mahalanobis_matrix(), root.T @ root)
    np.testing.assert_array_equal(model.support_vectors_, X[model.support_])

    def kernel(A, B):
        return np.exp(-(((A @ root.T)[:, None] - (B @ root.T)[None]) ** 2).sum(axis=2))

    v = model.dual_coef_[0]
    scores = kernel(X, model.support_vectors_) @ v + model.intercept_
    np.testing.assert_allclose(model.decision_function(X), scores, atol=1e-9)
    norm = v @ kernel(model.support_vectors_, model.support_vectors_) @ v
    losses = np.maximum(0, 1 - SIGNS * scores)
    assert model.objective_ == pytest.approx(norm / 2 + 0.7 * weight @ losses, rel=1e-9)
    assert model.dual_objective_ == pytest.approx(np.abs(v).sum() - norm / 2, rel=1e-9)
    assert np.all(np.abs(v) <= 0.7 * weight[model.support_] * (1 + 1e-12))
    assert v.sum() == pytest.approx(0, abs=1e-9)
    assert 0 <= model.dual_gap_ <= 1e-6


def test_weights_are_copies_to_the_last_bit():
    counts = np.random.default_rng(0).integers(0, 3, size=120)
    order = np.random.default_rng(1).permutation(counts.sum())
    weighted = SVML(n_steps=5, random_state=0).fit(X, y, sample_weight=counts)
    copied = SVML(n_steps=5, random_state=0).fit(np.repeat(X, counts, axis=0)[order], np.repeat(y, counts)[order])
    np.testing.assert_array_equal(weighted.components_, copied.components_)
    np.testing.assert_array_equal(weighted.decision_function(X), copied.decision_function(X))


def test_classes_of_one_row_take_part_in_the_machine_only():
    labels = np.r_[y[:-2], 7, 8]
    model = SVML(n_steps=3, random_state=0).fit(X, labels)
    assert set(model.classes_) == {0, 1, 7, 8}
    alone = SVML(random_state=0).fit(X[:2], y[:2])  # nothing can be held out: the metric is its start
    np.testing.assert_array_equal(alone.components_, alone.components_[0, 0] * np.eye(6))


@pytest.mark.parametrize(
    ("parameters", "message"),
    [
        ({"lam": -1.0}, r"lam must be a number in \[0, inf\)"),
        ({"slope": 0.0}, r"slope must be a number in \(0, inf\)"),
        ({"n_folds": 1}, r"n_folds must be a number in \[2, inf\)"),
        ({"n_folds": 2.5}, "n_folds must be a positive integer"),
        ({"n_steps": 0}, "n_steps must be a positive integer"),
        ({"metric": "low-rank"}, "metric must be one of 'full', 'diagonal', got 'low-rank'"),
        ({"kernel": "linear"}, "kernel must be one of 'rbf', got 'linear'"),
        ({"gamma": -1.0}, "gamma must be 'scale', 'auto' or a positive number"),
    ],
)
def test_bad_parameters(parameters, message):
    with pytest.raises(ValueError, match=message):
        SVML(**parameters).fit(X, y)
