"""AutoSVM from hundreds of rows to a million, beside forests and boosting.

`AutoSVM(probability=True)`, the same searched in one round on all rows ("whole search"), a forest of 500 trees,
HistGradientBoosting, SVC on standardised columns, and CatBoost and LightGBM where they are installed: accuracy, log-loss,
processor seconds of `fit`, memory that it added, microseconds per predicted row. Real sets are cut to so many random rows, at most
three quarters of them; the others (at most 10,000) are predicted. "waves" (12 columns, noisy, two classes) and "blobs"
(make_classification, 20 columns, 5 % of wrong labels) are drawn. Rows in a budget were chosen on adult, a9a and
rows like waves, that kernels are fitted to a sample of very many rows on rows like waves and blobs; the other sets were only
reported on.

    RADIUSMARGIN_DATA=... python benchmarks/scale.py run [--sets ...] [--rows ...] [--methods ...] --store cells.jsonl
    python benchmarks/scale.py table --store cells.jsonl

A cell that is in the store is not run again. Every cell is a process of its own, on one thread.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import common
import numpy as np
from sklearn.datasets import make_classification
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.metrics import log_loss
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC

from radiusmargin import AutoSVM
from radiusmargin.search import candidates

REAL = {
    "adult": "uci_zscored/adult", "a9a": "large/a9a", "pendigits": "uci_zscored/pendigits",
    "chess-krvk": "uci_zscored/chess-krvk", "shuttle": "uci_zscored/statlog-shuttle", "mnist": "large/mnist",
}  # fmt: skip
ROWS = (500, 2_000, 8_000, 20_000, 50_000, 200_000, 1_000_000)
MOST_TESTED = 10_000
MOST_ROWS = {"forest": 50_000, "SVC": 20_000, "whole search": 8_000}  # beyond it hours, or known from fewer


def whole_search():
    candidates.WHOLE = np.inf
    return AutoSVM(probability=True)


def lightgbm():
    from lightgbm import LGBMClassifier

    return LGBMClassifier(n_jobs=1, random_state=0, verbose=-1)


def catboost():
    from catboost import CatBoostClassifier

    return CatBoostClassifier(thread_count=1, random_seed=0, verbose=False, allow_writing_files=False)


METHODS = {
    "AutoSVM": lambda: AutoSVM(probability=True),
    "HistGB": lambda: HistGradientBoostingClassifier(random_state=0),
    "forest": lambda: RandomForestClassifier(500, n_jobs=1, random_state=0),
    "SVC": lambda: make_pipeline(StandardScaler(), SVC()),
    "whole search": whole_search,
    "LightGBM": lightgbm,
    "CatBoost": catboost,
}


def waves(n):
    rng = np.random.default_rng(0)
    A = rng.normal(size=(12, 2)) / 2
    X = rng.normal(size=(n, 12))
    value = np.sin(X @ A[:, 0]) + X[:, 0] * X[:, 1] + np.abs(X[:, 2]) - 0.8 + np.tanh(X @ A[:, 1])
    return X, (value + rng.normal(size=n) > 0).astype(int)


def blobs(n):
    return make_classification(n, 20, n_informative=10, flip_y=0.05, random_state=0)


def rows_of(name, n):
    """Return (rows to fit, labels, rows to predict, labels) of a set, or None if it has too few rows."""
    if name in ("waves", "blobs"):
        X, y = (waves if name == "waves" else blobs)(n + MOST_TESTED)
        return X[:n], y[:n], X[n:], y[n:]
    task = common.datasets.load(REAL[name])
    X = task.X.toarray() if hasattr(task.X, "toarray") else np.asarray(task.X, dtype=float)
    y = np.unique(task.y, return_inverse=True)[1]
    kept = np.bincount(y)[y] >= 10  # rarer classes may be in one part only
    order = np.random.default_rng(0).permutation(np.flatnonzero(kept))
    if n > 0.75 * len(order):
        return None
    fitted, tested = order[:n], order[n : n + MOST_TESTED]
    return X[fitted], y[fitted], X[tested], y[tested]


def cell(name, n, method):
    """Fit once; print what was measured as JSON."""
    parts = rows_of(name, n)
    if parts is None:
        return print(json.dumps({}))
    X, y, unseen, truth = parts
    model = METHODS[method]()
    before, start = common.peak(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model.fit(X, y)
    spent = time.process_time() - start
    added, start = common.peak() - before, time.process_time()
    accuracy = float(np.mean(model.predict(unseen) == truth))
    predicted = (time.process_time() - start) / len(truth)
    loss = None
    if hasattr(model, "predict_proba"):
        known = np.isin(truth, model.classes_)
        loss = log_loss(truth[known], model.predict_proba(unseen[known]), labels=model.classes_)
    found = {"accuracy": accuracy, "loss": loss, "seconds": spent, "memory": added, "predict": predicted}
    print(
        json.dumps(found | {"shape": X.shape, "classes": len(np.unique(y)), "gap": getattr(model, "dual_gap_", None)})
    )


def run(args):
    known = {tuple(cell["key"]) for cell in stored(args.store)}
    for n in args.rows:
        for name in args.sets:
            for method in args.methods:
                key = [name, n, method]
                if tuple(key) in known or n > MOST_ROWS.get(method, np.inf):
                    continue
                command = [sys.executable, __file__, "cell", *map(str, key)]
                done = subprocess.run(command, capture_output=True, text=True, check=False)
                if done.returncode:
                    print(*key, done.stderr.strip().splitlines()[-1:], flush=True)
                    continue
                found = json.loads(done.stdout.splitlines()[-1])
                if found:
                    with args.store.open("a") as file:
                        file.write(json.dumps({"key": key} | found) + "\n")
                    print(*key, f"{100 * found['accuracy']:.2f} % {found['seconds']:.3g} s", flush=True)


def stored(path):
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def shown(cell):
    """Accuracy, log-loss, seconds, memory and microseconds per predicted row."""
    if cell is None:
        return "—"
    loss = "" if cell["loss"] is None else f"; {cell['loss']:.3f}"
    numbers = f"{cell['seconds']:.3g} s, {cell['memory']:.0f} MB, {1e6 * cell['predict']:.3g} µs"
    return f"{100 * cell['accuracy']:.2f}{loss}; {numbers}"


def slopes(cells):
    """Log-log slope of AutoSVM's seconds against rows from 500 to 100,000, for the drawn sets."""
    found = []
    for name in ("waves", "blobs"):
        own = sorted(
            (n, c["seconds"]) for (s, n, m), c in cells.items() if (s, m) == (name, "AutoSVM") and n <= 100_000
        )
        if len(own) > 2:
            n, spent = np.log(np.array(own)).T
            found.append(f"{name} {np.polyfit(n, spent, 1)[0]:.2f}")
    return ", ".join(found)


