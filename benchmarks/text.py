"""Text: one fit to the same suboptimality, a search over C, and memory, beside scikit-learn's linear models, LIBLINEAR and snapml.

The text is what every Python machine has: the standard library and the installed packages, cut into pieces and labelled by the
package they come from. With RADIUSMARGIN_DATA also a9a, w8a and the pixels of MNIST, where these are; with the packages
liblinear-official and snapml also these.

    python benchmarks/text.py [fits] [searches] [tolerance] [highest] [scaled] [several] [noisy] [classes] [others] [--quick]
"""

from __future__ import annotations

import argparse
import ast
import contextlib
import gzip
import os
import subprocess
import sys
import sysconfig
import tempfile
import time
import warnings
from pathlib import Path

import numpy as np
from common import forget_peak, human, peak, provenance, table, write_section
from scipy import sparse
from sklearn.datasets import load_svmlight_file
from sklearn.feature_extraction.text import TfidfVectorizer
from sklearn.linear_model import LogisticRegression, LogisticRegressionCV, SGDClassifier
from sklearn.model_selection import GridSearchCV
from sklearn.multiclass import OneVsOneClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import LinearSVC

from radiusmargin import FSVM, FSVMCV, SVM
from radiusmargin.solvers import hinge_svm, hinge_svm_batch

try:
    from liblinear import liblinearutil
except ImportError:
    liblinearutil = None
try:
    from snapml import SupportVectorMachine as SnapSVM
except ImportError:
    SnapSVM = None

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


def docstrings():
    """(texts, packages) of what the functions and classes of this installation say of themselves: prose, mostly."""
    root = Path(sysconfig.get_path("purelib"))
    texts, labels = [], []
    for path in sorted(root.rglob("*.py")):
        with contextlib.suppress(SyntaxError, ValueError), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            tree = ast.parse(path.read_text(errors="ignore"))
            kinds = ast.FunctionDef, ast.ClassDef
            found = [ast.get_docstring(node) for node in ast.walk(tree) if isinstance(node, kinds)]
            texts += [text for text in found if text and len(text) >= 300]
            labels += [path.relative_to(root).parts[0]] * (len(texts) - len(labels))
    return texts, np.array(labels)


def labelings(quick, n=2_000):
    """(name, X, y) of twelve tasks: four texts, each labelled in three ways.

    The gap of FSVMCV's fits was chosen on them, the bound of 1 on C on the text of the first two.

    The largest package against the rest, every other package against the others, and the fourth largest against the rest.
    """
    words = {"sublinear_tf": True, "token_pattern": r"[A-Za-z_]{2,}"}
    code, prose = pieces(), docstrings()
    kinds = {
        "code, words": (code, {**words, "min_df": 2}),
        "code, pairs of words": (code, {**words, "ngram_range": (1, 2), "max_features": 100_000}),
        "docstrings, words": (prose, {**words, "min_df": 2}),
        "code, characters": (code, {"analyzer": "char", "ngram_range": (3, 3), "min_df": 3, "sublinear_tf": True}),
    }
    for kind, ((texts, labels), options) in list(kinds.items())[:1] if quick else kinds.items():
        chosen = np.random.default_rng(1).permutation(len(texts))[: 2 * n]
        X = TfidfVectorizer(**options).fit_transform([texts[i] for i in chosen])
        X.sort_indices()
        names, counts = np.unique(labels[chosen], return_counts=True)
        ranked = names[np.argsort(-counts)]
        for name, positive in (("one", ranked[:1]), ("half", ranked[::2]), ("fourth", ranked[3:4])):
            y = np.where(np.isin(labels[chosen], positive), 1.0, -1.0)
            yield f"{kind}, {name}, {n:,} x {X.shape[1]:,}", X, y


def cpu(function, repeats=3, enough=0.3):
    """Least CPU seconds, and the last value; what is quick is repeated more often."""
    best, spent, runs = np.inf, 0.0, 0
    while (runs < repeats and best <= 3) or (runs < 5 * repeats and spent < enough):
        start = time.process_time()
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            value = function()
        seconds = time.process_time() - start
        best, spent, runs = min(best, seconds), spent + seconds, runs + 1
    return best, value


# Peers with a tolerance, whose intercept is that of one more column of ones: functions of (X, y, C, tol) that return (w, b).


