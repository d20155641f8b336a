"""The blocks of an answer as one text for the model; the SDK's values are read by their fields. Pure."""

import binascii
from collections.abc import Iterable
from typing import Any

import msgspec

from clio.images import MAX_TOOL_IMAGE_BYTES, NotAPicture, Picture, media_type, read_picture

MAX_PICTURES = 10
"""Of one answer."""
MAX_CHARS = 1_000_000
"""Of one answer; the tool runner shows the model less, and keeps this much to be read on."""


def blocks_text(blocks: Iterable[Any], structured: Any = None) -> str:
    """The text of a tool's answer. Structured content stands for a text that lacks; what is no text is named."""
    parts = [_block(block) for block in blocks]
    if structured is not None and not any(part.strip() for part in parts):
        parts = [msgspec.json.format(msgspec.json.encode(structured), indent=1).decode("utf-8")]
    text = "\n\n".join(part for part in parts if part)
    return text if len(text) <= MAX_CHARS else f"{text[:MAX_CHARS]}\n[… {len(text) - MAX_CHARS:,} characters left out]"


def blocks_pictures(blocks: Iterable[Any]) -> tuple[Picture, ...]:
    """The pictures of an answer that a model may be sent, the first of very many; `blocks_text` names each."""
    pictures = (_picture(block) for block in blocks)
    return tuple(picture for picture in pictures if isinstance(picture, Picture))[:MAX_PICTURES]


def prompt_text(messages: Iterable[Any]) -> str:
    """A prompt's messages as the words of one: what an assistant is made to say is marked as an example."""
    parts: list[str] = []
    for message in messages:
        text = _block(message.content)
        parts.append(f"[an example answer]\n{text}\n[end of the example]" if message.role == "assistant" else text)
    return "\n\n".join(parts)[:MAX_CHARS]


def resource_text(contents: Any) -> str:
    """The text of a resource; of a binary one what it is."""
    text = getattr(contents, "text", None)
    if text is not None:
        return str(text)
    kind = contents.mime_type or "binary data"
    return f"[{contents.uri}: {kind}, {_size(contents.blob)}, not text]"


def _block(block: Any) -> str:
    match block.type:
        case "text":
            return str(block.text)
        case "image":
            picture = _picture(block)
            if isinstance(picture, Picture):
                return f"[picture: {picture.described}]"
            why = f": it {picture}" if picture else ""
            return f"[image: {block.mime_type}, {_size(block.data)}, not shown{why}]"
        case "audio":
            return f"[{block.type}: {block.mime_type}, {_size(block.data)}, not shown]"
        case "resource_link":
            about = " - ".join(part for part in (block.title or block.name, block.description) if part)
            return f"[resource {block.uri}: {about}]"
        case "resource":
            return f"[resource {block.resource.uri}]\n{resource_text(block.resource)}"
        case kind:
            return f"[a block of type {kind}]"


def _picture(block: Any) -> Picture | str:
    """The picture in a block; else why it cannot be sent, "" where it is none of a kind that can be."""
    if block.type != "image":
        return ""
    if len(block.data) > MAX_TOOL_IMAGE_BYTES * 4 // 3 + 4:
        return f"is larger than {MAX_TOOL_IMAGE_BYTES // 1_000_000} MB"
    try:
        data = binascii.a2b_base64(block.data)
        return read_picture(data, "picture") if media_type(data) else ""
    except NotAPicture as error:
        return str(error)
    except ValueError:
        return "is not valid base64"


def _size(base64: str) -> str:
    count = len(base64) * 3 // 4
    return f"{count:,} bytes" if count < 10_000 else f"{count / 1_000:,.0f} kB"
