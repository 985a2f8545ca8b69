"""A stranger's model file runs no code, opens no connection, and ends in an error that says what is wrong with it."""

import io
import json
import os
import socket
import subprocess
import sys
import zipfile
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_iris
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import FunctionTransformer, MinMaxScaler

from radiusmargin import SVM, AutoSVM
from radiusmargin.app import Bundle, container, load_bundle, save_bundle
from radiusmargin.app.cli import main
from radiusmargin.tables import DataError

skops = pytest.importorskip("skops.io")
FUZZ = Path(__file__).parents[1] / "fuzz" / "model_files.py"
FACTS = {"columns": ["a", "b", "c", "d"]}
X, y = load_iris(return_X_y=True)
WATCHED = {"socket.connect", "os.system", "subprocess.Popen", "pickle.find_class"}
watching, seen = False, []


def watch(event, arguments):
    if watching and event in WATCHED:
        seen.append((event, arguments))


sys.addaudithook(watch)


@pytest.fixture
def nothing_runs(monkeypatch):
    """No socket can be made, and no connection, process or unpickling is asked for."""

    def refuse(*arguments, **options):
        raise AssertionError("a socket was made")

    global watching
    monkeypatch.setattr(socket, "socket", refuse)
    seen.clear()
    watching = True
    yield
    watching = False
    assert not seen


def saved(path, model):
    return save_bundle(Bundle(make_pipeline(model).fit(X, y), None, FACTS), path)


@pytest.fixture(scope="module")
def model_file(tmp_path_factory):
    return saved(tmp_path_factory.mktemp("model") / "m.skops", AutoSVM(cv=2, probability=True))


def rewritten(source, target, change=None, arrays=None, compression=zipfile.ZIP_STORED):
    """A copy of a file whose tree, or whose arrays by name, are changed."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", compression) as new:
        for name in old.namelist():
            content = old.read(name)
            if name == "schema.json" and change:
                tree = json.loads(content)
                change(tree)
                content = json.dumps(tree).encode()
            elif name != "schema.json" and arrays:
                stream = io.BytesIO()
                np.save(stream, arrays(np.load(io.BytesIO(content))))
                content = stream.getvalue()
            new.writestr(name, content)
    return target


def pipeline_of(tree):
    return tree["content"]["pipeline"]["content"]


def plant(node, name, value):
    """An attribute of an object: ``value`` is a node."""
    node["content"][name] = value
    node["key_types"]["content"].append({"__class__": "str", "__module__": "builtins", "__loader__": "TypeNode"})


def plain(value):
    return {"__class__": "str", "__module__": "builtins", "__loader__": "JsonNode", "content": json.dumps(value)}


def a_list(*nodes, kind="list"):
    return {"__class__": kind, "__module__": "builtins", "__loader__": f"{kind.title()}Node", "content": list(nodes)}


def an_object(name, **attributes):
    module, _, cls = name.rpartition(".")
    state = {
        "__class__": "dict",
        "__module__": "builtins",
        "__loader__": "DictNode",
        "content": {},
        "key_types": a_list(),
    }
    for key, value in attributes.items():
        plant(state, key, value)
    return {"__class__": cls, "__module__": module, "__loader__": "ObjectNode", "content": state}


def a_monitor():
    """scikit-learn's callback that connects to an address of the file when its state is set."""
    handle = a_list(plain("/tmp/nobody"), plain("key"), plain(1), plain("uuid"), kind="tuple")
    handle |= {"__class__": "ListenerHandle", "__module__": "sklearn.callback._transport"}
    return an_object("sklearn.callback._scoring_monitor.ScoringMonitor", _log=a_list(), _listener_handle=handle)


def a_method():
    node = an_object("sklearn.callback._callback_context.CallbackContext")
    content = {"func": "propagate_callback_context", "obj": node}
    return node | {"__loader__": "MethodNode", "content": content}


PLANTED = {
    "a monitor": (a_monitor(), "asks for sklearn.callback._scoring_monitor.ScoringMonitor"),
    "a method": (a_method(), "asks for sklearn.callback._callback_context.CallbackContext"),
    "a function": ({"__class__": "system", "__module__": "os", "__loader__": "FunctionNode"}, "asks for os.system"),
    "another estimator": (an_object("sklearn.cluster._kmeans.KMeans"), "asks for sklearn.cluster._kmeans.KMeans"),
    "nothing that is": (an_object("sklearn.nowhere.Thing"), "asks for sklearn.nowhere.Thing"),
    "ours that is called": (
        an_object("radiusmargin.kernels.KernelFunction", kernel=plain("rbf")),
        "has the attributes|has an attribute|which no fit sets",
    ),
    "data": (plain(1), "which no fit sets"),
}


