"""The example of a parquet folder, on a small one."""

import runpy
from pathlib import Path

import numpy as np
import pytest
from labelled_points import labelled_points

pytest.importorskip("distributed", reason="dask.distributed is not installed: pip install 'radiusmargin[dask]'")
pytest.importorskip("pyarrow", reason="parquet files need pyarrow")
EXAMPLE = Path(__file__).parents[2] / "examples" / "parquet_dask.py"


def test_a_folder_of_parquet_files(tmp_path, capsys):
    import pandas as pd

    X, y, _ = labelled_points(2000)
    for i in range(4):
        part = slice(500 * i, 500 * (i + 1))
        pd.DataFrame(X[part], columns=list("abcd")).assign(label=y[part]).to_parquet(tmp_path / f"part{i}.parquet")
    model, right = runpy.run_path(str(EXAMPLE))["fit"](tmp_path, "label", subsample=500)
    assert right == pytest.approx(np.mean(model.predict(pd.DataFrame(X, columns=list("abcd"))) == y))
    assert right > 0.8
    assert model.dual_gap_ <= 1e-6
    assert model.feature_names_in_.tolist() == list("abcd")
    assert "passes" in capsys.readouterr().out
