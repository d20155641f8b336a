"""A module imported inside a function is one that a plain question does not load."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.chat_server import ChatServer, text
from tests.test_architecture import HEAVY, imports, modules, package_of

# One question of a user without any configuration in an empty folder; then all modules that were loaded.
QUESTION = """
import sys
from clio.cli import main
code = main(["-p", "hi"])
print(code, *sys.modules, file=sys.stderr)
"""
STARTS = ("cli", "__main__", "entrypoints", "app")
"""They choose what runs, so they import what they choose."""


def test_lazily_imported_modules_are_not_loaded_by_a_plain_question(tmp_path: Path) -> None:
    loaded = asked(tmp_path)
    late = {
        target: name
        for name, path in modules().items()
        if package_of(name) not in STARTS
        for target, place in imports(path)
        if place == "lazy" and target in modules()
    }
    assert {target: f"imported lazily by {name}" for target, name in late.items() if target in loaded} == {}


def test_only_heavy_third_party_packages_are_imported_lazily() -> None:
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if package_of(name) not in STARTS
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
