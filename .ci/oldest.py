"""The oldest versions that pyproject.toml allows of what the package and its extras need, as constraints for pip."""

import re
import tomllib
from pathlib import Path

EXTRAS = ("experiments", "dask", "export", "faces")
# What those versions need of others, which they did not know yet: pytest of scikit-learn's estimator checks, pyparsing of Matplotlib,
# onnx of skl2onnx.
THEIR_OWN = ("pytest==8.*", "pyparsing==3.1.*", "onnx==1.17.*")

project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text(encoding="utf-8"))["project"]
extras = [requirement for extra in EXTRAS for requirement in project["optional-dependencies"][extra]]
for requirement in [*project["dependencies"], *extras, *THEIR_OWN]:
    print(re.sub(r"^([\w-]+)(?:\[.*\])?>=([\d.]+)$", r"\1==\2.*", requirement))  # a constraint has no extras
