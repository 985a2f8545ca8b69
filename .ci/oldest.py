"""The oldest versions that pyproject.toml allows of what the package and its experiments need, as constraints for pip."""

import re
import tomllib
from pathlib import Path

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
for requirement in [*project["dependencies"], *project["optional-dependencies"]["experiments"]]:
    print(re.sub(r">=([\d.]+)$", r"==\1.*", requirement))
