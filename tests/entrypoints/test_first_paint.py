"""The prompt drawn before any import, in a real terminal."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
ROOT = Path(__file__).parent.parent.parent
START = "import os, sys, termios\nfrom clio.entrypoints import first_paint\nbefore = termios.tcgetattr(0)\n"
SAME = "print('same' if termios.tcgetattr(0) == before else 'changed')\n"


def program(code: str, **env: str) -> PtySession:
    full = {"PYTHONPATH": str(ROOT), "LANG": "C.UTF-8", "PYTHONUTF8": "1", **env}
    return PtySession([sys.executable, "-c", START + code], cwd=ROOT, env=full, columns=40, lines=6)


def test_typed_keys_are_invisible_and_kept() -> None:
    code = "first_paint.paint_prompt()\nos.read(0, 1)\nfirst_paint.release_line()\nprint('READ', os.read(0, 99))\n"
    with program(code) as shell:
        shell.wait_for("❯")
        shell.send("xabc\r")
        shell.wait_for("READ")
        assert shell.text == "READ b'abc\\r'"  # the carriage return moved back over the prompt; nothing was echoed


@pytest.mark.fast
def test_clear_removes_everything() -> None:
    with program("first_paint.paint_prompt()\nfirst_paint.restore_terminal()\n" + SAME) as shell:
        assert shell.wait_exit() == 0
        assert shell.text == "same"


def test_painting_twice_has_no_further_effect() -> None:
    code = (
        "first_paint.paint_prompt()\nfirst_paint.paint_prompt()\nfirst_paint.restore_terminal()\nfirst_paint.restore_terminal()\n"
        + SAME
    )
    with program(code) as shell:
        assert shell.wait_exit() == 0
        assert shell.text == "same"


def test_exit_restores_the_terminal() -> None:
    code = "import atexit\natexit.register(lambda: print('same' if termios.tcgetattr(0) == before else 'changed'))\n"
    with program(code + "first_paint.paint_prompt()\nsys.exit(3)\n") as shell:
        assert shell.wait_exit() == 3
        assert shell.text == "same"


def test_ctrl_c_still_works() -> None:
    # The program must still be running when the key arrives.
    with program("first_paint.paint_prompt()\nimport time\ntime.sleep(20)\n") as shell:
        shell.wait_for("❯")
        shell.key("ctrl-c")
        assert shell.wait_exit() != 0
        assert "KeyboardInterrupt" in shell.everything


@pytest.mark.parametrize(
    ("env", "prompt"),
    [({"TERM": "linux"}, ">"), ({"PYTHONUTF8": "0", "PYTHONIOENCODING": "latin-1"}, ">"), ({"NO_COLOR": "1"}, "❯")],
)
def test_the_prompt_depends_on_the_terminal(env: dict[str, str], prompt: str) -> None:
    with program("first_paint.paint_prompt()\nos.read(0, 1)\n", **env) as shell:
        shell.wait_for(prompt)
        assert shell.text == prompt
        assert ("NO_COLOR" in env) is (b"\x1b[" not in shell.raw)


def test_nothing_is_painted_on_a_dumb_terminal() -> None:
    with program("first_paint.paint_prompt()\n" + SAME, TERM="dumb") as shell:
        assert shell.wait_exit() == 0
        assert shell.raw == b"same\r\n"


def test_nothing_is_painted_without_a_terminal() -> None:
    calls = "first_paint.paint_prompt(); first_paint.release_line(); first_paint.restore_terminal()"
    code = f"from clio.entrypoints import first_paint; {calls}"
    done = subprocess.run(
        [sys.executable, "-c", code], cwd=ROOT, capture_output=True, stdin=subprocess.DEVNULL, check=True
    )
    assert done.stdout + done.stderr == b""


def test_painting_imports_next_to_nothing() -> None:
    code = "import sys; from clio.entrypoints import first_paint; print(*sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], cwd=ROOT, capture_output=True, text=True, check=True)
    assert {"typing", "re", "asyncio", "msgspec", "pathlib", "collections"}.isdisjoint(done.stdout.split())
