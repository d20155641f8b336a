"""Faulty servers: memory and time are limited, the error is clear, and the key goes only to its server.

The whole list, each in a separate process, is `python -m bench.mad_servers`; here are the cases that need a process,
and the rest with smaller numbers.
"""

import asyncio
import json
import math
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from bench.mad_servers import KEY, run_clio
from clio.agent.user_interface import TurnFinished
from clio.messages import ToolMessage
from clio.providers import failure
from tests.mad import server as mad
from tests.mad.server import Answer, MadServer, short_answer
from tests.support.harness import Harness, make_repository

MOST_MIB = 180


class _Url:
    """The part of a server that a harness needs."""

    def __init__(self, url: str) -> None:
        self.url = url


def turn(
    folder: Path, answer: Answer, transport: str = "auto", **overrides: Any
) -> tuple[TurnFinished, Harness, MadServer]:
    """Run one turn with a faulty server, within half a minute."""
    project, home = folder / "project", folder / "home"
    home.mkdir()
    (home / "config.yaml").write_text(f"transport: {transport}\n", encoding="utf-8")
    make_repository(project, {"a.py": "x = 1\n"})
    with MadServer(answer) as server:
        harness = Harness(project, home, _Url(server.url), **overrides)  # type: ignore[arg-type]

        async def play() -> TurnFinished:
            try:
                return await harness.turn("hi")
            finally:
                await harness.app.close()

        return asyncio.run(play()), harness, server


@pytest.mark.parametrize("transport", ["lean", "openai"])
def test_an_endless_line_uses_no_more_memory_than_its_limit(tmp_path: Path, transport: str) -> None:
    with MadServer(mad.endless_line()) as server:
        code, _, kib, line = run_clio(server.url, tmp_path, transport=transport)
    assert code == 1 and "an event without an end" in line
    assert kib / 1024 < MOST_MIB
    assert len(server.requests) == 1, "the request is not repeated"


@pytest.mark.sampled(6)
@pytest.mark.parametrize("transport", ["lean", "openai"])
@pytest.mark.parametrize(
    ("answer", "bound", "words"),
    [
        (mad.endless_text, ("MAX_CHARS", 100_000), "more than 100,000 characters"),
        (mad.endless_thoughts, ("MAX_CHARS", 100_000), "more than 100,000 characters"),
        (mad.long_arguments, ("MAX_CHARS", 100_000), "more than 100,000 characters"),
        (lambda: mad.packed(10), ("MAX_CHARS", 100_000), "more than 100,000 characters"),
        (mad.endless_nothing, ("MAX_EMPTY", 1_000), "1,000 events in a row without content"),
        (mad.many_calls, ("MAX_CALLS", 50), "more than 50 tool calls"),
        (mad.endless_comments, ("MAX_SILENCE_S", 0.3), "no data for"),
    ],
)
def test_endless_answers_are_ended(
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    transport: str,
    answer: Callable[[], Answer],
    bound: tuple[str, float],
    words: str,
) -> None:
    monkeypatch.setattr(failure, *bound)
    finished, _, server = turn(tmp_path, answer(), transport)
    assert (finished.status, finished.exit_code) == ("failed", 1)
    assert words in finished.error and "connection to 127.0.0.1:" in finished.error
    assert len(server.requests) == 1


@pytest.mark.parametrize("transport", ["lean", "openai"])
@pytest.mark.parametrize("status", [302, 307, 308])
def test_the_key_never_follows_a_redirect(tmp_path: Path, transport: str, status: int) -> None:
    with MadServer(lambda _: iter([mad.head(), short_answer("stolen")])) as elsewhere:
        finished, _, server = turn(tmp_path, mad.redirect(elsewhere.url, status), transport=transport)
    assert (finished.status, finished.exit_code) == ("refused", 2)
    assert b"test-key" in server.requests[0] and elsewhere.requests == []


@pytest.mark.parametrize("answer", [mad.absurd_bill, mad.huge_bill])
def test_invalid_usage_does_no_harm(tmp_path: Path, answer: Callable[[], Answer]) -> None:
    finished, harness, _ = turn(tmp_path, answer())
    assert (finished.status, finished.text) == ("done", "ok")
    assert finished.usage.prompt_tokens == finished.usage.completion_tokens == 0
    assert finished.cost is None or math.isfinite(finished.cost.micro_dollars)
    for path in (harness.project / ".clio").rglob("*.json*"):
        assert "NaN" not in path.read_text("utf-8") and "Infinity" not in path.read_text("utf-8")


def test_every_call_gets_one_result_with_its_own_id(tmp_path: Path) -> None:
    finished, harness, _ = turn(tmp_path, mad.twin_calls())
    assert (finished.status, finished.text, finished.steps) == ("done", "done", 2)
    results = [one for one in harness.app.session.messages if isinstance(one, ToolMessage)]
    assert len({one.tool_call_id for one in results}) == len(results) >= 5
    assert [one.ok for one in results[:3]] == [True, True, False]
    assert "there is no tool 'no_such_tool'" in results[2].content


def test_endless_delegation_is_stopped(tmp_path: Path) -> None:
    finished, harness, server = turn(tmp_path, mad.delegates_for_ever(), max_steps="10")
    assert finished.status in ("failed", "max_steps")
    assert len(server.requests) <= 110
    assert all(info.parent in (None, harness.app.session.id) for info in harness.app.store.list()), (
        "the sub-agent starts no other"
    )


def test_a_call_in_every_answer_ends_at_the_step_limit(tmp_path: Path) -> None:
    finished, _, server = turn(tmp_path, mad.calls_for_ever(), max_steps="5")
    assert (finished.status, finished.exit_code, len(server.requests)) == ("max_steps", 1, 5)


def test_the_key_of_the_bench_is_in_no_file(tmp_path: Path) -> None:
    with MadServer(lambda _: iter([mad.head(), short_answer(json.dumps({"key": KEY}))])) as server:
        assert run_clio(server.url, tmp_path)[0] == 0
    assert b"Bearer " + KEY.encode() in server.requests[0]
    kept = [path for path in tmp_path.rglob("*") if path.is_file() and KEY.encode() in path.read_bytes()]
    assert kept == []
