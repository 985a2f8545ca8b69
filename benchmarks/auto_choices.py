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
from collections import defaultdict
from dataclasses import dataclass, field, replace
from pathlib import Path

import accuracy
import common
import numpy as np
from sklearn.model_selection import RepeatedStratifiedKFold
from sklearn.preprocessing import QuantileTransformer

from radiusmargin import FSVM, FSVMCV
from radiusmargin.estimators.features import FeatureChoice, Standardizer
from radiusmargin.multiclass import MulticlassReduction
from radiusmargin.search.candidates import Grids, kernel_specs
from radiusmargin.search.evaluate import evaluate
from radiusmargin.search.scoring import Progress, Recorder, ScoreTable, SearchData
from radiusmargin.solvers import Options

REPEATS, FOLDS = 3, 5
MULTIPLES = {"rbf": (0.01, 0.03, 0.1, 0.3, 1, 3, 10), "laplacian": (0.03, 0.1, 0.3, 1, 3, 10), "poly": (1.0,)}
CS = {"linear": np.geomspace(1e-3, 1e2, 10), "kernel": np.geomspace(1e-2, 1e4, 13)}


class KeptValues:
    """Decision values (K, n) of held-out rows, one array for each member and repeat."""

    def __init__(self, splits, shape):
        self.splits, self.shape, self.values = splits, shape, {}

    def on_scores(self, member, split, values, correct):
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
        units = Standardizer.of(training.X, training.weight)
        training = replace(training, X=units.rows(training.X))
        splits = list(
            RepeatedStratifiedKFold(n_splits=min(FOLDS, np.bincount(y).min()), n_repeats=REPEATS, random_state=0).split(
                X, y
            )
        )
        data = SearchData(training, splits, search.classes_)
        kept = KeptValues(splits, training.labels.shape)
        table = ScoreTable(len(splits))
        recorder = Recorder(table, Progress(search, len(splits)), [kept])
        grids = Grids.of(search)
        (kind,) = kernel_specs(FeatureChoice.of(search), grids, training)
        if name != "linear":
            kind = replace(kind, gammas=tuple(m / X.shape[1] for m in MULTIPLES[name]))
        evaluate([kind], grids, data, recorder, Options())
        for member, folds in table.scores.items():
            model = FSVM(member.C, whitening=member.whitening, kernel=name, degree=2, coef0=1.0, tol=1e-5)
            if name != "linear":
                model.set_params(gamma=member.gamma)
            model.fit(training.X, y)
            size = np.sqrt(np.mean(model.decision_model.scores(training.X) ** 2))
            label = (
                name + (" of quantiles" if transform else ""),
                member.whitening,
                (member.gamma or 0) * X.shape[1],
                member.C,
            )
            out[label] = (
                folds,
                kept.values[member] / size,
                (model.decision_model.scores(units.rows(unseen)) / size).astype(np.float32),
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


# -- Rules ------------------------------------------------------------------------------------------------------------

KINDS = ("linear", "rbf", "laplacian", "laplacian of quantiles")
COARSE = {"rbf": (0.03, 0.1, 0.3, 1, 3), "laplacian": (0.1, 0.3, 1, 3), "poly": (1.0,)}
TENFOLD = CS["kernel"][2:11:2]  # 0.1 to 1,000


@dataclass(frozen=True)
class Rule:
    """Which members are searched, and which of them are averaged."""

    kinds: tuple[str, ...] = KINDS
    powers: tuple[float, ...] = (0.0, 0.5)
    multiples: dict = field(default_factory=lambda: COARSE)
    Cs: np.ndarray = field(default_factory=lambda: TENFOLD)
    repeats: int = 1
    band: float = 1.5
    kinds_band: float = 1.5
    flat: bool = False
    most: int | None = 8  # members of a kernel

    def searches(self, label):
        kind, power, multiple, C = label
        if kind not in self.kinds:
            return False
        if kind == "linear":
            return power in self.powers
        return _among(multiple, self.multiples[kind.split()[0]]) and _among(C, self.Cs)

    def weights(self, found):
        """{label: weight} of what is averaged."""
        labels = sorted(
            (label for label in found if self.searches(label)), key=lambda label: (label[0] != "linear", *label)
        )
        folds = np.array([found[label][0][: FOLDS * self.repeats] for label in labels])
        scores = dict(
            zip(labels, zip(folds.mean(1), folds.std(1, ddof=1) / np.sqrt(folds.shape[1]), strict=True), strict=True)
        )
        if self.flat:
            near = [_near(scores, self.band)]
        else:
            kinds = [{k: v for k, v in scores.items() if k[0] == kind} for kind in self.kinds]
            leaders = {max(kind, key=lambda label: kind[label][0]): kind for kind in kinds}
            best = _near({leader: scores[leader] for leader in leaders}, self.kinds_band)
            near = [self._few(leaders[leader]) for leader in best]
        return {label: 1 / (len(near) * len(own)) for own in near for label in own}

    def _few(self, kind):
        near = _near(kind, self.band)
        return near if near[0][0] == "linear" else sorted(near, key=lambda label: -kind[label][0])[: self.most]


def _among(value, values):
    return np.isclose(value, values, rtol=1e-6).any()


def _near(scores, band):
    """Labels within `band` standard errors of the best; the first best alone where the band is negative."""
    top = max(scores, key=lambda label: scores[label][0])
    if band < 0:
        return [top]
    mean, error = scores[top]
    return [label for label, (value, _) in scores.items() if value >= mean - band * error - 1e-12]


THREE = KINDS[:3]
RULES = {
    "AutoSVM's: four kinds, band 1.5": Rule(),
    "all members near the best of their kind": Rule(most=None),
    "the best three of a kernel": Rule(most=3),
    "band 1": Rule(band=1, kinds_band=1),
    "band 0.5": Rule(band=0.5, kinds_band=0.5),
    "band 2": Rule(band=2, kinds_band=2),
    "one kind, its members averaged": Rule(kinds_band=-1),
    "one member": Rule(band=-1, kinds_band=-1),
    "all kinds always": Rule(kinds_band=1e9),
    "members near the best whatever their kind": Rule(flat=True),
    "3 repeats": Rule(repeats=3),
    "3 repeats, band 2": Rule(repeats=3, band=2, kinds_band=2),
    "linear kind without whitening": Rule(powers=(0.0,)),
    "linear kind with exponents to 1": Rule(powers=(0.0, 0.25, 0.5, 0.75, 1.0)),
    "finer C": Rule(Cs=CS["kernel"][:11]),
    "finer C, more gammas": Rule(Cs=CS["kernel"], multiples=MULTIPLES),
    "fewer gammas": Rule(multiples={"rbf": (0.03, 0.3, 3), "laplacian": (0.1, 1)}),
    "linear, rbf, laplacian": Rule(kinds=THREE),
    "and polynomials": Rule(kinds=(*KINDS, "poly")),
    "and rbf of quantiles": Rule(kinds=(*KINDS, "rbf of quantiles")),
    "laplacian of quantiles instead of laplacian": Rule(kinds=("linear", "rbf", "laplacian of quantiles")),
    "without rbf": Rule(kinds=("linear", "laplacian", "laplacian of quantiles")),
    "laplacian alone": Rule(kinds=("laplacian",)),
    "rbf alone": Rule(kinds=("rbf",)),
    "linear alone": Rule(kinds=("linear",)),
    "linear alone, exponent 0": Rule(kinds=("linear",), powers=(0.0,)),
    "linear alone, five exponents": Rule(kinds=("linear",), powers=(0.0, 0.25, 0.5, 0.75, 1.0)),
}


def accuracies(path):
    found, y, truth = pickle.loads(path.read_bytes())
    reduction = MulticlassReduction(y.max() + 1)
    values = [sum(w * found[label][2] for label, w in rule.weights(found).items()) for rule in RULES.values()]
    return [np.mean(reduction.predict(value) == truth) for value in values]


def table(args):
    by_set = defaultdict(list)
    for path in sorted(Path(args.store).glob(f"*-{args.rows}-*.pkl")):
        by_set[path.name.rsplit("-", 2)[0]].append(accuracies(path))
    accuracy_of = np.array([np.mean(halves, axis=0) for halves in by_set.values()])
    ranks, columns = common.mean_ranks(accuracy_of), list(accuracy_of.T)
    rows = [
        [name, f"{100 * own.mean():.2f}", f"{rank:.2f}", *common.record(own, columns[0])]
        for name, own, rank in zip(RULES, columns, ranks, strict=True)
    ]
    halves = sum(map(len, by_set.values()))
    text = (
        f"## What AutoSVM's defaults were chosen by\n\n`python benchmarks/auto_choices.py run --rows {args.rows}`, then `table`: "
        f"the {len(by_set)} sets for choosing, {halves} halves in all, at most {args.rows} training rows. Every row changes "
        "one thing in the first. The search was that of an earlier state of the solvers, to the same gaps; at most eight members of "
        "a kernel were averaged then, sixteen are since `benchmarks/kernel_rules.py`.\n\n"
    )
    text += common.table(
        ["rule", "mean accuracy", "mean rank", "wins/ties/losses against the first", "Wilcoxon p"], rows
    )
    common.write_section("auto-choices", text)
    print(text)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("action", choices=("run", "table"))
    parser.add_argument("--store", required=True)
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--halves", type=int, default=3)
    args = parser.parse_args()
    run(args) if args.action == "run" else table(args)
