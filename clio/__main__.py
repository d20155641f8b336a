"""`python -m clio` is `clio`, except that Python looks for modules in the current folder until this file runs."""

import os
import sys


def _leave_current_folder() -> None:
    """Take the current folder off the module path, where `-m` put it: a project may have a file named `json.py`."""
    try:
        current = os.getcwd()  # noqa: PTH109 pathlib would be looked for in that folder
    except OSError:
        return  # the folder is gone, so Python has not put it there
    if sys.path[:1] == [current]:
        del sys.path[0]


if __name__ == "__main__":
    if not sys.flags.safe_path:
        _leave_current_folder()
    from clio.cli import command

    command()
