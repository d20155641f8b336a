"""Pictures in tool results: read_file and MCP servers, in each protocol; saved, resumed, refused, counted, dropped."""

import asyncio
import base64
import json
import struct
import sys
import zlib
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path
from typing import Any

import pytest

from clio.agent.user_interface import ToolFinished
from clio.context.message_views import shorten_message, split_units
from clio.images import MAX_TOOL_IMAGE_BYTES, NotAPicture, find_image_size, read_picture
from clio.messages import ToolMessage, blob_handles
from clio.tokens import IMAGE_TOKENS, message_units
from tests.support.harness import Harness, make_repository
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer
from tests.support.rows import each_row
from tests.support.wording import mentions

ROOT = Path(__file__).parent.parent.parent


def png(width: int = 2, height: int = 3, extra: bytes = b"") -> bytes:
    """Return a PNG of black pixels. extra: text of a chunk that makes it longer."""

    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    rows = zlib.compress((b"\0" + b"\0\0\0" * width) * height)
    head = struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0)
    text = chunk(b"tEXt", b"note\0" + extra) if extra else b""
    return b"\x89PNG\r\n\x1a\n" + chunk(b"IHDR", head) + text + chunk(b"IDAT", rows) + chunk(b"IEND", b"")


PNG = png()
ENCODED = base64.b64encode(PNG).decode("ascii")
GIF = b"GIF89a" + struct.pack("<HH", 4, 5) + b"\x80\0\0" + bytes(6) + b",\0\0\0\0\4\0\5\0\0\2\2D\1\0;"
JPEG = (
    b'\xff\xd8\xff\xe0\0\x10JFIF\0\1\1\0\0\1\0\1\0\0\xff\xc0\0\x11\x08\0\x07\0\x09\3\1"\0\2\x11\1\3\x11\1'
    b"\xff\xda\0\x08\1\1\0\0\x3f\0\x12\x34\xff\xd9"
)
WEBP = b"RIFF\x1e\0\0\0WEBPVP8X\x0a\0\0\0\0\0\0\0\x0a\0\0\x0b\0\0VP8 \0\0\0\0"


class HarnessMaker:
    """Makes harnesses with a server for all protocols."""

    def __init__(self, folder: Path, stack: ExitStack) -> None:
        self._folder = folder
        self._stack = stack

    def __call__(self, answers: list[ProtocolAnswer], protocol: str = "responses", **overrides: Any) -> Harness:
        project = self._folder / "project"
        if not project.exists():
            make_repository(project, {"calc.py": "x = 1\n"})
        home = self._folder / "home"
        home.mkdir(exist_ok=True)
        (home / "config.yaml").write_text(f"api: {protocol}\n", encoding="utf-8")
        server = self._stack.enter_context(ProtocolServer(answers))
        return Harness(project, home, server, **({"model": "gpt-6-sol"} | overrides))


@pytest.fixture
def harnesses(tmp_path: Path) -> Iterator[HarnessMaker]:
    with ExitStack() as stack:
        yield HarnessMaker(tmp_path, stack)


def read(path: str) -> ProtocolAnswer:
    return ProtocolAnswer(calls=[("read_file", {"path": path})])


def play(harness: Harness, *texts: str) -> list[dict[str, Any]]:
    """Run a turn for each text; return the bodies of the requests."""

    async def run() -> None:
        for text in texts:
            await harness.turn(text)

    asyncio.run(run())
    return [request.body for request in harness.server.requests]


def result(harness: Harness) -> ToolMessage:
    return next(one for one in harness.app.session.messages if isinstance(one, ToolMessage))


def test_a_picture_is_shown_over_responses(harnesses: HarnessMaker) -> None:
    harness = harnesses([read("shot.png"), ProtocolAnswer(text="black")])
    (harness.project / "shot.png").write_bytes(PNG)
    _, second = play(harness, "what is on shot.png?")
    output = second["input"][-1]
    assert output["type"] == "function_call_output"
    words, picture = output["output"]
    assert words["text"] == "[picture shot.png: png, 2 × 3 pixels, 68 bytes]"
    assert picture == {"type": "input_image", "image_url": f"data:image/png;base64,{ENCODED}", "detail": "auto"}


