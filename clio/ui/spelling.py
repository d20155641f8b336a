"""A text a user must judge before it runs, with nothing in it hidden: what has no shape of its own is spelled out."""

import unicodedata

from clio.text.lazy_regex import LazyRegex
from clio.ui.safe_text import clean_line

_PLAIN = LazyRegex(r"[ -~\n]*")
_MAX_BLANKS = 20
_MAX_BLANK_LINES = 2
_MAX_MARKS = 2
_CHUNK = 2_000
# Letters and symbols by their category, without a visible shape.
_BLANK = frozenset("\u115f\u1160\u2800\u3164\uffa0\U0001d159\U00013441\U00013442\U00016fe4\ufffc")
_MARKS_UNSEEN = frozenset("\u034f\u17b4\u17b5\u180b\u180c\u180d\u180f")
_SPACES = LazyRegex(rf" {{{_MAX_BLANKS + 1},}}")


def spell_out(text: str) -> str:
    """The text with every character spelled out that cannot be seen or misleads, as "⟨U+2800⟩"; newlines stay.

    A positive list: letters, numbers, punctuation and symbols with a shape, the plain space, and up to two combining
    marks on a letter. Long runs of spaces and of blank lines are counted: "⟨58 blank lines⟩".
    """
    if _PLAIN.fullmatch(text) is None:
        text = _spell_characters(text.replace("\r\n", "\n"))
    text = _SPACES.sub(lambda run: f"⟨{len(run[0])} spaces⟩", text)
    if "\n\n\n" not in text and "\n \n" not in text and " \n" not in text:
        return text
    return "\n".join(_counted(text.split("\n")))


def spell_out_line(text: str) -> str:
    """The same on one line."""
    return clean_line(spell_out(text))


def spell_out_lines(text: str) -> list[str]:
    """The same as lines, those that are very long in pieces, so that each can be scrolled into sight."""
    return [
        line[start : start + _CHUNK]
        for line in spell_out(text).split("\n")
        for start in range(0, max(len(line), 1), _CHUNK)
    ]


def spell_out_foreign(word: str) -> str:
    """A word in which every letter outside ASCII is spelled out: it may only look like another one."""
    return "".join(sign if " " <= sign <= "~" else _code(sign) for sign in word)


def _spell_characters(text: str) -> str:
    shown: list[str] = []
    marks = _MAX_MARKS  # none may stand at the beginning
    for sign in text:
        kind = unicodedata.category(sign)
        if kind in ("Mn", "Mc"):
            marks += 1
            shown.append(sign if marks <= _MAX_MARKS and not _is_unseen_mark(sign) else _code(sign))
            continue
        seen = sign == " " or sign == "\n" or (kind[0] in "LNPS" and sign not in _BLANK and sign != "⟨")
        marks = 0 if seen and kind[0] in "LN" else _MAX_MARKS
        shown.append(sign if seen else ("    " if sign == "\t" else _code(sign)))
    return "".join(shown)


def _is_unseen_mark(sign: str) -> bool:
    return sign in _MARKS_UNSEEN or "\ufe00" <= sign <= "\ufe0f" or "\U000e0100" <= sign <= "\U000e01ef"


def _code(sign: str) -> str:
    return f"⟨U+{ord(sign):04X}⟩"


def _counted(lines: list[str]) -> list[str]:
    """The lines with each longer run of blank ones as one that counts them."""
    shown: list[str] = []
    blank: list[str] = []
    for line in (*lines, None):
        if line is not None and not line.strip(" "):
            blank.append(line)
            continue
        shown += [f"⟨{len(blank)} blank lines⟩"] if len(blank) > _MAX_BLANK_LINES else blank
        blank = []
        if line is not None:
            shown.append(line)
    return shown
