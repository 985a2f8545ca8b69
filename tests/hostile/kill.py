"""Run a command quietly in one folder; in another kill it without warning at random moments and start it again each time.

``kill.py N LONGEST QUIET KILLED COMMAND...`` kills N times, after LONGEST seconds or a third of the quiet run at most, and
prints how many of the runs had not ended by then. The command runs in children of this process, which has imported everything: a start is quick.
"""

import os
import random
import signal
import sys
import time
from importlib import import_module

from radiusmargin.app.cli import main

# What the commands import when they run, before the children are made.
for name in (
    "app.commands.compare",
    "app.commands.reproduce",
    "paper.outputs",
    "paper.results",
    "paper.workflow",
):
    import_module(f"radiusmargin.{name}")


def started(arguments) -> int:
    child = os.fork()
    if not child:
        silent = os.open(os.devnull, os.O_WRONLY)
        os.dup2(silent, 1)
        os.dup2(silent, 2)
        os._exit(main(arguments))
    return child


def killed_at(arguments, moment) -> bool:
    child = started(arguments)
    time.sleep(moment)
    os.kill(child, signal.SIGKILL)
    return os.WIFSIGNALED(os.waitpid(child, 0)[1])


def finished(arguments) -> None:
    code = os.waitstatus_to_exitcode(os.waitpid(started(arguments), 0)[1])
    assert code == 0, code


if __name__ == "__main__":
    n_kills, longest, quiet, killed, *command = sys.argv[1:]
    rng = random.Random(0)
    os.chdir(quiet)
    began = time.monotonic()
    finished(command)
    longest = min(float(longest), (time.monotonic() - began) / 3)  # else a quick command would end first
    os.chdir(killed)
    n_killed = sum(killed_at(command, rng.uniform(0.0, longest)) for _ in range(int(n_kills)))
    finished(command)
    print(n_killed)
