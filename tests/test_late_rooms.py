"""An import inside a function hides an arrow. Its one reason: what is behind it is not for every start."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.chat_server import ChatServer, text
from tests.test_architecture import HEAVY, imports, modules, room

# One question of a person who has nothing configured, in a folder that holds nothing; then all that it took.
QUESTION = """
import sys
from clio.cli import main
code = main(["-p", "hi"])
print(code, *sys.modules, file=sys.stderr)
"""
STARTS = ("cli", "__main__", "entrypoints", "app")
"""They choose what is to run, so they open what they choose."""


def test_what_is_opened_late_is_not_for_every_question(tmp_path: Path) -> None:
    opened = asked(tmp_path)
    late = {
        target: name
        for name, path in modules().items()
        if room(name) not in STARTS
        for target, place in imports(path)
        if place == "lazy" and target in modules()
    }
    assert {target: f"opened late by {name}" for target, name in late.items() if target in opened} == {}


def test_of_other_packages_only_the_heavy_ones_wait() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if room(name) not in STARTS
        for target, place in imports(path)
        if place == "lazy" and not target.startswith((*HEAVY, "clio"))
        if target.split(".")[0] not in sys.stdlib_module_names
    ]
    assert wrong == []


def asked(folder: Path) -> set[str]:
    """The modules in memory after one question."""
    with ChatServer([text("hello")]) as server:
        env = dict(os.environ) | {"OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "k", "CLIO_MODEL": "m"}
        done = subprocess.run(
            [sys.executable, "-c", QUESTION],
            capture_output=True, text=True, timeout=60, check=True, env=env, cwd=folder,
        )  # fmt: skip
    assert done.stdout == "hello\n"
    code, *names = done.stderr.split()
    assert code == "0"
    return set(names)
