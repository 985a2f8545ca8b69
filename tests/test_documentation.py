"""What README and the pages of docs/ say runs: blocks of Python are executed, lines of shell are calls that exist.

Blocks of a page share their names and are run in order, in an empty folder. They may use what every reader has: rows `X`, labels `y` of
two classes (-1 and +1), new rows `X_new`, a symmetric positive definite `B`, and `texts` with `labels` and `new_texts`. Not run are blocks after ``<!-- not run: why -->``,
and those with a place to fill in: ``...``.
"""

import inspect
import re
import shlex
from importlib import import_module
from importlib.util import module_from_spec, spec_from_file_location
from pathlib import Path

import numpy as np
import pytest
from sklearn.datasets import load_breast_cancer

ROOT = Path(__file__).parents[1]
PAGES = sorted([ROOT / "README.md", *(p for p in ROOT.glob("docs/**/*.md") if "_build" not in p.parts)])
BLOCK = re.compile(r"(<!-- not run: [^\n]+-->\n)?^```(\w*)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
INDENTED = re.compile(r"(?:^(?: {4}[^\n]*)?\n)+", re.MULTILINE)
CALL = re.compile(r"^(?:\$ )?(radiusmargin [a-z][^#\n]*)", re.MULTILINE)


def named(path):
    return str(path.relative_to(ROOT))


def blocks(path, *languages):
    """(line, code) of the blocks in these languages that are to be run."""
    text = path.read_text(encoding="utf-8")
    for match in BLOCK.finditer(text):
        if match[2] in languages and not match[1] and not (match[2] == "python" and "..." in match[3]):
            yield text[: match.start(3)].count("\n") + 1, match[3]


def calls(path):
    """Lines that call the command line, in blocks of shell and in indented ones."""
    indented = INDENTED.findall(BLOCK.sub("", path.read_text(encoding="utf-8")))
    texts = [code for _, code in blocks(path, "sh", "console")] + [re.sub("(?m)^ {4}", "", text) for text in indented]
    return [call.strip() for text in texts for call in CALL.findall(text)]


def everybodys():
    X, y = load_breast_cancer(return_X_y=True)
    X, y = X[:200, :8], 2 * y[:200] - 1
    texts = [f"a text on {kind} number {k}" for k in range(20) for kind in ("margins", "metrics")]
    written = {"texts": texts, "labels": ["margins", "metrics"] * 20, "new_texts": texts[:3]}
    return {"X": X, "y": y, "X_new": X[:3], "B": np.eye(X.shape[1])} | written


def api_pages():
    """What makes the pages of the API reference."""
    spec = spec_from_file_location("pages", ROOT / "docs" / "_ext" / "pages.py")
    module = module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize("page", [p for p in PAGES if any(blocks(p, "python"))], ids=named)
def test_python_of_a_page_runs(page, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    names = everybodys()
    for line, code in blocks(page, "python"):
        exec(compile("\n" * line + code, str(page), "exec"), names)  # so that an error names the line of the page


@pytest.mark.parametrize("page", [p for p in PAGES if calls(p)], ids=named)
def test_commands_of_a_page_exist(page):
    """Command and options are known; nothing is run."""
    click = pytest.importorskip("click", reason="the command line needs radiusmargin[experiments]")
    from radiusmargin.app.commands import cli

    context = click.Context(cli)
    for call in calls(page):
        name, *words = shlex.split(call)[1:]
        command = cli.get_command(context, name)
        assert command is not None, f"{call}: no such command"
        known = {option for parameter in command.params for option in [*parameter.opts, *parameter.secondary_opts]}
        for word in words:
            assert not word.startswith("-") or word in {*known, "--help"}, f"{call}: no such option as {word}"


@pytest.mark.parametrize("page", [*PAGES, ROOT / "CONTRIBUTING.md", ROOT / "benchmarks" / "RESULTS.md"], ids=named)
def test_files_that_a_page_names_exist(page):
    named_files = re.findall(
        r"\b(?:benchmarks|examples|tests|src|docs)/[\w/]+\.(?:py|md|hpp|cpp)\b", page.read_text("utf-8")
    )
    missing = [name for name in named_files if not (ROOT / name).exists() and "yours" not in name]
    assert not missing


def test_tests_name_the_identities_of_the_mathematics_page():
    listed = set(re.findall(r"^\| ([A-Z]+\d+) \|", (ROOT / "docs/mathematics.md").read_text("utf-8"), re.MULTILINE))
    numbers = re.compile(r"\b[Ii]dentit(?:y|ies) ((?:[A-Z]+\d+(?:, | and )?)+)")
    texts = [path.read_text("utf-8") for path in (ROOT / "tests").rglob("test_*.py")]
    named = {number for text in texts for found in numbers.findall(text) for number in re.findall(r"[A-Z]+\d+", found)}
    assert named == {number for number in listed if not number.startswith("E")}  # of errata not all can be tested


def test_blocks_and_calls_are_found(tmp_path):
    """The reader of pages finds what it is to find."""
    page = tmp_path / "page.md"
    page.write_text(
        "```python\n1 / 0\n```\n<!-- not run: why -->\n```python\nno()\n```\n\n```python\nno('...')\n```\n\n    radiusmargin nonsense --x  # y\n"
    )
    assert [code for _, code in blocks(page, "python")] == ["1 / 0\n"]
    assert calls(page) == ["radiusmargin nonsense --x"]


@pytest.mark.parametrize("package", api_pages().packages())
def test_every_public_name_has_a_page(package):
    module = import_module(package)
    text = api_pages().page(package, {})
    assert inspect.getdoc(module) in text
    assert all(
        f"   {name}\n" in text or f":py:obj:`{name} <" in text for name in module.__all__
    )  # or another name of one
