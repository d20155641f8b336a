"""Format text for display: truncation, counts, sizes, ages, durations, money, times, Markdown code. Pure."""

import time
from collections.abc import Callable

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex
from clio.text.translation import make_count_forms, tr, tr_count


def truncate(text: str, max_chars: int) -> str:
    """Return the text, or its beginning with an ellipsis, in at most `max_chars` characters.

    Other kinds of truncation: `clio.ui.painter.truncate_to_cells` for columns of a screen,
    `shorten_line`, `shorten_middle` and `shorten_to_weight` for text sent to the model (whole words, or both ends),
    `clio.tools.output.preview_output` for tool output (tells how to read the rest).
    """
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…" if max_chars > 0 else ""


def capitalize(text: str) -> str:
    """Return the text with its first letter in upper case; the others are left as they are."""
    return text[:1].upper() + text[1:]


def truncate_line(text: str, max_chars: int) -> str:
    """Return the text on one line, white space collapsed, truncated to `max_chars` characters."""
    line = " ".join(text[: 8 * max_chars].split())  # a long text is not processed further than it can be shown
    if len(line) <= max_chars < len(text) // 8:  # the part was mostly white space
        line = " ".join(text.split())
    return truncate(line, max_chars)


def format_count(number: int, noun: str) -> str:
    """Return a number and its noun, whose plural must be regular: "1 file", "2,000 entries", "3 matches"."""
    one, several = make_count_forms(noun)
    return (one if number == 1 else several).format(count=number)


def describe_steps(count: int, *, is_running: bool) -> str:
    """Return how far a run of an agent is, or how long it was: "step 3", "3 steps"."""
    return tr("step {step}", step=count) if is_running else tr_count(count, "step")


_COUNTED_LINES = LazyRegex(r"(\+\d+) -(\d+)")


def use_minus_signs(text: str) -> str:
    """Return a text for the screen with "+3 −1" for each count of lines such as "+3 -1"."""
    return _COUNTED_LINES.sub(r"\1 −\2", text)


def format_bytes(count: int) -> str:
    """Return a size in decimal units: "812 bytes", "1.4 MB", "23 GB"."""
    if count < 1_000:
        return "1 byte" if count == 1 else f"{count} bytes"
    value, unit = count / 1_000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 999.5:  # from there it would be rounded to 1000
            break
        value, unit = value / 1_000, larger
    return f"{value:.0f} {unit}" if value >= 9.95 else f"{value:.1f} {unit}"


# (below this age in seconds, seconds per unit, unit)
_AGE_UNITS = ((3_600, 60, "min"), (86_400, 3_600, "h"), (90 * 86_400, 86_400, "d"), (730 * 86_400, 30 * 86_400, "mo"))


_MAX_AGE_S = 9_999 * 365 * 86_400.0
"""A time in a file may be any number; an age of hundreds of digits would fill the screen."""


def format_age(seconds: float) -> str:
    """Return an age in at most seven columns: "now", "5 min", "3 h", "12 d", "4 mo", "2 y"."""
    seconds = min(max(0.0, seconds), _MAX_AGE_S)  # in this order 0.0 also for what is no number
    if seconds < 60:
        return "now"
    for limit_s, unit_s, unit in _AGE_UNITS:
        if seconds < limit_s:
            return f"{int(seconds // unit_s)} {unit}"
    return f"{int(seconds // (365 * 86_400))} y"


