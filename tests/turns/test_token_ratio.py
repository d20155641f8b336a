"""Estimates of whole requests against servers that bill in their own ways, over restarts and changes of model."""

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
from tests.support.desk import Desk
from tests.support.waiting import wait_until_async
from tests.turns.conftest import MakeDesk

FILES = {
    "prose.md": "The parser reads a line, looks for the first colon, and takes what stands before it as the key.\n"
    * 30,
    "code.py": "def total(prices, discount):\n    return sum(price * (100 - discount) for price in prices)\n\n\n" * 30,
    "data.json": json.dumps([{"id": number, "name": f"item{number}", "tags": ["a", "b"]} for number in range(20)]),
    "chinese.md": "解析器读取一行，寻找第一个冒号，并将其前面的内容作为键。\n" * 8,
}


def characters(body: dict[str, Any]) -> int:
    """All text of a request: what is said, the calls, the tools."""
    said = sum(len(message["content"] or "") for message in body["messages"])
    calls = [call["function"] for message in body["messages"] for call in message.get("tool_calls", ())]
    return said + sum(len(call["name"] + call["arguments"]) for call in calls) + len(json.dumps(body["tools"]))


def whole_body(body: dict[str, Any]) -> int:
    """Every character that is sent."""
    return len(json.dumps(body, ensure_ascii=False))


def reading(chars_a_token: float, count: Callable[[dict[str, Any]], int]) -> Callable[[dict[str, Any]], Reply]:
    """A model that reads one file after the other, then answers; its server bills so many characters a token."""

    def reply(body: dict[str, Any]) -> Reply:
        usage = (round(count(body) / chars_a_token), 10)
        done = sum(message["role"] == "tool" for message in body["messages"])
        if body["messages"][-1]["role"] == "user" and done < len(FILES) - 1:
            return tool_calls([("read_file", {"path": list(FILES)[done]})], usage=usage)
        return text("I have read it, and the function does what its name says.", usage=usage)

    return reply


def begin(make_desk: MakeDesk, replies: Any, **settings: Any) -> Desk:
    desk = make_desk(replies, **settings)
    for name, content in FILES.items():
        (desk.project / name).write_text(content, encoding="utf-8")
    return desk


def estimates(desk: Desk) -> list[int]:
    return [event.prompt_tokens for event in desk.seen(StepStarted)]


def ratio(app: App) -> float:
    assert app.context is not None
    return app.context.ratio


def stored(desk: Desk) -> dict[str, float]:
    return json.loads((desk.app.home / RATIOS_FILE_NAME).read_text(encoding="utf-8"))["models"]


@pytest.mark.parametrize("count", [characters, whole_body])
@pytest.mark.parametrize("chars_a_token", [2.0, 3.0, 6.0])
def test_five_answers_teach_what_a_server_bills(
    make_desk: MakeDesk, chars_a_token: float, count: Callable[[dict[str, Any]], int]
) -> None:
    desk = begin(make_desk, reading(chars_a_token, count))

    async def run() -> None:
        for turn in range(4):
            assert (await desk.turn(f"What does file {turn} say?")).status == "done"
        await desk.app.close()

    asyncio.run(run())
    billed = [count(request.body) / chars_a_token for request in desk.server.requests]
    assert len(billed) >= 7
    for estimate, bill in list(zip(estimates(desk), billed, strict=True))[5:]:
        assert estimate == pytest.approx(bill, rel=0.10)
    context = stored(desk)["test-model"]
    assert context == pytest.approx(desk.app.session.token_ratio, rel=0.001)


def test_what_was_learned_survives_a_restart_and_is_per_model(make_desk: MakeDesk) -> None:
    desk = begin(make_desk, reading(2.0, characters))

    async def run() -> None:
        await desk.turn("What does the file say?")
        await desk.turn("And the next?")
        await desk.app.close()
        learned = stored(desk)["test-model"]
        assert learned < 2.5

        desk.events.clear()
        desk.app = desk.build()  # a new session of the same model
        await desk.turn("Say hello.")
        billed = characters(desk.server.requests[-1].body) / 2.0
        assert estimates(desk)[0] == pytest.approx(characters(desk.server.requests[-2].body) / 2.0, rel=0.10)
        assert estimates(desk)[-1] == pytest.approx(billed, rel=0.10)

        desk.app.set_model("other-model")
        await desk.app.window()
        assert ratio(desk.app) == DEFAULT_RATIO
        desk.app.set_model("test-model")
        await desk.app.window()
        assert ratio(desk.app) == pytest.approx(learned, rel=0.1)
        await desk.app.close()

    asyncio.run(run())


