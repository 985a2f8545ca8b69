"""The radius-margin solvers against the semidefinite and second-order cone forms of the same problems."""

import numpy as np
import pytest

from radiusmargin.scatter import geometric_mean
from radiusmargin.solvers import Batch, Dense, Options
from radiusmargin.solvers.metric.alternating import solve_alternating, solve_projected_gradient
from radiusmargin.solvers.metric.exact import NuclearEnvelope, solve_exact, solve_matrix_newton, solve_proximal_newton
from radiusmargin.solvers.metric.problem import Constrained, MetricNorm, Penalised, RadiusMarginProblem, initial_state


def make_problem(K=1, n=60, d=4, C=1.0, eta=0.0, penalty=None, seed=0, **kwargs):
    rng = np.random.default_rng(seed)
    classes = max(K, 2)
    codes = rng.integers(0, classes, n)
    codes[:classes] = np.arange(classes)
    X = (rng.normal(size=(n, d)) + 0.8 * rng.normal(size=(classes, d))[codes]) @ (
        np.eye(d) + 0.4 * rng.normal(size=(d, d))
    )
    Y = np.array([np.where(codes == k, 1.0, -1.0) for k in range(K)])
    centred = X - X.mean(axis=0)
    options = Options(**{name: kwargs.pop(name) for name in ("tol", "max_iter") if name in kwargs})
    norm, penalty = MetricNorm(centred.T @ centred, eta), penalty or Constrained(float(n))
    return RadiusMarginProblem(Batch(Dense(X), Y, np.ones(n), np.array([C])), norm, penalty, options, **kwargs)


def oracle(problem):
    """The nuclear-norm form, solved by Clarabel."""
    cp = pytest.importorskip("cvxpy")
    K, d = problem.n_columns, problem.X.shape[1]
    W, b = cp.Variable((d, K)), cp.Variable(K)
    root = np.linalg.cholesky(problem.norm.T).T
    eta = problem.norm.eta
    N = cp.normNuc(cp.hstack([root @ W, np.sqrt(eta) * root]) if eta > 0 else root @ W)
    loss = sum(cp.sum(cp.pos(1 - cp.multiply(problem.Y[k], problem.X @ W[:, k] + b[k]))) for k in range(K))
    form = problem.penalty
    term = cp.square(N) / (2 * form.kappa) if isinstance(form, Constrained) else np.sqrt(2 * form.rho) * N
    return cp.Problem(cp.Minimize(term + problem.C * loss)).solve(solver="CLARABEL")


def metric_oracle(problem):
    """The problem as the paper prints it, over w, b and M (one column): a semidefinite program."""
    cp = pytest.importorskip("cvxpy")
    d, eta, form = problem.X.shape[1], problem.norm.eta, problem.penalty
    w, b, M = cp.Variable(d), cp.Variable(), cp.Variable((d, d), PSD=True)
    loss = cp.sum(cp.pos(1 - cp.multiply(problem.Y[0], problem.X @ w + b)))
    value = 0.5 * cp.matrix_frac(w, M) + problem.C * loss
    if eta > 0:
        value += 0.5 * eta * sum(cp.matrix_frac(np.eye(d)[k], M) for k in range(d))
    if isinstance(form, Constrained):
        return cp.Problem(cp.Minimize(value), [cp.trace(M @ problem.norm.T) <= form.kappa]).solve(solver="CLARABEL")
    return cp.Problem(cp.Minimize(value + form.rho * cp.trace(M @ problem.norm.T))).solve(solver="CLARABEL")


@pytest.mark.parametrize("eta", [0.0, 1e-4, 1.0])
@pytest.mark.parametrize("penalty", [Constrained(60.0), Penalised(0.5)], ids=["constrained", "penalised"])
@pytest.mark.parametrize("K", [1, 3])
def test_exact_solution_matches_the_nuclear_norm_form(K, penalty, eta):
    """Identity F8."""
    problem = make_problem(K, eta=eta, penalty=penalty)
    result = solve_exact(problem)
    assert result.converged
    assert result.objective == pytest.approx(oracle(problem), rel=2e-6)
    assert result.dual_objective <= result.objective


