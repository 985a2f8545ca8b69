import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))  # for stubs.py, also in the processes that tests start
