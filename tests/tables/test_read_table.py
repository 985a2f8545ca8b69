"""A user's file: what is read, what is told, and what is refused."""

import gzip
import sys

import numpy as np
import pytest
from sklearn.datasets import dump_svmlight_file

from radiusmargin.tables import DataError, MissingDependencyError, read_table

pd = pytest.importorskip("pandas")

CSV = "size,hue,kind\n1,red,ball\n2,blue,ball\n9,green,cube\n8,red,cube\n"


def numbers(task):
    """All rows, encoded by what all rows say."""
    every = np.arange(task.n_samples)
    return task.encoded(every, every)[0]


@pytest.fixture
def write(tmp_path):
    """Write a text or bytes file and return its path."""

    def write(name, content):
        path = tmp_path / name
        path.write_bytes(content if isinstance(content, bytes) else content.encode())
        return path

    return write


def test_csv_with_categories(write):
    task = read_table(write("toys.csv", CSV))
    assert task.name == "toys.csv"
    assert task.feature_names == ("size", "hue")
    np.testing.assert_array_equal(numbers(task), [[1, 0, 0, 1], [2, 1, 0, 0], [9, 0, 1, 0], [8, 0, 0, 1]])
    assert task.y.tolist() == ["ball", "ball", "cube", "cube"]
    assert "the last one, 'kind', is the target" in task.note
    assert "one-hot encoded: hue" in task.note
    assert task.splits is None


@pytest.mark.parametrize("name", ["toys.csv.gz", "TOYS.CSV.gz"])
def test_gzipped_csv_is_the_same(write, name):
    task = read_table(write(name, gzip.compress(CSV.encode())))
    np.testing.assert_array_equal(numbers(task), numbers(read_table(write("toys.csv", CSV))))


@pytest.mark.parametrize(
    ("name", "separator", "told"),
    [("t.csv", ";", "semicolons"), ("t.csv", "\t", "tabs"), ("t.tsv", "\t", "")],
)
def test_other_separators(write, name, separator, told):
    task = read_table(write(name, CSV.replace(",", separator)))
    assert numbers(task).shape == (4, 4)
    assert told in task.note


def test_byte_order_mark_is_not_part_of_the_name(write):
    assert read_table(write("t.csv", b"\xef\xbb\xbf" + CSV.encode())).feature_names[0] == "size"


@pytest.mark.parametrize(("encoding", "told"), [("latin-1", "cp1252"), ("utf-16", "utf-16"), ("utf-8", "")])
def test_encodings(write, encoding, told):
    task = read_table(write("t.csv", "größe,kind\n1,Müller\n2,Mayer\n".encode(encoding)))
    assert task.y.tolist() == ["Müller", "Mayer"]
    assert task.feature_names == ("größe",)
    assert told in task.note


def test_decimal_commas_with_semicolons(write):
    task = read_table(write("t.csv", "a;b;y\n1,5;1.234,5;u\n-2,25;12,0;v\n3;7;u\n"))
    np.testing.assert_array_equal(numbers(task), [[1.5, 1234.5], [-2.25, 12], [3, 7]])
    assert "decimal commas" in task.note
    assert "thousands separators removed: b" in task.note


@pytest.mark.parametrize(
    ("content", "values"),
    [
        ('a,y\n"1,234",u\n"12,000",v\n"5",u\n', [1234, 12000, 5]),
        ('a;y\n1.5;u\n"2.25";v\n3;u\n', [1.5, 2.25, 3]),
        ("a\ty\n1,5\tu\n2\tv\n", [1.5, 2]),
        ("a|y\n1|u\n2|v\n", [1, 2]),
        ("a;y\n1'000,5;u\n2,5;v\n", [1000.5, 2.5]),
        ("a, b;y\n1;u\n2;v\n", [1, 2]),
    ],
)
def test_numbers_as_people_write_them(write, content, values):
    assert numbers(read_table(write("t.csv", content))).ravel().tolist() == values


