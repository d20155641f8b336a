"""`--input stream-json`: what a program says to a running clio, one JSON object a line on standard input."""

import asyncio
import base64
import binascii
import threading
from collections.abc import AsyncIterator, Callable
from typing import Annotated, BinaryIO

import msgspec
from msgspec import Meta, Struct

from clio.entrypoints.report import InputRefused

MAX_LINE_BYTES = 32_000_000


class Image(Struct, frozen=True, kw_only=True):
    """A picture that goes with the words. data: base64."""

    data: str


class Prompt(Struct, frozen=True, kw_only=True, tag="user"):
    """Words for a turn of their own; while one runs they wait for its end."""

    text: str
    images: Annotated[tuple[Image, ...], Meta(max_length=20)] = ()


class Steer(Struct, frozen=True, kw_only=True, tag="steer"):
    """Words for the running turn, sent with its next request; where none runs they are a turn of their own."""

    text: str


class Interrupt(Struct, frozen=True, kw_only=True, tag="interrupt"):
    """Stop the running turn and what it started; where none runs it means nothing."""


class Reply(Struct, frozen=True, kw_only=True, tag="answer"):
    """The answer to `approval_requested` or `question_asked`. answer: "yes", "no", "always", or words.

    reason: for a no, told to the model.
    """

    id: str
    answer: str
    reason: str = ""


Said = Prompt | Steer | Interrupt | Reply
"""Every line of the input."""


async def read_said(stream: BinaryIO, refuse: Callable[[InputRefused], None]) -> AsyncIterator[Said]:
    """The lines as they come, until the input ends; those nobody understands are refused and passed over."""
    loop = asyncio.get_running_loop()
    lines: asyncio.Queue[bytes] = asyncio.Queue()

    def read() -> None:
        line = b" "
        while line:
            try:
                line = stream.readline(MAX_LINE_BYTES + 1)
            except (OSError, ValueError):
                line = b""  # the input was closed
            try:
                loop.call_soon_threadsafe(lines.put_nowait, line)
            except RuntimeError:
                return  # clio has ended first

    # A daemon: reading cannot be interrupted, and the end of clio does not wait for a line that never comes.
    threading.Thread(target=read, daemon=True, name="input").start()
    number = 0
    while line := await lines.get():
        number += 1
        if not line.strip():
            continue
        try:
            yield _understood(line)
        except ValueError as error:
            refuse(InputRefused(line=number, error=str(error)))


def image_bytes(image: Image) -> bytes:
    """The picture. Raises ValueError where it is no base64."""
    try:
        return base64.b64decode(image.data, validate=True)
    except (binascii.Error, ValueError):
        raise ValueError("an image is not base64; send its bytes as base64 in `data`") from None


def _understood(line: bytes) -> Said:
    """Raises ValueError with a sentence."""
    if len(line) > MAX_LINE_BYTES:
        raise ValueError(f"a line is longer than {MAX_LINE_BYTES:,} bytes; name a file with @ instead")
    try:
        said = msgspec.json.decode(line, type=Said)
    except (msgspec.DecodeError, RecursionError) as error:
        raise ValueError(f"not understood: {error}") from None
    if isinstance(said, Prompt):
        if not said.text.strip() and not said.images:
            raise ValueError("a prompt is empty; say something in `text`")
        for image in said.images:
            image_bytes(image)
    return said
