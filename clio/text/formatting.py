"""Truncated text, counts, sizes, ages, durations, money, times and Markdown code as text. Pure."""

import time
from collections.abc import Callable

from msgspec import Struct

from clio.text.lazy_regex import LazyRegex


def truncate(text: str, max_chars: int) -> str:
    """The text, or its beginning with an ellipsis as the last of at most `max_chars` characters.

    It counts characters. What has to fit columns of a screen is cut by `clio.ui.text_width.crop`; what a model reads,
    with whole words or with both ends of the text, by `clio.context.inert`; output of tools, with the way to the rest,
    by `clio.tools.output.preview`.
    """
    return text if len(text) <= max_chars else text[: max_chars - 1].rstrip() + "…" if max_chars > 0 else ""


def truncate_line(text: str, max_chars: int) -> str:
    """The text on one line, each run of white space as one blank, in at most `max_chars` characters as `truncate`."""
    line = " ".join(text[: 8 * max_chars].split())  # of a long text no more is looked at than is shown
    if len(line) <= max_chars < len(text) // 8:
        line = " ".join(text.split())
    return truncate(line, max_chars)


def format_count(number: int, noun: str, plural: str = "") -> str:
    """A number and what it counts: "1 file", "2,000 entries", "3 matches".

    plural: what the rules for regular nouns do not give, such as "files were".
    """
    if number == 1:
        return f"1 {noun}"
    if not plural and noun.endswith("y") and noun[-2:-1] not in "aeiou":
        plural = f"{noun[:-1]}ies"
    return f"{number:,} {plural or noun + ('es' if noun.endswith(('s', 'x', 'ch', 'sh')) else 's')}"


def format_bytes(count: int) -> str:
    """A size in decimal units: "812 bytes", "1.4 MB", "23 GB"."""
    if count < 1_000:
        return "1 byte" if count == 1 else f"{count} bytes"
    value, unit = count / 1_000, "kB"
    for larger in ("MB", "GB", "TB"):
        if value < 999.5:
            break
        value, unit = value / 1_000, larger
    return f"{value:.0f} {unit}" if value >= 9.95 else f"{value:.1f} {unit}"


_AGES = ((3_600, 60, "min"), (86_400, 3_600, "h"), (90 * 86_400, 86_400, "d"), (730 * 86_400, 30 * 86_400, "mo"))


def format_age(seconds: float) -> str:
    """How long ago something was, in at most seven columns of a table: "now", "5 min", "3 h", "12 d", "4 mo", "2 y"."""
    seconds = max(seconds, 0.0)
    if seconds < 60:
        return "now"
    for limit_s, unit_s, unit in _AGES:
        if seconds < limit_s:
            return f"{int(seconds // unit_s)} {unit}"
    return f"{int(seconds // (365 * 86_400))} y"


def format_ago(seconds: float) -> str:
    """How long ago something was, for a sentence: "just now", "5 min ago", "3 h ago", "1 day ago", "4 months ago"."""
    if seconds < 60:
        return "just now"
    if seconds < 86_400:
        return f"{format_age(seconds)} ago"
    days = int(seconds // 86_400)
    unit, unit_days = ("day", 1) if days < 60 else ("month", 30) if days < 730 else ("year", 365)
    return f"{format_count(days // unit_days, unit)} ago"


def format_tokens(count: int) -> str:
    """A count in at most five characters: "950", "1.2k", "12k", "1.3M"."""
    if count < 1000:
        return str(count)
    if count < 9_950:
        return f"{count / 1000:.1f}k"
    if count < 999_500:
        return f"{round(count / 1000)}k"
    return f"{count / 1_000_000:.1f}M"


def describe_cache_use(read: int, written: int, number: Callable[[int], str] = "{:,}".format) -> str:
    """What a prompt cache gave and took of a request's input, after the input: " (8,000 cached, 200 written)".

    "" where nothing was read or written.
    """
    parts = [f"{number(count)} {word}" for count, word in ((read, "cached"), (written, "written")) if count]
    return f" ({', '.join(parts)})" if parts else ""


_TICKS = LazyRegex("`+")


def span(text: str) -> str:
    """Text on one line as code within a sentence; the blanks at its ends are those Markdown takes away."""
    ticks = "`" * (_longest(text) + 1)
    return f"{ticks} {text} {ticks}" if "`" in text or text != text.strip() else f"{ticks}{text}{ticks}"


def block(text: str, language: str = "") -> str:
    """Text of any lines, without its last line end, as a block of code."""
    fence = "`" * max(3, _longest(text) + 1)
    return f"{fence}{language}\n{text}\n{fence}"


def _longest(text: str) -> int:
    return max(map(len, _TICKS.findall(text)), default=0)


MICROS = 1_000_000
"""Micro-dollars in a dollar."""
_AMOUNT = LazyRegex(r"([0-9]{0,6})(?:\.([0-9]*))?")


class Cost(Struct, frozen=True, kw_only=True):
    """What requests cost: what is known in micro-dollars, and the tokens whose price nobody knows."""

    micro_dollars: int = 0
    unpriced_tokens: int = 0

    def __add__(self, other: "Cost") -> "Cost":
        return Cost(
            micro_dollars=self.micro_dollars + other.micro_dollars,
            unpriced_tokens=self.unpriced_tokens + other.unpriced_tokens,
        )

    @property
    def is_known(self) -> bool:
        """Whether it is all that was spent."""
        return not self.unpriced_tokens

    @property
    def text(self) -> str:
        """For a line: "$0.021", "$0.021+" where there is more of unknown price, "" where nothing is known."""
        if self.is_known:
            return format_money(self.micro_dollars)
        return f"{format_money(self.micro_dollars)}+" if self.micro_dollars else ""


def format_money(micro_dollars: int) -> str:
    """An amount with the digits that matter: "$0", "$0.0021", "$0.021", "$0.50", "$1,234.50"."""
    if micro_dollars <= 0:
        return "$0"
    if micro_dollars < 50:
        return "<$0.0001"
    places = 4 if micro_dollars < 10_000 else 3 if micro_dollars < MICROS else 2
    text = f"{micro_dollars / MICROS:,.{places}f}"
    return "$" + (text[:-2] + text[-2:].rstrip("0") if places == 4 else text.removesuffix("0") if places == 3 else text)


def micros_of(dollars: str) -> int:
    """Micro-dollars of an amount such as "0.25" or ".5", rounded. Raises ValueError for what is none."""
    found = _AMOUNT.fullmatch(dollars.strip().replace("_", ""))
    if found is None or not (found[1] or found[2]):
        raise ValueError(f"{dollars!r} is no amount of dollars below a million")
    digits = (found[2] or "").ljust(7, "0")
    return int(found[1] or "0") * MICROS + int(digits[:6]) + (digits[6] >= "5")


def format_stored_time(form: str, seconds: float, unknown: str = "–") -> str:
    """Seconds since the epoch by this machine's clock, as `time.strftime` has it; `unknown` where that is no time."""
    try:
        return time.strftime(form, time.localtime(seconds))
    except (OverflowError, ValueError, OSError):
        return unknown
