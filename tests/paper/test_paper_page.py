"""docs/paper.md: every equation, table and figure is there, and every name, file and command of it exists."""

import inspect
import re
import shlex
from importlib import import_module
from pathlib import Path

import click
import pytest

import radiusmargin
from radiusmargin.app.commands import cli
from radiusmargin.paper import builtin_specs
from radiusmargin.paper.figures import PICTURES

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "paper.md").read_text(encoding="utf-8")
ROWS = [[cell.strip() for cell in line.strip("|").split("|")] for line in PAGE.splitlines() if line.startswith("| ")]
NAMES = sorted({name for row in ROWS if len(row) == 5 for name in re.findall(r"`([\w.]+)`", row[2])})
FILES = sorted({name for row in ROWS if len(row) == 5 for name in re.findall(r"`([\w./]+\.py)`", row[3])})
COMMANDS = sorted(set(re.findall(r"`(radiusmargin [^`]+)`", PAGE)))


def numbers(word):
    """All that follow a word in the first column, "Eq. 1, 7" and "28 to 33" among them."""
    found = set()
    for first in (row[0] for row in ROWS):
        for text in re.findall(rf"{word} ((?:\d+(?: to |, )?)+)", first):
            for low, high in re.findall(r"(\d+)(?: to (\d+))?", text):
                found |= set(range(int(low), int(high or low) + 1))
    return found


def resolved(name):
    thing, *rest = name.split(".")
    found = getattr(radiusmargin, thing, None) or import_module(f"radiusmargin.{thing}")
    for part in rest:
        assert part in found.__all__
        found = getattr(found, part)
    return found


def test_nothing_of_the_paper_is_missing():
    assert numbers("Eq.") >= set(range(1, 34))
    assert numbers("Table") == set(range(1, 7))
    assert numbers("Figure") == set(range(1, 6))
    assert numbers("Theorem") == {1, 2, 3, 4}
    assert "Algorithm 1" in {row[0] for row in ROWS}
    assert "Lemma A.1, A.2, A.3" in {row[0] for row in ROWS}


@pytest.mark.parametrize("name", [name for name in NAMES if not name.endswith("=")])
def test_names_exist_and_are_public(name):
    assert callable(resolved(name))


def test_parameters_that_go_with_a_name_exist():
    pairs = [
        (name, parameter)
        for row in ROWS if len(row) == 5
        for name, rest in re.findall(r"`([\w.]+)` with ((?:`\w+=[^`]*`(?: and )?)+)", row[2])
        for parameter in re.findall(r"`(\w+)=", rest)
    ]  # fmt: skip
    assert len(pairs) > 5
    for name, parameter in pairs:
        assert parameter in inspect.signature(resolved(name)).parameters, f"{name} has no {parameter}"


@pytest.mark.parametrize("name", FILES)
def test_files_exist(name):
    assert (ROOT / "src" / "radiusmargin" / name).is_file()


@pytest.mark.parametrize("call", COMMANDS)
def test_commands_exist(call):
    name, *words = shlex.split(call)[1:]
    command = cli.get_command(click.Context(cli), name)
    known = {option for parameter in command.params for option in parameter.opts}
    assert {word for word in words if word.startswith("-")} <= known
    if name == "reproduce":
        assert words[0] in {*builtin_specs(), *PICTURES}


@pytest.mark.parametrize("number", sorted(set(re.findall(r"\bE\d+\b", PAGE))))
def test_errata_are_listed_on_the_page_of_the_mathematics(number):
    assert f"| {number} |" in (ROOT / "docs" / "mathematics.md").read_text(encoding="utf-8")
