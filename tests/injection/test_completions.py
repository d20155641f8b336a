"""Names that would run something, completed by real shells: Tab inserts one word, and nothing runs."""

import json
import os
import shutil
import sys
from pathlib import Path

import pexpect
import pytest

from clio.entrypoints.completions.scripts import make_completion_script

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="shells of POSIX")
RUNS = ("$(touch ran)", "`touch ran`", ";touch ran;", "a;touch ran", "a\ntouch ran\n", "$'\\x1b]0;x\\x07'")
TYPED = ("clio note show ", "clio skills show ", "clio style use ")


@pytest.fixture
def project(tmp_path: Path) -> Path:
    project, bin = tmp_path / "project", tmp_path / "bin"
    bin.mkdir()

    def write(name: str, words: str) -> None:
        path = project / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(words, encoding="utf-8")

    for number, name in enumerate(RUNS):
        note = {"key": name, "content": f"{name}\x1b]0;owned\x07\u200b", "timestamp": 1}
        write(f".clio/memory/n{number}.json", json.dumps(note))
        write(f".clio/memory/plain{number}.json", json.dumps(note | {"key": f"plain{number}"}))
        write(f".clio/skills/{name}/SKILL.md", "x")
        write(f".clio/styles/{name}.md", "x")
        write(f"files/{name}", "x")
    clio = bin / "clio"
    clio.write_text(f'#!/bin/sh\nexec "{sys.executable}" -m clio "$@"\n', encoding="utf-8")
    clio.chmod(0o755)
    for shell in ("bash", "zsh"):
        (tmp_path / f"clio.{shell}").write_text(make_completion_script(shell), encoding="utf-8")
    return project


@pytest.mark.parametrize("shell", ["bash", "zsh"])
def test_nothing_runs(project: Path, shell: str) -> None:
    if shutil.which(shell) is None:
        pytest.skip(f"{shell} is not installed")
    flags = {"bash": ["--norc", "--noprofile", "-i"], "zsh": ["-f", "-i"]}[shell]
    setup = {"bash": "", "zsh": "autoload -Uz compinit; compinit -u -D; "}[shell]
    env = {
        "PATH": f"{project.parent / 'bin'}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(Path(__file__).parents[2]),
        "HOME": str(project.parent),
        "LANG": "C.UTF-8",
        "TERM": "dumb",
    }
    child = pexpect.spawn(shell, flags, cwd=str(project), env=env, encoding="utf-8", timeout=60, dimensions=(60, 120))  # pyright: ignore[reportArgumentType]
    try:
        child.sendline(f"{setup}source ../clio.{shell}; PS1='> '; echo rea''dy")
        child.expect("ready")
        for typed in TYPED:
            child.send(f"{typed}\t\t\x15")  # the first Tab completes, the second lists; then the line is discarded
            child.sendline("echo ne''xt")
            child.expect("[\r\n]next")
            assert "\x1b]0;owned" not in child.before and "\u200b" not in child.before
        for name in RUNS:
            (project / "only").mkdir()
            (project / "only" / name).touch()
            child.send("clio docs add only/\t\x01: \x05\r")  # Tab, then a harmless line is run
            child.sendline("echo ne''xt")
            child.expect("[\r\n]next")
            shutil.rmtree(project / "only")
    finally:
        child.close(force=True)
    assert not list(project.rglob("ran"))
