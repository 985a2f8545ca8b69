"""The model to take home: chosen by cross-validation on all rows, fitted on all of them, with its certificate."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
from sklearn.base import clone
from sklearn.pipeline import Pipeline
from threadpoolctl import threadpool_limits

from ..paper import Spec, make_plan
from ..paper.captions import provenance
from ..paper.catalogue import is_scale_free, model_name
from ..paper.cells import fit_chosen, refittable
from ..paper.metrics import METRICS, calibrate
from ..paper.neighbours import NEIGHBOURS
from ..paper.plan import data_fingerprint
from ..paper.splits import inner_folds
from ..paper.tuning import choose, final_estimator
from ..paper.workflow import dense
from ..search import AutoSVR
from ..tables import DataError, TaskData
from .model_file import Bundle

__all__ = ["DEFAULT_MODEL", "fit_final", "fit_quantity"]

#: What `fit` fits when no model is named, a key of the catalogue.
DEFAULT_MODEL = "auto"

#: The values of a category are kept in the model file if there are no more of them.
MOST_VALUES = 1000

#: Attributes of a model that prove how far from the optimum it is.
CERTIFICATE = ("objective_", "dual_objective_", "dual_gap_", "max_dual_gap_")


def fit_final(
    task: TaskData, model: str = DEFAULT_MODEL, *, spec: Spec | None = None, facts: dict | None = None
) -> Bundle:
    """Choose a model's hyper-parameters by cross-validation on a whole table, and fit it there.

    Parameters
    ----------
    task : TaskData
    model : str
        Key or name of a model.
    spec : Spec, optional
        Inner folds, kernel, number of configurations and metric of the choice.
    facts : dict, optional
        What the file is to know beside that.
    """
    spec = (spec or Spec("fit")).with_options(models=(model,), datasets=(task.name,))
    cell, *_ = make_plan(spec, {task.name: task})
    if any(cell.model == entry.key for entry in NEIGHBOURS):
        raise DataError(f"{cell.model} is a row of an experiment with neighbours, not a model to keep; fit another one")
    task = task if is_scale_free(cell) else dense(task)
    values, counts = np.unique(task.y, return_counts=True)
    rarest, smallest = values[counts.argmin()], int(counts.min())
    if smallest < 2:
        raise DataError(
            f"class {rarest!s} has a single row, which cannot be both learnt from and tested on: leave it out, or join classes"
        )
    if smallest < cell.inner_folds:
        raise DataError(
            f"class {rarest!s} has {smallest} rows, too few for {cell.inner_folds} folds; see --inner-folds, leave it out, or"
            " join classes"
        )
    encoder = None if task.encoder is None else clone(task.encoder).fit(task.X)
    X = task.X if encoder is None else encoder.transform(task.X)
    with threadpool_limits(limits=1):  # small fits, of which threads make none quicker
        cell_of_data = replace(cell, dataset=cell.data)  # what the file is called decides nothing
        folds = inner_folds(task.y, cell_of_data, task.groups, task.in_time)
        chosen = choose(cell, X, task.y, folds)
        fitted, _ = fit_chosen(cell, chosen, X, task.y)
        calibration = calibrate(refittable(fitted, cell.inner_folds), X, task.y)
    if "cv" in final_estimator(fitted).get_params():
        final_estimator(fitted).set_params(cv=cell.inner_folds)  # the folds themselves are of no use to a reader
    steps = [*([("encode", encoder)] if encoder is not None else []), *fitted.steps]
    told = _facts(task, cell, chosen, final_estimator(fitted)) | _seen(task, encoder) | (facts or {})
    return Bundle(Pipeline(steps), calibration, told)


def fit_quantity(task: TaskData, facts: dict | None = None) -> Bundle:
    """Fit `AutoSVR` to a table whose target is a quantity.

    Parameters
    ----------
    task : TaskData
    facts : dict, optional
        What the file is to know beside that.
    """
    encoder = clone(task.encoder).fit(task.X)
    with threadpool_limits(limits=1):
        model = AutoSVR().fit(encoder.transform(task.X), task.y)
    best = max(model.members_, key=lambda member: member["weight"])
    told = {
        "model": "auto-svr",
        "name": "AutoSVR",
        "parameters": {name: _plain(value) for name, value in best.items() if name != "output"},
        "chosen_by": f"exact leave-one-out residuals, {len(model.members_)} members averaged",
        "cross_validated_score": model.oof_score_,
        "scoring": "R2",
        "quantity": [float(np.min(task.y)), float(np.max(task.y))],
        **_about(task, model),
    }
    return Bundle(Pipeline([("encode", encoder), ("model", model)]), None, told | _seen(task, encoder) | (facts or {}))


def _facts(task, cell, chosen, model) -> dict:
    """Plain data about a fit."""
    values, counts = np.unique(task.y, return_counts=True)
    return {
        "model": cell.model,
        "name": model_name(cell.model),
        "kernel": cell.kernel,
        "parameters": {name: _plain(value) for name, value in chosen.params.items()},
        "chosen_by": f"{cell.inner_folds}-fold cross-validation over {chosen.n_configurations} configurations",
        "cross_validated_score": chosen.score,
        "scoring": METRICS[cell.metric].scoring,
        "out_of_fold_score": getattr(model, "oof_score_", None),
        "classes": {str(value): int(count) for value, count in zip(values, counts, strict=True)},
        **_about(task, model),
    }


def _about(task, model) -> dict:
    """Plain data about the table, and the certificate."""
    kinds = getattr(task.encoder, "kinds", None) or {}
    return {
        "certificate": {name.strip("_"): float(getattr(model, name)) for name in CERTIFICATE if hasattr(model, name)},
        "table": task.name,
        "data": data_fingerprint(task),
        "rows": int(task.n_samples),
        "columns": list(map(str, task.feature_names)),
        "kinds": {str(name): str(kind) for name, kind in kinds.items()},
        "messages": list(task.messages),
        **task.facts,
        "provenance": provenance(),
    }


def _seen(task, encoder) -> dict:
    """The range of every column of numbers and the values of every category, by which new rows are judged."""
    if encoder is None:
        return {}
    table, ranges, values = encoder.cast(task.X), {}, {}
    for name, kind in encoder.kinds_.items():
        if kind == "number" and table[name].notna().any():
            ranges[str(name)] = [float(table[name].min()), float(table[name].max())]
        elif kind == "category" and table[name].nunique() <= MOST_VALUES:
            values[str(name)] = sorted(set(table[name]))
    return {"ranges": ranges, "values": values}


def _plain(value):
    return value.item() if isinstance(value, np.generic) else value