def test_a_picture_is_shown_over_messages(harnesses: HarnessMaker) -> None:
    harness = harnesses([read("shot.png"), ProtocolAnswer(text="black")], "messages", model="claude-sonnet-5-5")
    (harness.project / "shot.png").write_bytes(PNG)
    _, second = play(harness, "what is on shot.png?")
    (block,) = [one for one in second["messages"][-1]["content"] if one["type"] == "tool_result"]
    words, picture = block["content"]
    assert words["text"].startswith("[picture shot.png: png, ")
    assert picture["source"] == {"type": "base64", "media_type": "image/png", "data": ENCODED}


def test_it_is_saved_and_resumed_although_the_file_is_gone(harnesses: HarnessMaker) -> None:
    harness = harnesses([read("shot.png"), ProtocolAnswer(text="black"), ProtocolAnswer(text="still")])
    (harness.project / "shot.png").write_bytes(PNG)
    play(harness, "look")
    message = result(harness)
    (part,) = message.images
    assert (part.name, part.media_type, part.size) == ("shot.png", "image/png", len(PNG))
    assert part.blob in blob_handles(message)
    session_id = harness.app.session.id
    harness.app.session.close()
    (harness.project / "shot.png").unlink()
    harness.app = harness.build()
    harness.app.open_session(session_id)
    assert ENCODED in json.dumps(play(harness, "and now?")[-1])


def test_a_model_without_pictures_is_told_so(harnesses: HarnessMaker) -> None:
    harness = harnesses([read("shot.png"), ProtocolAnswer(text="I cannot see it")], model="gpt-3.5-turbo")
    (harness.project / "shot.png").write_bytes(PNG)
    _, second = play(harness, "look")
    output = second["input"][-1]["output"]
    assert isinstance(output, str)
    assert output.startswith("[picture shot.png: png") and "does not support images" in output
    assert result(harness).images == ()


@pytest.mark.parametrize("protocol", ["responses", "messages"])
def test_after_a_switch_to_a_model_without_pictures_only_the_name_is_sent(
    harnesses: HarnessMaker, protocol: str
) -> None:
    harness = harnesses([read("shot.png"), ProtocolAnswer(text="black"), ProtocolAnswer(text="hm")], protocol)
    (harness.project / "shot.png").write_bytes(PNG)

    async def run() -> None:
        await harness.turn("look")
        harness.app.set_model("gpt-3.5-turbo")
        await harness.turn("and now?")

    asyncio.run(run())
    sent = json.dumps(harness.server.requests[-1].body)
    assert ENCODED not in sent
    assert mentions(sent, "shot.png", "not shown", "not support images")


def test_a_sub_agent_sees_pictures_too(harnesses: HarnessMaker) -> None:
    delegate = ProtocolAnswer(calls=[("delegate", {"task": "look at shot.png"})])
    harness = harnesses([delegate, read("shot.png"), ProtocolAnswer(text="it is black"), ProtocolAnswer(text="black")])
    (harness.project / "shot.png").write_bytes(PNG)
    bodies = play(harness, "ask one")
    assert ENCODED in json.dumps(bodies[2])
    assert ENCODED not in json.dumps(bodies[3])


@pytest.mark.parametrize(
    ("name", "data", "why"),
    [
        ("large.png", png(extra=bytes([65]) * MAX_TOOL_IMAGE_BYTES), "the limit is 5.0 MB; make a smaller copy"),
        ("huge.png", png(extra=bytes([65]) * 30_000_000), "make a smaller copy"),
        ("half.png", PNG[:-20], "damaged or truncated"),
        ("wide.png", png(9_000, 1), "9,000 × 1 pixels, and the limit is 8,000 per side"),
        ("archive.zip", b"PK\3\4" + bytes(300), "binary file"),
    ],
)
def test_a_picture_that_cannot_be_shown_is_reported_and_not_sent(
    harnesses: HarnessMaker, name: str, data: bytes, why: str
) -> None:
    harness = harnesses([read(name), ProtocolAnswer(text="ok")])
    (harness.project / name).write_bytes(data)
    _, second = play(harness, "look")
    (done,) = [event for event in harness.events if isinstance(event, ToolFinished)]
    assert not done.ok
    assert why in second["input"][-1]["output"]


