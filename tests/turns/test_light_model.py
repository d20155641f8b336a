"""Side questions: which model answers them, and what a key from a command leaves behind."""

import asyncio
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clio.agent.model_request import SideQuestion
from clio.agent.user_interface import Notice
from clio.errors import ProviderError
from tests.support.chat_server import Script, error
from tests.support.harness import Harness, make_repository
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer
from tests.support.wording import mentions

SECRET = "tok-4711-of-the-command"


@pytest.fixture
def servers() -> Iterator[Any]:
    with ExitStack() as stack:
        yield lambda *scripts: [stack.enter_context(ProtocolServer(answers)) for answers in scripts]


def make(tmp_path: Path, server: ProtocolServer, config: str, **overrides: str) -> Harness:
    project, home = tmp_path / "project", tmp_path / "home"
    if not project.exists():
        make_repository(project, {"a.txt": "a\n"})
    home.mkdir(exist_ok=True)
    (home / "config.yaml").write_text(config)
    return Harness(project, home, server, **({"model": "main", "context_window": "60000"} | overrides))


async def side(harness: Harness) -> str:
    question = SideQuestion(lambda: harness.app.light_provider, asyncio.get_running_loop(), harness.app.spending)
    return await question.answer("same?")


def light(server: ProtocolServer, more: str = "") -> str:
    return f"models: {{small: {{base_url: '{server.url}', model: tiny{more}}}}}\nlight_model: small\n"


def test_the_light_model_answers_side_questions_and_nothing_else(tmp_path: Path, servers: Any) -> None:
    main, small = servers([ProtocolAnswer(text="hello")], [ProtocolAnswer(text="yes")])
    harness = make(tmp_path, main, light(small))

    async def both() -> tuple[str, str]:
        return (await harness.turn("hi")).text, await side(harness)

    assert asyncio.run(both()) == ("hello", "yes")
    assert [request.body["model"] for request in small.requests if request.method == "POST"] == ["tiny"]
    assert [request.body["model"] for request in main.requests if request.method == "POST"] == ["main"]


def test_without_one_the_main_model_answers(tmp_path: Path, servers: Any) -> None:
    (main,) = servers([ProtocolAnswer(text="yes")])
    assert asyncio.run(side(make(tmp_path, main, ""))) == "yes"


def test_an_unusable_light_model_is_reported_once(tmp_path: Path, servers: Any) -> None:
    (main,) = servers([ProtocolAnswer(text="yes"), ProtocolAnswer(text="yes")])
    harness = make(tmp_path, main, "models: {small: {provider: nosuch}}\nlight_model: small\n")
    assert [asyncio.run(side(harness)), asyncio.run(side(harness))] == ["yes", "yes"]
    assert len([event for event in harness.seen(Notice) if "light_model 'small' is not used" in event.text]) == 1


def test_a_refusal_by_the_light_model_ends_only_the_question(tmp_path: Path, servers: Any) -> None:
    scripts: list[list[Script]] = [[], [error(401)]]
    main, small = servers(*scripts)
    with pytest.raises(ProviderError, match="API key rejected"):
        asyncio.run(side(make(tmp_path, main, light(small, ", api_key_command: echo key"))))


def test_a_light_model_of_unknown_price_is_not_used_under_a_limit(tmp_path: Path, servers: Any) -> None:
    main, small = servers([ProtocolAnswer(text="yes")], [])
    harness = make(tmp_path, main, light(small, ", provider: moonshot"), max_cost="1")
    assert asyncio.run(side(harness)) == "yes"
    assert any("--max-cost cannot be enforced" in event.text for event in harness.seen(Notice))


def test_a_key_from_a_command_is_in_no_event_and_no_file(tmp_path: Path, servers: Any) -> None:
    (main,) = servers(
        [ProtocolAnswer(text=f"your key is {SECRET}, is it not"), error(400, {"error": {"message": f"bad {SECRET}"}})]
    )
    script = tmp_path / "key.py"
    script.write_text(f"print({SECRET!r})")
    harness = make(tmp_path, main, f"api_key_command: '\"{sys.executable}\" {script}'\n")

    async def turns() -> None:
        await harness.turn("what is my key?")
        finished = await harness.turn("again")
        assert SECRET not in finished.error
        await harness.app.close()

    asyncio.run(turns())
    assert main.requests[-1].headers["authorization"] == f"Bearer {SECRET}"
    assert not [event for event in harness.events if SECRET in repr(event)]
    written = [path for path in tmp_path.rglob("*") if path.is_file() and path != script]
    assert [path for path in written if SECRET.encode() in path.read_bytes()] == []


