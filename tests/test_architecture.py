"""The arrows between packages point one way, and what goes along them fits in a hand."""

import ast
import subprocess
import sys
from graphlib import TopologicalSorter
from pathlib import Path

import pytest

import radiusmargin

ROOT = Path(radiusmargin.__file__).parent
# room (a package or a module) -> what it imports from this project, beside names for types
ARROWS = {
    "kernels": {"_checks", "_core"},
    "scatter": {"_blocks", "_checks", "_linalg"},
    "geometry": {"_checks", "scatter"},
    "solvers": {"_blocks", "_checks", "_core", "_linalg"},
    "multiclass": {"_blocks", "solvers"},
    "outofcore": {"_blocks", "_checks", "multiclass", "scatter", "solvers"},
    "estimators": {
        "_blocks", "_checks", "_compat", "_linalg", "geometry", "kernels", "multiclass", "outofcore", "scatter", "solvers",
    },
    "search": {
        "_blocks", "_checks", "_compat", "_linalg", "estimators", "geometry", "kernels", "multiclass", "outofcore", "scatter",
        "solvers", "tables",
    },
    "tables": set(),
    "plots": {"_writing", "estimators", "geometry", "search"},
    "paper": {"_writing", "estimators", "geometry", "plots", "search", "solvers", "tables"},
    "app": {"_writing", "estimators", "kernels", "multiclass", "paper", "search", "tables"},
}  # fmt: skip
ONLY_ARRAYS = {"scatter", "geometry", "multiclass", "solvers"}
EVERYBODYS = {"_blocks", "_checks", "_compat", "_core", "_linalg", "_types", "_writing"}


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


def files_of(room):
    """The files of a package, or the one file of a module."""
    return sorted((ROOT / room).rglob("*.py")) or [ROOT / f"{room}.py"]


@pytest.mark.parametrize("package", ARROWS)
def test_imports_are_those_listed(package):
    seen = set()
    for path in files_of(package):
        for name in imports(path):
            if name[0] == "radiusmargin" and len(name) > 1 and name[1] not in (package, "_types"):
                assert name[1] in ARROWS[package], f"{path.relative_to(ROOT)} imports {'.'.join(name)}"
                seen.add(name[1])
            if package in ONLY_ARRAYS:
                assert name[0] not in ("sklearn", "pandas", "matplotlib"), f"{path.relative_to(ROOT)} imports {name[0]}"
    assert seen == ARROWS[package]  # and no others are


def test_arrows_point_one_way():
    TopologicalSorter(ARROWS).prepare()  # raises a CycleError


def test_every_room_is_listed():
    modules = {path.stem for path in ROOT.glob("*.py") if not path.name.startswith("_")}
    assert ARROWS.keys() == modules | {path.parent.name for path in ROOT.glob("*/__init__.py")}


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: str(path.relative_to(ROOT)))
def test_no_private_name_is_imported_from_another_package(path):
    package = path.relative_to(ROOT).parts[0].removesuffix(".py")
    for node in ast.walk(ast.parse(path.read_text())):
        if isinstance(node, ast.ImportFrom) and node.module and package not in node.module.split("."):
            names = [*node.module.split("."), *(alias.name for alias in node.names)]
            crossing = node.level > 1 or names[0] == "radiusmargin"
            private = {name for name in names if name.startswith("_") and not name.startswith("__")} - EVERYBODYS
            assert not (crossing and private), f"line {node.lineno} imports {private}"


OF_OTHERS = {"_init_callback_context", "_meta"}  # scikit-learn's, in _compat, and dask's


def private_attributes(path):
    """(those that a file defines, [(line, name)] of those that it asks other objects for)."""
    own, asked = set(), []
    for node in ast.walk(ast.parse(path.read_text())):
        name = getattr(node, "attr", None) or getattr(node, "name", None) or getattr(node, "id", None)
        if not isinstance(name, str) or not name.startswith("_") or name.startswith("__"):
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            if ast.unparse(node.value) not in ("self", "cls", "super()"):
                asked.append((node.lineno, name))
        else:
            own.add(name)
    return own, asked


@pytest.mark.parametrize("package", ARROWS)
def test_no_private_attribute_of_another_package_is_asked_for(package):
    files = {path: private_attributes(path) for path in files_of(package)}
    own = {name for names, _ in files.values() for name in names} | OF_OTHERS
    for path, (_, asked) in files.items():
        assert {name for _, name in asked} <= own, f"{path.relative_to(ROOT)}: {asked}"


@pytest.mark.parametrize("path", sorted(ROOT.rglob("*.py")), ids=lambda path: path.relative_to(ROOT).as_posix())
def test_no_call_passes_more_than_eight_arguments(path):
    """More of them are a noun that is missing."""
    calls = [node for node in ast.walk(ast.parse(path.read_text())) if isinstance(node, ast.Call)]
    assert not [f"line {call.lineno}" for call in calls if len(call.args) + len(call.keywords) > 8]


def test_importing_the_package_stays_light():
    script = "import sys, radiusmargin; print(sorted(m for m in ('matplotlib', 'jinja2', 'click', 'cvxpy', 'dask') if m in sys.modules))"
    assert (
        subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True).stdout.strip()
        == "[]"
    )
