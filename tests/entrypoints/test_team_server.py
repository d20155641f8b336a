"""`clio team-server` and `clio mcp --http --database` as real processes, with a real PostgreSQL."""

import json
import re
import signal
import subprocess
import sys
import time
from collections.abc import Generator
from pathlib import Path
from typing import Any

import pytest

from bench.team_server import Caller
from tests.entrypoints.repl_support import ROOT, Place, clio, make_place
from tests.support.postgres import Cluster, why_not

pytestmark = pytest.mark.skipif(bool(why_not()), reason=why_not() or "it can run")


@pytest.fixture(scope="module")
def cluster() -> Generator[Cluster]:
    made = Cluster().create()
    yield made
    made.close()


class TeamServer:
    """A project with a database, and a server for it."""

    def __init__(self, place: Place, url: str) -> None:
        self.place, self.url = place, url
        self.port = 0
        self.said = ""
        self._process: subprocess.Popen[bytes] | None = None

    def run(self, *words: str, ok: bool = True) -> str:
        """Run `clio team-server` with these arguments."""
        done = clio(self.place, "team-server", *words, CLIO_TEAM_DATABASE=self.url)
        assert (done.returncode == 0) == ok, done.stdout + done.stderr
        return done.stdout if ok else done.stderr

    def data(self, *words: str) -> dict[str, Any]:
        return json.loads(self.run(*words, "--json"))

    def start(self, *flags: str) -> None:
        command = [sys.executable, "-m", "clio", "mcp", "--http", "--port", "0", "--database", "env:URL", *flags]
        self._process = subprocess.Popen(
            [*command, "--cwd", str(self.place.project)],
            env=self.place.env(URL=self.url),
            cwd=ROOT,
            stderr=subprocess.PIPE,
        )
        assert self._process.stderr
        while not (port := re.search(r"http://127\.0\.0\.1:(\d+)/mcp", " ".join(self.said.split()))):
            line = self._process.stderr.readline().decode()
            assert line, self.said
            self.said += line
        self.port = int(port[1])

    def end(self) -> None:
        if self._process is not None:
            self._process.send_signal(signal.SIGTERM)
            assert self._process.wait(timeout=30) == 0
            assert self._process.stderr
            self._process.stderr.close()

    def call(self, token: str, tool: str, **arguments: Any) -> dict[str, Any]:
        return Caller(self.port, token).call(tool, **arguments)["structuredContent"]


@pytest.fixture
def team(cluster: Cluster, tmp_path: Path) -> Generator[TeamServer]:
    made = TeamServer(make_place(tmp_path), cluster.new_database(f"e{time.time_ns()}"))
    yield made
    made.end()


def test_members_have_their_own_tokens_and_rights(team: TeamServer, tmp_path: Path) -> None:
    anna, ben = (team.data("token", "add", name, *more)["token"] for name, *more in (["anna"], ["ben", "--read-only"]))
    clio(team.place, "memory", "remember", "The project was here before")
    assert team.data("import") == {"added": 1, "known": 0}
    team.start("--write")
    assert "2 members" in " ".join(team.said.split())
    secret = "ghp_" + "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8"
    team.call(anna, "remember", content=f"The token of staging is {secret} and rotates on Mondays", type="fact")
    team.call(anna, "remember", content="Prefers tabs", type="preference")
    with pytest.raises(OSError, match="remember"):
        team.call(ben, "remember", content="Ben was here")
    texts = [one["content"] for one in team.call(ben, "recall")["memories"]]
    assert len(texts) == 2 and secret not in str(texts) and "The project was here before" in texts
    with pytest.raises(OSError, match="401"):
        team.call("x" * 43, "recall")
    team.run("token", "revoke", "ben")
    until = time.monotonic() + 30
    while True:
        try:
            team.call(ben, "recall")
        except OSError as error:
            assert "401" in str(error)
            break
        assert time.monotonic() < until
        time.sleep(0.1)
    assert [(one["name"], one["revoked"]) for one in team.data("token", "list")["members"]] == [
        ("anna", False), ("ben", True),
    ]  # fmt: skip
    assert team.data("status")["shared"] == 2
    assert "staging" in team.data("undo")["undone"]
    assert team.data("export", str(tmp_path / "out"))["memories"] == 2


def test_a_repeated_key_counts_only_for_the_same_call(team: TeamServer) -> None:
    token = team.data("token", "add", "anna")["token"]
    team.start("--write")
    caller = Caller(team.port, token)
    first = caller.call("remember", key="k1", content="Releases are on Tuesday", type="fact")
    again = caller.call("remember", key="k1", content="Releases are on Tuesday", type="fact")
    assert again["structuredContent"] == first["structuredContent"]
    caller.call("remember", key="k1", content="The port of staging is 9090", type="fact")
    assert sorted(one["content"] for one in team.call(token, "recall")["memories"]) == [
        "Releases are on Tuesday",
        "The port of staging is 9090",
    ]


def test_a_read_only_server_refuses_writes_and_explains_misuse(team: TeamServer) -> None:
    token = team.data("token", "add", "anna")["token"]
    team.start()
    with pytest.raises(OSError, match="--write"):
        team.call(token, "remember", content="x")
    for words, message in (
        (("token", "add"), "NAME"),
        (("token", "add", "anna"), "already"),
        (("import", "--own", "carl"), "carl"),
        (("export",), "FOLDER"),
        (("restore", "01a22428-2feb-7ab7-9c01-e236dcefe5c4"), "archive"),
        (("status", "now"), "now"),
    ):
        assert message in team.run(*words, ok=False), words
    team.url = "postgresql://clio@127.0.0.1:1/nowhere"
    refused = clio(
        team.place,
        "team-server",
        "status",
        "--database",
        "postgresql://clio:hunter2@127.0.0.1:1/nowhere?connect_timeout=1",
    )
    assert refused.returncode != 0 and "hunter2" not in refused.stderr and "env:NAME" in refused.stderr
