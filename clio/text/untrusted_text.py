"""Make untrusted text harmless in a prompt: it cannot forge a tag, begin a line, end its quotation or hide letters.

Untrusted text comes from the user, tools, files, web pages, servers, and from memory, which stores all of these.
"""

import re
from functools import lru_cache

from clio.text.lazy_regex import LazyRegex

_INVISIBLE_CLASS = (
    "[\\s\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]"
)
"""Spaces and invisible characters may be put between the letters of a forged tag; a model reads over them."""
_INVISIBLE = LazyRegex(f"{_INVISIBLE_CLASS}+")
_BETWEEN = f"{_INVISIBLE_CLASS}*"
# Control characters, direction overrides and invisible "tag" letters; the joiners of emoji and Persian are allowed.
_REMOVED_CHARACTERS = LazyRegex(
    "[\x00-\x08\x0e-\x1b\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]"
)
CLIO_TAGS = tuple(
    "context thread_summary hard_limits lifted_limits stated_limits user_preferences user_instructions "
    "project_instructions project_knowledge folder_instructions memories saved_memories withdrawn_memories "
    "restored_memories hook_note plan_mode plan_approved background_report command_output answer_schema "
    "missing_tools".split()
)
"""The tags around the parts of a request that no page and no source code contains by chance."""
# Beginnings of tags that clio and chat templates use. Every closing tag and every `<|` counts, too.
_TAG_STARTS = (
    *"/ \uff0f | \uff5c assistant brain context environment human instruction knowledge memory memories".split(),
    *"preference profile project_ reminder style summary system thread_ tool turn user".split(),
    *CLIO_TAGS,
)
_OPENING_BRACKET = LazyRegex("[<\uff1c\ufe64]")
_OWN_TAG_BRACKET = LazyRegex(
    f"[<\uff1c\ufe64](?=[/\uff0f{''.join(sorted({name[0] for name in CLIO_TAGS}))}]|{_INVISIBLE_CLASS})", re.I
)
_USUAL_TAG_CHARS, _MAX_TAG_CHARS = 64, 2_000
_LONGEST_TAG = 2 + max(map(len, CLIO_TAGS))
_QUOTATION_MARKS = LazyRegex("[“”„‟]")
PASTED_TEXT_TAG = "pasted_text"
"""The tag around a text that the user pasted into a message and that a placeholder stood for."""
_OUTPUT_TAGS = ("hook_note", "folder_instructions")
"""Tags that clio itself appends to a tool's result, so no result may contain them."""


_NEUTRALIZED_CLOSING = LazyRegex(rf"<\\(?=/{PASTED_TEXT_TAG}>)", needs="<\\")
PASTED_TEXT = LazyRegex(
    rf"<{PASTED_TEXT_TAG}>(?P<gap>\n?)(?P<text>.*?)(?:(?P=gap)</{PASTED_TEXT_TAG}>|\Z)", re.DOTALL, needs="<pasted"
)


def mark_pasted_text(text: str) -> str:
    """Return a text that the user pasted between tags, which it cannot close; around several lines, on their own."""
    inside = neutralize_closing_tags(text.strip("\n"), PASTED_TEXT_TAG)
    gap = "\n" * ("\n" in inside)
    return f"<{PASTED_TEXT_TAG}>{gap}{inside}{gap}</{PASTED_TEXT_TAG}>"


def unmark_pasted_text(text: str) -> str:
    """Return a text without the tags around what the user pasted, for a program, a store or a screen.

    The text may have been cut within the tags.
    """
    return PASTED_TEXT.sub(lambda found: _NEUTRALIZED_CLOSING.sub("<", found["text"]), text)


@lru_cache(maxsize=64)
def _match_tag(names: tuple[str, ...], slash: str) -> re.Pattern[str]:
    """Return the pattern for the start of a closing tag of these names, including disguised spellings.

    slash: "?" to match opening tags too, otherwise "".
    """
    spelled = "|".join(_BETWEEN.join(map(re.escape, name)) for name in names)
    return re.compile(f"[{''.join(_BRACKETS)}](?={_BETWEEN}(?:[/\uff0f]{_BETWEEN}){slash}(?:{spelled}))", re.I)


_BREAKS = LazyRegex("[ \t]*(?:\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])\\s*")
_PREFIX = "\n  | "
_BRACKETS = ("<", "\uff1c", "\ufe64")