def linear_svc(X, y, C, tol):
    model = LinearSVC(C=C, loss="hinge", tol=tol, max_iter=20_000 if sparse.issparse(X) else 1_000).fit(X, y)
    return np.append(model.coef_[0], model.intercept_)


def raw_liblinear(X, y, C, tol):
    model = liblinearutil.train(y, X, f"-s 3 -c {C} -e {tol} -B 1 -q")
    w, b = model.get_decfun()
    return np.append(w, b)


def snap(X, y, C, tol):
    model = SnapSVM(regularizer=1 / C, tol=tol, max_iter=1_000, n_jobs=1, fit_intercept=True, random_state=0).fit(X, y)
    return np.append(model.coef_.ravel(), model.intercept_)


PEERS = {"LinearSVC(hinge)": linear_svc}
if liblinearutil:
    PEERS["LIBLINEAR"] = raw_liblinear
if SnapSVM:
    PEERS["snapml"] = snap


def optimum_with_ones(X, y, C):
    """(X with a column of ones, the least objective with that column penalised)."""
    ones = np.ones((X.shape[0], 1))
    extended = sparse.hstack([X, ones], format="csr") if sparse.issparse(X) else np.column_stack([X, ones])
    return extended, hinge_svm(extended, y, C, fit_intercept=False, tol=1e-5, max_iter=5000).dual_objective


def loosest(fit, X, y, C, optimum):
    """(seconds, tolerance) of the loosest run of a peer that is within SUBOPTIMALITY of the optimum of its own problem."""
    extended, value = optimum
    for tol in TOLERANCES:
        seconds, w = cpu(lambda tol=tol: fit(X, y, C, tol))
        if 0.5 * w @ w + C * np.maximum(0, 1 - y * (extended @ w)).sum() <= value * (1 + SUBOPTIMALITY):
            return seconds, tol
        if seconds > 5:
            break
    return np.inf, np.nan


def single_fits(sets):
    rows = []
    for name, X, y in sets:
        half = X.shape[0] // 2
        A, b, T, t = sparse.csr_matrix(X[:half]), y[:half], X[half:], y[half:]
        for C in (0.1, 1.0, 10.0):
            ours, _ = cpu(lambda C=C: SVM(C, tol=SUBOPTIMALITY).fit(A, b))
            optimum = optimum_with_ones(A, b, C)
            theirs = [loosest(fit, A, b, C, optimum) for fit in PEERS.values()]
            tight, exact = cpu(lambda C=C: SVM(C).fit(A, b), 1)
            others = {
                "LinearSVC()": lambda C=C: LinearSVC(C=C).fit(A, b),
                "SGD": lambda C=C: SGDClassifier(alpha=1 / (C * half), random_state=0).fit(A, b),
                "logistic": lambda C=C: LogisticRegression(C=C, max_iter=1000).fit(A, b),
            }
            found = {key: cpu(fit, 1) for key, fit in others.items()}
            rows.append(
                [name, f"{C:g}", human(ours)]
                + [f"{human(seconds)} ({tol:g})" for seconds, tol in theirs]
                + [f"{theirs[0][0] / ours:.2f}", f"{human(tight)} ({exact.dual_gap_:.0e})"]
                + [human(seconds) for seconds, _ in found.values()]
                + [" / ".join(f"{100 * m.score(T, t):.2f}" for m in (exact, *(value for _, value in found.values())))]
            )
            print(*rows[-1], sep=" | ", flush=True)
    header = ["text", "C", "SVM, gap 1e-3", *(f"{name}, 1e-3 off (its tol)" for name in PEERS), "ratio"]
    accuracy = "accuracy: SVM / LinearSVC() / SGD / logistic"
    return (
        table([*header, "SVM, default (its gap)", "LinearSVC()", "SGD", "logistic", accuracy], rows) + missing_peers()
    )


def missing_peers():
    names = [name for name, there in (("liblinear-official", liblinearutil), ("snapml", SnapSVM)) if not there]
    return f"\n\nNot installed, and left out: {', '.join(names)}." if names else ""


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


# Gaps to which a search fits what it only scores; the last one is taken for exact.
GAPS = 1e-3, 1e-4, 1e-5, 1e-7


