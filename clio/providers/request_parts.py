"""Parts of requests that all protocols share: pictures, and the order of text, reasoning and calls."""

import base64
from collections.abc import Iterator, Mapping, Sequence

from clio.messages import AssistantMessage, ImagePart, ReasoningItem, ToolCall

_USER, _TEXT, _PARTS = b'{"role":"user","content":', b'{"role":"user","content":"', b'{"role":"user","content":['


def with_images(text: str, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> object:
    """The content of a user message: the text alone where no picture is there, else text and pictures.

    images: the bytes by handle. One that is gone is named in its place.
    """
    if not parts:
        return text
    rows: list[dict[str, object]] = [{"type": "text", "text": text}]
    for part in parts:
        data = images.get(part.blob)
        if data is None:
            rows.append({"type": "text", "text": f"[the picture {part.name} is not stored any more]"})
        else:
            url = f"data:{part.media_type};base64,{base64.b64encode(data).decode('ascii')}"
            rows.append({"type": "image_url", "image_url": {"url": url}})
    return rows


def name_images(text: str, parts: Sequence[ImagePart]) -> str:
    """The text with the names of its pictures, for a model that takes none."""
    named = [f"[the picture {part.name} is not shown: this model takes no pictures]" for part in parts]
    return "\n\n".join([text, *named] if text else named)


def show_results(pictures: Sequence[bytes]) -> bytes:
    """An encoded message of the user with the pictures of tool results, each given as encoded parts."""
    return _PARTS + b",".join(pictures) + b"]}"


def join_parts(before: bytes, row: bytes) -> bytes:
    """Two encoded messages of the user, at least one of them with pictures, as one; b"" where they are not that."""
    if not (before.startswith(_USER) and row.startswith(_USER)):
        return b""
    if not (before.startswith(_PARTS) or row.startswith(_PARTS)):
        return b""
    return _PARTS + _parts(before) + b"," + _parts(row) + b"]}"


def _parts(row: bytes) -> bytes:
    """What is in an encoded message, as parts."""
    if row.startswith(_PARTS):
        return row[len(_PARTS) : -2]
    return b'{"type":"text","text":"' + row[len(_TEXT) : -1] + b"}"


def parts_in_order(message: AssistantMessage, origin: str) -> Iterator[str | ReasoningItem | ToolCall]:
    """Pieces of text, reasoning items and calls of one answer, in order.

    Reasoning items of another origin are left out.
    Text comes before the calls unless a reasoning item stood between them.
    """
    text, calls = 0, 0
    for item in message.reasoning_items if message.reasoning_origin == origin else ():
        if item.text > text:
            yield message.content[text : item.text]
            text = item.text
        yield from message.tool_calls[calls : item.calls]
        calls = max(calls, item.calls)
        yield item
    if message.content[text:]:
        yield message.content[text:]
    yield from message.tool_calls[calls:]
