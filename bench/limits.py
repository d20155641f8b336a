"""What clio takes at rest, after much work, and over a long day made short: memory, time at the idle prompt, handles.

    python -m bench.limits [idle] [company] [large] [soak] [--turns 300] [--messages 10000] [--calls 2000]

Each part runs a real clio in a process of its own against a scripted server on loopback, and reads /proc.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import tempfile
import time
from collections.abc import Generator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from clio.config.trust import record_sessions
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.support.chat_server import ChatServer, Reply, text, tool_calls
from tests.support.mcp_peer import HttpPeer
from tests.support.pty_session import PtySession

ROOT = Path(__file__).parent.parent
IDLE_S = 10.0
MARKS = (100, 500, 1000, 2000)
"""Turns of the soak after which is looked."""


def status(pid: int) -> dict[str, int]:
    """KiB of memory now and at most, waits given up by choice and by force, open files, children, seconds of CPU."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    rows = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    switches = [0, 0]
    for task in Path(f"/proc/{pid}/task").iterdir():
        said = (task / "status").read_text(encoding="utf-8").splitlines()
        switches[0] += next(int(line.split()[1]) for line in said if line.startswith("voluntary"))
        switches[1] += next(int(line.split()[1]) for line in said if line.startswith("nonvoluntary"))
    tasks = Path(f"/proc/{pid}/task").iterdir()
    children = [word for task in tasks for word in (task / "children").read_text(encoding="utf-8").split()]
    return {
        "rss": int(rows["VmRSS"][0]),
        "most": int(rows["VmHWM"][0]),
        "wakes": sum(switches),
        "files": len(list(Path(f"/proc/{pid}/fd").iterdir())),
        "threads": int(rows["Threads"][0]),
        "children": len(children),
        "cpu_ms": 10 * (int(ticks[11]) + int(ticks[12])),
    }


@contextmanager
def started(server: ChatServer, folder: Path, *options: str, theme: str = "auto") -> Generator[PtySession]:
    """A clio in a terminal, closed at the end."""
    home, project = folder / "home", folder / "project"
    (home / ".clio").mkdir(parents=True, exist_ok=True)
    (home / ".clio" / "history").touch()
    if not project.is_dir():
        project.mkdir()
        (project / "a.py").write_text("x = 1\n" * 50, encoding="utf-8")
        for words in (
            ("init", "-q"),
            ("add", "-A"),
            ("-c", "user.name=d", "-c", "user.email=d@x", "commit", "-qm", "a"),
        ):
            subprocess.run(["git", *words], cwd=project, check=True)
    env = {
        "PATH": os.environ["PATH"], "HOME": str(home), "LANG": "C.UTF-8", "PYTHONPATH": str(ROOT),
        "OPENAI_BASE_URL": server.url, "OPENAI_API_KEY": "bench", "CLIO_MODEL": "test-model",
        "CLIO_THEME": theme,
    }  # fmt: skip
    session = PtySession(
        [sys.executable, "-m", "clio", "--approve", "all", *options], cwd=project, env=env, timeout_s=120
    )
    try:
        session.wait_for("test-model")
        yield session
    finally:
        session.close()


def pid_of(session: PtySession) -> int:
    """Of the program in the terminal."""
    return session._child.pid  # type: ignore[reportPrivateUsage]


def idle(folder: Path) -> None:
    """CPU and wake-ups over ten seconds at a prompt nobody touches, before and after a turn."""
    with ChatServer(lambda _: text("Done."), record=False) as server, started(server, folder) as session:
        at_rest(session, "at the start")
        session.send("hello\r")
        session.wait_for("Done.")
        at_rest(session, "after a turn")


def company(folder: Path) -> None:
    """The same with two MCP servers connected, two commands in the background, one of them a daemon, and a theme."""
    themes = folder / "home" / ".clio" / "themes"
    themes.mkdir(parents=True)
    (themes / "dusk.yaml").write_text("extends: dark\nadded: bright-green\n", encoding="utf-8")
    peer = HttpPeer()
    servers = {
        "near": {
            "command": sys.executable,
            "args": ["-S", "-m", "tests.support.mcp_peer"],
            "env": {"PYTHONPATH": str(ROOT)},
        },
        "far": {"url": peer.url},
    }
    (folder / "home" / ".clio" / "mcp.yaml").write_text(json.dumps({"mcpServers": servers}), encoding="utf-8")
    work = tool_calls(
        [
            ("mcp_near_add", {"a": 1, "b": 2}),
            ("mcp_far_add", {"a": 1, "b": 2}),
            ("run_command", {"command": "sleep 1000", "background": True}),
            ("run_command", {"command": "sleep 1000 &", "background": True}),
        ],
        split="whole",
    )
    try:
        with (
            ChatServer([work, text("Done.")], record=False) as server,
            started(server, folder, theme="dusk") as session,
        ):
            session.send("all of it\r")
            session.wait_for("Done.")
            children = status(pid_of(session))["children"]
            at_rest(session, f"with two MCP servers, two jobs, a theme and {children} children")
    finally:
        peer.close()


