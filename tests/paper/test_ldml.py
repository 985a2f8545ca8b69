"""LDML: the optimum of its convex problem, and its symmetry."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from radiusmargin.paper.faces import LDML, PairVerifier, make_pairs


def differences(n=60, d=3, seed=0):
    generator = np.random.default_rng(seed)
    y = generator.permutation(np.repeat([0, 1], n // 2))
    return generator.normal(size=(n, d)) * np.where(y, 0.6, 1.4)[:, None] * np.linspace(1.5, 0.5, d), y


@pytest.mark.parametrize("ridge", [0.0, 1e-2, 1.0])
def test_the_optimum_is_that_of_a_conic_solver(ridge):
    cp = pytest.importorskip("cvxpy", reason="the oracle")
    D, y = differences()
    unit = np.sqrt(np.mean(D**2))
    s, E = np.where(y == 1, 1.0, -1.0), D / unit
    M, b = cp.Variable((3, 3), PSD=True), cp.Variable()
    margins = cp.multiply(s, b - cp.sum(cp.multiply(E @ M, E), axis=1))
    penalty = cp.sum_squares(cp.vec(M, order="F"))  # of M itself cvxpy 1.6 gets another minimum
    problem = cp.Problem(cp.Minimize(cp.sum(cp.logistic(-margins)) / len(y) + ridge / 2 * penalty))
    problem.solve(solver=cp.CLARABEL)
    model = LDML(ridge, tol=1e-9).fit(D, y)
    assert model.objective_ == pytest.approx(problem.value, rel=1e-6)
    np.testing.assert_allclose(model.components_.T @ model.components_ * unit**2, M.value, atol=2e-3)
    assert model.intercept_ == pytest.approx(float(b.value), abs=2e-3)


def test_a_metric_that_should_be_singular_is_found():
    """A direction in which pairs of one person differ more than others gets no weight."""
    D, y = differences(200, 2)
    D[:, 1] *= np.where(y, 4.0, 0.5)
    singular = np.linalg.svd(LDML(1e-2).fit(D, y).components_, compute_uv=False)
    assert singular[1] < 1e-3 * singular[0]


def test_the_order_of_a_pair_and_the_units_do_not_matter():
    D, y = differences()
    model = LDML().fit(D, y)
    np.testing.assert_array_equal(model.decision_function(D), model.decision_function(-D))
    scaled = LDML().fit(100 * D, y)
    np.testing.assert_allclose(scaled.decision_function(100 * D), model.decision_function(D), rtol=1e-4, atol=1e-5)
    np.testing.assert_allclose(model.predict_proba(D).sum(axis=1), 1)
    np.testing.assert_array_equal(model.predict(D), model.predict_proba(D).argmax(axis=1))


def test_it_verifies_pairs():
    task = make_pairs(n_people=60, n_features=8, noise=0.3, random_state=0)
    train = task.folds > 0
    verifier = PairVerifier(LDML(), features="signed", table=task.table).fit(task.pairs[train], task.y[train])
    assert verifier.score(task.pairs[~train], task.y[~train]) > 0.85
    swapped = task.pairs[~train][:, ::-1]
    np.testing.assert_array_equal(verifier.decision_function(task.pairs[~train]), verifier.decision_function(swapped))


def test_bad_input_and_early_stops_are_told():
    D, y = differences()
    with pytest.raises(ValueError, match="ridge must be a number of at least 0, got -1"):
        LDML(-1).fit(D, y)
    with pytest.raises(ValueError, match="one kind only"):
        LDML().fit(D, y * 0)
    with pytest.warns(ConvergenceWarning, match=r"LDML stopped after 2 iterations(.|\n)*raise max_iter or ridge"):
        LDML(max_iter=2).fit(D, y)