@pytest.mark.parametrize("eta", [0.0, 0.1])
@pytest.mark.parametrize("penalty", [Constrained(60.0), Penalised(0.5)], ids=["constrained", "penalised"])
def test_eliminating_the_metric_changes_nothing(penalty, eta):
    """Identity F6: the minimum over M of the printed problem is our objective."""
    problem = make_problem(eta=eta, penalty=penalty)
    assert solve_exact(problem).objective == pytest.approx(metric_oracle(problem), rel=1e-4)


@pytest.mark.parametrize("C", [1e-3, 0.1, 10.0, 1e3])
@pytest.mark.parametrize("K", [1, 4])
@pytest.mark.parametrize("form", ["constrained", "penalised"])
def test_the_certificate_is_reached_and_feasible(form, K, C):
    n = 90
    penalty = Constrained(float(n)) if form == "constrained" else Penalised(2.0)
    for eta in (0.0, 1e-6, 0.01, 10.0):
        problem = make_problem(K, n=n, d=5, C=C, eta=eta, penalty=penalty, seed=K)
        result = solve_exact(problem)
        assert result.gap <= 1e-6
        alpha = result.alpha
        assert alpha.min() >= 0
        assert alpha.max() <= C * (1 + 1e-12)
        np.testing.assert_allclose((problem.Y * alpha).sum(axis=1), 0, atol=1e-8 * alpha.sum())
        G = problem.X.T @ (problem.Y * alpha).T
        if form == "penalised":  # GG' <= 2 rho T
            slack = 2 * penalty.rho * problem.norm.T - G @ G.T
            assert np.linalg.eigvalsh(slack)[0] >= -1e-8 * np.trace(slack)


def test_the_metric_is_the_geometric_mean_and_meets_its_constraint():
    """Identity F10."""
    problem = make_problem(eta=0.3)
    result = solve_exact(problem)
    T, w = problem.norm.T, result.coef[0]
    Q = np.outer(w, w) + 0.3 * np.eye(len(w))
    mean = geometric_mean(np.linalg.inv(T), Q)
    np.testing.assert_allclose(result.M / np.trace(result.M), mean / np.trace(mean), atol=1e-8)
    assert np.trace(result.M @ T) == pytest.approx(problem.penalty.kappa)


def test_without_smoothing_the_metric_has_rank_one():
    """Identity F9."""
    problem = make_problem()
    result = solve_exact(problem)
    w, T = result.coef[0], problem.norm.T
    np.testing.assert_allclose(result.M, np.outer(w, w) * problem.penalty.kappa / (w @ T @ w), atol=1e-10)


def test_large_eta_semi_whitens_and_small_eta_whitens():
    """Identity F11."""

    def direction(eta):
        w = solve_exact(make_problem(eta=eta, C=0.1, tol=1e-9)).coef[0]
        return w / np.linalg.norm(w)

    semi = make_problem(C=0.1)
    root = semi.norm.root
    from radiusmargin.solvers import hinge_svm

    # eta -> infinity: M ~ T^{-1/2} of trace kappa, so the regulariser is T^{1/2} tr(T^{1/2}) / kappa.
    expected = hinge_svm(semi.X, semi.Y[0], 0.1, root * np.trace(root) / semi.penalty.kappa, tol=1e-9).coef
    assert direction(1e5) @ expected / np.linalg.norm(expected) == pytest.approx(1.0, abs=1e-4)
    assert direction(1e-10) @ direction(0.0) == pytest.approx(1.0, abs=1e-4)


def test_shared_metric_gives_low_rank():
    """Identity F8: three one-vs-rest problems in general position meet in two dimensions."""
    problem = make_problem(3, penalty=Penalised(10.0), C=1.0, d=6, n=120)
    singular = np.linalg.svd(problem.norm.root @ solve_exact(problem).coef.T, compute_uv=False)
    assert singular[0] > 0
    assert np.sum(singular > 1e-7 * singular[0]) < 3


