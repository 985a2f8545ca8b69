"""Choosing C and gamma of a Gaussian kernel, 10 x 10 x 5 folds: the search core beside liquidSVM and GridSearchCV(SVC).

Ours: `held_out_scores`, the best pair, and a fit of it by `kernel_svm` to 1e-3. liquidSVM with its defaults (its own grid
of 10 x 10 and 5 folds). CPU seconds of one thread, minimum of interleaved runs; test accuracy on up to 4,000 other rows.

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
from radiusmargin.problems import Batch, Kernel
from radiusmargin.solvers import held_out_scores, kernel_scores, kernel_svm

QUICK = "--quick" in sys.argv
SIZES = (500, 1_000) if QUICK else (500, 1_000, 2_000, 4_000)
GRID_SEARCH_UP_TO = 500
SETS = ["ida/image", "ida/waveform", "uci_zscored/spambase", "uci_zscored/pendigits", "uci_zscored/adult"]
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


def ours(X, y):
    folds = list(StratifiedKFold(5, shuffle=True, random_state=0).split(X, y))
    batch = Batch(Kernel(X), y[None], np.ones(len(y)), CS, subsets=tuple(train for train, _ in folds))
    kernels = [KernelFunction("rbf", gamma=gamma / X.shape[1]) for gamma in GAMMAS]
    scores = held_out_scores(batch, [test for _, test in folds], kernels)[:, :, 0]
    g, c = np.unravel_index(np.argmax(np.mean(np.sign(scores) == y, axis=2)), (len(GAMMAS), len(CS)))
    return kernels[g], X, kernel_svm(X, y, CS[c], kernel=kernels[g], tol=1e-3)


def accuracy_of_ours(found, Z, z):
    k, X, model = found
    scores = kernel_scores(Z, X[model.support], model.dual_coef[None], kernel=k)[:, 0] + model.intercept
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


def main():
    peer, rows, ratios = liquid_svm(), [], []
    for name, X, y in common.real_sets(SETS):
        order = np.random.default_rng(1).permutation(len(y))
        for n in SIZES:
            if n + 500 > len(y):
                continue
            train, test = order[:n], order[n:][:4_000]
            A, a, Z, z = X[train], y[train], X[test], y[test]
            contenders = {"ours": lambda A=A, a=a: ours(A, a)}
            if peer is not None:
                contenders["liquid"] = lambda A=A, a=a: peer.mcSVM(A, a, threads=1, display=0)
            if n <= GRID_SEARCH_UP_TO:
                contenders["grid"] = lambda A=A, a=a: grid_search(A, a)
            times, found = cpu_seconds(contenders)
            row = [
                f"{name} ({n:,} x {X.shape[1]})",
                f"{times['ours']:.2f} s, {accuracy_of_ours(found['ours'], Z, z):.2f}",
            ]
            if peer is not None:
                error = np.ravel(found["liquid"].test(Z, z)[1])[0]
                ratios.append(times["liquid"] / times["ours"])
                row += [f"{times['liquid']:.2f} s, {100 * (1 - error):.2f}", f"{ratios[-1]:.2f}x"]
            else:
                row += ["—", "—"]
            grid = f"{times['grid']:.1f} s, {100 * found['grid'].score(Z, z):.2f}" if "grid" in found else "—"
            print(" | ".join([*row, grid]), flush=True)
            rows.append([*row, grid])
    table = common.table(["data", "ours", "liquidSVM", "ratio", "GridSearchCV(SVC)"], rows)
    summary = (
        f"\n\nliquidSVM takes {np.median(ratios):.2f}x in the median, {min(ratios):.2f}x at least." if ratios else ""
    )
    text = (
        f"## Choosing C and gamma: 10 x 10 x 5 folds\n\n`python benchmarks/kernel_search.py`: {common.provenance()}\n\n"
    )
    common.write_section("kernel-search", text + " ".join(__doc__.split("\n\n")[1].split()) + "\n\n" + table + summary)


if __name__ == "__main__":
    main()
