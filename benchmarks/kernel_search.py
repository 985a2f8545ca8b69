"""Choosing C and gamma of a Gaussian kernel, 10 x 10 x 5 folds: `FSVMCV` beside liquidSVM, GridSearchCV(SVC) and intelex.

Picked: `FSVMCV(kernel="rbf", combine="best")` with this grid, otherwise with its defaults, on standardised features. Averaged: the
same with ``combine="average"``, its default. liquidSVM with its defaults (its own grid of 10 x 10 and 5 folds, whose models
it combines). CPU seconds of one thread, minimum of interleaved runs; test accuracy on up to 4,000 other rows. The ratio is
that of liquidSVM's time to the averaged search's. GridSearchCV over SVC, and over the SVC of scikit-learn-intelex, has the grid and
the folds of ours, once, in a process of its own, which ends after 20 CPU seconds (a dash: it was not run).

What is chosen is compared on 22 sets of at most 800 rows with what a search without its race (``race=False``) chooses, and
with one whose members are solved to 1e-5 besides. How tight to score (1e-3 of the loss of zero) was chosen on these sets; when to
give a member up was not.

    RADIUSMARGIN_DATA=... python benchmarks/kernel_search.py [--quick]
"""

from __future__ import annotations

import contextlib
import ctypes
import json
import os
import resource
import subprocess
import sys
import sysconfig
import time
import warnings

import common
import numpy as np
from sklearn.model_selection import GridSearchCV, StratifiedKFold
from sklearn.svm import SVC

from radiusmargin import FSVMCV

QUICK = "--quick" in sys.argv
SIZES = (500, 1_000) if QUICK else (500, 1_000, 2_000, 4_000)
MOST_SECONDS = 20  # of a grid search
SETS = ["ida/image", "ida/waveform", "uci_zscored/spambase", "uci_zscored/pendigits", "uci_zscored/adult"]
COLUMNS = {
    "picked": "picked",
    "averaged": "averaged",
    "liquid": "liquidSVM",
    "SVC": "GridSearchCV(SVC)",
    "intelex": "of intelex",
}
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


def search(X, y, **changed):
    folds = StratifiedKFold(5, shuffle=True, random_state=0)
    options = {"kernel": "rbf", "gamma": tuple(GAMMAS / X.shape[1]), "cv": folds, "n_jobs": 1, "tol": 1e-3}
    return FSVMCV(CS, **options | changed).fit(X, y)


def choices():
    """How often the race, and the tolerance, leave what is chosen as it is."""
    found = []
    for _, X, y in common.real_sets(CHOICE_SETS):
        some = np.random.default_rng(2).permutation(len(y))[:CHOICE_ROWS]
        found.append(
            [search(X[some], y[some], **how) for how in ({}, {"race": False}, {"race": False, "cv_tol": 1e-5})]
        )
    given_up = np.mean([raced.cv_results_["given_up"].mean() for raced, _, _ in found])
    same = sum(raced.members_ == full.members_ for raced, full, _ in found)
    best = sum(raced.best_params_ == full.best_params_ for raced, full, _ in found)
    lost = [100 * (exact.best_score_ - score_of(exact, full.best_params_)) for _, full, exact in found]
    return (
        f"\n\nOn {len(found)} sets the race, which gives up {100 * given_up:.0f} % of the members, averages the same members as a "
        f"search without it on {same}, and has the same best one on {best}. Against members solved to 1e-5 the best one loses "
        f"{np.mean(lost):.3f} points of cross-validated accuracy in the mean, {max(lost):.2f} at most."
    )


def score_of(fitted, params):
    return fitted.cv_results_["mean_test_score"][fitted.cv_results_["params"].index(params)]


def rows_of(X, y, n):
    """Training and test rows of a row of the table."""
    order = np.random.default_rng(1).permutation(len(y))
    train, test = order[:n], order[n:][:4_000]
    return X[train], y[train], X[test], y[test]


