"""What differs between scikit-learn versions, in one place."""

from __future__ import annotations

from contextlib import contextmanager

try:  # scikit-learn >= 1.9; this branch alone remains once that is the oldest version supported
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands in for scikit-learn's mixin: no callbacks."""

    def with_callbacks(method):
        return method


def callback_context(estimator):
    """The root callback context of a fit; None where nobody listens, since building one would cost more than a small fit."""
    if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
        return estimator._init_callback_context(max_subtasks=None)
    return None


@contextmanager
def report_task(context, estimator, **data):
    """Around a piece of work that a callback context is report_task of; of one that failed no end is report_task."""
    context.call_on_fit_task_begin(estimator=estimator, **data)
    yield
    context.call_on_fit_task_end(estimator=estimator, **data)


__all__ = ["CallbackSupportMixin", "callback_context", "report_task", "with_callbacks"]
