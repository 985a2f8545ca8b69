"""The first model for a quantity: AutoSVR beside what people try first, with the same rows and nothing tuned by hand.

A random half of a table, at most `--rows` of it, is learnt from, the rest (at most 4,000 rows) is predicted. AutoSVR gets the
table as it is; for the others `TableEncoder` fills gaps with medians and makes indicators of categories. Tables
(`benchmarks/regression_tables.py`), halves and the statistic were fixed before the first run. Every second table in the
alphabet, from the first, was there for choosing AutoSVR's defaults; the table of the others is the one that counts.

    RADIUSMARGIN_DATA=... python benchmarks/regression.py run [--rows 400] [--halves 1] [--methods ...] --store cells.jsonl
    python benchmarks/regression.py table --store cells.jsonl

A cell that is in the store is not run again. CatBoost, LightGBM and XGBoost are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import json
import time
import warnings
import zlib
from collections import defaultdict
from pathlib import Path

import common
import numpy as np
from regression_tables import tables
from sklearn.ensemble import ExtraTreesRegressor, HistGradientBoostingRegressor, RandomForestRegressor
from sklearn.linear_model import RidgeCV
from sklearn.model_selection import GridSearchCV
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVR

from radiusmargin import AutoSVR, TableEncoder

MOST_TESTED = 4000
OURS = "AutoSVR"
COVERAGES = (0.5, 0.8, 0.9, 0.95)


class Grid:
    """GridSearchCV(SVR) over four C, five gammas that are multiples of one over the number of features, and two epsilon."""

    def fit(self, X, y):
        self.mean, self.scale = y.mean(), y.std()
        gammas = np.array([0.03, 0.1, 0.3, 1, 3]) / X.shape[1]
        grid = {"svr__C": np.logspace(-1, 2, 4), "svr__gamma": gammas, "svr__epsilon": [0.03, 0.2]}
        self.search = GridSearchCV(make_pipeline(StandardScaler(), SVR()), grid, cv=5)
        self.search.fit(X, (y - self.mean) / self.scale)
        return self

    def predict(self, X):
        return self.mean + self.scale * self.search.predict(X)


def catboost():
    from catboost import CatBoostRegressor

    return CatBoostRegressor(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)


def lightgbm():
    from lightgbm import LGBMRegressor

    return LGBMRegressor(n_jobs=1, random_state=0, verbose=-1)


def xgboost():
    from xgboost import XGBRegressor

    return XGBRegressor(n_jobs=1, random_state=0)


METHODS = {
    OURS: AutoSVR,
    "RidgeCV": lambda: make_pipeline(StandardScaler(), RidgeCV(np.logspace(-3, 4, 15))),
    "GridSearchCV(SVR)": Grid,
    "RandomForest, 500": lambda: RandomForestRegressor(500, random_state=0),
    "ExtraTrees, 500": lambda: ExtraTreesRegressor(500, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingRegressor(random_state=0),
    "XGBoost": xgboost,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
}


def half(name, y, repeat, n_rows):
    """Training and test rows of a random half."""
    order = np.random.default_rng(zlib.crc32(f"{name} {repeat}".encode())).permutation(len(y))
    n = min(n_rows, len(y) // 2)
    return order[:n], order[n : n + MOST_TESTED]


def measure(make, parts):
    X, y, unseen, truth = parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = make().fit(X, y)
        fitted = time.process_time()
        error = truth - np.ravel(model.predict(unseen))
        cell = {"fit": fitted - start, "predict": time.process_time() - fitted}
    cell["r2"] = float(1 - (error**2).mean() / truth.var())
    cell["mae"] = float(np.abs(error).mean() / np.abs(truth - np.median(truth)).mean())
    if hasattr(model, "prediction_interval"):
        for coverage in COVERAGES:
            low, high = model.prediction_interval(unseen, coverage).T
            cell[f"covered {coverage}"] = float(((low <= truth) & (truth <= high)).mean())
    return cell


def run(args):
    store = Path(args.store)
    done = {tuple(cell["key"]) for cell in read(store)}
    for number, (name, frame, y) in enumerate(tables()):
        if number % 2 != args.part and args.part is not None:
            continue
        for repeat in range(args.halves if args.rows <= 400 or len(y) >= 2 * args.rows else 0):
            train, test = half(name, y, repeat, args.rows)
            encoded = None
            for method in args.methods:
                key = (method, name, args.rows, repeat)
                if key in done:
                    continue
                if encoded is None:
                    encoder = TableEncoder().fit(frame.iloc[train])
                    encoded = [encoder.transform(frame.iloc[part]) for part in (train, test)]
                X, unseen = (frame.iloc[train], frame.iloc[test]) if method == OURS else encoded
                try:
                    cell = measure(METHODS[method], (X, y[train], unseen, y[test]))
                except ImportError as error:
                    print(f"{method}: left out ({error})")
                    continue
                with store.open("a") as file:
                    file.write(json.dumps({"key": key, **cell}) + "\n")
                print(*key, {k: round(v, 4) for k, v in cell.items()}, flush=True)


def read(store):
    return [json.loads(line) for line in store.read_text().splitlines()] if store.exists() else []


# -- Tables -----------------------------------------------------------------------------------------------------------


def means(cells, rows):
    """(names of tables, methods, array (tables, methods, (r2, mae, fit))) over the halves that every method has."""
    found = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        method, name, n, repeat = cell["key"]
        if n == rows:
            found[name][repeat][method] = cell
    methods = [m for m in METHODS if any(m in c for halves in found.values() for c in halves.values())]
    names, table = [], []
    for name, halves in sorted(found.items(), key=lambda item: item[0].lower()):
        whole = [c for c in halves.values() if all(m in c for m in methods)]
        if whole:
            names.append(name)
            table.append([[np.mean([c[m][k] for c in whole]) for k in ("r2", "mae", "fit")] for m in methods])
    return names, methods, np.array(table)


def ranking(methods, table):
    """R2, MAE, ranks, wins/ties/losses of ours and Wilcoxon's p, and seconds of every method. R2 below -1 counts as -1."""
    r2, mae, seconds = np.maximum(table[..., 0], -1.0), table[..., 1], table[..., 2]
    ranks, mae_ranks, ours, out = common.mean_ranks(r2), common.mean_ranks(-mae), methods.index(OURS), []
    for k, name in enumerate(methods):
        record = common.record(r2[:, ours], r2[:, k]) if k != ours else ("", "")
        out.append([
            name, f"{r2[:, k].mean():.3f}", f"{np.median(r2[:, k]):.3f}", f"{ranks[k]:.2f}", *record,
            f"{mae[:, k].mean():.3f}", f"{mae_ranks[k]:.2f}", f"{np.median(seconds[:, k]):.2f} / {seconds[:, k].mean():.2f}",
        ])  # fmt: skip
    header = [
        "method", "mean R2", "median R2", f"mean rank of {len(methods)}", f"{OURS} wins/ties/losses", "Wilcoxon p",
        "relative MAE", "its mean rank", "CPU s to fit, median / mean",
    ]  # fmt: skip
    return common.table(header, out)


