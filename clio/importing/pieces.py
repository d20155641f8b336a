"""What the files of other agents are taken apart into, before any of it is cleaned or stored.

A reader hands out pieces one by one and never holds a file. What it does not understand it counts, and goes on.
"""

from collections import Counter
from collections.abc import Iterator
from datetime import UTC, datetime
from typing import Any, Literal, cast

import msgspec
from msgspec import Struct, field

from clio.messages import Message

Agent = Literal["claude", "codex", "gemini", "aider", "clio"]
AGENTS: tuple[Agent, ...] = ("claude", "codex", "gemini", "aider", "clio")
Json = dict[str, Any]


class About(Struct, frozen=True, kw_only=True):
    """What is known of a conversation besides its messages; what is empty says nothing.

    key: what the agent itself calls it, the same whenever the file is read. title: a name somebody gave it.
    directory: where it was held. within: key of the conversation it is a part of, as a sub-agent's is.
    """

    key: str
    title: str = ""
    directory: str = ""
    within: str = ""


class Picture(Struct, frozen=True, kw_only=True):
    """A picture beside the words, as the source has it: in base64."""

    media_type: str
    data: str
    name: str = ""


class Said(Struct, frozen=True, kw_only=True):
    """One message of a conversation, its texts whole and not cleaned. whole: the words where the message is a preview.

    An id that the source gave is kept; where it gave none, it is empty and made of the message's place.
    """

    key: str
    message: Message
    pictures: tuple[Picture, ...] = ()
    whole: str | None = None


Piece = About | Said


class Tally(Struct, kw_only=True):
    """What was not understood, and what became of it; the readers add to it.

    kinds: how many lines of each kind. torn: last lines that were cut off. large: lines too long to be held.
    mended: texts with bytes that are no UTF-8. unreadable: files with the reason.
    """

    kinds: Counter[str] = field(default_factory=Counter[str])
    torn: int = 0
    large: int = 0
    mended: int = 0
    unanswered: int = 0
    unasked: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def sentence(self) -> str:
        """What a person is told of it: "3 lines of 2 kinds were not understood: …"; empty where all was."""
        parts: list[str] = []
        if lines := sum(self.kinds.values()):
            named = ", ".join(f"{kind[:40]} ({number:,})" for kind, number in self.kinds.most_common(8))
            kinds = "1 kind" if len(self.kinds) == 1 else f"{len(self.kinds):,} kinds"
            more = ", …" if len(self.kinds) > 8 else ""
            parts.append(f"{_lines(lines)} of {kinds} {_were(lines)} not understood: {named}{more}.")
        if self.torn:
            parts.append(f"{_lines(self.torn)} {_were(self.torn)} cut off in the middle.")
        if self.large:
            parts.append(f"{_lines(self.large)} {_were(self.large)} too long to be read.")
        if self.mended:
            parts.append(f"{_lines(self.mended)} had bytes that are no UTF-8; each is a � now.")
        return " ".join(parts)


def _lines(number: int) -> str:
    return "1 line" if number == 1 else f"{number:,} lines"


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def seconds(value: Any) -> float:
    """Seconds since the epoch of a time as agents write it: ISO text, seconds or milliseconds; 0 for anything else."""
    if isinstance(value, str):
        try:
            moment = datetime.fromisoformat(value)
        except ValueError:
            return 0.0
        try:
            return max((moment if moment.tzinfo else moment.replace(tzinfo=UTC)).timestamp(), 0.0)
        except (ValueError, OverflowError):
            return 0.0
    if isinstance(value, (int, float)) and not isinstance(value, bool) and 0 < value < 1e14:
        return float(value) / 1000 if value > 1e11 else float(value)
    return 0.0


def text(value: Any) -> str:
    """The value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def mapping(value: Any) -> Json:
    """The value if it is a JSON object, else an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def mappings(value: Any) -> Iterator[Json]:
    """The JSON objects in a list; none where it is none."""
    return (
        (cast(Json, one) for one in cast(list[Any], value) if isinstance(one, dict))
        if isinstance(value, list)
        else iter(())
    )


def as_json(value: Any) -> str:
    """A value as JSON text."""
    return msgspec.json.encode(value).decode()


def kind_of(*names: Any) -> str:
    """What a line that is not understood is called in the count, such as "event_msg/weather"."""
    return "/".join(name if isinstance(name, str) and name else "?" for name in names)
