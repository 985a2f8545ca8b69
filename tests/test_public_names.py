"""Every public name says what it takes: type hints, and a word on every parameter."""

import inspect
import re
from dataclasses import is_dataclass
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import pytest

PAGES = Path(__file__).parents[1] / "docs" / "_ext" / "pages.py"
SECTION = re.compile(r"^(\w[\w ]*)\n-{3,}$", re.MULTILINE)
EMPTY = inspect.Parameter.empty


def packages():
    """Those whose names have a page in the API reference."""
    spec = spec_from_file_location("pages", PAGES)
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.packages()


def public():
    """The classes and functions of this project that others may import, each once, with the shortest of their names."""
    found = {}
    for package in packages():
        module = import_module(package)
        for name in module.__all__:
            thing = getattr(module, name)
            ours = getattr(thing, "__module__", "").startswith("radiusmargin")
            if ours and (inspect.isclass(thing) or inspect.isfunction(thing)):
                found.setdefault(thing, f"{package}.{name}")
    return [pytest.param(thing, id=name) for thing, name in found.items()]


def functions(thing):
    """A function, or the constructor, methods and properties that a class of this project has itself or from one."""
    if inspect.isfunction(thing):
        yield thing.__name__, thing
        return
    for name in dir(thing):
        member = inspect.getattr_static(thing, name)
        member = getattr(member, "__func__", member)  # of a class method
        member = getattr(member, "fget", None) or getattr(member, "func", member)  # of properties, cached ones too
        constructor = name == "__init__" and not is_dataclass(thing)  # fields have types anyhow
        if (constructor or not name.startswith("_")) and inspect.isfunction(member):
            member = inspect.unwrap(member)
            if member.__module__.startswith("radiusmargin"):
                yield name, member


def parameters(function):
    """Those that a caller gives; not what the class, or the decorator of a method, fills in."""
    taken = inspect.signature(function).parameters.values()
    return [p for p in taken if p.name not in ("self", "cls") and p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def sections(thing):
    """The parts of a docstring by their titles."""
    text = inspect.getdoc(thing) or ""
    _, *parts = SECTION.split(text)
    return dict(zip(parts[::2], parts[1::2], strict=True))


def described(thing):
    """The names under "Parameters"; several may share a line."""
    lines = re.findall(r"^(\w[^\n]*)$", sections(thing).get("Parameters", ""), re.MULTILINE)
    return {name.strip("* ") for line in lines for name in line.split(" : ")[0].split(",")}


@pytest.mark.parametrize("thing", public())
def test_every_public_function_has_type_hints(thing):
    missing = []
    for name, function in functions(thing):
        missing += [f"{name}: {p.name}" for p in parameters(function) if p.annotation is EMPTY]
        if name != "__init__" and inspect.signature(function).return_annotation is EMPTY:
            missing.append(f"{name}: return")
    assert not missing


@pytest.mark.parametrize("thing", public())
def test_every_public_name_describes_its_parameters(thing):
    if (inspect.isclass(thing) and issubclass(thing, BaseException)) or getattr(thing, "_is_protocol", False):
        return
    own = "__init__" in vars(thing) if inspect.isclass(thing) else True
    wanted = {p.name for p in parameters(thing)} if own or is_dataclass(thing) else set()
    assert wanted <= described(thing), f"not described: {sorted(wanted - described(thing))}"


def test_what_is_missing_is_found():
    def function(a, b: int):
        """Do.

        Parameters
        ----------
        a : int
        """

    assert [p.name for p in parameters(function) if p.annotation is EMPTY] == ["a"]
    assert described(function) == {"a"}
