"""Text: one fit to the same suboptimality, a search over C, and memory, beside scikit-learn's linear models.

The text is what every Python machine has: the standard library and the installed packages, cut into pieces and labelled by the
package they come from. With RADIUSMARGIN_DATA also a9a, w8a and the pixels of MNIST, where these are.

    python benchmarks/text.py [--quick]
"""

from __future__ import annotations

import argparse
import gzip
import os
import sysconfig
import time
import tracemalloc
import warnings
from pathlib import Path

import numpy as np
from common import human, provenance, table, write_section
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.svm import LinearSVC

from radiusmargin import FSVMCV, SVM
from radiusmargin.solvers import hinge_svm, hinge_svm_batch

SUBOPTIMALITY = 1e-3
TOLERANCES = 3.0, 1.0, 0.3, 0.1, 0.03, 0.01, 3e-3, 1e-3, 1e-4
LINES = 40  # of a piece


def pieces():
    """(texts, packages) of the Python files of this installation."""
    roots = {Path(sysconfig.get_path(name)) for name in ("stdlib", "purelib")}
    texts, labels = [], []
    for root in sorted(roots):
        for path in sorted(root.rglob("*.py")):
            package = path.relative_to(root).parts[0]
            if package == "site-packages" or path.stat().st_size > 2_000_000:
                continue
            lines = path.read_text(errors="ignore").splitlines()
            found = ["\n".join(lines[i : i + LINES]) for i in range(0, len(lines), LINES)]
            texts += [piece for piece in found if len(piece) >= 400]
            labels += [package] * (len(texts) - len(labels))
    return texts, np.array(labels)


def corpora(quick):
    """(name, X, y, packages) of several sizes; y is the largest package against the rest, and half of them against half."""
    texts, labels = pieces()
    order = np.random.default_rng(0).permutation(len(texts))
    sizes = (
        (5_000, {"min_df": 2}),
        (20_000, {"min_df": 2}),
        (20_000, {"ngram_range": (1, 2), "max_features": 100_000}),
    )
    for n, options in sizes[:1] if quick else sizes:
        chosen = order[: 2 * n]
        vectoriser = TfidfVectorizer(sublinear_tf=True, token_pattern=r"[A-Za-z_]{2,}", **options)
        X = vectoriser.fit_transform([texts[i] for i in chosen])
        X.sort_indices()
        names, counts = np.unique(labels[chosen], return_counts=True)
        ranked = names[np.argsort(-counts)]
        for name, positive in (("one", ranked[:1]), ("half", ranked[::2])):
            yield f"{name}, {n:,} x {X.shape[1]:,}", X, np.where(np.isin(labels[chosen], positive), 1.0, -1.0)


def cpu(function, repeats=3):
    """Least CPU seconds, and the last value."""
    best = np.inf
    for _ in range(repeats):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function()
        best = min(best, time.process_time() - start)
        if best > 3:
            break
    return best, value


def fastest_linear_svc(X, y, C):
    """(seconds, tolerance) of the loosest LinearSVC(hinge) that is within SUBOPTIMALITY of the optimum of its own problem."""
    extended = sparse.hstack([X, np.ones((X.shape[0], 1))], format="csr")
    optimum = hinge_svm(extended, y, C, fit_intercept=False, tol=1e-5, max_iter=5000).dual_objective
    for tol in TOLERANCES:
        seconds, model = cpu(lambda tol=tol: LinearSVC(C=C, loss="hinge", tol=tol, max_iter=20_000).fit(X, y))
        w = np.append(model.coef_[0], model.intercept_)
        value = 0.5 * w @ w + C * np.maximum(0, 1 - y * (extended @ w)).sum()
        if value <= optimum * (1 + SUBOPTIMALITY):
            return seconds, tol
    return np.nan, np.nan


