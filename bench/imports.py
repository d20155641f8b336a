"""Measure the packages and patterns that are imported or compiled late, and write docs/development/imports.md.

    python bench/imports.py [--runs 5]

Every figure is the best of the runs, in milliseconds. Each package is imported in its own process, so that modules that
several packages import are counted for each. A pattern is compiled with an empty cache.
"""

import argparse
import importlib
import os
import pkgutil
import re
import subprocess
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(ROOT))

import clio  # noqa: E402 the path must be set first
from clio.text.lazy_regex import LazyRegex  # noqa: E402
from tests.test_architecture import HEAVY  # noqa: E402
from tests.test_lazy_imports import asked  # noqa: E402

PAGE = ROOT / "docs" / "development" / "imports.md"
_TIMED = "import time; begin = time.perf_counter(); import {0}; print((time.perf_counter() - begin) * 1000)"
_INTRO = """# Late imports and patterns

Slow packages and patterns that not every command needs are imported, or compiled, when they are first used. This page
lists all of them; `python bench/imports.py` measures them and writes the page, and `tests/test_architecture.py` checks
that it is complete.
"""
_PACKAGES = """
## Packages imported inside functions

Time to import the package alone, in a new process with cached byte code. "–": not installed here.

| package | ms | imported by |
|---|--:|---|
"""
_PATTERNS = """
## Modules whose patterns are compiled when first used

`LazyRegex` is for modules that a plain question loads and whose patterns take more than 0.05 ms, and for modules loaded
later whose patterns take more than 1 ms together, or are generated from a table. A pattern with `needs=` is only
searched for in a text that contains one of these words. All other modules use `re.compile`.

| module | patterns | ms | a plain question loads it |
|---|--:|--:|---|
"""


def measure_import(package: str, runs: int, cache: str) -> str:
    """Return the time of importing a package in a new process in milliseconds; "–" if it cannot be imported.

    cache: folder for the byte code, which the first run writes and the others read.
    """
    env = {name: value for name, value in os.environ.items() if name != "PYTHONDONTWRITEBYTECODE"}
    times: list[float] = []
    for _ in range(runs + 1):
        process = subprocess.run(
            [sys.executable, "-c", _TIMED.format(package)],
            capture_output=True, text=True, check=False, env=env | {"PYTHONPYCACHEPREFIX": cache},
        )  # fmt: skip
        if process.returncode:
            return "–"
        times.append(float(process.stdout))
    return f"{min(times):.0f}"


def measure_patterns(runs: int) -> dict[str, tuple[int, float]]:
    """Return the number of patterns and the time to compile them by module that imports `LazyRegex`."""
    patterns: list[tuple[str, LazyRegex]] = []
    init = LazyRegex.__init__

    def record(self: LazyRegex, pattern: str, flags: int = 0, **hints: Any) -> None:
        init(self, pattern, flags, **hints)
        patterns.append((sys._getframe(1).f_globals["__name__"], self))

    LazyRegex.__init__ = record  # type: ignore[method-assign]
    by_module: dict[str, tuple[int, float]] = {}
    for module in pkgutil.walk_packages(clio.__path__, "clio."):
        if not module.name.endswith("__main__"):
            loaded = importlib.import_module(module.name)
            if "LazyRegex" in vars(loaded) and module.name != LazyRegex.__module__:
                by_module[module.name] = (0, 0.0)
    for name, pattern in patterns:
        count, total = by_module.get(name, (0, 0.0))
        by_module[name] = count + 1, total + min(measure_compile(pattern) for _ in range(runs))
    return by_module


def measure_compile(pattern: LazyRegex) -> float:
    """Return the time of compiling a pattern in milliseconds."""
    re.purge()
    started = time.perf_counter()
    re.compile(pattern.pattern, pattern.flags)
    return (time.perf_counter() - started) * 1000


def main() -> None:
    """Measure and write the page."""
    parser = argparse.ArgumentParser()
    parser.add_argument("--runs", type=int, default=5)
    runs = parser.parse_args().runs
    with tempfile.TemporaryDirectory() as folder:
        packages = [
            f"| `{name}` | {measure_import(name, runs, folder)} "
            f"| {', '.join(f'`{each}`' for each in sorted(users)) or '–'} |\n"
            for name, users in sorted(HEAVY.items())
        ]
        loaded = asked(Path(folder))
    pattern_rows = [
        f"| `{name}` | {count} | {total:.1f} | {'yes' if name in loaded else 'no'} |\n"
        for name, (count, total) in sorted(measure_patterns(runs).items(), key=lambda item: -item[1][1])
    ]
    PAGE.write_text("".join([_INTRO, _PACKAGES, *packages, _PATTERNS, *pattern_rows]), encoding="utf-8")


if __name__ == "__main__":
    main()
