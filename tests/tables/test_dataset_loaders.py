"""Search, checksums and formats, on a small data folder made for the test; OpenML is replaced."""

import gzip
from types import SimpleNamespace
from urllib.error import URLError

import numpy as np
import pytest

from radiusmargin.paper.data import available, load, loaders, registry
from radiusmargin.paper.data.describe import describe_folder, main, to_json
from radiusmargin.paper.data.readers import LARGE_FILES
from radiusmargin.tables import DataError
from radiusmargin.tables.formats import read_idx

pd = pytest.importorskip("pandas")


def idx(array):
    array = np.asarray(array, dtype=np.uint8)
    header = bytes([0, 0, 8, array.ndim]) + np.array(array.shape, dtype=">u4").tobytes()
    return gzip.compress(header + array.tobytes())


FLARE = "zurich,area,C,M,X\n" + "A,1,0,0,0\nB,2,2,0,0\nA,2,1,1,0\nB,1,0,0,1\nA,3,0,0,0\n"
GERMAN = "purpose,amount,target\ncar,1,good\n?,5,bad\nhouse,?,good\ncar,7,bad\nfood,2,good\n"


@pytest.fixture
def folder(tmp_path, monkeypatch):
    """A data folder with one small set of each kind, and a registry that describes it."""
    monkeypatch.delenv("RADIUSMARGIN_DATA", raising=False)
    monkeypatch.setattr(loaders, "BUNDLED", tmp_path / "nothing comes with the package")
    for group in ("ida", "uci", "uci_zscored", "large"):
        (tmp_path / group).mkdir()
    X, y = np.arange(12.0).reshape(6, 2), np.array([-1, 1] * 3, dtype=np.int8)
    train, test = (
        np.array([[0, 1, 2, 3], [2, 3, 4, 5]], dtype=np.int32),
        np.array([[4, 5], [0, 1]], dtype=np.int32),
    )
    np.savez(tmp_path / "ida/heart.npz", X=X, y=y, train=train, test=test, status="two real splits")
    np.savez(tmp_path / "uci_zscored/zoo.npz", X=X, y=[0, 1, 2, 0, 1, 2])
    (tmp_path / "uci/german.csv.gz").write_bytes(gzip.compress(GERMAN.encode()))
    (tmp_path / "uci/solar_flare.csv.gz").write_bytes(gzip.compress(FLARE.encode()))
    # feature 123 counted from 0 in the training file, from 1 in the test file, as in the real ones
    (tmp_path / "large/a9a.svm.gz").write_bytes(gzip.compress(b"-1 qid:0 0:1 122:1\n+1 qid:1 1:1\n"))
    (tmp_path / "large/a9a.t.svm.gz").write_bytes(gzip.compress(b"+1 1:1 123:1\n"))
    (tmp_path / "large/w8a.svm.gz").write_bytes(gzip.compress(b"-1 1:1 300:1\n+1 2:1\n"))
    images, labels = np.arange(20).reshape(5, 2, 2), np.array([7, 2, 7, 2, 2])
    for name, array in zip(LARGE_FILES["mnist"], (images[:3], labels[:3], images[3:], labels[3:]), strict=True):
        (tmp_path / "large" / name).write_bytes(idx(array))
    document = describe_folder(tmp_path)
    table = {entry["name"]: registry._dataset(entry, document["groups"]) for entry in document["datasets"]}
    monkeypatch.setattr(registry, "_table", lambda: table)
    return tmp_path


