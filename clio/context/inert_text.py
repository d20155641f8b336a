"""Make quoted text inert, so that it can neither forge clio's tags nor begin a new line.

Used where text of the user, of a tool or of a file name is put into text that clio formats.
"""

import re
from functools import lru_cache

from clio.text.hidden_text import reveal_hidden_text
from clio.text.lazy_regex import LazyRegex

_TAGS = ("thread_summary", "context")
_OUTPUT_TAGS = ("hook_note", "folder_instructions")
"""Tags that clio itself appends to a tool's result, so no result may contain them."""
# Spaces and invisible characters may be put between the letters of a forged tag; a model reads over them.
_INVISIBLE = r"[\s\u00ad\u034f\u180e\u200b-\u200f\u202a-\u202e\u2060-\u206f\ufe00-\ufe0f\ufeff\U000e0000-\U000e01ef]*"


@lru_cache(maxsize=64)
def _match_tag(names: tuple[str, ...], slash: str) -> re.Pattern[str]:
    """Return the pattern for the start of a closing tag of these names, including disguised spellings.

    slash: "?" to match opening tags too, otherwise "".
    """
    spelled = "|".join(_INVISIBLE.join(map(re.escape, name)) for name in names)
    return re.compile(f"[{''.join(_BRACKETS)}](?={_INVISIBLE}(?:[/\uff0f]{_INVISIBLE}){slash}(?:{spelled}))", re.I)


# Control characters, direction overrides and invisible "tag" letters; the joiners of emoji and Persian are allowed.
_NOISE = LazyRegex("[\x00-\x08\x0e-\x1b\x7f\u200b\u200e\u200f\u202a-\u202e\u2066-\u2069\ufeff\U000e0000-\U000e007f]")
_BREAKS = LazyRegex("[ \t]*(?:\r\n|[\n\r\x0b\x0c\x1c-\x1e\x85\u2028\u2029])\\s*")
_MIN_TWO_ENDS_CHARS = 160  # characters; below that only the beginning is kept
_MIN_WHOLE_WORD_CHARS, _LONGEST_WORD = 8, 32
"""Characters. Below the first, whole words would leave nothing; what is longer than the second is cut inside."""
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


def weigh_prose(text: str) -> float:
    """Return the weight in units (see clio.tokens) as if the text were prose; additive for concatenated texts."""
    return (
        float(len(text))
        if text.isascii()
        else len(text) + 0.9 * (len(text.encode("utf-8", "surrogatepass")) - len(text))
    )


def shorten_to_weight(text: str, units: float) -> str:
    """Return the text, or its beginning and end with an ellipsis between, of at most this weight; words stay whole.

    If there is not enough space for both, only the beginning is kept; below the weight of the ellipsis it is empty.
    """
    whole = weigh_prose(text)
    if whole <= max(units, 0.0):
        return text
    keep = int(len(text) * units / whole) - 4
    while keep > 0:
        tail = keep // 4 if keep >= _MIN_TWO_ENDS_CHARS else 0
        short = f"{take_start(text, keep - tail)} …{' ' + take_end(text, tail) if tail else ''}"
        over = weigh_prose(short) - units
        if over <= 0:
            return short
        keep -= max(1, int(over / 4))
    return ""


def shorten_middle(text: str, chars: int) -> str:
    """Return the text, or its beginning and end with an ellipsis between; at most `chars` characters, words whole."""
    text = text.strip()
    if len(text) <= chars:
        return text
    tail = chars // 4
    return f"{take_start(text, chars - tail - 3)} … {take_end(text, tail)}"


def shorten_line(text: str, chars: int) -> str:
    """Return the beginning of a line in at most `chars` characters of whole words, with an ellipsis if it is cut."""
    line = " ".join(text[: 8 * chars].split())
    return line if len(line) <= chars else f"{take_start(line, chars - 2)} …"


def take_start(text: str, chars: int) -> str:
    """Return the beginning of a text, at most `chars` characters, ending with a whole word unless that is very long."""
    start = text[:chars]
    if (
        len(text) > chars >= _MIN_WHOLE_WORD_CHARS
        and not text[chars].isspace()
        and not _has_no_word_spaces(text[chars])
    ):
        end = max((start.rfind(blank) for blank in " \n\t"), default=-1)
        start = start[: end + 1] if end > 0 and chars - end <= _LONGEST_WORD else start
    return start.rstrip()


def take_end(text: str, chars: int) -> str:
    """Return the end of a text, at most `chars` characters, beginning with a whole word unless that is very long."""
    end = text[len(text) - chars :] if chars > 0 else ""
    if (
        len(text) > chars >= _MIN_WHOLE_WORD_CHARS
        and not text[-chars - 1].isspace()
        and not _has_no_word_spaces(end[0])
    ):
        positions = [position for blank in " \n\t" if 0 <= (position := end.find(blank)) < _LONGEST_WORD]
        end = end[min(positions) + 1 :] if positions else end
    return end.lstrip()


def _has_no_word_spaces(letter: str) -> bool:
    """Whether the letter belongs to a script that puts no spaces between words."""
    return letter >= "\u2e80"


def _make_inert(text: str) -> str:
    text = _NOISE.sub("", text)
    return neutralize_tags(text, *_TAGS)
