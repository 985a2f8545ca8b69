"""How AutoSVM's time and memory grow with the rows.

`AutoSVM(probability=True)` on rows that are drawn (three waves with noise, 21 features and three classes; Gaussian clusters, 20
features and two classes), every line in a process of its own, on one thread. Seconds are those of the processor; memory is what the
peak resident set grew by during `fit`.

    python benchmarks/auto_time.py [--quick]
"""

from __future__ import annotations

import json
import subprocess
import sys
import time

import common

ROWS = (300, 1_000, 3_000, 10_000)
DATA = {
    "waveform": lambda n: common.datasets.make_waveform(n, random_state=0),
    "clusters": lambda n: common.datasets.make_gaussian_mixture(n, random_state=0),
}


def line(name, n):
    """Fit once, and print [seconds, megabytes, members, gap]."""
    from radiusmargin import AutoSVM

    AutoSVM(probability=True).fit(*DATA[name](100))  # imports
    X, y = DATA[name](n)
    before, start = common.peak(), time.process_time()
    model = AutoSVM(probability=True).fit(X, y)
    spent = time.process_time() - start
    print(json.dumps([spent, common.peak() - before, len(model.members_), model.dual_gap_]))


def measured(name, n):
    command = [sys.executable, __file__, "--line", name, str(n)]
    done = subprocess.run(command, capture_output=True, text=True, check=True)
    return json.loads(done.stdout.splitlines()[-1])


def main():
    rows = []
    for n in ROWS[:3] if "--quick" in sys.argv else ROWS:
        found = {name: measured(name, n) for name in DATA}
        cells = [f"{s:.3g} s, {mb:.0f} MB, {members} members" for s, mb, members, _ in found.values()]
        rows.append([f"{n:,}", *cells, f"{max(gap for *_, gap in found.values()):.0e}"])
        print(rows[-1], flush=True)
    table = common.table(["rows", *DATA, "largest gap"], rows)
    head = f"## AutoSVM by rows\n\n`python benchmarks/auto_time.py`: {common.provenance()}"
    common.write_section("auto-time", f"{head}\n\n{' '.join(__doc__.split(chr(10) * 2)[1].split())}\n\n{table}")


if __name__ == "__main__":
    line(sys.argv[2], int(sys.argv[3])) if "--line" in sys.argv else main()
