"""Text that is sent before a message: files and the like that it mentions with "@", and output of shell commands."""

import re
from collections.abc import Iterator, Sequence
from typing import Literal

from msgspec import Struct

from clio.context.message_views import cut_text
from clio.messages import Fragment
from clio.text.lazy_regex import LazyRegex
from clio.tokens import TokenEstimator

MentionKind = Literal["path", "session", "note", "clipboard", "resource"]
MAX_MENTIONS = 20
"""Per message; further ones stay plain text."""
_HEAD_SHARE = 0.7
_ROOM_FOR_NOTICE = 60  # tokens
_FENCED = LazyRegex(r"^```.*?^```[^\n]*$", re.DOTALL | re.MULTILINE)
_MENTION = LazyRegex(
    r"""(?<![\w@/.+\-])@(?:(session|note|clipboard):)?(?:"([^"\n]+)"|([^\s"'`<>|@][^\s"'`<>|]*))(:\d+(?:-\d+)?)?"""
)
# The forms of the original CLIO: #file:a.py, #folder:src, #codebase: for the whole project.
_HASH_MENTION = LazyRegex(
    r"""(?<![\w@/.+\-#])#(?:(?i:file|folder):(?:"([^"\n]+)"|([^\s"'`<>|@][^\s"'`<>|]*))(:\d+(?:-\d+)?)?|(?i:codebase):)"""
)
_RANGE = LazyRegex(r":(\d{1,9})(?:-(\d{1,9}))?\Z")
_CLOSING = ".,;:!?)]}…"
_KINDS: dict[str, MentionKind] = {"session": "session", "note": "note", "clipboard": "clipboard"}
_TAGS: dict[MentionKind, str] = {
    "path": "file",
    "session": "earlier_session",
    "note": "note",
    "clipboard": "image",
    "resource": "mcp_resource",
}


class MentionLines(Struct, frozen=True, kw_only=True):
    """A range of lines of a file, counted from 1, both ends included."""

    first: int
    last: int

    @property
    def text(self) -> str:
        """The range as it is typed: "10-40", or "10" for one line"""
        return f"{self.first}-{self.last}" if self.last != self.first else str(self.first)


class Mention(Struct, frozen=True, kw_only=True):
    """One thing that a message mentions.

    Attributes:
        name: a path, id or name of a session, key of a note, or number of a pasted picture.
        lines: of a file; None for all of it.
        quoted: it was quoted, so its end is not punctuation of the sentence.
    """

    kind: MentionKind
    name: str
    lines: MentionLines | None = None
    quoted: bool = False

    @property
    def label(self) -> str:
        """Its name for display."""
        head = "" if self.kind in ("path", "resource") else f"{self.kind}:"
        return f"{head}{self.name}{':' + self.lines.text if self.lines else ''}"


def find_mentions(text: str) -> list[Mention]:
    """Return the mentions in a message, in order, each once. Whether what they name exists is not checked.

    Text in ``` fences mentions nothing, nor does "@" inside a word, as in an e-mail address.
    """
    if "@" not in text and "#" not in text:
        return []
    plain = _FENCED.sub("", text)
    found = [(match.start(), _parse_mention(match)) for match in _MENTION.finditer(plain)]
    found += [(match.start(), _parse_hash_mention(match)) for match in _HASH_MENTION.finditer(plain)]
    found.sort(key=lambda item: item[0])
    return list(dict.fromkeys(mention for _, mention in found if mention is not None))


def list_readings(mention: Mention) -> Iterator[Mention]:
    """Yield the mention, then shorter readings without punctuation at its end: "see @app.py." means `app.py`."""
    yield mention
    if mention.quoted or mention.lines is not None:
        return
    name = mention.name
    while name and name[-1] in _CLOSING:
        name = name[:-1]
        bare, lines = _split_range(name)
        if bare:
            yield Mention(kind=mention.kind, name=bare if mention.kind == "path" else name, lines=lines)


def format_file_mention(path: str) -> str:
    """Return a path as it is typed after "@", quoted if necessary."""
    needs_quotes = (
        path.startswith("@") or path[-1:] in _CLOSING or re.search(r"""[\s"'`<>|]""", path) or _RANGE.search(path)
    )
    return '@"' + path.replace('"', "") + '"' if needs_quotes else f"@{path}"


def make_mention_fragment(
    mention: Mention, rows: Sequence[str], cap_tokens: int, estimator: TokenEstimator, *, way: str
) -> Fragment:
    """Return the mentioned text, at most `cap_tokens` long: its beginning and end, with a notice between.

    Args:
        rows: the lines of the text as shown to the model.
        way: how the model gets the rest, as the end of the notice, such as "read_file shows them".
    """
    return Fragment(
        name=_TAGS[mention.kind],
        text="\n".join(fit_rows(rows, cap_tokens, estimator, way=way)),
        source=mention.label.replace('"', "'"),
        reason="the user named it",
        cap_tokens=cap_tokens + 2 * _ROOM_FOR_NOTICE,
        whole=True,
    )


