"""What differs between scikit-learn versions, in one place."""

from __future__ import annotations

try:  # scikit-learn >= 1.9; this branch alone remains once that is the oldest version supported
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands in for scikit-learn's mixin: no callbacks."""

    def with_callbacks(method):
        return method


class NoContext:
    """The context of an estimator without callbacks: building scikit-learn's would cost more than a small fit."""

    def subcontext(self, **kwargs):
        return self

    def call_on_fit_task_begin(self, **kwargs):
        pass

    def call_on_fit_task_end(self, **kwargs):
        return False


def callback_context(estimator):
    """The root callback context of a fit."""
    if hasattr(estimator, "_skl_callbacks") or hasattr(estimator, "_parent_callback_ctx"):
        return estimator._init_callback_context(max_subtasks=None)
    return NoContext()


__all__ = ["CallbackSupportMixin", "NoContext", "callback_context", "with_callbacks"]
