"""Measure an idle clio, a large session and many turns: memory, CPU time, open files, threads and child processes.

    python -m bench.limits [idle] [company] [large] [soak] [--turns 300] [--messages 10000] [--calls 2000]

idle: at the prompt, before and after a turn. company: the same with MCP servers, background commands and a theme.
large: after resuming a large session. soak: over many turns. Each part runs clio in its own process with a scripted
server on loopback, and reads /proc.
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

from clio.config.memory_seal import record_sessions
from clio.messages import AssistantMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.support.chat_server import ChatServer, Reply, text, tool_calls
from tests.support.mcp_peer import HttpPeer
from tests.support.pty_session import PtySession

ROOT = Path(__file__).parent.parent
IDLE_S = 10.0
MARKS = (100, 500, 1000, 2000)
"""Turns of the soak after which the figures are printed."""


def read_status(pid: int) -> dict[str, int]:
    """Return memory and peak memory in KiB, context switches, open files, threads, children, and CPU milliseconds."""
    lines = Path(f"/proc/{pid}/status").read_text(encoding="utf-8").splitlines()
    rows = {name: value.split() for name, _, value in (line.partition(":") for line in lines)}
    ticks = Path(f"/proc/{pid}/stat").read_text(encoding="utf-8").rpartition(")")[2].split()
    switches = [0, 0]
    for task in Path(f"/proc/{pid}/task").iterdir():
        lines = (task / "status").read_text(encoding="utf-8").splitlines()
        switches[0] += next(int(line.split()[1]) for line in lines if line.startswith("voluntary"))
        switches[1] += next(int(line.split()[1]) for line in lines if line.startswith("nonvoluntary"))
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
def start_clio(server: ChatServer, folder: Path, *options: str, theme: str = "auto") -> Generator[PtySession]:
    """Start clio in a terminal, and close it at the end."""
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


def get_pid(session: PtySession) -> int:
    """Return the process id of the program in the terminal."""
    return session._child.pid  # type: ignore[reportPrivateUsage]


def measure_idle(folder: Path) -> None:
    """Measure CPU time and wake-ups in ten seconds at an idle prompt, before and after a turn."""
    with ChatServer(lambda _: text("Done."), record=False) as server, start_clio(server, folder) as session:
        report_idle(session, "at the start")
        session.send("hello\r")
        session.wait_for("Done.")
        report_idle(session, "after a turn")


def measure_with_company(folder: Path) -> None:
    """Measure the same with two MCP servers, two commands in the background, one of them a daemon, and a theme."""
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
            start_clio(server, folder, theme="dusk") as session,
        ):
            session.send("all of it\r")
            session.wait_for("Done.")
            children = read_status(get_pid(session))["children"]
            report_idle(session, f"with two MCP servers, two jobs, a theme and {children} children")
    finally:
        peer.close()


def report_idle(session: PtySession, name: str) -> None:
    """Print the CPU time and the wake-ups of ten seconds."""
    time.sleep(4)
    before = read_status(get_pid(session))
    time.sleep(IDLE_S)
    after = read_status(get_pid(session))
    cpu, wakes = after["cpu_ms"] - before["cpu_ms"], after["wakes"] - before["wakes"]
    print(f"idle {name}: {cpu} ms of CPU and {wakes} wake-ups in {IDLE_S:.0f} s, {after['rss'] / 1024:.0f} MiB")


def measure_large_session(folder: Path, messages: int, calls: int) -> None:
    """Measure the memory after resuming a session of `messages` messages and two more turns."""
    with ChatServer(lambda _: text("Done."), record=False) as server:
        with start_clio(server, folder):
            pass  # creates the project
        store = SessionStore(folder / "project" / ".clio" / "sessions")
        session = store.new(folder / "project")
        messages_per_turn = max(messages // calls, 3)
        for number in range(messages // messages_per_turn):
            session.append(UserMessage(content=f"question {number}: " + "what of the parser? " * 8))
            call = ToolCall(id=f"c{number}", name="read_file", arguments='{"path": "a.py"}')
            session.append(AssistantMessage(content="I look. " * 10, tool_calls=(call,)))
            session.append(
                ToolMessage(tool_call_id=call.id, name=call.name, content="x = 1\n" * 60, summary="60 lines")
            )
            for _ in range(messages_per_turn - 3):
                session.append(AssistantMessage(content="It is so because of the parser's table. " * 6))
        count = len(session.messages)
        session.close()
        record_sessions(folder / "home" / ".clio", [session.id])  # otherwise -c assumes that it came with a clone
        size = sum(path.stat().st_size for path in store.folder.rglob("*") if path.is_file())
        started = time.monotonic()
        with start_clio(server, folder, "-c") as clio:
            usable = time.monotonic() - started
            clio.send("and now?\r")
            clio.wait_for("Done.")
            clio.send("once more\r")
            time.sleep(2)
            now = read_status(get_pid(clio))
    print(
        f"large: {count:,} messages with {messages // messages_per_turn:,} tool calls, {size / 1e6:.1f} MB on disk, "
        f"resumed in {usable:.2f} s: {now['rss'] / 1024:.0f} MiB, at most {now['most'] / 1024:.0f} MiB"
    )


def measure_soak(folder: Path, turns: int) -> None:
    """Run many turns with reads, writes, commands and searches in one clio, and check that nothing keeps growing."""
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

    started = time.monotonic()
    with ChatServer(answer, record=False) as server, start_clio(server, folder) as session:
        marks: list[tuple[int, dict[str, int], int]] = []
        for number in range(1, turns + 1):
            session.send(f"turn {number}\r")
            session.wait_for(f"Turn over {number}.")
            session.screen.history.top.clear()  # of the emulator: reading all of it would slow down the measurement
            session.raw.clear()
            if number in MARKS or number in (turns // 10, turns):
                time.sleep(1)
                state_bytes = sum(
                    path.lstat().st_size
                    for top in (folder / "project" / ".clio", folder / "home" / ".clio")
                    for path in top.rglob("*")
                    if path.is_file()
                )
                now = read_status(get_pid(session))
                marks.append((number, now, state_bytes))
                print(
                    f"turn {number}: {now['rss'] / 1024:.0f} MiB, {now['files']} files open, {now['threads']} threads, "
                    f"{now['children']} children, {state_bytes / 1e6:.2f} MB on disk, "
                    f"{now['cpu_ms'] / number:.0f} ms of CPU per turn, after {time.monotonic() - started:.0f} s",
                    flush=True,
                )
        (first, _, before), (last, _, state_bytes) = marks[0], marks[-1]
        print(f"soak: {(state_bytes - before) / max(last - first, 1):,.0f} bytes per turn of four calls")
        # Python's thread pool starts its last threads late; a leak has also grown since the previous mark.
        growing = [name for name in ("files", "threads", "children") if marks[-1][1][name] > marks[-2][1][name]]
        session.send("\x04")
        session.wait_exit(60)
        if growing:
            raise SystemExit(f"still growing: {', '.join(growing)}")


def main() -> None:
    """Run the named parts, or all."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("parts", nargs="*", choices=["idle", "company", "large", "soak", []])
    parser.add_argument("--turns", type=int, default=300)
    parser.add_argument("--messages", type=int, default=10_000)
    parser.add_argument("--calls", type=int, default=2_000)
    arguments = parser.parse_args()
    signal.signal(signal.SIGPIPE, signal.SIG_DFL)
    for part in arguments.parts or ["idle", "company", "large", "soak"]:
        with tempfile.TemporaryDirectory() as name:
            folder = Path(name)
            match part:
                case "idle":
                    measure_idle(folder)
                case "company":
                    measure_with_company(folder)
                case "large":
                    measure_large_session(folder, arguments.messages, arguments.calls)
                case _:
                    measure_soak(folder, arguments.turns)


if __name__ == "__main__":
    main()
