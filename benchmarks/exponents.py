"""Whether whitening is worth its time in a linear search: FSVMCV with one exponent, with two and with three.

The sets and halves of accuracy.py, all classes. The rule that came of it, `FSVMCV()`, whitens at most 32 columns and 65,536 numbers: the bounds were
set by the times of `selection.py defaults`, and with both halves of the sets in view.

    RADIUSMARGIN_DATA=... python benchmarks/exponents.py [--halves 4]
"""

from __future__ import annotations

import argparse
import time
import warnings

import accuracy
import common
import numpy as np

from radiusmargin import FSVMCV
from radiusmargin.search.candidates import FEW_FEATURES

GRIDS = {"0": (0.0,), "0, 1/2": (0.0, 0.5), "0, 1/2, 1": (0.0, 0.5, 1.0)}


def measure(parts, seed):
    """(accuracy, CPU seconds) of every grid."""
    X, y, unseen, truth = parts
    cells = []
    for whitening in GRIDS.values():
        start = time.process_time()
        model = FSVMCV(whitening=whitening, random_state=seed).fit(X, y)
        cells.append((model.score(unseen, truth), time.process_time() - start))
    return cells


def row(heading, cells):
    """Of some sets: the mean accuracies and times of the grids, and what the second is worth against the first."""
    scores, seconds = np.mean(cells, axis=1).transpose(2, 1, 0)
    longer = " / ".join(f"{np.median(taken / seconds[0]):.1f}x" for taken in seconds[1:])
    return [
        heading,
        len(cells),
        *(f"{100 * s.mean():.2f}" for s in scores),
        *common.record(scores[1], scores[0]),
        longer,
    ]


def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--halves", type=int, default=4)
    halves = parser.parse_args().halves
    warnings.simplefilter("ignore")
    tasks, rows = sorted(accuracy.tasks(), key=lambda task: task[0]), []
    for most in (400, 2000):
        found = {}
        for place, (name, X, y) in enumerate(tasks):
            parts = [accuracy.half(name, X, y, repeat, most) for repeat in range(halves)]
            if None in parts or (most > 400 and len(parts[0][1]) <= 400):
                continue
            few = parts[0][0].shape[1] <= FEW_FEATURES
            found[few, place % 2] = [*found.get((few, place % 2), []), [measure(p, k) for k, p in enumerate(parts)]]
            print(most, name, found[few, place % 2][-1][0], flush=True)
        for few, columns in ((True, f"at most {FEW_FEATURES} columns"), (False, "more columns")):
            for half, sets in ((0, "sets for choosing"), (1, "the others")):
                rows.append(row(f"{most:,} rows, {columns}, {sets}", found[few, half]))
    header = ["at most", "sets", *GRIDS, "two against one: wins/ties/losses", "Wilcoxon p", "time of two / three"]
    text = (
        f"## Exponents of a linear search\n\n`python benchmarks/exponents.py --halves {halves}`: {common.provenance()}\n\n"
        "Mean accuracy of `FSVMCV(whitening=...)`, all classes, and CPU time against that of exponent 0 alone, in the median.\n\n"
        f"{__doc__.split(chr(10) * 2)[1]}\n\n" + common.table(header, rows)
    )
    common.write_section("exponents", text)


if __name__ == "__main__":
    main()
