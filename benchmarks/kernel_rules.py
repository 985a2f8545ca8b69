"""How to choose from 10 x 10 members of a Gaussian kernel: rules side by side, and liquidSVM, on the sets of accuracy.py.

The largest class against the rest, at most `--rows` training rows, standardised. Every member is solved on five folds and on
all rows, to a gap of 1e-3 or for twenty sweeps; a rule says which of the decision values on the test rows are averaged. Rules
were chosen on every second set in the alphabet, as in auto_choices.py; the table of the others is the one that counts.

    RADIUSMARGIN_DATA=... python benchmarks/kernel_rules.py [--rows 400] [--halves 2]
"""

from __future__ import annotations

import argparse
import warnings
from collections import defaultdict
from dataclasses import dataclass

import accuracy
import common
import numpy as np
from kernel_search import liquid_svm
from sklearn.model_selection import StratifiedKFold
from sklearn.preprocessing import StandardScaler

from radiusmargin.kernels import KernelFunction
from radiusmargin.solvers import Batch, Kernel, Options, solve_kernel

FOLDS = 5
GAMMAS, CS = 2 * 10 ** (np.arange(-9, 5) / 3), 10 ** (np.arange(-4, 9) / 2)  # gammas are over the number of features
GRID = np.s_[3:13, 1:11]  # of which kernel_search.py has these
NOW = "averaged: at most 16 within 1.5 standard errors"


@dataclass(frozen=True)
class Members:
    """Arrays with axes gamma, C, and: scores and fold; fold and test row; test row. Scores were divided by their size."""

    right: np.ndarray
    hinge: np.ndarray
    of_folds: np.ndarray
    refitted: np.ndarray

    def __getitem__(self, grid):
        return Members(self.right[grid], self.hinge[grid], self.of_folds[grid], self.refitted[grid])

    @property
    def mean(self):
        return self.right.mean(axis=-1)

    @property
    def error(self):
        """Standard error of the best."""
        return self.right[best(self.mean)].std(ddof=1) / np.sqrt(FOLDS)


def measured(X, y, unseen) -> Members:
    """Every member on the folds and on all rows."""
    splits = list(StratifiedKFold(FOLDS, shuffle=True, random_state=0).split(X, y))
    parts = (*(train for train, _ in splits), np.arange(len(y)))
    found = []
    for gamma in GAMMAS / X.shape[1]:
        function = KernelFunction("rbf", gamma=gamma)
        batch = Batch(Kernel(X, function), y[None], np.ones(len(y)), CS, subsets=parts)
        results = solve_kernel(batch, Options(1e-3, 20), keep_scores=True)
        held_out = [results.scores[k][:, test] * y[test] for k, (_, test) in enumerate(splits)]
        values = np.asarray(results.coef) @ function(X, unseen) + results.intercept[..., None]
        values /= np.sqrt(np.mean(results.scores**2, axis=-1, keepdims=True))
        right = np.stack([(margins > 0).mean(axis=1) for margins in held_out], axis=1)
        hinge = np.stack([np.clip(1 - margins, 0, 2).mean(axis=1) for margins in held_out], axis=1).mean(axis=1)
        found.append((right, hinge, values[:FOLDS].swapaxes(0, 1).astype(np.float32), values[FOLDS]))
    return Members(*map(np.stack, zip(*found, strict=True)))


# -- Rules: decision values on the test rows ----------------------------------------------------------------------------


def best(scores):
    """The first of the best in order of C, then gamma, as the search has it."""
    c, g = np.unravel_index(np.argmax(scores.max() - 1e-12 <= scores.T), scores.T.shape)
    return g, c


def centre(scores):
    """Of the best the one in their middle."""
    equals = np.argwhere(scores >= scores.max() - 1e-12)
    return tuple(equals[np.argmin(((equals - equals.mean(axis=0)) ** 2).sum(axis=1))])


def smooth(scores):
    """With neighbours in C and gamma: 1, 2, 1."""
    for _ in range(2):
        rows = np.pad(scores, ((1, 1), (0, 0)), mode="edge")
        scores = ((rows[:-2] + 2 * rows[1:-1] + rows[2:]) / 4).T
    return scores


def near(m, band, most, scores=None):
    """Places within a band of the best, by their scores."""
    scores = m.mean if scores is None else scores
    c, g = np.nonzero(scores.max() - band * m.error - 1e-12 <= scores.T)
    order = np.argsort(-scores[g, c], kind="stable")[:most]
    return g[order], c[order]


def each_fold_its_own(m, choose):
    return np.mean([m.of_folds[choose(m.right[..., k])][k] for k in range(FOLDS)], axis=0)


