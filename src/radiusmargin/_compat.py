"""What differs between scikit-learn versions, in one place."""

from __future__ import annotations

try:  # scikit-learn >= 1.9; this branch alone remains once that is the oldest version supported
    from sklearn.callback import CallbackSupportMixin, with_callbacks
except ImportError:

    class CallbackSupportMixin:
        """Stands in for scikit-learn's mixin: no callbacks."""

        def _init_callback_context(self, **kwargs):
            return _NoContext()

    def with_callbacks(method):
        return method

    class _NoContext:
        def subcontext(self, **kwargs):
            return self

        def call_on_fit_task_begin(self, **kwargs):
            pass

        def call_on_fit_task_end(self, **kwargs):
            return False


__all__ = ["CallbackSupportMixin", "with_callbacks"]
