"""A program that fails with a key in its message reports no key: in the turn, a thread, a task, an object."""

import os
import subprocess
import sys
from pathlib import Path

import pytest

from tests.security.secret_corpus import FORMS, RandomLetters

ROOT = Path(__file__).parent.parent.parent
KEY, OWN, SET = FORMS["openai"](RandomLetters("crash")), "ACME-774411", "set-" + RandomLetters("set")(20)
FAILING = """
import asyncio, gc, os, sys, threading
import clio.agent.loop as loop

WORDS = os.environ["WORDS"]

class Bad:
    def __del__(self):
        raise ValueError(f"object {WORDS}")

async def lost():
    raise ValueError(f"task {WORDS}")

def work():
    raise ValueError(f"thread {WORDS}")

async def run_turn(self, text):
    words = WORDS
    thread = threading.Thread(target=work, name=WORDS)
    thread.start()
    thread.join()
    task = asyncio.ensure_future(lost())
    await asyncio.wait([task])
    del task
    gc.collect()
    Bad()
    try:
        {}[words]
    except KeyError as error:
        raise RuntimeError(f"turn {words}") from error

loop.Loop.run_turn = run_turn
from clio.cli import main
sys.exit(main(sys.argv[1:]))
"""


@pytest.mark.parametrize("flags", [[], ["--debug"]], ids=["plain", "debug"])
def test_no_report_of_a_failure_contains_a_secret(tmp_path: Path, flags: list[str]) -> None:
    (tmp_path / ".clio").mkdir()
    settings = f'redact_patterns: ["ACME-\\\\d+"]\napi_key: {SET}\nprovider: offline\n'
    (tmp_path / ".clio" / "config.yaml").write_text(settings, encoding="utf-8")
    (tmp_path / "project").mkdir()
    done = subprocess.run(
        [sys.executable, "-c", FAILING, "-p", "hello", *flags],
        cwd=tmp_path / "project",
        env={"PATH": os.environ["PATH"], "HOME": str(tmp_path), "PYTHONPATH": str(ROOT), "WORDS": f"{KEY} {OWN} {SET}"},
        input="",
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    output = done.stdout + done.stderr
    kept = "".join(
        path.read_text(encoding="utf-8", errors="replace")
        for path in tmp_path.rglob("*")
        if path.is_file() and path.name != "config.yaml"
    )
    assert done.returncode == 1
    for where in ("turn", "thread", "task", "object"):
        assert f"{where} [REDACTED:openai-key] [REDACTED:custom] [REDACTED:environment]" in output
    assert ("Traceback" in output.split("object ", 1)[1]) is bool(flags)
    for secret in (KEY, KEY[-12:], OWN, SET, SET[-12:]):
        assert secret not in output + kept
