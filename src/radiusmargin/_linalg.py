"""Factorisations that Ctrl-C need not wait for: those of some thousand columns take LAPACK minutes in one call."""

from __future__ import annotations

import threading
from contextvars import copy_context
from functools import partial, wraps

import numpy as np

SMALL = 1 << 17  # numbers of a matrix whose factorisation takes less than a second: a thread would only cost time


def interruptible(function):
    """Make a function of a matrix run in a thread while this one waits, if it is the one that gets signals and the work is long.

    After an interrupt the thread goes on in the background until its call ends, and what it returns is dropped. The interpreter
    waits for it before it ends: a BLAS that is unloaded while it works crashes.
    """

    @wraps(function)
    def call(matrix, *arguments, **options):
        if matrix.size <= SMALL or threading.current_thread() is not threading.main_thread():
            return function(matrix, *arguments, **options)
        done, found = threading.Event(), []
        work = partial(
            copy_context().run, function, matrix, *arguments, **options
        )  # with the errors that NumPy is to ignore
        name = f"{function.__name__} of {matrix.shape}"
        threading.Thread(target=_keep, args=(work, found, done), name=name).start()
        while not done.wait(0.1):  # without a limit no signal would get through on Windows
            pass
        result, error = found
        if error is not None:
            raise error
        return result

    return call


def _keep(work, found, done):
    """Run, and keep the result and the error, one of which is None."""
    try:
        found += [work(), None]
    except BaseException as error:
        found += [None, error]
    finally:
        done.set()


eigh = interruptible(np.linalg.eigh)
eigvalsh = interruptible(np.linalg.eigvalsh)
lstsq = interruptible(np.linalg.lstsq)
matmul = interruptible(np.matmul)
qr = interruptible(np.linalg.qr)
svd = interruptible(np.linalg.svd)

__all__ = ["eigh", "eigvalsh", "interruptible", "lstsq", "matmul", "qr", "svd"]