def coverage(cells, rows):
    """How many of the new targets the intervals contain, on average over the tables and on the middle half of them."""
    ours = [cell for cell in cells if cell["key"][0] == OURS and cell["key"][2] == rows]
    found = []
    for nominal in COVERAGES:
        shares = 100 * np.array([cell[f"covered {nominal}"] for cell in ours])
        low, high = np.quantile(shares, [0.25, 0.75])
        found.append([f"{100 * nominal:g} %", f"{shares.mean():.1f} %", f"{low:.1f} to {high:.1f} %"])
    return common.table(["nominal", "covered, mean", "middle half of the tables"], found)


def extremes(names, methods, table, rival="CatBoost", count=4):
    """The tables on which a rival is furthest behind and ahead in R2."""
    if rival not in methods:
        return ""
    difference = table[:, methods.index(OURS), 0] - table[:, methods.index(rival), 0]
    order = np.argsort(difference)
    told = [
        ", ".join(f"{names[i]} {difference[i]:+.3f}" for i in some) for some in (order[:count], order[::-1][:count])
    ]
    return f"\n\n{OURS} less {rival}, in R2: {told[0]}; {told[1]}."


def write_tables(args):
    cells = read(Path(args.store))
    sizes = sorted({cell["key"][2] for cell in cells})
    halves = 1 + max(cell["key"][3] for cell in cells)
    text = (
        f"## The first model for a quantity\n\n`python benchmarks/regression.py run --rows {' | '.join(map(str, sizes))} --halves "
        f"{halves}`, then `table`; {common.provenance()}\n\n{__doc__.split(chr(10) * 2)[1]} Relative MAE is that over the mean "
        "distance from the median of the test targets; p is two-sided and uncorrected."
    )
    for rows in sizes:
        names, methods, table = means(cells, rows)
        if not len(names):
            continue
        order = [name for name, _, _ in tables()]
        other = np.array([order.index(name) % 2 == 1 for name in names])
        text += f"\n\n### At most {rows:,} training rows: {len(names)} tables\n\n" + ranking(methods, table)
        if other.any():
            text += f"\n\nThe {other.sum()} tables on which nothing was chosen:\n\n" + ranking(methods, table[other])
        text += extremes(names, methods, table)
        text += f"\n\nIntervals of {OURS}:\n\n" + coverage(cells, rows)
    if args.write:
        common.write_section("regression", text)
    print(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--store", required=True)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--halves", type=int, default=1)
    parser.add_argument("--part", type=int, choices=(0, 1), help="0: the tables for choosing, 1: the others")
    parser.add_argument("--write", action="store_true", help="write the section of RESULTS.md")
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    args = parser.parse_args()
    {"run": run, "table": write_tables}[args.action](args)


if __name__ == "__main__":
    main()
