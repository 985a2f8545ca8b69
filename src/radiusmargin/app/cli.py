"""The command line: ``radiusmargin compare | fit | predict | describe | export | reproduce | datasets | info | completion``.

Exit codes: 0 done; 1 not done, or not all of it: data that cannot be used, cells that failed, a package that is not
installed; 2 a call that makes no sense: an option, model, data set or column that does not exist; 130 stopped by the
user.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

OPTIONAL = ("click", "rich", "pandas", "jinja2", "matplotlib")

#: What ``--help`` says where click is not installed, which would say it better.
HELP = """\
Usage: radiusmargin [OPTIONS] COMMAND [ARGS]...

  Radius-margin support vector machines: compare them on your data, fit one and
  predict with it, and reproduce the F-SVM paper.

Options:
  --version   Show the version and exit.
  -h, --help  Show this message and exit.

The commands (compare, fit, predict, describe, export, reproduce, datasets, info,
completion) need packages that are not installed; in a clone of radiusmargin:

  pip install '.[experiments,export]'
"""


def main(arguments=None) -> int:
    """Run the command line; the return value is the exit code."""
    try:
        from .commands import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OPTIONAL:
            raise
        return _without_extras(sys.argv[1:] if arguments is None else arguments, error.name)
    return run(arguments)


def _without_extras(arguments, missing) -> int:
    """Version and help, which need nothing; else what to install."""
    if arguments[:1] == ["--version"]:
        from importlib.metadata import version

        print(f"radiusmargin, version {version('radiusmargin')}")
        return 0
    if not arguments or arguments[0] in ("-h", "--help"):
        print(HELP, end="")
        return 0
    print(
        f"radiusmargin: the command line needs {missing}, which is not installed.\n"
        "Install what it needs, in a clone of radiusmargin, with:  pip install '.[experiments,export]'",
        file=sys.stderr,
    )
    return 1


if __name__ == "__main__":
    sys.exit(main())
