"""How small a direction whitening should leave out: labels that change when rows are printed with a digit less.

Tables with columns that are sums of others but for rounding, and three without. Half of the rows are learnt from; the others are
predicted as they are and with five significant digits, one less than most of the files have. `rank_tol` is the smallest power
of ten with which no model changes more than half a percent of the labels.

    RADIUSMARGIN_DATA=... python benchmarks/rounding.py [--halves 3]
"""

from __future__ import annotations

import argparse
import warnings

import common
import numpy as np
from sklearn.base import clone

from radiusmargin import FSVM, FSVMCV

SETS = [
    "ida/image", "uci/image", "uci_zscored/cardiotocography-3clases", "uci_zscored/energy-y2",
    "uci_zscored/oocytes_trisopterus_nucleus_2f", "uci_zscored/plant-margin", "uci_zscored/steel-plates",
    "uci_zscored/vertebral-column-2clases", "uci_zscored/vertebral-column-3clases",
    "uci_zscored/oocytes_merluccius_nucleus_4d", "uci_zscored/breast-cancer-wisc-diag", "uci_zscored/plant-shape",
]  # fmt: skip
TOLERANCES = (0.0, 1e-6, 1e-5, 1e-4, 1e-3)
MODELS = {"FSVM()": FSVM(), "FSVM(eta=0.1)": FSVM(eta=0.1), "FSVMCV": FSVMCV(whitening=(0, 0.5, 1))}
MANY_CLASSES = 20  # a smoothed metric for each pair, or a search, takes minutes


def digits(X, n):
    """X rounded to significant digits."""
    unit = 10.0 ** (np.floor(np.log10(np.abs(np.where(X == 0, 1.0, X)))) - n + 1)
    return np.round(X / unit) * unit


def deviations(X):
    """Singular values of standardised rows, the smallest first."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    found = np.linalg.svd(Z / np.sqrt(len(Z)), compute_uv=False)[::-1]
    return found[found > 1e-12]


def measure(model, X, y, halves):
    """(directions left out, accuracy, share of labels that change), in the mean."""
    found = []
    for seed in range(halves):
        train, test = np.array_split(np.random.default_rng(seed).permutation(len(y)), 2)
        fitted = clone(model).fit(X[train], y[train])
        labels = fitted.predict(X[test])
        changed = np.mean(labels != fitted.predict(digits(X[test], 5)))
        found.append((fitted.n_dropped_, np.mean(labels == y[test]), changed))
    return np.mean(found, axis=0)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halves", type=int, default=3)
    halves = parser.parse_args().halves
    warnings.simplefilter("ignore")
    rows = []
    for name, task in common.loaded(SETS):
        X, y = np.asarray(task.X, dtype=float), np.unique(task.y, return_inverse=True)[1]
        least = " ".join(f"{value:.1g}" for value in deviations(X)[:5])
        for label, model in MODELS.items():
            if label != "FSVM()" and y.max() >= MANY_CLASSES:
                continue
            cells = [measure(model.set_params(rank_tol=tol), X, y, halves) for tol in TOLERANCES]
            rows.append([name, least, label, *(f"{d:.3g}: {100 * a:.2f}, {100 * c:.2f}" for d, a, c in cells)])
            print(*rows[-1], flush=True)
    text = (
        f"## What whitening leaves out\n\n`python benchmarks/rounding.py --halves {halves}`: {common.provenance()}\n\n"
        f"{__doc__.split(chr(10) * 2)[1]}\n\n"
        "Smallest deviations of standardised rows; for every `rank_tol` directions left out: accuracy, labels that change (both in %).\n\n"
        + common.table(["data set", "smallest deviations", "model", *(f"{tol:g}" for tol in TOLERANCES)], rows)
    )
    common.write_section("rounding", text)


if __name__ == "__main__":
    main()
