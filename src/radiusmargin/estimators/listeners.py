"""Who is told of a fit while it runs: scikit-learn's callbacks, and the terminal."""

from __future__ import annotations

import sys
from contextlib import ExitStack, contextmanager, nullcontext

from .._compat import callback_context, told


class Listeners:
    """Those of one fit of a model on some rows."""

    def __init__(self, model, X, y):
        self.model, self.context, self.data = model, callback_context(model), {"X": X, "y": y}

    def fit(self):
        """Around the whole of it."""
        return nullcontext() if self.context is None else told(self.context, self.model, **self.data)

    def problems(self, labels):
        """Around the solution of some labellings, which are solved together."""
        return nullcontext() if self.context is None else self._told_of(labels)

    @contextmanager
    def _told_of(self, labels):
        with ExitStack() as stack:
            for y in labels:
                context = self.context.subcontext(task_name="problem")
                stack.enter_context(told(context, self.model, X=self.data["X"], y=y))
            yield

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
