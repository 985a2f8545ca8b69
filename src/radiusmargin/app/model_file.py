"""A model file: one pipeline with its encoding, the calibration of its scores, and where it comes from.

The file is skops', not pickle's: opening it runs no code. `container` reads it as plain data, and `rebuild` makes the
estimators that `save_bundle` writes, and no others, with arrays that fit together. SECURITY.md states the promise.
"""

from __future__ import annotations

import io
import json
import os
import zipfile
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
from sklearn.base import BaseEstimator

from .._writing import write_file
from ..paper.metrics import class_scores, probabilities
from ..tables import DataError, MissingDependencyError
from ..tables.checks import import_pandas
from ..tables.files import UNREADABLE, readable
from .container import read_container
from .rebuild import rebuild_pipeline, require_known

__all__ = ["INTERVAL", "Bundle", "load_bundle", "save_bundle"]

FORMAT = "radiusmargin model 1"

#: Share of new rows that intervals of a quantity should contain.
INTERVAL = 0.9


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
    def classes(self) -> np.ndarray | None:
        """The labels; None of a model of a quantity."""
        return getattr(self.pipeline, "classes_", None)

    @property
    def encoder(self) -> BaseEstimator | None:
        """The encoder of a table, a step or part of the model; None if the model takes numbers."""
        return self.pipeline.named_steps.get("encode") or getattr(self.pipeline[-1], "encoder_", None)

    def predict(self, rows: Any) -> tuple[np.ndarray, np.ndarray | None, np.ndarray | None]:
        """Labels, scores and probabilities of the rows of a table; of a quantity, predictions and 90 % intervals."""
        rows = self._checked(rows)
        if self.classes is None:
            model, X = self.pipeline[-1], self.pipeline[:-1].transform(rows)
            return model.predict(X), model.prediction_interval(X, INTERVAL), None
        labels, scores = self.pipeline.predict(rows), class_scores(self.pipeline, rows)
        if scores is not None and not np.isfinite(scores).all():
            raise DataError("scores of the rows are not finite: numbers of the rows, or of the model, are too large")
        return labels, scores, probabilities(self.pipeline, self.calibration, rows)

    def _checked(self, rows):
        """Columns are found by name in a table; rows of numbers must be as many columns as the model was fitted on."""
        names = self.facts["columns"]
        if hasattr(self.encoder, "feature_names_in_"):
            if not hasattr(rows, "columns"):
                raise DataError(
                    f"the model wants a table with the columns {', '.join(names)}, and got rows without names"
                )
            return rows if "encode" in self.pipeline.named_steps else rows[list(self.encoder.feature_names_in_)]
        if hasattr(rows, "columns"):
            missing = [name for name in names if name not in rows.columns]
            if missing:
                raise DataError(f"the table lacks the columns {', '.join(missing)}")
            rows = rows[names].to_numpy(dtype=float)
        if rows.shape[1] != len(names):
            raise DataError(f"the model wants {len(names)} columns, and got {rows.shape[1]}")
        return rows


def save_bundle(bundle: Bundle, path: str | os.PathLike) -> Path:
    """Write a model file, whole or not at all.

    Parameters
    ----------
    bundle : Bundle
        Of estimators that the commands of this package fit. A DataError names what else there is.
    path : str or Path
    """
    try:
        import skops.io
    except ImportError as error:
        raise MissingDependencyError(
            "writing model files needs skops, which is not installed: pip install '.[export]' from a clone of radiusmargin"
        ) from error
    document = {"format": FORMAT, "facts": bundle.facts, "pipeline": bundle.pipeline, "calibration": bundle.calibration}
    content = _without_indents(skops.io.dumps(document, compression=zipfile.ZIP_STORED))
    _parse(io.BytesIO(content), f"{path} is not written")  # what could not be read is not written
    return write_file(path, content)


def _without_indents(content: bytes) -> bytes:
    """Write the tree of an archive of skops without indents, which are two thirds of the file of a small model."""
    stream = io.BytesIO()
    with zipfile.ZipFile(io.BytesIO(content)) as before, zipfile.ZipFile(stream, "w", zipfile.ZIP_STORED) as after:
        for member in before.infolist():
            data = before.read(member)
            if member.filename == "schema.json":
                data = json.dumps(json.loads(data), separators=(",", ":")).encode()
            after.writestr(member, data)
    return stream.getvalue()


def load_bundle(path: str | os.PathLike) -> Bundle:
    """Read a model file; a DataError says what is wrong with it.

    Parameters
    ----------
    path : str or Path
    """
    with readable(path), open(path, "rb") as stream:
        return _parse(stream, f"{path} is not opened")


def _parse(stream, refusal) -> Bundle:
    """The bundle of a file, which is tried on one row."""
    try:
        if not zipfile.is_zipfile(stream):
            raise DataError("it is no model file; `radiusmargin fit` writes one")
        document = read_container(stream)
        require_known(document)
        if not isinstance(document, dict) or document.get("format") != FORMAT:
            raise DataError("it is no model file of radiusmargin")
        facts = document["facts"]
        _check_facts(facts)
        pipeline = rebuild_pipeline(document["pipeline"], len(facts["columns"]))
        calibration = document["calibration"]
        if calibration is not None:
            n_scores = len(pipeline.classes_) if len(pipeline.classes_) > 2 else 1
            calibration = rebuild_pipeline(calibration, n_scores)
        bundle = Bundle(pipeline, calibration, facts)
        _try(bundle)
    except UNREADABLE as error:
        words = (
            str(error)[:1000] or type(error).__name__
        )  # some are the file's, perhaps sequences that steer a terminal
        raise DataError(f"{refusal}: {''.join(c if c.isprintable() else '?' for c in words)}") from error
    return bundle


def _check_facts(facts):
    """Raise a DataError where a fact that commands show is not of the type that they take."""
    types = {"columns": list, "kinds": dict, "parameters": dict, "certificate": dict, "classes": dict, "messages": list}
    types |= {"missing": list, "why": list, "provenance": dict, "cross_validated_score": float}
    types |= {"decimal": str, "decorations": dict, "ranges": dict, "values": dict, "scoring": str}
    wrong = [name for name, kind in types.items() if name in facts and not isinstance(facts[name], kind)]
    texts = [*facts["columns"], *facts.get("missing", ())] if not wrong else [None]
    if not all(isinstance(text, str) for text in texts):
        raise DataError(f"facts are not as they should be: {', '.join(wrong or ['columns'])}")


def _try(bundle):
    """Predict one row, of gaps or zeros, so that arrays that do not fit together are found now."""
    names = bundle.facts["columns"]
    rows = np.zeros((1, len(names)))
    if hasattr(bundle.encoder, "feature_names_in_"):
        rows = import_pandas().DataFrame([dict.fromkeys(bundle.encoder.feature_names_in_)], dtype=object)
    labels, scores, chances = bundle.predict(rows)
    if bundle.classes is None:
        if labels.shape != (1,) or not np.isfinite([*labels, *scores[0]]).all():
            raise DataError("its predictions are no finite numbers")
        return
    if labels.shape != (1,) or chances.shape != (1, len(bundle.classes)) or not np.isfinite(chances).all():
        raise DataError("its predictions are no labels and probabilities")
