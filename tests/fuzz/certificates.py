"""Recompute the certificates of random small problems from their definition: ``python tests/fuzz/certificates.py --problems 10000``.

A certificate lies where the objective at what is returned is above the one that is claimed, or where the claimed bound is above an
objective. Kernel models are judged by the decision values of the model itself, linear ones by exact fractions. A fit that stops
short and says so does not lie.
"""

import argparse
import sys
import time
import warnings
from collections import Counter
from fractions import Fraction

import numpy as np
from sklearn.exceptions import ConvergenceWarning

from radiusmargin import SVM
from radiusmargin.solvers import hinge_svm

KERNELS = {
    "poly, degree 2": {"kernel": "poly", "degree": 2},
    "poly, degree 1": {"kernel": "poly", "degree": 1, "coef0": 1.0},
    "cosine": {"kernel": "cosine"},
    "rbf": {"kernel": "rbf"},
    "laplacian": {"kernel": "laplacian"},
}
ALLOWED = 1e-6  # relative excess of a kernel model's own loss: its decision values are rounded too
EXACT = 1e-9  # of a linear objective


def kernel_lies(rng, name):
    """(whether the certificate lies, whether it claims convergence) of a random kernel problem."""
    n, d, offset = rng.integers(4, 30), rng.integers(1, 4), rng.choice([0.0, 30.0, 100.0, 300.0, 1000.0, 1e4])
    X = rng.standard_normal((n, d)) * rng.choice([0.1, 1.0, 10.0]) + offset
    y = np.append([0, 1], rng.integers(0, 2, n - 2))
    model = SVM(C=10 ** rng.uniform(-2, 9), **KERNELS[name])
    try:
        model.fit(X, y)
    except ValueError as error:  # one column far from zero has the same cosine everywhere
        if "does not vary" not in str(error):
            raise
        return False, False
    signs = np.where(y == 1, 1.0, -1.0)
    loss = model.C * np.maximum(0.0, 1.0 - signs * model.decision_function(X)).sum()
    return loss > model.objective_ * (1 + ALLOWED) + 1e-12, model.dual_gap_ <= model.tol


def linear_lies(rng):
    """The same of a linear problem: offsets to 1e10, weights 1e-8 to 1e6, C times weight to 1e10."""
    n, d = int(rng.integers(4, 20)), int(rng.integers(1, 5))
    X = rng.standard_normal((n, d)) * 10 ** rng.uniform(-3, 3, d) + rng.choice([0.0, 1.0, 1e3, 1e6, 1e10])
    y = np.append([-1.0, 1.0], rng.choice([-1.0, 1.0], n - 2))
    weight, C = 10 ** rng.uniform(-8, 6, n), 10 ** rng.uniform(-4, 4)
    found = hinge_svm(X, y, C, sample_weight=weight)
    w, b = [Fraction(float(v)) for v in found.coef], Fraction(float(found.intercept))
    objective = sum(v * v for v in w) / 2
    for x, sign, s in zip(X, y, weight, strict=True):
        slack = 1 - Fraction(sign) * (sum(Fraction(a) * v for a, v in zip(x, w, strict=True)) + b)
        objective += Fraction(C) * Fraction(s) * max(slack, Fraction(0))
    above = objective - Fraction(found.objective)
    lies = above > Fraction(EXACT) * objective or Fraction(found.dual_objective) > objective * (1 + Fraction(EXACT))
    return lies, found.converged


def main():
    options = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    options.add_argument("--problems", type=int, default=10_000)
    options.add_argument("--seed", type=int, default=0)
    options = options.parse_args()
    rng, lies, certified, start = np.random.default_rng(options.seed), Counter(), Counter(), time.monotonic()
    names = [*KERNELS, "linear, exact"]
    warnings.simplefilter("ignore", ConvergenceWarning)
    for i in range(options.problems):
        name = names[i % len(names)]
        lied, converged = linear_lies(rng) if name == "linear, exact" else kernel_lies(rng, name)
        lies[name] += lied
        certified[name] += converged
    for name in names:
        print(f"{name}: {certified[name]} certified, {lies[name]} lies")
    print(f"{options.problems} problems in {time.monotonic() - start:.0f} s: {sum(lies.values())} lies")
    return 1 if sum(lies.values()) else 0


if __name__ == "__main__":
    sys.exit(main())
