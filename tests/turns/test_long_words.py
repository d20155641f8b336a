"""A message longer than half of the window: its ends are sent, and the model can read all of it."""

import asyncio

from clio.context.request_builder import fit_user_text
from clio.messages import UserMessage
from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness


def test_a_megabyte_is_shortened_for_the_window_and_can_be_read_completely(make_harness: MakeHarness) -> None:
    log = "".join(f"line {number} of the log\n" for number in range(45_000))
    harness = make_harness([text("noted")], context_window=32_000)
    asyncio.run(harness.turn(f"what went wrong here?\n{log}that was all"))
    message = harness.app.session.messages[0]
    assert isinstance(message, UserMessage)
    assert message.content.startswith("what went wrong here?\nline 0")
    assert message.content.endswith("that was all")
    assert len(message.content) < 32_000 * 4 / 4 + 1_000
    assert message.blob is not None
    assert f'read_output("{message.blob}")' in message.content
    assert harness.app.session.read_blob(message.blob) == f"what went wrong here?\n{log}that was all"


def test_a_message_that_fits_is_unchanged() -> None:
    assert fit_user_text("short", 40, 4.0, lambda text: "x").text == "short"