def test_each_model_of_one_session_keeps_its_own(make_desk: MakeDesk) -> None:
    def reply(body: dict[str, Any]) -> Reply:
        return text("Yes.", usage=(characters(body) // (2 if body["model"] == "test-model" else 6), 1))

    desk = begin(make_desk, reply)

    async def run() -> None:
        await desk.turn("one")
        desk.app.set_model("other-model")
        await desk.turn("two")
        session = desk.app.session.id
        await desk.app.close()
        desk.app = desk.build()
        desk.app.open_session(session)
        desk.app.set_model("other-model")
        await desk.app.window()
        assert ratio(desk.app) == pytest.approx(stored(desk)["other-model"], rel=0.001)
        await desk.app.close()

    asyncio.run(run())
    models = stored(desk)
    assert models["other-model"] == pytest.approx(3 * models["test-model"], rel=0.05)


def test_a_session_knows_better_than_others_of_its_model(make_desk: MakeDesk) -> None:
    desk = begin(make_desk, reading(3.0, characters))

    async def run() -> float:
        await desk.turn("What does the file say?")
        session, learned = desk.app.session.id, desk.app.session.token_ratio
        await desk.app.close()
        (desk.app.home / RATIOS_FILE_NAME).write_text('{"version": 1, "models": {"test-model": 7.5}}', encoding="utf-8")
        desk.app = desk.build()
        await desk.app.window()
        assert ratio(desk.app) == 7.5
        desk.app.open_session(session)
        await desk.app.window()
        assert ratio(desk.app) == learned
        await desk.app.close()
        return learned or 0.0

    assert asyncio.run(run()) > 0
    assert stored(desk) == {"test-model": 7.5}  # nothing new was learned, so nothing is written


def test_an_incognito_clio_keeps_nothing(make_desk: MakeDesk) -> None:
    desk = begin(make_desk, reading(2.0, characters), incognito=True)

    async def run() -> None:
        await desk.turn("What does the file say?")
        assert ratio(desk.app) < 3.0
        await desk.app.close()

    asyncio.run(run())
    assert not desk.app.home.exists()


def test_a_corrupt_file_is_one_notice(make_desk: MakeDesk) -> None:
    desk = begin(make_desk, reading(2.0, characters))
    desk.app.home.mkdir()
    (desk.app.home / RATIOS_FILE_NAME).write_text("{", encoding="utf-8")

    async def run() -> None:
        assert (await desk.turn("What does the file say?")).status == "done"
        await desk.app.close()

    asyncio.run(run())
    said = [event.text for event in desk.seen(Notice)]
    assert len([sentence for sentence in said if "set aside" in sentence]) == 1
    assert "test-model" in stored(desk)


def test_a_server_that_bills_nothing_is_estimated_by_the_tokeniser_on_disk(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = begin(make_desk, [text("Yes.", usage=None)])
    folder = tmp_path / "home" / "encodings"
    folder.mkdir(parents=True)
    (folder / TINY.file_name).write_bytes(tiny_file())
    monkeypatch.setattr(encodings, "O200K", TINY)
    assert hashlib.sha256(tiny_file()).hexdigest() == TINY.sha256

    async def run() -> None:
        await desk.turn("hello")
        assert ratio(desk.app) == DEFAULT_RATIO  # nothing waits for the count
        await wait_until_async(lambda: ratio(desk.app) != DEFAULT_RATIO)
        await desk.app.close()

    asyncio.run(run())
    assert not (desk.app.home / RATIOS_FILE_NAME).exists()  # only bills are kept
    assert desk.app.session.token_ratio is None


def test_a_server_that_bills_is_believed_without_a_tokeniser(
    make_desk: MakeDesk, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    desk = begin(make_desk, reading(3.0, characters))
    folder = tmp_path / "home" / "encodings"
    folder.mkdir(parents=True)
    (folder / TINY.file_name).write_bytes(tiny_file())
    monkeypatch.setattr(encodings, "O200K", TINY)
    started: list[str] = []

    async def count(counted: str, *_: object) -> None:
        started.append(counted)

    monkeypatch.setattr("clio.context.encodings.count_tokens", count)

    async def run() -> None:
        await desk.turn("hello")
        await wait_until_async(lambda: all(task.get_name() != "calibrate" for task in asyncio.all_tasks()))
        await desk.app.close()

    asyncio.run(run())
    assert started == []
