"""The oldest versions that pyproject.toml allows of what the package and its extras need, as constraints for pip."""

import re
import tomllib
from pathlib import Path

EXTRAS = ("experiments", "dask", "export", "faces")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]]
for requirement in [*project["dependencies"], *extras]:
    print(
        re.sub(r"^([\w-]+)(?:\[.*\])?>=([\d.]+)$", r"\1==\2.*", requirement)
    )  # constraints have no extras of their own