def choice(search):
    """What was best, and what is averaged, as a text and as a set."""
    members = {(member["whitening"], round(np.log10(member["C"]), 6)) for member in search.members_}
    best = search.best_params_
    return f"p = {best['whitening']:g}, C = {best['C']:.2g}", members


def tolerance(sets):
    """One search per gap, of the same members on the same folds."""
    rows, differences, same_best, same_members = [], [], np.zeros(len(GAPS), int), np.zeros(len(GAPS), int)
    for name, X, y in sets:
        half = X.shape[0] // 2
        found = [cpu(lambda gap=gap: FSVMCV(cv_tol=gap).fit(X[:half], y[:half]), 1) for gap in GAPS]
        accuracy = np.array([100 * search.score(X[half:], y[half:]) for _, search in found])
        best, members = zip(*[choice(search) for _, search in found], strict=True)
        same_best += [one == best[-1] for one in best]
        same_members += [some == members[-1] for some in members]
        differences.append(accuracy - accuracy[-1])
        rows.append(
            [name]
            + [
                f"{b}; {len(m)}; {a:.2f}; {human(s)}"
                for b, m, a, (s, _) in zip(best, members, accuracy, found, strict=True)
            ]
        )
        print(*rows[-1], sep=" | ", flush=True)
    means = np.mean(differences, axis=0), np.max(np.abs(differences), axis=0)
    rows.append(
        ["all"]
        + [f"same best {b}, same members {m} of {len(differences)}; accuracy {mean:+.3f}, at most {most:.2f} off"
           for b, m, mean, most in zip(same_best, same_members, *means, strict=True)]
    )  # fmt: skip
    return table(["text", *(f"gap {gap:g}" for gap in GAPS)], rows)


def highest(sets):
    """The grid that begins with C up to 1 beside one to 100 with the same steps."""
    rows, differences, times = [], [], []
    for name, X, y in sets:
        half = X.shape[0] // 2
        grown, search = cpu(lambda: FSVMCV().fit(X[:half], y[:half]), 1)
        step = search.Cs_[1] / search.Cs_[0]
        Cs = search.Cs_[0] * step ** np.arange(np.ceil(np.log(100 / search.Cs_[0]) / np.log(step)) + 1)
        whole, other = cpu(lambda Cs=Cs: FSVMCV(Cs=list(Cs)).fit(X[:half], y[:half]), 1)
        accuracy = [100 * one.score(X[half:], y[half:]) for one in (search, other)]
        differences.append(accuracy[0] - accuracy[1])
        times.append(whole / grown)
        rows.append(
            [name, f"{search.Cs_[-1]:.2g}", choice(search)[0], choice(other)[0]]
            + [f"{100 * one.best_score_:.2f}" for one in (search, other)]
            + [f"{a:.2f}" for a in accuracy]
            + [human(grown), human(whole)]
        )
        print(*rows[-1], sep=" | ", flush=True)
    rows.append(
        ["all", *[""] * 5, f"{np.mean(differences):+.3f} in the mean", "", "", f"{np.median(times):.1f}x, median"]
    )
    header = (
        "text",
        "largest C tried",
        "best",
        "best to 100",
        "its score",
        "to 100",
        "accuracy",
        "to 100",
        "time",
        "to 100",
    )
    return table(header, rows)


def scaled(sets):
    """Fits with scaled columns, one C after the other."""
    rows = []
    for name, X, y in sets:
        half = X.shape[0] // 2
        A, b = sparse.csr_matrix(X[:half]), y[:half]
        for C in (0.01, 0.1, 1.0, 10.0):
            found = [cpu(lambda C=C, tol=tol: FSVM(C, whitening=-0.5, tol=tol).fit(A, b), 2) for tol in (1e-3, 1e-6)]
            rows.append([name, f"{C:g}"])
            for seconds, model in found:
                rows[-1].append(f"{human(seconds)} ({model.dual_gap_:.0e}, {model.n_iter_} passes)")
            rows[-1].append(f"{100 * found[-1][1].score(X[half:], y[half:]):.2f}")
            print(*rows[-1], sep=" | ", flush=True)
    return table(["text", "C", "to 1e-3 (its gap)", "to 1e-6", "accuracy"], rows)


