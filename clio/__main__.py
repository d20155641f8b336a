"""`python -m clio` is `clio`."""

import sys

from clio.cli import main

if __name__ == "__main__":
    sys.exit(main())
