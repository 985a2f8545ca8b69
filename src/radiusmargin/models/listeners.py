"""Who is told of a fit while it runs: scikit-learn's callbacks, and the terminal."""

from __future__ import annotations

import sys
from contextlib import contextmanager

from .._compat import callback_context


class Listeners:
    """Those of one fit of a model on some rows."""

    def __init__(self, model, X, y):
        self.model, self.context, self.data = model, callback_context(model), {"X": X, "y": y}

    @contextmanager
    def fit(self):
        """Around the whole of it."""
        if self.context is None:
            yield
            return
        self.context.call_on_fit_task_begin(estimator=self.model, **self.data)
        yield
        self.context.call_on_fit_task_end(estimator=self.model, **self.data)

    @contextmanager
    def problems(self, labels):
        """Around the solution of some labellings, which are solved together."""
        told = [] if self.context is None else [self.context.subcontext(task_name="problem") for _ in labels]
        for k, context in enumerate(told):
            context.call_on_fit_task_begin(estimator=self.model, X=self.data["X"], y=labels[k])
        yield
        for k, context in enumerate(told):
            context.call_on_fit_task_end(estimator=self.model, X=self.data["X"], y=labels[k])

    @property
    def pairs(self):
        """What a kernel machine is to call while it runs: with pairs of rows and the gap, or nothing."""
        return self._print_pairs if self.model.verbose else None

    def _print_pairs(self, pairs, gap):
        print(f"\r[{type(self.model).__name__}] {pairs:,} pairs, gap {gap:.2g} ", end="", file=sys.stderr, flush=True)

    def report(self, k, result):
        """A line on problem k, where `verbose` asks for it."""
        if self.model.verbose:
            print(
                f"[{type(self.model).__name__}] problem {k + 1}: objective {result.objective:.6g}, gap {result.gap:.2g}, "
                f"{result.n_iter} iterations"
            )