# Texts by package: (rows for training, classes, options of the vectoriser). Those of the first kind have more columns than rows.
SEVERAL = {
    "words": [(1_500, K, {"min_df": 2}) for K in (4, 12, 30)],
    "pairs of words": [(1_500, 12, {"ngram_range": (1, 2), "max_features": 100_000})],
    "few words": [
        (6_000, 8, {"max_features": 1_000}),
        (6_000, 20, {"max_features": 1_000}),
        (6_000, 8, {"max_features": 3_000}),
    ],
}


def packages(quick):
    """(name, X, y, training rows) of the largest packages."""
    for kind, (texts, labels) in {"code": pieces(), "docstrings": docstrings()}.items():
        names, counts = np.unique(labels, return_counts=True)
        ranked = names[np.argsort(-counts)]
        for what, sizes in list(SEVERAL.items())[: 1 if quick else None]:
            for n, K, options in sizes:
                own = np.flatnonzero(np.isin(labels, ranked[:K]))
                chosen = np.random.default_rng(K).permutation(own)[: n + max(1_500, n // 2)]
                vectoriser = TfidfVectorizer(sublinear_tf=True, token_pattern=r"[A-Za-z_]{2,}", **options)
                X = vectoriser.fit_transform([texts[i] for i in chosen])
                X.sort_indices()
                yield f"{kind}, {what}, {n:,} x {X.shape[1]:,}, {K} classes", X, labels[chosen], n


def several(sets):
    """Pairs of classes beside each class against the rest."""
    rows = []
    for name, X, y, n in sets:
        grid = {"C": np.geomspace(0.01, 100, 9)}
        fits = {
            "pairs": lambda X=X, y=y, n=n: FSVMCV(multi_class="ovo").fit(X[:n], y[:n]),
            "rest": lambda X=X, y=y, n=n: FSVMCV(multi_class="ovr").fit(X[:n], y[:n]),
            "LinearSVC": lambda X=X, y=y, n=n, grid=grid: GridSearchCV(LinearSVC(), grid).fit(X[:n], y[:n]),
        }
        found = [cpu(fit, 1) for fit in fits.values()]
        rows.append([name, *(f"{100 * model.score(X[n:], y[n:]):.2f}, {human(seconds)}" for seconds, model in found)])
        print(*rows[-1], sep=" | ", flush=True)
    return table(["text", 'FSVMCV(multi_class="ovo")', 'FSVMCV(multi_class="ovr")', "GridSearchCV(LinearSVC())"], rows)


def drawn(n, d, share, rng):
    """Numbers anywhere."""
    X = sparse.random_array((n, d), density=share, rng=rng, format="csr")
    return X, X @ rng.normal(size=d)


def categories(n, columns, levels, rng):
    """One column for each level of a category; few levels are common."""
    frequency = 1 / np.arange(1, levels + 1)
    codes = rng.choice(levels, size=(n, columns), p=frequency / frequency.sum()) + levels * np.arange(columns)
    X = sparse.csr_array(
        (np.ones(n * columns), codes.ravel(), np.arange(0, n * columns + 1, columns)), shape=(n, columns * levels)
    )
    return X, X @ rng.normal(size=X.shape[1])


def counts(n, d, topics, rng):
    """Counts of words of some topics."""
    words, shares = rng.dirichlet(np.full(d, 0.02), size=topics), rng.dirichlet(np.full(topics, 0.3), size=n)
    return sparse.csr_array(rng.poisson(60 * shares @ words).astype(float)), shares @ rng.normal(size=topics)


# Sparse rows that are no text, and the share of their labels that say nothing.
NOISY = {
    "random, 5,000 x 400": (lambda rng: drawn(5_000, 400, 0.05, rng), 0.5),
    "random, 5,000 x 900": (lambda rng: drawn(5_000, 900, 0.02, rng), 0.5),
    "random, 10,000 x 2,000": (lambda rng: drawn(10_000, 2_000, 0.01, rng), 0.3),
    "categories, 5,000 x 960": (lambda rng: categories(5_000, 20, 48, rng), 0.3),
    "categories, 20,000 x 900": (lambda rng: categories(20_000, 15, 60, rng), 0.4),
    "counts, 4,000 x 700": (lambda rng: counts(4_000, 700, 30, rng), 0.3),
}


def noisy_sets(quick):
    for name, (make, noise) in list(NOISY.items())[: 1 if quick else None]:
        rng = np.random.default_rng(0)
        X, scores = make(rng)
        y = np.where(rng.random(len(scores)) < noise, rng.random(len(scores)) < 0.5, scores > np.median(scores))
        yield name, sparse.csr_array(X), y.astype(int)


def noisy(sets):
    """Searches where most multipliers are between their bounds."""
    rows = []
    for name, X, y in sets:
        n = 7 * X.shape[0] // 10
        wide = list(np.geomspace(1 / n, 100, 10))
        fits = {
            "as it comes": lambda X=X, y=y, n=n: FSVMCV().fit(X[:n], y[:n]),
            "exact": lambda X=X, y=y, n=n, Cs=wide: FSVMCV(Cs=Cs, cv_tol=1e-7).fit(X[:n], y[:n]),
            "logistic": lambda X=X, y=y, n=n: make_pipeline(StandardScaler(with_mean=False), LogisticRegressionCV()).fit(X[:n], y[:n]),
        }  # fmt: skip
        found = [cpu(fit, 1) for fit in fits.values()]
        rows.append([name, *(f"{100 * model.score(X[n:], y[n:]):.2f}, {human(seconds)}" for seconds, model in found)])
        print(*rows[-1], sep=" | ", flush=True)
    return table(["data", "FSVMCV()", "Cs up to 100, cv_tol=1e-7", "LogisticRegressionCV()"], rows)


# Gaussian blobs of many classes: (classes, rows of a class, features), and what is fitted to them.
BLOBS = {"100 classes": (100, 20, 200), "1,000 classes": (1_000, 20, 50)}
MANY = {
    "SVM()": lambda: SVM(),
    "FSVM(whitening=0)": lambda: FSVM(whitening=0.0),
    "FSVM()": lambda: FSVM(),
}


def blobs(n_classes, rows, d):
    rng = np.random.default_rng(0)
    y = np.repeat(np.arange(n_classes), rows)
    return 2 * rng.normal(size=(n_classes, d))[y] + rng.normal(size=(len(y), d)), y


def classes_alone(which, size):
    """In a process of its own: by how much a fit raises the peak, its seconds, and how many problems it solved."""
    X, y = blobs(*BLOBS[size])
    few = y < 5
    MANY[which]().fit(X[few], y[few])  # what it imports and warms up
    forget_peak()
    before, start = peak(), time.process_time()
    model = MANY[which]().fit(X, y)
    print(peak() - before, time.process_time() - start, len(model.coef_))


def classes(quick):
    rows = []
    for size, (n_classes, per_class, d) in list(BLOBS.items())[: 1 if quick else None]:
        megabytes = n_classes * per_class * d * 8 / 2**20
        for which in MANY:
            command = [sys.executable, __file__, "--classes-alone", which, size]
            done = subprocess.run(command, capture_output=True, text=True, check=True)
            raised, seconds, problems = map(float, done.stdout.splitlines()[-1].split())
            separators = problems * d * 8 / 2**20 / megabytes
            rows.append(
                [f"{size} of {per_class} rows, d = {d}", which, f"{problems:,.0f}", human(seconds), f"{megabytes:.1f} MB",
                 f"{raised / megabytes:.1f} x X", f"{separators:.1f} x X"]
            )  # fmt: skip
            print(*rows[-1], sep=" | ", flush=True)
    return table(["blobs", "model", "separators", "CPU", "X", "memory beyond X", "of which separators"], rows)


FITS = {
    "SVM": lambda X, y: SVM(1.0, tol=SUBOPTIMALITY).fit(X, y),
    "LinearSVC(hinge)": lambda X, y: linear_svc(X, y, 1.0, 0.03),
    "LinearSVC()": lambda X, y: LinearSVC().fit(X, y),
    "LIBLINEAR": lambda X, y: raw_liblinear(X, y, 1.0, 0.03),
    "snapml": lambda X, y: snap(X, y, 1.0, 0.01),
    "SGD": lambda X, y: SGDClassifier(random_state=0).fit(X, y),
    "logistic": lambda X, y: LogisticRegression(max_iter=1000).fit(X, y),
}


def million_columns():
    rng = np.random.default_rng(0)
    X = sparse.random_array((20_000, 1_000_000), density=1e-4, rng=rng, format="csr")
    X.indices, X.indptr = X.indices.astype(np.int32), X.indptr.astype(np.int32)
    return X, np.where(X @ rng.normal(size=1_000_000) + 0.1 * rng.normal(size=20_000) > 0, 1.0, -1.0)


def fit_alone(which, path):
    """In a process of its own: by how much a fit raises the peak, and its seconds."""
    file = np.load(path)
    X = sparse.csr_matrix((file["data"], file["indices"], file["indptr"]), shape=tuple(file["shape"]))
    y, small = file["y"], slice(0, 50)
    rows = np.flatnonzero(y > 0)[small].tolist() + np.flatnonzero(y < 0)[small].tolist()
    FITS[which](X[rows], y[rows])  # what it imports and warms up
    before, start = peak(), time.process_time()
    FITS[which](X, y)
    print(peak() - before, time.process_time() - start)


def memory(sets):
    """Peaks of all contenders at C = 1, each in a process of its own."""
    rows = []
    for name, X, y in sets:
        found = []
        for which in FITS:
            if which in PEERS or which not in ("LIBLINEAR", "snapml"):
                found.append(measured_alone(which, X, y))
        rows.append([name, f"{(X.data.nbytes + X.indices.nbytes) / 1e6:.0f} MB", *found])
        print(*rows[-1], sep=" | ", flush=True)
    return table(
        ["text", "X", *(which for which in FITS if which in PEERS or which not in ("LIBLINEAR", "snapml"))], rows
    )


def measured_alone(which, X, y):
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "problem.npz"
        np.savez(path, data=X.data, indices=X.indices, indptr=X.indptr, shape=X.shape, y=y)
        command = [sys.executable, __file__, "--fit-alone", which, str(path)]
        done = subprocess.run(command, capture_output=True, text=True, check=True)
    raised, seconds = map(float, done.stdout.splitlines()[-1].split())
    return f"{raised:.0f} MB, {human(seconds)}"


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
            tight, optimum = hinge_svm(X, y, C), optimum_with_ones(X, y, C)
            theirs = [loosest(fit, X, y, C, optimum) for fit in PEERS.values()]
            off = found.objective / tight.dual_objective - 1
            rows.append(
                [f"{name}, {X.shape[0]:,} x {X.shape[1]:,}", f"{C:g}", human(ours), f"{off:.0e}"]
                + [f"{human(seconds)} ({tol:g})" for seconds, tol in theirs]
                + [f"{theirs[0][0] / ours:.2f}"]
            )
            print(*rows[-1], sep=" | ", flush=True)
    return table(
        ["set", "C", "hinge_svm, gap 1e-3", "off by", *(f"{name}, 1e-3 off (its tol)" for name in PEERS), "ratio"], rows
    )


def ten_digits():
    """MNIST: each digit against the rest, and in pairs; LinearSVC with the loosest tolerance that serves all ten digits."""
    home = Path(os.environ.get("RADIUSMARGIN_DATA", "")) / "large"
    if not (home / "mnist-train-images-idx3-ubyte.gz").exists():
        return "MNIST was not there."
    digits = unpacked(home / "mnist-train-labels-idx1-ubyte.gz", 8, 20_000)
    X = unpacked(home / "mnist-train-images-idx3-ubyte.gz", 16, 784 * 20_000).reshape(-1, 784) / 255
    A, b, T, t = X[:10_000], digits[:10_000], X[10_000:], digits[10_000:]
    rows = []
    for C in (1e-3, 1e-2, 0.1):
        each = [np.where(b == digit, 1.0, -1.0) for digit in range(10)]
        tol = min(loosest(linear_svc, A, y, C, optimum_with_ones(A, y, C))[1] for y in each)
        svc = LinearSVC(C=C, loss="hinge", tol=tol, max_iter=1_000)
        contenders = {
            "rest": lambda C=C: FSVM(C, whitening=-1.0, multi_class="ovr", tol=SUBOPTIMALITY).fit(A, b),
            "LinearSVC": lambda svc=svc: svc.fit(A, b),
            "pairs": lambda C=C: SVM(C, tol=SUBOPTIMALITY).fit(A, b),
            "pairs of LinearSVC": lambda svc=svc: OneVsOneClassifier(svc).fit(A, b),
        }
        found = [cpu(fit, 2) for fit in contenders.values()]
        rows.append([f"{C:g} ({tol:g})", *(f"{human(seconds)}, {100 * m.score(T, t):.2f}" for seconds, m in found)])
        print(*rows[-1], sep=" | ", flush=True)
    return table(
        [
            "C (tolerance of LinearSVC)",
            "each against the rest",
            "LinearSVC(hinge)",
            "in pairs",
            "pairs of LinearSVC(hinge)",
        ],
        rows,
    )


def others(quick):
    X, y = million_columns()
    text = [] if quick else [list(corpora(False))[2]]
    wide = memory([*text, ("random, 20,000 x 1,000,000", X, y)])
    return "\n\n".join(
        [real_fits(), "Ten digits, 10,000 rows of pixels: CPU seconds and test accuracy, LinearSVC within 1e-3 on every digit against the rest.", ten_digits(),
         "By how much a fit raises the peak of a process of its own, and its CPU seconds, at C = 1.", wide]
    )  # fmt: skip


PARTS = {
    "fits": (
        "Half of the rows are for training, the others for the accuracy. A ratio above 1: we are faster. `LinearSVC(hinge)` runs "
        "with the loosest tolerance that leaves it within 1e-3 of the optimum of its own problem, in which the intercept is "
        "penalised: somebody who knew it in advance. Ours is certified to 1e-3, so that its suboptimality is less.",
        lambda quick: single_fits(corpora(quick)),
    ),
    "searches": (
        "Choosing C. Ten Cs (0.01 to 10) on five folds in one call against the slowest of the ten single fits, that at C = 10, to the "
        "same gap (the goal is 10 of them), and whole searches; that of `FSVMCV` is over two scalings of the columns as well, and "
        "refits to 1e-6.",
        lambda quick: searches(list(corpora(quick))),
    ),
    "tolerance": (
        "To which gap a search should fit what it only scores. Of each gap: the best exponent and C; how many members are averaged; test "
        "accuracy; CPU seconds of `FSVMCV(cv_tol=gap)`. The last line compares with the tightest.",
        lambda quick: tolerance(labelings(quick)),
    ),
    "highest": (
        "`FSVMCV()` begins with C up to 1 and goes on while the best is at the edge; beside it the same steps up to 100. Scores are "
        "those of the best member in cross-validation.",
        lambda quick: highest(labelings(quick)),
    ),
    "scaled": (
        "`FSVM(C, whitening=-1/2)`: columns divided by the root of their standard deviation, which makes rows long: C is there what it "
        "is in the units of the data times the mean squared length of a row.",
        lambda quick: scaled(corpora(quick)),
    ),
    "several": (
        "Several classes: test accuracy and CPU seconds of a search, in pairs and each against the rest. `FSVMCV()` takes the latter where "
        "columns are as many as rows or more, a rule that was made with these texts in view.",
        lambda quick: several(packages(quick)),
    ),
    "noisy": (
        "Sparse rows that are no text, drawn, with labels of which 30 to 50 % say nothing: test accuracy and CPU seconds of a search.",
        lambda quick: noisy(noisy_sets(quick)),
    ),
    "classes": (
        "Many classes: growth of the peak resident set during `fit`, each in a process of its own.",
        classes,
    ),
    "others": (
        "Not text: sparse with few columns, and dense with several hundred.",
        others,
    ),
}


def main():
    if "--fit-alone" in sys.argv:
        return fit_alone(*sys.argv[2:4])
    if "--classes-alone" in sys.argv:
        return classes_alone(*sys.argv[2:4])
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("parts", nargs="*", default=[*PARTS], help=f"{', '.join(PARTS)}; default: all of them")
    parser.add_argument("--quick", action="store_true", help="one small corpus, and nothing is written")
    args = parser.parse_args()
    for name in args.parts:
        title, text = f"## Text and many features: {name}", PARTS[name][0]
        found = PARTS[name][1](args.quick)
        if not args.quick:
            command = f"`python benchmarks/text.py {name}`. {provenance()} CPU seconds, least of three, or of up to fifteen where they are quick."
            write_section(f"text-{name}", "\n\n".join([title, command, text, found]))


if __name__ == "__main__":
    main()
