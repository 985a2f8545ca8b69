"""The command line, through the real executable."""

import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from radiusmargin.app.cli import main
from radiusmargin.paper import cells
from radiusmargin.paper.data import make_twonorm

PROGRAM = Path(sys.executable).with_name("radiusmargin")
COMMAND = [str(PROGRAM)] if PROGRAM.exists() else [sys.executable, "-m", "radiusmargin.app.cli"]


def call(*arguments, cwd, **environment):
    clean = {key: value for key, value in os.environ.items() if key != "RADIUSMARGIN_DATA"}
    env = {**clean, "OPENBLAS_NUM_THREADS": "1", "COLUMNS": "200", **environment}
    return subprocess.run(
        [*COMMAND, *arguments],
        capture_output=True,
        text=True,
        cwd=cwd,
        env=env,
        timeout=120,
        encoding="utf-8",
    )


def write_table(folder, name="toys.csv", n=60):
    X, y = make_twonorm(n, 3, random_state=0)
    hues, kinds = np.where(X[:, 2] > 0, "red", "blue"), np.where(y > 0, "yes", "no")
    thirds = ["" if i == 5 else f"{c:.6g}" for i, c in enumerate(X[:, 2])]
    rows = [f"{a:.6g},{b:.6g},{c},{h},{k}" for (a, b, _), c, h, k in zip(X, thirds, hues, kinds, strict=True)]
    path = folder / name
    path.write_text("a,b,c,hue,kind\n" + "\n".join(rows) + "\n", encoding="utf-8")
    return path


FAST = ("--models", "svm,fsvm", "--folds", "3", "--inner-folds", "3", "--configurations", "3", "--jobs", "1")


