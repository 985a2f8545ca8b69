"""Time limits: work that is stopped from within when its seconds are over."""

from __future__ import annotations

import signal
import threading
from contextlib import contextmanager

__all__ = ["OutOfTime", "time_limit"]


class OutOfTime(BaseException):
    """The seconds are over. No Exception: a search that goes on after a failed fit must not catch it."""


@contextmanager
def time_limit(seconds: float | None):
    """Raise OutOfTime in the block after so many seconds, at the next return to Python.

    Needs the alarm signal, hence a main thread and a POSIX system; elsewhere only what is over before it begins is stopped.

    >>> with time_limit(0.0):
    ...     pass
    Traceback (most recent call last):
        ...
    radiusmargin.paper.limits.OutOfTime
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

    before = signal.signal(signal.SIGALRM, stop)
    signal.setitimer(signal.ITIMER_REAL, seconds)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0.0)
        signal.signal(signal.SIGALRM, before)