RULES = {
    NOW: lambda m: m.refitted[near(m, 1.5, 16)].mean(axis=0),
    "at most 8": lambda m: m.refitted[near(m, 1.5, 8)].mean(axis=0),
    "at most 12": lambda m: m.refitted[near(m, 1.5, 12)].mean(axis=0),
    "at most 24": lambda m: m.refitted[near(m, 1.5, 24)].mean(axis=0),
    "all of them": lambda m: m.refitted[near(m, 1.5, None)].mean(axis=0),
    "at most 16 within 1": lambda m: m.refitted[near(m, 1.0, 16)].mean(axis=0),
    "at most 16, scores with their neighbours'": lambda m: m.refitted[near(m, 1.5, 16, smooth(m.mean))].mean(axis=0),
    "the models of the folds instead of refits": lambda m: m.of_folds[near(m, 1.5, 16)].mean(axis=(0, 1)),
    "picked: the best": lambda m: m.refitted[best(m.mean)],
    "in the middle of equals": lambda m: m.refitted[centre(m.mean)],
    "scores with their neighbours'": lambda m: m.refitted[best(smooth(m.mean))],
    "by clipped hinge loss": lambda m: m.refitted[best(-m.hinge)],
    "equals by clipped hinge loss": lambda m: m.refitted[best(m.mean - 1e-6 * m.hinge)],
    "the models of the folds at the best": lambda m: m.of_folds[best(m.mean)].mean(axis=0),
    "the best of each fold on its own": lambda m: each_fold_its_own(m, best),
    "the same, in the middle of equals": lambda m: each_fold_its_own(m, centre),
}
GRIDS = {
    "averaged, gammas from a tenth": np.s_[:13, 1:11],
    "averaged, C from 0.01 to 10,000": np.s_[3:13, :],
    "averaged, both": np.s_[:, :],
}


def accuracies(peer, X, y, unseen, truth):
    members = measured(X, y, unseen)
    values = {name: rule(members[GRID]) for name, rule in RULES.items()}
    values |= {name: RULES[NOW](members[grid]) for name, grid in GRIDS.items()}
    found = {name: np.mean(np.sign(value) == truth) for name, value in values.items()}
    if peer is not None:
        error = np.ravel(peer.mcSVM(X, y, threads=1, display=0).test(unseen, truth)[1])[0]
        found["liquidSVM"] = 1 - error
    return found


def binary(parts):
    """Standardised rows, the largest class against the rest."""
    X, y, unseen, truth = parts
    scale, largest = StandardScaler().fit(X), np.argmax(np.bincount(y))
    return (
        scale.transform(X),
        np.where(y == largest, 1.0, -1.0),
        scale.transform(unseen),
        np.where(truth == largest, 1.0, -1.0),
    )


def measure(peer, n_rows, halves):
    """[{set: accuracies of every rule}] of the sets for choosing, and of the others."""
    by_set = defaultdict(list), defaultdict(list)
    for k, (name, X, y) in enumerate(sorted(accuracy.tasks(), key=lambda task: task[0])):
        for repeat in range(halves) if n_rows <= 400 or len(y) >= 2 * n_rows else ():
            parts = accuracy.half(name, X, y, repeat, n_rows)
            if parts is not None and len(parts[3]) >= 60:
                by_set[k % 2][name].append(accuracies(peer, *binary(parts)))
                print(
                    name,
                    n_rows,
                    repeat,
                    {k: round(float(v), 4) for k, v in by_set[k % 2][name][-1].items()},
                    flush=True,
                )
    return by_set


def table(by_set):
    names = list(next(iter(by_set.values()))[0])
    found = np.array([[np.mean([half[name] for half in halves]) for name in names] for halves in by_set.values()])
    columns = dict(zip(names, 100 * found.T, strict=True))
    rows = []
    for name, own in columns.items():
        cells = [c for other in (columns[NOW], columns.get("liquidSVM", own)) for c in common.record(own, other)]
        rows.append([name, f"{own.mean():.2f}", *cells])
    header = ["rule", "mean accuracy", "wins/ties/losses against the first", "p", "against liquidSVM", "p"]
    return common.table(header, rows)


def report(by_sets, n_rows):
    text = f"## What is chosen from 10 x 10 members\n\n`python benchmarks/kernel_rules.py`: {common.provenance()}\n\n"
    text += " ".join(__doc__.split("\n\n")[1].split()).replace("`--rows`", f"{n_rows:,}")
    text += " A rule changes one thing in the first of its kind, averaged or picked; p is Wilcoxon's."
    for sets, by_set in zip(("for choosing", "others"), by_sets, strict=True):
        text += f"\n\n{len(by_set)} sets {sets}:\n\n{table(by_set)}"
    return text


def main(n_rows, halves):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        by_sets = measure(liquid_svm(), n_rows, halves)
    common.write_section("kernel-rules", report(by_sets, n_rows))


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--rows", type=int, default=400)
    parser.add_argument("--halves", type=int, default=2)
    args = parser.parse_args()
    main(args.rows, args.halves)
