"""How optimistic scores of a search are: labels are coin tosses, so that every model has .5 on new rows.

`best_score_` is the largest of many cross-validated scores. `oof_score_` is that of the average of the near-best on the rows that
each fold holds out. The control tries the same members with scikit-learn's GridSearchCV, where units (standard deviations, ranks)
are those of the training part of a fold; `AutoSVM` takes them over all rows before it makes the folds, and never sees labels there.

    python benchmarks/noise.py [--repeats 200] [--jobs 2]
"""

from __future__ import annotations

import argparse
import warnings
from functools import partial

import common
import numpy as np
from joblib import Parallel, delayed
from sklearn.base import BaseEstimator, TransformerMixin
from sklearn.metrics.pairwise import laplacian_kernel
from sklearn.model_selection import GridSearchCV, cross_val_score
from sklearn.pipeline import Pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin import FSVM, FSVMCV, AutoSVM
from radiusmargin.features.units import Ranks

NEW_ROWS = 1000
DATA = {
    "100 x 5, normal": lambda rng, extra: rng.normal(size=(100 + extra, 5)),
    "60 x 20, heavy tails (Student, 1.5 degrees)": lambda rng, extra: rng.standard_t(1.5, size=(60 + extra, 20)),
}
SEARCHES = {"FSVMCV()": FSVMCV(race=False), "AutoSVM()": AutoSVM(race=False)}
MEASURES = ("best_score_", "control", "oof_score_", "nested", "new rows", "majority")


class RankUnits(TransformerMixin, BaseEstimator):
    """The units of "laplacian-ranks", from the rows of a training part."""

    def fit(self, X, y=None):
        self.ranks_ = Ranks.of(X, np.ones(len(X)))
        return self

    def transform(self, X):
        return self.ranks_.rows(X)


def as_pipeline_steps(params):
    """What one member of a search is in a pipeline of scikit-learn."""
    kernel, C, gamma = params.get("kernel", "linear"), params["C"], params.get("gamma")
    if kernel == "linear":  # standardises and whitens by itself, on the rows that it is fitted to
        return {"units": ["passthrough"], "svm": [FSVM(C=C, whitening=params["whitening"])]}
    name = kernel.removesuffix("-ranks")
    units = StandardScaler() if name == kernel else RankUnits()
    svm = SVC(C=C, gamma=gamma) if name == "rbf" else SVC(C=C, kernel=partial(laplacian_kernel, gamma=gamma))
    return {"units": [units], "svm": [svm]}


def run(data, search, seed):
    """One value for each of MEASURES."""
    warnings.simplefilter("ignore")
    rng = np.random.default_rng(seed)
    X = DATA[data](rng, NEW_ROWS)
    y = rng.integers(0, 2, len(X))
    X, new, y, new_y = X[:-NEW_ROWS], X[-NEW_ROWS:], y[:-NEW_ROWS], y[-NEW_ROWS:]
    model = SEARCHES[search].fit(X, y)
    pipeline = Pipeline([("units", "passthrough"), ("svm", SVC())])
    grid = [as_pipeline_steps(params) for params in model.cv_results_["params"]]
    control = GridSearchCV(pipeline, grid, refit=False).fit(X, y)
    nested = cross_val_score(SEARCHES[search], X, y).mean()
    majority = max(y.mean(), 1 - y.mean())
    return model.best_score_, control.best_score_, model.oof_score_, nested, model.score(new, new_y), majority


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
        "rows", "search", "`best_score_`", "GridSearchCV on the same grid", "difference", "`oof_score_`",
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
