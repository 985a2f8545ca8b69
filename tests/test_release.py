"""What is published says the same everywhere: the conda recipe, the citation file and pyproject.toml."""

import re
import tomllib
from pathlib import Path

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
RECIPE = (ROOT / "conda" / "recipe.yaml").read_text(encoding="utf-8")


def bare(requirement):
    return requirement.replace(" ", "")


def test_the_conda_recipe_has_the_dependencies_of_the_package():
    section = re.search(r"\n  run:\n((?:    - .*\n)+)", RECIPE).group(1)
    run = {bare(line.removeprefix("    - ")) for line in section.splitlines()}
    assert run == {bare(d) for d in PROJECT["dependencies"]} | {f"python{PROJECT['requires-python']}"}


def test_the_conda_recipe_builds_with_what_the_package_builds_with():
    build = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["build-system"]["requires"]
    section = re.search(r"\n  host:\n((?:    - .*\n)+)", RECIPE).group(1)
    assert {bare(d) for d in build} <= {bare(line.removeprefix("    - ")) for line in section.splitlines()}


def test_the_version_is_the_same_everywhere():
    for name, pattern in (("conda/recipe.yaml", r"version: ([\d.]+)"), ("CITATION.cff", r"\nversion: \"?([\d.]+)")):
        assert re.search(pattern, (ROOT / name).read_text(encoding="utf-8")).group(1) == PROJECT["version"]
