"""Removes control sequences and invisible characters from text of models and tools before it reaches a terminal."""

import unicodedata
from collections.abc import Iterable

from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

_ESCAPE = LazyRegex(
    r"(?:\x1b\[|\x9b)[0-?]*[ -/]*[@-~]"  # CSI: colours, cursor movement
    r"|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*(?:\x07|\x1b\\|\x9c)"  # OSC, DCS, SOS, PM, APC
    r"|\x1b[ -/]*[0-~]"
)
_OPEN_ESCAPE = LazyRegex(
    r"(?:(?:\x1b\[|\x9b)[0-?]*[ -/]*|(?:\x1b[\]PX^_]|[\x9d\x90\x98\x9e\x9f])[^\x07\x1b\x9c\n]*\x1b?|\x1b[ -/]*)\Z"
)
# C0 without tab and newline, DEL, C1; bidirectional marks, which make text appear in another order; invisible
# characters, which can hide instructions to a model. The joiners of emoji and Persian stay.
_CONTROL = LazyRegex(
    r"[\x00-\x08\x0b-\x1f\x7f-\x9f\xad\u061c\u115f\u180e\u200b\u200e\u200f\u2028-\u202e\u2060-\u206f\u3164\ufeff\uffa0"
    r"\ufff9-\ufffb\U000e0000-\U000e01ef]"
)
_BREAK = LazyRegex("\r\n|[\r\u2028\u2029]")
_LONE_SURROGATE = LazyRegex(r"[\ud800-\udfff]")
_MAX_PENDING_CHARS = 512


def clean(text: str) -> str:
    """Remove control sequences, control characters and invisible characters; a carriage return becomes a newline."""
    if _LONE_SURROGATE.search(text):
        text = _LONE_SURROGATE.sub("\ufffd", text)
    if not _CONTROL.search(text):
        return text
    return _CONTROL.sub("", _BREAK.sub("\n", _ESCAPE.sub("", text)))


def clean_line(text: str) -> str:
    """Clean the text and put it on one line."""
    return " ".join(clean(text).split())


def restore_full_line(summary: str, lines: Iterable[str]) -> str:
    """Return the cleaned line that a truncated summary is the beginning of, if there is one; else the summary."""
    beginning = summary.removesuffix("…").rstrip()
    if beginning == summary:
        return summary
    return next((line for line in map(clean_line, lines) if line.startswith(beginning)), summary)


def escape_controls(text: str) -> str:
    r"""Spell out every control character except newline and tab, for a user who must judge the whole text.

    `clean` would hide what a control sequence contains; here it reads "\x1b[8m".
    """
    text = _LONE_SURROGATE.sub("\ufffd", text)
    return _CONTROL.sub(lambda found: found[0].encode("unicode_escape").decode("ascii"), text)


def escape_json_controls(text: str) -> str:
    """Escape every control character and invisible character in JSON: the values stay the same.

    JSON itself allows those above 127 unescaped, and terminals interpret some of them.
    """
    return _CONTROL.sub(lambda found: "".join(f"\\u{unit}" for unit in _list_utf16_units(found[0])), text)


def _list_utf16_units(char: str) -> list[str]:
    digits = char.encode("utf-16-be").hex()
    return [digits[at : at + 4] for at in range(0, len(digits), 4)]


class StreamCleaner:
    """`clean` for streamed text; recognizes a control sequence split between pieces.

    At most 512 characters are held back: a longer sequence loses its introducer and its body is shown as text.
    """

    def __init__(self) -> None:
        self._pending = ""

    def feed(self, text: str) -> str:
        """Return the cleaned text that later input cannot change."""
        text, self._pending = self._pending + text, ""
        found = _OPEN_ESCAPE.search(text, max(0, len(text) - _MAX_PENDING_CHARS))
        cut = found.start() if found else len(text) - text.endswith("\r")
        if cut < len(text) and len(text) - cut < _MAX_PENDING_CHARS:
            text, self._pending = text[:cut], text[cut:]
        return clean(text)

    def finish(self) -> str:
        """Return the cleaned rest."""
        text, self._pending = self._pending, ""
        return clean(text)


_PLAIN = LazyRegex(r"[ -~\n]*")
_MAX_BLANKS = 20
_MAX_BLANK_LINES = 2
_MAX_MARKS = 2
_CHUNK = 2_000
# Letters and symbols by category, but without a visible shape.
_INVISIBLE_LETTERS = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159\U00013441\U00013442\U00016fe4\ufffc")
_INVISIBLE_MARKS = frozenset("\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
_SPACES = LazyRegex(rf" {{{_MAX_BLANKS + 1},}}")


def spell_out(text: str) -> str:
    """Spell out every invisible or misleading character, as "⟨U+2800⟩"; newlines stay.

    A positive list: letters, numbers, punctuation and symbols with a shape, the plain space, and up to two combining
    marks on a letter. Long runs of spaces and of blank lines are counted: "⟨58 blank lines⟩".
    """
    if _PLAIN.fullmatch(text) is None:
        text = _spell_characters(text.replace("\r\n", "\n"))
    text = _SPACES.sub(lambda run: f"⟨{len(run[0])} spaces⟩", text)
    if "\n\n\n" not in text and "\n \n" not in text and " \n" not in text:
        return text
    return "\n".join(_count_blank_runs(text.split("\n")))


def spell_out_line(text: str) -> str:
    """Spell out the text as `spell_out` does, and put it on one line."""
    return clean_line(spell_out(text))


def spell_out_lines(text: str) -> list[str]:
    """Return the spelled out text as lines, very long ones split so that each piece can be scrolled into view."""
    return [
        line[start : start + _CHUNK]
        for line in spell_out(text).split("\n")
        for start in range(0, max(len(line), 1), _CHUNK)
    ]


def spell_out_non_ascii(word: str) -> str:
    """Spell out every letter outside ASCII in a word, because it may only look like a Latin one."""
    return "".join(sign if " " <= sign <= "~" else _format_code_point(sign) for sign in word)


def _spell_characters(text: str) -> str:
    result: list[str] = []
    marks = _MAX_MARKS  # a combining mark has no letter to belong to at the start
    for char in text:
        kind = unicodedata.category(char)
        if kind in ("Mn", "Mc"):
            marks += 1
            result.append(char if marks <= _MAX_MARKS and not _is_invisible_mark(char) else _format_code_point(char))
            continue
        is_visible = (
            char == " " or char == "\n" or (kind[0] in "LNPS" and char not in _INVISIBLE_LETTERS and char != "⟨")
        )
        marks = 0 if is_visible and kind[0] in "LN" else _MAX_MARKS
        result.append(char if is_visible else ("    " if char == "\t" else _format_code_point(char)))
    return "".join(result)


def _is_invisible_mark(char: str) -> bool:
    return char in _INVISIBLE_MARKS or "\ufe00" <= char <= "\ufe0f" or "\U000e0100" <= char <= "\U000e01ef"


def _format_code_point(char: str) -> str:
    return f"⟨U+{ord(char):04X}⟩"


def _count_blank_runs(lines: list[str]) -> list[str]:
    """Replace each longer run of blank lines by one that counts them."""
    result: list[str] = []
    blank: list[str] = []
    for line in (*lines, None):
        if line is not None and not line.strip(" "):
            blank.append(line)
            continue
        result += [tr("⟨{count} blank lines⟩", count=len(blank))] if len(blank) > _MAX_BLANK_LINES else blank
        blank = []
        if line is not None:
            result.append(line)
    return result
