"""Find a data set, make sure it is the right one, and load it."""

from __future__ import annotations

import hashlib
import os
from dataclasses import dataclass, replace
from pathlib import Path

import numpy as np

from ...tables import DataError, TaskData
from ...tables.checks import import_pandas
from .readers import STAND_INS, builtin_task, file_task, frame_task, stand_in
from .registry import Dataset, get_dataset, list_datasets

__all__ = ["Availability", "available", "load"]

DATA_VARIABLE = "RADIUSMARGIN_DATA"

#: Sets that come with the package, in the layout of a data folder.
BUNDLED = Path(__file__).parent


def load(name: str, *, data_home: str | Path | None = None, generate: bool = False) -> TaskData:
    """Load a data set of the registry.

    Generated sets, scikit-learn's own and seven of UCI that come with the package are always there. For the others the data
    folder is searched and the files are compared with the registry's checksums; a set that is not there is fetched from
    OpenML where it has an id and there is a network.

    Parameters
    ----------
    name : str
        ``"ida/heart"``, ``"uci/german"``, ``"builtin/twonorm"``, …: see
        :func:`~radiusmargin.paper.data.list_datasets`.
    data_home : str, Path or None
        The data folder; by default the environment variable ``RADIUSMARGIN_DATA``.
    generate : bool, default=False
        Where the file of UCI's twonorm, ringnorm or waveform is not there, draw as many rows from its generator, rather than
        ask OpenML; ``messages`` say so.

    Returns
    -------
    TaskData
        With the official splits where the set has some, and ``messages`` on what was done to the data.

    Raises
    ------
    DataError
        If the set is unknown, is found nowhere (the message lists where it was looked for), or if a file
        differs from the one the registry describes.

    Examples
    --------
    >>> task = load("builtin/twonorm")
    >>> task.X.shape, task.splits
    ((500, 20), None)
    """
    dataset = get_dataset(name)
    if not dataset.files:
        task = builtin_task(name)
    else:
        paths, looked = _find(dataset, data_home)
        if paths is not None:
            for path, file in zip(paths, dataset.files, strict=True):
                _verify(path, file.sha256)
            task = file_task(name, paths)
        elif generate and name in STAND_INS:
            task = stand_in(name, dataset.n_samples)
        else:
            task = _from_openml(dataset, looked)
    notes = (dataset.note,) if dataset.note else ()
    return replace(task, messages=(*notes, *task.messages))


@dataclass(frozen=True)
class Availability:
    """Tell whether a data set can be loaded, and where it was looked for.

    Parameters
    ----------
    dataset : Dataset
    status : str
        ``"built in"``, ``"found"``, ``"changed"`` (a file is not the one the registry describes), ``"openml"`` (not here, but
        can be fetched where there is a network) or ``"missing"``.
    looked : tuple of Path
        Where its files were looked for.
    """

    dataset: Dataset
    status: str
    looked: tuple[str, ...]


def available(data_home: str | Path | None = None) -> list[Availability]:
    """The status of every data set of the registry; nothing is fetched.

    Parameters
    ----------
    data_home : str or Path, optional
        The data folder; default: ``RADIUSMARGIN_DATA``.

    Examples
    --------
    >>> {row.dataset.name: row.status for row in available()}["sklearn/iris"]
    'built in'
    """
    return [_availability(dataset, data_home) for dataset in list_datasets()]


def _availability(dataset, data_home) -> Availability:
    if not dataset.files:
        where = "generated" if dataset.group == "builtin" else "scikit-learn"
        return Availability(dataset, "built in", (where,))
    paths, looked = _find(dataset, data_home)
    if paths is not None:
        same = all(_sha256(path) == file.sha256 for path, file in zip(paths, dataset.files, strict=True))
        if same and paths[0].is_relative_to(BUNDLED):
            return Availability(dataset, "built in", ("in the package",))
        return Availability(dataset, "found" if same else "changed", tuple(map(str, paths)))
    if dataset.openml_id is None:
        return Availability(dataset, "missing", tuple(looked))
    return Availability(dataset, "openml", (*looked, f"OpenML: id {dataset.openml_id}, not tried"))


def _find(dataset, data_home):
    """The set's files, or None, and a line for each place without them."""
    home = data_home if data_home is not None else os.environ.get(DATA_VARIABLE)
    looked = [f"no data folder: data_home was not given and {DATA_VARIABLE} is not set"]
    if home:
        paths = [Path(home, file.path) for file in dataset.files]
        looked = [f"{path}: no such file" for path in paths if not path.is_file()]
        if not looked:
            return paths, []
    bundled = [BUNDLED / file.path for file in dataset.files]
    return (bundled, []) if all(path.is_file() for path in bundled) else (None, looked)


def _sha256(path) -> str:
    with open(path, "rb") as stream:
        return hashlib.file_digest(stream, "sha256").hexdigest()


def _verify(path, expected) -> None:
    got = _sha256(path)
    if got != expected:
        raise DataError(
            f"{path} is not the file the registry describes: expected SHA-256 {expected}, got {got}."
            " Restore the original, or read yours with radiusmargin.tables.read_table."
        )


def _from_openml(dataset, looked) -> TaskData:
    if dataset.openml_id is None:
        raise _not_found(dataset, [*looked, "OpenML: no id is known for this set"])
    from sklearn.datasets import fetch_openml

    import_pandas()  # fetch_openml needs it too, but says so less clearly
    try:
        bunch = fetch_openml(data_id=dataset.openml_id, as_frame=True, parser="auto", n_retries=1)
    except (OSError, ValueError) as error:  # no network, or OpenML's own refusals
        raise _not_found(dataset, [*looked, f"OpenML, id {dataset.openml_id}: {error}"]) from error
    frame = _plain_columns(bunch.data).assign(target=np.asarray(bunch.target))
    told = f"from OpenML, id {dataset.openml_id}: not checked against a checksum, row order may differ"
    task = frame_task(dataset.name, frame, [told])
    got = (task.n_samples, task.n_features, task.n_classes)
    expected = (dataset.n_samples, dataset.n_features, dataset.n_classes)
    if got != expected:
        raise DataError(
            f"OpenML's id {dataset.openml_id} is not {dataset.name}: expected {expected} samples, features"
            f" and classes, got {got}"
        )
    return task


def _plain_columns(frame):
    """OpenML declares some numbers as categories; a column of nothing but numbers is numeric here."""
    pd = import_pandas()
    frame = frame.copy()
    for column in frame.columns:
        if not pd.api.types.is_numeric_dtype(frame[column].dtype):
            numbers = pd.to_numeric(frame[column].astype(object), errors="coerce")
            if (numbers.notna() | frame[column].isna()).all():
                frame[column] = numbers
    return frame


def _not_found(dataset, looked) -> DataError:
    files = ", ".join(file.path for file in dataset.files)
    places = "".join(f"\n  - {line}" for line in looked)
    return DataError(
        f"{dataset.name} was not found. Looked at:{places}\n"
        f"Set {DATA_VARIABLE} (or data_home) to a folder that holds {files}. Source: {dataset.source}"
    )
