"""Words in place of signs, for a text that is read aloud. Pure."""

from collections.abc import Iterator

from clio.agent.events import Retrying, TurnFinished
from clio.commands.command import Bar, Table
from clio.text.lazy_regex import LazyRegex
from clio.ui.footer.status import format_usage, plural
from clio.ui.plain import clean, clean_line
from clio.ui.width import cells_of

# What clio's own sentences use. A sign of the last line stands alone only where it means a key.
_WORDS = (
    (LazyRegex(r"^(\s*)[›❯] ?"), r"\1you: "),
    (LazyRegex(r"^(\s*)[●•▸○] ?"), r"\1"),
    (LazyRegex(r"^\s*… (?=\d)"), ""),
    (LazyRegex(r" … (?=\S)"), ", "),
    (LazyRegex(r"\s+·\s+"), ", "),
    (LazyRegex(r"✓ ?"), "done "),
    (LazyRegex(r"✗ ?"), "failed "),
    (LazyRegex(r"\s*(?:→|⇒)\s*"), " to "),
    (LazyRegex(r"(?<!\S)\+(\d+) [-−](\d+)(?!\S)"), r"\1 added, \2 removed"),
    (LazyRegex(r"(?<=, )\+(\d+)$"), r"\1 added"),
    (LazyRegex(r"(?<=, )[-−](\d+)$"), r"\1 removed"),
    (LazyRegex(r"↑ ↓"), "Up and Down"),
    (LazyRegex(r"↑"), "Up"),
    (LazyRegex(r"↓"), "Down"),
    (LazyRegex(r"↻ ?"), "again: "),
    (LazyRegex(r"[↵⏎]"), "new line"),
    (LazyRegex(r"(?<!\w)[−](?=\s)"), "minus"),
    (LazyRegex(r"…"), "..."),
)
# Boxes, blocks, shapes, braille, private use: a reader spells their names, or says nothing at all.
_DRAWN = LazyRegex("[\u2500-\u25ff\u2800-\u28ff\ue000-\uf8ff\U000f0000-\U0010fffd]")


def spell_drawn(text: str) -> str:
    """The text with such signs by their codes, where none of it may be left out."""
    return _DRAWN.sub(lambda sign: f"⟨U+{ord(sign[0]):04X}⟩", text)


_HEADINGS = {"#": "number"}
_CELLS = {"→": "in force"}
_BREAKS = LazyRegex("[\u2028\u2029\x85]")


class Exact(str):
    """A line whose end means something, as in code: where it is too long, the terminal breaks it."""


def broken(line: str, width: int) -> str:
    """The line with newlines in place of blanks, so that the terminal breaks no word; it would be read as two."""
    rows: list[str] = []
    while not isinstance(line, Exact) and cells_of(line) > width:
        place = next((at for at in range(width, 0, -1) if line[at : at + 1] == " " and cells_of(line[:at]) <= width), 0)
        if not place:
            break
        rows.append(line[:place].rstrip())
        line = line[place + 1 :]
    return "\n".join([*rows, line])


def spoken(line: str) -> str:
    """A line of clio's own with words for its signs and without its layout: "› a · b" is "you: a, b"."""
    return " ".join(worded(line).split())


def worded(line: str) -> str:
    """The same with its blanks, such as a line of code in a page of help."""
    for sign, words in _WORDS:
        line = sign.sub(words, line)
    return undrawn(line).rstrip()


def undrawn(text: str) -> str:
    """Anybody's text with blanks where something is drawn: columns and indentation stay, control characters do not."""
    return _DRAWN.sub(" ", _BREAKS.sub(" ", clean(text)))


def spoken_seconds(seconds: float) -> str:
    """A duration in words: "less than a second", "12 seconds", "1 minute 5 seconds"."""
    whole = round(seconds)
    if whole < 1:
        return "less than a second"
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "hour"), (minutes, "minute"), (rest, "second"))
    return " ".join(plural(count, word) for count, word in parts if count)


def spoken_footer(event: TurnFinished) -> str:
    """How a turn ended and what it took: "done, 2 steps, 12k in, 432 out, 12 seconds"."""
    cost = event.cost.text if event.cost is not None and event.cost.micro_dollars else ""
    how = {"done": "done", "interrupted": "interrupted"}.get(event.status, "failed")
    parts = (how, plural(event.steps, "step"), format_usage(event.usage), cost, spoken_seconds(event.seconds))
    return ", ".join(part for part in parts if part)


def spoken_retry(event: Retrying) -> str:
    """Why a request is sent again, and when."""
    when = "at once" if event.delay_s < 1 else f"in {spoken_seconds(event.delay_s)}"
    return f"{clean_line(event.reason)}, asking again {when}, attempt {event.attempt} of {event.of}"


def spoken_table(table: Table) -> Iterator[str]:
    """A line for each row, every cell under its heading: "row 2: name: x; size: 3". A key and a value stay a pair."""
    headings = [_HEADINGS.get(heading.strip(), clean_line(heading)) for heading in table.columns]
    named = any(headings)
    several = len(table.rows) > 1 and named and table.columns[0].strip() != "#"
    for number, row in enumerate(table.rows, 1):
        cells = [_CELLS.get(cell.strip(), clean_line(cell)) for cell in row]
        pairs = ((heading, cell) for heading, cell in zip(headings, cells, strict=True) if cell)
        said = "; ".join(": ".join(filter(None, pair)) for pair in pairs) if named else ": ".join(filter(None, cells))
        yield spoken(f"row {number}: {said}" if several else said)


def spoken_bar(bar: Bar) -> Iterator[str]:
    """Amounts that make a whole: the title, then a line for each."""
    whole = sum(part.amount for part in bar.parts if part.amount > 0)
    yield spoken(clean_line(bar.title))
    for part in bar.parts:
        share = f", {100 * max(part.amount, 0) / whole:.1f} percent" if whole else ""
        yield spoken(f"{clean_line(part.name)}: {part.amount:,}{share}")
