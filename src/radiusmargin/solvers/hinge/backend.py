"""The compiled core, or its NumPy twin where that was not built."""

from __future__ import annotations

from functools import cache

from threadpoolctl import ThreadpoolController

from . import numpy_twin

try:
    from scipy.linalg import cython_blas, cython_lapack

    from ... import _core as backend

    backend.use_blas(cython_blas.__pyx_capi__ | cython_lapack.__pyx_capi__)
    COMPILED = True
except ImportError:  # installed with RADIUSMARGIN_PURE_PYTHON=1
    backend = numpy_twin
    COMPILED = False


def one_blas_thread():
    """Skinny Gram matrices are slower on several BLAS threads; problems are what we thread over."""
    return _threadpools().limit(limits=1, user_api="blas")


@cache
def _threadpools():
    return ThreadpoolController()
