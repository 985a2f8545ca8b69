"""Rows beyond memory: passes, seconds and memory of a fit to chunks, beside SGD, dask-ml and LinearSVC.

Chunks of 500,000 rows (20 correlated features, two classes that overlap) are drawn anew in every pass, never kept: a pass has
the time of drawing them in it, which is given by itself. Workers are processes of a `LocalCluster`, one thread each. Every line
is a process of its own, spawned; memory is the peak (VmHWM) of the driver and of the largest worker.

    python benchmarks/chunks.py [--rows 1e6,1e7,1e8] [--quick] [--store FILE]

A line that the store holds already is not run again; `--line NAME ARGUMENTS` runs a single one and prints it.
"""

from __future__ import annotations

import json
import subprocess
import sys
import time
import warnings
from pathlib import Path

import common
import numpy as np

D, CHUNK, C = 20, 500_000, 0.01
QUICK = "--quick" in sys.argv
STORE = Path(sys.argv[sys.argv.index("--store") + 1]) if "--store" in sys.argv else None


def drawn(seed, rows=CHUNK, d=D):
    """(X, y): Gaussian features, mixed, of two classes that overlap; 5 % of the labels are wrong."""
    rng, mix = np.random.default_rng([7, seed]), np.random.default_rng(1).standard_normal((d, d)) / np.sqrt(d)
    y = np.where(rng.random(rows) < 0.5, 1.0, -1.0)
    X = rng.standard_normal((rows, d))
    X += y[:, None] * 0.3
    X = X @ (np.eye(d) + mix)
    y[rng.random(rows) < 0.05] *= -1
    return X, y


def both(seed, rows, d):
    X, y = drawn(seed, rows, d)
    return np.column_stack([X, y])


def collection(rows):
    """A dask array of (X, y), each chunk drawn when it is needed."""
    import dask
    import dask.array as da

    sizes = [min(CHUNK, rows - start) for start in range(0, rows, CHUNK)]
    parts = [
        da.from_delayed(dask.delayed(both)(i, size, D), (size, D + 1), dtype=float) for i, size in enumerate(sizes)
    ]
    both_of_them = da.concatenate(parts)
    return both_of_them[:, :D], both_of_them[:, D]


def processor_seconds():
    return time.process_time()


# -- the lines, each in a process of its own ---------------------------------------------------------------------------


