"""The commands, one file each; only what is called is imported."""

from __future__ import annotations

import importlib
import os
import signal
import threading
from contextlib import contextmanager

import click

from ...tables import DataError, UnknownNameError
from .shared import console

__all__ = ["cli", "run"]

COMMANDS = ("paper", "compare", "fit", "predict", "describe", "export", "reproduce", "datasets", "info", "completion")


class _Lazy(click.Group):
    """A group that imports a command when it is asked for, so that ``--help`` is quick."""

    def list_commands(self, context):
        return list(COMMANDS)

    def get_command(self, context, name):
        if name not in COMMANDS:
            return None
        return importlib.import_module(f".{name}", __package__).command


@click.group(cls=_Lazy, context_settings={"help_option_names": ["-h", "--help"], "max_content_width": 110})
@click.version_option(package_name="radiusmargin")
def cli():
    """Radius-margin support vector machines: compare them on your data, fit one and predict with it, and reproduce the
    F-SVM paper.

    Exit codes: 0 done; 1 not done, or not all of it; 2 a call that makes no sense; 130 stopped by the user;
    143 ended by SIGTERM.
    """


@contextmanager
def _terminable():
    """Let SIGTERM end the command by an exception, so that it ends its workers and removes its temporary files."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def stop(number, frame):
        raise SystemExit(128 + number)

    before = signal.signal(signal.SIGTERM, stop)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)


def run(arguments=None) -> int:
    """Run a command and turn whatever happens into an exit code and a message."""
    errors = console(stderr=True, soft_wrap=True)
    try:
        with _terminable():
            return cli(args=arguments, prog_name="radiusmargin", standalone_mode=False) or 0
    except click.ClickException as error:
        error.show()
        return 2
    except (click.Abort, KeyboardInterrupt):
        errors.print("stopped; what was finished is in the store, if one was given", style="yellow")
        return 130
    except BrokenPipeError:  # whoever read our output has seen enough
        os.dup2(os.open(os.devnull, os.O_WRONLY), 1)
        return 0
    except (DataError, OSError) as error:
        errors.print(f"error: {error}", style="red", markup=False)
        return 2 if isinstance(error, UnknownNameError) else 1
