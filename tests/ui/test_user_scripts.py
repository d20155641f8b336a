"""The user's own programs for the status line and for notifications."""

import json
import sys
import threading
from pathlib import Path

import pytest

from clio.config.layers import load_config
from clio.config.options import Options
from clio.ui.user_scripts import NotifyScript, ScriptFailed, StatusScript, run_script, sanitize_status
from tests.support.waiting import wait_until

PYTHON = f"{sys.executable} -c"


@pytest.mark.parametrize(
    ("printed", "shown"),
    [
        (b"main \xe2\x9c\x93\nsecond\n", "main ✓"),
        (b"\x1b[1;31mred\x1b[0m end", "\x1b[1;31mred\x1b[0m end"),
        (b"\x1b[38;5;200ma \x1b[48;2;1;2;3mb\x1b[m", "\x1b[38;5;200ma \x1b[48;2;1;2;3mb\x1b[0m"),
        (b"\x1b[8mhidden\x1b[5;7mx", "hiddenx"),
        (b"\x1b[38;5;999mx", "x"),
        (b"\xff\xfe", "\ufffd\ufffd"),
    ],
)
def test_only_harmless_colours_of_the_first_line_remain(printed: bytes, shown: str) -> None:
    assert sanitize_status(printed, colour=True) == shown


@pytest.mark.parametrize("attack", [b"\x1b]52;c;YQ==\x07", b"\x1b[2J", b"\x1b[1A\x1b[2K", b"\x9b31m", b"\r", b"\x1bc"])
def test_no_other_sequence_reaches_the_terminal(attack: bytes) -> None:
    shown = sanitize_status(b"a" + attack + b"b", colour=True)
    assert "\x1b" not in shown and shown.isprintable()
    assert "\x1b" not in sanitize_status(b"\x1b[31mred", colour=False)


def test_a_program_that_fails_hangs_or_is_missing_is_named_without_its_output() -> None:
    for command, why in (
        ("no-such-program-here", "not found"),
        (f"{PYTHON} 'print(1); raise SystemExit(3)'", "3"),
        (f"{PYTHON} 'import time; time.sleep(60)'", "longer"),
        ("'", "command line"),
    ):
        with pytest.raises(ScriptFailed, match=why):
            run_script(command, b"{}", 0.3 if "sleep" in command else 30)


def test_the_status_script_runs_only_on_changes_and_its_failure_is_reported_once(tmp_path: Path) -> None:
    log = tmp_path / "log"
    script = tmp_path / "line.py"
    script.write_text(
        f"import sys\ntext = sys.stdin.read()\nopen({str(log)!r}, 'a').write(text + '\\n')\nprint(text)\n"
    )
    drawn = threading.Event()
    line = StatusScript(f"{sys.executable} -S -E {script}", drawn.set, colour=False)
    import clio.ui.user_scripts as module

    module_limit, module.STATUS_LIMIT_S = module.STATUS_LIMIT_S, 30.0
    try:
        for _ in range(5):
            line.update({"model": "m", "tokens": 1})
        assert drawn.wait(30) and json.loads(line.line) == {"model": "m", "tokens": 1}
        line.update({"model": "m", "tokens": 1})
        line.update({"model": "m", "tokens": 2})
        wait_until(lambda: '"tokens":2' in line.line)
        assert len(log.read_text().splitlines()) == 2 and line.take_problem() == ""
    finally:
        module.STATUS_LIMIT_S = module_limit
    failing = StatusScript("no-such-program-here", drawn.set, colour=False)
    failing.update({"model": "m"})
    wait_until(lambda: bool(failing._problem))  # pyright: ignore[reportPrivateUsage]
    assert "no-such-program-here" in failing.take_problem() and failing.take_problem() == ""


def test_the_notify_command_gets_a_sentence_and_the_details(tmp_path: Path) -> None:
    out = tmp_path / "out"
    code = f"import sys; open({str(out)!r}, 'w').write(sys.argv[1] + chr(10) + sys.stdin.read())"
    script = tmp_path / "n.py"
    script.write_text(code)
    NotifyScript(f"{sys.executable} {script}").start("done\x1b[31m after 3 s", {"event": "turn"}).join(30)
    sentence, facts = out.read_text().split("\n")
    assert "\x1b" not in sentence and "after 3 s" in sentence and json.loads(facts)["event"] == "turn"


def test_a_project_cannot_name_either_program(tmp_path: Path) -> None:
    project, home = tmp_path / "p", tmp_path / "h"
    (project / ".clio").mkdir(parents=True)
    (project / ".clio" / "config.yaml").write_text("status_line: evil\nnotify_command: evil\n")
    loaded = load_config(Options(cwd=project), {"CLIO_HOME": str(home), "HOME": str(home)})
    assert loaded.config.status_line is None and loaded.config.notify_command is None
    assert len(loaded.problems) == 2
