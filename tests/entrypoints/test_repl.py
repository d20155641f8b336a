"""The whole shell in a real terminal: lines, turns, approvals, commands, interrupts, exit and resuming."""

import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import pytest

from clio.messages import UserMessage
from clio.sessions.store import SessionStore
from tests.entrypoints.repl_support import ROOT, Place, at_prompt, make_place
from tests.support.chat_server import ChatServer, stall, text, tool_calls
from tests.support.pty_session import PtySession

pytestmark = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
WRITE = [("write_file", {"path": "a.txt", "content": "hello\n"})]


def leave(clio: PtySession) -> str:
    """Press Ctrl-D on an empty line; return everything the terminal showed."""
    at_prompt(clio)
    clio.key("ctrl-d")
    assert clio.wait_exit() == 0, clio.everything
    return clio.everything


def test_a_whole_session(place: Place, server: ChatServer) -> None:
    server.add(tool_calls(WRITE), text("Written **well**."), stall("I begin and wait"), text("Still here."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("write a file")
        clio.wait_for("yes, for this")
        assert not (place.project / "a.txt").exists()
        clio.send("y")
        clio.wait_for("Written well.")
        clio.wait_for("2 requests")
        assert (place.project / "a.txt").read_text(encoding="utf-8") == "hello\n"

        clio.line("/session list")
        clio.wait_for("this one")
        assert "write a file" in clio.text

        clio.line("go on for ever")
        clio.wait_for("I begin and")
        clio.key("escape")
        clio.wait_for("interrupted")
        assert server.disconnected.wait(10)

        # Text typed before the next prompt is not sent automatically after Esc.
        clio.wait_for(r"interrupted[\s\S]*test-model · ask", regex=True)
        clio.line("are you there?")
        clio.wait_for("Still here.")
        clio.wait_for("1 request")
        everything = leave(clio)
    session_id = everything.rsplit("clio -r ", 1)[1].split()[0]
    store = SessionStore(place.project / ".clio" / "sessions")
    user_messages = [message for message in store.read(store.find(session_id)) if isinstance(message, UserMessage)]
    assert [message.origin for message in user_messages].count("user") == 3
    # The interrupted answer is kept, with a note about it before the next user message.
    sent = [message["role"] for message in server.requests[-1].body["messages"]]
    assert sent[-3:] == ["user", "assistant", "user"]


@pytest.mark.fast
def test_a_small_terminal(place: Place, server: ChatServer) -> None:
    server.add(tool_calls(WRITE), text("Written."))
    with place.clio(columns=20, lines=10) as clio:
        clio.wait_for("test-model · ask")
        clio.line("write")
        clio.wait_for("create a.txt")
        clio.wait_for("n no")
        clio.send("y")
        clio.wait_for("Written.")
        clio.line("/session list")
        clio.wait_for(r"this\s+one", regex=True)
        clio.line("/help")
        clio.wait_for("/exit")
        assert all(len(line) <= 20 for line in clio.lines)
        leave(clio)


def test_a_dumb_terminal(place: Place, server: ChatServer) -> None:
    server.add(tool_calls(WRITE), text("Written **well**."))
    with place.clio(TERM="dumb") as clio:
        clio.wait_for(">")
        clio.line("write a file")
        clio.wait_for("yes, for this")
        clio.line("y")
        clio.wait_for("Written well.")
        clio.line("/session list")
        clio.wait_for("this one")
        clio.line("/exit")
        assert clio.wait_exit() == 0
        assert b"\x1b" not in clio.raw


def test_a_dumb_terminal_interrupts_by_signal(place: Place, server: ChatServer) -> None:
    server.add(tool_calls(WRITE), stall("for ever and ever"), text("Still here."))
    with place.clio(TERM="dumb") as clio:
        clio.wait_for(">")
        clio.line("write a file")
        clio.wait_for("yes, for this")
        clio.line("y")
        clio.wait_for("for ever and")
        clio.line("typed ahead")
        clio.key("ctrl-c")
        clio.wait_for("interrupted")
        clio.line("hello?")
        clio.wait_for(r"Still here\.\n+1 request[^\n]*\n+> *\Z", regex=True)
        clio.key("ctrl-c")
        clio.wait_for("Ctrl-D to exit")
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0
    assert server.requests[-1].body["messages"][-1]["content"].endswith("hello?")


def test_no_colour(place: Place, server: ChatServer) -> None:
    server.add(text("Plain **words**."))
    with place.clio(NO_COLOR="1") as clio:
        clio.wait_for("test-model · ask")
        clio.line("hi")
        clio.wait_for("Plain words.")
        clio.line("/hepl")
        clio.wait_for("did you mean '/help'?")
        leave(clio)
    colours = [part.split(b"m")[0] for part in bytes(clio.raw).split(b"\x1b[")[1:] if b"m" in part[:12]]
    codes = {code for part in colours for code in part.split(b";") if code.isdigit()}
    assert not {code for code in codes if 30 <= int(code) <= 49 or 90 <= int(code) <= 107}, codes


def test_a_signal_stops_a_turn_and_the_shell_continues(place: Place, server: ChatServer) -> None:
    server.add(stall("waiting for ever"))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("x")
        clio.wait_for("waiting for")
        os.kill(clio.pid, signal.SIGINT)
        clio.wait_for("interrupted")
        at_prompt(clio)
        clio.key("ctrl-c")
        clio.wait_for("Ctrl-D to exit")
        leave(clio)


def test_sigterm_closes_the_session(place: Place, server: ChatServer) -> None:
    server.add(stall("half an answer is"))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("remember me")
        clio.wait_for("half an answer")
        os.kill(clio.pid, signal.SIGTERM)
        assert clio.wait_exit() == 128 + signal.SIGTERM
    files = sorted(path.suffix for path in (place.project / ".clio" / "sessions").glob("*.json*"))
    assert files == [".json"]  # a snapshot and no journal: closed normally


def test_text_typed_ahead_is_sent_after_the_turn(place: Place, server: ChatServer) -> None:
    server.add(text("A slow answer that takes its time.", pause_s=0.3), text("Second."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("one")
        clio.wait_for("A slow")
        clio.send("two\rthr")
        clio.wait_for("Second.")
        clio.wait_for("❯ thr")
        clio.line("ee")
        clio.wait_for("❯ three")
    assert [request.body["messages"][-1]["content"].splitlines()[-1] for request in server.requests[:2]] == [
        "one",
        "two",
    ]


def test_a_session_is_resumed(place: Place, server: ChatServer) -> None:
    server.add(text("The retry policy is in loop.py."), text("As I said."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("where is the retry policy?")
        clio.wait_for("loop.py")
        clio.line("/session name retries")
        clio.wait_for("is now")
        leave(clio)
    with place.clio("-c") as clio:
        clio.wait_for("session retries · 2 messages")
        clio.wait_for("❯ where is the retry policy?")
        clio.wait_for(r"test-model · ask · .*· retries", regex=True)
        clio.line("again?")
        clio.wait_for("As I said.")
        leave(clio)
    assert len(server.requests[-1].body["messages"]) == 4
    with place.clio("-r") as clio:
        clio.wait_for("type to filter")
        clio.send("nothing")
        clio.wait_for("no matches")
        clio.send("\x7f" * 7 + "retries\r")
        clio.wait_for("session retries · 4 messages")
        leave(clio)
    with place.clio("-r", "nobody") as clio:
        assert clio.wait_exit() == 2
        assert "nobody" in clio.text
        assert "❯" not in clio.text


def test_sessions_are_switched_deleted_and_created(place: Place, server: ChatServer) -> None:
    server.add(text("Answer one."), text("Answer two."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("first talk")
        clio.wait_for("Answer one.")
        clio.line("/session new second")
        clio.wait_for("new session 'second'")
        clio.line("second talk")
        clio.wait_for("Answer two.")
        clio.line("/session switch 2")
        clio.wait_for("❯ first talk")
        clio.line("/session delete second")
        clio.wait_for("permanently? [y/N]")
        clio.send("n")
        at_prompt(clio)
        clio.line("/session list")
        clio.wait_for("this one")
        assert "second" in clio.text.split("/session list")[-1]
        clio.line("/session delete second")
        clio.wait_for(r"(?s)permanently.*permanently", regex=True)
        clio.send("y")
        clio.wait_for("Deleted")
        leave(clio)
    assert [info.first_words for info in SessionStore(place.project / ".clio" / "sessions").list()] == ["first talk"]


def test_keys_typed_during_the_start_arrive(place: Place, server: ChatServer) -> None:
    server.add(text("Got it."))
    with place.clio() as clio:
        clio.wait_for("❯")  # painted; nothing is imported yet
        clio.line("an early word")
        clio.wait_for("Got it.")
        assert clio.everything.count("an early word") == 1
        leave(clio)
    assert server.requests[0].body["messages"][-1]["content"].endswith("an early word")


LAZY = (
    "openai pydantic httpx2 httpx numpy git yaml tiktoken mcp rich.markdown importlib.metadata markdown_it pygments"
).split()
DUMP = """
import json, sys
from pathlib import Path
from clio.ui.prompt_line import PromptLine
read = PromptLine.read
async def dumping_read(self, *, on_ready=None, **options):
    def ready():
        Path("modules.json").write_text(json.dumps(sorted(sys.modules)), encoding="utf-8")
        if on_ready:
            on_ready()
    return await read(self, on_ready=ready, **options)
PromptLine.read = dumping_read
from clio.cli import main
sys.exit(main([]))
"""


def test_the_first_prompt_is_shown_before_heavy_imports(place: Place) -> None:
    with place.clio(code=DUMP) as clio:
        clio.wait_for("test-model · ask")
        leave(clio)
    modules = set(json.loads((place.project / "modules.json").read_text(encoding="utf-8")))
    assert "prompt_toolkit" in modules
    assert sorted(modules & set(LAZY)) == []
    assert "clio.app" not in modules


def test_the_first_start_shows_the_introduction(tmp_path: Path, server: ChatServer) -> None:
    place = make_place(tmp_path, server, visited=False, starts_python=True)
    with place.clio() as clio:
        clio.wait_for(r"/help for commands[^\n]*\n\n❯ Ask[^\n]*\n+test-model · ask\Z", regex=True)
        assert "test-model at" in clio.text
        clio.line("/exit")
        assert clio.wait_exit() == 0
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        assert "/help shows" not in leave(clio)


def test_without_a_server_it_explains_how_to_connect(tmp_path: Path) -> None:
    place = make_place(tmp_path, visited=False, starts_python=True)
    with place.clio("--provider", "offline") as clio:
        clio.wait_for("OPENAI_API_KEY")
        clio.wait_for("offline · ask")
        leave(clio)


def test_an_invalid_configuration_ends_with_a_sentence(tmp_path: Path) -> None:
    place = make_place(tmp_path, starts_python=True)
    with place.clio("--provider", "antropic") as clio:
        assert clio.wait_exit() == 2
        assert "did you mean 'anthropic'?" in clio.text


def test_history_is_shared_between_runs_and_incognito_leaves_none(place: Place, server: ChatServer) -> None:
    def tree() -> dict[str, bytes]:
        roots = (place.project, place.home)
        return {str(path): path.read_bytes() for root in roots for path in root.rglob("*") if path.is_file()}

    server.add(text("Secret answer."))
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.line("/todo add water the plants")
        clio.wait_for("Todo 1")
        leave(clio)
    before = tree()
    with place.clio("--incognito") as clio:
        clio.wait_for("incognito: nothing is written")
        clio.line("a secret")
        clio.wait_for("1 request")
        at_prompt(clio)
        clio.key("up")
        clio.wait_for(r"❯ a secret\n.*incognito[^\n]*\Z", regex=True)
        clio.key("ctrl-c")
        leave(clio)
    assert tree() == before
    with place.clio() as clio:
        clio.wait_for("test-model · ask")
        clio.key("up")
        clio.wait_for("❯ /todo add water the plants")
        clio.key("ctrl-c")
        leave(clio)


def test_trust_is_asked_for_once(place: Place, server: ChatServer) -> None:
    server.add(text("Changed it."))
    (place.project / ".clio").mkdir()
    (place.project / ".clio" / "config.yaml").write_text("approve: edits\n", encoding="utf-8")
    with place.clio() as clio:
        clio.wait_for("Trust it? [y/N]")
        assert "approve: edits  (.clio/config.yaml:1)" in clio.text
        clio.line("n")
        clio.wait_for("test-model · ask")
        clio.wait_for("permissions it wants have no effect")
        clio.line("hello")
        clio.wait_for("Changed it.")
        clio.line("/trust")
        clio.wait_for(r"instructions:[\s\S]*Trust it\? \[y/N\]", regex=True)
        clio.send("y")
        clio.wait_for("trusted; the project's settings apply")
        clio.wait_for("test-model · edits")
        clio.line("/session")
        clio.wait_for(r"messages +2", regex=True)
        leave(clio)
    with place.clio() as clio:
        clio.wait_for("test-model · edits")
        assert "Trust" not in leave(clio)


def test_piped_text_is_one_prompt(place: Place, server: ChatServer) -> None:
    server.add(text("Piped."))
    command = [sys.executable, "-m", "clio"]
    env = place.env() | {"PYTHONPATH": str(ROOT)}
    done = subprocess.run(command, input=b"what?\n", cwd=place.project, env=env, capture_output=True, timeout=60)
    assert (done.returncode, done.stdout) == (0, b"Piped.\n"), done.stderr
    nothing = subprocess.run(
        command, stdin=subprocess.DEVNULL, cwd=place.project, env=env, capture_output=True, timeout=60
    )
    assert nothing.returncode == 2
    assert b"-p TEXT" in nothing.stderr or b"-p" in nothing.stderr


def test_the_terminal_is_restored(place: Place) -> None:
    code = """
import subprocess, sys, termios
before = termios.tcgetattr(0)
done = subprocess.run([sys.executable, "-m", "clio"])
print("code", done.returncode, "same" if termios.tcgetattr(0) == before else "changed")
"""
    with place.clio(code=code) as clio:
        clio.wait_for("test-model · ask")
        clio.line("/model")
        clio.wait_for("switches")
        clio.key("ctrl-d")
        clio.wait_for("code 0 same")
