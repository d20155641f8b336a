"""Who said what a model wants remembered: the user, a tool's result word for word, or the model itself."""

from collections.abc import Sequence

from msgspec import Struct

from clio.memory.records import AssertedBy
from clio.messages import Message, ToolMessage, UserMessage, text_of
from clio.sessions.store import is_foreign_notice

MIN_USER_CHARS = 12
"""Shorter words occur in a user's sentence by chance."""
_LOOKED_AT = 400
_CLOSING = ".!;, "


class Source(Struct, frozen=True, kw_only=True):
    """Who said it, and the id of the message that has it; empty for the model's own words."""

    asserted_by: AssertedBy
    message: str = ""


def source_of(parts: Sequence[str], messages: Sequence[Message]) -> Source:
    """Where all parts of a text stand word for word, in one of the last 400 messages; the newest counts.

    A user's words count from 12 characters on; a tool's at any length, for a quotation that passes as the model's own
    is the worse mistake. Case, spacing and closing punctuation aside. What is in both is not called the tool's.
    What came with the repository, up to the notice that says so, is data from a file: it counts as a
    tool's, whatever author it names.
    """
    wanted = [text for part in parts if (text := _plain(part))]
    if not wanted:
        return Source(asserted_by="model")
    by_tool, is_foreign = "", False
    for message in reversed(messages[-_LOOKED_AT:]):
        is_foreign = is_foreign or is_foreign_notice(message)
        if not is_foreign and _has(_user_words(message), wanted):
            long_enough = sum(map(len, wanted)) >= MIN_USER_CHARS
            return Source(asserted_by="user", message=message.id) if long_enough else Source(asserted_by="model")
        if not by_tool and _has(_foreign_words(message) if is_foreign else _tool_words(message), wanted):
            by_tool = message.id
    return Source(asserted_by="tool", message=by_tool) if by_tool else Source(asserted_by="model")


def _tool_words(message: Message) -> str:
    return message.content if isinstance(message, ToolMessage) else ""


def _foreign_words(message: Message) -> str:
    """All words of a message that came with the repository but clio's own notice below them."""
    return "" if is_foreign_notice(message) else text_of(message)


def _user_words(message: Message) -> str:
    """What the user said, also in answer to a question of the model."""
    match message:
        case UserMessage():
            return message.content if message.origin == "user" else ""
        case ToolMessage():
            return message.deeds.answer if message.deeds else ""
        case _:
            return ""


def _has(words: str, wanted: Sequence[str]) -> bool:
    folded = words.casefold()
    if not all(max(text.split(), key=len) in folded for text in wanted):
        return False  # most messages: not worth their spacing
    plain = _plain(folded)
    return all(text in plain for text in wanted)


def _plain(text: str) -> str:
    return " ".join(text.casefold().split()).strip(_CLOSING)
