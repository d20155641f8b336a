"""Findings of `clio doctor`: each real problem is named with what to do, and checking changes nothing."""

import errno
import json
import os
import shutil
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from importlib import metadata
from pathlib import Path

import pytest

from clio.config.options import Options
from clio.entrypoints.doctor import data_checks, machine_checks, model_checks, report
from clio.entrypoints.doctor.findings import DoctorContext, Finding
from clio.entrypoints.doctor.report import collect_findings
from clio.entrypoints.setup_files import read_example
from clio.memory.transcripts.index import FILE, RecallIndex
from clio.memory.transcripts.session_search import SessionFolder
from clio.memory.transcripts.session_text import SessionDoc
from clio.messages import AssistantMessage, UserMessage
from clio.sandbox.sandbox import Sandbox
from clio.sessions.store import SessionStore
from clio.storage.locks import FileLock
from tests.support.chat_server import ChatServer
from tests.support.wording import mentions

KEY = "sk-live-0123456789abcdefghij"


@pytest.fixture
def home(tmp_path: Path) -> Path:
    (tmp_path / "home").mkdir(mode=0o700)
    return tmp_path / "home"


@pytest.fixture
def project(tmp_path: Path) -> Path:
    (tmp_path / "project" / ".clio").mkdir(parents=True)
    return tmp_path / "project"


@pytest.fixture
def env(tmp_path: Path, home: Path) -> dict[str, str]:
    return {"HOME": str(tmp_path), "CLIO_HOME": str(home), "PATH": os.environ["PATH"]}


def look(project: Path, env: dict[str, str], **flags: str | bool) -> list[Finding]:
    flags = flags or {"provider": "offline"}
    return list(collect_findings(Options(cwd=project, overrides=flags), env, fetch=False))


def lines(found: list[Finding], about: str) -> list[tuple[str, str]]:
    """Return sign and line of each finding about a subject."""
    return [(finding.mark, finding.line) for finding in found if finding.about == about]


def tree(folder: Path) -> dict[str, tuple[int, bytes]]:
    """Return every file with its time and content."""
    return {str(path): (path.stat().st_mtime_ns, path.read_bytes()) for path in folder.rglob("*") if path.is_file()}


def talk(store: SessionStore, words: str) -> str:
    session = store.new(store.folder)
    session.append(UserMessage(content=words))
    session.append(AssistantMessage(content="so"))
    session.close()
    return session.id


def test_damaged_memory_is_named_and_not_changed(project: Path, env: dict[str, str], home: Path) -> None:
    clio = project / ".clio"
    (clio / "memory").mkdir()
    (clio / "memory" / "good.json").write_text('{"key": "good", "content": "x"}', encoding="utf-8")
    (clio / "memory" / "bad.json").write_text('{"key": "b', encoding="utf-8")
    (clio / "ltm.json").write_text('{"patterns": []}', encoding="utf-8")
    (clio / "trajectories.jsonl").write_text('{"a": 1}\nnonsense\n', encoding="utf-8")
    (clio / "documents.json.corrupt-20260101-000000").write_text("{", encoding="utf-8")
    (home / "memories.json").write_text('{"schema": "clio.store", "version": 99}', encoding="utf-8")
    before = tree(project.parent)
    found = lines(look(project, env), "memory")
    assert tree(project.parent) == before
    assert [mark for mark, _ in found] == ["fix", "note", "fix", "fix", "fix"]
    named = " ".join(line for _, line in found)
    for part in (
        "memory/bad.json is damaged",
        "ltm.json is damaged",
        "trajectories.jsonl is damaged",
        "memories.json is from a newer clio; update clio",
        "corrupt-20260101-000000 was renamed as damaged",
    ):
        assert part in named
    assert "good.json" not in named


