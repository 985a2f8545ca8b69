"""The arrows between packages point one way."""

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import radiusmargin

ROOT = Path(radiusmargin.__file__).parent
# package -> what it may import from this project, beside names for types
ALLOWED = {
    "problems": {"_checks"},
    "solvers": {"_checks", "_core", "problems"},
    "geometry": {"_checks"},
    "chunks": {"problems"},
    "features": {"_checks", "_core", "geometry", "problems", "solvers"},
    "models": {"_checks", "_compat", "chunks", "features", "geometry", "problems", "solvers"},
    "selection": {"_checks", "_compat", "chunks", "features", "geometry", "models", "problems", "solvers"},
    "datasets": set(),
    "pairs": {"datasets", "models", "selection"},
    "plots": {"features", "geometry", "models", "selection"},
    "export": {"datasets", "models", "selection"},
    "experiments": {
        "datasets",
        "export",
        "features",
        "geometry",
        "models",
        "pairs",
        "plots",
        "report",
        "selection",
        "solvers",
    },
    "commands": {"datasets", "experiments", "export", "models", "plots", "report", "solvers", "pairs"},
    "report": set(),
}
ONLY_ARRAYS = {"problems", "solvers", "geometry"}


def imports(path):
    """(package of this project or None, top-level module) for every import of a file."""
    package = ("radiusmargin", *path.relative_to(ROOT).parent.parts)
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.Import):
            yield from (alias.name.split(".") for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            base = list(package[: len(package) - node.level + 1]) if node.level else []
            module = base + (node.module.split(".") if node.module else [])
            if module == ["radiusmargin"]:
                yield from ([*module, alias.name] for alias in node.names)
            else:
                yield module


@pytest.mark.parametrize("package", ALLOWED)
def test_imports_point_one_way(package):
    for path in sorted((ROOT / package).rglob("*.py")):
        for name in imports(path):
            if name[0] == "radiusmargin" and len(name) > 1 and name[1] not in (package, "_types"):
                assert name[1] in ALLOWED[package], f"{path.relative_to(ROOT)} imports {'.'.join(name)}"
            if package in ONLY_ARRAYS:
                assert name[0] not in ("sklearn", "pandas", "matplotlib"), f"{path.relative_to(ROOT)} imports {name[0]}"


def test_importing_the_package_stays_light():
    script = "import sys, radiusmargin; print(sorted(m for m in ('matplotlib', 'jinja2', 'click', 'cvxpy', 'dask') if m in sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
        == "[]"
    )
