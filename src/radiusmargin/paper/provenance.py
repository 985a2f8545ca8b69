"""Where a result comes from: versions, processor, threads, time."""

from __future__ import annotations

import os
import platform
import time
from functools import cache
from importlib import metadata
from pathlib import Path

__all__ = ["compiled_core", "package_versions", "provenance"]

PACKAGES = ("radiusmargin", "numpy", "scipy", "scikit-learn", "joblib", "clarabel")


@cache
def package_versions() -> dict[str, str]:
    """Versions of Python and of the packages a number depends on."""
    versions = {"python": platform.python_version()}
    for name in PACKAGES:
        try:
            versions[name] = metadata.version(name)
        except metadata.PackageNotFoundError:
            versions[name] = "not installed"
    return versions


@cache
def processor() -> str:
    """The processor's name, as well as the system tells it."""
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                return line.partition(":")[2].strip()
    except OSError:
        pass
    return platform.processor() or platform.machine()


@cache
def compiled_core() -> bool:
    """Whether the compiled core serves, rather than its NumPy twin."""
    from ..solvers import COMPILED

    return COMPILED


def usable_cores() -> int:
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


def provenance() -> dict:
    """What goes with every record of the store."""
    return {
        "versions": package_versions(),
        "compiled_core": compiled_core(),
        "cpu": processor(),
        "cores": usable_cores(),
        "system": f"{platform.system()} {platform.machine()}",
        "time": time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime()),
    }
