"""Every text of a session made fit to be handed out: redacted, and free of what a reader does not see."""

from collections.abc import Callable
from typing import Any, TypeVar, assert_never, cast

import msgspec
from msgspec import Struct, structs

from clio.algorithms.json_data import decode_json
from clio.export.text import bare, visible
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage

S = TypeVar("S", bound=Struct)
_SHORT = 200  # characters; names and titles come again and again
_ROOM = 16_384
"""Characters redacted beyond the end of a part, so that no secret stands at its edge, half in sight and half not."""


class Cleaner:
    """Cleans the texts of one export.

    redact: takes the secrets out of a text. spell_out: whether unseen characters are written as symbols; a form that
    escapes them itself does without.
    """

    def __init__(self, redact: Callable[[str], str], *, spell_out: bool) -> None:
        self._redact = redact
        self._spell_out = spell_out
        self._known: dict[str, str] = {}

    def text(self, text: str) -> str:
        """One text, clean. Terminal sequences go first: they could stand in the middle of a secret."""
        known = self._known.get(text)
        if known is not None or not text:
            return known or ""
        clean = self._redact(bare(text))
        clean = visible(clean) if self._spell_out else clean
        if len(text) <= _SHORT:
            self._known[text] = clean
        return clean

    def value(self, value: Any) -> Any:
        """A JSON value with all its texts clean, keys too."""
        if isinstance(value, str):
            return self.text(value)
        if isinstance(value, dict):
            return {self.value(key): self.value(item) for key, item in cast("dict[Any, Any]", value).items()}
        if isinstance(value, (list, tuple)):
            return [self.value(item) for item in cast("list[Any]", value)]
        return value

    def struct(self, value: S) -> S:
        """A Struct with all its texts clean."""
        return msgspec.convert(self.value(msgspec.to_builtins(value)), type=type(value))

    def message(self, message: Message) -> Message:
        """A message with all its texts clean; the ids by which messages find each other stay."""
        match message:
            case ToolMessage():
                deeds = self.struct(message.deeds) if message.deeds is not None else None
                return structs.replace(
                    message,
                    content=self.text(message.content),
                    name=self.text(message.name),
                    summary=self.text(message.summary),
                    deeds=deeds,
                )
            case AssistantMessage():
                calls = tuple(
                    structs.replace(call, name=self.text(call.name), arguments=self._arguments(call.arguments))
                    for call in message.tool_calls
                )
                return structs.replace(
                    message,
                    content=self.text(message.content),
                    reasoning=self.text(message.reasoning),
                    model=self.text(message.model),
                    finish_reason=self.text(message.finish_reason),
                    tool_calls=calls,
                )
            case UserMessage():
                return structs.replace(message, content=self.text(message.content), context=self.text(message.context))
            case SystemMessage():
                return structs.replace(message, content=self.text(message.content))
            case _:
                assert_never(message)

    def _arguments(self, text: str) -> str:
        """The arguments of a call, clean as they were written, and what their escapes stand for too."""
        text = self.text(text)
        value = decoded(text)
        clean = self.value(value)
        return text if clean == value or isinstance(value, str) else msgspec.json.encode(clean).decode("utf-8")

    def bounded(self, text: str, chars: int) -> tuple[str, int]:
        """A long output, clean, with its beginning and its end if it has more than `chars`, and how many are missing.

        The parts end with a line where they can.
        """
        if len(text) <= chars:
            return self.text(text), 0
        head_chars, tail_chars = chars * 2 // 3, chars - chars * 2 // 3
        head = self.text(text[: head_chars + _ROOM])[:head_chars]
        tail = self.text(text[-(tail_chars + _ROOM) :])[-tail_chars:]
        head = head[: head.rfind("\n") + 1] or head
        start = tail.find("\n") + 1
        tail = tail[start:] if start < len(tail) // 2 else tail
        left_out = len(text) - len(head) - len(tail)
        return f"{head.rstrip()}\n\n[… {left_out:,} characters left out …]\n\n{tail.lstrip()}", left_out


def decoded(arguments: str) -> Any:
    """The arguments of a call as JSON; the text itself where they are none."""
    try:
        value = decode_json(arguments)
        msgspec.json.encode(value)  # a number too large to be written again
    except (msgspec.DecodeError, RecursionError, OverflowError, UnicodeError):
        return arguments
    return value
