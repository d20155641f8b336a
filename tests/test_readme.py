"""The commands of the README are run as written, offline, in a separate project."""

import re
import shlex
import subprocess
import sys
from pathlib import Path

import pytest

from tests.entrypoints.repl_support import Place
from tests.support.harness import make_repository

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the README's commands are a POSIX shell's")
ROOT = Path(__file__).parent.parent
# Commands that install, need a server or stay open; their flags are checked by tests of the command line.
_ELSEWHERE = re.compile(
    r"pip install|^uv |^pipx |^uvx |export OPENAI|--provider|--base-url|clio mcp|^clio -c\b|^clio --incognito$"
)


def commands() -> list[str]:
    blocks = re.findall(r"```sh\n(.*?)```", (ROOT / "README.md").read_text(encoding="utf-8"), re.DOTALL)
    lines = (re.sub(r"\s+#\s.*$", "", line).strip() for block in blocks for line in block.splitlines())
    return [line for line in lines if line]


def test_the_readme_can_be_read_in_two_minutes() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert len(text.splitlines()) <= 150
    for link in re.findall(r"\]\(([^)#:]+)[)#]", text):
        assert (ROOT / link).exists(), link


def test_every_command_of_the_readme_runs(tmp_path: Path) -> None:
    place = Place(tmp_path / "home" / "shop", tmp_path / "home")
    make_repository(place.project, {"retry.py": '"""The retry policy: three tries."""\n'})
    run = [line for line in commands() if not _ELSEWHERE.search(line)]
    assert len(run) >= 10
    clio = f'clio() {{ {shlex.quote(sys.executable)} -m clio "$@"; }}\n'
    failed: list[str] = []
    for line in run:
        done = subprocess.run(
            ["bash", "-c", clio + line], cwd=place.project, env=place.env(CLIO_PROVIDER="offline"),
            input="", capture_output=True, text=True, check=False, timeout=60,
        )  # fmt: skip
        if done.returncode != 0:
            failed.append(f"{line}: {done.returncode}: {done.stderr.strip()[-200:]}")
    assert failed == []
    own = {"retry.py", ".git", ".gitignore", ".clio", "AGENTS.md"}
    new = {path.name for path in place.project.iterdir()} - own
    assert not new, "an example that writes a file names a folder outside the project"
