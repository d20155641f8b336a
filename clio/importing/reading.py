"""Reads the files of other agents in pieces: lines, and elements of long JSON lists; defines what they contain."""

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
from clio.text.json_data import decode_json
from clio.text.translation import tr, tr_count

Agent = Literal["claude", "codex", "gemini", "aider", "specstory", "clio"]
AGENTS: tuple[Agent, ...] = ("claude", "codex", "gemini", "aider", "specstory", "clio")
Json = dict[str, Any]


class SessionAbout(Struct, frozen=True, kw_only=True):
    """Metadata of a conversation; empty fields are unknown.

    Attributes:
        key: the agent's own id of the conversation, the same at every import.
        title: a name given by the user or the agent.
        directory: the working directory.
        within: the key of the conversation that it is a part of, for sub-agents.
    """

    key: str
    title: str = ""
    directory: str = ""
    within: str = ""


class ImportedImage(Struct, frozen=True, kw_only=True):
    """An image in a message, as base64."""

    media_type: str
    data: str
    name: str = ""


class ImportedMessage(Struct, frozen=True, kw_only=True):
    """One message of a conversation, complete and not cleaned.

    Its id is the source's; "" if the source has none, and then it is derived from the message's position.

    whole: the complete text if the message's content is a preview.
    """

    key: str
    message: Message
    images: tuple[ImportedImage, ...] = ()
    whole: str | None = None


Piece = SessionAbout | ImportedMessage


class Tally(Struct, kw_only=True):
    """Counts what could not be imported; the readers add to it.

    Attributes:
        kinds: lines of unknown kinds, by kind.
        torn: last lines that were cut off.
        large: lines that were too long.
        mended: texts with invalid UTF-8.
        unanswered: calls without a result.
        unasked: results without a call.
        unreadable: files and the reasons.
    """

    kinds: Counter[str] = field(default_factory=Counter[str])
    torn: int = 0
    large: int = 0
    mended: int = 0
    unanswered: int = 0
    unasked: int = 0
    unreadable: list[tuple[str, str]] = field(default_factory=list[tuple[str, str]])

    def describe(self) -> str:
        """Return sentences for the user, such as "3 lines of 2 kinds were not understood: …"; "" for none."""
        parts: list[str] = []
        if lines := sum(self.kinds.values()):
            named = ", ".join(f"{kind[:40]} ({number:,})" for kind, number in self.kinds.most_common(8))
            kinds = "1 kind" if len(self.kinds) == 1 else tr("{count:,} kinds", count=len(self.kinds))
            more = ", …" if len(self.kinds) > 8 else ""
            parts.append(
                tr(
                    "{lines} of {kinds} {was_or_were} not understood: {named}{more}.",
                    lines=tr_count(lines, "line"),
                    kinds=kinds,
                    was_or_were=_choose_verb(lines),
                    named=named,
                    more=more,
                )
            )
        if self.torn:
            parts.append(
                tr(
                    "{lines} {was_or_were} incomplete.",
                    lines=tr_count(self.torn, "line"),
                    was_or_were=_choose_verb(self.torn),
                )
            )
        if self.large:
            parts.append(
                tr(
                    "{lines} {was_or_were} too long to be read.",
                    lines=tr_count(self.large, "line"),
                    was_or_were=_choose_verb(self.large),
                )
            )
        if self.mended:
            parts.append(tr("{lines} had invalid UTF-8, replaced by �.", lines=tr_count(self.mended, "line")))
        return " ".join(parts)


def _choose_verb(number: int) -> str:
    return "was" if number == 1 else "were"


def parse_seconds(value: Any) -> float:
    """Return a time as seconds since the epoch, from ISO text, seconds or milliseconds; 0 for anything else."""
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
    """Return the value if it is a string, else ""."""
    return value if isinstance(value, str) else ""


def as_mapping(value: Any) -> Json:
    """Return the value if it is a JSON object, else an empty one."""
    return cast(Json, value) if isinstance(value, dict) else {}


def iterate_mappings(value: Any) -> Iterator[Json]:
    """Return the JSON objects in a list; none if the value is not a list."""
    return (
        (cast(Json, item) for item in cast(list[Any], value) if isinstance(item, dict))
        if isinstance(value, list)
        else iter(())
    )


