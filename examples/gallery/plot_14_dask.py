"""
Rows beyond memory: a fit in passes
===================================

``FSVM``, ``SVM`` and ``FSVMCV`` take dask arrays and data frames as they are. Every pass reads all chunks once and brings back sums and
the rows near the margin; the gap is that of **all** rows. Here chunks are drawn when they are asked for and never kept, by two
threads in this process: ``Client("tcp://...")`` is the address of your cluster. Needs ``pip install ".[dask,experiments]"``.
"""

import dask.array as da
import matplotlib.pyplot as plt
import numpy as np
from distributed import Client, LocalCluster

from radiusmargin import FSVM, FSVMCV, SVM

N_CHUNKS, ROWS, FEATURES = 20, 10_000, 10


def chunk(block_info=None):
    """Rows of two classes that overlap, with their labels in the last column; the same whenever it is asked for."""
    place = block_info[None]["chunk-location"][0] if block_info else 0
    rng = np.random.default_rng([0, place])
    y = rng.choice([-1.0, 1.0], size=ROWS)
    X = rng.standard_normal((ROWS, FEATURES)) + 0.3 * y[:, None]
    return np.column_stack([X, y])


table = da.map_blocks(chunk, chunks=((ROWS,) * N_CHUNKS, (FEATURES + 1,)), dtype=float)
X, y = table[:, :FEATURES], table[:, FEATURES]

# %%
# The labels are predicted lazily: what comes back is a dask array again.

models = {"SVM(C=0.01)": SVM(C=0.01), "FSVM(C=0.01)": FSVM(C=0.01), "FSVMCV()": FSVMCV(combine="best", subsample=5_000)}
cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
with cluster, Client(cluster):
    for name, model in models.items():
        model.fit(X, y)
        right = (model.predict(X) == y).mean().compute()
        print(f"{name}: {model.n_passes_} passes, gap {model.dual_gap_:.1e}, {right:.2%} of {len(y):,} rows right")

# %%
# The first pass looks at the data and draws a sample; each pass after it proves how far from the optimum of all rows the separator is, and
# narrows the rows that may still change sides.

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3), layout="constrained")
for name, model in models.items():
    passes = 2 + np.arange(len(model.history_))
    axes[0].semilogy(passes, [entry["gap"] for entry in model.history_], "o-", label=name)
    axes[1].semilogy(passes, [entry["near"] for entry in model.history_], "o-", label=name)
axes[0].axhline(1e-6, color="grey", lw=0.8, ls="--")
axes[0].set(title="gap over all rows (dashed: tol)", xlabel="pass over the data")
axes[1].axhline(len(y), color="grey", lw=0.8, ls="--")
axes[1].set(title="rows near the margin (dashed: all)", xlabel="pass over the data")
for ax in axes:
    ax.set_xticks(range(2, 2 + max(len(model.history_) for model in models.values())))
axes[0].legend()
plt.show()