def test_describing_a_folder_finds_every_layout(folder):
    entries = {entry["name"]: entry for entry in describe_folder(folder)["datasets"] if "files" in entry}
    sizes = {name: (entry["n_samples"], entry["n_features"], entry["n_classes"]) for name, entry in entries.items()}
    assert sizes == {
        "ida/heart": (6, 2, 2),
        "uci/german": (5, 4, 2),
        "uci/solar_flare": (5, 2, 3),
        "uci_zscored/zoo": (6, 2, 3),
        "large/a9a": (3, 123, 2),
        "large/w8a": (2, 300, 2),
        "large/mnist": (5, 4, 2),
    }
    assert entries["uci/german"]["openml_id"] == 31  # kept by hand, taken over
    assert list(entries["large/mnist"]["files"]) == [f"large/{name}" for name in LARGE_FILES["mnist"]]
    (folder / "large/a9a.t.svm.gz").unlink()
    assert "large/a9a" not in {entry["name"] for entry in describe_folder(folder)["datasets"]}


def test_the_committed_registry_is_in_the_form_the_script_writes():
    from importlib import resources

    text = resources.files("radiusmargin.paper.data").joinpath("registry.json").read_text(encoding="utf-8")
    assert text == to_json(registry.read_registry())


def test_describe_without_a_folder_says_how_to_use_it(capsys, tmp_path):
    assert main([]) == main([str(tmp_path / "absent")]) == 2
    assert "usage" in capsys.readouterr().err


def test_ida_has_its_official_splits(folder):
    task = load("ida/heart", data_home=folder)
    assert task.y.tolist() == [-1, 1] * 3
    assert [(train.tolist(), test.tolist()) for train, test in task.splits] == [
        ([0, 1, 2, 3], [4, 5]),
        ([2, 3, 4, 5], [0, 1]),
    ]
    assert "two real splits" in task.note


def test_the_environment_names_the_folder_and_the_argument_wins(folder, monkeypatch, tmp_path):
    monkeypatch.setenv("RADIUSMARGIN_DATA", str(folder))
    assert load("uci_zscored/zoo").n_classes == 3
    with pytest.raises(DataError, match="elsewhere"):
        load("uci_zscored/zoo", data_home=tmp_path / "elsewhere")


def test_uci_is_encoded_and_filled(folder):
    task = load("uci/german", data_home=str(folder))
    assert task.feature_names == ("purpose=car", "purpose=food", "purpose=house", "amount")
    assert task.X[1].tolist() == [1, 0, 0, 5]
    assert task.X[2].tolist() == [0, 0, 1, 3.5]
    assert "most frequent: purpose (1)" in task.note
    assert "median: amount (1)" in task.note


def test_solar_flare_is_labelled_by_the_strongest_flare(folder):
    task = load("uci/solar_flare", data_home=folder)
    assert task.y.tolist() == ["none", "C", "M or X", "M or X", "none"]
    assert task.feature_names == ("zurich=B", "area")  # the counts are the outcome
    assert "strongest flare" in task.note


def test_a9a_aligns_its_two_files(folder):
    task = load("large/a9a", data_home=folder)
    assert task.X.toarray()[:, [0, 1, 122]].tolist() == [[1, 0, 1], [0, 1, 0], [1, 0, 1]]
    assert task.y.tolist() == [-1, 1, 1]
    (train, test), *rest = task.splits
    assert (train.tolist(), test.tolist(), rest) == ([0, 1], [2], [])


def test_w8a_counts_from_one(folder):
    assert load("large/w8a", data_home=folder).X.toarray()[:, [0, 1, 299]].tolist() == [[1, 0, 1], [0, 1, 0]]


def test_mnist(folder):
    task = load("large/mnist", data_home=folder)
    np.testing.assert_array_equal(task.X, np.arange(20).reshape(5, 4))
    assert task.X.dtype == np.float32
    assert task.y.tolist() == [7, 2, 7, 2, 2]
    assert task.splits[0][1].tolist() == [3, 4]


@pytest.mark.parametrize(
    "content", [b"", b"\0\0\x08", b"hello", b"\0\0\x08\x01\0\0\0\x05abc", b"\0\0\x0d\x01\0\0\0\x01abcd"]
)
def test_a_bad_idx_file_is_refused(tmp_path, content):
    (tmp_path / "bad").write_bytes(content)
    with pytest.raises(DataError, match="bad"):
        read_idx(tmp_path / "bad")


