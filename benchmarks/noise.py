"""How optimistic scores of a search are: labels are coin tosses, so that every model has .5 on new rows.

`best_score_` is the largest of many cross-validated scores. `oof_score_` is that of the average of the near-best on the rows that
each fold holds out. The control is a grid search over the same members with scikit-learn's SVC (FSVM for linear members), where units
(standard deviations, ranks) are those of the training part of a fold; `AutoSVM` takes them over all rows before it makes the folds.

    python benchmarks/noise.py [--repeats 200] [--jobs 2]
"""

from __future__ import annotations

import argparse
import warnings

import common
import numpy as np
from joblib import Parallel, delayed
from sklearn.metrics.pairwise import pairwise_kernels
from sklearn.model_selection import StratifiedKFold, cross_val_score
from sklearn.svm import SVC

from radiusmargin import FSVM, FSVMCV, AutoSVM
from radiusmargin.estimators.features import Ranks, Standard

NEW_ROWS = 1000
DATA = {
    "100 x 5, normal": lambda rng, extra: rng.normal(size=(100 + extra, 5)),
    "60 x 20, heavy tails (Student, 1.5 degrees)": lambda rng, extra: rng.standard_t(1.5, size=(60 + extra, 20)),
}
SEARCHES = {"FSVMCV()": FSVMCV(race=False), "AutoSVM()": AutoSVM(race=False)}
MEASURES = ("best_score_", "control", "oof_score_", "nested", "new rows", "majority")


def control(members, X, y):
    """The best mean score of some members, each fitted by itself, on folds whose units are those of their training part."""
    scores = []
    for train, test in StratifiedKFold(5).split(X, y):
        weight, values = np.ones(len(train)), {}
        units = {"": Standard.of(X[train], weight), "-ranks": Ranks.of(X[train], weight)}
        scores.append([fitted_score(member, (X, y, train, test), units, values) for member in members])
    return np.mean(scores, axis=0).max()


def fitted_score(member, split, units, values):
    """The accuracy of one member on the held-out rows; `values` keeps the kernel matrix of a gamma for its other Cs."""
    (X, y, train, test), kernel, gamma = split, member.get("kernel", "linear"), member.get("gamma")
    if kernel == "linear":  # standardises and whitens by itself, on the rows that it is fitted to
        return FSVM(C=member["C"], whitening=member["whitening"]).fit(X[train], y[train]).score(X[test], y[test])
    if (kernel, gamma) not in values:
        name, ranks, _ = kernel.partition("-ranks")
        rows = units[ranks].rows(X)
        values[kernel, gamma] = pairwise_kernels(rows, rows[train], metric=name, gamma=gamma)
    K = values[kernel, gamma]
    return SVC(C=member["C"], kernel="precomputed").fit(K[train], y[train]).score(K[test], y[test])


def run(data, search, seed):
    """One value for each of MEASURES."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X = DATA[data](rng, NEW_ROWS)
    y = rng.integers(0, 2, len(X))
    X, new, y, new_y = X[:-NEW_ROWS], X[-NEW_ROWS:], y[:-NEW_ROWS], y[-NEW_ROWS:]
    model = SEARCHES[search].fit(X, y)
    nested = cross_val_score(SEARCHES[search], X, y).mean()
    majority = max(y.mean(), 1 - y.mean())
    return (
        model.best_score_,
        control(model.cv_results_["params"], X, y),
        model.oof_score_,
        nested,
        model.score(new, new_y),
        majority,
    )


def row(data, search, values):
    mean, error = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
    leak = values[:, 0] - values[:, 1]
    cells = [f"{m:.3f} ± {e:.3f}" for m, e in zip(mean, error, strict=True)]
    cells.insert(2, f"{leak.mean():+.4f} ± {leak.std(ddof=1) / np.sqrt(len(leak)):.4f}")
    return [data, f"`{search}`", *cells]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--repeats", type=int, default=200)
    parser.add_argument("--jobs", type=int, default=2)
    options = parser.parse_args()
    rows = []
    for data in DATA:
        for search in SEARCHES:
            found = Parallel(options.jobs)(delayed(run)(data, search, seed) for seed in range(options.repeats))
            rows.append(row(data, search, np.array(found)))
            print(*rows[-1], sep=" | ", flush=True)
    header = [
        "rows", "search", "`best_score_`", "control: units by fold", "difference", "`oof_score_`",
        "5 folds around the search", f"{NEW_ROWS:,} new rows", "majority class",
    ]  # fmt: skip
    text = (
        f"## Scores of a search on labels that are coin tosses\n\n`python benchmarks/noise.py --repeats {options.repeats}`: "
        f"{common.provenance()}\n\nMeans over {options.repeats} draws of rows and labels, with their standard errors; "
        f"`race=False`, so that all members have all scores. "
        f"{__doc__.split(chr(10) * 2)[1]}\n\n" + common.table(header, rows)
    )
    common.write_section("noise", text)


if __name__ == "__main__":
    main()
