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
from sklearn.linear_model import SGDClassifier

from radiusmargin import FSVM, FSVMCV, SVM

N_CHUNKS, ROWS, FEATURES, C = 20, 10_000, 10, 0.01


def chunk(block_info=None):
    """Rows of two classes that overlap, labels in the last column: the same whenever they are asked for."""
    place = block_info[None]["chunk-location"][0] if block_info else 0
    rng = np.random.default_rng([0, place])
    y = rng.choice([-1.0, 1.0], size=ROWS)
    X = rng.standard_t(3, size=(ROWS, FEATURES)) + 0.3 * y[:, None]
    return np.column_stack([X, y])


table = da.map_blocks(chunk, chunks=((ROWS,) * N_CHUNKS, (FEATURES + 1,)), dtype=float)
X, y = table[:, :FEATURES], table[:, FEATURES]

# %%
# Predictions are lazy: they are a dask array again.

models = {"SVM": SVM(C), "FSVM": FSVM(C), "FSVMCV": FSVMCV(combine="best", subsample=5_000)}
cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
with cluster, Client(cluster):
    for name, model in models.items():
        model.fit(X, y)
        right = (model.predict(X) == y).mean().compute()
        print(f"{name}: {model.n_passes_} passes, gap {model.dual_gap_:.1e}, {right:.2%} of {len(y):,} rows right")

# %%
# Stochastic gradient descent reads chunks too, and does not know where it is. The bound that our fit has proven tells.

bound = models["SVM"].dual_objective_


def excess(coef, intercept):
    """How far the objective of all rows is above the bound."""
    losses = sum(
        np.maximum(0, 1 - b[:, -1] * (b[:, :-1] @ coef + intercept)).sum() for b in map(np.asarray, table.blocks)
    )
    return (0.5 * coef @ coef + C * losses) / bound - 1


sgd = SGDClassifier(loss="hinge", alpha=1 / (C * len(y)), average=True, random_state=0)
theirs = []
for _ in range(6):
    for block in map(np.asarray, table.blocks):
        sgd.partial_fit(block[:, :-1], block[:, -1], classes=[-1.0, 1.0])
    theirs.append(excess(sgd.coef_[0], sgd.intercept_[0]))

fig, axes = plt.subplots(1, 2, figsize=(8.5, 3), layout="constrained")
axes[0].semilogy(1 + np.arange(len(theirs)), theirs, "s-", color="C7", label="SGDClassifier, measured")
for name, model in models.items():
    gaps = [entry["gap"] for entry in model.history_]
    passes = model.n_passes_ - np.arange(len(gaps))[::-1]
    axes[0].semilogy(passes, gaps, "o", ms=8, label=f"{name}, proven")
axes[0].set(title="above the optimum, of all rows", xlabel="passes over the data")
axes[0].legend(fontsize=8)
history = models["SVM"].history_
axes[1].bar(
    ["all rows", *(f"pass {2 + k}" for k in range(len(history)))], [len(y), *(entry["near"] for entry in history)]
)
axes[1].set_title("SVM: rows that may still change sides")
plt.show()