def test_a_text_file_with_the_name_of_a_picture_is_read_as_text(harnesses: HarnessMaker) -> None:
    harness = harnesses([read("notes.png"), ProtocolAnswer(text="ok")])
    (harness.project / "notes.png").write_text("just words\n", encoding="utf-8")
    _, second = play(harness, "look")
    assert "just words" in second["input"][-1]["output"]


@each_row(
    ("data", "size"), [(PNG, (2, 3)), (GIF, (4, 5)), (JPEG, (9, 7)), (WEBP, (11, 12)), (b"BM1234", None), (b"", None)]
)
def test_the_size_of_each_kind(data: bytes, size: tuple[int, int] | None) -> None:
    assert find_image_size(data) == size
    if size is None:
        with pytest.raises(NotAPicture):
            read_picture(data, "x")
    else:
        assert read_picture(data, "x").size == size
        for end in range(12, len(data) - 1):
            with pytest.raises(NotAPicture):
                read_picture(data[:end], "x")


def test_pictures_count_and_are_left_out_when_results_are_shortened(harnesses: HarnessMaker) -> None:
    harness = harnesses([read("shot.png"), read("shot.png"), ProtocolAnswer(text="black")])
    (harness.project / "shot.png").write_bytes(PNG)
    play(harness, "look twice")
    message = result(harness)
    assert message_units(message) > IMAGE_TOKENS * 4
    assert shorten_message(message, 5_000).content == message.content
    stale = shorten_message(message, 0)
    assert isinstance(stale, ToolMessage)
    assert stale.images == () and "left out" in stale.content and "shot.png" in stale.content
    assert message_units(stale) < 300
    assert split_units(harness.app.session.messages, message_units)


def test_a_picture_of_an_mcp_server_is_shown(harnesses: HarnessMaker, tmp_path: Path) -> None:
    harness = harnesses([ProtocolAnswer(calls=[("mcp_peer_blocks", {})]), ProtocolAnswer(text="black")], approve="all")
    entry = {
        "command": sys.executable,
        "args": ["-S", "-m", "tests.support.mcp_peer", "--picture", ENCODED],
        "env": {"PYTHONPATH": str(ROOT)},
    }
    (tmp_path / "home" / "mcp.yaml").write_text(json.dumps({"mcpServers": {"peer": entry}}), encoding="utf-8")
    harness = Harness(harness.project, tmp_path / "home", harness.server, model="gpt-6-sol", approve="all")

    async def run() -> None:
        try:
            await harness.turn("draw")
        finally:
            await harness.app.close()

    asyncio.run(run())
    words, picture = harness.server.requests[-1].body["input"][-1]["output"]
    assert "[picture: png, 2 × 3 pixels, 68 bytes]" in words["text"] and "a text" in words["text"]
    assert picture["image_url"].endswith(ENCODED)


@pytest.mark.parametrize(
    ("protocol", "place", "picture"),
    [
        ("chat", "messages", {"type": "image_url", "image_url": {"url": f"data:image/png;base64,{ENCODED}"}}),
        (
            "responses",
            "input",
            {"type": "input_image", "image_url": f"data:image/png;base64,{ENCODED}", "detail": "auto"},
        ),
        (
            "messages",
            "messages",
            {"type": "image", "source": {"type": "base64", "media_type": "image/png", "data": ENCODED}},
        ),
    ],
)
def test_a_picture_mentioned_with_an_at_sign_is_shown_over_each_protocol(
    harnesses: HarnessMaker, protocol: str, place: str, picture: dict[str, Any]
) -> None:
    harness = harnesses([ProtocolAnswer(text="black")], protocol)
    (harness.project / "shot.png").write_bytes(PNG)
    (body,) = play(harness, "what is on @shot.png?")
    words, sent = body[place][-1]["content"]
    assert words["text"].endswith("what is on @shot.png?")
    assert {name: value for name, value in sent.items() if name != "cache_control"} == picture
