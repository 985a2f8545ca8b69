"""The files of the registry's data sets as tasks: one reader per group, no search and no checksums here."""

from __future__ import annotations

from functools import partial

import numpy as np
from scipy import sparse
from sklearn import datasets as sklearn_datasets

from ...tables import TaskData
from ...tables.checks import checked_task, clean_labels
from ...tables.delimited import read_csv
from ...tables.formats import read_idx, read_npz, read_svmlight
from ...tables.options import ReadOptions
from . import generators
from .encode import encode_frame

__all__ = ["BUILTIN", "LARGE_FILES", "SKLEARN", "STAND_INS", "builtin_task", "file_task", "frame_task", "stand_in"]

#: The generated tasks, small and with fixed seeds, so that every user sees the same numbers.
BUILTIN = {
    "twonorm": partial(generators.make_twonorm, 500, random_state=0),
    "ringnorm": partial(generators.make_ringnorm, 500, random_state=0),
    "waveform": partial(generators.make_waveform, 600, random_state=0),
    "waveform-binary": partial(generators.make_waveform, 600, binary=True, random_state=0),
    "ill-conditioned": partial(generators.make_ill_conditioned, 500, random_state=0),
    "gaussian-mixture": partial(generators.make_gaussian_mixture, 600, 10, n_classes=3, random_state=0),
}

#: Published samples of generators, whose place another sample of the same size can take.
STAND_INS = {
    "uci/ringnorm": generators.make_ringnorm,
    "uci/twonorm": generators.make_twonorm,
    "uci/waveform": generators.make_waveform,
}

#: What scikit-learn carries with it.
SKLEARN = {
    "iris": sklearn_datasets.load_iris,
    "wine": sklearn_datasets.load_wine,
    "breast_cancer": sklearn_datasets.load_breast_cancer,
    "digits": sklearn_datasets.load_digits,
}

#: The sets of several files, or of one with a name of its own; all others are ``group/set.extension``.
LARGE_FILES = {
    "a9a": ("a9a.svm.gz", "a9a.t.svm.gz"),
    "w8a": ("w8a.svm.gz",),
    "mnist": (
        "mnist-train-images-idx3-ubyte.gz",
        "mnist-train-labels-idx1-ubyte.gz",
        "mnist-t10k-images-idx3-ubyte.gz",
        "mnist-t10k-labels-idx1-ubyte.gz",
    ),
}


def builtin_task(name) -> TaskData:
    """A generated task, or one of scikit-learn's own."""
    group, _, key = name.partition("/")
    if group == "builtin":
        X, y = BUILTIN[key]()
        return checked_task(name, X, y, _numbered(X))
    bunch = SKLEARN[key]()
    return checked_task(name, bunch.data, bunch.target, bunch.feature_names)


def stand_in(name, n_samples) -> TaskData:
    """A sample from the generator of a set, in the place of the published one."""
    X, y = STAND_INS[name](n_samples, random_state=0)
    told = f"drawn here, {n_samples:,} rows from the generator: not the published sample"
    return checked_task(name, X, y, _numbered(X), messages=[told])


def file_task(name, paths) -> TaskData:
    """Read the files of a data set, given in the registry's order."""
    group, _, key = name.partition("/")
    reader = _LARGE[key] if group == "large" else _GROUPS[group]
    return reader(name, *paths)


def _numbered(X):
    return [f"x{j + 1}" for j in range(X.shape[1])]


def _read_ida(name, path):
    """X, y and the official index splits of an IDA set."""
    arrays = read_npz(path)
    splits = tuple(zip(arrays["train"].astype(np.intp), arrays["test"].astype(np.intp), strict=True))
    X = arrays["X"]
    messages = [f"{len(splits)} known split{'s' * (len(splits) > 1)} of the 100 (20 for image and splice)"]
    messages.append(str(arrays["status"]))
    y = clean_labels(arrays["y"])
    return checked_task(name, X, y, _numbered(X), splits=splits, messages=messages)


def _read_uci_zscored(name, path):
    arrays = read_npz(path)
    return checked_task(name, arrays["X"], clean_labels(arrays["y"]), _numbered(arrays["X"]))


def _read_uci(name, path):
    raw = read_csv(path, ReadOptions(sep=",", decimal=".", header=True))
    return frame_task(name, raw.frame, raw.messages)


def frame_task(name, frame, messages=()) -> TaskData:
    """A task from a table in the layout of ``uci/``: labels in the column ``target``."""
    if "target" not in frame:
        frame = _with_flare_target(frame)
    return encode_frame(frame, "target", name=name, messages=messages)


def _with_flare_target(frame):
    """Solar flare has three counts in place of a label: flares of class C, M and X in the next 24 hours.

    The label is the strongest class that occurred: none, C, or M and X together (X alone has 5 rows). Three
    classes, as the paper's Table 1 says. The counts are the outcome, so they are no features.
    """
    c_flares, m_flares, x_flares = (frame[column] for column in frame.columns[-3:])
    label = np.where(m_flares + x_flares > 0, "M or X", np.where(c_flares > 0, "C", "none"))
    return frame.iloc[:, :-3].assign(target=label)


def _read_a9a(name, train_path, test_path):
    # The training file counts features from 0 (and carries query ids), the test file from 1 as LIBSVM's
    # original does: read alike, the two would be shifted by one column against each other.
    X_train, y_train = read_svmlight(train_path, zero_based=True, n_features=123)
    X_test, y_test = read_svmlight(test_path, zero_based=False, n_features=123)
    X = sparse.vstack([X_train, X_test], format="csr")
    y = clean_labels(np.concatenate([y_train, y_test]))
    return checked_task(name, X, y, _numbered(X), splits=_one_split(len(y_train), len(y)))


def _read_w8a(name, path):
    X, y = read_svmlight(path, zero_based=False, n_features=300)
    return checked_task(name, X, clean_labels(y), _numbered(X))


def _read_mnist(name, *paths):
    train_images, train_labels, test_images, test_labels = (read_idx(path) for path in paths)
    images = np.concatenate([train_images, test_images])
    X = images.reshape(len(images), -1).astype(np.float32)  # single precision: 220 MB are enough
    y = clean_labels(np.concatenate([train_labels, test_labels]))
    return checked_task(name, X, y, _numbered(X), splits=_one_split(len(train_labels), len(y)))


def _one_split(n_train, n_samples):
    return ((np.arange(n_train), np.arange(n_train, n_samples)),)


_GROUPS = {"ida": _read_ida, "uci": _read_uci, "uci_zscored": _read_uci_zscored}
_LARGE = {"a9a": _read_a9a, "w8a": _read_w8a, "mnist": _read_mnist}