def grid_search(make, A, a, Z, z):
    """CPU seconds and test accuracy."""
    folds, start = StratifiedKFold(5, shuffle=True, random_state=0), time.process_time()
    model = GridSearchCV(make(), {"C": CS, "gamma": GAMMAS / A.shape[1]}, cv=folds).fit(A, a)
    return time.process_time() - start, 100 * model.score(Z, z)


def intelex():
    import daal4py
    from sklearnex.svm import SVC as IntelexSVC

    daal4py.daalinit(1)
    return IntelexSVC()


def run_alone(how, name, n):
    """What the process of a grid search prints; it is ended once it has had its time."""
    ((_, X, y),) = common.real_sets([name])
    make = {"SVC": SVC, "intelex": intelex}[how]
    make()  # imports
    limit = int(time.process_time()) + MOST_SECONDS + 1
    resource.setrlimit(resource.RLIMIT_CPU, (limit, limit))
    print(json.dumps(grid_search(make, *rows_of(X, y, int(n)))))


def in_own_process(how, name, n):
    """A cell: seconds and accuracy, or what was spent in vain; a dash where it is not installed."""
    done = subprocess.run([sys.executable, __file__, "alone", how, name, str(n)], capture_output=True, text=True)
    if done.returncode == 0:
        seconds, points = json.loads(done.stdout.splitlines()[-1])
        return f"{seconds:.2f} s, {points:.2f}"
    return f"> {MOST_SECONDS} s" if done.returncode < 0 else "—"


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
    contenders = {"picked": lambda: search(A, a, combine="best"), "averaged": lambda: search(A, a)}
    if peer is not None:
        contenders["liquid"] = lambda: peer.mcSVM(A, a, threads=1, display=0)
    times, found = cpu_seconds(contenders)
    points = {way: 100 * found[way].score(Z, z) for way in found if way != "liquid"}
    if peer is not None:
        points["liquid"] = 100 * (1 - np.ravel(found["liquid"].test(Z, z)[1])[0])
    ratio = times.get("liquid", np.nan) / times["averaged"]
    cells = [f"{times[way]:.2f} s, {points[way]:.2f}" if way in times else "—" for way in list(COLUMNS)[:3]]
    cells += [in_own_process(how, name, len(a)) for how in ("SVC", "intelex")]
    row = [f"{name} ({len(a):,} x {A.shape[1]})", *cells, f"{ratio:.2f}x"]
    print(" | ".join(row), flush=True)
    return row, ratio, [points[way] - points.get("liquid", np.nan) for way in ("picked", "averaged")]


def main():
    peer, compared, large = liquid_svm(), [], ""
    for name, X, y in common.real_sets(SETS):
        if not QUICK and len(y) >= LARGE:
            some = rows_of(X, y, LARGE)[:2]
            times, _ = cpu_seconds({"ours": lambda some=some: search(*some)}, repeats=1)
            large += f"\n\n{name}, {LARGE:,} rows: {times['ours']:.0f} s."
        compared += [compare(peer, name, *rows_of(X, y, n)) for n in SIZES if n + 500 <= len(y)]
    rows, ratios, differences = zip(*compared, strict=True)
    table = common.table(["data", *COLUMNS.values(), "ratio"], rows)
    picked_by, averaged_by = np.mean(differences, axis=0)
    summary = (
        f"\n\nliquidSVM takes {np.median(ratios):.2f}x in the median, {min(ratios):.2f}x at least. Mean difference in accuracy to "
        f"liquidSVM: picked {picked_by:+.2f} points, averaged {averaged_by:+.2f} (on more sets: `benchmarks/kernel_rules.py`)."
    )
    text = (
        f"## Choosing C and gamma: 10 x 10 x 5 folds\n\n`python benchmarks/kernel_search.py`: {common.provenance()}\n\n"
    )
    explained = "\n\n".join(" ".join(part.split()) for part in __doc__.split("\n\n")[1:3])
    common.write_section("kernel-search", f"{text}{explained}\n\n{table}{summary}{large}{choices()}")


if __name__ == "__main__":
    run_alone(*sys.argv[2:]) if sys.argv[1:2] == ["alone"] else main()