def test_a_table_without_a_header(write):
    task = read_table(write("t.csv", "1,2,0\n3,4,1\n5,7,0\n"))
    assert task.X.shape == (3, 2)
    assert "no header line" in task.note


def test_missing_values_are_filled_and_told(write):
    content = "a,b,target\n1,x,0\n?,y,1\n3,NA,0\n8,y,1\n,y,0\n4,x,\n"
    task = read_table(write("t.csv", content))
    # median of 1, 3, 8 is 3; a gap in b is a category beside x and y; the row without a label is gone
    expected = [[1, 0, 1, 0], [3, 0, 0, 1], [3, 1, 0, 0], [8, 0, 0, 1], [3, 0, 0, 1]]
    np.testing.assert_array_equal(numbers(task), expected)
    assert task.y.tolist() == [0, 1, 0, 1, 0]
    assert "median of the training rows: a (2)" in task.note
    assert "encoded as a category: b (1)" in task.note
    assert "rows without a label left out: 1" in task.note


def test_none_is_a_category_not_a_gap(write):
    task = read_table(write("t.csv", "a,y\nNone,0\nsome,1\nNone,1\n"))
    np.testing.assert_array_equal(numbers(task), [[1, 0], [0, 1], [1, 0]])
    assert "missing" not in task.note


@pytest.mark.parametrize("target", ["hue", 1, -2, "1"])
def test_target_by_name_or_position(write, target):
    task = read_table(write("toys.csv", CSV), target)
    assert task.y.tolist() == ["red", "blue", "green", "red"]
    assert task.feature_names == ("size", "kind")
    assert "is the target" not in task.note


@pytest.mark.parametrize("name", ["Target", "CLASS", "label", "y"])
def test_target_by_its_usual_names(write, name):
    task = read_table(write("t.csv", f"{name},a\n0,1\n1,2\n0,3\n"))
    assert task.y.tolist() == [0, 1, 0]
    assert task.note == ""


def test_identifiers_and_empty_columns_are_left_out_and_told(write):
    rows = "".join(f"id{i},{i % 5},,{i % 2}\n" for i in range(40))
    task = read_table(write("t.csv", "id,a,empty,y\n" + rows))
    assert task.feature_names == ("a",)
    assert "columns left out: id (40 different texts), empty (empty)" in task.note


def test_whole_numbers_beyond_64_bits_are_numbers(write):
    task = read_table(write("t.csv", f"a,y\n{10**25},p\n-{10**22},q\n,q\n7,p\n"))
    assert numbers(task).ravel().tolist() == [1e25, -1e22, 7.0, 7.0]


def test_booleans_are_numbers(write):
    task = read_table(write("t.csv", "a,y\nTrue,p\nFalse,q\nTrue,q\n"))
    assert numbers(task).ravel().tolist() == [1, 0, 1]


def test_constant_columns_are_kept_and_told(write):
    task = read_table(write("t.csv", "a,b,y\n1,5,0\n2,5,1\n"))
    assert task.X.shape == (2, 2)
    assert "constant, kept: b" in task.note


def test_fractional_labels_become_text(write):
    assert read_table(write("t.csv", "a,y\n1,0.5\n2,1.5\n")).y.tolist() == ["0.5", "1.5"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("", "is empty"),
        ("\n\n", "is empty"),
        ("a,b,y\n", "header line but no rows"),
        ("a,a,y\n1,2,0\n", "columns of the same name: a"),
        ("a,y\n1,0\n2,0\n", "one class only"),
        ("a,y\n1,\n2,\n", "no labels"),
        ("a,b,y\n1,5,0\n1,5,1\n", "all 2 features are constant"),
        ("y\nu\nv\n", "no feature columns"),
        ("a,y\ninf,0\n2,1\n", "infinite values in a"),
        ("a,y\n" + "".join(f"{i},{i / 7}\n" for i in range(30)), "30 different values in 30 rows"),
        ("a,y\n" + "".join(f"{i},{i}\n" for i in range(30)), "30 different values in 30 rows"),
        ("a,y\n1,0,7\n2,1,7\n", "cannot be read"),
        ("a,y\n1,0\n2,1,7,8\n", "cannot be read"),
        ("a,y\n1,0\n2,1\n".encode("utf-16-le"), "not a text file: it holds zero bytes"),
    ],
)
def test_bad_csv_is_refused_in_a_sentence(write, content, message):
    with pytest.raises(DataError, match=message):
        read_table(write("t.csv", content))