def test_sessions_and_an_outdated_index(project: Path, env: dict[str, str]) -> None:
    store = SessionStore(project / ".clio" / "sessions")
    first = talk(store, "why is the retry policy so?")
    watched = SessionFolder(store.folder)
    watched.scan()
    (project / ".clio" / "cache").mkdir()
    path = project / ".clio" / "cache" / FILE
    index = RecallIndex(path)
    index.put([SessionDoc(id=first, title="", updated=1.0, stamp=watched.stamps[first].encode(), turns=())])
    index.close()
    found = look(project, env)
    assert lines(found, "sessions") == [("ok", "sessions: 1 of this project")]
    assert lines(found, "index")[0][1].endswith("up to date")
    talk(store, "and another")
    (store.folder / "0199aaaa-0000-7000-8000-000000000000.json").write_text("{", encoding="utf-8")
    before = tree(project)
    found = look(project, env)
    assert tree(project) == before
    assert "1 session, " in lines(found, "index")[0][1] and "2 sessions behind" in lines(found, "index")[0][1]
    mark, line = lines(found, "sessions")[0]
    assert mark == "fix" and mentions(line, "1 cannot be read: 0199aaaa-", "clio sessions delete ID")
    path.write_bytes(b"no database at all, but longer than the head of one" * 40)
    assert lines(look(project, env), "index")[0][0] == "note"


