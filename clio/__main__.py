"""`python -m clio` is `clio`, except that Python itself looks for modules in the current folder until this line runs."""

import sys

if __name__ == "__main__":
    if not sys.flags.safe_path:
        # `-m` puts the current folder first. A module there named like one of Python's must not be loaded.
        del sys.path[0]
    from clio.cli import command

    command()
