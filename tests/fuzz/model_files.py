"""Mutate valid model files and open them: a DataError, or labels of the model, and nothing else.

    python tests/fuzz/model_files.py --mutants 20000

Mutants are made in a process of its own, so that a crash is noticed, and reported by number: ``--first 1234 --mutants 1``
makes that one again.
"""

import argparse
import io
import json
import multiprocessing
import socket
import sys
import tempfile
import time
import traceback
import warnings
import zipfile
from collections import Counter
from copy import deepcopy
from functools import partial
from pathlib import Path
from queue import Empty

import numpy as np
from scipy import sparse
from sklearn.datasets import load_iris, load_wine
from sklearn.dummy import DummyClassifier
from sklearn.ensemble import HistGradientBoostingClassifier, RandomForestClassifier
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline
from sklearn.preprocessing import StandardScaler
from sklearn.svm import SVC, LinearSVC

from radiusmargin import FSVM, RMM, SVM, SVML, AutoSVM
from radiusmargin.app import Bundle, load_bundle, save_bundle
from radiusmargin.paper.metrics import calibrate
from radiusmargin.tables import DataError
from radiusmargin.tables.table_encoder import TableEncoder

SECONDS, HANGS = 5, 120  # that a mutant may compute, and after which it is taken to hang
MEMORY = 4 * 2**30  # that the process may take
CHUNK = 2000  # mutants of one process
FORBIDDEN = {
    "socket.connect",
    "os.system",
    "os.exec",
    "os.fork",
    "os.posix_spawn",
    "subprocess.Popen",
    "pickle.find_class",
}
SCALARS = ["0", "-1", "1", "2", "7", "2147483648", "1099511627776", "1e308", "-0.5", "NaN", "Infinity", "null", "true",
           '"x"', '""', '"precomputed"', '"\\ud800"', "[]", "{}", "[[[]]]"]  # fmt: skip
NAMES = [
    "predict",
    "fit",
    "transform",
    "__class__",
    "__dict__",
    "decision_function",
    "classes_",
    "_model",
    "steps",
    "n_jobs",
]
NUMBERS = [0, -1, 1, 255, 2**31 - 1, -(2**31), 2**40, np.nan, np.inf, 1e308, 5e-324]


# -- files ------------------------------------------------------------------------------------------------------------


def rows_of_a_table(n=40, seed=0):
    import pandas as pd

    rng = np.random.default_rng(seed)
    hues = np.array([*(["red", "blue", "green"]), *(f"hue {k}" for k in range(60))], dtype=object)
    dates = pd.date_range("2021-01-01", periods=n, freq="D").strftime("%Y-%m-%d")
    texts = rng.choice(["a word or two", "two words", "no more words"], n)
    weight = np.where(rng.random(n) < 0.1, np.nan, rng.normal(size=n) + 2 * (np.arange(n) % 2))
    columns = {"weight": weight, "hue": hues[rng.integers(0, len(hues), n)], "since": dates, "note": texts}
    return pd.DataFrame(columns), np.array(["no", "yes"])[np.arange(n) % 2]


def bundles():
    """(name, bundle, rows to predict): every kind of estimator, step and space that files hold."""
    X, y = load_iris(return_X_y=True)
    X, y = X[::4], np.array(["setosa", "versicolor", "virginica"])[y[::4]]
    two, X2 = y[y != "setosa"], X[y != "setosa"]
    models = {
        "svm": (SVM(), X, y), "svm poly": (SVM(kernel="poly", degree=2), X2, two), "svm sparse": (SVM(kernel="rbf"), sparse.csr_array(X), y),
        "precomputed": (SVM(kernel="precomputed"), X @ X.T, y), "fsvm": (FSVM(), X2, two), "fsvm map": (FSVM(kernel="rbf", n_components=9), X, y),
        "rmm": (RMM(), X2, two), "svml": (SVML(n_steps=2), X2, two), "auto": (AutoSVM(probability=True, cv=2), X, y),
        "logistic": (LogisticRegression(max_iter=1000), X, y), "linear-svc": (LinearSVC(dual="auto", random_state=0), X, y),
        "svc": (SVC(), X, y), "svc two": (SVC(gamma=0.5), X2, two), "dummy": (DummyClassifier(), X, y),
        "forest": (RandomForestClassifier(5, random_state=0), X, y),
        "boosting": (HistGradientBoostingClassifier(max_iter=4, random_state=0, early_stopping=False), *load_wine(return_X_y=True)),
    }  # fmt: skip
    for name, (model, rows, labels) in models.items():
        pipeline = make_pipeline(*([StandardScaler()] if name in ("logistic", "svc", "rmm") else []), model)
        pipeline.fit(rows, labels)
        columns = [f"x{k}" for k in range(rows.shape[1])]
        yield name, Bundle(pipeline, calibrate(pipeline, rows, labels), {"columns": columns}), rows
    table, labels = rows_of_a_table()
    for name, model in {"table": FSVM(), "table forest": RandomForestClassifier(3, random_state=0)}.items():
        pipeline = make_pipeline(TableEncoder(), StandardScaler(), model).fit(table, labels)
        pipeline.steps[0] = ("encode", pipeline.steps[0][1])
        calibration = None if hasattr(model, "predict_proba") else calibrate(pipeline, table, labels)
        yield name, Bundle(pipeline, calibration, {"columns": list(table)}), table
    model = make_pipeline(AutoSVM(probability=True, cv=2).fit(table, labels))
    yield "table auto", Bundle(model, None, {"columns": list(table)}), table


