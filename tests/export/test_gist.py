"""A session shared as a secret gist with the user's gh."""

import asyncio
import os
import stat
import sys
from pathlib import Path

import pytest

from clio.commands.command import Confirm, ExportSession
from clio.commands.registry import run_command
from clio.entrypoints.background_work import export_to_file
from clio.errors import UserError
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="the pretended gh is a shell script")
SECRET = "ghp_" + "Zk3v9QmT7xLr2Wc8Yb5Nf1Hs6Gd4Jp0AeUi"


def test_the_user_is_asked_and_gh_gets_the_redacted_page(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    project, programs = tmp_path / "project", tmp_path / "bin"
    project.mkdir()
    programs.mkdir()
    gh = programs / "gh"
    gh.write_text(f'#!/bin/sh\nprintf "%s\\n" "$@" > {tmp_path}/args\nfor f; do :; done\ncp "$f" {tmp_path}/page\n'
                  "echo https://gist.github.com/someone/1a2b\n")  # fmt: skip
    gh.chmod(gh.stat().st_mode | stat.S_IXUSR)
    monkeypatch.setenv("PATH", f"{programs}{os.pathsep}{os.environ['PATH']}")
    with ChatServer([text("Done.")]) as server:
        harness = Harness(project, tmp_path / "home", server)
        asyncio.run(harness.turn(f"use the token {SECRET} please"))
        app = harness.app
        asked = run_command(app, "/session export --gist")
        assert isinstance(asked.follow_up, Confirm) and asked.table is not None and not (tmp_path / "args").exists()
        step = run_command(app, asked.follow_up.then).follow_up
        assert isinstance(step, ExportSession)
        assert "https://gist.github.com/someone/1a2b" in export_to_file(app, step).text
        words = (tmp_path / "args").read_text().splitlines()
        assert words[:2] == ["gist", "create"] and "--public" not in words and words[-1].endswith(".html")
        page = (tmp_path / "page").read_text()
        assert "please" in page and SECRET not in page
        assert not Path(words[-1]).exists()

        gh.write_text("#!/bin/sh\necho 'not logged in' >&2\nexit 4\n")
        with pytest.raises(UserError, match="not logged in"):
            export_to_file(app, step)
        gh.unlink()
        monkeypatch.setenv("PATH", str(programs))
        with pytest.raises(UserError, match="gh auth login"):
            export_to_file(app, step)
        refused = run_command(app, "/session export --gist")
        assert refused.follow_up is None and "gh auth login" in refused.text, "without a login there is no question"
        asyncio.run(app.close())
