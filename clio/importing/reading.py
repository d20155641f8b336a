"""Reads the files of other agents piece by piece: lines, elements of long JSON lists, and what they contain."""

import codecs
import json
import re
from collections import Counter
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, BinaryIO, Literal, cast

import msgspec
from msgspec import Struct, field

from clio.messages import Message
from clio.storage.files import open_regular
from clio.text.formatting import format_count
from clio.text.json_data import decode_json

Agent = Literal["claude", "codex", "gemini", "aider", "clio"]
AGENTS: tuple[Agent, ...] = ("claude", "codex", "gemini", "aider", "clio")
Json = dict[str, Any]


class SessionAbout(Struct, frozen=True, kw_only=True):
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


class ImportedMessage(Struct, frozen=True, kw_only=True):
    """One message of a conversation, its texts whole and not cleaned. whole: the words where the message is a preview.

    An id that the source gave is kept; where it gave none, it is empty and made of the message's place.
    """

    key: str
    message: Message
    pictures: tuple[Picture, ...] = ()
    whole: str | None = None


Piece = SessionAbout | ImportedMessage


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
            parts.append(f"{format_count(lines, 'line')} of {kinds} {_were(lines)} not understood: {named}{more}.")
        if self.torn:
            parts.append(f"{format_count(self.torn, 'line')} {_were(self.torn)} cut off in the middle.")
        if self.large:
            parts.append(f"{format_count(self.large, 'line')} {_were(self.large)} too long to be read.")
        if self.mended:
            parts.append(f"{format_count(self.mended, 'line')} had bytes that are no UTF-8; each is a � now.")
        return " ".join(parts)


def _were(number: int) -> str:
    return "was" if number == 1 else "were"


def parse_seconds(value: Any) -> float:
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


def as_text(value: Any) -> str:
    """The value if it is a text, else ""."""
    return value if isinstance(value, str) else ""


def as_mapping(value: Any) -> Json:
    """The value if it is a JSON object, else an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def iterate_mappings(value: Any) -> Iterator[Json]:
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


BLOCK_BYTES = 1 << 18
MAX_LINE_BYTES = 64_000_000
"""A longer line is passed over: no conversation has one."""

Progress = Callable[[int], None]
"""Told how many bytes of a file have been read; raises to stop."""

_WIDE = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def read_lines(path: Path, tally: Tally, progress: Progress, *, keep: bool = False) -> Iterator[bytes]:
    """The lines without their ends, in UTF-8. Raises OSError, and what `progress` raises.

    keep: with the blanks around them, and empty ones too.
    """
    blanks = b"\r" if keep else b" \t\r"
    parts: list[bytes] = []
    held, skipping = 0, False
    with open_regular(path, None) as file:
        for block in _blocks(file, progress):
            first, *others = block.split(b"\n")
            parts.append(first)
            held += len(first)
            if held > MAX_LINE_BYTES:
                tally.large += not skipping
                parts, held, skipping = [], 0, True
            if not others:
                continue
            whole = [b"".join(parts), *others[:-1]]
            parts, held = [others[-1]], len(others[-1])
            for number, line in enumerate(whole):
                line = line.strip(blanks)
                if (line or keep) and not (skipping and number == 0):
                    yield line
            skipping = False
    if not skipping and (line := b"".join(parts).strip(blanks)):
        yield line


def _blocks(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
    """The bytes of a file without its mark of order; those of UTF-16, which Windows' tools write, as UTF-8."""
    decoder: codecs.IncrementalDecoder | None = None
    first, done = True, 0
    while block := file.read(BLOCK_BYTES):
        done += len(block)
        progress(done)
        if first:
            first = False
            if name := _WIDE.get(block[:2]):
                decoder, block = codecs.getincrementaldecoder(name)("replace"), block[2:]
            else:
                block = block.removeprefix(codecs.BOM_UTF8)
        yield decoder.decode(block).encode("utf-8", "replace") if decoder else block


def read_records(path: Path, tally: Tally, progress: Progress) -> Iterator[tuple[bytes, Json]]:
    """The JSON objects of a file with one a line, each with its line. What is none is counted.

    Raises OSError, and what `progress` raises.
    """
    waiting: bytes | None = None
    for line in read_lines(path, tally, progress):
        if waiting is not None:
            tally.kinds["no JSON"] += 1
            waiting = None
        value = decode_lenient_json(line, tally)
        if value is None:
            waiting = line
        elif isinstance(value, dict):
            yield line, as_mapping(value)
        else:
            tally.kinds["no object"] += 1
    if waiting is not None:
        tally.torn += 1


