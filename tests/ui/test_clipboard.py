"""The program that reads a picture from the clipboard, when its result is no longer needed."""

import asyncio
import os
from pathlib import Path

import pytest

from clio.ui.line_keys import read_clipboard_image
from tests.support.waiting import wait_until_async


def test_a_program_no_longer_waited_for_is_ended(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    pid_path = tmp_path / "pid"
    program = f'#!/bin/sh\necho $$ > "{pid_path}.new"\nmv "{pid_path}.new" "{pid_path}"\nexec sleep 600\n'
    for name in ("xclip", "pngpaste"):
        (tmp_path / name).write_text(program, encoding="utf-8")
        (tmp_path / name).chmod(0o755)
    monkeypatch.setenv("PATH", f"{tmp_path}:{os.environ['PATH']}")
    monkeypatch.delenv("WAYLAND_DISPLAY", raising=False)

    async def ask() -> None:
        task = asyncio.create_task(read_clipboard_image())
        await wait_until_async(lambda: pid_path.exists() or task.done())
        assert not task.done()
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task

    asyncio.run(ask())
    with pytest.raises(ProcessLookupError):
        os.kill(int(pid_path.read_text(encoding="utf-8")), 0)
