"""Twelve tables as strangers write them, each with what must come of it, through the command line."""

import json

import numpy as np
import pytest
from sklearn.datasets import load_wine

from radiusmargin.app.cli import main
from radiusmargin.tables import DataError, read_table

pytest.importorskip("pandas")
pytest.importorskip("click")

FAST = [
    "--models",
    "dummy,linear-svc",
    "--folds",
    "3",
    "--inner-folds",
    "3",
    "--configurations",
    "3",
    "--jobs",
    "1",
    "--report",
    "",
]


def comma(value):
    return f"{value:.4f}".replace(".", ",")


def two_classes(n=60, seed=0):
    """Rows of a number and a category that tell two classes apart, and the classes."""
    rng = np.random.default_rng(seed)
    labels = np.arange(n) % 2
    return rng.normal(size=n) + 2.5 * labels, np.where(labels, "blue", "red"), np.where(labels, "yes", "no"), rng


def decimal_comma(folder):
    wine = load_wine()
    lines = [";".join([*map(comma, row), f"grape {kind}"]) for row, kind in zip(wine.data, wine.target, strict=True)]
    names = ";".join(name.replace("/", " ") for name in wine.feature_names)
    (folder / "t.csv").write_text(f"{names};kind\n" + "\n".join(lines) + "\n", encoding="utf-8")


def dates(folder):
    """The class is the half of the year: the month of a date tells it, its order in time does not."""
    days = np.arange("2018-01-01", "2022-12-31", 11, dtype="datetime64[D]")
    late = days.astype("datetime64[M]").astype(int) % 12 >= 6
    rows = [f"{day},{'late' if w else 'early'}" for day, w in zip(days, late, strict=True)]
    (folder / "t.csv").write_text("day,half\n" + "\n".join(rows) + "\n", encoding="utf-8")


def identifiers(folder):
    a, _, y, _ = two_classes()
    rows = [f"{i},C{i * 7919 % 10007:05d},{x:.3f},{k}" for i, (x, k) in enumerate(zip(a, y, strict=True))]
    (folder / "t.csv").write_text("id,customer,a,y\n" + "\n".join(rows) + "\n", encoding="utf-8")


def free_text(folder):
    """The words tell the classes; no two texts are the same."""
    *_, y, rng = two_classes(90)
    words = {"yes": ["lovely", "great", "thanks"], "no": ["broken", "refund", "late"]}
    rows = [f"order {rng.integers(10**6)} was {rng.choice(words[k])} and {rng.choice(words[k])},{k}" for k in y]
    (folder / "t.csv").write_text("review,y\n" + "\n".join(rows) + "\n", encoding="utf-8")


def mixed_column(folder):
    a, hue, y, _ = two_classes()
    cells = ["unknown" if i % 20 == 3 else f"{x:.3f}" for i, x in enumerate(a)]
    rows = [f"{c},{h},{k}" for c, h, k in zip(cells, hue, y, strict=True)]
    (folder / "t.csv").write_text("age,hue,y\n" + "\n".join(rows) + "\n", encoding="utf-8")


def imbalance(folder):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal() + 3 * (i % 12 == 0):.3f},{'rare' if i % 12 == 0 else 'common'}" for i in range(120)]
    (folder / "t.csv").write_text("a,y\n" + "\n".join(rows) + "\n", encoding="utf-8")


def regression(folder):
    rng = np.random.default_rng(0)
    rows = [f"{rng.normal():.3f},{age}" for age in rng.integers(18, 90, size=300)]
    (folder / "t.csv").write_text("a,age\n" + "\n".join(rows) + "\n", encoding="utf-8")


def one_class(folder):
    (folder / "t.csv").write_text("a,y\n" + "".join(f"{i % 7},x\n" for i in range(40)), encoding="utf-8")


def duplicate_names(folder):
    (folder / "t.csv").write_text("a,a,y\n" + "".join(f"{i},{i % 3},{i % 2}\n" for i in range(40)), encoding="utf-8")


def latin_1(folder):
    a, _, y, _ = two_classes()
    rows = [f"{x:.3f},{'groß' if k == 'yes' else 'klein'}" for x, k in zip(a, y, strict=True)]
    (folder / "t.csv").write_bytes(("länge,größe\n" + "\n".join(rows) + "\n").encode("latin-1"))


def three_rows(folder):
    (folder / "t.csv").write_text("a,y\n1,u\n2,v\n3,u\n", encoding="utf-8")


def ten_thousand_columns(folder):
    rng = np.random.default_rng(0)
    y = np.arange(24) % 2
    X = rng.integers(0, 9, size=(24, 10_000))
    X[:, :2000] += 4 * y[:, None]
    names = ",".join(f"c{j}" for j in range(10_000))
    rows = [",".join(map(str, row)) + f",{k}" for row, k in zip(X, y, strict=True)]
    (folder / "t.csv").write_text(f"{names},y\n" + "\n".join(rows) + "\n", encoding="utf-8")


