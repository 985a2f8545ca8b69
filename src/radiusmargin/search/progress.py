"""What a search tells while it runs: a bar on standard error, and scikit-learn's callbacks."""

from __future__ import annotations

import sys
import time
from contextlib import contextmanager, nullcontext

from .._compat import callback_context, told

WIDTH = 30


class Progress:
    """Tells how many of the expected scores are known."""

    def __init__(self, search):
        self.search, self.context = search, callback_context(search)
        self.known, self.expected, self.drawn, self.start = 0, 0, None, time.perf_counter()

    @property
    def is_complete(self):
        return 0 < self.expected <= self.known

    @contextmanager
    def whole(self):
        """Around the search and what follows it."""
        with self._told(self.context):
            try:
                yield
            finally:
                if self.search.verbose:
                    print(file=sys.stderr)

    @contextmanager
    def task(self, name):
        """Around a piece of work."""
        with self._told(self.context and self.context.subcontext(task_name=name)):
            self.draw()
            yield
        self.draw()

    def _told(self, context):
        return nullcontext() if context is None else told(context, self.search)

    def draw(self):
        """On a terminal whenever something has changed, elsewhere when all is known."""
        if not self.search.verbose or self.drawn == self.known or not (sys.stderr.isatty() or self.is_complete):
            return
        self.drawn = self.known
        share = min(1.0, self.known / max(1, self.expected))
        seconds = time.perf_counter() - self.start
        left = f", {seconds / share - seconds:.0f} s left" if 0 < share < 1 else ""
        bar = ("#" * round(WIDTH * share)).ljust(WIDTH, ".")
        text = f"[FSVMCV] {bar} {self.known} of {self.expected} scores, {seconds:.0f} s{left}"
        print(f"\r{text:<79}", end="", file=sys.stderr, flush=True)
