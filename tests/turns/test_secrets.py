"""A secret never reaches the disk, the screen or the server."""

import asyncio

import pytest

from clio.agent.user_interface import Notice, TextDelta, ToolFinished
from tests.security.secret_corpus import FORMS, RandomLetters
from tests.support.chat_server import text, tool_calls
from tests.turns.conftest import MakeHarness

KEY = "sk-proj-" + "A1b2C3d4E5" * 5  # built here, so that no file contains anything that looks like a key


def everything_on_disk(harness: object) -> bytes:
    folder = harness.project / ".clio"  # type: ignore[attr-defined]
    return b"".join(path.read_bytes() for path in folder.rglob("*") if path.is_file())


def test_a_secret_in_a_file_a_message_and_an_answer_is_redacted(make_harness: MakeHarness) -> None:
    harness = make_harness(
        [
            tool_calls([("read_file", {"path": ".env"}), ("run_command", {"command": "cat .env"})]),
            text(f"The key is {KEY}, keep it.", chunk_size=3),
        ],
        approve="all",
    )
    (harness.project / ".env").write_text(f"OPENAI_KEY={KEY}\nDEBUG=1\n", encoding="utf-8")

    async def run_turns() -> None:
        await harness.turn(f"my key is {KEY}, what is in .env?")
        await harness.app.close()

    asyncio.run(run_turns())
    assert [notice.text for notice in harness.seen(Notice)][:1] == [
        "1 secret was replaced in your message before it was saved or sent"
    ]
    assert all("1 secret replaced" in call.summary for call in harness.seen(ToolFinished))
    sent = b"".join(request.raw for request in harness.server.requests)
    shown = "".join(event.text for event in harness.seen(TextDelta))
    for place in (sent, shown.encode(), everything_on_disk(harness), repr(harness.events).encode()):
        assert KEY[:20].encode() not in place
        assert KEY[-12:].encode() not in place
        assert b"[REDACTED:" in place


def test_a_secret_that_the_model_writes_to_a_file_is_written_unchanged(make_harness: MakeHarness) -> None:
    call = ("write_file", {"path": "settings.txt", "content": f"key = {KEY}\n"})
    harness = make_harness([tool_calls([call]), text("ok")], approve="all")
    asyncio.run(harness.turn("write it"))
    assert (harness.project / "settings.txt").read_text(encoding="utf-8") == f"key = {KEY}\n"
    assert KEY.encode() not in harness.server.requests[1].raw


@pytest.mark.parametrize(
    "said",
    [
        "remember that the db password is hunter2-Xy81-klop",
        "merk dir: das DB-Passwort ist hunter2-Xy81-klop",
    ],
)
def test_a_memory_of_which_only_the_name_of_a_secret_is_left_is_not_saved(make_harness: MakeHarness, said: str) -> None:
    harness = make_harness([text("Ok."), text("Ok.")])

    async def story() -> None:
        await harness.turn(said)
        await harness.turn("remember that the db password is in the vault of the team")
        await harness.app.close()

    asyncio.run(story())
    assert [one.content for one in harness.app.memory.store.records()] == [
        "the db password is in the vault of the team"
    ]
    assert [one.text for one in harness.seen(Notice) if "secrets are never stored" in one.text]


@pytest.mark.parametrize("form", ["github", "openai", "jwt", "slack-hook", "stripe"])
@pytest.mark.parametrize("seam", ["\n", "\n  ", "\\\n", " \n> "])
def test_no_half_of_a_wrapped_secret_is_sent_or_saved(make_harness: MakeHarness, form: str, seam: str) -> None:
    secret = FORMS[form](RandomLetters(f"wrapped-{form}"))
    first, second = secret[: len(secret) // 2], secret[len(secret) // 2 :]
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(f"remember that the token is {first}{seam}{second} for staging")
        sent = str(harness.server.requests[-1].body)
        kept = "".join(
            path.read_text(encoding="utf-8", errors="replace")
            for path in (harness.project / ".clio").rglob("*")
            if path.is_file()
        )
        for half in (first[8:], second):
            assert half not in sent and half not in kept
        await harness.app.close()

    asyncio.run(run())


def test_the_line_below_a_secret_stays(make_harness: MakeHarness) -> None:
    token = FORMS["github"](RandomLetters("above"))
    harness = make_harness([text("Ok.")])

    async def run() -> None:
        await harness.turn(f"the password is hunter2\nThe token is {token}\nDatabase migrations run first\nconfig.yaml")
        sent = str(harness.server.requests[-1].body)
        assert token not in sent and "Database migrations" in sent and "config.yaml" in sent
        await harness.app.close()

    asyncio.run(run())