#: Table, exit code, what is said, and the least score of LinearSVC where there is one.
TABLES = [
    (decimal_comma, 0, ["decimal commas", "Take LinearSVC"], 94),
    (dates, 0, ["dates as numbers (year, month, weekday, days): day", "Take LinearSVC"], 90),
    (identifiers, 0, ["columns left out: id (row identifier), customer (60 different texts)", "Take LinearSVC"], 80),
    (free_text, 0, ["free text, its words hashed", "Take LinearSVC"], 90),
    (
        mixed_column,
        1,
        ["column 'age' holds numbers in 57 of 60 rows, and 'unknown' in the others", "--missing", "--categories"],
        None,
    ),
    (imbalance, 0, ["Balanced accuracy on t.csv", "Take LinearSVC: balanced accuracy"], 70),
    (one_class, 1, ["one class only"], None),
    (duplicate_names, 1, ["columns of the same name: a"], None),
    (latin_1, 0, ["read as cp1252", "Take LinearSVC"], 80),
    (three_rows, 1, ["class v has 1 row, and a comparison needs three rows of every class"], None),
    (ten_thousand_columns, 0, ["Take LinearSVC"], 90),
]


@pytest.mark.parametrize(("write", "code", "said", "least"), TABLES, ids=[row[0].__name__ for row in TABLES])
def test_a_strangers_table(tmp_path, monkeypatch, capsys, write, code, said, least):
    write(tmp_path)
    monkeypatch.chdir(tmp_path)
    options = FAST if code == 0 else []
    assert main(["compare", "t.csv", *options, "--json", "t.json"]) == code
    told = capsys.readouterr()
    for words in said:
        assert words in told.out + told.err
    if code:
        assert told.err.startswith("error: ")
        assert told.err.count("\n") == 1
    else:
        table = json.loads((tmp_path / "t.json").read_text(encoding="utf-8"))["table"]
        score = next(row for row in table if row["model"] == "linear-svc")
        assert score.get("accuracy", score.get("balanced_accuracy")) >= least


def test_a_quantity_is_no_label(tmp_path):
    regression(tmp_path)
    with pytest.raises(
        DataError, match=r"'age' holds 71 different numbers from 18 to 89.* a quantity, not a class label"
    ):
        read_table(tmp_path / "t.csv")


@pytest.mark.parametrize(("option", "told"), [("--missing", "age (3)"), ("--categories", "one-hot encoded: age, hue")])
def test_the_question_about_a_mixed_column_can_be_answered(tmp_path, monkeypatch, capsys, option, told):
    mixed_column(tmp_path)
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "t.csv", option, "unknown" if option == "--missing" else "age", *FAST]) == 0
    assert told in capsys.readouterr().out


def test_quick_and_small_classes_have_fewer_folds(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    short = ["--models", "dummy,svm", "--configurations", "3", "--jobs", "1", "--report", ""]
    latin_1(tmp_path)
    assert main(["compare", "t.csv", "--quick", *short]) == 0
    assert "stratified 3-fold cross-validation, the same" in capsys.readouterr().out
    (tmp_path / "u.csv").write_text(
        "a,y\n" + "".join(f"{i % 9},{'u' if i < 4 else 'v'}\n" for i in range(30)), encoding="utf-8"
    )
    assert main(["compare", "u.csv", *short]) == 0
    assert "class u has 4 rows: 4 outer and 3 inner folds, not 5 and 5" in capsys.readouterr().out


def test_features_that_say_nothing_do_not_beat_the_dummy(tmp_path, monkeypatch, capsys):
    rng = np.random.default_rng(3)
    rows = [f"{rng.normal():.3f},{rng.normal():.3f},{'u' if i % 3 else 'v'}" for i in range(90)]
    (tmp_path / "t.csv").write_text("a,b,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    monkeypatch.chdir(tmp_path)
    assert main(["compare", "t.csv", *FAST, "--save", "m.skops"]) == 1  # a file was asked for, and is not there
    said = capsys.readouterr()
    assert "None beats the dummy" in said.out
    assert "m.skops was not written" in said.err
    assert not (tmp_path / "m.skops").exists()


def test_a_table_is_cut_so_that_every_model_finishes(tmp_path, monkeypatch, capsys):
    """Thirty splits of a forest take several seconds of the processor: the table is cut, and the reason said."""
    monkeypatch.chdir(tmp_path)
    a, hue, y, _ = two_classes(700)
    rows = [f"{x:.3f},{h},{k}" for x, h, k in zip(a, hue, y, strict=True)]
    (tmp_path / "t.csv").write_text("a,hue,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    options = [
        "--models",
        "dummy,random-forest",
        "--runs",
        "10",
        "--folds",
        "3",
        "--inner-folds",
        "2",
        "--configurations",
        "1",
    ]
    assert main(["compare", "t.csv", *options, "--jobs", "1", "--report", "", "--budget", "0.9"]) == 1
    told = capsys.readouterr().out
    assert "a stratified sample of 500 of 700 rows, to fit into 0.9 s for each model" in told
    assert "Take" not in told


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (["--groups", "patient"], "keep the rows of a group together"),
        (["--time-order", "day"], "learns from all earlier rows"),
    ],
)
def test_splits_by_groups_and_by_time(tmp_path, monkeypatch, capsys, options, note):
    monkeypatch.chdir(tmp_path)
    a, hue, y, _ = two_classes(90)
    rows = [f"P{i % 20},2021-{i % 12 + 1:02d}-{i % 28 + 1:02d},{a[i]:.3f},{hue[i]},{y[i]}" for i in range(90)]
    (tmp_path / "t.csv").write_text("patient,day,a,hue,y\n" + "\n".join(rows) + "\n", encoding="utf-8")
    assert main(["compare", "t.csv", *options, *FAST, "--metric", "f1", "--save", "m.skops"]) == 0
    told = capsys.readouterr().out
    assert note in told
    assert "Take LinearSVC: F1 (mean over classes)" in told
