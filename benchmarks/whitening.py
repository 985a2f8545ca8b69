"""When F-SVM helps: signal in directions of little spread, and the SVM on standardised features beside it.

First constructed tables, with independent draws; then real ones, in random halves of at most 400 rows, for a rule that tells from
the rows alone which of the two to take. The rule is chosen on every second set of the alphabet and reported on the others.

    RADIUSMARGIN_DATA=... python benchmarks/whitening.py [--draws 10] [--halves 2]
"""

from __future__ import annotations

import argparse
import itertools
import warnings
import zlib

import common
import numpy as np
from averaging import BROKEN
from scipy.stats import wilcoxon
from sklearn.discriminant_analysis import LinearDiscriminantAnalysis
from sklearn.model_selection import train_test_split

from radiusmargin import FSVMCV
from radiusmargin.paper import data as datasets

WIDE = 2.0 ** np.arange(-10, 31, 2)
N_TEST, MOST_ROWS, MOST_CLASSES, SMALLEST_CLASS = 3000, 400, 10, 10
CONDITIONS, ROWS = (0.0, 1.0, 2.0, 3.0, 4.0), (0.0, 2.0, 4.0, 8.0, 16.0)


def behind_a_map(n, d, rng, condition=1e3):
    """Twonorm seen through a map of this condition, with its signal in every direction."""
    X, y = datasets.make_twonorm(n, d, random_state=rng)
    rotations = [np.linalg.qr(rng.standard_normal((d, d)))[0] for _ in range(2)]
    return X @ rotations[0] @ (np.geomspace(1.0, 1.0 / condition, d)[:, None] * rotations[1]), y


def ill_conditioned(n, d, rng):
    return datasets.make_ill_conditioned(n, d, random_state=rng)


def outliers(n, d, rng):
    """Twonorm, 3 % of whose training rows are thirty times as long."""
    X, y = datasets.make_twonorm(n, d, random_state=rng)
    X[: int(0.03 * (n - N_TEST))] *= 30.0
    return X, y


def noise_features(n, d, rng):
    return datasets.make_waveform(n, binary=True, n_noise_features=d - 21, random_state=rng)


CONSTRUCTED = (
    ("`make_ill_conditioned`", ill_conditioned, 100, 20), ("`make_ill_conditioned`", ill_conditioned, 200, 20),
    ("`make_ill_conditioned`", ill_conditioned, 400, 20), ("twonorm behind a map of condition 1,000", behind_a_map, 200, 30),
    ("twonorm behind a map of condition 1,000", behind_a_map, 400, 100),
    ("fewer than two rows per feature", behind_a_map, 60, 100), ("3 % outliers in twonorm", outliers, 400, 20),
    ("waveform with 19 features of noise", noise_features, 200, 40),
)  # fmt: skip


def methods(Cs):
    one = {"scatter": "total", "combine": "best", "random_state": 0}
    return {
        "SVM": FSVMCV(Cs, whitening=0.0, **one),
        "F-SVM": FSVMCV(Cs, whitening=1.0, **one),
        "`FSVMCV()`": FSVMCV(random_state=0),
        "`FSVMCV(whitening=(0, .5, 1))`": FSVMCV(whitening=(0.0, 0.5, 1.0), random_state=0),
        "LDA": LinearDiscriminantAnalysis(),
    }


def accuracies(models, X, y, X_test, y_test):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return [100 * model.fit(X, y).score(X_test, y_test) for model in models.values()]


def constructed(n_draws):
    """One row for every kind of table: the SVM's accuracy, and that of the others minus it."""
    for name, make, n, d in CONSTRUCTED:
        found = []
        for draw in range(n_draws):
            X, y = make(n + N_TEST, d, np.random.RandomState(1000 + draw))
            train = slice(0, n)
            found.append(accuracies(methods(WIDE), X[train], y[train], X[n:], y[n:]))
        found = np.array(found)
        gains = found[:, 1:] - found[:, :1]
        errors = gains.std(axis=0, ddof=1) / np.sqrt(n_draws)
        yield [
            name,
            f"{n} x {d}",
            f"{found[:, 0].mean():.2f}",
            *map("{:+.2f} ± {:.2f}".format, gains.mean(axis=0), errors),
        ]


def real_names():
    names = [d.name for d in datasets.list_datasets() if d.group in ("ida", "uci", "uci_zscored")]
    return [name for name in names if name.partition("/")[2] not in BROKEN]


