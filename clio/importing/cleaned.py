"""A message of another agent as clio stores one: without secrets, and with what is long kept beside it."""

import base64
import binascii
from collections.abc import Callable
from typing import Any, cast

import msgspec
from msgspec import structs

from clio.algorithms.hidden_letters import unhidden
from clio.algorithms.json_data import decode_json
from clio.context.inert import said_by_a_tool
from clio.importing.pieces import Picture, Said
from clio.messages import AssistantMessage, Deeds, ImagePart, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.blobs import BlobStore
from clio.sessions.state import valid_text
from clio.tools.output import preview

MAX_WORDS_CHARS = 100_000
"""Of longer words of a person the beginning and the end stand in the message."""
_MAX_PICTURE_BYTES = 20_000_000
_NAME_CHARS = 200
_ENDINGS = {"image/png": "png", "image/jpeg": "jpg", "image/gif": "gif", "image/webp": "webp"}


class Cleaner:
    """Cleans messages of one session. redact: takes secrets out of a text. max_chars: of an output in a message."""

    def __init__(self, blobs: BlobStore, redact: Callable[[str], str], max_chars: int) -> None:
        self._blobs = blobs
        self._redact = redact
        self._max_chars = max_chars

    def text(self, text: str) -> str:
        """A text without secrets, in valid Unicode, letters nobody sees spelled out."""
        return self._redact(unhidden(valid_text(text)))

    def message(self, said: Said) -> Message:
        """The message to be stored; blobs it names are in the store then."""
        message = said.message
        match message:
            case UserMessage():
                whole, blob = self._bounded(message.content if said.whole is None else said.whole, MAX_WORDS_CHARS)
                images, unshown = self._pictures(said.pictures)
                words = "\n\n".join(filter(None, (whole, *unshown)))
                return structs.replace(
                    message, content=words, context=self.text(message.context), images=images, blob=blob
                )
            case AssistantMessage():
                calls = tuple(self._call(call) for call in message.tool_calls)
                model = message.model[:_NAME_CHARS]
                return structs.replace(message, content=self.text(message.content), tool_calls=calls, model=model)
            case ToolMessage():
                whole = said_by_a_tool(message.content if said.whole is None else said.whole)
                output, blob = self._bounded(whole, self._max_chars)
                deeds = message.deeds and msgspec.convert(self._inside(msgspec.to_builtins(message.deeds)), Deeds)
                summary, name = self.text(message.summary), self.text(message.name)
                images, unshown = self._pictures(said.pictures)
                return structs.replace(
                    message,
                    content="\n".join([output, *unshown]),
                    images=images,
                    blob=blob,
                    summary=summary,
                    name=name,
                    deeds=deeds,
                )
            case SystemMessage():
                return structs.replace(message, content=self.text(message.content))

    def _bounded(self, text: str, chars: int) -> tuple[str, str | None]:
        clean = self.text(text)
        if len(clean) <= chars:
            return clean, None
        handle = self._blobs.add(clean)
        self._blobs.flush()
        return preview(clean, chars, handle), handle

    def _call(self, call: ToolCall) -> ToolCall:
        try:
            value = decode_json(call.arguments)
        except (msgspec.DecodeError, UnicodeEncodeError, RecursionError):
            arguments = self.text(call.arguments)
        else:
            arguments = msgspec.json.encode(self._inside(value)).decode()
        return ToolCall(id=call.id, name=self.text(call.name)[:_NAME_CHARS], arguments=arguments)

    def _inside(self, value: Any) -> Any:
        """The JSON value with every text in it cleaned, the names of fields too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, list):
            return [self._inside(item) for item in cast(list[Any], value)]
        if isinstance(value, dict):
            return {self.text(name): self._inside(item) for name, item in cast(dict[str, Any], value).items()}
        return value

    def _pictures(self, pictures: tuple[Picture, ...]) -> tuple[tuple[ImagePart, ...], list[str]]:
        """The pictures that can be stored, and a note for each that cannot."""
        kept: list[ImagePart] = []
        unshown: list[str] = []
        for number, picture in enumerate(pictures, 1):
            data = _bytes_of(picture)
            if data is None:
                unshown.append(f"[picture of the kind {self.text(picture.media_type[:40])!r}]")
                continue
            name = self.text(picture.name) or f"picture {number}.{_ENDINGS[picture.media_type]}"
            blob = self._blobs.add_data(data)
            self._blobs.flush()
            kept.append(ImagePart(blob=blob, media_type=picture.media_type, name=name, size=len(data)))
        return tuple(kept), unshown


def _bytes_of(picture: Picture) -> bytes | None:
    """The bytes of a picture; None where it is none that a model could be shown."""
    if picture.media_type not in _ENDINGS or len(picture.data) > _MAX_PICTURE_BYTES * 4 // 3:
        return None
    try:
        return base64.b64decode(picture.data, validate=True) or None
    except (binascii.Error, ValueError):
        return None
