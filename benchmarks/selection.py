"""Choosing C, and gamma of a kernel: FSVMCV against grid searches and LogisticRegressionCV, on the same folds and grids.

python benchmarks/selection.py [linear | kernels | defaults]
"""

from __future__ import annotations

import sys
import warnings

import common
import numpy as np
from sklearn.linear_model import LogisticRegressionCV
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from radiusmargin import FSVMCV
from radiusmargin.paper import data as datasets

Cs = np.logspace(-3, 2, 10)
SETS = [f"ida/{name}" for name in ("heart", "german", "diabetis", "breast-cancer", "image")]


def contenders(X, y, slow):
    folds = StratifiedKFold(10, shuffle=True, random_state=0)
    one = {"Cs": Cs, "cv": folds, "scatter": "total", "combine": "best"}
    runs = {
        "FSVMCV, C only": lambda: FSVMCV(whitening=0.0, **one).fit(X, y),
        "FSVMCV, C and whitening": lambda: FSVMCV(**one).fit(X, y),
        "LogisticRegressionCV": lambda: make_pipeline(
            StandardScaler(),
            LogisticRegressionCV(Cs=Cs, cv=folds, max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False),
        ).fit(X, y),
        "GridSearchCV(LinearSVC)": lambda: GridSearchCV(
            make_pipeline(StandardScaler(), LinearSVC(loss="hinge", random_state=0)),
            {"linearsvc__C": Cs},
            cv=folds,
        ).fit(X, y),
    }
    if slow:
        runs["GridSearchCV(SVC linear)"] = lambda: GridSearchCV(
            make_pipeline(StandardScaler(), SVC(kernel="linear", max_iter=200_000)), {"svc__C": Cs}, cv=folds
        ).fit(X, y)
    return runs


def linear():
    X, y = datasets.make_twonorm(270, 13, random_state=0)
    X2, y2 = datasets.make_waveform(270, binary=True, random_state=0)
    problems = [("twonorm", X, y), ("waveform", X2, y2), *common.real_sets(SETS)]
    rows = []
    for name, X, y in problems:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times = common.interleaved(contenders(X, y, slow=len(X) <= 1000), 20)
        ours = times["FSVMCV, C only"]
        row = [
            f"{name} ({len(X):,} x {X.shape[1]})",
            common.human(ours),
            common.human(times["FSVMCV, C and whitening"]),
        ]
        for label in ("LogisticRegressionCV", "GridSearchCV(LinearSVC)", "GridSearchCV(SVC linear)"):
            row.append(f"{common.human(times[label])} = {times[label] / ours:.0f}x" if label in times else "—")
        print(" | ".join(row), flush=True)
        rows.append(row)
    header = [
        "data",
        "FSVMCV, C only",
        "FSVMCV, C and whitening",
        "LogisticRegressionCV",
        "GridSearchCV(LinearSVC)",
        "GridSearchCV(SVC linear)",
    ]
    text = (
        f"## Choosing C: 10 folds x 10 values\n\n`python benchmarks/selection.py`: {common.provenance()}\n\n"
        "All on one thread with the same folds; the others standardise in a pipeline, as they must. Ratios are against FSVMCV over C only.\n"
        "Interleaved, the minimum of twenty runs; what takes over two seconds runs once.\n\n"
        + common.table(header, rows)
    )
    common.write_section("selection", text)


