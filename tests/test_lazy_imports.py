"""A module imported inside a function is one that a simple question does not load."""

import os
import subprocess
import sys
from pathlib import Path

from tests.support.chat_server import ChatServer, text
from tests.test_architecture import HEAVY, imports, modules, package_of

# One question of a user without any configuration in an empty folder; then all loaded modules.
QUESTION = """
import sys
from clio.cli import main
code = main(["-p", "hi"])
print(code, *sys.modules, file=sys.stderr)
"""
STARTS = ("cli", "__main__", "entrypoints", "app")
"""They select what runs, so they import what they select."""


def test_lazily_imported_modules_are_not_loaded_by_a_simple_question(tmp_path: Path) -> None:
    loaded = asked(tmp_path)
    late = {
        target: name
        for name, path in modules().items()
        if package_of(name) not in STARTS
        for target, place in imports(path)
        if place == "lazy" and target in modules()
    }
    assert {target: f"imported lazily by {name}" for target, name in late.items() if target in loaded} == {}


# Modules that the interactive shell imports before its first prompt accepts input.
PROMPT = """
import sys
import clio.entrypoints.repl.repl, clio.ui.completer, clio.ui.prompt_line
print(*sys.modules)
"""


def prompt_modules() -> set[str]:
    """Return the modules needed for the first prompt."""
    done = subprocess.run([sys.executable, "-c", PROMPT], capture_output=True, text=True, timeout=60, check=True)
    return set(done.stdout.split())


def test_the_first_prompt_needs_neither_rich_nor_memory_nor_the_agent() -> None:
    loaded = prompt_modules()
    late = (
        "rich",
        "clio.memory.",
        "clio.providers.http",
        "clio.tools.",
        "clio.agent.conversation",
        "clio.ui.diff_view",
        "clio.ui.markdown",
        "clio.ui.screen",
    )
    assert [name for name in sorted(loaded) if name.startswith(late)] == []


def test_only_heavy_third_party_packages_are_imported_lazily() -> None:
    at_prompt = prompt_modules()
    wrong = [
        f"{name} imports {target}"
        for name, path in modules().items()
        if package_of(name) not in STARTS
        for target, place in imports(path)
        if place == "lazy" and not target.startswith((*HEAVY, "clio"))
        if target.split(".")[0] not in sys.stdlib_module_names
        if not (target.startswith("rich") and name in at_prompt)  # 40 ms, after the first prompt
    ]
    assert wrong == []


def asked(folder: Path) -> set[str]:
    """Return the modules in memory after one question."""
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
