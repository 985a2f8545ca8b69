"""Killed at random moments and started again each time, a command ends with the store of a quiet run.

The number of kills is small here, for each takes a start; ``RADIUSMARGIN_KILLS=20 pytest tests/hostile`` has twenty.
"""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("click")

N_KILLS = int(os.environ.get("RADIUSMARGIN_KILLS", "5"))
SPEC = """
name = "tiny"
datasets = ["sklearn/iris", "builtin/twonorm"]
models = ["svm", "fsvm"]
folds = 3
inner_folds = 2
budget = 2
max_rows = 60
"""
COMPARE = ["compare", "--datasets", "sklearn/iris,builtin/twonorm", "--models", "svm,fsvm", "--folds", "3"]
COMPARE += ["--inner-folds", "2", "--max-rows", "60", "--jobs", "1", "--store", "cells.jsonl", "--report", ""]
REPRODUCE = ["reproduce", "tiny.toml", "--jobs", "1", "--out", "."]


def run(folder, command) -> int:
    for name in ("quiet", "killed"):
        (folder / name).mkdir()
        (folder / name / "tiny.toml").write_text(SPEC, encoding="utf-8")
    script = Path(__file__).with_name("kill.py")
    call = [sys.executable, str(script), str(N_KILLS), "0.3", str(folder / "quiet"), str(folder / "killed"), *command]
    env = {**os.environ, "OPENBLAS_NUM_THREADS": "1"}
    return int(subprocess.run(call, env=env, check=True, capture_output=True, text=True, timeout=300).stdout)


def results(path):
    """What a store says, without the clock: the records by key, and that no cell was kept twice."""
    records = []
    for line in path.read_bytes().splitlines():
        try:
            records.append(json.loads(line))
        except ValueError:  # a line that was torn by the kill
            continue
    assert len({record["key"] for record in records}) == len(records)
    timed = ("seconds", "tune_seconds", "fit_seconds", "predict_seconds", "provenance")
    return {r["key"]: {name: value for name, value in r.items() if name not in timed} for r in records}


@pytest.mark.skipif(
    not hasattr(os, "fork"), reason="children that are killed are made by os.fork, which this system lacks"
)
@pytest.mark.parametrize("command", [COMPARE, REPRODUCE], ids=["compare", "reproduce"])
def test_kills_leave_the_store_of_a_quiet_run(tmp_path, command):
    assert run(tmp_path, command) >= 2
    quiet = results(tmp_path / "quiet" / "cells.jsonl")
    assert len(quiet) == 12
    assert results(tmp_path / "killed" / "cells.jsonl") == quiet
    pages = [path.read_text(encoding="utf-8") for path in (tmp_path / "killed").glob("*.html")]
    assert all(page.rstrip().endswith("</html>") for page in pages)
