"""`python -m clio` is `clio`."""

from clio.cli import command

if __name__ == "__main__":
    command()