def test_no_such_target_lists_the_columns(write):
    for target in ("price", 7):
        with pytest.raises(DataError, match=f"no column {target!r}; the columns are size, hue, kind"):
            read_table(write("toys.csv", CSV), target)


@pytest.mark.parametrize("suffix", ["csv", "tsv", "arff", "npz", "svm", "libsvm", "parquet", "csv.gz"])
def test_missing_file(tmp_path, suffix):
    with pytest.raises(DataError, match="there is no file"):
        read_table(tmp_path / f"absent.{suffix}")


def test_unknown_kind_and_folder(tmp_path, write):
    with pytest.raises(DataError, match=r"unknown file format '.xyz'; known are .csv"):
        read_table(write("t.xyz", "a"))
    with pytest.raises(DataError, match="is a folder"):
        read_table(tmp_path)


def test_broken_gzip(write):
    with pytest.raises(DataError, match="cannot be read"):
        read_table(write("t.csv.gz", gzip.compress(CSV.encode())[:-12]))
    with pytest.raises(DataError, match="cannot be read"):
        read_table(write("t.csv.gz", CSV))


ARFF = """@relation toys
@attribute size numeric
@attribute hue {red, green, blue}
@attribute class {ball, cube}
@data
1,red,ball
?,green,ball
9,?,cube
8,red,cube
"""


@pytest.mark.parametrize("compress", [False, True])
def test_arff(write, compress):
    content = gzip.compress(ARFF.encode()) if compress else ARFF
    task = read_table(write("t.arff.gz" if compress else "t.arff", content))
    # a gap, green and red: blue is declared, but never occurs
    np.testing.assert_array_equal(numbers(task), [[1, 0, 0, 1], [8, 0, 1, 0], [9, 1, 0, 0], [8, 0, 0, 1]])
    assert task.y.tolist() == ["ball", "ball", "cube", "cube"]
    assert "median of the training rows: size (1)" in task.note
    assert "encoded as a category: hue (1)" in task.note


@pytest.mark.parametrize("content", ["", "hello\n", ARFF.replace("numeric", "string"), ARFF.split("1,red")[0]])
def test_bad_arff(write, content):
    with pytest.raises(DataError, match=r"t\.arff"):
        read_table(write("t.arff", content))


@pytest.mark.parametrize("suffix", ["svm", "libsvm", "svm.gz"])
def test_libsvm(tmp_path, suffix):
    X, y = np.array([[0, 1.5], [2, 0], [0, 3]]), np.array([1, -1, 1])
    path = tmp_path / f"t.{suffix}"
    with gzip.open(path, "wb") if suffix.endswith("gz") else open(path, "wb") as stream:
        dump_svmlight_file(X, y, stream, zero_based=False)
    task = read_table(path)
    np.testing.assert_array_equal(task.X.toarray(), X)
    assert task.y.tolist() == [1, -1, 1]
    with pytest.raises(DataError, match="leave out the target"):
        read_table(path, "y")


@pytest.mark.parametrize(
    ("content", "message"), [("", "empty"), ("1 a:b\n", "cannot be read"), ("1 1:2\n1 1:3\n", "one cl")]
)
def test_bad_libsvm(write, content, message):
    with pytest.raises(DataError, match=message):
        read_table(write("t.svm", content))


def test_npz_with_separate_arrays(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, X=[[1, np.nan], [2, 5], [4, 7]], y=["a", "b", "a"], w=[0, 1, 1], feature_names=["u", "v"])
    task = read_table(path)
    np.testing.assert_array_equal(numbers(task), [[1, 6], [2, 5], [4, 7]])
    assert task.feature_names == ("u", "v")
    assert task.y.tolist() == ["a", "b", "a"]
    assert "median of the training rows: v" in task.note
    assert read_table(path, "w").y.tolist() == [0, 1, 1]
    with pytest.raises(DataError, match="no array 'z' of labels; it has X, y, w"):
        read_table(path, "z")