def single_fits(sets):
    rows = []
    for name, X, y in sets:
        half = X.shape[0] // 2
        A, b, T, t = X[:half], y[:half], X[half:], y[half:]
        for C in (0.1, 1.0, 10.0):
            ours, _ = cpu(lambda C=C: SVM(C, tol=SUBOPTIMALITY).fit(A, b))
            theirs, tol = fastest_linear_svc(A, b, C)
            tight, exact = cpu(lambda C=C: SVM(C).fit(A, b), 1)
            others = {
                "LinearSVC()": lambda C=C: LinearSVC(C=C).fit(A, b),
                "SGD": lambda C=C: SGDClassifier(alpha=1 / (C * half), random_state=0).fit(A, b),
                "logistic": lambda C=C: LogisticRegression(C=C, max_iter=1000).fit(A, b),
            }
            found = {key: cpu(fit, 1) for key, fit in others.items()}
            rows.append(
                [name, f"{C:g}", human(ours), f"{human(theirs)} ({tol:g})", f"{theirs / ours:.2f}", f"{human(tight)} ({exact.dual_gap_:.0e})"]
                + [human(seconds) for seconds, _ in found.values()]
                + [" / ".join(f"{100 * m.score(T, t):.2f}" for m in (exact, *(value for _, value in found.values())))]
            )  # fmt: skip
            print(*rows[-1], sep=" | ", flush=True)
    header = "text", "C", "SVM, gap 1e-3", "LinearSVC(hinge), 1e-3 off (its tol)", "ratio", "SVM, default (its gap)"
    return table([*header, "LinearSVC()", "SGD", "logistic", "accuracy: SVM / LinearSVC() / SGD / logistic"], rows)


def searches(sets):
    rows = []
    for name, X, y in sets:
        half = X.shape[0] // 2
        A, b, T, t = X[:half], y[:half], X[half:], y[half:]
        Cs = np.geomspace(0.01, 10, 10)
        folds = [np.flatnonzero(np.arange(half) % 5 != f) for f in range(5)]
        A64 = sparse.csr_array(A)
        path, _ = cpu(lambda: hinge_svm_batch(A64, b, Cs, rows=folds, tol=SUBOPTIMALITY), 2)
        fits = [cpu(lambda C=C: hinge_svm(A64, b, C, tol=SUBOPTIMALITY))[0] for C in Cs]
        grid = {"C": np.geomspace(1e-3, 100, 10)}
        ours, search = cpu(lambda: FSVMCV().fit(A, b), 1)
        theirs, other = cpu(lambda: GridSearchCV(LinearSVC(loss="hinge", max_iter=2000), grid).fit(A, b), 1)
        rows.append(
            [name, human(path), human(max(fits)), f"{path / max(fits):.1f}", human(ours), human(theirs),
             f"{100 * search.score(T, t):.2f} / {100 * other.score(T, t):.2f}"]
        )  # fmt: skip
        print(*rows[-1], sep=" | ", flush=True)
    header = "text", "10 C x 5 folds, 1e-3", "one fit, C = 10", "ratio", "FSVMCV()", "GridSearchCV(LinearSVC(hinge))"
    return table([*header, "accuracy, both"], rows)


def a_million_columns():
    rng = np.random.default_rng(0)
    X = sparse.random_array((20_000, 1_000_000), density=1e-4, rng=rng, format="csr")
    y = np.where(X @ rng.normal(size=1_000_000) + 0.1 * rng.normal(size=20_000) > 0, 1.0, -1.0)
    seconds, _ = cpu(lambda: SVM(1.0, tol=SUBOPTIMALITY).fit(X, y), 1)
    tracemalloc.start()
    SVM(1.0, tol=SUBOPTIMALITY).fit(X, y)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    stored = X.data.nbytes + X.indices.nbytes + X.indptr.nbytes
    return f"20,000 x 1,000,000 with {X.nnz:,} stored numbers ({stored / 1e6:.0f} MB): {human(seconds)}, Python's share of the peak {peak / 1e6:.0f} MB."


def unpacked(path, offset=0, count=-1):
    """Bytes of a compressed file."""
    with gzip.open(path) as file:
        return np.frombuffer(file.read(), np.uint8, offset=offset, count=count)


