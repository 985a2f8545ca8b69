"""What the encoding of tables was chosen by: gains and losses of alternatives, on the sets of accuracy.py.

- codes: columns of three to ten whole numbers as categories, instead of as numbers;
- gaps: an indicator of the gaps of a column beside the median, where a quarter of the columns have gaps that are random (one value in
  five) or informative (six in ten of the largest 30 %, one in twenty of the others);
- distances: a common scale for the indicators of one column, instead of standardising each, for the three kernels of distances.

    RADIUSMARGIN_DATA=... python benchmarks/tables.py [--rows 300] [--halves 2] [--write]
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict

import accuracy
import common
import numpy as np
from scipy.stats import wilcoxon
from sklearn.pipeline import make_pipeline

from radiusmargin import FSVMCV, AutoSVM, TableEncoder

MOST_CODES, MOST_COLUMNS, MOST_CLASSES, LEAST_OF_CLASS, MOST_TESTED = 10, 64, 8, 5, 1000
KERNELS = ("rbf", "laplacian", "laplacian-ranks")


def codes_of(column):
    """Whole numbers of a standardised column that has few of them, evenly spaced; None for any other column."""
    values = np.unique(column)
    if not 2 < len(values) <= MOST_CODES:
        return None
    steps = (column - values[0]) / np.diff(values).min()
    few = np.abs(steps - np.round(steps)).max() < 1e-3 and steps.max() <= 3 * MOST_CODES
    return np.round(steps) if few else None


def with_gaps(X, informative, rng):
    X = X.copy()
    for j in rng.choice(X.shape[1], max(2, X.shape[1] // 4), replace=False):
        large = X[:, j] > np.quantile(X[:, j], 0.7)
        X[rng.random(len(X)) < (np.where(large, 0.6, 0.05) if informative else 0.2), j] = np.nan
    return X


def gain(new, old, X, y, train):
    """Points of accuracy that one model is better than another on the rows that neither has seen."""
    scores = [model.fit(own[train], y[train]).score(own[~train], y[~train]) for model, own in ((new, X), (old, X))]
    return 100 * (scores[0] - scores[1])


def gains(X, y, train, rng):
    """(choice, points) on one half of a set."""
    codes = {j: found for j in range(X.shape[1]) if (found := codes_of(X[:, j])) is not None}
    if codes:
        plain, named = X.copy(), sorted(codes)
        plain[:, named] = np.column_stack([codes[j] for j in named])
        yield "codes as categories", gain(AutoSVM(categorical_features=named), AutoSVM(), plain, y, train)
    if len(codes) > 1:
        for kernel in KERNELS:
            apart = make_pipeline(TableEncoder(categorical_features=named), FSVMCV(kernel=[kernel]))
            together = FSVMCV(kernel=[kernel], categorical_features=named)
            yield f"a common scale, {kernel}", gain(together, apart, plain, y, train)
    for name, informative in (("random", False), ("informative", True)):
        gaps = with_gaps(X, informative, rng)
        missing = np.isnan(gaps)
        filled = np.where(missing, np.nanmedian(gaps[train], axis=0), gaps)
        both = np.hstack([filled, missing[:, missing[train].any(axis=0)]])
        alone = AutoSVM().fit(filled[train], y[train]).score(filled[~train], y[~train])
        beside = AutoSVM().fit(both[train], y[train]).score(both[~train], y[~train])
        yield f"indicators of {name} gaps", 100 * (beside - alone)


def main():
    arguments = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    arguments.add_argument("--rows", type=int, default=300)
    arguments.add_argument("--halves", type=int, default=2)
    arguments.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    options = arguments.parse_args()
    warnings.simplefilter("ignore")
    found = defaultdict(lambda: defaultdict(list))
    for name, X, y in accuracy.tasks():
        if len(y) < 100 or X.shape[1] > MOST_COLUMNS or len(np.unique(y)) > MOST_CLASSES:
            continue
        for half in range(options.halves):
            rng = np.random.default_rng(half)
            n_train = min(options.rows, len(y) // 2)
            order = rng.permutation(len(y))[: n_train + MOST_TESTED]
            train, labels = np.arange(len(order)) < n_train, y[order]
            kept = np.isin(labels, np.flatnonzero(np.bincount(labels[train]) >= LEAST_OF_CLASS))
            for choice, points in gains(X[order][kept], labels[kept], train[kept], rng):
                found[choice][name].append(points)
                print(name, half, choice, f"{points:+.2f}", flush=True)
    lines = ["| choice | sets | points | standard error | better / worse | p |", "|---|---|---|---|---|---|"]
    for choice, sets in found.items():
        points = np.array([np.mean(own) for own in sets.values()])
        error, p = points.std(ddof=1) / np.sqrt(len(points)), wilcoxon(points).pvalue
        record = f"{(points > 0.05).sum()} / {(points < -0.05).sum()}"
        lines.append(f"| {choice} | {len(points)} | {points.mean():+.2f} | {error:.2f} | {record} | {p:.3f} |")
    print(*lines, sep="\n")
    if options.write:
        command = f"`python benchmarks/tables.py --rows {options.rows} --halves {options.halves} --write`"
        about = "Means over the sets of what accuracy gains on rows not seen, in points; p is Wilcoxon's."
        common.write_section(
            "tables",
            "\n".join(["## Encoding of tables", "", f"{command}: {common.provenance()}", "", about, "", *lines]),
        )


if __name__ == "__main__":
    main()
