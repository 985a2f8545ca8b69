"""Algorithm 1 of the paper: against a literal port, with a certificate, and where it breaks."""

import numpy as np
import pytest
from sklearn.exceptions import ConvergenceWarning

from radiusmargin import FSVM, FSVMAlgorithm1
from radiusmargin.paper.data import make_twonorm
from radiusmargin.solvers import hinge_svm
from radiusmargin.solvers.metric.algorithm_one import Descent, algorithm_one


def small(n=40, d=4, seed=0):
    rng = np.random.default_rng(seed)
    y = np.where(np.arange(n) % 2, 1.0, -1.0)
    return (rng.normal(size=(n, d)) + 0.7 * y[:, None]) @ (np.eye(d) + 0.4 * rng.normal(size=(d, d))), y


def literal(X, y, C, rho, t0, beta, rounds, steps, reset):
    """The 18 lines of the paper, in the user's coordinates."""
    S = (X - X.mean(0)).T @ (X - X.mean(0))
    values, U = np.linalg.eigh(S)
    M_k = np.sqrt(rho) * U @ np.diag(values**-0.5) @ U.T
    for k in range(rounds + 1):
        sigma, V = np.linalg.eigh(M_k)
        z = X @ V @ np.diag(np.sqrt(sigma))
        svm = hinge_svm(z, y, C, tol=1e-10)
        w, b = V @ np.diag(np.sqrt(sigma)) @ svm.coef, svm.intercept
        if k == rounds:
            return w, b, M_k
        M, t = M_k, t0
        for _ in range(steps):
            if reset:
                M, t = M_k, t0
            gradient = -0.5 * np.linalg.inv(M) @ np.outer(w, w) @ np.linalg.inv(M) + rho * S
            values, U = np.linalg.eigh(M - t * gradient)
            M = U @ np.diag(np.maximum(values, 0.0)) @ U.T
            t = beta * t
        M_k = M


@pytest.mark.parametrize("reset", [False, True])
def test_it_is_the_printed_algorithm(reset):
    X, y = small()
    descent = Descent(step=1e-5, shrink=0.8, n_steps=10, n_rounds=4, reset=reset)
    result = algorithm_one(X, y, 50.0, 0.5, descent=descent, tol=1e-10)
    w, b, M = literal(X, y, 50.0, 0.5, 1e-5, 0.8, rounds=4, steps=10, reset=reset)
    assert result.message == ""
    np.testing.assert_allclose(result.coef, w, rtol=1e-4, atol=1e-4 * np.abs(w).max())
    assert result.intercept == pytest.approx(b, rel=1e-3, abs=1e-4)
    np.testing.assert_allclose(result.M, M, rtol=1e-4, atol=1e-4 * np.abs(M).max())
    start = algorithm_one(X, y, 50.0, 0.5, descent=Descent(step=1e-300, n_rounds=1), tol=1e-10)
    assert np.abs(result.M - start.M).max() > 0.01 * np.abs(start.M).max()  # it did move


@pytest.mark.parametrize("step", [1.0, 1e-5])
@pytest.mark.parametrize("fit_intercept", [True, False])
def test_the_gap_bounds_how_far_it_is_from_the_optimum_of_its_own_model(step, fit_intercept):
    X, y = small(seed=1)
    C, rho = 20.0, 0.5
    model = FSVMAlgorithm1(C, rho, step=step, fit_intercept=fit_intercept)
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model.fit(X, y)
    w, M = model.coef_[0], model.get_mahalanobis_matrix()
    S = (X - X.mean(0)).T @ (X - X.mean(0))
    hinge = np.maximum(0.0, 1.0 - y * (X @ w + model.intercept_)).sum()
    inverse = np.linalg.pinv(M, rcond=1e-10, hermitian=True)
    np.testing.assert_allclose(M @ inverse @ w, w, atol=1e-6 * np.abs(w).max())  # w is in the range of M
    value = 0.5 * w @ inverse @ w + C * hinge + rho * np.trace(M @ S)
    assert model.objective_ == pytest.approx(value, rel=1e-6)
    best = _optimum(X, y, C, rho, fit_intercept)
    assert model.dual_objective_ <= best * (1 + 1e-6)
    assert model.dual_gap_ >= (value - best) / value > 0.01
    assert model.history_[-1]["objective"] == pytest.approx(model.objective_)


def _optimum(X, y, C, rho, fit_intercept):
    """sqrt(2 rho) |S^{1/2}w| + C hinge, by a cone solver: Eq. 12 with M eliminated."""
    cp = pytest.importorskip("cvxpy")
    w, b = cp.Variable(X.shape[1]), cp.Variable() if fit_intercept else 0.0
    loss = cp.sum(cp.pos(1 - cp.multiply(y, X @ w + b)))
    return cp.Problem(cp.Minimize(np.sqrt(2 * rho) * cp.norm((X - X.mean(0)) @ w) + C * loss)).solve("CLARABEL")


def test_where_the_metric_becomes_singular_it_ends_and_says_so():
    X, y = make_twonorm(100, 5, random_state=0)
    with pytest.warns(ConvergenceWarning, match=r"M became singular \(rank 1 of 5\) at step 1 of round 1"):
        model = FSVMAlgorithm1(C=1000.0).fit(X, y)
    assert model.components_.shape == (1, 5)
    assert model.n_iter_ == 1
    assert [entry["rank"] for entry in model.history_] == [5, 1]
    with pytest.warns(ConvergenceWarning, match="rank 0 of 5"):
        nothing = FSVMAlgorithm1(C=1000.0, rho=1e3).fit(X, y)
    assert not nothing.coef_.any()
    assert len(set(nothing.predict(X))) == 1


def test_features_that_do_not_vary_are_left_out():
    X, y = small()
    wide = np.column_stack([X, np.full(len(X), 3.0), X[:, 0] + X[:, 1]])
    descent = Descent(step=1e-5, n_rounds=2)
    narrow, same = algorithm_one(X, y, 50.0, 0.5, descent=descent), algorithm_one(wide, y, 50.0, 0.5, descent=descent)
    assert same.root.shape == (4, 6)
    assert np.linalg.matrix_rank(same.M) == np.linalg.matrix_rank(narrow.M) == 4


def test_several_classes_in_pairs():
    X, _ = small(60)
    codes = np.arange(60) % 3
    with pytest.warns(ConvergenceWarning, match="relative gap"):
        model = FSVMAlgorithm1(C=50.0, step=1e-6, n_rounds=2).fit(X + codes[:, None], codes)
    assert model.coef_.shape == (3, 4)
    assert model.components_.shape == (12, 4)
    assert {entry["column"] for entry in model.history_} == {0, 1, 2}
    assert model.score(X + codes[:, None], codes) > 0.5


@pytest.mark.parametrize("bad", [{"step": 0.0}, {"shrink": 1.5}, {"n_rounds": 0}, {"n_steps": 2.5}, {"rho": -1.0}])
def test_bad_parameters_are_named(bad):
    with pytest.raises(ValueError, match=next(iter(bad))):
        FSVMAlgorithm1(**bad).fit(*small())


def test_the_exact_solver_is_never_worse():
    X, y = small(seed=2)
    for C in (1.0, 30.0):
        with pytest.warns(ConvergenceWarning, match="gap"):
            printed = FSVMAlgorithm1(C=C, rho=0.1, step=1e-4).fit(X, y)
        # FSVM standardises: its scatter has another unit, and the model is the same for whitening=1.
        exact = FSVM(C=C, rho=0.1).fit(X, y)
        assert exact.objective_ <= printed.objective_