def on_cluster(rows, workers, model):
    import cloudpickle
    from distributed import Client, LocalCluster

    cloudpickle.register_pickle_by_value(common)  # workers cannot import it
    X, y = collection(rows)
    cluster = LocalCluster(n_workers=workers, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, Client(cluster) as client:
        fitted(model).fit(*collection(2 * workers * 1000))  # imports
        idle = max(client.run(common.peak).values())
        before, start, own = client.run(processor_seconds), time.perf_counter(), time.process_time()
        estimator = fitted(model).fit(X, y)
        wall, driver = time.perf_counter() - start, time.process_time() - own
        after = client.run(processor_seconds)
        start = time.perf_counter()
        X.sum().compute()
        drawing = time.perf_counter() - start
        worker = max(client.run(common.peak).values())
    return {
        "passes": estimator.n_passes_, "gap": estimator.dual_gap_, "seconds": wall, "drawing": drawing,
        "driver_cpu": driver, "worker_cpu": [after[key] - before[key] for key in before], "driver": common.peak(),
        "worker": worker, "idle": idle, "near": max(entry["near"] for entry in estimator.history_),
        "objective": estimator.objective_,
    }  # fmt: skip


def fitted(model):
    from radiusmargin import FSVM, SVM

    return FSVM(C=C) if model == "FSVM" else SVM(C=C)


def in_one_process(rows, model, threads=1):
    """The same chunks from a function that reads them."""

    def read():
        return (drawn(i, min(CHUNK, rows - i * CHUNK)) for i in range(-(-rows // CHUNK)))

    start, cpu = time.perf_counter(), time.process_time()
    estimator = fitted(model).set_params(n_jobs=threads).fit(read)
    return {
        "passes": estimator.n_passes_, "gap": estimator.dual_gap_, "seconds": time.perf_counter() - start,
        "cpu": time.process_time() - cpu, "driver": common.peak(), "objective": estimator.objective_,
    }  # fmt: skip


def objective(coef, intercept, rows):
    loss = 0.0
    for i in range(-(-rows // CHUNK)):
        X, y = drawn(i, min(CHUNK, rows - i * CHUNK))
        loss += np.maximum(0.0, 1.0 - y * (X @ coef + intercept)).sum()
    return 0.5 * coef @ coef + C * loss


def sgd(rows, epochs):
    from sklearn.linear_model import SGDClassifier

    model = SGDClassifier(alpha=1 / (C * rows), random_state=0, average=True)
    start, cpu = time.perf_counter(), time.process_time()
    for _ in range(epochs):
        for i in range(-(-rows // CHUNK)):
            model.partial_fit(*drawn(i, min(CHUNK, rows - i * CHUNK)), classes=[-1.0, 1.0])
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    value = objective(model.coef_[0], model.intercept_[0], rows)
    return {"passes": epochs, "seconds": wall, "cpu": cpu, "driver": common.peak(), "objective": value}


def linear_svc(rows):
    from sklearn.svm import LinearSVC

    X, y = (np.concatenate(part) for part in zip(*(drawn(i) for i in range(rows // CHUNK)), strict=True))
    start, cpu = time.perf_counter(), time.process_time()
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        model = LinearSVC(C=C, loss="hinge", intercept_scaling=10.0).fit(X, y)
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    value = objective(model.coef_[0], model.intercept_[0], rows)
    return {"seconds": wall, "cpu": cpu, "driver": common.peak(), "objective": value}


def dask_ml(rows):
    """Another loss: its time and passes only. Each evaluation of its objective is a pass."""
    from dask_ml.linear_model import LogisticRegression

    X, y = collection(rows)
    start, cpu = time.perf_counter(), time.process_time()
    model = LogisticRegression(C=C, solver="lbfgs", solver_kwargs={"normalize": False}).fit(X, y > 0)
    return {
        "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "driver": common.peak(),
        "accuracy": float(np.mean((drawn(10**6)[0] @ model.coef_ + model.intercept_ > 0) == (drawn(10**6)[1] > 0))),
    }  # fmt: skip


def ours_on_real(name, copies):
    """A real set, repeated with noise of a tenth of every feature's deviation, as an array of chunks."""
    from radiusmargin import FSVM

    (_, X, y), *_ = common.real_sets([name])

    def read():
        for copy in range(copies):
            yield X + 0.1 * np.random.default_rng(copy).standard_normal(X.shape), y

    start, cpu = time.perf_counter(), time.process_time()
    estimator = FSVM(C=C).fit(read)
    return {
        "rows": copies * len(X), "features": X.shape[1], "passes": estimator.n_passes_, "gap": estimator.dual_gap_,
        "seconds": time.perf_counter() - start, "cpu": time.process_time() - cpu, "driver": common.peak(),
    }  # fmt: skip


def choice(name, rows, subsample):
    """FSVMCV on all rows in memory (`subsample` None), or on chunks with members scored on a subsample."""
    from radiusmargin import FSVMCV
    from radiusmargin.outofcore import ArraySource

    if name == "drawn":
        (X, y), (Z, truth) = drawn(0, rows), drawn(1, 200_000)
    else:
        (_, X, y), *_ = common.real_sets([name])
        order = np.random.default_rng(0).permutation(len(y))
        X, y = X[order], y[order]
        test = len(y) // 3
        X, y, Z, truth = X[test:], y[test:], X[:test], y[:test]
    cpu = time.process_time()
    model = FSVMCV() if subsample is None else FSVMCV(subsample=subsample)
    model.fit(X, y) if subsample is None else model.fit(ArraySource(X, y))
    return {
        "rows": len(y), "cpu": time.process_time() - cpu, "accuracy": float(np.mean(model.predict(Z) == truth)),
        "test": len(truth), "members": len(model.members_), "best": model.best_params_,
    }  # fmt: skip


LINES = {f.__name__: f for f in (on_cluster, in_one_process, sgd, linear_svc, dask_ml, ours_on_real, choice)}


def spawned(line, *arguments):
    """What a line returns, from the store or from a new interpreter; None where it fails."""
    key = [line, list(arguments)]
    for known, found in stored():
        if known == key:
            return found
    command = [sys.executable, __file__, "--line", line, json.dumps(arguments)]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        print(f"{line}{arguments}: left out ({done.stderr.strip().splitlines()[-1]})")
        return None
    found = json.loads(done.stdout.splitlines()[-1])
    print(line, arguments, json.dumps(found), flush=True)
    if STORE:
        with STORE.open("a") as file:
            print(json.dumps([key, found]), file=file)
    return found


def stored():
    return [json.loads(text) for text in STORE.read_text().splitlines()] if STORE and STORE.exists() else []


# -- the section ---------------------------------------------------------------------------------------------------------


def main(sizes):
    rows = [row for n in sizes for row in fits(n)]
    header = (
        "rows",
        "model",
        "workers",
        "passes",
        "gap",
        "seconds",
        "of them drawing",
        "driver",
        "worker",
        "most rows near",
    )
    text = [
        f"## Rows in chunks\n\n`python benchmarks/chunks.py`: {common.provenance()}\n",
        __doc__.split("\n\n")[1] + "\n",
    ]
    text.append(common.table(header, rows))
    peers = [row for n in sizes if n <= 10_000_000 for row in beside(n)]
    text.append("\nBeside others, in one process, the SVM at the same C (suboptimality against our lower bound):\n")
    text.append(common.table(("rows", "", "passes", "CPU seconds", "suboptimality", "peak"), peers))
    real = [real_row(name, copies) for name, copies in (("uci_zscored/adult", 60), ("uci_zscored/statlog-shuttle", 20))]
    text.append("\nReal sets, repeated with noise:\n")
    text.append(common.table(("data", "rows", "passes", "gap", "CPU seconds", "peak"), [r for r in real if r]))
    text.append("\n`FSVMCV` with its members scored on all rows (in memory), or on a subsample and refitted to all:\n")
    text.append(common.table(("data", "scored on", "CPU seconds", "test accuracy"), list(choices())))
    common.write_section("chunks", "\n".join(text))


def fits(n):
    large = n > 10_000_000
    for model in ("SVM",) if large else ("SVM", "FSVM"):
        for workers in (2,) if large else (1, 2):
            found = spawned("on_cluster", n, workers, model)
            if found:
                drawing = f"{found['passes'] * found['drawing']:.3g}"
                megabytes = f"{found['driver']:.0f} MB", f"{found['worker']:.0f} MB"
                yield (
                    f"{n:.0e}", model, workers, found["passes"], f"{found['gap']:.1e}", f"{found['seconds']:.3g}", drawing,
                    *megabytes, f"{found['near']:,}",
                )  # fmt: skip


def beside(n):
    ours = spawned("in_one_process", n, "SVM")
    lines = {
        "SVM": ours,
        "SGDClassifier, 1 epoch": spawned("sgd", n, 1),
        "SGDClassifier, 5 epochs": spawned("sgd", n, 5),
    }
    if n <= 1_000_000:
        lines["LinearSVC, in memory"] = spawned("linear_svc", n)
        lines["dask-ml LogisticRegression"] = spawned("dask_ml", n)
    bound = ours["objective"] * (1 - ours["gap"])
    for name, found in lines.items():
        if found:
            value = f"{found['objective'] / bound - 1:.1e}" if "objective" in found else "another loss"
            passes = found.get("passes", "—")
            yield f"{n:.0e}", name, passes, f"{found['cpu']:.3g}", value, f"{found['driver']:.0f} MB"


def choices():
    for name, rows in (("drawn", 300_000), ("uci_zscored/adult", None), ("uci_zscored/statlog-shuttle", None)):
        for subsample in (None, 100_000, 20_000, 5_000) if rows else (None, 5_000):
            found = spawned("choice", name, rows, subsample)
            if found:
                scored = "all rows" if subsample is None else f"{min(subsample, found['rows']):,}"
                yield f"{name} ({found['rows']:,})", scored, f"{found['cpu']:.3g}", f"{100 * found['accuracy']:.2f}"


def real_row(name, copies):
    found = spawned("ours_on_real", name, copies)
    if found:
        cells = found["passes"], f"{found['gap']:.1e}", f"{found['cpu']:.3g}", f"{found['driver']:.0f} MB"
        return name, f"{found['rows']:,} x {found['features']}", *cells
    return None


if __name__ == "__main__":
    if "--help" in sys.argv:
        print(__doc__)
    elif "--line" in sys.argv:
        at = sys.argv.index("--line")
        print(json.dumps(LINES[sys.argv[at + 1]](*json.loads(sys.argv[at + 2]))))
    else:
        given = sys.argv[sys.argv.index("--rows") + 1] if "--rows" in sys.argv else "1e6" if QUICK else "1e6,1e7,1e8"
        main([int(float(size)) for size in given.split(",")])