def as_json(value: Any) -> str:
    """Return a value as JSON text."""
    return msgspec.json.encode(value).decode()


def join_kind(*names: Any) -> str:
    """Return the name of an unknown kind of line for `Tally.kinds`, such as "event_msg/weather"."""
    return "/".join(name if isinstance(name, str) and name else "?" for name in names)


BLOCK_BYTES = 1 << 18
MAX_LINE_BYTES = 64_000_000
"""A longer line is skipped: no conversation has one."""

Progress = Callable[[int], None]
"""Called with the number of bytes read so far; raises an exception to stop."""

_UTF16_BOMS = {codecs.BOM_UTF16_LE: "utf-16-le", codecs.BOM_UTF16_BE: "utf-16-be"}


def read_lines(path: Path, tally: Tally, progress: Progress, *, keep: bool = False) -> Iterator[bytes]:
    """Yield the lines in UTF-8 without line ends. Raises OSError, and what `progress` raises.

    keep: whether to keep empty lines, and white space around lines.
    """
    white_space = b"\r" if keep else b" \t\r"
    parts: list[bytes] = []
    held, skipping = 0, False
    with open_regular(path, None) as file:
        for block in _iter_blocks(file, progress):
            first, *others = block.split(b"\n")
            parts.append(first)
            held += len(first)
            # Counted once, although the line may continue through many blocks.
            if held > MAX_LINE_BYTES:
                tally.large += not skipping
                parts, held, skipping = [], 0, True
            if not others:
                continue
            whole = [b"".join(parts), *others[:-1]]
            parts, held = [others[-1]], len(others[-1])
            for number, line in enumerate(whole):
                line = line.strip(white_space)
                if (line or keep) and not (skipping and number == 0):
                    yield line
            skipping = False
    if not skipping and (line := b"".join(parts).strip(white_space)):
        yield line


def _iter_blocks(file: BinaryIO, progress: Progress) -> Iterator[bytes]:
    """Yield the bytes of a file without its byte order mark; UTF-16, which Windows tools write, as UTF-8."""
    decoder: codecs.IncrementalDecoder | None = None
    first, done = True, 0
    while block := file.read(BLOCK_BYTES):
        done += len(block)
        progress(done)
        if first:
            first = False
            if name := _UTF16_BOMS.get(block[:2]):
                decoder, block = codecs.getincrementaldecoder(name)("replace"), block[2:]
            else:
                block = block.removeprefix(codecs.BOM_UTF8)
        yield decoder.decode(block).encode("utf-8", "replace") if decoder else block


def read_records(path: Path, tally: Tally, progress: Progress) -> Iterator[tuple[bytes, Json]]:
    """Yield the JSON objects of a file with one per line, each with its line. Other lines are counted.

    Raises OSError, and what `progress` raises.
    """
    waiting: bytes | None = None
    for line in read_lines(path, tally, progress):
        # A broken line in the middle is damage; as the last one it is a line that was being written.
        if waiting is not None:
            tally.kinds["not JSON"] += 1
            waiting = None
        value = decode_lenient_json(line, tally)
        if value is None:
            waiting = line
        elif isinstance(value, dict):
            yield line, as_mapping(value)
        else:
            tally.kinds["not an object"] += 1
    if waiting is not None:
        tally.torn += 1


def decode_lenient_json(data: bytes, tally: Tally) -> Any:
    """Return the JSON value in `data`, with U+FFFD for invalid UTF-8; None if it is not JSON."""
    try:
        return decode_json(data)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        pass
    text = data.decode("utf-8", "replace")
    try:
        # Accepts half of a surrogate pair, which JavaScript leaves where it cuts a text.
        value = json.loads(text)
    except (ValueError, RecursionError):
        return None
    tally.mended += "\ufffd" in text
    return value


Element = tuple[str, Any]
"""A value and the name of its field; the name is "" if the document is a list."""

_PUNCTUATION = re.compile(rb'["{}\[\],:]')
_STRING_CONTENT = re.compile(rb'[^"\\]*(?:\\.[^"\\]*)*', re.DOTALL)
_OPEN, _CLOSE = frozenset(b"{["), frozenset(b"}]")


