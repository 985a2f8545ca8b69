"""Ctrl-C while LAPACK factorises a matrix of some thousand columns: it is not waited for."""

import os
import signal
import threading
import time

import numpy as np
import pytest

from radiusmargin import _linalg


@pytest.fixture
def interrupt_soon():
    """Interrupt this process a moment after the call, as Ctrl-C does."""
    before = signal.signal(signal.SIGINT, signal.default_int_handler)  # workers of pytest-xdist ignore it
    timer = threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT))
    yield timer.start
    timer.join()
    signal.signal(signal.SIGINT, before)


@pytest.mark.parametrize("name", ["eigh", "svd"])
def test_ctrl_c_does_not_wait_for_a_factorisation(name, interrupt_soon):
    A = np.random.default_rng(0).standard_normal((1200, 1200))
    A += A.T
    with pytest.raises(KeyboardInterrupt):  # noqa: PT012, the interrupt may come at any moment from the start of the timer
        interrupt_soon()
        getattr(_linalg, name)(A)
    at_work = [thread for thread in threading.enumerate() if thread.name.startswith(f"{name} of")]
    assert at_work  # it had not come to its end
    while any(thread in threading.enumerate() for thread in at_work):  # one that is just starting cannot be joined
        time.sleep(0.01)


def test_large_matrices_are_factorised_as_small_ones_are():
    A = np.random.default_rng(0).standard_normal((500, 300))
    np.testing.assert_array_equal(_linalg.svd(A, full_matrices=False)[1], np.linalg.svd(A, full_matrices=False)[1])
    np.testing.assert_array_equal(_linalg.qr(A, mode="r"), np.linalg.qr(A, mode="r"))
    with pytest.raises(np.linalg.LinAlgError):
        _linalg.eigh(A)  # not square
