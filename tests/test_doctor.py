"""`clio doctor`: its findings, its advice, and the only download that clio knows."""

import hashlib
import json
import os
import re
import subprocess
import sys
import threading
import urllib.request
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import pytest

from clio import __version__
from clio.config.options import Options
from clio.context.encodings import Encoding, is_intact
from clio.entrypoints.doctor import encoding_checks, machine_checks
from clio.entrypoints.doctor.encoding_checks import fetch_encoding
from clio.entrypoints.doctor.findings import Finding
from clio.entrypoints.doctor.report import collect_findings, format_findings, run_doctor
from clio.errors import ServerFailed, UsageError
from tests.support.chat_server import ChatServer
from tests.support.wording import mentions

ROOT = Path(__file__).parent.parent
FILE = b"dGhl 0\n"


class EncodingServer:
    """Serves one file over HTTP on loopback: complete, wrong, slowly or not at all."""

    def __init__(self) -> None:
        self.body = FILE
        self.status = 200
        self.wait = threading.Event()
        self.wait.set()
        self.agents: list[str] = []
        owner = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                owner.agents.append(self.headers.get("User-Agent", ""))
                owner.wait.wait(10)
                self.send_response(owner.status)
                self.send_header("Content-Length", str(len(FILE)))
                self.end_headers()
                self.wfile.write(owner.body)

            def log_message(self, format: str, *args: object) -> None: ...

        self.http = HTTPServer(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.http.serve_forever, args=(0.01,), daemon=True).start()

    @property
    def encoding(self) -> Encoding:
        url = f"http://127.0.0.1:{self.http.server_port}/o200k_base.tiktoken"
        return Encoding(name="o200k_base", url=url, sha256=hashlib.sha256(FILE).hexdigest())


@pytest.fixture
def server() -> Iterator[EncodingServer]:
    server = EncodingServer()
    yield server
    server.wait.set()
    server.http.shutdown()
    server.http.server_close()


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project").mkdir()
    return tmp_path / "project"


@pytest.fixture
def env(tmp_path: Path) -> dict[str, str]:
    return {
        "HOME": str(tmp_path),
        "CLIO_HOME": str(tmp_path / ".clio"),
        "TIKTOKEN_CACHE_DIR": str(tmp_path / "cache"),
        "PATH": os.environ["PATH"],
    }


def look(env: dict[str, str], cwd: Path, *, fetch: bool = False, **flags: str | bool) -> dict[str, tuple[str, str]]:
    """Return each finding's severity sign and line by its subject."""
    found = collect_findings(Options(cwd=cwd, overrides=flags), env, fetch=fetch)
    return {finding.about: (finding.mark, finding.line) for finding in found}


def test_there_is_a_line_for_each_subject(tmp_path: Path, project: Path, env: dict[str, str]) -> None:
    seen = look(env, project, provider="offline")
    assert list(seen) == [
        *"clio packages commands clock terminal configuration trust extensions plugins telemetry".split(),
        *("model", "git", "ripgrep", "checks", "language servers"),
        *"sandbox confinement encodings home project keys disk space memory sessions index locks".split(),
    ]
    assert f"clio: {__version__} on Python 3." in seen["clio"][1]
    assert seen["model"] == ("ok", "model: none, offline as configured")
    assert seen["git"][0] == "ok"
    assert seen["encodings"][0] == "note"
    assert "clio doctor --fetch-encodings" in seen["encodings"][1]
    assert seen["home"][0] == "ok" and mentions(seen["home"][1], "home:", "~/.clio", "can be written")
    assert not (tmp_path / ".clio").exists()
    assert list(project.iterdir()) == []


def test_the_process_prints_them_and_exits_with_0(tmp_path: Path, project: Path, env: dict[str, str]) -> None:
    done = subprocess.run(
        [sys.executable, "-m", "clio", "doctor", "--provider", "offline", "--json"],
        capture_output=True, text=True, cwd=project, env=env | {"PYTHONPATH": str(ROOT)}, timeout=60, check=False,
    )  # fmt: skip
    assert (done.returncode, done.stderr) == (0, "")
    answer = json.loads(done.stdout)
    assert answer["ok"] is True
    assert {finding["mark"] for finding in answer["findings"]} <= {"ok", "note"}
    assert answer["findings"][0].keys() == {"mark", "about", "text", "todo"}