def halves(task, n_halves):
    """Training and test rows of random halves, cut to size."""
    rng = np.random.default_rng(zlib.crc32(task.name.encode()))
    for _ in range(n_halves):
        seed = int(rng.integers(2**31))
        size = min(MOST_ROWS, task.n_samples // 2)
        yield train_test_split(np.arange(task.n_samples), train_size=size, stratify=task.y, random_state=seed)


def numbers(X):
    """(log10 of the condition of the correlation matrix, rows per direction) of the directions that whitening keeps."""
    spread = X.std(axis=0)
    Z = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
    s = np.linalg.svd(Z, compute_uv=False) / np.sqrt(len(Z))
    s = s[s > 1e-4]
    return 2 * np.log10(s[0] / s[-1]), len(X) / len(s)


def measured(n_halves):
    """(name, condition, rows per direction, gain of F-SVM over the SVM) of every real set."""
    for name, task in common.loaded(real_names()):
        counts = np.unique(task.y, return_counts=True)[1]
        if len(counts) > MOST_CLASSES or counts.min() < SMALLEST_CLASS or task.n_features > MOST_ROWS:
            continue
        two = {key: model for key, model in methods(2.0 ** np.arange(-10, 13, 2)).items() if key in ("SVM", "F-SVM")}
        found = []
        for train, test in halves(task, n_halves):
            parts = task.encoded(train, test[:2000])
            svm, fsvm = accuracies(two, parts[0], task.y[train], parts[1], task.y[test[:2000]])
            found.append((*numbers(np.asarray(parts[0], dtype=float)), fsvm - svm))
        yield (name, *np.mean(found, axis=0))


def fires(rule, sets):
    """Whether a rule (least condition, fewest rows per direction) takes F-SVM, for every set."""
    return (sets[:, 0] >= rule[0]) & (sets[:, 1] >= rule[1])


def chosen_rule(sets):
    """The rule with the largest mean gain on these sets."""
    return max(itertools.product(CONDITIONS, ROWS), key=lambda rule: np.mean(sets[:, 2] * fires(rule, sets)))


def verdict(found):
    """What the rule is worth where it was chosen and where it was not, in words."""
    names, sets = [row[0] for row in found], np.array([row[1:] for row in found])
    order = np.argsort(names)
    chosen, reported = sets[order[::2]], sets[order[1::2]]
    rule = chosen_rule(chosen)
    inside, outside = (part[fires(rule, part), 2] for part in (chosen, reported))
    p = wilcoxon(outside, alternative="greater").pvalue if len(outside) > 4 and outside.any() else 1.0
    held = p < 0.05 and outside.mean() > 0
    words = (
        f"The best rule of {len(CONDITIONS) * len(ROWS)} on {len(chosen)} sets: F-SVM where the condition of the correlation matrix is at"
        f" least 1e{rule[0]:g} and there are at least {rule[1]:g} rows per direction. Where it takes F-SVM, that gains"
        f" {_mean(inside)} points over the SVM on {len(inside)} of these sets, and {_mean(outside)} on {len(outside)} of the"
        f" {len(reported)} others (p = {p:.2g}, one-sided Wilcoxon)."
    )
    end = (
        "It held on sets on which it was not chosen."
        if held
        else "It did not hold on sets on which it was not chosen: no rule is offered."
    )
    everywhere = f"Over all {len(sets)} sets F-SVM minus the SVM is {sets[:, 2].mean():+.2f} points in the mean."
    return f"{everywhere} {words} {end}"


def _mean(values):
    return f"{values.mean():+.2f}" if len(values) else "nothing"


def best(found, n=5):
    """The sets on which F-SVM gains and loses most."""
    order = sorted(found, key=lambda row: -row[3])
    named = [row for row in order[n:-n] if row[0] == "uci/image"]
    rows = [[name, f"1e{c:.1f}", f"{r:.1f}", f"{gain:+.2f}"] for name, c, r, gain in [*order[:n], *named, *order[-n:]]]
    return common.table(["set", "condition", "rows per direction", "F-SVM minus SVM"], rows)


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--draws", type=int, default=10)
    parser.add_argument("--halves", type=int, default=2)
    options = parser.parse_args()
    rows = list(constructed(options.draws))
    header = ["table", "rows x features", *methods(WIDE)]
    found = list(measured(options.halves))
    common.write_section("when-it-helps", f"""## When F-SVM helps

`python benchmarks/whitening.py --draws {options.draws} --halves {options.halves}`. {common.provenance()}

Accuracy of the SVM on standardised features in %, and of the others minus it, ± the standard error over {options.draws} independent
draws; tested on {N_TEST:,} new rows. C of the SVM and of F-SVM by cross-validation among {len(WIDE)} from 2^-10 to 2^30.

{common.table(header, rows)}

Real sets: {len(found)} of IDA and UCI with at most {MOST_CLASSES} classes, {options.halves} random halves of at most {MOST_ROWS} rows. {verdict(found)}

The five on which F-SVM gained most, UCI's image segmentation, and the five on which it lost most. The first five are the largest of
{len(found)}, and would be smaller on other splits.

{best(found)}
""")  # fmt: skip


if __name__ == "__main__":
    main()