def test_an_alias_by_name_and_a_resumed_session_use_the_same_server(tmp_path: Path, servers: Any) -> None:
    main, small = servers([ProtocolAnswer(text="main")], [ProtocolAnswer(text="one"), ProtocolAnswer(text="two")])
    harness = make(tmp_path, main, light(small))

    async def first() -> str:
        harness.app.set_model("small")
        await harness.turn("hi")
        session = harness.app.session.id
        await harness.app.close()
        return session

    session = asyncio.run(first())
    again = make(tmp_path, main, light(small))
    again.take_model_as_configured()

    async def second() -> str:
        again.app.open_session(session)
        assert again.app.provider.model == "tiny"
        return (await again.turn("go on")).text

    assert asyncio.run(second()) == "two"


def test_resuming_a_session_of_the_first_server_leaves_the_alias(tmp_path: Path, servers: Any) -> None:
    main, small = servers([ProtocolAnswer(text="one"), ProtocolAnswer(text="two")], [])
    harness = make(tmp_path, main, light(small))
    harness.take_model_as_configured()

    async def there_and_back() -> str:
        harness.app.set_model("other")
        await harness.turn("hi")
        first = harness.app.session.id
        harness.app.new_session()
        harness.app.set_model("small")
        harness.app.set_model("beside-tiny")  # a model's own name: on the server of the alias
        assert harness.app.provider.base_url == small.url  # type: ignore[attr-defined]
        harness.app.open_session(first)
        return (await harness.turn("hi again")).text

    assert asyncio.run(there_and_back()) == "two"
    assert main.requests[-1].body["model"] == "other"


def choose_on_the_server_of_small(tmp_path: Path, main: ProtocolServer, small: ProtocolServer, name: str) -> str:
    """Return the id of a session with one turn of a model chosen by its own name after the alias."""
    harness = make(tmp_path, main, light(small))

    async def talk() -> str:
        harness.app.set_model("small")
        harness.app.set_model(name)
        await harness.turn("hi")
        await harness.app.close()
        return harness.app.session.id

    return asyncio.run(talk())


@pytest.mark.parametrize("name", ["beside-tiny", "main"])
def test_a_model_named_on_the_server_of_an_alias_is_resumed_there(tmp_path: Path, servers: Any, name: str) -> None:
    main, small = servers([], [ProtocolAnswer(text="one"), ProtocolAnswer(text="two"), ProtocolAnswer(text="three")])
    session = choose_on_the_server_of_small(tmp_path, main, small, name)
    for answer in ("two", "three"):  # the second resume reads what the first one saved
        again = make(tmp_path, main, light(small))
        again.take_model_as_configured()

        async def go_on(harness: Harness = again) -> str:
            harness.app.open_session(session)
            text = (await harness.turn("go on")).text
            await harness.app.close()
            return text

        assert asyncio.run(go_on()) == answer
    assert [request.body["model"] for request in small.requests if request.method == "POST"] == [name] * 3
    assert not [request for request in main.requests if request.method == "POST"]


def test_a_model_whose_alias_was_removed_is_not_requested_elsewhere(tmp_path: Path, servers: Any) -> None:
    main, small = servers([ProtocolAnswer(text="hello")], [ProtocolAnswer(text="one")])
    session = choose_on_the_server_of_small(tmp_path, main, small, "beside-tiny")
    again = make(tmp_path, main, "models: {}\n")
    again.take_model_as_configured()

    async def go_on() -> str:
        again.app.open_session(session)
        return (await again.turn("go on")).text

    assert asyncio.run(go_on()) == "hello"
    assert [request.body["model"] for request in main.requests if request.method == "POST"] == ["main"]
    assert any("'small'" in event.text for event in again.seen(Notice))


def test_a_session_whose_alias_was_removed_is_resumed_with_a_warning(tmp_path: Path, servers: Any) -> None:
    main, small = servers([ProtocolAnswer(text="hello")], [ProtocolAnswer(text="one")])
    harness = make(tmp_path, main, light(small))

    async def first() -> str:
        harness.app.set_model("small")
        await harness.turn("hi")
        await harness.app.close()
        return harness.app.session.id

    session = asyncio.run(first())
    again = make(tmp_path, main, "models: {small: {provider: xai}}\n")
    again.take_model_as_configured()

    async def second() -> str:
        again.app.open_session(session)
        return (await again.turn("go on")).text

    assert asyncio.run(second()) == "hello"
    assert any(mentions(event.text, "'small'", "not available", "xai", "key") for event in again.seen(Notice))