def test_the_source_of_the_window_size_is_named(tmp_path: Path, project: Path, env: dict[str, str]) -> None:
    rows = [{"id": "tiny", "max_model_len": 8_192}, {"id": "gpt-4o"}, {"id": "nobody-knows"}]
    with ChatServer([], models=rows) as chat:
        seen = {
            model: look(env, project, base_url=chat.url, model=model)["model"]
            for model in ("tiny", "gpt-4o", "nobody-knows")
        }
        given = look(env, project, base_url=chat.url, model="tiny", context_window="5000")["model"]
    host = f"127.0.0.1:{chat.port}"
    assert seen["tiny"] == ("ok", f"model: tiny at {host}, window 8,192 tokens (from server)")
    assert seen["nobody-knows"][0] == "note"
    assert "assumed; the server does not say" in seen["nobody-knows"][1]
    assert given[0] == "ok" and mentions(given[1], "tiny", host, "5,000 tokens", "--context-window")
    assert chat.requests == []  # no prompt is sent


def test_a_window_size_set_for_one_model(tmp_path: Path, project: Path, env: dict[str, str]) -> None:
    (tmp_path / ".clio").mkdir()
    (tmp_path / ".clio" / "config.yaml").write_text("models:\n  tiny:\n    context_window: 4096\n", encoding="utf-8")
    with ChatServer([]) as chat:
        seen = look(env, project, base_url=chat.url, model="tiny")
        assert chat.requests == []
    assert "4,096 tokens (set in ~/.clio/config.yaml:3)" in seen["model"][1]
    assert seen["configuration"] == ("ok", "configuration: ~/.clio/config.yaml")


def test_required_actions_are_named(
    tmp_path: Path, project: Path, env: dict[str, str], capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / ".clio").mkdir()
    (tmp_path / ".clio" / "config.yaml").write_text("max_steps: many\n", encoding="utf-8")
    assert run_doctor(Options(cwd=project), env, fetch=False) == 1
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("fix")] == [
        line for line in lines if "~/.clio/config.yaml" in line
    ]
    seen = look(env | {"CLIO_HOME": str(tmp_path / "other")}, project, provider="opnai")
    assert seen["model"][0] == "fix"
    assert "'openai'" in seen["model"][1]