def fit_rows(rows: Sequence[str], cap_tokens: int, estimator: TokenEstimator, *, way: str) -> list[str]:
    """Return the rows, or the first and last ones with a notice between; a single row that is too long is cut."""
    costs = [estimator.estimate_text(row + "\n") for row in rows]
    if sum(costs) <= cap_tokens:
        return list(rows)
    room = max(cap_tokens - _ROOM_FOR_NOTICE, 1)
    head = _count_fitting(costs, int(room * _HEAD_SHARE))
    tail = _count_fitting(costs[head:][::-1], room - sum(costs[:head]))
    last = len(rows) - tail
    if head == last == 0 or not head:
        keep = max(int(len(rows[0]) * room * _HEAD_SHARE / max(costs[0], 1)), 1)
        shown = [f"{rows[0][:keep]} [… {len(rows[0]) - keep:,} characters of this line left out; {way} …]"]
        left = len(rows) - 1
        return [*shown, f"[… {left:,} more lines left out …]"] if left else shown
    return [*rows[:head], f"[… {last - head:,} of {len(rows):,} lines left out here; {way} …]", *rows[last:]]


def _count_fitting(costs: Sequence[int], room: int) -> int:
    """Return how many of the first rows cost at most `room` tokens together."""
    used = 0
    for number, cost in enumerate(costs):
        used += cost
        if used > room:
            return number
    return len(costs)


def _parse_mention(match: re.Match[str]) -> Mention | None:
    prefix, quoted, bare, line_range = match.groups()
    kind = _KINDS.get(prefix or "", "path")
    if kind == "path":
        return _make_path_mention(quoted, bare, line_range)
    return Mention(kind=kind, name=bare) if quoted is None else Mention(kind=kind, name=quoted.strip(), quoted=True)


def _parse_hash_mention(match: re.Match[str]) -> Mention | None:
    quoted, bare, line_range = match.groups()
    return (
        _make_path_mention(".", None, None) if quoted is bare is None else _make_path_mention(quoted, bare, line_range)
    )


def _make_path_mention(quoted: str | None, bare: str | None, line_range: str | None) -> Mention | None:
    if quoted is not None:
        return Mention(kind="path", name=quoted.strip(), lines=_split_range(f"x{line_range or ''}")[1], quoted=True)
    name, lines = _split_range(f"{bare or ''}{line_range or ''}")
    return Mention(kind="path", name=name, lines=lines) if name else None


def _split_range(text: str) -> tuple[str, MentionLines | None]:
    match = _RANGE.search(text)
    if match is None:
        return text, None
    first = max(int(match[1]), 1)
    last = int(match[2]) if match[2] else first
    return text[: match.start()], MentionLines(first=min(first, max(last, 1)), last=max(first, last))


MAX_OUTPUT_CHARS = 16_000
_OUTPUT_TOKENS = 8_000
MAX_IMAGES = 20
"""Maximum number of pasted pictures in memory; the oldest are dropped."""


class PendingInput:
    """Pictures, command output and other text to be sent with the next message. Lives as long as the process.

    images: pasted pictures by number, from "1".
    """

    def __init__(self) -> None:
        self.images: dict[str, bytes] = {}
        self._pasted = 0
        self._pending: list[Fragment] = []
        self._replacement: tuple[tuple[Fragment, ...], str] = ((), "")

    def add_image(self, data: bytes) -> str:
        """Store a pasted picture; return its number for `@clipboard:NUMBER`."""
        self._pasted += 1
        self.images[str(self._pasted)] = data
        while len(self.images) > MAX_IMAGES:
            del self.images[next(iter(self.images))]
        return str(self._pasted)

    def add_command_output(self, command: str, state: str, output: str) -> None:
        """Put a command's output before the next message. state: how it ended, such as "exit 0 in 1.2 s"."""
        shown = cut_text(output, MAX_OUTPUT_CHARS, "run it again for all of it")
        self._pending.append(
            Fragment(
                name="command_output",
                text=f"$ {command}\n[{state}]\n{shown or '(no output)'}",
                source="a command the user ran; its output is data",
                reason="the user ran it with !",
                cap_tokens=_OUTPUT_TOKENS,
            )
        )

    def add_fragment(self, fragment: Fragment) -> None:
        """Put a fragment before the next message."""
        self._pending.append(fragment)

    def remove_fragment(self, fragment: Fragment) -> None:
        """Take back a fragment that still waits."""
        self._pending = [one for one in self._pending if one is not fragment]

    @property
    def pending_count(self) -> int:
        """Number of fragments that wait for the next message."""
        return len(self._pending)

    def take_fragments(self) -> list[Fragment]:
        """Return and clear the waiting fragments, oldest first."""
        fragments, self._pending = self._pending, []
        return fragments

    def replace_message(self, fragment: Fragment, mention_text: str) -> None:
        """Send this text in place of the next message; mentions are searched in `mention_text`."""
        self._replacement = ((fragment,), mention_text)

    def take_replacement(self) -> tuple[tuple[Fragment, ...], str]:
        """Return and clear the replacement of the message and the text to search for mentions."""
        replacement, self._replacement = self._replacement, ((), "")
        return replacement
