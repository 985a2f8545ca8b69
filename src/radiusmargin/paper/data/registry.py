"""The table of known data sets: what each is, where it comes from, and the checksums of its files.

The table itself is ``registry.json`` beside this file. Its figures are computed from the data by
``python -m radiusmargin.paper.data.describe FOLDER``; sources, licences, notes and OpenML ids are kept by hand.
"""

from __future__ import annotations

import difflib
import json
from dataclasses import dataclass
from functools import cache
from importlib import resources

from ...tables import UnknownNameError

__all__ = ["GROUPS", "DataFile", "Dataset", "get_dataset", "list_datasets"]

GROUPS = ("builtin", "sklearn", "ida", "uci", "uci_zscored", "large")


@dataclass(frozen=True)
class DataFile:
    """One file of a data set.

    Parameters
    ----------
    path : str
        Inside the data folder.
    sha256 : str
        Of its content.
    """

    path: str
    sha256: str


@dataclass(frozen=True)
class Dataset:
    """What is known of a data set without opening it.

    Parameters
    ----------
    name : str
        ``"group/set"``, unique; the group also is the folder of its files.
    n_samples, n_features, n_classes : int
        As :func:`~radiusmargin.paper.data.load` returns them, that is, after one-hot encoding.
    source, licence : str
        Where the data come from, and on which terms as far as known.
    note : str
        What one should know before using the set; may be empty.
    openml_id : int or None
        The same data on OpenML.
    files : tuple of DataFile
        Empty for what is generated or ships with scikit-learn.
    """

    name: str
    n_samples: int
    n_features: int
    n_classes: int
    source: str
    licence: str
    note: str = ""
    openml_id: int | None = None
    files: tuple[DataFile, ...] = ()

    @property
    def group(self) -> str:
        return self.name.partition("/")[0]

    @property
    def sha256(self) -> str | None:
        """Checksum of the first file, None where there is none."""
        return self.files[0].sha256 if self.files else None


@cache
def read_registry() -> dict:
    """The registry's document: ``groups`` (source, licence) and ``datasets``."""
    return json.loads(resources.files(__package__).joinpath("registry.json").read_text(encoding="utf-8"))


@cache
def _table() -> dict[str, Dataset]:
    document = read_registry()
    return {entry["name"]: _dataset(entry, document["groups"]) for entry in document["datasets"]}


def _dataset(entry, groups) -> Dataset:
    files = tuple(DataFile(path, digest) for path, digest in entry.get("files", {}).items())
    terms = groups[entry["name"].partition("/")[0]]
    return Dataset(**{**terms, **entry, "files": files})


def list_datasets(group: str | None = None) -> list[Dataset]:
    """All known data sets, or those of one group.

    Parameters
    ----------
    group : str, optional
        The first part of the names; default: all groups.

    Examples
    --------
    >>> [dataset.name for dataset in list_datasets("sklearn")]
    ['sklearn/iris', 'sklearn/wine', 'sklearn/breast_cancer', 'sklearn/digits']
    """
    if group is not None and group not in GROUPS:
        raise UnknownNameError(f"there is no group {group!r}; the groups are {', '.join(GROUPS)}")
    return [dataset for dataset in _table().values() if group in (None, dataset.group)]


def get_dataset(name: str) -> Dataset:
    """The registry's entry for a name.

    Parameters
    ----------
    name : str
        ``"group/set"``.

    Examples
    --------
    >>> get_dataset("ida/heart").n_samples
    270
    >>> get_dataset("heart")
    Traceback (most recent call last):
        ...
    radiusmargin.tables.task.UnknownNameError: there is no data set 'heart'; did you mean ida/heart or uci/heart?
    """
    table = _table()
    if name in table:
        return table[name]
    same = [known for known in table if known.partition("/")[2] == name]
    near = same or difflib.get_close_matches(str(name), table, n=3)
    hint = f"did you mean {' or '.join(near)}?" if near else "list_datasets() names them all"
    raise UnknownNameError(f"there is no data set {name!r}; {hint}")