def at_rest(session: PtySession, name: str) -> None:
    """Look twice, ten seconds apart, and tell what happened between."""
    time.sleep(4)
    before = status(pid_of(session))
    time.sleep(IDLE_S)
    after = status(pid_of(session))
    cpu, wakes = after["cpu_ms"] - before["cpu_ms"], after["wakes"] - before["wakes"]
    print(f"idle {name}: {cpu} ms of CPU and {wakes} wake-ups in {IDLE_S:.0f} s, {after['rss'] / 1024:.0f} MiB")


def large(folder: Path, messages: int, calls: int) -> None:
    """Memory after a session of so many messages was resumed and gone on with."""
    with ChatServer(lambda _: text("Done."), record=False) as server:
        with started(server, folder):
            pass  # makes the project
        store = SessionStore(folder / "project" / ".clio" / "sessions")
        session = store.new(folder / "project")
        every = max(messages // calls, 3)
        for number in range(messages // every):
            session.append(UserMessage(content=f"question {number}: " + "what of the parser? " * 8))
            call = ToolCall(id=f"c{number}", name="read_file", arguments='{"path": "a.py"}')
            session.append(AssistantMessage(content="I look. " * 10, tool_calls=(call,)))
            session.append(
                ToolMessage(tool_call_id=call.id, name=call.name, content="x = 1\n" * 60, summary="60 lines")
            )
            for _ in range(every - 3):
                session.append(AssistantMessage(content="It is so because of the parser's table. " * 6))
        count = len(session.messages)
        session.close()
        record_sessions(folder / "home" / ".clio", [session.id])  # otherwise -c takes it for one that came with a clone
        size = sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file())
        begun = time.monotonic()
        with started(server, folder, "-c") as clio:
            usable = time.monotonic() - begun
            clio.send("and now?\r")
            clio.wait_for("Done.")
            clio.send("once more\r")
            time.sleep(2)
            now = status(pid_of(clio))
    print(
        f"large: {count:,} messages with {messages // every:,} tool calls, {size / 1e6:.1f} MB on disk, resumed in "
        f"{usable:.2f} s: {now['rss'] / 1024:.0f} MiB, at most {now['most'] / 1024:.0f} MiB"
    )


def soak(folder: Path, turns: int) -> None:
    """So many turns with reading, editing, commands and commits, all in one clio; what stays open and what grows."""
    steps = {"n": 0}

    def answer(body: dict[str, Any]) -> Reply:
        last = body["messages"][-1]
        if last["role"] == "tool":
            return text(f"Turn over {steps['n']}.")
        steps["n"] += 1
        number = steps["n"]
        return tool_calls(
            [
                ("read_file", {"path": "a.py"}),
                ("write_file", {"path": f"out/{number % 20}.txt", "content": f"{number}\n" * 30}),
                ("run_command", {"command": f"echo {number}; git status --short | head -3"}),
                ("search_text", {"pattern": "x = 1"}),
            ],
            split="whole",
        )

    begun = time.monotonic()
    with ChatServer(answer, record=False) as server, started(server, folder) as session:
        seen: list[tuple[int, dict[str, int], int]] = []
        for number in range(1, turns + 1):
            session.send(f"turn {number}\r")
            session.wait_for(f"Turn over {number}.")
            session.screen.history.top.clear()  # the terminal's own: reading all of it would be what takes longer
            session.raw.clear()
            if number in MARKS or number in (turns // 10, turns):
                time.sleep(1)
                kept = sum(
                    path.lstat().st_size
                    for top in (folder / "project" / ".clio", folder / "home" / ".clio")
                    for path in top.rglob("*")
                    if path.is_file()
                )
                now = status(pid_of(session))
                seen.append((number, now, kept))
                print(
                    f"turn {number}: {now['rss'] / 1024:.0f} MiB, {now['files']} files open, {now['threads']} threads, "
                    f"{now['children']} children, {kept / 1e6:.2f} MB kept, {now['cpu_ms'] / number:.0f} ms of CPU a "
                    f"turn, after {time.monotonic() - begun:.0f} s",
                    flush=True,
                )
        (first, _, before), (last, _, kept) = seen[0], seen[-1]
        print(f"soak: {(kept - before) / max(last - first, 1):,.0f} bytes a turn of four calls")
        # Python's pool begins its last threads late: what leaks has grown since the mark before, too.
        grown = [name for name in ("files", "threads", "children") if seen[-1][1][name] > seen[-2][1][name]]
        session.send("\x04")
        session.wait_exit(60)
        if grown:
            raise SystemExit(f"these grew: {', '.join(grown)}")


def main() -> None:
    """Run what is asked for; everything where nothing is."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["idle", "company", "large", "soak", []])
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=2_000)
    given = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for part in given.parts or ["idle", "company", "large", "soak"]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            match part:
                case "idle":
                    idle(folder)
                case "company":
                    company(folder)
                case "large":
                    large(folder, given.messages, given.calls)
                case _:
                    soak(folder, given.turns)


if __name__ == "__main__":
    main()
