"""The command lines in `script_lines.txt`: everyday ones that need no approval, and attacks that do."""

import shlex
from functools import cache
from pathlib import Path

CORPUS = Path(__file__).parent / "script_lines.txt"


def corpus_lines() -> list[tuple[str, str]]:
    """Return each line with its verdict: "run" if it is judged read-only, "ask" otherwise."""
    found: list[tuple[str, str]] = []
    for row in CORPUS.read_text(encoding="utf-8").splitlines():
        if row and not row.startswith("#"):
            verdict, line = row.split(" ", 1)
            found.append((verdict, line.strip().replace("␤", "\n")))
    return found


@cache
def read_corpus(program: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the scripts of a program's everyday lines, and those of its attacks."""
    scripts: dict[str, list[str]] = {"run": [], "ask": []}
    for verdict, line in corpus_lines():
        words = shlex.split(line) if line.startswith(f"{program} ") else []
        script = max((word for word in words[1:] if not word.startswith("-")), key=len, default="")
        if script:
            scripts[verdict].append(script)
    return tuple(scripts["run"]), tuple(scripts["ask"])
