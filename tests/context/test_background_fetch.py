"""A tokenizer encoding is downloaded in the background: from loopback, verified, with a time limit, if allowed."""

import asyncio
import hashlib
import os
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from msgspec import structs

from clio.context.encodings import CHILD_SCRIPT, BackgroundFetch, find_encoding, is_hosted_openai, list_encoding_folders
from tests.support.chat_server import text
from tests.support.rows import each_row
from tests.support.waiting import wait_until_async
from tests.test_doctor import EncodingServer
from tests.turns.conftest import MakeHarness, make_harness

__all__ = ["make_harness"]


@pytest.fixture
def server() -> Iterator[EncodingServer]:
    server = EncodingServer()
    yield server
    server.wait.set()
    server.http.shutdown()
    server.http.server_close()


def fetch(server: EncodingServer, home: Path, *, limit_s: float = 10.0, stops_when_asked: bool = False) -> Path | None:
    """Return the path of the file after the download has ended, or was stopped once the server got the request."""
    encoding = server.encoding

    async def run() -> None:
        background = BackgroundFetch(encoding, home, delay_s=0.0, limit_s=limit_s)
        background.begin()
        background.begin()
        if stops_when_asked:
            await wait_until_async(lambda: server.agents)
            await background.close()
        await background.wait()

    asyncio.run(run())
    return find_encoding(encoding, list_encoding_folders({}, home)[:1])


@pytest.mark.fast
def test_it_is_downloaded_once_into_clios_folder(tmp_path: Path, server: EncodingServer) -> None:
    path = fetch(server, tmp_path)
    assert path is not None and path.parent == tmp_path / "encodings"
    assert hashlib.sha256(path.read_bytes()).hexdigest() == server.encoding.sha256
    assert len(server.agents) == 1
    assert [one.name for one in path.parent.iterdir()] == [path.name]


def test_a_file_that_is_not_the_encoding_is_discarded(tmp_path: Path, server: EncodingServer) -> None:
    server.body = b"x" * len(server.body)
    assert fetch(server, tmp_path) is None
    left = [one for one in tmp_path.rglob("*") if one.is_file()]
    assert [one.stat().st_size for one in left] == [0], "only the empty mark of a failed download"


def test_a_failed_download_is_tried_again_a_day_later(tmp_path: Path, server: EncodingServer) -> None:
    server.status = 500
    assert fetch(server, tmp_path) is None
    server.status = 200
    assert fetch(server, tmp_path) is None
    assert len(server.agents) == 1
    (mark,) = (one for one in tmp_path.rglob("*") if one.is_file())
    yesterday = time.time() - 90_000
    os.utime(mark, (yesterday, yesterday))
    assert fetch(server, tmp_path) is not None
    assert not mark.exists()


@pytest.mark.parametrize("status", [404, 500])
def test_a_server_that_refuses_leaves_nothing(tmp_path: Path, server: EncodingServer, status: int) -> None:
    server.status = status
    assert fetch(server, tmp_path) is None


def test_a_silent_server_is_given_up_after_the_time_limit(tmp_path: Path, server: EncodingServer) -> None:
    server.wait.clear()
    assert fetch(server, tmp_path, limit_s=0.5) is None


def test_exit_stops_it(tmp_path: Path, server: EncodingServer) -> None:
    server.wait.clear()
    assert fetch(server, tmp_path, stops_when_asked=True) is None


def test_the_child_process_imports_nothing_of_clio(tmp_path: Path) -> None:
    code = (
        f"import runpy, sys; runpy.run_path({str(CHILD_SCRIPT)!r}); print([n for n in sys.modules if n[:4] == 'clio'])"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, cwd=tmp_path)
    assert done.stdout.strip() == "[]"


@each_row(
    ("url", "hosted"),
    [
        ("https://api.openai.com/v1", True),
        ("https://eu.api.openai.com/v1", True),
        ("https://mine.openai.azure.com/openai/v1", True),
        ("https://api.deepseek.com/v1", False),
        ("http://127.0.0.1:8000/v1", False),
        ("https://api.openai.com.example.org/v1", False),
    ],
)
def test_only_openais_own_server_uses_it(url: str, hosted: bool) -> None:
    assert is_hosted_openai(url) is hosted


@pytest.mark.parametrize(
    ("settings", "begins"), [({}, True), ({"fetch_encodings": "off"}, False), ({"incognito": True}, False)]
)
def test_a_turn_starts_it_only_if_allowed_and_never_waits(
    make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch, settings: dict[str, Any], begins: bool
) -> None:
    """The server on loopback counts as hosted; the download itself is not started, because it begins after a second."""
    monkeypatch.setattr("clio.agent.conversation.is_hosted_openai", lambda url: True)
    monkeypatch.setattr("clio.agent.conversation.find_encoding", lambda encoding, folders: None)
    begun: list[BackgroundFetch] = []
    monkeypatch.setattr(BackgroundFetch, "begin", lambda self: begun.append(self))
    harness = make_harness([text("a")])
    harness.app.conversation.config = structs.replace(harness.app.config, **settings)
    asyncio.run(harness.turn("hi"))
    assert bool(begun) is begins


def test_no_other_server_starts_a_download(make_harness: MakeHarness, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(BackgroundFetch, "begin", lambda self: pytest.fail("a local server needs no encoding"))
    harness = make_harness([text("a")])
    assert asyncio.run(harness.turn("hi")).status == "done"
