"""Files that were cut off, damaged, or made to harm: a task or one sentence, and never anything else."""

import contextlib
import gzip
import io
import zipfile

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from radiusmargin.app.cli import main
from radiusmargin.paper import workflow
from radiusmargin.tables import DataError, TaskData, delimited, files, read_table

pandas = pytest.importorskip("pandas")

ARFF = "@relation t\n@attribute a numeric\n@attribute 'b c' {u,v}\n@attribute class {x,y}\n@data\n"


def npz(**arrays):
    stream = io.BytesIO()
    np.savez(stream, **arrays)
    return stream.getvalue()


def zipped(members, method=zipfile.ZIP_DEFLATED):
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", method) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    return stream.getvalue()


def announced(shape):
    """A .npy file whose header promises more than follows."""
    stream = io.BytesIO()
    np.lib.format.write_array_header_1_0(stream, {"descr": "<f8", "fortran_order": False, "shape": shape})
    return stream.getvalue()


X, y = np.arange(24.0).reshape(8, 3) % 5, np.arange(8) % 2
GOOD = npz(X=X, y=y)
DAMAGED = bytearray(GOOD)
DAMAGED[200] ^= 255

BAD = {
    "cut.npz": (GOOD[: len(GOOD) // 2], "not a zip file"),
    "damaged.npz": (bytes(DAMAGED), "Bad CRC-32"),
    "no_arrays.npz": (zipped({"letter.txt": "dear all"}), "is a zip file but not an .npz archive: it holds letter.txt"),
    "names_0d.npz": (npz(X=X, y=y, feature_names=np.array("a")), r"feature_names of shape \(\) for 3 features"),
    "labels_0d.npz": (npz(X=X, y=np.array(1)), "do not match"),
    "promised.npz": (zipped({"X.npy": announced((10**14, 3)), "y.npy": announced((8,))}), "cannot be read"),
    "records.npz": (npz(X=X, y=np.zeros(8, dtype="i4,f8")), "not labels"),
    "short.arff": (ARFF + "1,u,x\n2\n3,v,y\n", "fewer values than attributes"),
    "long.arff": (ARFF + "1,u,x\n2,v,y,7\n3,v,y\n", "more values in line 7 than its 3 attributes"),
    "wide.svm": ("1 2000000000:1\n-1 1:2\n", "a column index of 2,000,000,000"),
    "wider.svm": ("1 9000000000:1\n-1 1:2\n", "cannot be read"),
    "widest.svm": (f"1 {10**30}:1\n-1 1:2\n", "cannot be read"),
}


@pytest.mark.parametrize("name", BAD)
def test_a_bad_file_is_refused_in_a_sentence(tmp_path, monkeypatch, capsys, name):
    content, message = BAD[name]
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match=message) as caught:
        read_table(tmp_path / name)
    assert "\n" not in str(caught.value)
    monkeypatch.chdir(tmp_path)
    assert main(["compare", name]) == 1
    assert capsys.readouterr().err.startswith("error: ")
    assert not (tmp_path / "report.html").exists()


@pytest.mark.parametrize("name", ["bomb.npz", "bomb.csv.gz", "bomb.svm.gz", "bomb.arff.gz"])
def test_what_unpacks_to_far_more_than_its_size_is_not_unpacked(tmp_path, monkeypatch, name):
    monkeypatch.setattr(files, "MOST_UNPACKED", 2**20)
    text = b"1 1:2\n" * 10**6 if ".svm" in name else b"a,y\n" + b"1,0\n" * 10**6
    content = zipped({"X.npy": bytes(2**22), "y.npy": b""}) if name.endswith("npz") else gzip.compress(text)
    (tmp_path / name).write_bytes(content)
    with pytest.raises(DataError, match="over 100 times its size"):
        read_table(tmp_path / name)


def test_a_large_file_that_is_no_bomb_is_read(tmp_path, monkeypatch):
    monkeypatch.setattr(files, "MOST_UNPACKED", 100)
    np.savez(tmp_path / "t.npz", X=np.random.default_rng(0).normal(size=(50, 3)), y=np.arange(50) % 2)
    assert read_table(tmp_path / "t.npz").n_samples == 50


def test_a_header_field_of_any_length_is_a_name(tmp_path):
    (tmp_path / "t.csv").write_text("a" * 200_000 + ",y\n1,0\n2,1\n", encoding="utf-8")
    assert read_table(tmp_path / "t.csv").feature_names == ("a" * 200_000,)


WIDE = 300_000


@pytest.mark.parametrize(
    ("name", "make"),
    [
        ("t.csv", lambda: ",".join(f"c{j}" for j in range(WIDE)) + "\n" + ",".join("1" * WIDE) + "\n"),
        ("t.npz", lambda: npz(X=np.zeros((2, WIDE)), y=[0, 1])),
        ("t.arff", lambda: "@relation t\n" + "".join(f"@attribute c{j} numeric\n" for j in range(WIDE)) + "@data\n"),
    ],
)
def test_a_table_of_very_many_columns_is_refused(tmp_path, name, make):
    content = make()
    (tmp_path / name).write_bytes(content if isinstance(content, bytes) else content.encode())
    with pytest.raises(DataError, match="has 300,000 columns, more than the limit of 100,000"):
        read_table(tmp_path / name)


def test_a_name_of_many_megabytes_is_refused_and_a_long_one_is_cut_in_messages(tmp_path):
    (tmp_path / "t.csv").write_text("a" * 50_000_000 + ",y\n1,0\n2,1\n", encoding="utf-8")
    with pytest.raises(DataError, match="a column name of 50,000,000 characters"):
        read_table(tmp_path / "t.csv")
    (tmp_path / "u.csv").write_text("a" * 200_000 + ",b,y\n1,1,0\n1,2,1\n", encoding="utf-8")
    assert len(read_table(tmp_path / "u.csv").note) < 1000


NESTED = {"list": [[1, 2], [3]], "record": [{"a": 1}, {"a": 2}], "array": [[[1.0]], None]}


@pytest.mark.parametrize("kind", NESTED)
def test_parquet_columns_of_lists_are_left_out(tmp_path, kind):
    pytest.importorskip("pyarrow")
    table = pandas.DataFrame({"a": np.arange(8.0), "odd": NESTED[kind] * 4, "y": y})
    table.to_parquet(tmp_path / "t.parquet")
    task = read_table(tmp_path / "t.parquet")
    assert task.feature_names == ("a",)
    assert task.note == "columns left out: odd (lists or records)"


def test_parquet_columns_of_bytes_are_text(tmp_path):
    pytest.importorskip("pyarrow")
    pandas.DataFrame({"a": [b"u", b"v\xff"] * 4, "y": [b"\xff", b"no"] * 4}).to_parquet(tmp_path / "t.parquet")
    task = read_table(tmp_path / "t.parquet")
    assert set(task.y) == {"\\xff", "no"}
    assert task.encoded(np.arange(8), np.arange(2))[1].tolist() == [[1.0, 0.0], [0.0, 1.0]]


@pytest.mark.parametrize(
    ("content", "message"),
    [(b"a = " + b"[" * 20_000, "nested too deeply"), (b"name = '\xff'", "is not UTF-8 text")],
)
def test_a_bad_specification_is_refused_in_a_sentence(tmp_path, capsys, content, message):
    (tmp_path / "t.toml").write_bytes(content)
    assert main(["reproduce", str(tmp_path / "t.toml"), "--out", str(tmp_path)]) == 1
    error = capsys.readouterr().err
    assert error.startswith("error: ")
    assert message in error


@pytest.mark.parametrize("call", [["--kernel", "rbf", "--model", "svm"], ["--model", "logistic"]])
def test_models_that_standardise_are_fitted_on_a_sparse_file(tmp_path, monkeypatch, capsys, call):
    pytest.importorskip("skops")
    (tmp_path / "t.svm").write_bytes(svmlight())
    fit = ["fit", str(tmp_path / "t.svm"), "-o", str(tmp_path / "m.skops"), "--inner-folds", "2", *call]
    assert main(fit) == 0
    assert main(["predict", str(tmp_path / "m.skops"), str(tmp_path / "t.svm")]) == 0
    monkeypatch.setattr(workflow, "DENSE_LIMIT", 20)
    assert main(fit) == 1
    assert "dense, as a comparison and models that standardise need it, it would hold 24" in capsys.readouterr().err


def test_names_are_compared_once_and_not_each_with_each(tmp_path):
    """20,000 columns took 23 s when every name was counted in the list of all."""

    class Name(str):
        n_compared = 0

        __hash__ = str.__hash__

        def __eq__(self, other):
            Name.n_compared += 1
            return str.__eq__(self, other)

    delimited.require_unique([Name(f"c{j}") for j in range(20_000)], "t.csv")
    assert Name.n_compared < 20_000


def test_large_labels_stay_apart(tmp_path):
    (tmp_path / "t.csv").write_text("a,y\n1,1e20\n2,2e20\n3,1e20\n", encoding="utf-8")
    assert read_table(tmp_path / "t.csv").n_classes == 2
    (tmp_path / "u.csv").write_text("a,y\n1,0.12345671\n2,0.12345672\n3,0.12345671\n", encoding="utf-8")
    assert read_table(tmp_path / "u.csv").n_classes == 2


def svmlight():
    stream = io.BytesIO()
    dump_svmlight_file(X, y, stream, zero_based=False)
    return stream.getvalue()


SEEDS = {
    "t.csv": b"size;hue,when;kind\n1,5;red;2020-01-01;a\n2;'blue';;b\n3;red;2020-02-30;a\n",
    "t.csv.gz": gzip.compress(b"a,b,y\n1,x,0\n2,y,1\n?,x,0\n"),
    "t.tsv": b"a\tb\ty\n1\tx\t0\n2\ty\t1\n",
    "t.arff": (ARFF + "1,u,x\n2,v,y\n?,?,y\n").encode(),
    "t.svm": svmlight(),
    "t.npz": GOOD,
    "packed.npz": zipped({"X.npy": announced((2, 1)) + bytes(16), "y.npy": announced((2,)) + bytes(16)}),
}


def mutants(content, n, rng):
    """The content cut off, with bytes changed, a piece repeated, or text of another kind put in."""
    pieces = [b"\x00", b"\xff\xfe", b'"', b",,,,", b"\n\n", b"nan", b"1e999", b"9" * 40, b"@data\n", b"{", b"\r"]
    for _ in range(n):
        mutant = bytearray(content)
        for _ in range(rng.integers(1, 4)):
            at, kind = int(rng.integers(len(mutant) + 1)), rng.integers(4)
            if kind == 0:
                del mutant[at:]
            elif kind == 1 and at < len(mutant):
                mutant[at] = rng.integers(256)
            elif kind == 2:
                mutant[at:at] = mutant[max(0, at - int(rng.integers(1, 30))) : at]
            else:
                mutant[at:at] = pieces[rng.integers(len(pieces))]
        yield bytes(mutant)


@pytest.mark.parametrize("name", SEEDS)
@pytest.mark.filterwarnings("default")
def test_damaged_files_give_a_task_or_a_sentence(tmp_path, name):
    rng = np.random.default_rng(0)
    path = tmp_path / name
    for content in mutants(SEEDS[name], 150, rng):
        path.write_bytes(content)
        with contextlib.suppress(DataError):
            assert isinstance(read_table(path), TaskData)
