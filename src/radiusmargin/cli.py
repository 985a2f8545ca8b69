"""The command line: ``radiusmargin compare | reproduce | datasets | info``.

Exit codes: 0 done; 1 not done, or not all of it: data that cannot be used, cells that failed, a package that is not
installed; 2 a call that makes no sense: an option, model, data set or column that does not exist; 130 stopped by the
user.
"""

from __future__ import annotations

import sys

__all__ = ["main"]

OPTIONAL = ("click", "rich", "pandas", "jinja2", "matplotlib")


def main(arguments=None) -> int:
    """Run the command line; the return value is the exit code."""
    try:
        from .commands import run
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] not in OPTIONAL:
            raise
        print(
            f"radiusmargin: the command line needs {error.name}, which is not installed.\n"
            "Install what it needs with:  pip install 'radiusmargin[experiments]'",
            file=sys.stderr,
        )
        return 1
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
