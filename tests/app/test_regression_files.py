"""Model files of quantities."""

import csv

import numpy as np
import pandas as pd
import pytest

from radiusmargin import AutoSVR
from radiusmargin.app import load_bundle
from radiusmargin.app.cli import main
from radiusmargin.app.container import read_container
from radiusmargin.app.rebuild import rebuild_pipeline, require_known
from radiusmargin.tables import DataError

skops = pytest.importorskip("skops.io")


@pytest.fixture(scope="module")
def fitted():
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"size": rng.normal(size=60), "hue": rng.choice(["red", "blue"], 60)})
    y = np.exp(frame["size"].to_numpy() + 0.2 * rng.normal(size=60))
    return AutoSVR(kernel=["linear", "laplacian-ranks"]).fit(frame, y), frame


def read(model, path):
    from sklearn.pipeline import Pipeline

    skops.dump(Pipeline([("model", model)]), path)
    with path.open("rb") as stream:
        document = read_container(stream)
    require_known(document)
    return rebuild_pipeline(document, 2)


def test_a_model_of_a_quantity_comes_back(fitted, tmp_path):
    model, frame = fitted
    again = read(model, tmp_path / "m.skops")
    np.testing.assert_array_equal(again.predict(frame), model.predict(frame))
    np.testing.assert_array_equal(again[-1].prediction_interval(frame), model.prediction_interval(frame))


@pytest.mark.parametrize("name", ["mean", "residuals", "unit"])
def test_what_is_not_finite_is_refused(fitted, tmp_path, name):
    from copy import deepcopy
    from dataclasses import replace

    model = deepcopy(fitted[0])
    (target,) = model._targets
    broken = getattr(target, name) * np.nan
    model._targets = (replace(target, **{name: broken}),)
    with pytest.raises(DataError, match="finite"):
        read(model, tmp_path / "m.skops")


@pytest.fixture
def table(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.gamma(4, 20, 80), "district": rng.choice(["old", "new"], 80)})
    frame["price"] = 2.0 * frame["area"] * np.where(frame["district"] == "old", 1.5, 1.0) + rng.normal(size=80)
    frame.loc[::9, "area"] = np.nan
    frame.to_csv("t.csv", index=False)
    return frame


def test_a_quantity_is_fitted_described_and_predicted(table, capsys):
    assert main(["fit", "t.csv", "-o", "m.skops", "--report", "r.html"]) == 0
    assert main(["describe", "m.skops"]) == 0
    said = capsys.readouterr().out
    assert "AutoSVR" in said
    assert "exact leave-one-out residuals" in said
    assert main(["predict", "m.skops", "t.csv", "-o", "p.csv"]) == 0
    with open("p.csv", encoding="utf-8") as stream:
        rows = list(csv.DictReader(stream))
    assert list(rows[0]) == ["prediction", "low", "high"]
    found = {name: np.array([float(row[name]) for row in rows]) for name in rows[0]}
    known = table["area"].notna().to_numpy()
    assert np.corrcoef(found["prediction"][known], table["price"][known])[0, 1] > 0.98
    assert ((found["low"] <= table["price"]) & (table["price"] <= found["high"])).mean() > 0.8


def test_options_of_classifiers_are_refused_for_a_quantity(table, capsys):
    assert main(["fit", "t.csv", "-o", "m.skops", "--model", "svm"]) != 0
    assert "leave --model" in capsys.readouterr().err


def test_whole_numbers_are_a_quantity_if_many_are_rare(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    pd.DataFrame({"x": np.arange(60.0), "target": np.arange(60) ** 2}).to_csv("t.csv", index=False)
    assert main(["fit", "t.csv", "-o", "m.skops", "--max-rows", "40"]) == 0
    assert load_bundle("m.skops").facts["rows"] == 40
