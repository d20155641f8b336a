"""Pictures mentioned in a message, in whole turns over real HTTP: sent, saved, refused, and resumed."""

import asyncio
import base64
from collections.abc import Callable
from typing import Any

import pytest

from clio.agent.user_interface import Notice
from clio.messages import UserMessage
from clio.sessions.store import SessionStore
from clio.tokens import IMAGE_TOKENS, message_units
from tests.support.chat_server import text
from tests.support.harness import Harness
from tests.support.wording import mentions
from tests.turns.conftest import MakeHarness

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
URL = "data:image/png;base64," + base64.b64encode(PNG).decode("ascii")


def draw(harness: Harness, name: str = "shot.png", data: bytes = PNG) -> None:
    (harness.project / name).write_bytes(data)


def say(harness: Harness, *steps: str | Callable[[], object]) -> Any:
    """Run a turn for each text and the functions between them; return the messages of the last request."""

    async def run() -> None:
        for step in steps:
            if isinstance(step, str):
                await harness.turn(step)
            else:
                step()

    asyncio.run(run())
    return harness.server.requests[-1].body["messages"]


def notices(harness: Harness) -> list[str]:
    return [event.text for event in harness.seen(Notice)]


def test_a_picture_is_sent_with_the_message_and_unchanged_later(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat"), text("yes")], model="gpt-4o")
    draw(harness)
    messages = say(harness, "what is on @shot.png?", "are you sure?")
    words, picture = messages[1]["content"]
    assert words["text"].endswith("what is on @shot.png?")
    assert picture == {"type": "image_url", "image_url": {"url": URL}}
    first, second = (request.raw.split(b'"messages":')[1] for request in harness.server.requests)
    assert second.startswith(first[:-2])
    assert notices(harness) == ["+ shot.png · png, 1.0 kB"]


def test_a_picture_is_saved_with_the_session(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat"), text("still")], model="gpt-4o")
    draw(harness)
    say(harness, "what is on @shot.png?")
    session_id = harness.app.session.id
    harness.app.session.close()
    (harness.project / "shot.png").unlink()
    again = harness.build()
    again.open_session(session_id)
    harness.app = again
    assert say(harness, "and now?")[1]["content"][1]["image_url"]["url"] == URL


def test_a_branch_has_the_picture_too(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat")], model="gpt-4o")
    draw(harness)
    say(harness, "what is on @shot.png?")
    store: SessionStore = harness.app.store
    copy = store.open(store.fork(harness.app.session.id))
    message = copy.messages[0]
    assert isinstance(message, UserMessage)
    assert copy.read_data(message.images[0].blob) == PNG
    copy.close()


def test_a_model_without_pictures_is_named_and_the_setting_helps(make_harness: MakeHarness) -> None:
    harness = make_harness([text("what?")])
    draw(harness)
    assert isinstance(say(harness, "see @shot.png")[-1]["content"], str)
    assert mentions(notices(harness)[0], "'test-model'", "not known", "images")


def test_a_model_without_pictures_gets_a_text_for_an_earlier_picture(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat"), text("hm")], model="gpt-4o")
    draw(harness)
    messages = say(harness, "see @shot.png", lambda: harness.app.set_model("gpt-3.5-turbo"), "and?")
    words, picture = messages[1]["content"].split("see @shot.png")
    assert "date:" in words
    assert "shot.png" in picture
    assert "does not support images" in picture


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("huge.png", PNG + b"\0" * 12_000_000, "it has 12 MB; at most 10 MB are read"),
        ("fake.png", b"just words", "it is not a png, jpg, gif or webp image"),
    ],
)
def test_a_picture_that_cannot_be_sent_is_reported(make_harness: MakeHarness, name: str, data: bytes, why: str) -> None:
    harness = make_harness([text("ok")], model="gpt-4o")
    draw(harness, name, data)
    assert isinstance(say(harness, f"see @{name}")[-1]["content"], str)
    assert notices(harness) == [f"@{name} was not added: {why}"]


def test_a_picture_whose_file_is_gone_is_replaced_by_its_name(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat"), text("hm")], model="gpt-4o")
    draw(harness)
    say(harness, "see @shot.png")
    session_id = harness.app.session.id
    harness.app.session.close()
    for blob in (harness.project / ".clio" / "sessions" / session_id / "blobs").iterdir():
        blob.unlink()
    harness.app = harness.build()
    harness.app.open_session(session_id)
    assert mentions(say(harness, "and?")[1]["content"][1]["text"], "image", "shot.png", "no longer stored")


def test_a_pasted_picture_is_mentioned_by_its_number(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat")], model="gpt-4o")
    number = harness.app.pending_input.add_image(PNG)
    assert say(harness, f"see @clipboard:{number}")[-1]["content"][1]["image_url"]["url"] == URL


def test_a_picture_counts_as_a_thousand_tokens(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat")], model="gpt-4o")
    draw(harness)
    say(harness, "see @shot.png")
    message = harness.app.session.messages[0]
    assert isinstance(message, UserMessage)
    bare = UserMessage(content=message.content, context=message.context)
    assert message_units(message) - message_units(bare) == 4 * IMAGE_TOKENS


def test_no_picture_is_saved_in_incognito(make_harness: MakeHarness) -> None:
    harness = make_harness([text("a cat")], model="gpt-4o", incognito=True)
    draw(harness)
    assert say(harness, "see @shot.png")[-1]["content"][1]["image_url"]["url"] == URL
    assert not (harness.project / ".clio").exists()