@pytest.mark.parametrize("eta", [1e-3, 1.0])
@pytest.mark.parametrize("K", [1, 3])
def test_alternating_reaches_the_same_optimum(K, eta):
    problem = make_problem(K, eta=eta, tol=1e-5)
    alternating, exact = solve_alternating(problem), solve_exact(problem)
    assert alternating.objective == pytest.approx(exact.objective, rel=1e-3)
    assert alternating.objective >= exact.dual_objective


@pytest.mark.parametrize("eta", [0.0, 0.1])
@pytest.mark.parametrize("penalty", [Constrained(60.0), Penalised(0.5)], ids=["constrained", "penalised"])
def test_projected_gradient_reports_the_objective_of_its_own_metric(penalty, eta):
    """The gap bounds how far (w, b, M) is above the optimum, and not how far (w, b) is in a better metric."""
    problem = make_problem(C=0.1, eta=eta, penalty=penalty)
    result, exact = solve_projected_gradient(problem), solve_exact(problem)
    M, T, w = result.M, problem.norm.T, result.coef[0]
    value = 0.5 * w @ np.linalg.solve(M, w) + 0.5 * eta * np.trace(np.linalg.inv(M))
    value += penalty.rho * np.trace(M @ T) if isinstance(penalty, Penalised) else 0.0
    value += problem.C * np.maximum(0.0, 1.0 - problem.Y[0] * (problem.X @ w + result.intercept[0])).sum()
    assert result.objective == pytest.approx(value, rel=1e-9)
    assert isinstance(penalty, Penalised) or np.trace(M @ T) <= penalty.kappa * (1 + 1e-12)
    assert result.gap >= (value - exact.objective) / value - 1e-9  # the precision of `value`
    last = result.history[-1]
    assert (last["objective"], last["gap"]) == (result.objective, result.gap)
    assert last["best_metric_objective"] == pytest.approx(problem.objective(result.coef.T, result.intercept))


def test_projected_gradient_is_monotone_and_stops_short():
    """On a recorded example it leaves percents on the table, and says so."""
    problem = make_problem(C=0.1)
    result, exact = solve_projected_gradient(problem), solve_exact(problem)
    values = [entry["objective"] for entry in result.history]
    assert np.all(np.diff(values) <= 1e-9 * np.abs(values[:-1]))
    assert exact.gap < 1e-6 < 1e-3 < result.gap
    assert not result.converged
    assert np.linalg.eigvalsh(result.M)[0] > 0


@pytest.mark.parametrize(("d", "K"), [(5, 3), (3, 5)])
@pytest.mark.parametrize("eta", [0.0, 0.1])
@pytest.mark.parametrize("penalty", [Constrained(7.0), Penalised(0.5)])
def test_derivative_of_the_nuclear_envelope(penalty, eta, d, K):
    rng = np.random.default_rng(1)
    sigma = 0.7
    envelope = NuclearEnvelope(MetricNorm(np.eye(d) + 0.3, eta), penalty)
    V, root = rng.normal(size=(d, K)), envelope.norm.root
    reference = rng.normal(size=envelope.matrix(V).shape)
    envelope.slope(V, reference, sigma)
    H = np.zeros((K * d, K * d))
    envelope.add_derivative(H)
    numeric = np.zeros_like(H)
    for j in range(K * d):
        step = np.zeros(K * d)
        step[j] = 1e-6
        dV = root @ step.reshape(K, d).T
        change = envelope.slope(V + dV, reference, sigma) - envelope.slope(V - dV, reference, sigma)
        numeric[:, j] = (root @ change[:, :K]).T.ravel() / 2e-6
    np.testing.assert_allclose(np.tril(H), np.tril(numeric), atol=1e-7)
    np.testing.assert_allclose(numeric, numeric.T, atol=1e-7)


