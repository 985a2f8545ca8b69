"""Model files: what is saved comes back, and columns are found by name."""

import csv

import numpy as np
import pytest

from radiusmargin.app import load_bundle, save_bundle
from radiusmargin.app.cli import main
from radiusmargin.app.final import fit_final
from radiusmargin.paper import Spec
from radiusmargin.paper.data import load
from radiusmargin.tables import DataError, read_table
from radiusmargin.tables.read import read_rows

pytest.importorskip("pandas")
pytest.importorskip("skops.io")


def mixed_table(path, n=80, seed=0):
    rng = np.random.default_rng(seed)
    lines = ["id;weight;hue;since;free"]
    for i in range(n):
        k = i % 2
        weight = "" if i % 13 == 0 else f"{rng.normal() + 2 * k:.3f}".replace(".", ",")
        lines.append(
            f"{i};{weight};{rng.choice(['red', 'blue', 'green'])};{1 + i % 28:02d}.0{1 + i % 9}.2021;{['no', 'yes'][k]}"
        )
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return path


@pytest.fixture(scope="module")
def table(tmp_path_factory):
    return mixed_table(tmp_path_factory.mktemp("table") / "t.csv")


@pytest.mark.parametrize("model", ["fsvm-cv", "rmm", "logistic", "random-forest", "gradient-boosting", "svc"])
def test_what_is_saved_comes_back(tmp_path, table, model):
    bundle = fit_final(read_table(table), model, spec=Spec("fit", inner_folds=2, budget=1))
    again = load_bundle(save_bundle(bundle, tmp_path / "m.skops"))
    assert again.facts == bundle.facts
    for mine, theirs in zip(bundle.predict(read_rows(table)), again.predict(read_rows(table)), strict=True):
        np.testing.assert_array_equal(mine, theirs)
    assert again.facts["classes"] == {"no": 40, "yes": 40}
    assert ("dual_gap" in again.facts["certificate"]) == (model in ("fsvm-cv", "rmm"))


def test_fit_describe_and_predict(tmp_path, table, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    assert main(["fit", str(table), "--target", "free", "-o", "m.skops"]) == 0
    assert main(["describe", "m.skops"]) == 0
    said = capsys.readouterr().out
    assert "weight (number), hue (category), since (date)" in said
    assert "above the optimum" in said
    assert main(["predict", "m.skops", str(table), "-o", "p.csv"]) == 0
    rows = list(csv.DictReader((tmp_path / "p.csv").read_text(encoding="utf-8").splitlines()))
    assert list(rows[0]) == ["label", "score_yes", "probability_no", "probability_yes"]
    truth = [["no", "yes"][i % 2] for i in range(80)]
    assert np.mean([row["label"] == label for row, label in zip(rows, truth, strict=True)]) > 0.75
    scores, chances = (np.array([float(row[c]) for row in rows]) for c in ("score_yes", "probability_yes"))
    assert (np.diff(chances[np.argsort(scores)]) >= 0).all()


def test_what_a_file_is_called_decides_nothing(tmp_path):
    """Rows whose classes overlap: other folds would score otherwise."""
    rng = np.random.default_rng(0)
    rows = "\n".join(f"{x:.3f},{z:.3f},{'ab'[int(x + rng.normal() > 0)]}" for x, z in rng.normal(size=(90, 2)))
    scores = []
    for name in ("one", "another", "third"):
        (tmp_path / f"{name}.csv").write_text("x,z,class\n" + rows)
        scores.append(fit_final(read_table(tmp_path / f"{name}.csv"), "svm").facts["cross_validated_score"])
    assert len(set(scores)) == 1


def test_columns_are_found_by_name(tmp_path, table):
    bundle = fit_final(read_table(table), "svm")
    rows = read_rows(table)
    shuffled = rows[["since", "free", "hue", "weight"]].assign(more=1)
    np.testing.assert_array_equal(bundle.predict(shuffled)[0], bundle.predict(rows)[0])
    with pytest.raises(DataError, match="the table has no columns weight, hue"):
        bundle.predict(rows.drop(columns=["weight", "hue"]))
    with pytest.raises(DataError, match="column 'weight' must hold numbers, got 'heavy'"):
        bundle.predict(rows.astype({"weight": object}).assign(weight="heavy"))
    with pytest.raises(DataError, match=r"column 'since' must hold dates in the format %d.%m.%Y, got 2021-01-01"):
        bundle.predict(rows.assign(since="2021-01-01"))


def test_rows_of_numbers_are_counted(tmp_path):
    bundle = fit_final(load("sklearn/iris"), "svm")
    assert bundle.predict(load("sklearn/iris").X)[2].shape == (150, 3)
    with pytest.raises(DataError, match="wants 4 columns, and got 3"):
        bundle.predict(load("sklearn/iris").X[:, :3])
