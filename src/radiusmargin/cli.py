"""The command line: ``radiusmargin compare | reproduce | datasets | info``.

Exit codes: 0 done, 1 done but some cells failed, 2 a bad call or bad data, 3 a missing optional package, 130
stopped by the user.
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
        return 3
    return run(arguments)


if __name__ == "__main__":
    sys.exit(main())