@pytest.mark.parametrize("eta", [0.0, 1e-4, 1.0])
@pytest.mark.parametrize("penalty", [Constrained(7.0), Penalised(0.5)])
def test_expansion_of_the_regulariser(penalty, eta):
    """Gradient and Hessian of phi(N(w)) against central differences."""
    rng = np.random.default_rng(2)
    norm, W, h = MetricNorm(np.eye(4) + 0.5, eta), rng.normal(size=(4, 1)), 1e-5
    steps = h * np.eye(4)[:, :, None]
    gradient, H = norm.at(W).expansion(penalty)
    phi = [[penalty.value(norm.value(W + sign * step)) for sign in (1, -1)] for step in steps]
    np.testing.assert_allclose(gradient, [(up - down) / (2 * h) for up, down in phi], rtol=1e-6, atol=1e-8)
    slopes = [[norm.at(W + sign * step).expansion(penalty)[0] for sign in (1, -1)] for step in steps]
    np.testing.assert_allclose(H, [(up - down) / (2 * h) for up, down in slopes], rtol=1e-5, atol=1e-7)


@pytest.mark.parametrize("eta", [0.0, 1e-6, 0.1, 100.0])
@pytest.mark.parametrize("penalty", [Constrained(60.0), Penalised(0.05)], ids=["constrained", "penalised"])
def test_both_methods_of_one_column_agree(penalty, eta):
    problem = make_problem(eta=eta, penalty=penalty)
    proximal, matrix = initial_state(problem), initial_state(problem)
    assert solve_proximal_newton(problem, proximal)
    solve_matrix_newton(problem, matrix)
    assert proximal.result().converged
    assert proximal.result().objective == pytest.approx(matrix.result().objective, rel=2e-6)


def test_the_kink_at_zero_is_left_to_the_matrix_method():
    problem = make_problem(C=1e-3, penalty=Penalised(1.0))
    state = initial_state(problem)
    before = state.W.copy()
    assert not solve_proximal_newton(problem, state)
    np.testing.assert_array_equal(state.W, before)
    assert np.all(solve_exact(problem).coef == 0)


def test_the_norm_is_the_trace_of_the_root():
    rng = np.random.default_rng(0)
    norm, W = MetricNorm(np.eye(4) + 0.5, 0.2), rng.normal(size=(4, 2))
    Q = norm.root @ (W @ W.T + 0.2 * np.eye(4)) @ norm.root
    expected = np.sqrt(np.linalg.eigvalsh(Q)).sum()
    assert norm.value(W) == pytest.approx(expected)
    assert norm.at(W).value == pytest.approx(expected)


def test_a_singular_scatter_is_refused():
    with pytest.raises(ValueError, match="positive definite"):
        MetricNorm(np.zeros((2, 2)))


@pytest.mark.parametrize("solve", [solve_exact, lambda problem: _by_matrix_newton(problem)])
def test_nothing_is_learnt_where_nothing_can_be(solve):
    """Labels without information and a price on the metric: w = 0, from a start at which nothing curves."""
    positive, negative = [0.4, -0.41, 0.28, 0.73, 1.79, -1.39, -0.4, 1.91], [-1.68, 0.99, 0.82, -0.41, -1.05, 0.38]
    X = np.array([*positive, *negative, 1.0])[:, None]
    Y = np.repeat([1.0, -1.0, 0.0], [8, 6, 1])[None]
    losses = Batch(Dense(X), Y, np.ones(15), np.ones(1))
    problem = RadiusMarginProblem(losses, MetricNorm(np.array([[18.0]]), 0.0), Penalised(1e-3))
    result = solve(problem)
    assert result.gap <= 1e-6
    assert result.objective == pytest.approx(12.0, rel=1e-6)
    np.testing.assert_allclose(result.coef, 0.0, atol=1e-3)


def _by_matrix_newton(problem):
    state = initial_state(problem)
    solve_matrix_newton(problem, state)
    return state.result()


@pytest.mark.parametrize("max_iter", [1, 5, 20])
@pytest.mark.parametrize("penalty", [None, Penalised(0.5)])
@pytest.mark.parametrize("K", [1, 3])
def test_no_more_steps_than_allowed(K, penalty, max_iter):
    """Those of the start, of the rounds and of the matrix method together; what is reached is certified all the same."""
    result = solve_exact(make_problem(K, C=10.0, eta=0.01, penalty=penalty, tol=1e-12, max_iter=max_iter))
    assert result.n_iter <= max_iter
    assert result.dual_objective <= result.objective * (1 + 1e-12)
    assert result.converged == (result.gap <= 1e-12)
