"""Weights of the kernels that AutoSVM averages: equal ones, or by the likelihood of held-out rows; four kernels, or five.

Sets and halves are those of benchmarks/accuracy.py, with at most 400 training rows. The rule was chosen on every second of these 62
sets in the alphabet, among greedy selection, convex weights, powers .1 to 1 of the likelihood and three to sixteen candidates
of each kernel; what counts are the other sets. (benchmarks/accuracy.py counts sets that are too small too, so that its halves
of the sets are others: the rule was chosen on 11 of the 31 sets that it reports apart.)

    RADIUSMARGIN_DATA=... python benchmarks/kernel_weights.py [--halves 2]
"""

from __future__ import annotations

import argparse
import warnings
from unittest.mock import patch

import accuracy
import common
import numpy as np

from radiusmargin import FSVMCV
from radiusmargin.search import base
from radiusmargin.search.candidates import AUTO
from radiusmargin.search.scoring import ensemble_weights

FOUR = [name for name in AUTO if name != "rbf-ranks"]
VARIANTS = {
    "equal, four kernels": (FOUR, False), "equal, five": (list(AUTO), False),
    "by likelihood, four": (FOUR, True), "by likelihood, five (AutoSVM)": (list(AUTO), True),
}  # fmt: skip
MEASURES = ("accuracy", "log_loss", "auc", "fit")


def equal_weights(table, band, rows, held_out):
    return ensemble_weights(table, band, rows)


def measured(kernels, by_likelihood, parts):
    """The measures of one variant on one half, and how many candidates it averages."""
    made = []

    def make():
        made.append(FSVMCV(kernel=kernels, probability=True))
        return made[0]

    with patch.object(base, "ensemble_weights", ensemble_weights if by_likelihood else equal_weights):
        cell = accuracy.measure(make, parts)
    return [*(cell[name] for name in MEASURES), len(made[0].members_)]


def row_of(name, own, first=None):
    """Cells of a table: means, and records against another variant."""
    beaten = (
        [("", "")] * 2
        if first is None
        else [common.record(s * own[:, k], s * first[:, k]) for k, s in enumerate((1, -1))]
    )
    return [
        name, f"{100 * own[:, 0].mean():.2f}", *beaten[0], f"{own[:, 1].mean():.4f}", *beaten[1], f"{own[:, 2].mean():.4f}",
        f"{own[:, 3].mean():.2f}", f"{own[:, 4].mean():.1f}",
    ]  # fmt: skip


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halves", type=int, default=2)
    args = parser.parse_args()
    warnings.simplefilter("ignore")
    found = {}
    for name, X, y in sorted(accuracy.tasks(), key=lambda task: task[0]):
        halves = [parts for r in range(args.halves) if (parts := accuracy.half(name, X, y, r, 400))]
        if halves:
            found[name] = np.mean([[measured(*v, parts) for v in VARIANTS.values()] for parts in halves], axis=0)
            print(name, found[name][:, :2].round(3).tolist(), flush=True)
    chosen_on = np.arange(len(found)) % 2 == 0
    table = np.array(list(found.values()))
    header = ["weights", "accuracy", "w/t/l", "p", "log-loss", "w/t/l", "p", "AUC", "CPU s to fit", "candidates"]
    text = (
        f"## Weights of kernels\n\n`python benchmarks/kernel_weights.py --halves {args.halves}`; {common.provenance()}\n\n"
        f"{__doc__.split(chr(10) * 2)[1]} Wins, ties and losses are against the first line; p is Wilcoxon's."
    )
    for title, some in (("sets to choose on", chosen_on), ("other sets", ~chosen_on)):
        equal, *others = (table[some, k] for k in range(len(VARIANTS)))
        rows = [row_of(name, own, equal) for name, own in zip(list(VARIANTS)[1:], others, strict=True)]
        rows.insert(0, row_of(next(iter(VARIANTS)), equal))
        text += f"\n\nThe {some.sum()} {title}:\n\n" + common.table(header, rows)
    common.write_section("kernel-weights", text)
    print(text)


if __name__ == "__main__":
    main()
