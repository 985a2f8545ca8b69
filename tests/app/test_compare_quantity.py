"""``radiusmargin compare`` on a table whose target is a quantity."""

import json
from pathlib import Path

import numpy as np
import pandas as pd
import pytest

from radiusmargin.app import load_bundle
from radiusmargin.app.cli import main

QUICK = ("--folds", "3", "--inner-folds", "2", "--jobs", "1", "--report", "")


def compare(*options):
    """Run the command without a page; returns its exit code."""
    return main(["compare", "t.csv", *QUICK, *options])


def written(name="found.json"):
    return json.loads(Path(name).read_text(encoding="utf-8"))


@pytest.fixture
def prices(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(0)
    frame = pd.DataFrame({"area": rng.gamma(4, 20, 90), "district": rng.choice(["old", "new"], 90)})
    frame["price"] = 2.0 * frame["area"] * np.where(frame["district"] == "old", 1.5, 1.0) + rng.normal(size=90)
    frame.loc[::9, "area"] = np.nan
    frame.to_csv("t.csv", index=False)
    return frame


def test_a_mixed_table_is_compared_recommended_and_saved(prices, capsys):
    models = "dummy-regressor,ridge,auto-svr"
    assert compare("--models", models, "--json", "found.json", "--report", "r.html", "--save", "m.skops") == 0
    said = capsys.readouterr().out
    assert "Take AutoSVR: R2 0." in said
    assert "off by about" in said
    assert "the target is a quantity from" in said
    records = written()["records"]
    held = [record["held_out"] for record in records if record["cell"]["model"] == "auto-svr"]
    truth = np.concatenate([part["truth"] for part in held])
    np.testing.assert_allclose(np.sort(truth), np.sort(prices["price"]))  # every row is tested once
    error = np.mean([np.mean(np.abs(np.subtract(part["truth"], part["predicted"]))) for part in held])
    mae = [record["mae"] for record in records if record["cell"]["model"] == "auto-svr"]
    assert np.mean(mae) == pytest.approx(error)
    assert all(0.5 < record["covered"] <= 1 for record in records if record["cell"]["model"] == "auto-svr")
    page = Path("r.html").read_text(encoding="utf-8")
    assert "How far AutoSVR is off" in page
    assert "The 90 % intervals of AutoSVR contain" in page
    assert "Ridge, AutoSVR: chosen by squared leave-one-out residuals" in said
    assert load_bundle("m.skops").facts["why"][0].startswith("Take AutoSVR")


def test_every_regressor_finishes_and_errors_are_in_units(prices, capsys):
    assert compare("--models", "all", "--configurations", "2", "--metric", "mae", "--json", "found.json") == 0
    table = {row["model"]: row["mae"] for row in written()["table"]}
    assert set(table) == {"dummy-regressor", "ridge", "forest-regressor", "boosting-regressor", "svr", "auto-svr"}
    guess = np.mean(np.abs(prices["price"] - prices["price"].mean()))
    assert table["dummy-regressor"] == pytest.approx(guess, rel=0.1)
    assert min(table, key=table.get) != "dummy-regressor"
    assert min(table.values()) > 0


def test_a_metric_or_model_of_classes_is_refused_by_name(prices, capsys):
    for options, words in (
        (("--metric", "accuracy"), ("accuracy", "r2, mae, rmse")),
        (("--models", "logistic"), ("logistic", "auto-svr")),
        (("--kernel", "rbf"), ("--kernel", "quantity")),
    ):
        assert compare(*options) != 0
        said = capsys.readouterr().err
        assert all(word in said for word in words), said


def test_a_metric_or_model_of_quantities_is_refused_for_classes(prices, capsys):
    prices.to_csv("t.csv", index=False, columns=["area", "price", "district"])
    for options, word in ((("--metric", "r2"), "'r2'"), (("--models", "ridge"), "ridge")):
        assert compare("--target", "district", *options) != 0
        assert word in capsys.readouterr().err


def linear_table(noise=1.0, n_rows=60):
    rng = np.random.default_rng(1)
    X = rng.normal(size=(n_rows, 3))
    y = 1e6 * (X @ [3.0, -2.0, 1.0] + noise * rng.normal(size=n_rows))
    pd.DataFrame(X, columns=list("abc")).assign(y=y).to_csv("t.csv", index=False)


def test_a_linear_model_that_ties_is_named(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    linear_table()
    assert compare("--models", "dummy-regressor,ridge,auto-svr", "--metric", "rmse") == 0
    said = capsys.readouterr().out
    assert "Worse beyond chance: DummyRegressor" not in said  # it is the baseline, no rival
    other = "Ridge" if "Take AutoSVR" in said else "AutoSVR"
    (tie,) = (line for line in said.splitlines() if line.startswith(("Not told apart", "Level with it")))
    assert f"{other} (+" in tie or tie.startswith("Level with it")


def test_noise_is_recommended_to_nobody(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(2)
    pd.DataFrame({"a": rng.normal(size=60), "y": rng.normal(size=60)}).to_csv("t.csv", index=False)
    assert compare("--models", "dummy-regressor,ridge,auto-svr", "--save", "m.skops") == 1
    said = capsys.readouterr()
    assert "None beats the dummy" in said.out
    assert "do not predict the target" in said.out
    assert "m.skops was not written" in said.err


def test_only_autosvr_is_saved(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    linear_table(noise=0.1)
    assert compare("--models", "dummy-regressor,ridge", "--save", "m.skops") == 1
    assert "only AutoSVR can be saved" in capsys.readouterr().err


@pytest.mark.parametrize("option", [("--groups", "who"), ("--time-order", "day")])
def test_groups_stay_together_and_time_runs_forward(option, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"a": rng.normal(size=80), "who": np.repeat(np.arange(20), 4), "day": np.arange(80)})
    frame.assign(y=frame["a"] + 0.1 * rng.normal(size=80)).to_csv("t.csv", index=False)
    assert compare(*option, "--target", "y", "--models", "dummy-regressor,ridge,svr", "--json", "f.json") == 0
    records = [record for record in written("f.json")["records"] if record["cell"]["model"] == "ridge"]
    if option[0] == "--time-order":
        assert [record["n_train"] for record in records] == [20, 40, 60]
    assert all(record["n_test"] % 4 == 0 for record in records)  # every group has four rows


def test_a_sample_is_told(prices, capsys):
    assert compare("--models", "dummy-regressor,ridge", "--max-rows", "60") == 0
    assert "Compared on a random sample of 60 of 90 rows" in capsys.readouterr().out


@pytest.mark.parametrize(
    "command", [("fit", "t.npz", "-o", "m.skops"), ("compare", "t.npz", *QUICK, "--models", "svm")]
)
def test_arrays_hold_classes_as_before(command, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    rng = np.random.default_rng(4)
    X = rng.normal(size=(60, 3))
    np.savez("t.npz", X=X, y=(X[:, 0] > 0).astype(int))
    assert main(list(command)) == 0