def read_elements(path: Path, lists: frozenset[str], tally: Tally, progress: Progress) -> Iterator[Element]:
    """Yield the document's fields in order; for the lists named in `lists`, each element separately.

    A document that is cut off gives the elements before the cut. Raises OSError, and what `progress` raises.
    """
    reader = _ElementParser(lists, tally)
    with open_regular(path, None) as file:
        done = 0
        while block := file.read(BLOCK_BYTES):
            done += len(block)
            progress(done)
            yield from reader.feed(block)
    if not reader.finished:
        tally.torn += 1


class _ElementParser:
    """Finds the ends of values by their brackets. Depth 1 is inside the document, 2 inside one of `lists`.

    Positions refer to `_data`, from which read data is removed now and then.

    `_start`: of the current value, -1 if it is too long. `_string_start`: of the current string, -1 outside of
    strings. `_position`: up to where the data was examined.
    """

    def __init__(self, lists: frozenset[str], tally: Tally) -> None:
        self._lists = lists
        self._tally = tally
        self._data = bytearray()
        self._position = 0
        self._depth = 0
        self._start = 0
        self._field = ""
        self._named = False
        self._in_list = False
        self._is_object = False
        self._string_start = -1
        self.finished = False

    def feed(self, block: bytes) -> Iterator[Element]:
        """Yield the values that end in this block."""
        self._data += block
        while self._position < len(self._data):
            if self._string_start >= 0:
                if not self._find_string_end():
                    break
            # Only brackets, quotes, commas and colons are looked at: a chat of 200 MB parsed as one value takes over a
            # gigabyte of memory.
            elif match := _PUNCTUATION.search(self._data, self._position):
                self._position = match.end()
                if match[0] == b'"':
                    self._string_start = match.start()
                else:
                    yield from self._read_mark(match[0][0], match.start())
            else:
                self._position = len(self._data)
        self._discard_read_data()

    def _find_string_end(self) -> bool:
        """Move to the end of the current string; False if it is not in the data yet."""
        match = _STRING_CONTENT.match(self._data, self._position)
        self._position = match.end() if match else self._position
        if not self._data.startswith(b'"', self._position):
            return False
        self._position += 1
        # A string in this place is the name of a field; later ones at this depth are values.
        if self._depth == 1 and self._is_object and not self._named:
            self._field = str(
                decode_lenient_json(bytes(self._data[self._string_start : self._position]), self._tally) or ""
            )
            self._named = True
        self._string_start = -1
        return True

    def _read_mark(self, mark: int, position: int) -> Iterator[Element]:
        if mark in _OPEN:
            self._depth += 1
            if self._depth == 1:
                self._is_object = mark == 0x7B
                self._in_list = not self._is_object
                self._start = position + 1
            elif self._depth == 2 and self._is_object and mark == 0x5B and self._field in self._lists:
                self._in_list, self._start = True, position + 1
        elif mark in _CLOSE:
            inside = 2 if self._is_object else 1
            if self._in_list and self._depth == inside:
                yield from self._read_value(position)
                self._in_list = False
                self._start = position + 1
            elif self._depth == 1:
                yield from self._read_value(position)
            self._depth -= 1
            self.finished = self._depth == 0
        elif mark == 0x2C and self._depth == (2 if self._in_list and self._is_object else 1):
            yield from self._read_value(position)
            self._start = position + 1
            if self._depth == 1:
                self._named = False
        elif mark == 0x3A and self._depth == 1 and self._is_object:
            self._start = position + 1

    def _read_value(self, end: int) -> Iterator[Element]:
        data = bytes(self._data[self._start : end]).strip() if self._start >= 0 else b""
        if self._start < 0:
            self._tally.large += 1
        if not data:
            return
        value = decode_lenient_json(data, self._tally)
        if value is None and data != b"null":
            self._tally.kinds["not JSON"] += 1
        elif value is not None:
            yield self._field if self._is_object else "", value

    def _discard_read_data(self) -> None:
        """Remove data that is no longer needed, including a value longer than any message."""
        keep = self._start if self._start >= 0 else self._position
        if self._position - keep > MAX_LINE_BYTES:
            keep, self._start = self._position, -1
        if keep > BLOCK_BYTES or self._start < 0:
            del self._data[:keep]
            self._position -= keep
            self._string_start = max(self._string_start - keep, 0) if self._string_start >= 0 else -1
            if self._start >= 0:
                self._start -= keep
