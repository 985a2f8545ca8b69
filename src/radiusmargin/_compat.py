"""Differences between scikit-learn versions."""

from __future__ import annotations

from contextlib import contextmanager
from importlib import import_module
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


__all__ = ["CallbackSupportMixin", "callback_context", "reported_task", "with_callbacks"]
