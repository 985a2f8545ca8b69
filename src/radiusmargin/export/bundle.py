"""A model file: one pipeline with its encoding, the calibration of its scores, and where it comes from.

The file is skops', not pickle's: opening it runs no code. Only classes of this package and of scikit-learn are made;
whatever else a file asks for is refused by name.
"""

from __future__ import annotations

import importlib
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._writing import write_file
from ..datasets import DataError, MissingDependencyError
from ..datasets.files import readable, require_no_bomb
from .scores import class_scores, probabilities

__all__ = ["Bundle", "load_bundle", "save_bundle"]

FORMAT = "radiusmargin model 1"

#: Packages whose classes a file may hold, but not their functions; and what these classes hold themselves.
TRUSTED, HARMLESS = ("radiusmargin", "sklearn"), ("numpy.dtype",)


@dataclass(frozen=True, eq=False)
class Bundle:
    """What a model file holds.

    Parameters
    ----------
    pipeline : Pipeline
        From a table, or rows of numbers, to labels.
    calibration : classifier or None
        Makes probabilities of scores; None where the model has its own.
    facts : dict
        Plain data: the model, its certificate, the table it was fitted on, versions.
    """

    pipeline: Any
    calibration: Any
    facts: dict

    @property
    def classes(self) -> np.ndarray:
        return self.pipeline.classes_

    @property
    def encoder(self) -> BaseEstimator | None:
        """What makes numbers of a table, None where the model takes numbers."""
        return self.pipeline.named_steps.get("encode")

    def predict(self, rows: Any) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
        """Labels, scores and probabilities of the rows of a table."""
        rows = self._checked(rows)
        labels = self.pipeline.predict(rows)
        return labels, class_scores(self.pipeline, rows), probabilities(self.pipeline, self.calibration, rows)

    def _checked(self, rows):
        """Columns are found by name in a table; rows of numbers must be as many columns as the model was fitted on."""
        names = self.facts["columns"]
        if self.encoder is not None:
            if not hasattr(rows, "columns"):
                raise DataError(
                    f"the model wants a table with the columns {', '.join(names)}, and got rows without names"
                )
            return rows
        if hasattr(rows, "columns"):
            missing = [name for name in names if name not in rows.columns]
            if missing:
                raise DataError(f"the table lacks the columns {', '.join(missing)}")
            rows = rows[names].to_numpy(dtype=float)
        if rows.shape[1] != len(names):
            raise DataError(f"the model wants {len(names)} columns, and got {rows.shape[1]}")
        return rows


def _skops():
    try:
        import skops.io
    except ImportError as error:
        raise MissingDependencyError(
            "model files need skops, which is not installed: pip install '.[export]' from a clone of radiusmargin"
        ) from error
    return skops.io


def save_bundle(bundle: Bundle, path: str | os.PathLike) -> Path:
    """Write a model file, whole or not at all.

    Parameters
    ----------
    bundle : Bundle
    path : str or Path
    """
    document = {"format": FORMAT, "facts": bundle.facts, "pipeline": bundle.pipeline, "calibration": bundle.calibration}
    return write_file(path, _skops().dumps(document))


def load_bundle(path: str | os.PathLike) -> Bundle:
    """Read a model file; a DataError names whatever it holds that is not trusted.

    Parameters
    ----------
    path : str or Path
    """
    io = _skops()
    with readable(path):
        with zipfile.ZipFile(path) as archive:
            require_no_bomb(path, sum(member.file_size for member in archive.infolist()))
        asked = io.get_untrusted_types(file=path)
        foreign = [name for name in asked if not _is_trusted(name)]
        if foreign:
            raise DataError(
                f"{path} is not opened: it asks for {', '.join(foreign)}, which is no class of {' or '.join(TRUSTED)}"
            )
        document = io.load(path, trusted=asked)
    if not isinstance(document, dict) or document.get("format") != FORMAT:
        raise DataError(f"{path} is no model file of radiusmargin")
    return Bundle(document["pipeline"], document["calibration"], document["facts"])


def _is_trusted(name) -> bool:
    """Whether a name is that of a class where it is defined, in a trusted package: no function, nothing imported there.

    >>> _is_trusted("radiusmargin.models.fsvm.FSVM"), _is_trusted("os.system"), _is_trusted("radiusmargin.cli.main")
    (True, False, False)
    """
    if name in HARMLESS:
        return True
    module, _, attribute = name.rpartition(".")
    if module.partition(".")[0] not in TRUSTED:
        return False
    try:
        found = getattr(importlib.import_module(module), attribute, None)
    except ImportError:
        return False
    return isinstance(found, type) and found.__module__ == module
