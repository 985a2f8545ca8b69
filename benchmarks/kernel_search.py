"""Choosing C and gamma of a Gaussian kernel, 10 x 10 x 5 folds: the search core beside liquidSVM and GridSearchCV(SVC).

Picked: `held_out_scores` with a race (`unbeaten`), the best pair, and a fit of it by `kernel_svm` to 1e-3. Averaged: fits of
all pairs within a standard error of the best, each divided by the root mean square of its scores. liquidSVM with its
defaults (its own grid of 10 x 10 and 5 folds, whose models it combines). CPU seconds of one thread, minimum of interleaved
runs; test accuracy on up to 4,000 other rows. The ratio is that of liquidSVM's time to the averaged search's.

The choice is compared on 22 sets of at most 800 rows with that of all members solved to 1e-5: the same member, or another
with as many rows right. How tight to score and when to drop a member was chosen on these sets.

    RADIUSMARGIN_DATA=... python benchmarks/kernel_search.py [--quick]
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import sys
import sysconfig
import time
import warnings

import common
import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from radiusmargin.features.functions import KernelFunction
from radiusmargin.problems import Batch, Kernel, Options
from radiusmargin.solvers import held_out_scores, kernel_scores, kernel_svm, solve_kernel, unbeaten

QUICK = "--quick" in sys.argv
SIZES = (500, 1_000) if QUICK else (500, 1_000, 2_000, 4_000)
GRID_SEARCH_UP_TO = 500
SETS = ["ida/image", "ida/waveform", "uci_zscored/spambase", "uci_zscored/pendigits", "uci_zscored/adult"]
BAND = 1.0  # standard errors within which members are averaged, as FSVMCV does
COLUMNS = {"picked": "picked", "averaged": "averaged", "liquid": "liquidSVM", "grid": "GridSearchCV(SVC)"}
LARGE = 10_000  # rows of one search alone
CHOICE_ROWS = 800
CHOICE_SETS = [f"ida/{name}" for name in ("image", "banana", "german", "splice")] + [
    f"uci_zscored/{name}"
    for name in (
        "adult", "balance-scale", "car", "cardiotocography-3clases", "chess-krvk", "conn-bench-vowel-deterding", "energy-y2",
        "mammographic", "mushroom", "oocytes_merluccius_nucleus_4d", "oocytes_trisopterus_nucleus_2f", "ozone", "page-blocks",
        "pendigits", "pima", "plant-margin", "plant-shape", "spambase",
    )
]  # fmt: skip
CS = np.logspace(-1.5, 3, 10)
GAMMAS = 2 * np.logspace(-2, 1, 10)  # over the number of features


def liquid_svm():
    """The peer, whose loader asks for names that Python and NumPy no longer have; None where it is not installed."""
    ask = sysconfig.get_config_var
    sysconfig.get_config_var = lambda name: ask("EXT_SUFFIX") if name == "SO" else ask(name)
    np.ctypeslib.load_library = lambda name, folder: ctypes.CDLL(os.path.join(folder, name))
    with contextlib.suppress(ImportError), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import liquidSVM

        return liquidSVM
    return None


def right(X, y, tol=1e-3, racing=True):
    """Kernels, and whether each of them with each C is right on each row; never on rows that it was dropped before."""
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    batch = Batch(Kernel(X), y[None], np.ones(len(y)), CS, subsets=tuple(train for train, _ in folds))
    kernels = [KernelFunction("rbf", gamma=gamma / X.shape[1]) for gamma in GAMMAS]

    def race(scores, seen):
        return unbeaten(np.sign(scores[:, :, 0, seen]) == y[seen], len(y), band=BAND)

    options = Options(tol, 20 if tol >= 1e-3 else 200)
    scores = held_out_scores(batch, [test for _, test in folds], kernels, options, race if racing else None)
    return kernels, np.sign(scores[:, :, 0]) == y


def best_member(correct):
    return np.unravel_index(np.argmax(correct.sum(axis=2)), correct.shape[:2])


def near_best(correct, band=BAND):
    """Members within some standard errors of the best."""
    hits, n = correct.sum(axis=2), correct.shape[2]
    share = hits.max() / n
    return hits >= hits.max() - band * np.sqrt(share * (1 - share) * n)


def picked(X, y):
    """[(kernel, support vectors, coefficients, intercept)]: one."""
    kernels, correct = right(X, y)
    g, c = best_member(correct)
    found = kernel_svm(X, y, CS[c], kernel=kernels[g], tol=1e-3)
    return [(kernels[g], X[found.support], found.dual_coef, found.intercept)]


def averaged(X, y):
    """As `picked`: one for each kernel with members that are near the best."""
    (kernels, correct), parts = right(X, y), []
    for kernel, some in zip(kernels, near_best(correct), strict=True):
        if some.any():
            batch = Batch(Kernel(X, kernel), y[None], np.ones(len(y)), CS[some])
            found = solve_kernel(batch, Options(1e-3), keep_scores=True)
            sizes = np.sqrt(np.mean(found.scores[0] ** 2, axis=1))
            coef, support = found.coef[0].matrix.T @ (1 / sizes), np.unique(found.coef.matrix.indices)
            parts.append((kernel, X[support], coef[support], found.intercept[0] @ (1 / sizes)))
    return parts


def choices():
    """How often the choice is that of all members solved tightly."""
    same, as_good, near, lost, n_sets = 0, 0, [], [], 0
    for _, X, y in common.real_sets(CHOICE_SETS):
        some = np.random.default_rng(2).permutation(len(y))[:CHOICE_ROWS]
        X, y = X[some], y[some]
        raced, exact = right(X, y)[1], right(X, y, 1e-5, racing=False)[1]
        hits, chosen = exact.sum(axis=2), best_member(raced)
        same += chosen == best_member(exact)
        as_good += hits[chosen] == hits.max()
        lost.append(100 * (hits.max() - hits[chosen]) / len(y))
        near.append(np.mean((np.abs(raced.sum(axis=2) - hits) <= 0.01 * len(y))[near_best(exact)]))
        n_sets += 1
    return (
        f"\n\nOn {n_sets} sets the choice is that of the full search at 1e-5 on {same}, and as good on {as_good}; the most that is "
        f"lost is {max(lost):.2f} points of cross-validated accuracy, the mean {np.mean(lost):.3f}. Of the members within a "
        f"standard error of the best {100 * np.mean(near):.1f} % went through all folds."
    )


def accuracy(parts, Z, z):
    scores = sum(kernel_scores(Z, vectors, coef[None], kernel=k)[:, 0] + b for k, vectors, coef, b in parts)
    return 100 * np.mean(np.sign(scores) == z)


def grid_search(X, y):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    return GridSearchCV(SVC(), {"C": CS, "gamma": GAMMAS / X.shape[1]}, cv=folds).fit(X, y)


def cpu_seconds(contenders, repeats=3):
    best, values = dict.fromkeys(contenders, np.inf), {}
    for repeat in range(repeats):
        for name, function in contenders.items():
            if repeat and best[name] > 1.0:
                continue
            start = time.process_time()
            values[name] = function()
            best[name] = min(best[name], time.process_time() - start)
    return best, values


def compare(peer, name, A, a, Z, z):
    """A row of the table; the ratio of times, and the differences in accuracy to the peer, picked and averaged."""
    contenders = {"picked": lambda: picked(A, a), "averaged": lambda: averaged(A, a)}
    if peer is not None:
        contenders["liquid"] = lambda: peer.mcSVM(A, a, threads=1, display=0)
    if len(a) <= GRID_SEARCH_UP_TO:
        contenders["grid"] = lambda: grid_search(A, a)
    times, found = cpu_seconds(contenders)
    points = {way: accuracy(found[way], Z, z) for way in ("picked", "averaged")}
    if peer is not None:
        points["liquid"] = 100 * (1 - np.ravel(found["liquid"].test(Z, z)[1])[0])
    if "grid" in found:
        points["grid"] = 100 * found["grid"].score(Z, z)
    ratio = times.get("liquid", np.nan) / times["averaged"]
    cells = [f"{times[way]:.2f} s, {points[way]:.2f}" if way in times else "—" for way in COLUMNS]
    row = [f"{name} ({len(a):,} x {A.shape[1]})", *cells, f"{ratio:.2f}x"]
    print(" | ".join(row), flush=True)
    return row, ratio, [points[way] - points.get("liquid", np.nan) for way in ("picked", "averaged")]


def main():
    peer, compared, large = liquid_svm(), [], ""
    for name, X, y in common.real_sets(SETS):
        order = np.random.default_rng(1).permutation(len(y))
        if not QUICK and len(y) >= LARGE:
            times, _ = cpu_seconds({"ours": lambda X=X, y=y, some=order[:LARGE]: averaged(X[some], y[some])}, repeats=1)
            large += f"\n\n{name}, {LARGE:,} rows: {times['ours']:.0f} s."
        for n in SIZES:
            train, test = order[:n], order[n:][:4_000]
            if n + 500 <= len(y):
                compared.append(compare(peer, name, X[train], y[train], X[test], y[test]))
    rows, ratios, differences = zip(*compared, strict=True)
    table = common.table(["data", *COLUMNS.values(), "ratio"], rows)
    picked_by, averaged_by = np.mean(differences, axis=0)
    summary = (
        f"\n\nliquidSVM takes {np.median(ratios):.2f}x in the median, {min(ratios):.2f}x at least. Mean difference in accuracy to "
        f"liquidSVM: picked {picked_by:+.2f} points, averaged {averaged_by:+.2f}."
    )
    text = (
        f"## Choosing C and gamma: 10 x 10 x 5 folds\n\n`python benchmarks/kernel_search.py`: {common.provenance()}\n\n"
    )
    explained = "\n\n".join(" ".join(part.split()) for part in __doc__.split("\n\n")[1:3])
    common.write_section("kernel-search", f"{text}{explained}\n\n{table}{summary}{large}{choices()}")


if __name__ == "__main__":
    main()
