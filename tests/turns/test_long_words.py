"""A message longer than half of the window: its ends are sent, all of it is kept where the model can read it."""

import asyncio

from clio.context.request_builder import fit_user_text
from clio.messages import UserMessage
from tests.support.chat_server import text
from tests.turns.conftest import MakeHarness


def test_a_megabyte_is_bounded_by_the_window_and_readable_whole(make_harness: MakeHarness) -> None:
    log = "".join(f"line {number} of the log\n" for number in range(45_000))
    harness = make_harness([text("noted")], context_window=32_000)
    asyncio.run(harness.turn(f"what went wrong here?\n{log}that was all"))
    said = harness.app.session.messages[0]
    assert isinstance(said, UserMessage)
    assert said.content.startswith("what went wrong here?\nline 0")
    assert said.content.endswith("that was all")
    assert len(said.content) < 32_000 * 4 / 4 + 1_000
    assert said.blob is not None
    assert f'read_output("{said.blob}")' in said.content
    assert harness.app.session.read_blob(said.blob) == f"what went wrong here?\n{log}that was all"


def test_what_fits_is_left_alone() -> None:
    assert fit_user_text("short", 40, 4.0, lambda text: "x").text == "short"