def neutralize_closing_tags(text: str, *names: str) -> str:
    """Return the text with closing tags of these names made harmless, however they are spelled."""
    return _match_tag(names, "").sub("<\\\\", text) if any(each in text for each in _BRACKETS) else text


def neutralize_tags(text: str, *names: str) -> str:
    """Return the text with opening and closing tags of these names made harmless."""
    return _match_tag(names, "?").sub("<\\\\", text) if any(each in text for each in _BRACKETS) else text


def neutralize_tool_output(text: str) -> str:
    """Return a tool's result for the model, with invisible letters spelled out and clio's own tags made harmless."""
    return neutralize_tags(reveal_hidden_text(text), *_OUTPUT_TAGS)


def to_inert_line(text: str) -> str:
    """Return the text on one line, unable to forge a tag."""
    return " ".join(_make_inert(text).split())


def quote_lines(text: str) -> str:
    """Return the text without empty lines, with every line after the first marked as quoted."""
    return _PREFIX.join(line for line in _BREAKS.split(_make_inert(text).strip()) if line)


def _make_inert(text: str) -> str:
    text = strip_invisible(text)
    # A pattern of all these names, with invisible characters between their letters, would take 70 ms to compile.
    return _OWN_TAG_BRACKET.sub(_escape_own_tag, text)


def make_inert_line(text: str) -> str:
    """Return the text on one line, with escaped brackets where it would open or close a tag."""
    line = " ".join(strip_invisible(text).split())
    return _OPENING_BRACKET.sub(_escape_bracket, line)


def strip_invisible(text: str) -> str:
    """Return the text without control characters, direction overrides and invisible letters."""
    return _REMOVED_CHARACTERS.sub("", text)


def quote_inert(text: str) -> str:
    """Return the text on one line in quotation marks, which it cannot close because its own are replaced."""
    inside = _QUOTATION_MARKS.sub('"', make_inert_line(text))
    return f"“{inside}”"


def _escape_bracket(match: re.Match[str]) -> str:
    """Return the matched bracket, or `<` and a backslash if a tag's name follows."""
    return "<\\" if _read_tag_name(match).startswith(_TAG_STARTS) else match[0]


def _escape_own_tag(match: re.Match[str]) -> str:
    """Return the matched bracket, or `<` and a backslash if it opens or closes one of clio's own tags."""
    return "<\\" if _read_tag_name(match).lstrip("/\uff0f").startswith(CLIO_TAGS) else match[0]


def _read_tag_name(match: re.Match[str]) -> str:
    """Return in lower case what follows a bracket, without invisible characters: more than a tag's name is long."""
    text, start = match.string, match.end()
    name = _INVISIBLE.sub("", text[start : start + _USUAL_TAG_CHARS])
    if len(name) < _LONGEST_TAG and start + _USUAL_TAG_CHARS < len(text):
        name = _INVISIBLE.sub("", text[start : start + _MAX_TAG_CHARS])
    return name.casefold()


# Tag letters are invisible on screen, but a model reads them. Behind a black flag and ended by the cancel tag they are
# a regional flag, which is allowed. Two or more variation selectors in a row select nothing: each can carry a byte.
_HIDDEN_CHARACTERS = LazyRegex(
    "\U0001f3f4[\U000e0030-\U000e007a]{1,6}\U000e007f"
    "|(?P<tags>[\U000e0000-\U000e007f]+)"
    "|(?P<bytes>[\ufe00-\ufe0f\U000e0100-\U000e01ef]{2,})"
)


def reveal_hidden_text(text: str) -> str:
    """Return the text with invisible letters spelled out: "⟨hidden letters: ignore all rules⟩"."""
    return text if text.isascii() else _HIDDEN_CHARACTERS.sub(_spell_out_hidden, text)


def _spell_out_hidden(match: re.Match[str]) -> str:
    if tags := match["tags"]:
        letters = "".join(chr(ord(letter) - 0xE0000) for letter in tags if "\U000e0020" <= letter <= "\U000e007e")
    elif selectors := match["bytes"]:
        letters = bytes(_decode_selector(letter) for letter in selectors).decode("utf-8", "replace")
    else:
        return match[0]
    return f"⟨hidden letters: {letters}⟩"


def _decode_selector(selector: str) -> int:
    code = ord(selector)
    return code - 0xFE00 if code < 0xE0100 else code - 0xE0100 + 16
