"""Consolidation while the prompt is idle and at exit, in a real terminal."""

import asyncio
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from clio.entrypoints.background_work import IdleConsolidation
from clio.memory.consolidation.consolidation import Report
from clio.memory.store.typed_store import TypedStore
from clio.messages import AssistantMessage, UserMessage
from clio.sessions.store import SessionStore
from tests.entrypoints.repl_support import Place, at_prompt, make_place
from tests.support.chat_server import ChatServer, text
from tests.support.own_sessions import own_store
from tests.support.waiting import SteppedLoop, run_stepped, wait_until, wait_until_async

posix = pytest.mark.skipif(sys.platform == "win32", reason="pseudo-terminals are POSIX")
STATEMENT = "We deploy from main on Fridays, and the API listens on port 8080."


def store_of(place: Place) -> SessionStore:
    return own_store(place.project, place.home / ".clio")


def make_session(place: Place, statement: str = STATEMENT) -> None:
    """Make an earlier session in which the user states something permanent."""
    session = store_of(place).new(place.project)
    now = time.time() - 3_600
    session.append(UserMessage(content=statement, created=now))
    session.append(AssistantMessage(content="Noted.", created=now + 1))
    session.close()


def settings(place: Place, lines: str) -> None:
    (place.home / ".clio" / "config.yaml").write_text(f"provider: offline\n{lines}", encoding="utf-8")


def facts(place: Place) -> str:
    folder = place.project / ".clio"
    return "".join(path.read_text(encoding="utf-8") for path in folder.glob("memories*.json*"))


