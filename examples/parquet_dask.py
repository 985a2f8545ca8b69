"""Fit to a folder of parquet files that does not fit in memory, on a Dask cluster.

The folder is read anew in every pass, by the workers; only sums, and the rows near the margin, come here. Give the folder, the
column of the labels, and the address of your scheduler, if it is not to be a local cluster:

    python examples/parquet_dask.py FOLDER LABEL [tcp://...]

What is written beside the folder is an ordinary model: `joblib.load` has it, on any machine. Needs ``pip install '.[dask]'`` in a
clone.
"""

import sys
from pathlib import Path

import dask.dataframe as dd
import joblib
from distributed import Client, LocalCluster

from radiusmargin import FSVMCV


def fit(folder, label, **parameters):
    """FSVMCV on all files of the folder, and the share of the rows that it predicts correctly."""
    table = dd.read_parquet(folder)
    X, y = table.drop(columns=label), table[label]
    model = FSVMCV(combine="best", **parameters).fit(X, y)
    right = (model.predict(X) == y).mean().compute()
    print(
        f"{model.best_params_} in {model.n_passes_} passes, to a relative gap of {model.dual_gap_:.1e}; {right:.2%} correct"
    )
    return model, right


def main(folder, label, address=None):
    cluster = address or LocalCluster(threads_per_worker=1, dashboard_address=None)
    with Client(cluster):
        model, _ = fit(folder, label)
    joblib.dump(model, Path(folder).with_suffix(".joblib"))


if __name__ == "__main__":
    main(*sys.argv[1:])
