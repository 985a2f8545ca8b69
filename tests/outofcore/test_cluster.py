"""A cluster of processes gives the answer of one process, and loses nothing with a worker."""

import os
import signal
import threading

import numpy as np
import pytest

from radiusmargin import FSVM

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed is not installed: pip install 'radiusmargin[dask]'"
)
pytestmark = pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)


def rows_and_label(seed):
    """A chunk that takes a moment to be drawn, so that a worker dies in the middle of something."""
    import time

    time.sleep(0.1)
    rng = np.random.default_rng(seed)
    y = np.where(rng.random(2000) < 0.5, 1.0, -1.0)
    return np.column_stack([rng.standard_normal((2000, 5)) + 0.4 * y[:, None], y])


def collection():
    import dask
    import dask.array as da

    parts = [da.from_delayed(dask.delayed(rows_and_label)(i), (2000, 6), dtype=float) for i in range(8)]
    both = da.concatenate(parts)
    return both[:, :5], both[:, 5]


def test_a_killed_worker_changes_nothing():
    X, y = collection()
    here = FSVM(C=0.1).fit(X, y)
    cluster = distributed.LocalCluster(n_workers=2, threads_per_worker=1, processes=True, dashboard_address=":0")
    with cluster, distributed.Client(cluster) as client:
        there = FSVM(C=0.1).fit(X, y)
        assert (there.coef_ == here.coef_).all()
        assert (there.objective_, there.dual_objective_) == (here.objective_, here.dual_objective_)
        victim = min(client.run(os.getpid).values())
        threading.Timer(0.3, os.kill, (victim, signal.SIGKILL)).start()
        after = FSVM(C=0.1).fit(X, y)
        assert victim not in client.run(os.getpid).values()
    assert (after.coef_ == here.coef_).all()
    assert after.dual_gap_ == here.dual_gap_
