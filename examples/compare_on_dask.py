"""Run an experiment on a Dask cluster.

The harness leaves the work to joblib, so a cluster is used by choosing joblib's backend; the rest is as on
one machine. Here the cluster is a local one: put the address of your scheduler in ``Client("tcp://...")``
instead. Each finished cell goes to the store at once: stop it, lose a worker, run it again, and it goes on
from there.

Needs ``pip install '.[dask,experiments]'`` in a clone.
"""

from pathlib import Path

import joblib
from distributed import Client, LocalCluster

from radiusmargin.paper import Spec, results, workflow
from radiusmargin.paper.tables import to_markdown

SPEC = Spec(
    "on-dask",
    title="A comparison on a Dask cluster",
    datasets=("builtin/twonorm", "builtin/ill-conditioned", "sklearn/wine"),
    models=("svm", "fsvm", "semi-whitened-svm", "fsvm-cv"),
    folds=5,
    inner_folds=3,
)


def main(store=Path("on-dask.jsonl")):
    tasks = workflow.load_tasks(SPEC)
    cluster = LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None)
    with cluster, Client(cluster), joblib.parallel_config(backend="dask"):
        outcome = workflow.run_experiment(SPEC, tasks, store)
    print(to_markdown(results.accuracy_table(outcome.summary, SPEC)))
    return outcome


if __name__ == "__main__":
    main()