@pytest.mark.parametrize("planted", PLANTED)
@pytest.mark.parametrize("place", ["pipeline", "model"])
def test_a_planted_attribute_is_refused_before_anything_is_made(
    tmp_path, model_file, nothing_runs, monkeypatch, planted, place
):
    node, message = PLANTED[planted]

    def change(tree):
        own = pipeline_of(tree)
        model = own["content"]["steps"]["content"][0]["content"][1]["content"]
        plant(own if place == "pipeline" else model, "predict", node)

    path = rewritten(model_file, tmp_path / "m.skops", change)
    monkeypatch.setattr("importlib.import_module", None)  # names of a file are not imported
    with pytest.raises(DataError, match=message):
        load_bundle(path)


class Stranger:
    """A class of nobody we trust."""


@pytest.mark.parametrize(
    ("pipeline", "name"),
    [
        (Stranger(), "test_strangers_files.Stranger"),
        (make_pipeline(FunctionTransformer(os.system)), "posix.system"),
        (make_pipeline(FunctionTransformer(main)), "radiusmargin.app.cli.main"),
        (make_pipeline(MinMaxScaler(), SVM()).fit(X, y), "sklearn.preprocessing._data.MinMaxScaler"),
    ],
)
def test_what_files_do_not_hold_is_neither_written_nor_read(tmp_path, monkeypatch, capsys, pipeline, name):
    monkeypatch.chdir(tmp_path)
    with pytest.raises(DataError, match=rf"is not written: it asks for .*{name}"):
        save_bundle(Bundle(pipeline, None, FACTS), "m.skops")
    assert not os.listdir()
    skops.dump({"format": "radiusmargin model 1", "facts": FACTS, "pipeline": pipeline, "calibration": None}, "m.skops")
    assert main(["describe", "m.skops"]) == 1
    said = capsys.readouterr().err
    assert "is not opened: it asks for" in said
    assert name in said


@pytest.mark.parametrize(
    ("model", "field", "value"),
    [
        (RandomForestClassifier(2, random_state=0), "feature", 2**40),
        (RandomForestClassifier(2, random_state=0), "left_child", 0),
        (RandomForestClassifier(2, random_state=0), "right_child", 2**40),
        (HistGradientBoostingClassifier(max_iter=2, random_state=0, early_stopping=False), "feature_idx", 2**40),
        (HistGradientBoostingClassifier(max_iter=2, random_state=0, early_stopping=False), "left", 2**31),
        (HistGradientBoostingClassifier(max_iter=2, random_state=0, early_stopping=False), "is_categorical", 1),
    ],
)
def test_a_tree_that_points_elsewhere_is_refused(tmp_path, model, field, value):
    def change(array):
        if array.dtype.names and field in array.dtype.names:
            array[field][0] = value
        return array

    path = saved(tmp_path / "good.skops", model)
    assert (load_bundle(path).predict(X)[0] == model.predict(X)).all()
    with pytest.raises(DataError, match=r"a child or a feature that is not there|splits by categories"):
        load_bundle(rewritten(path, tmp_path / "m.skops", arrays=change))


@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda numbers: numbers - 1 - numbers.min(), "out of range"),
        (lambda numbers: numbers + 1000, "out of range"),
        (lambda numbers: np.resize(numbers, 1000), "more than rows"),
        (lambda numbers: numbers[:0], "no support vectors"),
        (lambda numbers: numbers.astype(float), "not whole"),
        (lambda numbers: numbers[:-1], "not as many"),
        (lambda numbers: np.zeros((3, 2)), "of finite numbers"),
    ],
)
def test_numbers_of_support_vectors_are_those_of_rows(tmp_path, change, message):
    model = make_pipeline(AutoSVM(kernel=["rbf", "laplacian"], cv=2, probability=True)).fit(X[50:], y[50:])
    path = save_bundle(Bundle(model, None, FACTS), tmp_path / "good.skops")
    changed = []

    def arrays(array):
        found = array.dtype == np.int32 and array.ndim == 1
        changed.append(found)
        return change(array) if found else array

    with pytest.raises(DataError, match=message):
        load_bundle(rewritten(path, tmp_path / "m.skops", arrays=arrays))
    assert sum(changed) > 1