def seeds():
    """(name, members, rows, labels): the files to begin from."""
    found = []
    with tempfile.TemporaryDirectory() as folder, warnings.catch_warnings():
        warnings.simplefilter("ignore")
        for name, bundle, rows in bundles():
            path = save_bundle(bundle, Path(folder) / "m.skops")
            with zipfile.ZipFile(path) as archive:
                members = {member: archive.read(member) for member in archive.namelist()}
            found.append((name, members, rows, bundle.predict(rows)[0]))
    return found


# -- mutations --------------------------------------------------------------------------------------------------------


def mutant(rng, members) -> bytes:
    members = dict(members)
    for _ in range(rng.integers(1, 4)):
        change = [change_tree, change_tree, change_tree, change_array, change_array, change_bytes][rng.integers(6)]
        change(rng, members)
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED if rng.random() < 0.005 else zipfile.ZIP_STORED) as archive:
        for name, content in members.items():
            archive.writestr(name, content)
    content = bytearray(stream.getvalue())
    if rng.random() < 0.02:  # and some of the archive itself
        content[rng.integers(len(content))] ^= 1 << rng.integers(8)
    return bytes(content)


def nodes_of(tree):
    """All nodes, and (parent, key) of every one but the root."""
    found, stack = [], [(None, None, tree)]
    while stack:
        parent, key, node = stack.pop()
        if isinstance(node, dict) and "__loader__" in node:
            found.append((parent, key, node))
        if isinstance(node, dict | list):
            items = node.items() if isinstance(node, dict) else enumerate(node)
            stack += [(node, key, value) for key, value in items if isinstance(value, dict | list)]
    return found


def change_tree(rng, members):
    try:
        tree = json.loads(members["schema.json"])
    except ValueError:
        return
    nodes = nodes_of(tree)
    if len(nodes) < 3:
        return
    parent, key, node = nodes[rng.integers(1, len(nodes))]
    other = deepcopy(nodes[rng.integers(1, len(nodes))][2])
    match rng.integers(9):
        case 0 | 1:
            scalars = [node for _, _, node in nodes if node["__loader__"] == "JsonNode"]
            scalars[rng.integers(len(scalars))]["content"] = SCALARS[rng.integers(len(SCALARS))]
        case 2:
            names = ["__class__", "__module__", "__loader__"]
            for name in names[: 1 + rng.integers(3)]:
                node[name] = other[name]
        case 3:
            del node[list(node)[rng.integers(len(node))]]
        case 4:
            parent[key] = other
        case 5:
            files = [node for _, _, node in nodes if "file" in node]
            if files:
                files[rng.integers(len(files))]["file"] = files[rng.integers(len(files))]["file"]
        case 6:
            lists = [
                node["content"] for _, _, node in nodes if isinstance(node.get("content"), list) and node["content"]
            ]
            own = lists[rng.integers(len(lists))]
            own.pop(rng.integers(len(own))) if rng.random() < 0.5 else own.append(own[rng.integers(len(own))])
        case 7 | 8:
            dicts = [node for _, _, node in nodes if node["__loader__"] == "DictNode" and node.get("content")]
            own = dicts[rng.integers(len(dicts))]
            name = list(own["content"])[rng.integers(len(own["content"]))]
            if rng.random() < 0.3:
                del own["content"][name]
                own["key_types"]["content"].pop()
            elif rng.random() < 0.5:  # a planted attribute
                own["content"][NAMES[rng.integers(len(NAMES))]] = other
                own["key_types"]["content"] += own["key_types"]["content"][:1]
            else:
                own["content"][NAMES[rng.integers(len(NAMES))]] = own["content"].pop(name)
    members["schema.json"] = json.dumps(tree).encode()


