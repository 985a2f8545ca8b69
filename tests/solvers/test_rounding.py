"""The hinge solver where rounding decides: rows whose sizes differ by orders of magnitude, and what its certificate says of them."""

import warnings
from fractions import Fraction

import numpy as np
import pytest
from scipy import sparse

from radiusmargin._checks import ConvergenceWarning
from radiusmargin.solvers import COMPILED, Batch, Options, Quadratics, Start, hinge_svm, hinge_svm_path, rows_of, solve
from radiusmargin.solvers import reference as numpy_twin


def twin(batch, options):
    return numpy_twin.solve_batch(batch, options, Start())


BACKENDS = [pytest.param(solve, id="compiled"), pytest.param(twin, id="numpy")] if COMPILED else [twin]


def curves(seed, noise=0.02, height=(0.05, 0.5), width=(2.0, 8.0), n=1212, d=100):
    """Rows that are a level between 1 and 1e5 times one plus a bump (label 1) or a dip (label -1) somewhere, with noise."""
    rng = np.random.default_rng(seed)
    y = rng.integers(0, 2, n) * 2.0 - 1.0
    place, size, spread = rng.uniform(12, d - 12, n), rng.uniform(*height, n), rng.uniform(*width, n)
    bump = size[:, None] * np.exp(-0.5 * ((np.arange(d) - place[:, None]) / spread[:, None]) ** 2)
    return 10 ** rng.uniform(0, 5, (n, 1)) * (1 + y[:, None] * bump + noise * rng.normal(size=(n, d))), y


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("shape", [{}, {"noise": 3e-3, "height": (0.02, 0.1), "width": (1, 3)}], ids=["wide", "narrow"])
def test_raw_curves_reach_the_tolerance(seed, shape):
    X, y = curves(seed, **shape)
    for C in (1.0, 1e2, 1e3, 1e4):
        assert hinge_svm(X, y, C=C).gap <= 1e-6
    assert np.all(hinge_svm_path(X, y, [1.0, 1e2, 1e4]).gap <= 1e-6)


@pytest.mark.parametrize("seed", range(3))
def test_more_iterations_make_neither_bound_worse(seed):
    X, y = curves(seed)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore", ConvergenceWarning)
        results = [hinge_svm(X, y, C=1e3, max_iter=m) for m in (100, 200, 250, 280, 300, 350, 450, 600)]
    assert np.all(np.diff([r.objective for r in results]) <= 1e-9)
    assert np.all(np.diff([r.dual_objective for r in results]) >= -1e-9)


def exact_objective(X, y, c, B, w, b):
    """The objective without rounding, B a vector or a matrix."""
    w = [Fraction(v) for v in w]
    total = Fraction(0)
    for x, label, weight in zip(X, y, c, strict=True):
        score = sum((Fraction(v) * u for v, u in zip(x, w, strict=True)), Fraction(b))
        total += weight * max(Fraction(0), 1 - int(label) * score)
    if B.ndim == 1:
        return sum(Fraction(m) * v * v for m, v in zip(B, w, strict=True)) / 2 + total
    return sum(Fraction(m) * w[i] * w[j] for (i, j), m in np.ndenumerate(B)) / 2 + total


def hard_problem(seed):
    """Few rows with offsets to 1e10, columns and rows of different scales, weights from 1e-8 to 1e6, and any regulariser."""
    rng = np.random.default_rng(seed)
    n, d = int(rng.integers(4, 24)), int(rng.integers(1, 5))
    y = np.where(np.arange(n) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(n, d)) + rng.uniform(0, 4) * y[:, None] * rng.normal(size=d)
    if rng.random() < 0.5:
        X *= 10.0 ** rng.uniform(-4, 4, d)
    if rng.random() < 0.5:
        X += 10.0 ** rng.uniform(0, 10) * rng.uniform(-1, 1, d)
    if rng.random() < 0.2:
        X *= 10.0 ** rng.uniform(0, 5, (n, 1))
    weight = 10.0 ** rng.uniform(-8, 6, n) if rng.random() < 0.6 else np.ones(n)
    root = rng.normal(size=(d, d)) * 10.0 ** rng.uniform(-4, 0, d)
    dense = root @ root.T + 1e-9 * np.sum(root**2) * np.eye(d)
    B = [np.ones(d), 10.0 ** rng.uniform(-3, 3, d), (dense + dense.T) / 2][rng.choice(3, p=[0.6, 0.2, 0.2])]
    return X, y, 10.0 ** rng.uniform(-3, 4), weight, B, bool(rng.random() < 0.8)


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_the_certificate_holds_without_rounding(form, backend):
    """The objective is that of what is returned, and no point known is below the bound: in exact arithmetic."""
    for seed in range(300 if backend is solve else 20):  # the NumPy solver takes its time
        X, y, C, weight, B, intercept = hard_problem(seed)
        c = [Fraction(C) * Fraction(v) for v in weight]
        batch = Batch(rows_of(form(X)), y[None], weight, np.array([C]), Quadratics(B[None]), intercept=intercept)
        results = [backend(batch, Options(tol=tol))[0, 0] for tol in (1e-6, 1e-10)]
        values = [exact_objective(X, y, c, B, result.coef, result.intercept) for result in results]
        for result, value in zip(results, values, strict=True):
            assert abs(value - Fraction(result.objective)) <= Fraction(1e-9) * value, seed
            assert Fraction(result.dual_objective) <= min(values) * (1 + Fraction(1e-9)), seed


@pytest.mark.parametrize("backend", BACKENDS)
@pytest.mark.parametrize("form", [np.asarray, np.asfortranarray, sparse.csr_array])
def test_the_objective_is_that_of_what_is_returned(form, backend):
    """Far from the origin the intercept in the user's units is rounded: the gap then says what that costs."""
    rng = np.random.default_rng(4)
    y = np.where(np.arange(200) % 2 == 0, 1.0, -1.0)
    X = rng.normal(size=(200, 3)) + 1.7 * y[:, None]
    X[:, 1] += 1e8
    for C in (1.0, 1e4):
        result = backend(Batch(rows_of(form(X)), y[None], np.ones(200), np.array([C])), Options())[0, 0]
        exact = exact_objective(X, y, [Fraction(C)] * 200, np.ones(3), result.coef, result.intercept)
        assert result.objective == pytest.approx(float(exact), rel=1e-9)
        assert result.converged == (result.gap <= 1e-6)
