"""Pictures named in a message, whole turns over real HTTP: sent, kept, refused, and there after a restart."""

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
from tests.support.desk import Desk
from tests.support.wording import mentions
from tests.turns.conftest import MakeDesk

PNG = b"\x89PNG\r\n\x1a\n" + bytes(range(256)) * 4
URL = "data:image/png;base64," + base64.b64encode(PNG).decode("ascii")


def draw(desk: Desk, name: str = "shot.png", data: bytes = PNG) -> None:
    (desk.project / name).write_bytes(data)


def say(desk: Desk, *steps: str | Callable[[], object]) -> Any:
    """Run a turn for each text, and what is done between them; the messages of the last request."""

    async def run() -> None:
        for step in steps:
            if isinstance(step, str):
                await desk.turn(step)
            else:
                step()

    asyncio.run(run())
    return desk.server.requests[-1].body["messages"]


def told(desk: Desk) -> list[str]:
    return [event.text for event in desk.seen(Notice)]


def test_a_picture_goes_with_the_words_that_name_it_and_stays_the_same_later(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat"), text("yes")], model="gpt-4o")
    draw(desk)
    messages = say(desk, "what is on @shot.png?", "are you sure?")
    words, picture = messages[1]["content"]
    assert words["text"].endswith("what is on @shot.png?")
    assert picture == {"type": "image_url", "image_url": {"url": URL}}
    first, second = (request.raw.split(b'"messages":')[1] for request in desk.server.requests)
    assert second.startswith(first[:-2])
    assert told(desk) == ["+ shot.png · png, 1.0 kB"]


def test_a_picture_is_kept_with_the_session(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat"), text("still")], model="gpt-4o")
    draw(desk)
    say(desk, "what is on @shot.png?")
    session_id = desk.app.session.id
    desk.app.session.close()
    (desk.project / "shot.png").unlink()
    again = desk.build()
    again.open_session(session_id)
    desk.app = again
    assert say(desk, "and now?")[1]["content"][1]["image_url"]["url"] == URL


def test_a_branch_has_the_picture_too(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat")], model="gpt-4o")
    draw(desk)
    say(desk, "what is on @shot.png?")
    store: SessionStore = desk.app.store
    copy = store.open(store.fork(desk.app.session.id))
    said = copy.messages[0]
    assert isinstance(said, UserMessage)
    assert copy.read_data(said.images[0].blob) == PNG
    copy.close()


def test_a_model_that_takes_none_is_named_and_setting_it_helps(make_desk: MakeDesk) -> None:
    desk = make_desk([text("what?")])
    draw(desk)
    assert isinstance(say(desk, "see @shot.png")[-1]["content"], str)
    assert mentions(told(desk)[0], "'test-model'", "not known", "pictures")


def test_a_model_without_eyes_is_sent_the_words_of_an_earlier_picture(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat"), text("hm")], model="gpt-4o")
    draw(desk)
    messages = say(desk, "see @shot.png", lambda: desk.app.set_model("gpt-3.5-turbo"), "and?")
    words, picture = messages[1]["content"].split("see @shot.png")
    assert "date:" in words
    assert "shot.png" in picture
    assert "takes no pictures" in picture


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("huge.png", PNG + b"\0" * 12_000_000, "it has 12 MB, and at most 10 MB are read"),
        ("fake.png", b"just words", "it is no png, jpg, gif or webp picture"),
    ],
)
def test_what_cannot_be_sent_is_reported(make_desk: MakeDesk, name: str, data: bytes, why: str) -> None:
    desk = make_desk([text("ok")], model="gpt-4o")
    draw(desk, name, data)
    assert isinstance(say(desk, f"see @{name}")[-1]["content"], str)
    assert told(desk) == [f"@{name} is not put in: {why}"]


def test_a_picture_whose_bytes_are_gone_is_named_in_its_place(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat"), text("hm")], model="gpt-4o")
    draw(desk)
    say(desk, "see @shot.png")
    session_id = desk.app.session.id
    desk.app.session.close()
    for blob in (desk.project / ".clio" / "sessions" / session_id / "blobs").iterdir():
        blob.unlink()
    desk.app = desk.build()
    desk.app.open_session(session_id)
    assert mentions(say(desk, "and?")[1]["content"][1]["text"], "picture", "shot.png", "not stored")


def test_a_pasted_picture_is_named_by_its_number(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat")], model="gpt-4o")
    number = desk.app.shelf.add_image(PNG)
    assert say(desk, f"see @clipboard:{number}")[-1]["content"][1]["image_url"]["url"] == URL


def test_a_picture_weighs_a_thousand_tokens(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat")], model="gpt-4o")
    draw(desk)
    say(desk, "see @shot.png")
    said = desk.app.session.messages[0]
    assert isinstance(said, UserMessage)
    bare = UserMessage(content=said.content, context=said.context)
    assert message_units(said) - message_units(bare) == 4 * IMAGE_TOKENS


def test_nothing_of_a_picture_is_stored_in_incognito(make_desk: MakeDesk) -> None:
    desk = make_desk([text("a cat")], model="gpt-4o", incognito=True)
    draw(desk)
    assert say(desk, "see @shot.png")[-1]["content"][1]["image_url"]["url"] == URL
    assert not (desk.project / ".clio").exists()
