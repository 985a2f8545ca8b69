"""From records to summaries and tables, and the files they are written to."""

import csv
import io
import json
import shutil
import subprocess
from dataclasses import replace

import numpy as np
import pytest
from stubs import toy_task

from radiusmargin._writing import write_file
from radiusmargin.paper import Spec, Summary, outputs, results
from radiusmargin.paper.captions import provenance
from radiusmargin.paper.differences import choice_table, difference_table, inner_table
from radiusmargin.paper.printed import PAPER_ROWS, paper_value
from radiusmargin.paper.tables import Table, TableCell, to_csv, to_html, to_latex, to_markdown
from radiusmargin.paper.workflow import Outcome

SOURCE = provenance()


def fake(dataset, model, run, accuracy, **more):
    cell = {
        "dataset": dataset,
        "model": model,
        "run": run,
        "protocol": "nested",
        "kernel": "linear",
        "fixed": {},
    }
    base = {
        "key": f"{dataset}{model}{run}",
        "cell": cell,
        "status": "ok",
        "accuracy": accuracy,
        "n_train": 80,
        "n_test": 20,
    }
    base |= {"params": {"C": 0.25}, "fit_seconds": 0.1, "tune_seconds": 1.0, "seconds": 1.1, "warnings": []}
    return {**base, "provenance": SOURCE, **more}


def fake_records(models=("svm", "fsvm", "rmm"), sets=("ida/heart", "ida/thyroid", "ida/german")):
    rng = np.random.default_rng(0)
    lead = {"svm": 0.0, "fsvm": 0.1, "rmm": -0.1}
    return [fake(d, m, r, 0.8 + lead[m] + 0.01 * rng.normal()) for d in sets for m in models for r in range(5)]


def test_a_summary_gathers_tests_and_ranks():
    summary = Summary(fake_records())
    assert summary.ranks == {"svm": 2.0, "fsvm": 1.0, "rmm": 3.0}
    assert {summary.entry(d, "fsvm").mark for d in summary.datasets} == {"▲"}
    assert {summary.entry(d, "rmm").mark for d in summary.datasets} == {"▼"}
    assert summary.entry("ida/heart", "svm").mark == ""
    assert str(summary.versus_baseline("fsvm")[0]) == "3/0/0"
    assert summary.versus_baseline("svm") is None
    assert np.inf == summary.friedman.F
    assert any("Significantly better than SVM: F-SVM on 3" in line for line in results.findings(summary))


def test_failures_leave_gaps_and_not_errors():
    records = fake_records()
    for record in records:
        if record["cell"]["model"] == "rmm" and record["cell"]["dataset"] == "ida/heart":
            record.update(status="error", error="ValueError: no")
    records[0].update(status="error", error="OSError: gone")  # one run of one model
    summary = Summary(records)
    assert summary.complete_models == ["svm", "fsvm"]
    assert summary.friedman is None
    assert len(summary.entry("ida/heart", "svm").values) == 4
    assert summary.entry("ida/heart", "fsvm").versus is not None  # paired over the runs that both have
    table = results.accuracy_table(summary, Spec("t", paper_table="table2_linear_accuracy"))
    assert "failed" in to_markdown(table)
    notes = results.provenance_notes(summary)
    assert any("5 cells failed: ValueError: no" in note for note in notes)
    outputs.report_html(Outcome(Spec("t"), {}, records))


def test_a_single_set_and_a_single_model_will_do():
    summary = Summary(fake_records(("fsvm",), ("ida/heart",)))
    assert summary.baseline == "fsvm"
    assert len(results.accuracy_table(summary, Spec("t")).rows) == 1
    assert outputs.report_html(Outcome(Spec("t"), {}, summary.records))


def test_differences_are_those_of_the_same_splits():
    records = [fake("ida/heart", "svm", run, 0.8) for run in range(4)]
    records += [fake("ida/heart", "fsvm", run, 0.8 + 0.01 * step) for run, step in enumerate((2, -1, 0, 3))]
    table = difference_table(Summary(records))
    (row,) = table.data
    steps = np.array([2.0, -1.0, 0.0, 3.0])
    assert row["difference"] == pytest.approx(steps.mean())
    assert row["standard_error"] == pytest.approx(steps.std(ddof=1) * np.sqrt(1 / 4 + 20 / 80))
    assert table.rows[0][1] == TableCell("+1.00 ± 1.29", small="(2/1/1)")
    turned = difference_table(Summary(records, baseline="fsvm"))
    assert turned.rows[0][1] == TableCell("−1.00 ± 1.29", small="(1/1/2)")


def test_choices_are_counted_one_by_one():
    records = [
        fake("ida/heart", "svm", run, 0.8, params={"C": C, "kernel": "rbf"}) for run, C in enumerate((4.0, 0.1, 4.0))
    ]
    (row,) = choice_table(Summary(records)).rows
    assert row[1].text == "C 2^2 ×2, 0.1 ×1"


def test_recipes_are_compared_inside_the_training_folds():
    def cells(recipe, accuracies):
        for run, accuracy in enumerate(accuracies):
            record = fake(f"lfw/{recipe}", "svm", run, 0.5, inner_accuracy=accuracy)
            yield {**record, "cell": {**record["cell"], "protocol": "pairs"}}

    first, second = inner_table(Summary([*cells("a", (0.8, 0.9)), *cells("b", (0.85, 0.85))])).rows
    assert (first[1].text, first[1].small) == ("85.00", "")
    assert (second[1].text, second[1].small) == ("85.00", "(1 of 2)")


