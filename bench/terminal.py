"""Measure what the user waits for in the terminal.

    python bench/terminal.py [SECTION ...]

A section is a module `bench/terminal_<section>.py` whose `report()` measures and prints. Asserts nothing.
"""

import argparse
import importlib
import sys
from pathlib import Path

HERE = Path(__file__).resolve().parent
sys.path[:0] = [str(HERE.parent), str(HERE)]


def main() -> None:
    """Run the named sections, or all."""
    known = sorted(path.stem.removeprefix("terminal_") for path in HERE.glob("terminal_*.py"))
    parser = argparse.ArgumentParser()
    parser.add_argument("sections", nargs="*", choices=[*known, []], help=", ".join(known))
    for section in parser.parse_args().sections or known:
        importlib.import_module(f"terminal_{section}").report()


if __name__ == "__main__":
    main()