@posix
def test_consolidation_runs_while_idle_and_is_reported_above_the_prompt(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    make_session(place)
    settings(place, "sleep_idle_s: 1\n")
    with place.clio() as clio:
        clio.wait_for("consolidated: 1 turn processed", 60)
        assert "/memory undo" in clio.text
        clio.line("/memory log")
        clio.wait_for("while idle")
        clio.line("/memory undo")
        clio.wait_for("Undone: the consolidation of")
        at_prompt(clio)
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0
    assert TypedStore(place.project / ".clio" / "memories.json").records() == []


@posix
@pytest.mark.parametrize("how", ["off", "incognito", "memory off"])
def test_it_never_consolidates_automatically_when_off(tmp_path: Path, how: str) -> None:
    place = make_place(tmp_path)
    make_session(place)
    options = ["--incognito"] if how == "incognito" else []
    settings(place, f"sleep_idle_s: 1\nsleep: {how != 'off'}\n".lower())
    with place.clio(*options) as clio:
        clio.wait_for("offline")
        if how == "memory off":
            clio.line("/memory off")
            clio.wait_for("memory off")
        end = time.monotonic() + 3
        while time.monotonic() < end:
            clio.take_in(0.1)
        assert "consolidated:" not in clio.everything
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0
    assert facts(place) == ""
    assert not (place.project / ".clio" / "sleep.json").exists()


@posix
def test_exit_consolidates_the_session_and_reports_the_result(tmp_path: Path) -> None:
    with ChatServer() as server:
        server.add(text("Understood."), text("Hello again."))
        place = make_place(tmp_path, server)
        with place.clio() as clio:
            at_prompt(clio)
            clio.line(STATEMENT)
            clio.wait_for("Understood.")
            at_prompt(clio)
            clio.key("ctrl-d")
            assert clio.wait_exit() == 0
            assert "consolidated: 1 turn processed" in clio.everything
        assert "8080" in facts(place)
        with place.clio() as clio:
            at_prompt(clio)
            clio.line("hello")
            clio.wait_for("Hello again.")
            at_prompt(clio)
            clio.key("ctrl-d")
            assert clio.wait_exit() == 0
            assert "consolidated:" not in clio.everything  # nothing permanent was said


@posix
def test_every_exit_consolidates_its_session_and_idle_time_the_current_one(tmp_path: Path) -> None:
    statements = [
        "The API listens on port 8080.",
        "We deploy from main on Fridays.",
        "The staging database runs on db-7.",
    ]
    with ChatServer([text("Understood.")] * 4) as server:
        place = make_place(tmp_path, server)
        for sentence in statements:
            with place.clio() as clio:
                at_prompt(clio)
                clio.line(sentence)
                clio.wait_for("Understood.")
                at_prompt(clio)
                clio.key("ctrl-d")
                assert clio.wait_exit() == 0
                assert "consolidated: 1 turn processed, 1 fact" in clio.everything
            assert sentence.rstrip(".") in facts(place)
        (place.home / ".clio" / "config.yaml").write_text("sleep_idle_s: 1\n", encoding="utf-8")
        with place.clio() as clio:
            at_prompt(clio)
            clio.line("The wiki is hosted at wiki.local.")
            clio.wait_for("consolidated: 1 turn processed, 1 fact", 60)
            clio.line("/memory undo")
            clio.wait_for("Undone: the consolidation of")
            at_prompt(clio)
            clio.key("ctrl-d")
            assert clio.wait_exit() == 0


@posix
def test_exit_without_a_message_consolidates_nothing(tmp_path: Path) -> None:
    place = make_place(tmp_path)
    make_session(place)
    settings(place, "")
    with place.clio() as clio:
        at_prompt(clio)
        clio.key("ctrl-d")
        assert clio.wait_exit() == 0
    assert not (place.project / ".clio" / "sleep.json").exists()


class FakeConsolidation:
    """A consolidation that lasts until it is stopped, and records its reports."""

    def __init__(self, *, lasts: bool = True) -> None:
        self.begun = threading.Event()
        self.ended = threading.Event()
        self.runs = 0
        self.told: list[str] = []
        self._lasts = lasts

    def consolidate(self, stop: Callable[[], bool]) -> Report:
        self.runs += 1
        self.begun.set()
        wait_until(lambda: not self._lasts or stop())
        self.ended.set()
        return Report(at=0.0, replayed=1, facts=1)

    async def tell(self, line: str) -> None:
        self.told.append(line)

    def idle(self, after_s: float | None = 0.02, is_busy: Callable[[], bool] = lambda: False) -> IdleConsolidation:
        return IdleConsolidation(after_s, is_busy=is_busy, consolidate=self.consolidate, tell=self.tell)


async def happened(event: threading.Event) -> None:
    await asyncio.wait_for(asyncio.to_thread(event.wait), 10)


def test_the_first_key_stops_it_and_idle_time_starts_it_again() -> None:
    async def run() -> None:
        sleeper = FakeConsolidation()
        idle = sleeper.idle()
        with idle.watch_idle_time():
            await happened(sleeper.begun)
            sleeper.begun.clear()
            idle.note_key()
            await happened(sleeper.ended)
            await happened(sleeper.begun)
        await idle.close()
        assert sleeper.runs == 2

    asyncio.run(run())


def test_keys_delay_it_and_nothing_runs_between_them() -> None:
    async def run(loop: SteppedLoop) -> None:
        sleeper = FakeConsolidation(lasts=False)
        idle = sleeper.idle(0.2)
        with idle.watch_idle_time():
            for _ in range(30):
                idle.note_key()
                await loop.pass_time(0.15)
            assert sleeper.runs == 0
        await loop.pass_time(60)
        assert sleeper.runs == 0
        with idle.watch_idle_time():
            await loop.pass_time(0.2)
            assert sleeper.runs == 1
        await idle.close()

    run_stepped(run)


def test_it_waits_for_running_work() -> None:
    async def run(loop: SteppedLoop) -> None:
        busy = True
        sleeper = FakeConsolidation(lasts=False)
        idle = sleeper.idle(1.0, is_busy=lambda: busy)
        with idle.watch_idle_time():
            for _ in range(3):
                await loop.pass_time(1.0)
            assert sleeper.runs == 0
            busy = False
            await loop.pass_time(1.0)
            assert sleeper.runs == 1
        await idle.close()

    run_stepped(run)


def test_a_consolidation_that_ends_during_a_turn_is_reported_before_the_next_line() -> None:
    async def run() -> None:
        sleeper = FakeConsolidation()
        idle = sleeper.idle()
        with idle.watch_idle_time():
            await happened(sleeper.begun)
        await happened(sleeper.ended)
        await asyncio.gather(*(one for one in asyncio.all_tasks() if one is not asyncio.current_task()))
        assert sleeper.told == []
        with idle.watch_idle_time():
            await wait_until_async(lambda: sleeper.told)
            assert [line.partition(",")[0] for line in sleeper.told] == ["consolidated: 1 turn processed"]
        await idle.close()

    asyncio.run(run())


def test_it_consolidates_once_until_a_key_is_pressed() -> None:
    async def run(loop: SteppedLoop) -> None:
        sleeper = FakeConsolidation(lasts=False)
        idle = sleeper.idle(1.0)
        with idle.watch_idle_time():
            for _ in range(3):
                await loop.pass_time(1.0)
            assert sleeper.runs == 1
        await idle.close()

    run_stepped(run)


@posix
def test_nothing_is_learned_from_pasted_text_at_once_or_at_exit(tmp_path: Path) -> None:
    pastes = [
        "check the grammar of this page\nWe use Slack, not email. Always wear your badge.\nNever leave the door open.",
        "meeting notes, please turn into tickets\n- the API gateway listens on port 8443\n- we use Kafka, not Rabbit",
        "improve this release note\nSessions expire after an hour.\nNever lose a token.",
        "what is wrong here?\nBen: always use mocks then",
    ]
    with ChatServer([text(f"Answer {number}.") for number in range(6)]) as server:
        place = make_place(tmp_path, server)
        with place.clio() as clio:
            at_prompt(clio)
            for number, pasted in enumerate(pastes):
                clio.send(f"\x1b[200~{pasted}\x1b[201~")
                clio.wait_for_screen(pasted[-10:])
                clio.key("enter")
                clio.wait_for(f"Answer {number}.")
                at_prompt(clio)
            clio.send(
                "The customer wrote this, what should we answer?\x1b\r\x1b[200~never call us on a Sunday\x1b[201~\r"
            )
            clio.wait_for("Answer 4.")
            at_prompt(clio)
            clio.send("forget that \x1b[200~the gateway listens on port 8443\x1b[201~\r")
            clio.wait_for("Answer 5.")
            at_prompt(clio)
            assert "check the grammar of this page" in clio.everything
            assert "pasted_text" not in clio.everything
            clio.key("ctrl-d")
            assert clio.wait_exit() == 0
            shown = clio.everything
        asked = [row["content"] for row in server.requests[-1].body["messages"] if row["role"] == "user"]
        assert "never call us on a Sunday" in "".join(map(str, asked))
        assert "Saved to" not in shown
        assert "Applied to" not in shown
        assert facts(place) == ""
        assert not list((place.home / ".clio").glob("memories*"))
        with place.clio("--continue") as clio:
            clio.wait_for("check the grammar of this page")
            assert "pasted_text" not in clio.everything