def test_missing_or_broken_programs_are_reported(
    tmp_path: Path, project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setattr(machine_checks, "find_ripgrep", lambda: None)
    seen = look(env, project, provider="offline")
    assert (seen["git"][0], seen["ripgrep"][0]) == ("note", "note")
    broken = tmp_path / "rg"
    broken.write_text("#!/bin/sh\nexit 3\n", encoding="utf-8")
    broken.chmod(0o755)
    monkeypatch.setattr(machine_checks, "find_ripgrep", lambda: str(broken))
    seen = look(env, project, provider="offline")
    assert seen["ripgrep"][0] == "fix"
    assert "code 3" in seen["ripgrep"][1]


def test_a_home_that_is_not_a_folder_is_reported(tmp_path: Path, project: Path, env: dict[str, str]) -> None:
    (tmp_path / "file").write_text("", encoding="utf-8")
    seen = look(env | {"CLIO_HOME": str(tmp_path / "file")}, project, provider="offline")
    assert seen["home"][0] == "fix"
    assert "set CLIO_HOME" in seen["home"][1]


def test_an_incognito_doctor_writes_nothing(tmp_path: Path, project: Path, env: dict[str, str]) -> None:
    seen = look(env, project, provider="offline", incognito=True)
    assert "incognito" in seen["home"][1]
    with pytest.raises(UsageError, match="--incognito"):
        look(env, project, fetch=True, provider="offline", incognito=True)


def test_the_encoding_is_downloaded_on_request(
    tmp_path: Path,
    project: Path,
    env: dict[str, str],
    server: EncodingServer,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(encoding_checks, "O200K", server.encoding)
    monkeypatch.setattr(encoding_checks, "ENCODINGS", (server.encoding,))
    fetched = ("ok", "encodings: o200k_base in ~/.clio/encodings")
    assert look(env, project, fetch=True, provider="offline")["encodings"] == fetched
    path = tmp_path / ".clio" / "encodings" / server.encoding.file_name
    assert path.read_bytes() == FILE
    assert look(env, project, fetch=True, provider="offline")["encodings"] == fetched
    assert server.agents == [f"clio/{__version__}"]  # an existing file is not downloaded again
    path.write_bytes(b"damaged")
    seen = look(env, project, provider="offline")
    assert seen["encodings"][0] == "note"
    assert "is damaged" in seen["encodings"][1]
    look(env, project, fetch=True, provider="offline")
    assert is_intact(path, server.encoding)


def test_a_file_that_is_not_the_encoding_is_discarded(tmp_path: Path, server: EncodingServer) -> None:
    server.body = FILE[::-1]
    with pytest.raises(ServerFailed, match="is not o200k_base"):
        fetch_encoding(server.encoding, tmp_path)
    server.status = 503
    with pytest.raises(ServerFailed, match="the server answered 503"):
        fetch_encoding(server.encoding, tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_silent_server_is_given_up_after_the_time_limit(tmp_path: Path, server: EncodingServer) -> None:
    server.wait.clear()
    with pytest.raises(ServerFailed, match="timed out"):
        fetch_encoding(server.encoding, tmp_path, silence_s=0.1)


def test_the_total_time_is_limited(tmp_path: Path, server: EncodingServer, monkeypatch: pytest.MonkeyPatch) -> None:
    """A name lookup that never ends cannot be interrupted; its thread is abandoned."""

    def endless(*_: object, **__: object) -> None:
        server.wait.clear()
        server.wait.wait(10)
        raise OSError("too late for anybody")

    monkeypatch.setattr(urllib.request, "urlopen", endless)
    with pytest.raises(ServerFailed, match=r"it took more than 0 s; try again"):
        fetch_encoding(server.encoding, tmp_path, limit_s=0.1)


def test_an_unreachable_download_is_one_sentence_and_exit_code_1(
    tmp_path: Path, project: Path, env: dict[str, str], server: EncodingServer,
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str],
) -> None:  # fmt: skip
    unreachable = Encoding(name="o200k_base", url="http://127.0.0.1:9/o200k_base.tiktoken", sha256="0")
    monkeypatch.setattr(encoding_checks, "O200K", unreachable)
    assert run_doctor(Options(cwd=project, overrides={"provider": "offline"}), env, fetch=True) == 1
    wrong = [line for line in capsys.readouterr().out.splitlines() if line.startswith("fix")]
    assert wrong == [
        "fix   encodings: o200k_base could not be fetched from http://127.0.0.1:9/o200k_base.tiktoken: Connection "
        "refused; try again when that address can be reached, or set HTTPS_PROXY"
    ]


FOUND = [
    Finding(mark="ok", about="git", text="2.39"),
    Finding(mark="note", about="model", text="none is configured", todo="set OPENAI_API_KEY"),
    Finding(mark="fix", about="configuration", text="line 3 is wrong", todo="remove it"),
]


@pytest.mark.parametrize("has_colours", [True, False])
def test_on_a_terminal_problems_come_first_in_columns(has_colours: bool) -> None:
    lines = list(format_findings(FOUND, 60, has_colours=has_colours))
    plain = [re.sub(r"\x1b\[[0-9;]*m", "", line) for line in lines]
    assert plain == [
        "fix   configuration  line 3 is wrong; remove it",
        "note  model          none is configured; set OPENAI_API_KEY",
        "ok    git            2.39",
        "\n1 problem, 1 note, 1 ok",
    ]
    assert (lines != plain) is has_colours


def test_a_narrow_terminal_has_no_columns() -> None:
    lines = list(format_findings(FOUND, 30, has_colours=False))
    assert lines[0] == "fix   configuration: line 3 is"
    assert max(map(len, lines)) <= 30