def test_what_gc_could_remove(project: Path, home: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    assert lines(look(project, env), "space") == [("ok", "space: nothing stored yet")]
    for number in range(3):
        left = home / f"ltm.json.00000000000{number}.tmp"
        left.write_bytes(b"x" * 1000)
        os.utime(left, (1.0, 1.0))
    before = tree(project.parent)
    [(mark, line)] = lines(look(project, env), "space")
    freed = "3.0 kB can be freed, with 3 unfinished writes"
    assert mark == "ok" and freed in line

    def is_note(found: list[tuple[str, str]]) -> bool:
        return found[0][0] == "note" and mentions(found[0][1], freed, "clio gc")

    monkeypatch.setattr(data_checks, "MANY_UNFINISHED", 2)
    assert is_note(lines(look(project, env), "space"))
    monkeypatch.setattr(data_checks, "MANY_UNFINISHED", 3)
    monkeypatch.setattr(data_checks, "MUCH_BYTES", 2_999)
    assert is_note(lines(look(project, env), "space"))
    assert tree(project.parent) == before


def test_held_and_left_over_locks(project: Path, env: dict[str, str]) -> None:
    (project / ".clio" / "ltm.json.lock").write_text('{"pid": 1}', encoding="utf-8")
    with FileLock(project / ".clio" / "memories.json.lock"):
        found = lines(look(project, env), "locks")
    assert [(mark, mentions(line, "1 in use", "1 from processes that have exited")) for mark, line in found] == [
        ("ok", True)
    ]
    lock = FileLock(project / ".clio" / "memories.json.lock")
    assert lock.acquire()
    owner = {"pid": 4711, "hostname": "here", "timestamp": time.time() - 3 * 3600, "session_id": ""}
    lock.path.write_text(json.dumps(owner), encoding="utf-8")
    found = lines(look(project, env), "locks")
    lock.release()
    assert found[0] == (
        "note",
        "locks: .clio/memories.json.lock has been held by process 4711 for 3 hours; end that process if it hangs",
    )


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_permissions_of_keys_and_of_the_home_folder(project: Path, env: dict[str, str], home: Path) -> None:
    config, servers = home / "config.yaml", project / ".clio" / "mcp.yaml"
    config.write_text(f"api_key: {KEY}\n", encoding="utf-8")
    servers.write_text("mcpServers:\n  a:\n    command: x\n    env: {TOKEN: '${TOKEN}'}\n", encoding="utf-8")
    config.chmod(0o600)
    servers.chmod(0o644)
    assert lines(look(project, env), "keys") == [("ok", "keys: in 1 file, which only you can read")]
    config.chmod(0o644)
    servers.write_text(f"mcpServers:\n  a:\n    command: x\n    env: {{MY_TOKEN: '{KEY}'}}\n", encoding="utf-8")
    home.chmod(0o777)
    found = look(project, env)
    for (_, line), path in zip(lines(found, "keys"), ("~/home/config.yaml", ".clio/mcp.yaml"), strict=True):
        assert mentions(line, f"keys: {path} ", "other users can read it", f"chmod 600 {path}")
    assert any(
        mark == "fix" and mentions(line, "other users can write to ~/home", "chmod go-w ~/home")
        for mark, line in lines(found, "home")
    )
    assert KEY not in " ".join(finding.line for finding in found)


def test_a_full_disk_is_reported(project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    for free, mark in ((50_000_000, "fix"), (500_000_000, "note"), (5_000_000_000, "ok")):
        usage = shutil._ntuple_diskusage(10**12, 0, free)  # pyright: ignore
        monkeypatch.setattr(data_checks.shutil, "disk_usage", lambda _, usage=usage: usage)
        assert lines(look(project, env), "disk")[0][0] == mark


def test_missing_or_old_packages(project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    wanted = ["rich>=999", "no-such-package", "msgspec>=0.1", "usearch>=999; extra == 'hnsw'"]
    monkeypatch.setattr(machine_checks.metadata, "requires", lambda _: wanted)
    rich = metadata.version("rich")
    assert lines(look(project, env), "packages") == [
        ("fix", f"packages: rich {rich} is installed, and clio needs 999 or later; pip install 'rich>=999'"),
        ("fix", "packages: no-such-package is missing; pip install 'no-such-package'"),
    ]


@pytest.mark.parametrize(
    ("version", "marks", "words"),
    [
        ((3, 11, 0), ("ok", "note"), "pip install 'tree-sitter>=0.25' 'tree-sitter-bash>=0.25'"),
        ((3, 15, 0), ("ok", "note"), "tree-sitter has no wheel for Python 3.15 yet, so clio asks about every command"),
        ((3, 16, 1), ("note", "note"), "tree-sitter has no wheel for Python 3.16 yet"),
    ],
)
def test_features_missing_in_a_python_version(
    version: tuple[int, ...],
    marks: tuple[str, str],
    words: str,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr(machine_checks, "has_grammar", lambda: False)
    monkeypatch.setattr(machine_checks.sys, "version_info", version)
    context: DoctorContext = None  # type: ignore[assignment]  # neither check looks at it
    [python], [grammar] = list(machine_checks.check_python(context)), list(machine_checks.check_grammar(context))
    assert (python.mark, grammar.mark) == marks
    assert words in grammar.line
    if python.mark == "note":
        assert "is not tested with this version of Python; use Python 3.11 to 3.15" in python.line


def test_a_git_that_is_too_old(
    tmp_path: Path, project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "git").write_text("#!/bin/sh\necho git version 2.17.1\n", encoding="utf-8")
    (tmp_path / "git").chmod(0o755)
    monkeypatch.setenv("PATH", str(tmp_path), prepend=os.pathsep)
    assert lines(look(project, env), "git") == [
        ("note", "git: 2.17.1 is older than 2.23, so switching branches fails; install 2.23 or later")
    ]


def test_settings_that_need_trust_and_added_plugins(project: Path, env: dict[str, str], home: Path) -> None:
    (project / ".clio" / "config.yaml").write_text("approve: all\n", encoding="utf-8")
    skill = project / ".clio" / "skills" / "ours"
    skill.mkdir(parents=True)
    (skill / "SKILL.md").write_text("---\nname: ours\ndescription: how we do it\n---\nso\n", encoding="utf-8")
    (home / "mcp.yaml").write_text("mcpServers:\n  files: {command: no-such-program}\n  bad: 3\n", encoding="utf-8")
    found = look(project, env)
    assert [mark for mark, _ in lines(found, "trust")] == ["note", "note"]
    assert mentions(lines(found, "trust")[1][1], "skill ours", "clio config trust")
    *problems, counts = lines(found, "extensions")
    assert "'bad' is ignored" in problems[0][1]
    assert counts[1].startswith("extensions: 1 MCP server, 1 skill,")


@pytest.mark.skipif(sys.platform == "darwin", reason="Seatbelt is there")
def test_damaged_trust_is_reported(project: Path, env: dict[str, str], home: Path) -> None:
    (home / "trusted.json").write_bytes(b'{"version": 1, "proj')
    [(mark, line), *_] = lines(look(project, env), "trust")
    assert mark == "fix"
    assert "trusted.json is damaged" in line and "no project is trusted" in line


def test_moved_aside_files_are_named(project: Path, env: dict[str, str]) -> None:
    folder = project / ".clio" / "sessions"
    folder.mkdir()
    (folder / "s1.json.corrupt-20260501-100000").write_bytes(b"{")
    assert any("s1.json.corrupt-20260501-100000" in line for _, line in lines(look(project, env), "sessions"))


def test_a_file_system_without_locks_is_reported(
    project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    def refuse(fd: int, *, shared: bool) -> bool:
        raise OSError(errno.ENOLCK, os.strerror(errno.ENOLCK))

    monkeypatch.setattr("clio.storage.locks._lock_descriptor", refuse)
    found = lines(look(project, env), "locks")
    assert [mark for mark, _ in found] == ["note", "note", "ok"]
    assert "the file system of .clio has no locks" in found[0][1]


def test_the_sandbox_is_named(project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    ((mark, line),) = lines(look(project, env, provider="offline", sandbox="seatbelt"), "sandbox")
    assert mark == "fix" and line.endswith("start clio with --sandbox auto or off")
    monkeypatch.setattr(machine_checks, "_CONTAINER", ())
    ((mark, line),) = lines(look(project, env, provider="offline", approve="all"), "sandbox")
    assert mark == "note" and mentions(line, "sandbox:", "off")
    assert "clio --sandbox auto" in line
    ((mark, line),) = lines(look(project, env), "sandbox")
    assert mark == "ok" and "approval mode: ask; " in line


def test_a_partial_sandbox_is_reported(project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(
        "clio.sandbox.backends.explain_unusable_level", lambda level, env: "" if level == "landlock" else "not here"
    )
    ((mark, line),) = lines(look(project, env, provider="offline", sandbox="auto"), "sandbox")
    assert mark == "ok" and mentions(line, "landlock confines commands to the project, partially", "modes")
    ((_, line),) = lines(look(project, env, provider="offline"), "sandbox")
    assert line.endswith("; landlock available (partial)")
    auto = Sandbox("auto", home=project, user_home=project, env={})
    auto.level()
    assert auto.status_word == "sandbox landlock (partial)"


@pytest.mark.skipif(os.name == "nt", reason="modes are those of POSIX")
def test_an_example_file_is_not_taken_for_a_file_with_a_key(project: Path, env: dict[str, str]) -> None:
    for name in ("config.yaml", "mcp.yaml"):
        (project / ".clio" / name).write_bytes(read_example(name))
    assert lines(look(project, env), "keys") == [("ok", "keys: no API keys in clio's files")]


@pytest.mark.parametrize("text", ["keys: {reasoning: f2}\n", "keys:\n  reasoning: f2\n"])
def test_keyboard_keys_are_no_secrets(project: Path, env: dict[str, str], text: str) -> None:
    (project / ".clio" / "config.yaml").write_text(text, encoding="utf-8")
    assert lines(look(project, env), "keys") == [("ok", "keys: no API keys in clio's files")]
    (project / ".clio" / "config.yaml").write_text(text + "api_key: sk-0123456789\n", encoding="utf-8")
    (project / ".clio" / "config.yaml").chmod(0o644)
    assert [mark for mark, _ in lines(look(project, env), "keys")] == ["fix"]


@pytest.fixture
def server() -> Iterator[ChatServer]:
    with ChatServer([], models=[{"id": "tiny", "max_model_len": 8_192}]) as chat:
        yield chat


def test_the_server_and_the_key_are_named(project: Path, env: dict[str, str], server: ChatServer) -> None:
    env |= {"OPENAI_API_KEY": KEY}
    found = look(project, env, base_url=server.url, model="tiny")
    assert lines(found, "key") == [("ok", "key: from environment OPENAI_API_KEY")]
    mark, line = lines(found, "server")[0]
    assert mark == "ok" and line.endswith("ms, 1 model, tiny among them")
    other = lines(look(project, env, base_url=server.url, model="huge"), "server")[0]
    assert other[0] == "note" and "huge is not among them" in other[1]
    assert server.requests == []
    assert KEY not in " ".join(finding.line for finding in found)


def test_an_unreachable_or_silent_server(project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    import socket

    unreachable = lines(look(project, env, base_url="http://127.0.0.1:9/v1", model="tiny"), "server")[0]
    assert unreachable[0] == "fix" and "connection refused" in unreachable[1]
    monkeypatch.setattr(model_checks, "SERVER_LIMIT_S", 0.3)
    with socket.socket() as silent:
        silent.bind(("127.0.0.1", 0))
        silent.listen()
        url = f"http://127.0.0.1:{silent.getsockname()[1]}/v1"
        found = look(project, env, base_url=url, model="tiny")
    assert "did not answer within 0.3 seconds" in lines(found, "server")[0][1]
    assert lines(found, "model")[0][0] == "note"
    assert found[-1].about == "locks"


@pytest.mark.skipif(not hasattr(os, "mkfifo"), reason="pipes with names are POSIX")
def test_a_pipe_instead_of_a_file_is_one_line(project: Path, env: dict[str, str]) -> None:
    os.mkfifo(project / ".clio" / "ltm.json")
    found = look(project, env)
    assert lines(found, "memory") == [
        ("fix", "memory: .clio/ltm.json cannot be read: it is a named pipe, not a file; remove it")
    ]
    assert found[-1].about == "locks"


def test_a_hanging_check_is_one_line(project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    ended = threading.Event()
    monkeypatch.setattr(report, "ALL_CHECKS_LIMIT_S", 0.5)
    monkeypatch.setattr(data_checks, "read_regular", lambda *_, **__: ended.wait(60))
    (project / ".clio" / "ltm.json").write_text("{}", encoding="utf-8")
    found = look(project, env)
    ended.set()
    assert lines(found, "memory") == [
        ("fix", "memory: no answer within 0.5 seconds; a disk or network folder may hang")
    ]
    assert found[-1].about == "locks"


def test_a_pipe_instead_of_a_document_is_a_finding_and_not_waited_for(
    project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    os.mkfifo(project / ".clio" / "ltm.json")
    found = look(project, env)
    assert any(mark == "fix" and "not a file" in line for mark, line in lines(found, "memory")), lines(found, "memory")
    assert found[-1].about == "locks"


def test_a_configuration_that_hangs_is_the_only_line(
    project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    ended = threading.Event()
    monkeypatch.setattr(report, "load_config", lambda *_: ended.wait(60))
    monkeypatch.setattr(report, "ALL_CHECKS_LIMIT_S", 0.1)
    found = look(project, env)
    ended.set()
    assert [(finding.mark, finding.about) for finding in found] == [("fix", "configuration")]
    assert mentions(found[0].line, "no answer", "0.1 seconds")


def test_a_bug_in_a_check_raises_an_error(project: Path, env: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    def wrong(_: DoctorContext) -> list[Finding]:
        raise ZeroDivisionError

    monkeypatch.setattr(report, "FIRST", (report.NamedCheck(about="wrong", check=wrong),))
    with pytest.raises(ZeroDivisionError):
        look(project, env)


def test_control_characters_in_files_do_not_reach_the_screen(project: Path, env: dict[str, str]) -> None:
    (project / ".clio" / "memory").mkdir()
    (project / ".clio" / "memory" / "\x1b[31mred.json").write_text("{", encoding="utf-8")
    done = subprocess.run(
        [sys.executable, "-m", "clio", "doctor", "--provider", "offline"],
        cwd=project,
        env=env | {"PYTHONPATH": str(Path(__file__).parent.parent), "PYTHONIOENCODING": "ascii"},
        capture_output=True,
        text=True,
        timeout=60,
        check=False,
    )
    assert done.returncode == 1
    assert "\x1b" not in done.stdout and "red.json is damaged" in done.stdout
    assert "note  terminal: encoding ascii" in done.stdout


def test_language_servers_of_the_project_are_named(
    project: Path, env: dict[str, str], tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("CLIO_LANGUAGE_SERVERS", raising=False)
    own, installed = project / ".venv" / "bin" / "pyright-langserver", tmp_path / "bin" / "clangd"
    for program in (own, installed):
        program.parent.mkdir(parents=True)
        program.write_text("#!/bin/sh\n", encoding="utf-8")
        program.chmod(0o755)
    monkeypatch.setenv("PATH", str(installed.parent))
    for name in ("app.py", "main.c", "index.ts"):
        (project / name).touch()
    found = lines(look(project, env), "language servers")
    assert found[0] == ("ok", "language servers: clangd")
    assert any(mark == "note" and ".ts" in line and "npm install" in line for mark, line in found)
    assert any(mark == "note" and "pyright-langserver" in line and "clio config trust" in line for mark, line in found)
    (project.parent / "home" / "config.yaml").write_text("language_servers: off\n", encoding="utf-8")
    assert lines(look(project, env), "language servers") == [("ok", "language servers: off")]


def test_the_telemetry_endpoint_and_what_prevents_sending(project: Path, env: dict[str, str]) -> None:
    pytest.importorskip("opentelemetry.sdk", reason="needs the package opentelemetry-sdk")
    config = Path(env["CLIO_HOME"]) / "config.yaml"
    config.parent.mkdir(parents=True, exist_ok=True)

    def report(settings: str) -> list[tuple[str, str]]:
        config.write_text(f"telemetry: {{{settings}}}\n", encoding="utf-8")
        return lines(look(project, env), "telemetry")

    assert report("") == [("ok", "telemetry: off; nothing is sent")]
    [(mark, line)] = report('endpoint: "http://user:secret@127.0.0.1:4318/path"')
    assert mark == "ok" and "traces and metrics to 127.0.0.1:4318, without any text" in line
    assert "secret" not in line and "path" not in line
    [(mark, line)] = report("endpoint: localhost:4318")
    assert mark == "fix" and "telemetry.endpoint must be an address" in line
    found = report('endpoint: "http://collector.example:4318", headers_env: MY_HEADERS, content: true, metrics: false')
    assert [mark for mark, _ in found] == ["ok", "note", "note"]
    assert "traces to collector.example:4318, with messages" in found[0][1]
    assert "MY_HEADERS has no headers" in found[1][1] and "unencrypted" in found[2][1]
    env["MY_HEADERS"] = "x-api-key=1"
    found = report('endpoint: "https://collector.example", headers_env: MY_HEADERS')
    assert [mark for mark, _ in found] == ["ok"]


def test_a_web_search_without_its_key_is_named(project: Path, env: dict[str, str]) -> None:
    config = project.parent / "home" / "config.yaml"
    assert lines(look(project, env), "web search") == []
    found = {"tavily": ("note", "TAVILY_API_KEY"), "searxng": ("ok", "8080"), "model": ("ok", "server")}
    for setting, (mark, word) in found.items():
        config.write_text(f"web_search: {setting}\n", encoding="utf-8")
        [(shown, line)] = lines(look(project, env), "web search")
        assert shown == mark and word in line
    config.write_text("web_search: tavily\n", encoding="utf-8")
    [(shown, _)] = lines(look(project, env | {"TAVILY_API_KEY": "k"}), "web search")
    assert shown == "ok"
