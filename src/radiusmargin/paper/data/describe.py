"""Compute the registry's figures from the data: ``python -m radiusmargin.paper.data.describe FOLDER``.

For whoever adds a data set or renews one. Sources, licences, notes and OpenML ids are taken over from the
present registry, so that running this twice changes nothing.
"""

from __future__ import annotations

import hashlib
import json
import sys
from pathlib import Path

from .readers import BUILTIN, LARGE_FILES, SKLEARN, builtin_task, file_task
from .registry import read_registry

__all__ = ["describe_folder"]

_EXTENSIONS = {"ida": ".npz", "uci": ".csv.gz", "uci_zscored": ".npz"}


def describe_folder(folder) -> dict:
    """The registry's document for a data folder.

    Parameters
    ----------
    folder : str or Path
        With the sub-folders ida, uci, uci_zscored and large; those that are absent are passed over.

    Returns
    -------
    dict
        With keys ``groups`` and ``datasets``, ready for ``json.dumps``.
    """
    known = {entry["name"]: entry for entry in read_registry()["datasets"]}
    entries = [_entry(builtin_task(name), known.get(name, {})) for name in _builtin_names()]
    for name, files in _files_of(Path(folder)):
        task = file_task(name, files)
        digests = {path.relative_to(folder).as_posix(): _digest(path) for path in files}
        entries.append(_entry(task, known.get(name, {}), digests))
    return {"groups": read_registry()["groups"], "datasets": entries}


def _builtin_names():
    return [f"builtin/{key}" for key in BUILTIN] + [f"sklearn/{key}" for key in SKLEARN]


def _files_of(folder):
    """Every data set in the folder's layout, with its files."""
    for group, extension in _EXTENSIONS.items():
        for path in sorted(folder.glob(f"{group}/*{extension}")):
            yield f"{group}/{path.name.removesuffix(extension)}", [path]
    for key, names in LARGE_FILES.items():
        files = [folder / "large" / name for name in names]
        if all(path.is_file() for path in files):
            yield f"large/{key}", files


def _entry(task, known, digests=None) -> dict:
    entry = {
        "name": task.name,
        "n_samples": task.n_samples,
        "n_features": task.n_features,
        "n_classes": task.n_classes,
    }
    by_hand = {key: known[key] for key in ("source", "licence", "note", "openml_id") if key in known}
    return {**entry, **by_hand, **({"files": digests} if digests else {})}


def _digest(path) -> str:
    return hashlib.sha256(path.read_bytes()).hexdigest()


def to_json(document) -> str:
    """One line per data set, so that a change of one is a change of one line.

    >>> print(to_json({"groups": {"g": {"source": "here"}}, "datasets": [{"name": "g/a"}]}), end="")
    {
    "groups": {
    "g": {"source": "here"}
    },
    "datasets": [
    {"name": "g/a"}
    ]
    }
    """
    dump = json.JSONEncoder(ensure_ascii=False).encode
    groups = ",\n".join(f"{dump(key)}: {dump(value)}" for key, value in document["groups"].items())
    datasets = ",\n".join(dump(entry) for entry in document["datasets"])
    return f'{{\n"groups": {{\n{groups}\n}},\n"datasets": [\n{datasets}\n]\n}}\n'


def main(arguments) -> int:
    if len(arguments) != 1 or not Path(arguments[0]).is_dir():
        print("usage: python -m radiusmargin.paper.data.describe FOLDER", file=sys.stderr)
        return 2
    text = to_json(describe_folder(arguments[0]))  # whole before the old one is touched
    Path(__file__).with_name("registry.json").write_text(text, encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
