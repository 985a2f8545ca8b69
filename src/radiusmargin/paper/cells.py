"""Time limits: work that is stopped from within when its seconds are over."""

from __future__ import annotations

import signal
import threading
import time
import traceback
import warnings
from collections import Counter
from contextlib import contextmanager

import numpy as np
from sklearn.base import clone
from threadpoolctl import threadpool_limits

from ..tables import TaskData
from .captions import provenance
from .diagnostics import portrait, search_portrait
from .face_cells import verified
from .metrics import calibrate, class_scores, measured, measured_quantity, probabilities
from .plan import Cell, seed_for
from .splits import inner_folds, outer_split, paper_folds, stratified_rows
from .tuning import Chosen, choose, final_estimator, pipeline, within_rank


class OutOfTime(BaseException):
    """The seconds are over. No Exception: a search that goes on after a failed fit must not catch it."""


@contextmanager
def time_limit(seconds: float | None):
    """Raise OutOfTime in the block after so many seconds of the processor, at the next return to Python.

    What else runs on the machine does not count. Needs an interval timer, hence a main thread and a POSIX system;
    elsewhere only what is over before it begins is stopped.

    >>> with time_limit(0.0):
    ...     pass
    Traceback (most recent call last):
        ...
    radiusmargin.paper.cells.OutOfTime
    """
    if seconds is None:
        yield
        return
    if seconds <= 0:
        raise OutOfTime
    if not hasattr(signal, "setitimer") or threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise OutOfTime

    before = signal.signal(signal.SIGPROF, stop)
    signal.setitimer(signal.ITIMER_PROF, max(seconds, 1e-6))  # zero would switch it off
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0.0)
        signal.signal(signal.SIGPROF, before)


# -- Run one cell: split, choose, fit, score; whatever goes wrong becomes part of the record --------------------------


#: A timing repeats a fit until so many seconds have passed, but no more than so many times.
TIMING_SECONDS, TIMING_REPEATS = 0.3, 20

#: Share of new targets that intervals of a quantity should contain.
INTERVAL = 0.9

#: Test rows of which the record of a table of one's own keeps the labels.
MOST_HELD_OUT = 5000


def run_cell(cell: Cell, task: TaskData, seconds: float | None = None) -> dict:
    """The record of a cell, for the store.

    An exception does not leave this function: it is recorded with ``status="error"``, as is a cell that takes more than
    ``seconds`` of the processor. One thread of BLAS is used, so that cells may run side by side and their times mean
    something.
    """
    record = {"key": cell.key, "cell": cell.axes(), "seed": cell.seed, "status": "ok"}
    start = time.process_time()
    with threadpool_limits(limits=1), warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        try:
            with time_limit(seconds):
                record |= _PROTOCOLS[cell.protocol](cell, task)
        except OutOfTime:
            record |= {"status": "error", "error": "over the time budget", "over_budget": True}
        except Exception as error:  # whatever it is, the other cells go on
            record |= {
                "status": "error",
                "error": f"{type(error).__name__}: {error}",
                "traceback": traceback.format_exc(limit=-6),
            }
    record["warnings"] = _counted(caught)
    record["seconds"] = time.process_time() - start
    return record | {"provenance": provenance()}


def _nested(cell, task) -> dict:
    """Everything is chosen and fitted on the training part; the test part is looked at once."""
    train, test = outer_split(task, cell)
    (X, unseen), y = task.encoded(train, test), task.y[train]
    groups = None if task.groups is None else task.groups[train]
    chosen = choose(cell, X, y, inner_folds(y, cell, groups, task.in_time))
    fitted, fit_seconds = fit_chosen(cell, chosen, X, y)
    start = time.perf_counter()
    predicted = fitted.predict(unseen)
    predict_seconds = time.perf_counter() - start
    if task.quantity:
        judged = _judged_quantity(fitted, unseen, task.y[test], predicted)
    else:
        judged = _judged(cell, fitted, (X, y), unseen, task.y[test], predicted)
    result = {
        **judged,
        "inner_accuracy": chosen.score,
        "params": _plain(chosen.params),
        "n_configurations": chosen.n_configurations,
        "n_train": len(train),
        "n_test": len(test),
        "tune_seconds": chosen.seconds,
        "fit_seconds": fit_seconds,
        "predict_seconds": predict_seconds,
        "gap": _gap(fitted),
    }
    if (messages := getattr(final_estimator(fitted), "messages_", None)) is not None:
        result["singular"] = any(messages)
    if cell.run == 0 and cell.kernel == "linear" and not task.quantity:
        result["portrait"] = portrait(fitted, X)
    if cell.run == 0 and (search := search_portrait(fitted)):
        result["search"] = search
    return result


def _judged(cell, fitted, training, unseen, truth, predicted) -> dict:
    """All metrics of a prediction; probabilities of models that have none cost more fits, and are made when asked for."""
    has_own = hasattr(fitted, "predict_proba")
    found = None
    if has_own or cell.metric == "log_loss":
        calibration = None if has_own else calibrate(refittable(fitted, cell.inner_folds), *training)
        found = probabilities(fitted, calibration, unseen)
    scores = class_scores(fitted, unseen)
    values = measured(truth, predicted, fitted.classes_, scores=scores, probabilities=found)
    if "/" in cell.dataset or len(truth) > MOST_HELD_OUT:  # of the registry's sets nobody asks
        return values
    return values | {"held_out": _held_out(fitted.classes_, truth, predicted, scores, found)}


