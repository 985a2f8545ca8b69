"""`radiusmargin paper`: everything that the data allow, on one page with a conclusion, and what was left out."""

from dataclasses import replace
from importlib import resources

import numpy as np
import pytest

from radiusmargin.app.cli import main
from radiusmargin.paper import load_spec, whole
from radiusmargin.paper.data import available, load
from radiusmargin.paper.stand_ins import load_available
from radiusmargin.tables import DataError

BUNDLED = ("breast_cancer", "german", "heart", "image", "solar_flare", "splice", "thyroid")


@pytest.fixture
def fresh(tmp_path, monkeypatch):
    """A machine without data and without a network."""
    import sklearn.datasets

    def offline(**options):
        raise OSError("no route to host")

    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RADIUSMARGIN_DATA", raising=False)
    monkeypatch.setattr(sklearn.datasets, "fetch_openml", offline)
    return tmp_path


@pytest.mark.parametrize("name", BUNDLED)
def test_uci_originals_come_with_the_package_and_are_attributed(fresh, name):
    task = load(f"uci/{name}")
    status = {row.dataset.name: row.status for row in available()}
    assert status[f"uci/{name}"] == "built in"
    assert task.n_samples > 200
    folder = resources.files("radiusmargin.paper.data").joinpath("uci")
    assert f"`{name}.csv.gz`" in folder.joinpath("ATTRIBUTION.md").read_text(encoding="utf-8")


def test_a_generated_sample_takes_the_place_of_a_published_one_only_when_asked(fresh):
    with pytest.raises(DataError, match="uci/twonorm was not found"):
        load("uci/twonorm")
    task = load("uci/twonorm", generate=True)
    assert task.X.shape == (7400, 20)
    assert "not the published sample" in task.note
    assert np.abs(task.X.mean(axis=0)).max() < 0.1


def test_without_the_ida_sets_a_table_is_made_of_the_uci_originals(fresh):
    spec, tasks, missing = load_available(load_spec("table2"))
    assert list(tasks) == [f"uci/{name}" for name in (
        "breast_cancer", "solar_flare", "german", "heart", "image", "ringnorm", "splice", "thyroid", "twonorm", "waveform"
    )]  # fmt: skip
    assert list(missing) == ["uci/diabetes", "the IDA sets"]
    assert "no route to host" in missing["uci/diabetes"]  # the whole message
    assert "RADIUSMARGIN_DATA" in missing["the IDA sets"]
    assert spec.splits == "folds"
    assert max(task.n_samples for task in tasks.values()) <= 610
    spec, tasks, _ = load_available(load_spec("figure2"))
    assert set(tasks) == {"uci/breast_cancer", "uci/thyroid", "uci/heart", "uci/german"}


def test_what_cannot_be_had_at_all_is_an_error(fresh):
    with pytest.raises(DataError, match="uci_zscored"):
        load_available(load_spec("transformations"))


def test_the_page_says_which_run_it_is_what_is_missing_and_concludes_in_five_sentences(fresh, monkeypatch, capsys):
    small = replace(load_spec("table2", quick=True), models=("svm", "fsvm"), budget=3, folds=2, inner_folds=2)
    monkeypatch.setattr("radiusmargin.paper.load_spec", lambda name, quick: small)
    names = ("table1", "table2", "figure3", "map-figure")
    assert main(["paper", "--quick", "--only", ",".join(names), "--jobs", "1", "--out", "out"]) == 1
    told = capsys.readouterr().out
    assert "table2: not on uci/diabetes, the IDA sets" in told
    assert "Set RADIUSMARGIN_DATA" in told
    page = (fresh / "out" / "report.html").read_text(encoding="utf-8")
    assert "This is a quick run" in page
    assert "Beyond the paper." in page
    conclusion = page.partition('id="conclusion"')[2].partition("</section>")[0]
    for said in ("Figure 1 was not made", "Table 2: over 3 sets", "Table 4 was not run", "Table 6 was not run"):
        assert said in conclusion


def test_the_conclusion_has_five_sentences_whatever_was_made():
    assert len(whole.conclusion({}, None)) == 5


def test_everything_that_was_asked_for_is_exit_code_0(fresh):
    assert main(["paper", "--quick", "--only", "table1,figure1", "--out", "out"]) == 0


def test_an_unknown_exhibit_is_a_mistake(fresh, capsys):
    assert main(["paper", "--only", "table9"]) == 2
    assert "table9" in capsys.readouterr().err
