"""The hinge solver where rounding decides: rows whose sizes differ by orders of magnitude, and what its certificate says of them."""

import warnings

import numpy as np
import pytest

from radiusmargin.solvers import ConvergenceWarning, hinge_svm, hinge_svm_path


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