def _judged_quantity(fitted, unseen, truth, predicted) -> dict:
    """All metrics of a quantity, the predictions, and how many targets the intervals of a model that has them contain."""
    values = measured_quantity(truth, predicted)
    model = final_estimator(fitted)
    if hasattr(model, "prediction_interval"):
        low, high = model.prediction_interval(fitted[:-1].transform(unseen), INTERVAL).T
        values["covered"] = float(np.mean((low <= truth) & (truth <= high)))
    if len(truth) > MOST_HELD_OUT:
        return values
    return values | {"held_out": {"truth": truth.tolist(), "predicted": predicted.tolist()}}


def _held_out(classes, truth, predicted, scores, found) -> dict:
    """Labels of the test rows, by number, and of two classes the score of the second: its probability if there is one."""
    shown = None
    if len(classes) == 2 and (scores is not None or found is not None):
        shown = (scores if found is None else found[:, 1]).round(5).tolist()
    return {
        "classes": [str(name) for name in classes],
        "truth": np.searchsorted(classes, truth).tolist(),
        "predicted": np.searchsorted(classes, predicted).tolist(),
        "scores": shown,
        "is_probability": found is not None,
    }


def refittable(fitted, n_folds):
    """A copy that may be fitted on other rows: a search that was given its folds draws as many of its own."""
    model = clone(fitted)
    if "model__cv" in model.get_params():
        model.set_params(model__cv=n_folds)
    return model


def _paper(cell, task) -> dict:
    """As printed: the folds that choose the hyper-parameters are the folds that are reported."""
    folds = paper_folds(task, cell)
    chosen = choose(cell, task.X, task.y, folds)
    return {
        "accuracy": chosen.score,
        "params": _plain(chosen.params),
        "n_configurations": chosen.n_configurations,
        "n_train": len(folds[0][0]),
        "n_test": len(folds[0][1]),
        "tune_seconds": chosen.seconds,
    }


def _test_fold(cell, task) -> dict:
    """Nested, and beside it the configuration that is best on the test part itself, with its accuracy there."""
    train, test = outer_split(task, cell)
    encoded = task.encoded(train, test)
    rows, y = np.concatenate(encoded), task.y[np.concatenate([train, test])]
    parts = np.arange(len(train)), np.arange(len(train), len(y))
    leaked = choose(cell, rows, y, [parts])
    nested = _nested(cell, task)
    return nested | {
        "accuracy": leaked.score,
        "params": _plain(leaked.params),
        "nested_accuracy": nested["accuracy"],
        "nested_params": nested["params"],
    }


def _timing(cell, task) -> dict:
    """Seconds of one fit on nine tenths of the set, at hyper-parameters chosen on a sample of it."""
    train, test = paper_folds(task, cell)[0]
    X, y = task.X[train], task.y[train]
    rows = np.arange(len(y))
    if len(y) > cell.timing_rows:
        rows = stratified_rows(y, cell.timing_rows, seed_for("timing", cell.dataset, cell.run))
    chosen = choose(cell, X[rows], y[rows], inner_folds(y[rows], cell))
    seconds, began = [], time.perf_counter()
    while not seconds or (time.perf_counter() - began < TIMING_SECONDS and len(seconds) < TIMING_REPEATS):
        fitted, taken = fit_chosen(cell, chosen, X, y)
        seconds.append(taken)
    return {
        "fit_seconds": float(np.median(seconds)),
        "n_fits": len(seconds),
        "accuracy": float(fitted.score(task.X[test], task.y[test])),
        "params": _plain(chosen.params),
        "n_configurations": chosen.n_configurations,
        "n_train": len(train),
        "n_test": len(test),
        "tune_seconds": chosen.seconds,
        "gap": _gap(fitted),
    }


_PROTOCOLS = {"nested": _nested, "paper": _paper, "test-fold": _test_fold, "timing": _timing, "pairs": verified}


def fit_chosen(cell, chosen: Chosen, X, y):
    """The model at the chosen configuration and its seconds; those of the search, where that made it.

    Of the processor, not of the clock: what else runs on the machine is no property of the model.
    """
    if chosen.estimator is not None:
        return chosen.estimator, chosen.seconds
    model = pipeline(within_rank(cell, len(y)), **chosen.params)
    start = time.process_time()
    model.fit(X, y)
    return model, time.process_time() - start


def _gap(fitted) -> float | None:
    gap = getattr(final_estimator(fitted), "dual_gap_", None)
    return None if gap is None else float(gap)


def _plain(params) -> dict:
    return {name: value.item() if isinstance(value, np.generic) else value for name, value in params.items()}


def _counted(caught) -> list[dict]:
    """Warnings by kind, with the first message of each."""
    kinds = Counter(w.category.__name__ for w in caught)
    first = {w.category.__name__: str(w.message)[:300] for w in reversed(caught)}
    return [{"kind": kind, "count": count, "message": first[kind]} for kind, count in kinds.items()]


__all__ = ["OutOfTime", "fit_chosen", "refittable", "run_cell", "time_limit"]
