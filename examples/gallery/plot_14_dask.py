"""
A comparison on a Dask cluster
==============================

Experiments leave their work to joblib: choose its backend, and the cells of a comparison go to the workers of a cluster. Here it is
two threads in this process; ``Client("tcp://...")`` is the address of yours. Needs ``pip install ".[dask,experiments]"``.
"""

import joblib
import matplotlib.pyplot as plt
from distributed import Client, LocalCluster

from radiusmargin.experiments import Spec, workflow

spec = Spec(
    "gallery",
    datasets=("builtin/twonorm", "builtin/ill-conditioned", "sklearn/wine"),
    models=("svm", "fsvm", "semi-whitened-svm", "fsvm-cv"),
    folds=3,
    inner_folds=3,
    budget=6,
    max_rows=200,
)
tasks = workflow.load_tasks(spec)
cluster = LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=":0")
with cluster, Client(cluster), joblib.parallel_config(backend="dask"):
    summary = workflow.run_experiment(spec, tasks).summary

# %%

fig, axes = plt.subplots(1, 3, figsize=(9, 2.5), sharey=True, layout="constrained")
for ax, dataset in zip(axes, summary.datasets, strict=True):
    for place, key in enumerate(reversed(summary.models)):
        entry = summary.entry(dataset, key)
        ax.errorbar(100 * entry.mean, place, xerr=100 * entry.standard_error, fmt="o", capsize=3)
    ax.set(title=dataset.partition("/")[2], xlabel="accuracy in %")
axes[0].set_yticks(range(len(summary.models)), [summary.names[key] for key in reversed(summary.models)])
plt.show()
