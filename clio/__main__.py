"""`python -m clio` is `clio`, except that Python looks for modules in the current folder until this file runs."""

import os
import sys


def _leave_current_folder() -> None:
    """Remove the current directory, which `-m` adds, from the module path: a project may contain a `json.py`."""
    try:
        current = os.getcwd()  # noqa: PTH109 pathlib would be looked for in that folder
    except OSError:
        return  # the directory was deleted, so Python has not added it
    if sys.path[:1] == [current]:
        del sys.path[0]


if __name__ == "__main__":
    if not sys.flags.safe_path:
        _leave_current_folder()
    from clio.cli import command

    command()