def format_ago(seconds: float) -> str:
    """Return an age for a sentence: "just now", "5 min ago", "3 h ago", "1 day ago", "4 months ago"."""
    seconds = min(max(0.0, seconds), _MAX_AGE_S)
    if seconds < 60:
        return tr("just now")
    if seconds < 86_400:
        return tr("{age} ago", age=format_age(seconds))
    days = int(seconds // 86_400)
    if days < 60:
        return tr("{age} ago", age=tr_count(days, "day"))
    age = tr_count(days // 30, "month") if days < 730 else tr_count(days // 365, "year")
    return tr("{age} ago", age=age)


def format_tokens(count: int) -> str:
    """Return a number in at most five characters: "950", "1.2k", "12k", "1.3M"."""
    if count < 1000:
        return str(count)
    if count < 9_950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}M"


def describe_cache_use(read: int, written: int, number: Callable[[int], str] = "{:,}".format) -> str:
    """Return how much of a request's input was read from or written to the prompt cache; "" if nothing was.

    The text begins with a space: " (8,000 cached, 200 written)".

    Args:
        number: formats each number.
    """
    parts = [f"{number(count)} {word}" for count, word in ((read, "cached"), (written, "written")) if count]
    return f" ({', '.join(parts)})" if parts else ""


_BACKTICKS = LazyRegex("`+")


def format_code_span(text: str) -> str:
    """Return one line of text as inline code in Markdown, whatever backticks it contains.

    Spaces at both ends are added where Markdown would strip the text's own.
    """
    ticks = "`" * (_longest_backtick_run(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text or text != text.strip() else f"{ticks}{text}{ticks}"


def format_code_block(text: str, language: str = "") -> str:
    """Return text as a fenced code block in Markdown. Pass it without its last line ending."""
    fence = "`" * max(3, _longest_backtick_run(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest_backtick_run(text: str) -> int:
    return max(map(len, _BACKTICKS.findall(text)), default=0)


MICROS_PER_DOLLAR = 1_000_000
"""Micro-dollars in a dollar."""
_CODE_SPAN = LazyRegex(r"(?<!`)(`+)(?!`) ?(.+?) ?(?<!`)\1(?!`)")
SWITCH = "/session switch "
"""The command that handlers name to continue a session; on the command line that is `clio -r`."""
_COMMAND_LINE_NAMES = {"session": "sessions", "trust": "config trust"}
_SLASH_COMMAND = LazyRegex(
    r"(?<![\w/.])/(config|cost|docs|feedback|jobs|mcp|memory|note|prefs|recall|schedule|session|skills|style|trust)"
    r"(?=[ .;,:`')]|$)"
)


def remove_code_marks(text: str) -> str:
    """Remove the marks around code from Markdown, which plain output would show."""
    return _CODE_SPAN.sub(r"\2", text)


def replace_slash_commands(text: str) -> str:
    """Replace slash commands in a message by their `clio` forms, and remove the marks around code."""
    text = remove_code_marks(text).replace(SWITCH.strip(), "clio -r")
    return _SLASH_COMMAND.sub(lambda found: f"clio {_COMMAND_LINE_NAMES.get(found[1], found[1])}", text)


_FIRST_WORD = LazyRegex(r"(?:[A-Z][a-z]*|[a-z]+)(?=[ ,;:]|$)")
_NAMES = frozenset(
    "Anthropic Bedrock Claude Codex Ctrl Docker Enter Esc Gemini Git Landlock Linux Ollama Python Vertex Windows "
    "azure bedrock bwrap vertex clio clone gh git less npx numpy pip python rg ruff".split()
)
"""Names that keep their first letter at the beginning of a sentence."""


def begin_lower(sentence: str) -> str:
    """Return the sentence as it follows a label such as "clio:" or "error:": in lower case, unless a name begins it."""
    return _begin(sentence, str.lower)


def begin_upper(sentence: str) -> str:
    """Return the sentence with a capital letter, for a line of its own; a name at the beginning stays as it is."""
    return _begin(sentence, str.upper)


def _begin(sentence: str, change: Callable[[str], str]) -> str:
    first = _FIRST_WORD.match(sentence)
    return sentence if first is None or first[0] in _NAMES else change(sentence[0]) + sentence[1:]


_AMOUNT = LazyRegex(r"([0-9]{0,6})(?:\.([0-9]*))?")


class Cost(Struct, frozen=True, kw_only=True):
    """What requests cost: the known part in micro-dollars, and the number of tokens whose price is unknown."""

    micro_dollars: int = 0
    unpriced_tokens: int = 0

    def __str__(self) -> str:
        return self.text or "unknown"

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            micro_dollars=self.micro_dollars + other.micro_dollars,
            unpriced_tokens=self.unpriced_tokens + other.unpriced_tokens,
        )

    @property
    def is_known(self) -> bool:
        """Whether the price of every token is known."""
        return not self.unpriced_tokens

    @property
    def text(self) -> str:
        """The cost for display: "$0.021", "$0.021+" if some of it is unknown, "" if all of it is."""
        if self.is_known:
            return format_money(self.micro_dollars)
        return f"{format_money(self.micro_dollars)}+" if self.micro_dollars else ""


def format_money(micro_dollars: int) -> str:
    """Return an amount with its significant digits: "$0", "$0.0021", "$0.021", "$0.50", "$1,234.50"."""
    if micro_dollars <= 0:
        return "$0"
    if micro_dollars < 50:  # four decimals would show it as $0.0000
        return "<$0.0001"
    places = 4 if micro_dollars < 10_000 else 3 if micro_dollars < MICROS_PER_DOLLAR else 2
    text = f"{micro_dollars / MICROS_PER_DOLLAR:,.{places}f}"
    return "$" + (text[:-2] + text[-2:].rstrip("0") if places == 4 else text.removesuffix("0") if places == 3 else text)


def dollars_to_micros(dollars: str) -> int:
    """Parse an amount such as "0.25" or ".5" into micro-dollars, rounded. Raises ValueError if it is not an amount."""
    found = _AMOUNT.fullmatch(dollars.strip().replace("_", ""))
    if found is None or not (found[1] or found[2]):
        raise ValueError(f"{dollars!r} is no amount of dollars below a million")
    digits = (found[2] or "").ljust(7, "0")
    return int(found[1] or "0") * MICROS_PER_DOLLAR + int(digits[:6]) + (digits[6] >= "5")


def format_stored_time(form: str, seconds: float, unknown: str = "–") -> str:
    """Return a stored time (seconds since the epoch) in local time, in the format of `time.strftime`.

    Returns `unknown` if the number is outside the range of dates.
    """
    try:
        return time.strftime(form, time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return unknown


PASSAGE_CHARS = 700
MAX_PASSAGES = 120
_PASSAGE_END = LazyRegex(r"\n\s*\n|\n|(?<=[.!?])\s")


def split_passages(text: str) -> list[str]:
    """Split a text into passages of up to 700 characters, where a paragraph, a line or a sentence ends; none is empty.

    Joined, they are the text without some empty lines. A text of more than 120 passages is split into longer ones.
    """
    # Passages are cut in the second half of `size`, so the longest text needs twice the average length.
    size = max(PASSAGE_CHARS, -(-len(text) // MAX_PASSAGES) * 2)
    if len(text) <= size:
        return [text] if text.strip() else []
    pieces: list[str] = []
    start = 0
    while len(text) - start > size:
        end = start + size
        breaks = [found.end() for found in _PASSAGE_END.finditer(text, start + size // 2, end)]
        end = breaks[-1] if breaks else end
        pieces.append(text[start:end])
        start = end
    pieces.append(text[start:])
    return [piece for piece in pieces if piece.strip()]


_MIN_TWO_ENDS_CHARS = 160  # characters; below that only the beginning is kept
_MIN_WHOLE_WORD_CHARS, _LONGEST_WORD = 8, 32
"""Characters. Below the first, whole words would leave nothing; what is longer than the second is cut inside."""


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
