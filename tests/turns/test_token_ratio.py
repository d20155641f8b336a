"""Estimates of whole requests compared with servers that bill in different ways, over restarts and model changes."""

import asyncio
import hashlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import Notice, StepStarted
from clio.app import App
from clio.context import encodings
from clio.context.learned_limits import RATIOS_FILE_NAME
from clio.tokens import DEFAULT_RATIO
from tests.context.test_calibrate import TINY, tiny_file
from tests.support.chat_server import Reply, text, tool_calls
from tests.support.harness import Harness
from tests.support.waiting import wait_until_async
from tests.turns.conftest import MakeHarness

FILES = {
    "prose.md": "The parser reads a line, looks for the first colon, and takes what stands before it as the key.\n"
    * 30,
    "code.py": "def total(prices, discount):\n    return sum(price * (100 - discount) for price in prices)\n\n\n" * 30,
    "data.json": json.dumps([{"id": number, "name": f"item{number}", "tags": ["a", "b"]} for number in range(20)]),
    "chinese.md": "解析器读取一行，寻找第一个冒号，并将其前面的内容作为键。\n" * 8,
}


def characters(body: dict[str, Any]) -> int:
    """Return the number of characters of a request: messages, calls, tools."""
    text_chars = sum(len(message["content"] or "") for message in body["messages"])
    calls = [call["function"] for message in body["messages"] for call in message.get("tool_calls", ())]
    return text_chars + sum(len(call["name"] + call["arguments"]) for call in calls) + len(json.dumps(body["tools"]))


def whole_body(body: dict[str, Any]) -> int:
    """Return the number of all characters that are sent."""
    return len(json.dumps(body, ensure_ascii=False))


def reading(chars_a_token: float, count: Callable[[dict[str, Any]], int]) -> Callable[[dict[str, Any]], Reply]:
    """Simulate a model that reads files, then answers; its server bills this many characters per token."""

    def reply(body: dict[str, Any]) -> Reply:
        usage = (round(count(body) / chars_a_token), 10)
        done = sum(message["role"] == "tool" for message in body["messages"])
        if body["messages"][-1]["role"] == "user" and done < len(FILES) - 1:
            return tool_calls([("read_file", {"path": list(FILES)[done]})], usage=usage)
        return text("I have read it, and the function does what its name says.", usage=usage)

    return reply


def begin(make_harness: MakeHarness, replies: Any, **settings: Any) -> Harness:
    harness = make_harness(replies, **settings)
    for name, content in FILES.items():
        (harness.project / name).write_text(content, encoding="utf-8")
    return harness


def estimates(harness: Harness) -> list[int]:
    return [event.prompt_tokens for event in harness.seen(StepStarted)]


def ratio(app: App) -> float:
    assert app.window is not None
    return app.window.ratio


def stored(harness: Harness) -> dict[str, float]:
    return json.loads((harness.app.home / RATIOS_FILE_NAME).read_text(encoding="utf-8"))["models"]


@pytest.mark.parametrize("count", [characters, whole_body])
@pytest.mark.parametrize("chars_a_token", [2.0, 3.0, 6.0])
def test_five_answers_teach_the_ratio_of_a_server(
    make_harness: MakeHarness, chars_a_token: float, count: Callable[[dict[str, Any]], int]
) -> None:
    harness = begin(make_harness, reading(chars_a_token, count))

    async def run() -> None:
        for turn in range(4):
            assert (await harness.turn(f"What does file {turn} say?")).status == "done"
        await harness.app.close()

    asyncio.run(run())
    billed = [count(request.body) / chars_a_token for request in harness.server.requests]
    assert len(billed) >= 7
    for estimate, bill in list(zip(estimates(harness), billed, strict=True))[5:]:
        assert estimate == pytest.approx(bill, rel=0.10)
    context = stored(harness)["test-model"]
    assert context == pytest.approx(harness.app.session.token_ratio, rel=0.001)


def test_the_learned_ratio_survives_a_restart_and_is_per_model(make_harness: MakeHarness) -> None:
    harness = begin(make_harness, reading(2.0, characters))

    async def run() -> None:
        await harness.turn("What does the file say?")
        await harness.turn("And the next?")
        await harness.app.close()
        learned = stored(harness)["test-model"]
        assert learned < 2.5

        harness.events.clear()
        harness.app = harness.build()  # a new session of the same model
        await harness.turn("Say hello.")
        billed = characters(harness.server.requests[-1].body) / 2.0
        assert estimates(harness)[0] == pytest.approx(characters(harness.server.requests[-2].body) / 2.0, rel=0.10)
        assert estimates(harness)[-1] == pytest.approx(billed, rel=0.10)

        harness.app.set_model("other-model")
        await harness.app.open_window()
        assert ratio(harness.app) == DEFAULT_RATIO
        harness.app.set_model("test-model")
        await harness.app.open_window()
        assert ratio(harness.app) == pytest.approx(learned, rel=0.1)
        await harness.app.close()

    asyncio.run(run())


