"""The first model on a table: AutoSVM beside what people try first, with the same rows and nothing tuned by hand.

All classes of at least ten rows; a random half of a set, at most `--rows` of it, is learnt from, the rest (at most 4,000
rows) is predicted. Sets, halves and the statistic were fixed before the first run. Every second set in the alphabet was
there for choosing AutoSVM's defaults (benchmarks/auto_choices.py); the table of the others is the one that counts. Weights of kernels were chosen on another half, with
11 of these others (benchmarks/kernel_weights.py). Sets are left out on which a method was not run.

    RADIUSMARGIN_DATA=... python benchmarks/accuracy.py run [--rows 400] [--halves 3] [--methods ...] [--again] --store cells.jsonl
    RADIUSMARGIN_DATA=... python benchmarks/accuracy.py memory --store cells.jsonl
    python benchmarks/accuracy.py table --store cells.jsonl

A cell that is in the store is not run again, except with `--again`: rivals are measured once, AutoSVM after every change.
LightGBM, XGBoost and CatBoost are left out where they are not installed.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
import zlib
from collections import defaultdict
from pathlib import Path

import common
import numpy as np
from sklearn.ensemble import ExtraTreesClassifier, HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegressionCV
from sklearn.metrics import log_loss, roc_auc_score
from sklearn.model_selection import GridSearchCV, train_test_split
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin import AutoSVM
from radiusmargin.paper import data as datasets
from radiusmargin.tables.task import DataError

# Two parts in different units were joined in these files: no protocol makes sense on them.
BROKEN = {"annealing", "horse-colic", "image-segmentation", "soybean", "monks-1", "monks-2", "spectf"}
# The same rows and classes as in another group.
TWICE = {
    "uci/breast_cancer", "uci/diabetes", "uci/german", "uci/heart", "uci/ringnorm", "uci/twonorm", "uci/waveform",
    "uci_zscored/breast-cancer", "uci_zscored/pima", "uci_zscored/statlog-german-credit", "uci_zscored/titanic",
}  # fmt: skip
SMALLEST_CLASS, MOST_CLASSES, MOST_TESTED = 10, 30, 4000
OURS = "AutoSVM"
MEMORY_SET = "uci_zscored/adult"


def xgboost():
    from xgboost import XGBClassifier

    return XGBClassifier(n_jobs=1, random_state=0)


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def catboost():
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)


class Grid:
    """GridSearchCV(SVC) over six C and five gammas that are multiples of one over the number of features."""

    def fit(self, X, y):
        grid = {"svc__C": np.logspace(-2, 3, 6), "svc__gamma": np.array([0.03, 0.1, 0.3, 1, 3]) / X.shape[1]}
        self.search = GridSearchCV(make_pipeline(StandardScaler(), SVC()), grid, cv=5).fit(X, y)
        return self

    def predict(self, X):
        return self.search.predict(X)


METHODS = {
    OURS: lambda: AutoSVM(probability=True),
    "LogisticRegressionCV": lambda: make_pipeline(StandardScaler(), LogisticRegressionCV(max_iter=1000)),
    "GridSearchCV(SVC)": Grid,
    "RandomForest, 500": lambda: RandomForestClassifier(500, random_state=0),
    "ExtraTrees, 500": lambda: ExtraTreesClassifier(500, random_state=0),
    "HistGradientBoosting": lambda: HistGradientBoostingClassifier(random_state=0),
    "XGBoost": xgboost,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
}


def tasks():
    """(name, X, classes as numbers) of every set with two classes that are large enough."""
    for found in datasets.list_datasets():
        if (
            found.group not in ("ida", "uci", "uci_zscored")
            or found.name in TWICE
            or found.name.split("/")[1] in BROKEN
        ):
            continue
        try:
            task = datasets.load(found.name)
        except DataError as error:
            print(f"{found.name}: left out ({str(error).splitlines()[0]})")
            continue
        yield found.name, np.asarray(task.X, dtype=float), np.unique(task.y, return_inverse=True)[1]


def half(name, X, y, repeat, n_rows):
    """(training X, y, test X, y) of a random half; None where a set is too small or has too many classes."""
    seed = zlib.crc32(f"{name} {repeat}".encode()) % 2**31
    order = np.random.default_rng(seed).permutation(len(y))
    part = order[: 2 * n_rows]
    kept = np.flatnonzero(np.bincount(y[part], minlength=y.max() + 1) >= SMALLEST_CLASS)
    part = part[np.isin(y[part], kept)]
    if not 2 <= len(kept) <= MOST_CLASSES:
        return None
    train, test = train_test_split(part, test_size=0.5, stratify=y[part], random_state=seed)
    rest = order[2 * n_rows :]
    test = np.concatenate([test, rest[np.isin(y[rest], kept)]])[:MOST_TESTED]
    spread = X[train].std(axis=0) > 0
    labels = np.searchsorted(kept, y)
    return X[train][:, spread], labels[train], X[test][:, spread], labels[test]


def measure(make, parts):
    X, y, unseen, truth = parts
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        start = time.process_time()
        model = make().fit(X, y)
        fitted = time.process_time()
        right = np.ravel(model.predict(unseen)) == truth
        cell = {"accuracy": float(right.mean()), "fit": fitted - start, "predict": time.process_time() - fitted}
        if hasattr(model, "predict_proba"):
            chances = np.clip(model.predict_proba(unseen), 1e-15, 1)
            labels = np.arange(y.max() + 1)
            cell["log_loss"] = float(log_loss(truth, chances / chances.sum(axis=1, keepdims=True), labels=labels))
            cell["brier"] = float(((chances - np.eye(len(labels))[truth]) ** 2).sum(axis=1).mean())
            cell["auc"] = area(truth, chances)
    return cell


def area(truth, chances):
    """Area under the ROC curve; of several classes the mean over those that occur, each against the rest."""
    occur = [
        k for k in range(1 if chances.shape[1] == 2 else 0, chances.shape[1]) if 0 < (truth == k).sum() < len(truth)
    ]
    return float(np.mean([roc_auc_score(truth == k, chances[:, k]) for k in occur]))


def run(args):
    store = Path(args.store)
    done = set() if args.again else {tuple(cell["key"]) for cell in read(store)}
    for name, X, y in tasks():
        for repeat in range(args.halves):
            if args.rows > 400 and len(y) < 2 * args.rows:
                continue
            parts = half(name, X, y, repeat, args.rows)
            for method in args.methods if parts else ():
                key = (method, name, args.rows, repeat)
                if key in done:
                    continue
                try:
                    cell = measure(METHODS[method], parts)
                except ImportError as error:
                    print(f"{method}: left out ({error})")
                    continue
                with store.open("a") as file:
                    file.write(json.dumps({"key": key, **cell}) + "\n")
                print(*key, {k: round(v, 4) for k, v in cell.items()}, flush=True)


def memory(args):
    """Megabytes by which fitting raises the peak of a fresh process, on the sets of the largest size."""
    with Path(args.store).open("a") as file:
        for rows in (400, 4000):
            for method in args.methods:
                command = [
                    sys.executable,
                    __file__,
                    "alone",
                    "--store",
                    args.store,
                    "--rows",
                    str(rows),
                    "--methods",
                    method,
                ]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode == 0:
                    file.write(json.dumps({"key": ["memory", method, rows], "raised": float(done.stdout)}) + "\n")


def alone(args):
    """In a process of its own, what `memory` asks for of one method."""
    X, y, *_ = half(MEMORY_SET, *next(data[1:] for data in tasks() if data[0] == MEMORY_SET), 0, args.rows)
    make = METHODS[args.methods[0]]
    warnings.simplefilter("ignore")
    make().fit(X[:60], y[:60])  # what is loaded with the first fit
    common.forget_peak()
    before = common.peak()
    make().fit(X, y)
    print(common.peak() - before)


def read(store):
    """The cells of a store, of each key the last one."""
    cells = map(json.loads, store.read_text().splitlines()) if store.exists() else ()
    return list({tuple(cell["key"]): cell for cell in cells}.values())


# -- Tables -----------------------------------------------------------------------------------------------------------


def means(cells, rows):
    """{measure: (sets, methods, array)} over the halves that every method has."""
    by_set = defaultdict(lambda: defaultdict(dict))
    for cell in cells:
        method, name, n, repeat = cell["key"]
        if n == rows:
            by_set[name][repeat][method] = cell
    methods = [m for m in METHODS if any(m in c for halves in by_set.values() for c in halves.values())]
    names, table = [], []
    for name, halves in sorted(by_set.items()):
        whole = [c for c in halves.values() if all(m in c for m in methods)]
        if whole:
            names.append(name)
            table.append(
                [
                    [
                        np.mean([c[m].get(k, np.nan) for c in whole])
                        for k in ("accuracy", "fit", "log_loss", "brier", "auc")
                    ]
                    for m in methods
                ]
            )
    return names, methods, np.array(table)


def ranking(methods, table):
    """Accuracy and log-loss of every method with ranks and records of ours, seconds, Brier score and area under the curve."""
    accuracy, seconds, loss = list(table[..., 0].T), table[..., 1], list(-table[..., 2].T)
    ranks, own, out = common.mean_ranks(table[..., 0]), methods.index(OURS), []
    for k, name in enumerate(methods):
        beaten = common.record(loss[own], loss[k]) if np.isfinite(loss[k]).all() else ("", "")
        out.append([
            name, f"{100 * accuracy[k].mean():.2f}", f"{ranks[k]:.2f}", *common.record(accuracy[own], accuracy[k]),
            f"{np.median(seconds[:, k]):.2f} / {seconds[:, k].mean():.2f}", _number(-loss[k].mean()), *beaten,
            _number(table[:, k, 3].mean()), _number(table[:, k, 4].mean()),
        ])  # fmt: skip
    header = [
        "method", "mean accuracy", f"mean rank of {len(methods)}", f"{OURS} wins/ties/losses", "Wilcoxon p",
        "CPU s to fit, median / mean", "log-loss", "its wins/ties/losses", "its p", "Brier", "AUC",
    ]  # fmt: skip
    return common.table(header, out)


def extremes(names, methods, table, rival="RandomForest, 500", count=4):
    """The sets on which a rival is furthest behind and ahead, in points."""
    points = 100 * (table[:, methods.index(OURS), 0] - table[:, methods.index(rival), 0])
    order = np.argsort(points)
    told = [", ".join(f"{names[i]} {points[i]:+.1f}" for i in some) for some in (order[:count], order[::-1][:count])]
    return f"\n\n{OURS} less {rival}, in points: {told[0]}; {told[1]}."


def _number(value):
    return "" if np.isnan(value) else f"{value:.3f}"


def tables(args):
    cells = read(Path(args.store))
    measured = {tuple(c["key"][1:]): c["raised"] for c in cells if c["key"][0] == "memory"}
    cells = [c for c in cells if c["key"][0] != "memory"]
    sizes = sorted({cell["key"][2] for cell in cells})
    halves = 1 + max(cell["key"][3] for cell in cells)
    title = ": ".join(["The first model on a table", *args.section.split("-")[2:]])
    text = (
        f"## {title}\n\n`python benchmarks/accuracy.py run --rows {' | '.join(map(str, sizes))} --halves "
        f"{halves}`, then `table`; {common.provenance()}\n\n{__doc__.split(chr(10) * 2)[1]} A tie is a tie of mean accuracies; "
        "p is two-sided and uncorrected. Log-loss and the Brier score are those of methods with probabilities as they come."
    )
    for rows in sizes:
        names, methods, table = means(cells, rows)
        if not len(names):
            continue
        order = sorted(n for n, _, _ in tasks())
        other = np.array([order.index(n) % 2 == 1 for n in names])
        text += f"\n\n### At most {rows} training rows: {len(names)} sets\n\n" + ranking(methods, table)
        text += f"\n\nThe {other.sum()} sets on which nothing was chosen:\n\n" + ranking(methods, table[other])
        text += extremes(names, methods, table)
    if measured:
        rows = [[m, *(f"{measured[m, n]:.0f} MB" for n in (400, 4000))] for m in METHODS if (m, 400) in measured]
        text += f"\n\n### Memory\n\nMegabytes by which fitting raises the peak of a fresh process, {MEMORY_SET}, one half:\n\n"
        text += common.table(["method", "400 rows", "4,000 rows"], rows)
    common.write_section(args.section, text)
    print(text)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("run", "memory", "alone", "table"))
    parser.add_argument("--store", required=True)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--halves", type=int, default=3)
    parser.add_argument("--methods", nargs="+", choices=list(METHODS), default=list(METHODS))
    parser.add_argument("--again", action="store_true")
    parser.add_argument("--section", default="first-model")
    args = parser.parse_args()
    {"run": run, "memory": memory, "alone": alone, "table": tables}[args.action](args)


if __name__ == "__main__":
    main()
