"""Pictures that a server refuses, or too many for one request, are replaced by text and the turn goes on."""

import asyncio
import json
import struct
import zlib
from pathlib import Path
from typing import Any

import pytest

from clio.config.schema import Config
from clio.images import find_image_size
from clio.messages import AssistantMessage, ImagePart, Message, ToolCall, ToolMessage, UserMessage
from clio.providers.base import ChatRequest
from clio.providers.failure import Failure
from clio.providers.lesson_book import LessonBook
from clio.providers.registry import make_provider
from clio.providers.sent_pictures import SentPictures
from tests.support.chat_server import error
from tests.support.protocol_server import ProtocolAnswer, ProtocolServer
from tests.support.rows import each_row


def png(width: int = 4, height: int = 4, size: int = 0) -> bytes:
    """Return a picture with a valid header, padded to this many bytes."""

    def block(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    head = b"\x89PNG\r\n\x1a\n" + block(b"IHDR", struct.pack(">IIBBBBB", width, height, 8, 2, 0, 0, 0))
    return head + b"\0" * max(size - len(head) - 12, 0) + block(b"IEND", b"")


def request(*pictures: bytes, of_tool: bool = False) -> ChatRequest:
    """Return one message per picture, named p0.png, p1.png, …"""
    messages: list[Message] = []
    for number, data in enumerate(pictures):
        part = ImagePart(blob=f"b{number}", media_type="image/png", name=f"p{number}.png", size=len(data))
        if of_tool:
            messages.append(UserMessage(content=f"look {number}", id=f"u{number}"))
            call = ToolCall(id=f"c{number}", name="read_file", arguments="{}")
            messages.append(AssistantMessage(content="", tool_calls=(call,), id=f"a{number}"))
            messages.append(ToolMessage(tool_call_id=call.id, content="read", images=(part,), id=f"t{number}"))
        else:
            messages.append(UserMessage(content=f"look {number}", images=(part,), id=f"m{number}"))
            messages.append(AssistantMessage(content="seen", id=f"a{number}"))
    messages.append(UserMessage(content="and now?", id="last"))
    return ChatRequest(
        system="s", messages=tuple(messages), images={f"b{number}": data for number, data in enumerate(pictures)}
    )


def sent(fitted: ChatRequest) -> list[str]:
    with_images = [one for one in fitted.messages if isinstance(one, UserMessage | ToolMessage)]
    return [part.name for message in with_images for part in message.images]


def openai(message: str, **more: str) -> dict[str, Any]:
    return {"error": {"message": message, "type": "invalid_request_error", **more}}


def anthropic(message: str) -> dict[str, Any]:
    return {"type": "error", "error": {"type": "invalid_request_error", "message": message}}


TAKES_NONE = [
    openai("Invalid content type. image_url is only supported by certain models.", param="messages.[0].content.[1]"),
    openai("Failed to deserialize the JSON body: messages[0]: unknown variant `image_url`, expected `text`"),
    openai("No endpoints found that support image input"),
    openai("messages[0].content must be a string"),
    openai("Image input modality is not enabled for models/gemma-3-1b-it"),
    openai("The model `x` does not support image inputs."),
    openai("This model doesn't support images, choose another"),
    openai("At most 0 image(s) may be provided in one prompt."),
    openai("x is not a multimodal model"),
    openai("image input is not supported - hint: if this is unexpected, you may need to provide the mmproj"),
    openai("Invalid value: 'input_image'. Supported values are: 'input_text'."),
    {"detail": [{"type": "string_type", "loc": ["body", "messages", 0, "content"], "msg": "content must be a string"}]},
]
REFUSES_ONE = [
    anthropic("messages.0.content.1.image.source.base64: image exceeds 5 MB maximum: 5272940 bytes > 5242880 bytes"),
    anthropic("messages.2.content.0.image.source.base64.data: At least one of the image dimensions exceed max allowed "
              "size: 8000 pixels"),
    anthropic("Could not process image"),
    anthropic("messages.0.content.1.image.source.base64: The image was specified using the image/jpeg media type, but "
              "the image appears to be a image/png image"),
    openai("You uploaded an unsupported image. Please make sure your image is valid.", code="invalid_image"),
    openai("The image data you provided does not represent a valid image. Please check your input and try again with "
           "one of the following image formats: ['image/jpeg', 'image/png', 'image/gif', 'image/webp']."),
    openai("Unable to process input image. Please retry or report"),
    openai("failed to decode image bytes"),
    openai("This model does not support image type image/png"),
    openai("Image too large: 12.1MB, at most 4MB"),
]  # fmt: skip
ABOUT_SOMETHING_ELSE = [
    openai("Unsupported value: 'max' is not supported with this model.", param="reasoning.effort"),
    openai("This model's maximum context length is 8192 tokens, however you requested 9000 tokens"),
    openai("Invalid 'tools[0].function.name': string does not match pattern", param="tools[0].function.name"),
    openai("messages: roles must alternate"),
    openai("The model `image-maker-9` does not exist"),
]


def failure(body: Any, status: int = 400) -> Failure:
    return Failure(kind="status", status=status, body=json.dumps(body))


@each_row("body", TAKES_NONE)
def test_a_model_without_picture_support_is_remembered_and_gets_their_names(body: Any):
    lessons: dict[str, object] = {}
    pictures = SentPictures("m", "host", "host", lessons)
    assert sent(pictures.fit_request(request(png()))) == ["p0.png"]
    notice = pictures.adapt(failure(body))
    assert notice and "does not support images" in notice
    fitted = pictures.fit_request(request(png()))
    assert not sent(fitted)
    assert "p0.png" in fitted.messages[0].content and "does not support images" in fitted.messages[0].content
    assert not sent(SentPictures("m", "host", "host", lessons).fit_request(request(png(), png())))


@each_row("body", REFUSES_ONE)
def test_a_refused_picture_is_omitted_and_later_ones_are_sent(body: Any):
    lessons: dict[str, object] = {}
    pictures = SentPictures("m", "host", "host", lessons)
    pictures.fit_request(request(png(), png()))
    notice = pictures.adapt(failure(body))
    assert notice and "p1.png" in notice and "p0.png" not in notice
    fitted = pictures.fit_request(request(png(), png(), png()))
    assert sent(fitted) == ["p0.png", "p2.png"]
    again = SentPictures("m", "host", "host", lessons)
    assert sent(again.fit_request(request(png(), png()))) == ["p0.png"], "a resumed session does not send it again"


@each_row("body", ABOUT_SOMETHING_ELSE)
def test_a_refusal_about_something_else_keeps_the_pictures(body: Any):
    pictures = SentPictures("m", "host", "host", {})
    pictures.fit_request(request(png()))
    assert pictures.adapt(failure(body)) is None


def test_the_picture_that_a_refusal_describes_is_omitted():
    big = png(size=6_000)
    pictures = SentPictures("m", "host", "host", {})
    pictures.fit_request(request(big, png()))
    pictures.adapt(failure(anthropic(f"messages.0.content.1.image: {len(big)} bytes > 5000 bytes maximum")))
    assert sent(pictures.fit_request(request(big, png()))) == ["p1.png"]
    wide = png(width=9_000)
    assert find_image_size(wide) == (9_000, 4)
    other = SentPictures("m", "host", "host", {})
    other.fit_request(request(wide, png()))
    other.adapt(failure(anthropic("the image dimensions exceed max allowed size: 8000 pixels")))
    assert sent(other.fit_request(request(wide, png()))) == ["p1.png"]


def test_a_picture_accepted_before_is_suspected_last():
    pictures = SentPictures("m", "host", "host", {})
    first = request(png())
    pictures.fit_request(first)
    pictures.mark_accepted()
    both = request(png(), png())
    pictures.fit_request(both)
    pictures.adapt(failure(anthropic("Could not process image")))
    assert sent(pictures.fit_request(both)) == ["p0.png"]
    pictures.adapt(failure(anthropic("Could not process image")))
    assert not sent(pictures.fit_request(both)), "if that did not help, none is sent"
    assert pictures.adapt(failure(anthropic("Could not process image"))) is None


@pytest.mark.parametrize(
    ("message", "most"),
    [
        ("Too many images provided. This model supports up to 5 images", 5),
        ("At most 3 image(s) may be provided in one prompt.", 3),
        ("Total number of images 12 exceeds a maximum of 8", 8),
        ("too many images and documents: 7 + 0 > 4", 4),
    ],
)
def test_of_too_many_pictures_the_oldest_are_omitted_and_the_limit_remembered(message: str, most: int):
    lessons: dict[str, object] = {}
    pictures = SentPictures("m", "host", "host", lessons)
    many = request(*[png()] * 12)
    assert len(sent(pictures.fit_request(many))) == 12
    assert pictures.adapt(failure(openai(message)))
    names = sent(pictures.fit_request(many))
    assert 1 <= len(names) <= most and names[-1] == "p11.png"
    assert len(sent(SentPictures("m", "host", "host", lessons).fit_request(many))) <= most


def test_pictures_beyond_the_size_of_a_request_are_omitted_oldest_first():
    data = png(size=5_000_000)
    pictures = SentPictures("m", "gemini", "generativelanguage.googleapis.com", {})
    assert sent(pictures.fit_request(request(data, data))) == ["p0.png", "p1.png"]
    assert sent(pictures.fit_request(request(data, data, data))) == ["p1.png", "p2.png"]
    again = pictures.fit_request(request(data, data, png()))
    assert sent(again) == ["p1.png", "p2.png"], "an omitted picture stays omitted, so that the cache stays valid"
    assert "p0.png" in again.messages[0].content


def test_many_large_pictures_are_reduced_to_anthropics_limit_for_that_size():
    wide = png(width=2_400)
    many = request(*[wide] * 25)
    pictures = SentPictures("claude-opus-5-5", "anthropic", "api.anthropic.com", {})
    assert len(sent(pictures.fit_request(many))) <= 20
    small = SentPictures("claude-opus-5-5", "anthropic", "api.anthropic.com", {})
    assert len(sent(small.fit_request(request(*[png()] * 25)))) == 25


def test_a_too_large_request_loses_its_oldest_pictures_before_text():
    data = png(size=1_000_000)
    pictures = SentPictures("m", "host", "host", {})
    pictures.fit_request(request(data, data, data, data))
    notice = pictures.adapt(failure(anthropic("Request exceeds the maximum size"), 413))
    assert notice and "p0.png" in notice
    names = sent(pictures.fit_request(request(data, data, data, data)))
    assert names and names[-1] == "p3.png" and len(names) < 4
    budget = SentPictures("m", "host", "host", {})
    budget.fit_request(request(data, data))
    assert budget.adapt(failure(openai("Limit 8000, requested 9000 tokens per minute (TPM)"), 413)) is None


def test_unchanged_messages_are_the_same_objects_so_they_are_encoded_once():
    pictures = SentPictures("m", "host", "host", {"takes_pictures": False})
    one = request(png())
    assert pictures.fit_request(one).messages[0] is pictures.fit_request(one).messages[0]


@pytest.mark.parametrize("api", ["chat", "responses", "messages"])
@pytest.mark.parametrize("of_tool", [False, True])
def test_a_turn_continues_without_a_refused_picture_over_each_protocol(api: Any, of_tool: bool, tmp_path: Path):
    replies = [
        error(400, anthropic("Could not process image")),
        ProtocolAnswer(text="Gone on."),
        ProtocolAnswer(text="And again."),
    ]
    with ProtocolServer(replies) as server:
        config = Config(base_url=server.url, model="gpt-6-sol", api=api, context_window=100_000)

        async def ask() -> list[tuple[str, str]]:
            provider = make_provider(config, {}, book=LessonBook(tmp_path))
            try:
                chunks = [chunk async for chunk in provider.stream(request(png(), of_tool=of_tool))]
            finally:
                await provider.close()
            return [(chunk.text, chunk.notice) for chunk in chunks]

        first = asyncio.run(ask())
        second = asyncio.run(ask())
        bodies = [one.raw.decode() for one in server.requests]
    assert "".join(text for text, _ in first) == "Gone on."
    assert any("p0.png" in notice for _, notice in first), "the user is told"
    assert "base64" in bodies[0] and len(bodies) == 3
    for body in bodies[1:]:
        assert "base64" not in body and "p0.png is not shown" in body
    assert not any(notice for _, notice in second)
