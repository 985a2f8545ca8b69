"""Data for the tests of rows in chunks."""

import numpy as np


def labelled_points(n=1500, d=4, classes=("no", "yes"), seed=0):
    """Correlated features far from the origin, labels with noise, whole weights with zeros among them."""
    rng = np.random.default_rng(seed)
    X = rng.standard_normal((n, d)) @ rng.standard_normal((d, d)) + 5 * rng.standard_normal(d)
    score = (X - X.mean(axis=0)) @ rng.standard_normal(d) + rng.standard_normal(n)
    cuts = np.quantile(score, np.linspace(0, 1, len(classes) + 1)[1:-1])
    return X, np.array(classes)[np.digitize(score, cuts)], rng.integers(0, 3, n).astype(float)