def real_sets():
    """a9a and w8a, sparse, and pixels of MNIST, dense, as they are and standardised: odd digits against even ones."""
    home = Path(os.environ.get("RADIUSMARGIN_DATA", "")) / "large"
    for name in ("a9a", "w8a"):
        if (home / f"{name}.svm.gz").exists():
            with gzip.open(home / f"{name}.svm.gz") as file:
                X, y = load_svmlight_file(file, zero_based=True)
            X = sparse.csr_matrix(X)
            X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
            yield name, X, np.where(y > 0, 1.0, -1.0)
    if (home / "mnist-train-images-idx3-ubyte.gz").exists():
        digits = unpacked(home / "mnist-train-labels-idx1-ubyte.gz", 8, 10_000)
        X = unpacked(home / "mnist-train-images-idx3-ubyte.gz", 16, 784 * 10_000).reshape(-1, 784) / 255
        X = np.ascontiguousarray(X[:, X.std(axis=0) > 0])
        yield "pixels", X, np.where(digits % 2, 1.0, -1.0)
        yield "pixels, standardised", (X - X.mean(axis=0)) / X.std(axis=0), np.where(digits % 2, 1.0, -1.0)


def real_fits():
    rows = []
    for name, X, y in real_sets():
        for C in (1e-3, 1e-2, 0.1, 1.0):
            ours, found = cpu(lambda X=X, y=y, C=C: hinge_svm(X, y, C, tol=SUBOPTIMALITY))
            tight = hinge_svm(X, y, C)
            theirs, tol = (
                fastest_linear_svc(sparse.csr_matrix(X), y, C) if sparse.issparse(X) else dense_linear_svc(X, y, C)
            )
            rows.append([f"{name}, {X.shape[0]:,} x {X.shape[1]:,}", f"{C:g}", human(ours), f"{found.objective / tight.dual_objective - 1:.0e}", f"{human(theirs)} ({tol:g})", f"{theirs / ours:.2f}"])  # fmt: skip
            print(*rows[-1], sep=" | ", flush=True)
    return table(["set", "C", "hinge_svm, gap 1e-3", "off by", "LinearSVC(hinge), 1e-3 off (its tol)", "ratio"], rows)


def dense_linear_svc(X, y, C):
    """The same for dense data; its problem is that of one more column of ones."""
    extended = np.column_stack([X, np.ones(len(X))])
    optimum = hinge_svm(extended, y, C, fit_intercept=False, tol=1e-5).dual_objective
    seconds = np.nan
    for tol in TOLERANCES[:6]:
        seconds, model = cpu(lambda tol=tol: LinearSVC(C=C, loss="hinge", tol=tol, max_iter=1000).fit(X, y), 2)
        w = np.append(model.coef_[0], model.intercept_)
        if 0.5 * w @ w + C * np.maximum(0, 1 - y * (extended @ w)).sum() <= optimum * (1 + SUBOPTIMALITY):
            return seconds, tol
        if seconds > 5:
            break
    return np.inf, np.nan


def main():
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--quick", action="store_true", help="one small corpus, and nothing is written")
    quick = parser.parse_args().quick
    sets = list(corpora(quick))
    parts = [
        "## Text and many features\n\n`python benchmarks/text.py`. " + provenance() + " CPU seconds, least of three.",
        "Half of the rows are for training, the others for the accuracy. A ratio above 1: we are faster. `LinearSVC(hinge)` runs "
        "with the loosest tolerance that leaves it within 1e-3 of the optimum of its own problem, in which the intercept is "
        "penalised: somebody who knew it in advance. Ours is certified to 1e-3, so that its suboptimality is less.",
        single_fits(sets),
        "Choosing C. Ten Cs on five folds in one call against the slowest of the ten single fits (the goal is 10 of them), "
        "and whole searches; that of `FSVMCV` is over two scalings of the columns as well.",
        searches(sets[:2] if quick else sets[:4]),
        "Memory. " + a_million_columns(),
        "Not text: sparse with few columns, and dense with several hundred.\n\n" + real_fits(),
    ]
    if not quick:
        write_section("text", "\n\n".join(parts))


if __name__ == "__main__":
    main()