def test_compare_a_table_of_ones_own(tmp_path):
    path = write_table(tmp_path)
    outputs = ("--json", "out.json", "--csv", "out.csv", "--report", "out.html", "--store", "cells.jsonl")
    run = call("compare", str(path), "--target", "kind", *FAST, *outputs, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "Accuracy on toys.csv" in run.stdout
    assert "F-SVM" in run.stdout
    assert "one-hot encoded: hue" in run.stdout
    assert "filled with the median of the training rows: c (1)" in run.stdout
    assert run.stdout.index("Take ") < run.stdout.index("Accuracy on toys.csv")  # the answer comes first
    document = json.loads((tmp_path / "out.json").read_text(encoding="utf-8"))
    assert len(document["records"]) == 6
    assert (tmp_path / "out.csv").read_text(encoding="utf-8").startswith("dataset,model,")
    assert "<!DOCTYPE html>" in (tmp_path / "out.html").read_text(encoding="utf-8")
    size = (tmp_path / "cells.jsonl").stat().st_size
    again = call(
        "compare",
        str(path),
        "--target",
        "kind",
        *FAST,
        "--store",
        "cells.jsonl",
        "--report",
        "",
        cwd=tmp_path,
    )
    assert again.returncode == 0, again.stderr
    assert (tmp_path / "cells.jsonl").stat().st_size == size  # all of it was there


def test_compare_on_data_sets_of_the_registry_with_two_processes(tmp_path):
    run = call("compare", "--datasets", "sklearn/iris", *FAST[:-1], "2", cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "iris" in run.stdout
    assert (tmp_path / "report.html").exists()


def bad_files(folder):
    (folder / "bytes.csv").write_bytes("a,kind\n1,große\n2,kleine\n".encode("utf-16-le"))
    (folder / "one.csv").write_text("a,target\n1,x\n2,x\n", encoding="utf-8")
    (folder / "flat.csv").write_text("a,target\n1,x\n1,y\n1,x\n1,y\n", encoding="utf-8")
    (folder / "empty.csv").write_text("", encoding="utf-8")
    (folder / "odd.xyz").write_text("?", encoding="utf-8")
    np.savez(folder / "no_labels.npz", X=np.eye(3), weight=np.ones(3))
    write_table(folder)


@pytest.mark.parametrize(
    ("arguments", "code", "message"),
    [
        (["absent.csv"], 1, "absent.csv"),
        (["one.csv"], 1, "one class only"),
        (["flat.csv"], 1, "constant"),
        (["empty.csv"], 1, "empty.csv"),
        (["odd.xyz"], 1, "unknown file format"),
        (["bytes.csv"], 1, "zero bytes"),
        (["no_labels.npz"], 1, "no array y"),
        (["toys.csv", "--target", "sort"], 2, "no column 'sort'"),
        (["toys.csv", "--models", "svmm"], 2, "no model 'svmm'"),
        (["toys.csv", "--models", "+nothing"], 2, "no model 'nothing'"),
        (["toys.csv", "--report", "no/such/folder.html"], 1, "cannot be written"),
        (["toys.csv", "--folds", "1"], 2, "--folds"),
        (["toys.csv", "--datasets", "sklearn/iris"], 2, "not both"),
        (["--target", "kind"], 2, "needs a FILE"),
        (["--datasets", "iris"], 2, "did you mean sklearn/iris"),
    ],
)
def test_bad_calls_are_told_and_leave_nothing_behind(tmp_path, monkeypatch, capsys, arguments, code, message):
    bad_files(tmp_path)
    before = sorted(tmp_path.iterdir())
    monkeypatch.chdir(tmp_path)
    assert main(["compare", *arguments]) == code  # in this process, for a program takes a second to start
    assert message in capsys.readouterr().err
    assert sorted(tmp_path.iterdir()) == before


def test_a_bad_file_through_the_program(tmp_path):
    bad_files(tmp_path)
    run = call("compare", "one.csv", cwd=tmp_path)
    assert run.returncode == 1
    assert run.stderr.startswith("error: ")
    assert "Traceback" not in run.stderr
    assert not (tmp_path / "report.html").exists()


def test_reproduce_a_specification_of_ones_own(tmp_path, monkeypatch, capsys):
    text = 'name = "mine"\ndatasets = ["sklearn/iris"]\nmodels = ["svm", "fsvm"]\n'
    text += "folds = 3\ninner_folds = 3\nbudget = 2\n"
    (tmp_path / "mine.toml").write_text(text, encoding="utf-8")
    details = ("--differences", "--against", "F-SVM", "--configurations", "3")
    run = call("reproduce", "mine.toml", "--jobs", "1", "--out", "out", *details, cwd=tmp_path)
    assert run.returncode == 0, run.stderr
    assert "Minus F-SVM" in run.stdout
    assert "at most 3 configurations" in run.stdout
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert {f"mine-nested.{suffix}" for suffix in ("md", "tex", "csv", "html")} <= names
    assert {
        f"mine-nested-{ending}.{suffix}" for ending in ("differences", "chosen") for suffix in ("md", "csv")
    } <= names
    monkeypatch.chdir(tmp_path)
    assert (
        main(
            [
                "reproduce",
                "mine.toml",
                "--jobs",
                "1",
                "--out",
                "out",
                "--protocol",
                "paper",
                "--models",
                "fsvm",
            ]
        )
        == 0
    )
    assert "Not nested, hence optimistic" in capsys.readouterr().out


def test_reproduce_says_where_it_looked_for_the_data(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    monkeypatch.delenv("RADIUSMARGIN_DATA", raising=False)
    assert main(["reproduce", "table2", "--quick"]) == 1
    assert "RADIUSMARGIN_DATA is not set" in capsys.readouterr().err
    assert main(["reproduce", "table7"]) == 1
    assert main(["reproduce", "table2", "--models", "svm,fsvm", "--against", "rmm"]) == 2
    assert "--against must be one of the models compared, svm, fsvm" in capsys.readouterr().err
    assert not list(tmp_path.iterdir())


def test_reproduce_on_the_real_data(tmp_path, data_home):
    options = ("--quick", "--models", "svm,fsvm", "--datasets", "heart", "--runs", "2", "--out", "out")
    run = call("reproduce", "table2", *options, cwd=tmp_path, RADIUSMARGIN_DATA=data_home)
    assert run.returncode == 0, run.stderr
    assert "(84.02; " in run.stdout
    assert "2 official splits" in run.stdout


def test_failed_cells_are_told_by_the_exit_code(tmp_path, monkeypatch, capsys):
    def fails(cell, task):
        raise RuntimeError("no luck")

    write_table(tmp_path)
    monkeypatch.chdir(tmp_path)
    monkeypatch.setitem(cells._PROTOCOLS, "nested", fails)
    assert main(["compare", "toys.csv", *FAST]) == 1
    said = capsys.readouterr().out
    assert "Every cell failed, so there is nothing to recommend. The first error: RuntimeError: no luck" in said
    assert "No model differs" not in (tmp_path / "report.html").read_text(encoding="utf-8")


def test_datasets(tmp_path, monkeypatch, capsys):
    run = call("datasets", cwd=tmp_path)
    assert run.returncode == 0
    assert "builtin/twonorm" in run.stdout
    assert "RADIUSMARGIN_DATA is not set" in run.stdout
    assert main(["datasets", "--group", "sklearn", "--json"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert {row["name"] for row in rows} >= {"sklearn/iris", "sklearn/wine"}
    assert main(["datasets", "--group", "nonsense"]) == 2


def test_info(tmp_path, capsys):
    assert "fsvm" in call("info", cwd=tmp_path).stdout
    assert main(["info", "--json"]) == 0
    facts = json.loads(capsys.readouterr().out)
    assert {"versions", "compiled core", "processor", "cores", "thread pools"} <= facts.keys()


def test_without_the_extra_the_command_says_what_to_install(tmp_path):
    code = "import sys; sys.modules['click'] = None; from radiusmargin.app.cli import main; sys.exit(main(['info']))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert run.returncode == 1
    assert "pip install '.[experiments,export]'" in run.stderr


@pytest.mark.parametrize(
    ("argument", "said"), [("--version", "radiusmargin, version "), ("--help", "Usage: radiusmargin")]
)
def test_version_and_help_need_no_extras(tmp_path, argument, said):
    code = f"import sys; sys.modules['click'] = None; from radiusmargin.app.cli import main; sys.exit(main([{argument!r}]))"
    run = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, cwd=tmp_path)
    assert (run.returncode, run.stderr) == (0, "")
    assert run.stdout.startswith(said)


def test_the_package_is_a_program(tmp_path):
    run = subprocess.run(
        [sys.executable, "-m", "radiusmargin", "--version"], capture_output=True, text=True, cwd=tmp_path
    )
    assert run.returncode == 0
    assert run.stdout.startswith("radiusmargin, version ")


def test_completion(capsys, monkeypatch):
    assert main(["completion", "bash"]) == 0
    assert "_RADIUSMARGIN_COMPLETE=bash_complete" in capsys.readouterr().out
    monkeypatch.setenv("_RADIUSMARGIN_COMPLETE", "bash_complete")
    monkeypatch.setenv("COMP_WORDS", "radiusmargin compare --models svm,logi")
    monkeypatch.setenv("COMP_CWORD", "3")
    with pytest.raises(SystemExit):
        main([])
    assert "svm,logistic" in capsys.readouterr().out


def test_importing_the_package_loads_none_of_this():
    ours = "('click', 'jinja2', 'matplotlib', 'radiusmargin.paper', 'radiusmargin.app.commands')"
    code = f"import sys, radiusmargin; print([m for m in sys.modules if m.startswith({ours})])"
    assert subprocess.run([sys.executable, "-c", code], capture_output=True, text=True).stdout.strip() == "[]"


def test_where_nobody_sees_a_bar_lines_tell_the_progress(capsys, monkeypatch):
    from radiusmargin.app.commands import shared

    clock = iter([0.0, 1.0, 60.0, 61.0])
    monkeypatch.setattr(shared.time, "monotonic", lambda: next(clock))
    with shared.progress_bar("cells") as begin:
        step = begin(3)
        for _ in range(3):
            step({"cell": {"dataset": "a", "model": "b"}, "status": "ok"})
    assert capsys.readouterr().err.splitlines() == ["cells: 2 of 3, about 30 s left"]


@pytest.fixture(scope="module")
def fitted(tmp_path_factory):
    """A folder with a table, and a quick model of it."""
    folder = tmp_path_factory.mktemp("fitted")
    write_table(folder)
    assert main(["fit", str(folder / "toys.csv"), "--model", "logistic", "-o", str(folder / "m.skops")]) == 0
    return folder


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (
            ["predict", "m.skops", "new.csv", "-o", "new.csv"],
            "new.csv is read by this command, and is not written over",
        ),
        (["predict", "m.skops", "new.csv", "-o", "m.skops"], "m.skops is read by this command"),
        (["fit", "toys.csv", "-o", "toys.csv"], "name it toys.skops, not toys.csv"),
        (["fit", "toys.csv", "-o", "x.pkl"], "name it x.skops, not x.pkl"),
        (["fit", "toys.csv", "-o", "x.skops", "--report", "toys.csv"], "toys.csv is read by this command"),
        (["compare", "toys.csv", "--csv", "toys.csv"], "toys.csv is read by this command"),
        (["compare", "toys.csv", "--save", "model.joblib"], "name it model.skops, not model.joblib"),
        (["predict", "m.skops", "new.csv", "--keep", "name"], "there is no column name"),
    ],
)
def test_inputs_are_not_written_over(fitted, monkeypatch, capsys, arguments, message):
    monkeypatch.chdir(fitted)
    (fitted / "new.csv").write_text("a,b,c,hue\n1,2,3,red\n", encoding="utf-8")
    before = {path.name: path.read_bytes() for path in fitted.iterdir()}
    assert main(arguments) == 2
    assert message in capsys.readouterr().err
    assert {path.name: path.read_bytes() for path in fitted.iterdir()} == before


def test_predict_says_what_is_unusual_and_keeps_columns(fitted, monkeypatch, capsys):
    monkeypatch.chdir(fitted)
    (fitted / "new.csv").write_text("key,a,b,c,hue\n007,1,,3,red\n008,900,,1,violet\n", encoding="utf-8")
    assert main(["predict", "new.csv", "m.skops", "--keep", "key,hue", "--notes"]) == 0  # the other way round
    told = capsys.readouterr()
    lines = told.out.splitlines()
    assert lines[0] == "key,hue,label,score_yes,probability_no,probability_yes,note"
    assert lines[1].startswith("007,red,")
    assert lines[2].startswith("008,violet,")
    assert lines[2].endswith(",a out of range; hue not seen")
    assert "the model file comes first" in told.err
    assert "b: empty in all 2 rows" in told.err
    assert "hue: 1 row with values that the model has not seen: 'violet'" in told.err
    assert "a: 1 row far outside" in told.err


def test_new_rows_are_read_as_the_table_was(tmp_path, monkeypatch, capsys):
    """One row alone says nothing of its marks, its dates or its header: the model does."""
    monkeypatch.chdir(tmp_path)
    rows = [f"{(i % 9) + 1},{i:03d};{i % 12 + 1:02d}/{i % 28 + 1:02d}/2021;{'uv'[i % 2]}" for i in range(40)]
    (tmp_path / "t.csv").write_text("a;day;y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert main(["fit", "t.csv", "--model", "logistic", "--decimal", ",", "-o", "m.skops"]) == 0
    capsys.readouterr()
    for text in ("a;day\n4.297;03/04/2021\n", "a;day\n4297;03/04/2021\n"):
        (tmp_path / "new.csv").write_text(text, encoding="utf-8")
        assert main(["predict", "m.skops", "new.csv", "--sep", ";"]) == 0
    first, second = capsys.readouterr().out.split("label")[1:]
    assert first == second


def test_fit_names_its_metric_and_small_models_have_small_files(fitted, capsys):
    assert main(["describe", str(fitted / "m.skops")]) == 0
    assert "accuracy 0." in capsys.readouterr().out
    assert (fitted / "m.skops").stat().st_size < 50_000  # a third of it was three times as much


def test_models_of_experiments_are_not_fitted(fitted, tmp_path, capsys):
    assert main(["fit", str(fitted / "toys.csv"), "--model", "knn-lda", "-o", str(tmp_path / "k.skops")]) == 1
    assert "not a model to keep" in capsys.readouterr().err


def test_a_file_with_few_facts_is_described(fitted, tmp_path, capsys):
    from radiusmargin.app import Bundle, load_bundle, save_bundle

    bundle = load_bundle(fitted / "m.skops")
    save_bundle(Bundle(bundle.pipeline, None, {"columns": bundle.facts["columns"]}), tmp_path / "few.skops")
    assert main(["describe", str(tmp_path / "few.skops")]) == 0
    assert capsys.readouterr().out == "columns      a (number), b (number), c (number), hue (number)\n"


def test_models_are_compared_beside_the_usual_ones(monkeypatch):
    from radiusmargin.app.commands.compare import _beside
    from radiusmargin.paper import catalogue
    from radiusmargin.tables import MissingDependencyError

    assert _beside(("svm", "fsvm"), ("+lightgbm", "+rmm")) == ("svm", "fsvm", "lightgbm", "rmm")
    assert _beside(("svm", "fsvm"), ("rmm",)) == ("rmm",)
    monkeypatch.setattr(catalogue, "find_spec", lambda name: None)
    with pytest.raises(MissingDependencyError, match="lightgbm is not installed: pip install lightgbm"):
        catalogue.resolve_models(["lightgbm"])


@pytest.mark.parametrize("key", ["lightgbm", "catboost"])
def test_packages_of_others_take_part(key):
    pytest.importorskip(key, reason=f"needs {key}")
    from radiusmargin.paper.catalogue import get_model

    X, y = make_twonorm(80, 3, random_state=0)
    model = get_model(key).estimator().fit(X, y)
    assert model.predict_proba(X).shape == (80, 2)
    assert model.score(X, y) > 0.9