def change_array(rng, members):
    names = [name for name in members if name.endswith((".npy", ".npz"))]
    if not names:
        return
    name = names[rng.integers(len(names))]
    if name.endswith("z"):
        with zipfile.ZipFile(io.BytesIO(members[name])) as archive:
            inner = {own: archive.read(own) for own in archive.namelist()}
        change_array(rng, inner)
        stream = io.BytesIO()
        with zipfile.ZipFile(stream, "w") as archive:
            for own, content in inner.items():
                archive.writestr(own, content)
        members[name] = stream.getvalue()
        return
    try:
        array = np.load(io.BytesIO(members[name]), allow_pickle=False)
    except Exception:  # an earlier change made it no array
        return
    match rng.integers(7):
        case 0 if array.size and array.dtype.kind in "iuf":
            with np.errstate(all="ignore"):
                array.ravel(order="K")[rng.integers(array.size)] = np.array(NUMBERS[rng.integers(len(NUMBERS))]).astype(
                    array.dtype
                )
        case 1 | 2 if array.size and array.dtype.names:
            field = array.dtype.names[rng.integers(len(array.dtype.names))]
            with np.errstate(all="ignore"):
                array[field][rng.integers(array.size)] = np.array(NUMBERS[rng.integers(len(NUMBERS))]).astype(
                    array.dtype[field]
                )
        case 3:
            array = array.T if array.ndim > 1 else array[: max(0, len(array) - 1)] if array.ndim else array[None]
        case 4:
            array = np.concatenate([array, array]) if array.ndim else np.zeros((2, 2))
        case 5 if array.dtype.kind in "iufb":
            with np.errstate(all="ignore"):
                array = array.astype(["f4", "f8", "i8", "i4", "u1", "?", "U3", ">f8"][rng.integers(8)])
        case _:
            array = array.reshape(-1) if rng.random() < 0.5 else array.reshape(1, *array.shape)
    stream = io.BytesIO()
    np.save(stream, array)
    members[name] = stream.getvalue()


def change_bytes(rng, members):
    """Bytes of a member, whose check sum is computed anew."""
    name = list(members)[rng.integers(len(members))]
    content = bytearray(members[name])
    if not content:
        return
    for _ in range(rng.integers(1, 4)):
        content[min(len(content) - 1, int(rng.integers(200) if rng.random() < 0.5 else rng.integers(len(content))))] = (
            rng.integers(256)
        )
    if rng.random() < 0.1:
        del content[rng.integers(len(content)) :]
    members[name] = bytes(content)


# -- trials -----------------------------------------------------------------------------------------------------------


def outcome(path, rows, labels) -> str:
    """What a file comes to; any other exception than a DataError goes through."""
    try:
        bundle = load_bundle(path)
    except DataError:
        return "refused"
    try:
        got = bundle.predict(rows)[0]
    except DataError:
        return "refused at prediction"
    assert len(got) == len(labels)
    assert set(got.tolist()) <= set(bundle.classes.tolist())
    return "same labels" if np.array_equal(got, labels) else "other labels"


def try_mutants(files, numbers, folder, before=lambda number: None):
    """(Counter of outcomes, [(number, name of the file, traceback)] of what should not be)."""
    counts, failures = Counter(), []
    path = Path(folder) / "mutant.skops"
    for number in numbers:
        before(number)
        rng = np.random.default_rng([31, number])
        name, members, rows, labels = files[number % len(files)]
        path.write_bytes(mutant(rng, members))
        began = time.process_time()
        try:
            with warnings.catch_warnings():
                warnings.simplefilter("ignore")
                counts[outcome(path, rows, labels)] += 1
            assert time.process_time() - began < SECONDS, "it takes too long"
        except Exception:
            failures.append((number, name, traceback.format_exc()))
            counts["FAILED"] += 1
    return counts, failures


def forbid(event, arguments):
    if event in FORBIDDEN:
        raise AssertionError(f"{event} {arguments}")


def work(files, numbers, current, queue):
    if sys.platform == "linux":
        import resource

        resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    socket.socket = None
    sys.addaudithook(forbid)
    with tempfile.TemporaryDirectory() as folder:
        queue.put(try_mutants(files, numbers, folder, partial(setattr, current, "value")))


def run_process(files, numbers):
    """Like `try_mutants`; a mutant that crashes or hangs is a failure, and another process takes those after it."""
    counts, failures, context = Counter(), [], multiprocessing.get_context("spawn")
    while numbers:
        current, queue = context.Value("q", -1), context.Queue()
        process = context.Process(target=work, args=(files, numbers[:CHUNK], current, queue))
        process.start()
        if found := wait(process, current, queue):
            counts, failures, numbers = counts + found[0], failures + found[1], numbers[CHUNK:]
        else:
            process.kill()
            process.join()
            failures.append((current.value, files[current.value % len(files)][0], f"exit code {process.exitcode}"))
            counts["CRASHED"] += 1
            numbers = [number for number in numbers if number > current.value]  # those before it are not counted
    return counts, failures


def wait(process, current, queue):
    """What a process finds; None where it ends without an answer, or is at one mutant for too long."""
    last, since = None, time.monotonic()
    while time.monotonic() - since < HANGS:
        try:
            return queue.get(timeout=0.1)
        except Empty:
            if not process.is_alive() and queue.empty():
                return None
        if current.value != last:
            last, since = current.value, time.monotonic()
    return None


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--mutants", type=int, default=20_000)
    parser.add_argument("--first", type=int, default=0)
    arguments = parser.parse_args()
    files, began = seeds(), time.monotonic()
    counts, failures = run_process(files, list(range(arguments.first, arguments.first + arguments.mutants)))
    print(f"{sum(counts.values())} mutants of {len(files)} files in {time.monotonic() - began:.0f} s:", dict(counts))
    for number, name, text in failures:
        print(f"--- mutant {number} of {name}\n{text}")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