@pytest.mark.parametrize(
    ("change", "message"),
    [(np.ravel, "no rows that"), (lambda rows: rows * np.nan, "finite"), (lambda rows: rows[:, :2], "shape")],
)
def test_rows_that_kernel_machines_share_are_checked(tmp_path, change, message):
    model = make_pipeline(AutoSVM(kernel=["rbf", "laplacian"], cv=2, probability=True)).fit(X[50:], y[50:])
    path = save_bundle(Bundle(model, None, FACTS), tmp_path / "good.skops")
    shape = model[-1]._model.rows.shape

    def arrays(array):
        return change(array) if array.shape == shape else array

    with pytest.raises(DataError, match=message):
        load_bundle(rewritten(path, tmp_path / "m.skops", arrays=arrays))


def test_arrays_are_counted_as_often_as_they_are_named(tmp_path, model_file, monkeypatch):
    monkeypatch.setattr(container, "MOST_BYTES", 2**20)
    stream = io.BytesIO()
    np.save(stream, np.zeros(2**17))
    with zipfile.ZipFile(rewritten(model_file, tmp_path / "m.skops"), "a") as archive:
        archive.writestr("much.npy", stream.getvalue())
    node = {
        "__class__": "ndarray",
        "__module__": "numpy",
        "__loader__": "NdArrayNode",
        "type": "numpy",
        "file": "much.npy",
    }

    def load(n_times):
        def change(tree):
            model = pipeline_of(tree)["content"]["steps"]["content"][0]["content"][1]["content"]
            plant(model, "much_", a_list(*[node] * n_times))

        return load_bundle(rewritten(tmp_path / "m.skops", tmp_path / "n.skops", change))

    assert len(load(2).pipeline[0].much_) == 2
    with pytest.raises(DataError, match="20 times as large as the file"):
        load(60)


def test_compressed_and_overlapping_members_are_refused(tmp_path, model_file):
    with pytest.raises(DataError, match="members are compressed"):
        load_bundle(rewritten(model_file, tmp_path / "m.skops", compression=zipfile.ZIP_DEFLATED))
    with zipfile.ZipFile(rewritten(model_file, tmp_path / "m.skops"), "a") as archive:
        archive.writestr("last", "")
        archive.filelist += archive.filelist[:-1]
    with pytest.raises(DataError, match="members overlap"):
        load_bundle(tmp_path / "m.skops")


def test_arrays_of_objects_and_files_elsewhere_are_refused(tmp_path, model_file, nothing_runs):
    stream = io.BytesIO()
    np.save(stream, np.array([print], dtype=object), allow_pickle=True)
    with zipfile.ZipFile(rewritten(model_file, tmp_path / "m.skops"), "a") as archive:
        archive.writestr("pickle.npy", stream.getvalue())
    for name, message in {
        "pickle.npy": "an array is of type object",
        "../../../../etc/passwd": "no item named",
    }.items():

        def change(tree, name=name):
            node = pipeline_of(tree)["content"]["steps"]["content"][0]["content"][1]["content"]["content"]["classes_"]
            node["file"] = name

        with pytest.raises(DataError, match=message):
            load_bundle(rewritten(tmp_path / "m.skops", tmp_path / "n.skops", change))


def test_a_file_outlives_a_class_that_moves(tmp_path, model_file):
    def change(tree):
        for node in tree.values() if isinstance(tree, dict) else tree:
            if isinstance(node, dict) and str(node.get("__module__")).startswith("radiusmargin."):
                node["__module__"] = "radiusmargin.elsewhere"
            if isinstance(node, dict | list):
                change(node)

    path = rewritten(model_file, tmp_path / "m.skops", change)
    for mine, theirs in zip(load_bundle(path).predict(X), load_bundle(model_file).predict(X), strict=True):
        np.testing.assert_array_equal(mine, theirs)


def test_files_that_are_no_models_are_refused(tmp_path):
    (tmp_path / "text.skops").write_text("hello", encoding="utf-8")
    with pytest.raises(DataError, match="is not opened: it is no model file; `radiusmargin fit` writes one"):
        load_bundle(tmp_path / "text.skops")
    skops.dump({"a": 1}, tmp_path / "dict.skops")
    with pytest.raises(DataError, match="is no model file of radiusmargin"):
        load_bundle(tmp_path / "dict.skops")
    with pytest.raises(DataError, match="there is no file"):
        load_bundle(tmp_path / "absent.skops")


def test_opening_and_predicting_runs_nothing(model_file, nothing_runs):
    labels, scores, chances = load_bundle(model_file).predict(X)
    assert (labels == y).mean() > 0.9
    assert scores.shape == chances.shape == (150, 3)


def test_mutants_are_refused_or_give_labels():
    """Some hundred of what ``make fuzz`` tries."""
    done = subprocess.run([sys.executable, FUZZ, "--mutants", "360"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "360 mutants of 19 files" in done.stdout
