"""What AutoSVM's defaults were chosen by: rules for picking and weighing members, on every second set of accuracy.py.

`run` searches rich grids of several kinds once, with three repeats of five folds, and keeps what every member scored on the
folds, its decision values on held-out rows, and those on the test rows when fitted to all training rows. `table` applies
rules to that.

    RADIUSMARGIN_DATA=... python benchmarks/auto_choices.py run --store folder [--rows 400] [--halves 3]
    python benchmarks/auto_choices.py table --store folder
"""

from __future__ import annotations

import argparse
import pickle
from dataclasses import replace
from pathlib import Path

import accuracy
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import QuantileTransformer

from radiusmargin import FSVM, FSVMCV
from radiusmargin.features.units import Units
from radiusmargin.selection.data import SearchData
from radiusmargin.selection.evaluation import evaluate
from radiusmargin.selection.kinds import Kind, kinds_of
from radiusmargin.selection.progress import Progress
from radiusmargin.selection.scores import Scores
from radiusmargin.selection.ways import Fitting

REPEATS, FOLDS = 3, 5
MULTIPLES = {"rbf": (0.01, 0.03, 0.1, 0.3, 1, 3, 10), "laplacian": (0.03, 0.1, 0.3, 1, 3, 10), "poly": (1.0,)}
CS = {"linear": np.geomspace(1e-3, 1e2, 10), "kernel": np.geomspace(1e-2, 1e4, 13)}


class Recorder:
    """Decision values (K, n) of held-out rows, one array for each member and repeat."""

    def __init__(self, splits, shape):
        self.splits, self.shape, self.values = splits, shape, {}

    def add(self, member, split, values):
        kept = self.values.setdefault(member, np.zeros((REPEATS, *self.shape), dtype=np.float32))
        kept[split // FOLDS][:, self.splits[split][1]] = values


def measure(parts, transform=None):
    """{member: (fold scores, held-out values, test values over their size)} of the kinds that rows can have."""
    X, y, unseen, _ = parts
    kernels = ("rbf", "laplacian") if transform else ("linear", "rbf", "laplacian", "poly")
    if transform:
        X, unseen = transform.fit_transform(X), transform.transform(unseen)
    out = {}
    for name in kernels:
        search = FSVMCV(kernel=name, Cs=CS["linear" if name == "linear" else "kernel"], degree=2, coef0=1.0)
        training = search._check_training(X, y, None)
        units = Units.of(training.X, training.weight)
        training = replace(training, X=units.rows(training.X))
        splits = list(
            RepeatedStratifiedKFold(n_splits=min(FOLDS, np.bincount(y).min()), n_repeats=REPEATS, random_state=0).split(
                X, y
            )
        )
        data = SearchData(training, splits, search.classes_)
        recorder = Recorder(splits, training.labels.shape)
        scores = Scores(len(splits), Progress(search), recorder)
        (kind,) = kinds_of(search, training.X)
        if name != "linear":
            kind = Kind(kind.features, kind.powers, tuple(m / X.shape[1] for m in MULTIPLES[name]))
        evaluate(search, [kind], data, Fitting(), scores)
        for member, folds in scores.table.items():
            model = FSVM(member.C, whitening=member.whitening, kernel=name, degree=2, coef0=1.0, tol=1e-5)
            if name != "linear":
                model.set_params(gamma=member.gamma)
            model.fit(training.X, y)
            size = np.sqrt(np.mean(model._model.scores(training.X) ** 2))
            label = (
                name + (" of quantiles" if transform else ""),
                member.whitening,
                (member.gamma or 0) * X.shape[1],
                member.C,
            )
            out[label] = (
                folds,
                recorder.values[member] / size,
                (model._model.scores(units.rows(unseen)) / size).astype(np.float32),
            )
    return out


def run(args):
    folder = Path(args.store)
    folder.mkdir(parents=True, exist_ok=True)
    chosen = [task for k, task in enumerate(sorted(accuracy.tasks(), key=lambda task: task[0])) if k % 2 == 0]
    for repeat in range(args.halves):
        for name, X, y in chosen:
            path = folder / f"{name.replace('/', '.')}-{args.rows}-{repeat}.pkl"
            parts = accuracy.half(name, X, y, repeat, args.rows)
            if path.exists() or parts is None or (args.rows > 400 and len(y) < 2 * args.rows):
                continue
            found = measure(parts)
            quantiles = QuantileTransformer(n_quantiles=min(100, len(parts[1])), output_distribution="normal")
            found |= measure(parts, quantiles)
            path.write_bytes(pickle.dumps((found, parts[1], parts[3])))
            print(path.name, len(found), flush=True)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--store", required=True)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--halves", type=int, default=3)
    args = parser.parse_args()
    run(args) if args.action == "run" else None
