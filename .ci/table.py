"""Run the command of a table of docs/ again, and rewrite its block and record: .ci/table.py NAME [options of reproduce].

The store is one for each commit, so that an interrupted run goes on and no cell of older code is taken for one of this.
"""

import json
import shlex
import subprocess
import sys
from pathlib import Path

from radiusmargin.app.cli import main

ROOT = Path(__file__).parents[1]
name, *options = sys.argv[1:]
name = name.removesuffix("-differences")  # written with the table that it is behind
record = json.loads((ROOT / "docs" / "tables" / f"{name}.json").read_text(encoding="utf-8"))
if record["facts"]["protocol"].startswith("quoted"):
    sys.exit(f"{name} is quoted from others: there is nothing to run")
commit = subprocess.run(
    ["git", "describe", "--always", "--dirty"], cwd=ROOT, capture_output=True, text=True, check=True
).stdout.strip()
places = ["--out", str(ROOT / "build" / "tables" / commit), "--into", f"{ROOT / 'docs' / record['page']}#{name}"]
sys.exit(main([*shlex.split(record["command"])[1:], *options, *places]))