def test_npz_with_one_matrix(tmp_path):
    path = tmp_path / "t.npz"
    np.savez(path, [[0, 1.0, 9.0], [1, 2.0, 8.0], [0, 4.0, 8.0]])
    assert read_table(path).y.tolist() == [9, 8, 8]
    task = read_table(path, 0)
    assert task.y.tolist() == [0, 1, 0]
    assert task.X.shape == (3, 2)


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"A": [1], "B": [2]}, "needs arrays X and y; it has A, B"),
        ({"X": [[1], [2]], "y": [0]}, "do not match"),
        ({"X": [[1], [2]]}, "has no array y"),
        ({"X": [["a"], ["b"]], "y": [0, 1]}, "not numbers"),
        ({"X": [[1], [2]], "y": [0, np.nan]}, "missing or infinite"),
        ({"X": [[1], [2]], "y": [0, 1], "feature_names": ["u", "v"]}, r"feature_names of shape \(2,\) for 1"),
        ({"X": np.array([[1, None]], dtype=object), "y": [0]}, "cannot be read"),
    ],
)
def test_bad_npz(tmp_path, arrays, message):
    np.savez(tmp_path / "t.npz", **arrays)
    with pytest.raises(DataError, match=message):
        read_table(tmp_path / "t.npz")


def test_npz_that_is_none(write):
    with pytest.raises(DataError, match="cannot be read"):
        read_table(write("t.npz", "hello"))


def test_parquet_frame_is_encoded(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    frame = pd.DataFrame(
        {
            "size": pd.array([1, None, 9], dtype="Int64"),
            "hue": pd.Categorical(["red", "blue", "red"]),
            "class": pd.array([True, False, True]),
        }
    )
    frame.to_parquet(tmp_path / "t.parquet")
    task = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(numbers(task), [[1, 0, 1], [5, 1, 0], [9, 0, 1]])
    assert task.y.tolist() == [1, 0, 1]


def test_parquet_dates_are_numbers(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    frame = pd.DataFrame({"when": pd.to_datetime(["1970-01-01", "1971-02-02", None]), "y": [0, 1, 0]})
    frame.to_parquet(tmp_path / "t.parquet")
    task = read_table(tmp_path / "t.parquet")
    np.testing.assert_array_equal(numbers(task)[:2], [[1970, 1, 3, 0], [1971, 2, 1, 397]])


def test_parquet_round_trip(tmp_path):
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow")
    frame = pd.DataFrame({"a": [1.0, 2.0, 3.0], "y": ["p", "q", "p"]})
    frame.to_parquet(tmp_path / "t.parquet")
    assert numbers(read_table(tmp_path / "t.parquet")).ravel().tolist() == [1, 2, 3]


def test_parquet_without_pyarrow_names_it(monkeypatch, write):
    monkeypatch.setitem(sys.modules, "pyarrow", None)
    with pytest.raises(MissingDependencyError, match="pip install pyarrow"):
        read_table(write("t.parquet", "stand-in"))


def test_without_pandas_the_error_names_the_extra(monkeypatch, write):
    monkeypatch.setitem(sys.modules, "pandas", None)
    with pytest.raises(ImportError, match=r"pip install '\.\[experiments\]'"):
        read_table(write("toys.csv", CSV))


def test_libsvm_and_npz_need_no_pandas(monkeypatch, write, tmp_path):
    monkeypatch.setitem(sys.modules, "pandas", None)
    np.savez(tmp_path / "t.npz", X=[[1], [2]], y=[0, 1])
    assert read_table(tmp_path / "t.npz").n_samples == 2
    assert read_table(write("t.svm", "1 1:2\n-1 1:3\n")).n_classes == 2
