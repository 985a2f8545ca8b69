"""Differences between scikit-learn versions, and pickles of other versions of this package."""

from __future__ import annotations

import warnings
from contextlib import contextmanager
from importlib import import_module
from importlib.metadata import PackageNotFoundError, version
from typing import Any

try:  # scikit-learn >= 1.9; this branch alone remains once that is the oldest version supported
    callback = import_module("sklearn.callback")
    CallbackSupportMixin: Any = callback.CallbackSupportMixin
    with_callbacks: Any = callback.with_callbacks
except ImportError:  # no callbacks
    CallbackSupportMixin, with_callbacks = type("CallbackSupportMixin", (), {}), lambda method: method


def callback_context(estimator):
    """Return the root callback context of a fit; None without callbacks, since building one costs more than a small fit."""
    if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
        return estimator._init_callback_context(max_subtasks=None)
    return None


@contextmanager
def reported_task(context, estimator, **data):
    """Context manager: report task begin and end to the callbacks; the end is not reported if the task raises."""
    context.call_on_fit_task_begin(estimator=estimator, **data)
    yield
    context.call_on_fit_task_end(estimator=estimator, **data)


try:
    VERSION = version("radiusmargin")
except PackageNotFoundError:  # a source tree that was never installed
    VERSION = "0+unknown"


class VersionedPickleMixin:
    """Write the version of this package into pickles, and warn if another version loads them."""

    def __getstate__(self):
        return super().__getstate__() | {"_radiusmargin_version": VERSION}

    def __setstate__(self, state):
        written = state.get("_radiusmargin_version", VERSION)  # early pickles do not say
        if written != VERSION:
            warnings.warn(
                f"this {type(self).__name__} was pickled by radiusmargin {written} and is loaded by {VERSION}, which may fail or predict "
                "differently. Fit it again, or keep models in files of radiusmargin.app.save_bundle.",
                stacklevel=2,
            )
        super().__setstate__({name: value for name, value in state.items() if name != "_radiusmargin_version"})


__all__ = [
    "VERSION",
    "CallbackSupportMixin",
    "VersionedPickleMixin",
    "callback_context",
    "reported_task",
    "with_callbacks",
]
