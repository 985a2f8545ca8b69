"""Captions say what the records of a run say, and the pages of docs/ say nothing else."""

import json
import re
from pathlib import Path

import pytest
from stubs import toy_plan

from radiusmargin.app.cli import main
from radiusmargin.paper import outputs, workflow
from radiusmargin.paper.captions import caption, pick_block, render_block
from radiusmargin.paper.tables import to_html, to_latex, to_markdown

DOCS = Path(__file__).parents[2] / "docs"
PAGES = ("reproduction.md", "transformations.md", "faces.md")
RECORDS = sorted((DOCS / "tables").glob("*.json"))


def read(page):
    return (DOCS / page).read_text(encoding="utf-8")


@pytest.mark.parametrize("path", RECORDS, ids=lambda path: path.stem)
def test_a_page_shows_what_the_record_says(path):
    """Tables and captions are written by `radiusmargin reproduce ... --into`; see CONTRIBUTING.md."""
    record = json.loads(path.read_text(encoding="utf-8"))
    assert pick_block(read(record["page"]), path.stem) == render_block(record)


@pytest.mark.parametrize("page", PAGES)
def test_every_table_of_a_page_has_a_record(page):
    text = read(page)
    names = re.findall(r"^<!-- begin (.+) -->$", text, re.MULTILINE)
    assert {DOCS / "tables" / f"{name}.json" for name in names} <= set(RECORDS)
    for name in names:
        text = text.replace(pick_block(text, name), "")
    assert not re.findall(r"^\|.*", text, re.MULTILINE)


def test_an_edit_by_hand_is_noticed():
    record = json.loads((DOCS / "tables" / "table2-paper.json").read_text(encoding="utf-8"))
    block = pick_block(read(record["page"]), "table2-paper")
    assert block.replace("Runs: 100", "Runs: 20") != render_block(record)
    assert {n for counts in record["facts"]["runs"].values() for n in counts.values()} == {100}


def test_a_caption_counts_runs_and_configurations():
    spec, tasks, _ = toy_plan(names=("a",), splits="folds")
    outcome = workflow.run_experiment(spec, tasks, jobs=1)
    table = outputs.main_table(outcome)
    runs = len({record["cell"]["run"] for record in outcome.records})
    assert table.caption.startswith(f"Splits: {runs}; configurations: ")
    assert "protocol: nested cross-validation; " in table.caption
    assert "version: radiusmargin " in table.caption
    lines = to_markdown(table).splitlines()
    assert lines[2 + lines[2:].index("") + 1] == f"*{table.caption}*"  # right under the table
    assert "Splits: " in to_latex(table)
    assert "Splits: " in to_html(table)


def test_a_run_that_failed_is_not_counted():
    facts = {"protocol": "nested", "runs": {"a": {"SVM": 5, "F-SVM": 5}, "b": {"SVM": 5, "F-SVM": 4}}}
    assert caption(facts).startswith("Splits: 5 (F-SVM: 4 to 5); ")


def test_reproduce_rewrites_its_block(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    page = tmp_path / "page.md"
    page.write_text("Before.\n\n<!-- begin one -->\nold\n<!-- end one -->\nAfter.\n", encoding="utf-8")
    text = 'name = "mine"\ndatasets = ["sklearn/iris"]\nfolds = 3\ninner_folds = 3\nbudget = 2\n'
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    call = ["reproduce", "mine.toml", "--models", "svm", "--jobs", "1", "--out", "out", "--into"]
    assert main([*call, "page.md#two"]) == 2
    assert "got page.md#two" in capsys.readouterr().err
    assert main([*call, "page.md#one"]) == 0
    written = page.read_text(encoding="utf-8")
    assert written.startswith(
        "Before.\n\n<!-- begin one -->\n\n    radiusmargin reproduce mine.toml --models svm\n\n| "
    )
    assert "*Splits: 3; configurations: " in written
    assert written.endswith("*\n<!-- end one -->\nAfter.\n")
    record = json.loads((tmp_path / "tables" / "one.json").read_text(encoding="utf-8"))
    assert record["facts"]["runs"] == {"sklearn/iris": {"SVM": 3}}