def test_a_changed_file_is_refused_with_both_checksums(folder):
    path = folder / "uci/german.csv.gz"
    expected = registry.get_dataset("uci/german").sha256
    path.write_bytes(gzip.compress(GERMAN.replace("car", "bus").encode()))
    with pytest.raises(DataError, match=f"expected SHA-256 {expected}, got [0-9a-f]{{64}}") as caught:
        load("uci/german", data_home=folder)
    assert str(path) in str(caught.value)


def test_a_missing_file_lists_the_places_and_the_remedy(folder):
    (folder / "ida/heart.npz").unlink()
    with pytest.raises(DataError) as caught:
        load("ida/heart", data_home=folder)
    message = str(caught.value)
    assert f"{folder / 'ida/heart.npz'}: no such file" in message
    assert "OpenML: no id is known" in message
    assert "Set RADIUSMARGIN_DATA" in message
    with pytest.raises(DataError, match="RADIUSMARGIN_DATA is not set"):
        load("ida/heart")


def test_available_tells_the_five_states(folder):
    (folder / "ida/heart.npz").unlink()
    (folder / "uci/german.csv.gz").unlink()
    (folder / "uci_zscored/zoo.npz").write_bytes(b"other")
    (folder / "large/a9a.t.svm.gz").unlink()
    rows = {row.dataset.name: row for row in available(folder)}
    status = {name: row.status for name, row in rows.items()}
    assert status["builtin/twonorm"] == status["sklearn/iris"] == "built in"
    assert status["ida/heart"] == status["large/a9a"] == "missing"
    assert status["uci/german"] == "openml"
    assert status["uci_zscored/zoo"] == "changed"
    assert status["large/mnist"] == "found"
    assert rows["large/a9a"].looked == (f"{folder / 'large/a9a.t.svm.gz'}: no such file",)
    assert "id 31" in rows["uci/german"].looked[-1]
    assert {row.status for row in available()} == {"built in", "openml", "missing"}


@pytest.fixture
def openml(monkeypatch):
    """A stand-in for OpenML: what it returns, or raises, and what it was asked."""
    state = SimpleNamespace(frame=None, target=None, error=None, asked=[])

    def fetch_openml(*, data_id, as_frame, parser, n_retries):
        state.asked.append(data_id)
        if state.error:
            raise state.error
        return SimpleNamespace(data=state.frame, target=state.target)

    monkeypatch.setattr("sklearn.datasets.fetch_openml", fetch_openml)
    return state


def test_openml_serves_where_the_file_is_missing(folder, openml):
    openml.frame = pd.DataFrame(
        {
            "purpose": pd.Categorical(["car", None, "house", "car", "food"]),
            "amount": pd.Categorical(["1", "5", None, "7", "2"]),
        }
    )
    openml.target = pd.Series(pd.Categorical(["good", "bad", "good", "bad", "good"]))
    expected = load("uci/german", data_home=folder)
    assert openml.asked == []  # the file was there
    task = load("uci/german")
    assert openml.asked == [31]
    np.testing.assert_array_equal(task.X, expected.X)
    np.testing.assert_array_equal(task.y, expected.y)
    assert task.feature_names == expected.feature_names
    assert "from OpenML, id 31" in task.note


def test_openml_with_other_data_is_refused(folder, openml):
    openml.frame = pd.DataFrame({"amount": [1.0, 2.0]})
    openml.target = pd.Series(["good", "bad"])
    with pytest.raises(DataError, match=r"expected \(5, 4, 2\) .* got \(2, 1, 2\)"):
        load("uci/german")


def test_without_a_network_the_error_lists_openml_too(folder, openml):
    openml.error = URLError("no route to host")
    with pytest.raises(DataError, match=r"RADIUSMARGIN_DATA is not set\n  - OpenML, id 31: .*no route to host"):
        load("uci/german")
