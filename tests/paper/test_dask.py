"""The same plan on a Dask cluster, through joblib."""

import pytest
from stubs import toy_plan

from radiusmargin.paper import Store, execute

distributed = pytest.importorskip(
    "distributed", reason="dask.distributed is not installed: pip install 'radiusmargin[dask]'"
)


@pytest.mark.filterwarnings(
    "ignore::DeprecationWarning", "ignore::ResourceWarning", "ignore::pytest.PytestUnraisableExceptionWarning"
)
def test_a_plan_runs_on_a_local_dask_cluster(tmp_path):
    import joblib

    _, tasks, plan = toy_plan()
    here = execute(plan, tasks, Store(tmp_path / "here.jsonl"), jobs=1)
    cluster = distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None)
    with cluster, distributed.Client(cluster), joblib.parallel_config(backend="dask"):
        there = execute(plan, tasks, Store(tmp_path / "there.jsonl"))
    assert [r["accuracy"] for r in there] == [r["accuracy"] for r in here]
    assert [r["key"] for r in there] == [r["key"] for r in here]
