"""What the report says of the recommended model on a table of one's own."""

import numpy as np
import pytest

from radiusmargin.paper import Spec, workflow
from radiusmargin.paper.answer import column_importance, in_plain_words, suspicions_of
from radiusmargin.paper.outputs import advice_lines, report_html
from radiusmargin.paper.results import model_table
from radiusmargin.paper.tables import Table, TableCell
from radiusmargin.tables import read_table

pytest.importorskip("pandas")


@pytest.fixture(scope="module")
def outcome(tmp_path_factory):
    """A comparison on a table whose column `a` says nearly all, `hue` a little, and `noise` nothing."""
    rng = np.random.default_rng(0)
    labels = np.arange(90) % 2
    a, hues = rng.normal(size=90) + 2.5 * labels, np.where(rng.random(90) < 0.6 - 0.2 * labels, "red", "blue")
    rows = [f"{x:.2f},{rng.normal():.2f},{hue},{['no', 'yes'][k]}" for x, hue, k in zip(a, hues, labels, strict=True)]
    path = tmp_path_factory.mktemp("answer") / "t.csv"
    path.write_text("a,noise,hue,left\n" + "\n".join(rows) + "\n", encoding="utf-8")
    task = read_table(path)
    spec = Spec(
        "mine", datasets=("t.csv",), models=("dummy", "logistic", "linear-svc"), folds=3, inner_folds=2, budget=2
    )
    return workflow.run_experiment(spec, {"t.csv": task}, jobs=1)


def test_the_column_that_says_all_matters_most(outcome):
    falls = column_importance(outcome, "logistic")
    assert set(falls) == {"a", "noise", "hue"}
    assert max(falls, key=falls.get) == "a"
    assert falls["a"] > 0.2 > abs(falls["noise"])


def test_the_first_line_is_in_plain_words(outcome):
    model = "logistic"
    right = round(100 * outcome.summary.entry("t.csv", model).mean)
    assert in_plain_words(outcome.summary, model) == (
        f"Of 100 new rows LogisticRegression should label about {right} correctly; always naming the most frequent class, about 50."
    )
    assert advice_lines(outcome)[0].startswith("Of 100 new rows ")
    assert suspicions_of(outcome, model) == []


def test_every_held_out_row_is_counted_once(outcome):
    held = [record["held_out"] for record in outcome.summary.entry("t.csv", "logistic").records]
    assert sum(len(part["truth"]) for part in held) == 90
    accuracy = np.mean([np.mean(np.equal(part["truth"], part["predicted"])) for part in held])
    assert accuracy == pytest.approx(outcome.summary.entry("t.csv", "logistic").mean)
    assert all(0 <= score <= 1 for part in held for score in part["scores"])


def test_the_page_has_sections_about_the_model_and_folds_what_specialists_read(outcome):
    page = report_html(outcome)
    for title in (" errs</h2>", "How sure ", "Which columns matter to "):
        assert title in page
    folded = [part.partition("</details>")[0] for part in page.split("<details>")[1:]]
    assert any("Hyper-parameters" in part for part in folded)
    assert "said yes" in page


def test_the_best_stands_first(outcome):
    rows = [[TableCell("t.csv"), *(TableCell(name) for name in outcome.summary.models)]]
    shown = model_table(Table("", ("set", *outcome.summary.models), rows), outcome.summary)
    means = [outcome.summary.entry("t.csv", row[1].text).mean for row in shown.rows]
    assert means == sorted(means, reverse=True)
