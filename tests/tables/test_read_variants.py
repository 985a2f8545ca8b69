"""A table that is written in another way is read to the same values, or asked about: the quick part of ``make fuzz``."""

import subprocess
import sys
from pathlib import Path

import pytest

pytest.importorskip("pandas")
FUZZ = Path(__file__).parents[1] / "fuzz" / "written_tables.py"


def test_tables_written_in_many_ways_are_read_to_the_same_values():
    done = subprocess.run([sys.executable, FUZZ, "--variants", "60"], capture_output=True, text=True, check=False)
    assert done.returncode == 0, done.stdout + done.stderr
    assert "60 tables: " in done.stdout
    assert " 0 wrong" in done.stdout