def decode_lenient_json(data: bytes, tally: Tally) -> Any:
    """The JSON value in `data`, with U+FFFD for what is no UTF-8; None where it is none."""
    try:
        return decode_json(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    words = data.decode("utf-8", "replace")
    try:
        value = json.loads(words)  # which takes half of a surrogate pair, as JavaScript leaves it where it cuts a text
    except (ValueError, RecursionError):
        return None
    tally.mended += "\ufffd" in words
    return value


Element = tuple[str, Any]
"""The name of the field it stands in, "" for a document that is itself a list, and the value."""

_MARK = re.compile(rb'["{}\[\],:]')
_INSIDE = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_OPEN, _CLOSE = frozenset(b"{["), frozenset(b"}]")


def read_elements(path: Path, lists: frozenset[str], tally: Tally, progress: Progress) -> Iterator[Element]:
    """The document's fields in their order; of those named in `lists` each element by itself.

    What is cut off at its end gives what stands before the cut. Raises OSError, and what `progress` raises.
    """
    reader = _Elements(lists, tally)
    with open_regular(path, None) as file:
        done = 0
        while block := file.read(BLOCK_BYTES):
            done += len(block)
            progress(done)
            yield from reader.feed(block)
    if not reader.finished:
        tally.torn += 1


class _Elements:
    """Finds the ends of values by their brackets; a depth of 1 is inside of the document, 2 inside of one of `lists`.

    Places are in `_data`, which loses its beginning now and then. `_start`: of the value being read, -1 where it is too
    long to be kept; `_text_start`: of the text being read, -1 outside of texts; `_at`: up to where all was looked at.
    """

    def __init__(self, lists: frozenset[str], tally: Tally) -> None:
        self._lists = lists
        self._tally = tally
        self._data = bytearray()
        self._at = 0
        self._depth = 0
        self._start = 0
        self._field = ""
        self._named = False
        self._in_list = False
        self._is_object = False
        self._text_start = -1
        self.finished = False

    def feed(self, block: bytes) -> Iterator[Element]:
        """The values that end in this block."""
        self._data += block
        while self._at < len(self._data):
            if self._text_start >= 0:
                if not self._text_ends():
                    break
            elif match := _MARK.search(self._data, self._at):
                self._at = match.end()
                if match[0] == b'"':
                    self._text_start = match.start()
                else:
                    yield from self._punctuation(match[0][0], match.start())
            else:
                self._at = len(self._data)
        self._forget()

    def _text_ends(self) -> bool:
        """Go on to the end of the text that is being read; False where it has not come yet."""
        match = _INSIDE.match(self._data, self._at)
        self._at = match.end() if match else self._at
        if not self._data.startswith(b'"', self._at):
            return False
        self._at += 1
        if self._depth == 1 and self._is_object and not self._named:
            self._field = str(decode_lenient_json(bytes(self._data[self._text_start : self._at]), self._tally) or "")
            self._named = True
        self._text_start = -1
        return True

    def _punctuation(self, mark: int, place: int) -> Iterator[Element]:
        if mark in _OPEN:
            self._depth += 1
            if self._depth == 1:
                self._is_object = mark == 0x7B
                self._in_list = not self._is_object
                self._start = place + 1
            elif self._depth == 2 and self._is_object and mark == 0x5B and self._field in self._lists:
                self._in_list, self._start = True, place + 1
        elif mark in _CLOSE:
            inside = 2 if self._is_object else 1
            if self._in_list and self._depth == inside:
                yield from self._value(place)
                self._in_list = False
                self._start = place + 1
            elif self._depth == 1:
                yield from self._value(place)
            self._depth -= 1
            self.finished = self._depth == 0
        elif mark == 0x2C and self._depth == (2 if self._in_list and self._is_object else 1):
            yield from self._value(place)
            self._start = place + 1
            if self._depth == 1:
                self._named = False
        elif mark == 0x3A and self._depth == 1 and self._is_object:
            self._start = place + 1

    def _value(self, end: int) -> Iterator[Element]:
        data = bytes(self._data[self._start : end]).strip() if self._start >= 0 else b""
        if self._start < 0:
            self._tally.large += 1
        if not data:
            return
        value = decode_lenient_json(data, self._tally)
        if value is None and data != b"null":
            self._tally.kinds["no JSON"] += 1
        elif value is not None:
            yield self._field if self._is_object else "", value

    def _forget(self) -> None:
        """Let go of what is no longer needed; of a value longer than any message, all of it."""
        keep = self._start if self._start >= 0 else self._at
        if self._at - keep > MAX_LINE_BYTES:
            keep, self._start = self._at, -1
        if keep > BLOCK_BYTES or self._start < 0:
            del self._data[:keep]
            self._at -= keep
            self._text_start = max(self._text_start - keep, 0) if self._text_start >= 0 else -1
            if self._start >= 0:
                self._start -= keep
