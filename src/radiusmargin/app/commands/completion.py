"""``radiusmargin completion``: what a shell needs to complete our commands, options and names of models."""

from __future__ import annotations

import click
from click.shell_completion import get_completion_class

__all__ = ["command"]


@click.command("completion")
@click.argument("shell", type=click.Choice(["bash", "zsh", "fish"]))
def command(shell):
    """Print a script that completes our commands; for bash, put into ~/.bashrc: eval "$(radiusmargin completion bash)"."""
    from . import cli

    script = get_completion_class(shell)(cli, {}, "radiusmargin", "_RADIUSMARGIN_COMPLETE")
    click.echo(script.source())
    return 0