def test_each_model_of_a_session_has_its_own_ratio(make_harness: MakeHarness) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        return text("Yes.", usage=(characters(body) // (2 if body["model"] == "test-model" else 6), 1))

    harness = begin(make_harness, reply)

    async def run() -> None:
        await harness.turn("one")
        harness.app.set_model("other-model")
        await harness.turn("two")
        session = harness.app.session.id
        await harness.app.close()
        harness.app = harness.build()
        harness.app.open_session(session)
        harness.app.set_model("other-model")
        await harness.app.open_window()
        assert ratio(harness.app) == pytest.approx(stored(harness)["other-model"], rel=0.001)
        await harness.app.close()

    asyncio.run(run())
    models = stored(harness)
    assert models["other-model"] == pytest.approx(3 * models["test-model"], rel=0.05)


def test_the_ratio_of_a_session_takes_precedence_over_that_of_its_model(make_harness: MakeHarness) -> None:
    harness = begin(make_harness, reading(3.0, characters))

    async def run() -> float:
        await harness.turn("What does the file say?")
        session, learned = harness.app.session.id, harness.app.session.token_ratio
        await harness.app.close()
        (harness.app.home / RATIOS_FILE_NAME).write_text(
            '{"version": 1, "models": {"test-model": 7.5}}', encoding="utf-8"
        )
        harness.app = harness.build()
        await harness.app.open_window()
        assert ratio(harness.app) == 7.5
        harness.app.open_session(session)
        await harness.app.open_window()
        assert ratio(harness.app) == learned
        await harness.app.close()
        return learned or 0.0

    assert asyncio.run(run()) > 0
    assert stored(harness) == {"test-model": 7.5}  # nothing new was learned, so nothing is written


def test_incognito_saves_nothing(make_harness: MakeHarness) -> None:
    harness = begin(make_harness, reading(2.0, characters), incognito=True)

    async def run() -> None:
        await harness.turn("What does the file say?")
        assert ratio(harness.app) < 3.0
        await harness.app.close()

    asyncio.run(run())
    assert not harness.app.home.exists()


def test_a_corrupt_file_gives_one_notice(make_harness: MakeHarness) -> None:
    harness = begin(make_harness, reading(2.0, characters))
    harness.app.home.mkdir()
    (harness.app.home / RATIOS_FILE_NAME).write_text("{", encoding="utf-8")

    async def run() -> None:
        assert (await harness.turn("What does the file say?")).status == "done"
        await harness.app.close()

    asyncio.run(run())
    notices = [event.text for event in harness.seen(Notice)]
    assert len([sentence for sentence in notices if "renamed to" in sentence]) == 1
    assert "test-model" in stored(harness)


def test_a_server_without_usage_is_estimated_with_an_installed_tokenizer(
    make_harness: MakeHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = begin(make_harness, [text("Yes.", usage=None)])
    folder = tmp_path / "home" / "encodings"
    folder.mkdir(parents=True)
    (folder / TINY.file_name).write_bytes(tiny_file())
    monkeypatch.setattr(encodings, "O200K", TINY)
    assert hashlib.sha256(tiny_file()).hexdigest() == TINY.sha256

    async def run() -> None:
        await harness.turn("hello")
        assert ratio(harness.app) == DEFAULT_RATIO  # nothing waits for the count
        await wait_until_async(lambda: ratio(harness.app) != DEFAULT_RATIO)
        await harness.app.close()

    asyncio.run(run())
    assert not (harness.app.home / RATIOS_FILE_NAME).exists()  # only billed ratios are saved
    assert harness.app.session.token_ratio is None


def test_usage_of_a_server_takes_precedence_over_a_tokenizer(
    make_harness: MakeHarness, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    harness = begin(make_harness, reading(3.0, characters))
    folder = tmp_path / "home" / "encodings"
    folder.mkdir(parents=True)
    (folder / TINY.file_name).write_bytes(tiny_file())
    monkeypatch.setattr(encodings, "O200K", TINY)
    started: list[str] = []

    async def count(counted: str, *_: object) -> None:
        started.append(counted)

    monkeypatch.setattr("clio.context.encodings.count_tokens", count)

    async def run() -> None:
        await harness.turn("hello")
        await wait_until_async(lambda: all(task.get_name() != "calibrate" for task in asyncio.all_tasks()))
        await harness.app.close()

    asyncio.run(run())
    assert started == []
