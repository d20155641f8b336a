"""The user's own pager."""

import sys
from pathlib import Path

import pytest

from clio.ui.terminal_handoff import show_in_pager

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the stand-ins are shell commands")


def test_the_text_is_sent_to_the_pager_without_control_sequences(tmp_path: Path) -> None:
    target = tmp_path / "paged"
    assert show_in_pager("one\x1b[8m two\x07\n", {"PAGER": f"tee {target}"})
    assert target.read_text(encoding="utf-8") == "one two\n"


def test_a_pager_closed_early_is_no_error() -> None:
    assert show_in_pager("line\n" * 200_000, {"PAGER": "true"})


def test_without_any_pager_the_caller_must_show_the_text() -> None:
    assert not show_in_pager("text", {"PAGER": "there-is-no-such-pager", "PATH": "/nowhere"})
    assert not show_in_pager("text", {"PAGER": "an 'open quote", "PATH": "/nowhere"})
