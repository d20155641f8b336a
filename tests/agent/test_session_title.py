"""A session's name by the light model, after the first turn."""

import asyncio
from pathlib import Path

import pytest

from clio.agent.session_title import TITLE_CHARS, clean_title
from clio.sessions.ledger import Ledger
from tests.support.chat_server import ChatServer, text
from tests.support.harness import Harness


def run(tmp_path: Path, *answers: str, name: str = "", **overrides: object) -> tuple[Harness, ChatServer]:
    """Run one turn and the request for the title."""
    project = tmp_path / "project"
    project.mkdir()
    with ChatServer([text(answer) for answer in answers]) as server:
        harness = Harness(project, tmp_path / "home", server, **{"light_model": "light", **overrides})

        async def main() -> None:
            await harness.turn("Why does the retry policy wait so long?")
            named = asyncio.Event()
            if name:
                harness.app.begin_title(named.set)
                harness.app.session.rename(name)
                await asyncio.wait_for(named.wait(), 30)
            else:
                harness.app.begin_title(named.set)
                if harness.app._title is not None:  # pyright: ignore[reportPrivateUsage]
                    await asyncio.wait_for(named.wait(), 30)
            await harness.turn("Thanks.")
            await harness.app.close()

        asyncio.run(main())
    return harness, server


def test_one_small_request_to_the_light_model_names_the_session_and_is_billed(tmp_path: Path) -> None:
    harness, server = run(tmp_path, "Because of the cap.", '"Retry policy waits too long"', "You are welcome.")
    assert harness.app.session.name == "Retry policy waits too long"
    assert [request.body["model"] for request in server.requests] == ["test-model", "light", "test-model"]
    asked = server.requests[1].body
    assert "retry policy" in str(asked["messages"]) and not asked.get("tools")
    assert [bill.model for bill in harness.app.session.bills] == ["test-model", "light", "test-model"]
    stored = Ledger(tmp_path / "home" / "costs.jsonl").path.read_text()
    assert stored.count('"model":"light"') == 1


@pytest.mark.parametrize("overrides", [{"session_titles": False}, {"incognito": True}])
def test_no_request_if_it_is_off_or_nothing_is_saved(tmp_path: Path, overrides: dict[str, object]) -> None:
    harness, server = run(tmp_path, "Because of the cap.", "You are welcome.", **overrides)
    assert [request.body["model"] for request in server.requests] == ["test-model"] * 2
    assert harness.app.session.name is None


def test_no_request_without_a_light_model(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with ChatServer([text("Done.")]) as server:
        harness = Harness(project, tmp_path / "home", server)

        async def main() -> None:
            await harness.turn("Hello")
            harness.app.begin_title(lambda: None)
            await harness.app.close()

        asyncio.run(main())
        assert len(server.requests) == 1


def test_a_name_given_by_the_user_takes_precedence(tmp_path: Path) -> None:
    harness, _ = run(tmp_path, "Because of the cap.", "A title of the model", "You are welcome.", name="mine")
    assert harness.app.session.name == "mine"


@pytest.mark.parametrize(
    ("answer", "title"),
    [
        ("Title: **Fix the parser**.\nMore text", "Fix the parser"),
        ("\n\n„Wartezeit ändern“\n", "Wartezeit ändern"),
        ("a\x1b[31mb\x07\u202ec\u200b", "a [31mb c"),
        ("", ""),
        ("***", ""),
    ],
)
def test_a_title_is_one_line_without_markup_or_control_characters(answer: str, title: str) -> None:
    assert clean_title(answer) == title
    assert len(clean_title("word " * 100)) <= TITLE_CHARS


def test_a_session_that_was_left_meanwhile_is_not_named(tmp_path: Path) -> None:
    project = tmp_path / "project"
    project.mkdir()
    with ChatServer([text("Done."), text("A title")]) as server:
        harness = Harness(project, tmp_path / "home", server, light_model="light")

        async def main() -> None:
            await harness.turn("Hello")
            harness.app.begin_title(lambda: None)
            harness.app.new_session()
            await harness.app.close()

        asyncio.run(main())
        assert [info.name for info in harness.app.store.list()] == [None]
