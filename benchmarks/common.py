"""What the benchmark scripts share: fair timing, data, and the Markdown they write."""

from __future__ import annotations

import os

for _name in ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS"):
    os.environ.setdefault(_name, "1")  # before NumPy is loaded: every contender runs on one thread

import contextlib  # noqa: E402
import platform  # noqa: E402
import re  # noqa: E402
import time  # noqa: E402
import warnings  # noqa: E402
from importlib.metadata import version  # noqa: E402
from pathlib import Path  # noqa: E402

import numpy as np  # noqa: E402
from scipy.stats import rankdata, wilcoxon  # noqa: E402

from radiusmargin.paper import data as datasets  # noqa: E402
from radiusmargin.tables.task import DataError  # noqa: E402

RESULTS = Path(__file__).with_name("RESULTS.md")


def interleaved(contenders, repeats=3, budget=2.0):
    """Minimum processor seconds of each contender, run in turns so that a slow moment of the machine hits all of them.

    `contenders` maps a name to a function; one that took longer than `budget` is not repeated.
    """
    best = {name: np.inf for name in contenders}
    for _ in range(repeats):
        for name, function in contenders.items():
            if best[name] < np.inf and best[name] > budget:
                continue
            start = time.process_time()
            function()
            best[name] = min(best[name], time.process_time() - start)
    return best


def seconds(function):
    start = time.perf_counter()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        value = function()
    return time.perf_counter() - start, value


def loaded(names):
    """(name, task) of the data sets that are here; of the others it is said that they are left out."""
    for name in names:
        try:
            task = datasets.load(name)
        except DataError as error:
            print(f"{name}: left out ({str(error).splitlines()[0]})")
        else:
            yield name, task


def real_sets(names):
    """(name, standardised X, labels -1/+1) for the data sets that RADIUSMARGIN_DATA holds."""
    for name, task in loaded(names):
        X = task.X.toarray() if hasattr(task.X, "toarray") else np.asarray(task.X, dtype=float)
        spread = X.std(axis=0)
        X = (X - X.mean(axis=0))[:, spread > 0] / spread[spread > 0]
        classes, counts = np.unique(task.y, return_counts=True)
        yield name, np.ascontiguousarray(X), np.where(task.y == classes[np.argmax(counts)], 1.0, -1.0)


def mean_ranks(accuracy):
    """Of every method (a column), over the sets (rows); equals share their rank."""
    return np.array([rankdata(-np.round(row, 10)) for row in accuracy]).mean(axis=0)


def record(one, other):
    """("wins/ties/losses", Wilcoxon's two-sided p) of accuracies on the same sets; empty against itself."""
    if one is other:
        return "", ""
    difference = np.round(one - other, 10)
    p = wilcoxon(difference).pvalue if difference.any() else 1.0
    return "/".join(str((np.sign(difference) == sign).sum()) for sign in (1, 0, -1)), f"{p:.2g}"


def peak():
    """Megabytes of this process, at most so far (of a fresh one: a child inherits its parent's)."""
    return int(re.search(r"VmHWM:\s*(\d+)", Path("/proc/self/status").read_text()).group(1)) / 1024


def forget_peak():
    """The peak so far is what the process has now."""
    Path("/proc/self/clear_refs").write_text("5")


def human(value):
    if not np.isfinite(value):
        return "—"
    for limit, factor, unit in ((1e-3, 1e6, "µs"), (1.0, 1e3, "ms")):
        if value < limit:
            return f"{value * factor:.3g} {unit}"
    return f"{value:.3g} s"


def table(header, rows):
    lines = ["| " + " | ".join(header) + " |", "|" + "---|" * len(header)]
    return "\n".join(lines + ["| " + " | ".join(map(str, row)) + " |" for row in rows])


def provenance():
    cpu = platform.processor() or platform.machine()
    with contextlib.suppress(OSError, AttributeError):
        cpu = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text()).group(1)
    names = ("radiusmargin", "scikit-learn", "numpy", "scipy")
    return f"{cpu}, one thread; " + ", ".join(f"{name} {version(name)}" for name in names) + "."


def write_section(name, text):
    """Replace the section `name` of RESULTS.md, or append it."""
    begin, end = f"<!-- begin {name} -->", f"<!-- end {name} -->"
    block = f"{begin}\n{text.strip()}\n{end}"
    old = RESULTS.read_text() if RESULTS.exists() else "# Benchmark results\n"
    pattern = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    new = pattern.sub(lambda _: block, old) if pattern.search(old) else f"{old.rstrip()}\n\n{block}\n"
    RESULTS.write_text(new)
    print(f"wrote section {name!r} of {RESULTS.name}")