def kernels():
    grid = {"C": np.logspace(-2, 3, 6)}
    rows = []
    for name, X, y in common.real_sets(["ida/waveform", "ida/german", "ida/image"]):
        grid["gamma"] = [g / X.shape[1] for g in (0.1, 0.3, 1.0, 3.0)]
        order = np.random.default_rng(0).permutation(len(X))
        for n in (200, 400, 1000):
            Z, labels, folds = X[order[:n]], y[order[:n]], StratifiedKFold(5, shuffle=True, random_state=0)
            one = {"Cs": grid["C"], "gamma": grid["gamma"], "kernel": "rbf", "cv": folds}
            runs = {
                "ours": lambda Z=Z, labels=labels, one=one: FSVMCV(**one).fit(Z, labels),
                "three": lambda Z=Z, labels=labels, one=one: FSVMCV(whitening=(0, 0.25, 0.5), **one).fit(Z, labels),
                "SVC": lambda Z=Z, labels=labels, f=folds, g=dict(grid): GridSearchCV(SVC(), g, cv=f).fit(Z, labels),
            }
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                times = common.interleaved(runs, 5)
            svc = times["SVC"]
            rows.append(
                [f"{name} ({n:,} x {X.shape[1]})", common.human(svc)]
                + [f"{common.human(times[key])} = {svc / times[key]:.1f}x" for key in ("ours", "three")]
            )
            print(" | ".join(rows[-1]), flush=True)
    text = (
        f"## Choosing C and gamma: 5 folds x 6 x 4 values\n\n`python benchmarks/selection.py kernels`: {common.provenance()}\n\n"
        "Gaussian kernels on standardised features, one thread, the same folds. Interleaved, the minimum of five runs.\n\n"
        + common.table(["data", "GridSearchCV(SVC)", "FSVMCV", "FSVMCV, exponents 0, 1/4, 1/2"], rows)
    )
    common.write_section("selection-kernels", text)


DEFAULTS = (
    [f"ida/{name}" for name in ("german", "image", "splice", "twonorm", "ringnorm", "waveform")]
    + ["uci/splice", "sklearn/digits"]
    + [
        f"uci_zscored/{name}"
        for name in (
            "adult", "annealing", "cardiotocography-3clases", "chess-krvk", "conn-bench-vowel-deterding", "dermatology",
            "mushroom", "ozone", "page-blocks", "pendigits", "plant-margin", "plant-shape", "primary-tumor", "soybean",
            "spambase", "statlog-german-credit", "statlog-shuttle", "steel-plates", "waveform-noise",
            "wine-quality-white", "yeast",
        )
    ]
)  # fmt: skip
FEWEST = 5  # rows of a class


def defaults():
    """Both as they come, on all classes: half of the rows, as many as there are folds of a class at least."""
    rows, ratios = [], []
    for name, task in common.loaded(DEFAULTS):
        order = np.random.default_rng(0).permutation(len(task.y))[: len(task.y) // 2]
        X, y = np.asarray(task.X, dtype=float)[order], np.asarray(task.y)[order]
        classes, counts = np.unique(y, return_counts=True)
        kept = np.isin(y, classes[counts >= FEWEST])
        X, y = X[kept], y[kept]
        runs = {
            "ours": lambda X=X, y=y: FSVMCV(random_state=0).fit(X, y),
            "whole": lambda X=X, y=y: FSVMCV(random_state=0, race=False).fit(X, y),
            "logistic": lambda X=X, y=y: make_pipeline(
                StandardScaler(), LogisticRegressionCV(max_iter=1000, l1_ratios=(0,), use_legacy_attributes=False)
            ).fit(X, y),
        }
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            times = common.interleaved(runs, 5)
        ratios.append(times["logistic"] / times["ours"])
        rows.append(
            [f"{name} ({X.shape[0]:,} x {X.shape[1]})", len(np.unique(y))]
            + [common.human(times[key]) for key in ("ours", "whole", "logistic")]
            + [f"{ratios[-1]:.2f}x"]
        )
        print(" | ".join(map(str, rows[-1])), flush=True)
    text = (
        f"## As they come: FSVMCV() and LogisticRegressionCV()\n\n`python benchmarks/selection.py defaults`: {common.provenance()}\n\n"
        "Half of the rows, all classes of five rows or more, one thread; both choose among ten C or more by five folds, FSVMCV\n"
        "also between two exponents of whitening where columns are few, with classes in pairs; the other standardises in a pipeline.\n"
        f"Interleaved, the minimum of five runs; what takes over two seconds runs once. LogisticRegressionCV takes {np.median(ratios):.1f}x in the median, less than we do on "
        f"{sum(r < 1 for r in ratios)} of {len(ratios)}.\n\n"
        + common.table(
            ["data", "classes", "FSVMCV()", "race=False", "LogisticRegressionCV()", "against FSVMCV()"], rows
        )
    )
    common.write_section("selection-defaults", text)


if __name__ == "__main__":
    parts = {"linear": linear, "kernels": kernels, "defaults": defaults}
    for part in sys.argv[1:] or parts:
        parts[part]()
