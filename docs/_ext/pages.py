"""Pages that are made before the others are read: one for every public package, of the names in its ``__all__``."""

import inspect
from importlib import import_module
from pathlib import Path

# What others may import from; the rest is what the command line and the experiments are made of.
PUBLIC = (
    "estimators", "search", "kernels", "scatter", "geometry", "solvers", "outofcore", "tables", "plots", "app", "paper.data",
    "paper.faces",
)  # fmt: skip
# What a page says that is read both in the repository and here, and what it must say here.
PLACES = {
    "../benchmarks/RESULTS.md": "benchmarks.md",
    "../CONTRIBUTING.md": "contributing.md",
    "../CHANGELOG.md": "changelog.md",
}


def packages():
    """The package, and those in it that others may import from."""
    return ["radiusmargin", *(f"radiusmargin.{name}" for name in PUBLIC)]


def kinds(names, module):
    """The names as classes, functions and the rest, in this order."""
    members = {name: getattr(module, name) for name in names}
    classes = [name for name in names if inspect.isclass(members[name])]
    functions = [name for name in names if inspect.isroutine(members[name])]
    others = [name for name in names if name not in classes and name not in functions]
    return {"Classes": classes, "Functions": functions, "Constants": others}


def page(package, shown):
    """reStructuredText of a package's page; `shown` holds the classes and functions that have a page already."""
    module = import_module(package)
    again, new = {}, []
    for name in sorted(module.__all__, key=lambda name: getattr(getattr(module, name), "__name__", name) != name):
        place = shown.setdefault(id(getattr(module, name)), f"{package}.{name}")  # a second name comes after the first
        if place == f"{package}.{name}":
            new.append(name)
        else:
            again[name] = place
    new.sort()
    lines = [package, "=" * len(package), "", f".. currentmodule:: {package}", "", inspect.getdoc(module), ""]
    for title, names in kinds(new, module).items():
        if names:
            lines += [f".. rubric:: {title}", "", ".. autosummary::", "   :toctree: generated", ""]
            lines += [*(f"   {name}" for name in names), ""]
    if again:
        lines += ["Also here: " + ", ".join(f":py:obj:`{name} <{place}>`" for name, place in again.items()) + ".", ""]
    return "\n".join(lines)


def write(app, config):
    folder, shown = Path(app.srcdir) / "api", {}
    config.autosummary_generate = [
        f"api/{package}.rst" for package in packages()
    ]  # also where one is new since the last build
    for package in packages():
        path, text = folder / f"{package}.rst", page(package, shown)
        if not path.exists() or path.read_text(encoding="utf-8") != text:  # what is as it was need not be read again
            path.write_text(text, encoding="utf-8")


def at_home(app, name, source):
    """Links between files of the repository become links between pages."""
    if "/" not in name:
        for there, here in PLACES.items():
            source[0] = source[0].replace(f"]({there}", f"]({here}")


def setup(app):
    app.connect("config-inited", write)
    app.connect("source-read", at_home)
    return {"parallel_read_safe": True}