def summary(args):
    cells = {tuple(cell["key"]): cell for cell in stored(args.store)}
    methods = [m for m in METHODS if any(key[2] == m for key in cells)]
    names = [s for s in (*REAL, "waves", "blobs") if any(key[0] == s for key in cells)]
    rows = []
    for name in names:
        for n in ROWS:
            own = [cells.get((name, n, m)) for m in methods]
            first = next((c for c in own if c), None)
            if first:
                d, K = first["shape"][1], first["classes"]
                rows.append([f"{name}, {n:,} x {d}, {K} classes", *map(shown, own)])
    both = [
        (cells[s, n, "AutoSVM"], c)
        for (s, n, m), c in cells.items()
        if m == "whole search" and (s, n, "AutoSVM") in cells and n > 2_000
    ]
    text = [f"## Rows from hundreds to a million\n\n`python benchmarks/scale.py table`: {common.provenance()}"]
    text.append(" ".join(" ".join(__doc__.split("\n\n")[1:2]).split()))
    text.append("Accuracy in percent; log-loss; processor seconds of `fit`; memory; processor time per predicted row.")
    text.append(common.table(["set", *methods], rows))
    if both:
        gains = [100 * (a["accuracy"] - b["accuracy"]) for a, b in both]
        text.append(
            f"Against the whole search ({len(both)} cells of more than 2,000 rows): accuracy {np.mean(gains):+.2f} points in the mean, "
            f"from {min(gains):+.2f} to {max(gains):+.2f}; {sum(b['seconds'] for _, b in both) / sum(a['seconds'] for a, _ in both):.3g} "
            "times as quick in all."
        )
    if slopes(cells):
        text.append(f"Log-log slope of AutoSVM's seconds from 500 to 100,000 rows: {slopes(cells)}.")
    common.write_section("scale", "\n\n".join(text))


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["run", "table", "cell"])
    parser.add_argument("key", nargs="*")
    parser.add_argument("--sets", nargs="+", default=[*REAL, "waves", "blobs"])
    parser.add_argument("--rows", nargs="+", type=int, default=ROWS)
    parser.add_argument("--methods", nargs="+", default=list(METHODS))
    parser.add_argument("--store", type=Path)
    args = parser.parse_args()
    if args.what == "cell":
        cell(args.key[0], int(args.key[1]), args.key[2])
    else:
        (run if args.what == "run" else summary)(args)


if __name__ == "__main__":
    main()