def test_the_papers_numbers_stand_beside_ours():
    table = results.accuracy_table(Summary(fake_records()), Spec("t", paper_table="table2_linear_accuracy"))
    (heart,) = [row for row in table.data if row["dataset"] == "ida/heart" and row["model"] == "fsvm"]
    assert heart["paper"] == 84.02
    assert heart["difference"] == pytest.approx(heart["accuracy"] - 84.02, abs=1e-3)
    assert "(84.02; " in to_markdown(table)


def test_the_papers_tables_are_complete():
    for name in (
        "table2_linear_accuracy",
        "table3_linear_seconds",
        "table4_kernel_accuracy",
        "table5_kernel_seconds",
    ):
        for dataset in (name for name in PAPER_ROWS if not name.startswith("lfw/")):
            for model in ("svm", "rmm", "r-svm+", "r-svm_mu+", "fsvm"):
                from radiusmargin.paper.catalogue import resolve_models

                assert paper_value(name, dataset, resolve_models([model])[0]) > 0


TABLE = Table(
    "A & B",
    ("set", "R_1 %"),
    [[TableCell("x<y"), TableCell("1 ± 2", True, "▲", "(3; −1)")], [TableCell("mean"), TableCell("1")]],
    ("50 % of it",),
    [{"set": "x", "value": 1.5}],
    1,
)


def test_markdown():
    assert "| x<y | **1 ± 2** ▲ (3; −1) |" in to_markdown(TABLE)


def test_latex_is_escaped():
    text = to_latex(TABLE)
    assert r"\caption{A \& B}" in text
    assert r"R\_1 \%" in text
    assert r"\textbf{1 $\pm$ 2} $\blacktriangle$" in text
    assert text.count(r"\midrule") == 2
    assert all(ord(character) < 128 for character in text)


def test_latex_numbers_its_floats_itself():
    assert r"\caption{Accuracy of it}" in to_latex(replace(TABLE, title="Table 2: accuracy of it"))


@pytest.mark.skipif(
    shutil.which("pdflatex") is None,
    reason="pdflatex, which compiles the table, is not installed; its text is tested above",
)
def test_latex_compiles(tmp_path):
    lines = r"\documentclass{article}\usepackage{booktabs,amssymb}\begin{document}", to_latex(TABLE), r"\end{document}"
    (tmp_path / "table.tex").write_text("\n".join(lines))
    run = subprocess.run(["pdflatex", "-halt-on-error", "table.tex"], cwd=tmp_path, capture_output=True, text=True)
    assert run.returncode == 0, run.stdout


def test_csv_is_plain():
    assert list(csv.DictReader(io.StringIO(to_csv(TABLE)))) == [{"set": "x", "value": "1.5"}]


def test_html_is_escaped():
    text = to_html(TABLE)
    assert "x&lt;y" in text
    assert 'class="best better"' in text
    assert '<tr class="rule">' in text


def test_files_are_written_whole_or_not_at_all(tmp_path):
    path = tmp_path / "a.txt"
    write_file(path, "old")
    with pytest.raises(UnicodeEncodeError):
        write_file(path, "new \udcff")
    assert path.read_text() == "old"
    assert list(tmp_path.iterdir()) == [path]


def test_all_files_of_an_experiment(tmp_path):
    spec = Spec("table2", title="T", paper_table="table2_linear_accuracy", splits="official", runs=5)
    tasks = {name: toy_task(name, splits=2) for name in ("ida/heart", "ida/thyroid", "ida/german")}
    outcome = Outcome(spec, tasks, fake_records())
    paths = outputs.write_all(outcome, tmp_path / "out")
    assert [path.suffix for path in paths] == [".md", ".tex", ".csv", ".html"]
    text = paths[0].read_text(encoding="utf-8")
    assert "2 official splits, 3 redrawn at random" in text
    assert "Nested cross-validation" in text
    document = json.loads(outputs.to_json(outcome))
    assert len(document["records"]) == 45
    assert document["ranks"]["fsvm"] == 1.0


def test_seconds_and_dimensions_have_tables_of_their_own():
    records = fake_records()
    timing = Outcome(Spec("t", protocol="timing", quantity="seconds", paper_table="table3_linear_seconds"), {}, records)
    assert "×" in to_markdown(outputs.main_table(timing))
    assert "<table>" in outputs.report_html(timing)

    def cell(model, run, k):
        return {**fake("ida/heart", model, run, 0.8)["cell"], "fixed": {"n_components": k}}

    curve = [
        fake("ida/heart", m, r, 0.8, cell=cell(m, r, k)) for m in ("svm", "fsvm") for r in range(2) for k in (2, 5)
    ]
    outcome = Outcome(Spec("figure2", kernel="rbf", components=(2, 5)), {}, curve)
    assert "| heart, F-SVM | 80.00 ± 0.00 |" in to_markdown(outputs.main_table(outcome))
    assert "<svg " in outputs.report_html(outcome)


def test_the_correction_is_capped_where_the_test_part_is_the_larger():
    equal, larger = ([{**r, "n_train": 40, "n_test": n} for r in fake_records()] for n in (40, 700))
    a, b = (Summary(records).entry("ida/heart", "fsvm") for records in (equal, larger))
    assert a.standard_error == b.standard_error
    assert "capped" in " ".join(results.legend(Summary(larger), Spec("t")))
    assert "capped" not in " ".join(results.legend(Summary(equal), Spec("t")))
