"""Text for a screen reader: symbols are replaced by words, diffs and Markdown by sentences."""

import re
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from clio.agent.user_interface import Retrying, TurnFinished
from clio.commands.command import Bar, Table
from clio.messages import Usage
from clio.text.formatting import describe_cache_use, format_tokens
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import mark, tr, tr_count
from clio.ui.diff_view import DiffRow, ParsedDiff, parse_diff
from clio.ui.markdown import BlockSplitter, MarkdownPiece, parse_markdown_tokens
from clio.ui.painter import count_cells
from clio.ui.safe_text import clean, clean_line

if TYPE_CHECKING:
    from markdown_it.token import Token


# Symbols in clio's own messages. Those in the last line are replaced only where they mean a key.
_SYMBOLS = (
    (LazyRegex(r"^(\s*)[›❯] ?"), r"\1you: "),
    (LazyRegex(r"^(\s*)[●•▸○] ?"), r"\1"),
    (LazyRegex(r"^\s*… (?=\d)"), ""),
    (LazyRegex(r" … (?=\S)"), ", "),
    (LazyRegex(r"\s+·\s+"), ", "),
    (LazyRegex(r"✓ ?"), "done "),
    (LazyRegex(r"✗ ?"), "failed "),
    (LazyRegex(r"\s*(?:→|⇒)\s*"), " to "),
    (LazyRegex(r"(?<!\S)\+(\d+) [-−](\d+)(?!\S)"), mark(r"\1 added, \2 removed")),
    (LazyRegex(r"(?<=, )\+(\d+)$"), r"\1 added"),
    (LazyRegex(r"(?<=, )[-−](\d+)$"), r"\1 removed"),
    (LazyRegex(r"↑ ↓"), mark("Up and Down")),
    (LazyRegex(r"↑"), "Up"),
    (LazyRegex(r"↓"), "Down"),
    (LazyRegex(r"↻ ?"), "again: "),
    (LazyRegex(r"[↵⏎]"), mark("new line")),
    (LazyRegex(r"(?<!\w)[−](?=\s)"), "minus"),
    (LazyRegex(r"…"), "..."),
)
# Boxes, blocks, shapes, braille, private use: a screen reader spells out their names, or skips them.
_DRAWN = LazyRegex("[\u2500-\u25ff\u2800-\u28ff\ue000-\uf8ff\U000f0000-\U0010fffd]")


def spell_drawn(text: str) -> str:
    """Replace drawing characters by their code points, for text of which nothing may be left out."""
    return _DRAWN.sub(lambda sign: f"⟨U+{ord(sign[0]):04X}⟩", text)


_SPOKEN_HEADINGS = {"#": "number"}
_SPOKEN_CELLS = {"→": mark("current")}
_BREAKS = LazyRegex("[\u2028\u2029\x85]")


class ExactLine(str):
    """A line whose spacing matters, such as code: if it is too long, the terminal wraps it."""


def wrap_line(line: str, width: int) -> str:
    """Wrap the line at blanks, because a word wrapped by the terminal is read as two."""
    rows: list[str] = []
    while not isinstance(line, ExactLine) and count_cells(line) > width:
        cut = next(
            (
                index
                for index in range(width, 0, -1)
                if line[index : index + 1] == " " and count_cells(line[:index]) <= width
            ),
            0,
        )
        if not cut:
            break
        rows.append(line[:cut].rstrip())
        line = line[cut + 1 :]
    return "\n".join([*rows, line])


def speak_line(line: str) -> str:
    """Replace symbols in a line of clio's own by words and remove its layout: "› a · b" is "you: a, b"."""
    return " ".join(replace_symbols(line).split())


def replace_symbols(line: str) -> str:
    """Replace symbols by words but keep the blanks, for example in a line of code in a help page."""
    for symbol, replacement in _SYMBOLS:
        line = symbol.sub(replacement, line)
    return remove_drawn(line).rstrip()


def remove_drawn(text: str) -> str:
    """Replace drawing characters of any text by blanks, which keeps columns and indentation; removes control
    characters.
    """
    return _DRAWN.sub(" ", _BREAKS.sub(" ", clean(text)))


def speak_seconds(seconds: float) -> str:
    """Return a duration in words: "less than a second", "12 seconds", "1 minute 5 seconds"."""
    whole = round(seconds)
    if whole < 1:
        return tr("less than a second")
    minutes, rest = divmod(whole, 60)
    hours, minutes = divmod(minutes, 60)
    parts = ((hours, "hour"), (minutes, "minute"), (rest, "second"))
    return " ".join(tr_count(count, word) for count, word in parts if count)


def speak_footer(event: TurnFinished) -> str:
    """Return how a turn ended and its totals: "done, 2 requests, 12k in, 432 out, 12 seconds"."""
    cost = event.cost.text if event.cost is not None and event.cost.micro_dollars else ""
    outcome = {"done": "done", "interrupted": "interrupted"}.get(event.status, "failed")
    requests = tr_count(event.steps, "request")
    parts = (outcome, requests, speak_usage(event.usage), cost, speak_seconds(event.seconds))
    return ", ".join(part for part in parts if part)


def speak_usage(usage: Usage) -> str:
    """Return a turn's tokens: "12k in (8.0k cached), 432 out"; "" if the server reports none."""
    if not usage.prompt_tokens and not usage.completion_tokens:
        return ""
    cached = describe_cache_use(usage.cached_tokens, usage.cache_write_tokens, format_tokens)
    return tr(
        "{tokens} in{cached}, {tokens2} out",
        tokens=format_tokens(usage.prompt_tokens),
        cached=cached,
        tokens2=format_tokens(usage.completion_tokens),
    )


def speak_retry(event: Retrying) -> str:
    """Return why a request is sent again, and when."""
    when = tr("at once") if event.delay_s < 1 else tr("in {duration}", duration=speak_seconds(event.delay_s))
    return tr(
        "{reason}, retrying {when}, attempt {attempt} of {of}",
        reason=clean_line(event.reason),
        when=when,
        attempt=event.attempt,
        of=event.of,
    )


def speak_table(table: Table) -> Iterator[str]:
    """Yield a line for each row with its headings, such as "row 2: name: x; size: 3".

    Two-column rows stay a key and a value.
    """
    headings = [_SPOKEN_HEADINGS.get(heading.strip(), clean_line(heading)) for heading in table.columns]
    named = any(headings)
    several = len(table.rows) > 1 and named and table.columns[0].strip() != "#"
    for number, row in enumerate(table.rows, 1):
        cells = [tr(_SPOKEN_CELLS.get(cell.strip(), clean_line(cell))) for cell in row]
        pairs = ((heading, cell) for heading, cell in zip(headings, cells, strict=True) if cell)
        text = "; ".join(": ".join(filter(None, pair)) for pair in pairs) if named else ": ".join(filter(None, cells))
        yield speak_line(tr("row {number}: {text}", number=number, text=text) if several else text)


def speak_bar(bar: Bar) -> Iterator[str]:
    """Yield the title of a bar, then a line for each amount."""
    whole = sum(part.amount for part in bar.parts if part.amount > 0)
    yield speak_line(clean_line(bar.title))
    for part in bar.parts:
        share = tr(", {value:.1f} percent", value=100 * max(part.amount, 0) / whole) if whole else ""
        yield speak_line(f"{clean_line(part.name)}: {part.amount:,}{share}")


_MAX_CHARS = 2_000


def speak_diff(diff: str, *, names: bool | None = None, max_lines: int | None = None, hint: str = "") -> list[str]:
    """Describe the changed lines of a diff in sentences, with their line numbers; unchanged lines are left out.

    Args:
        names: whether files are named; None names them if there are several.
        max_lines: limit of changed lines; a last line reports how many are missing.
        hint: how to see the rest.
    """
    parsed = parse_diff(diff)
    named = len(parsed.counts) > 1 if names is None else names
    lines = list(_describe_diff_rows(parsed, named))
    visible = lines if max_lines is None or len(lines) <= max_lines + 1 else lines[: max_lines + 1]
    hidden = len(lines) - len(visible)
    return [*visible, f"{tr_count(hidden, 'more line')}{hint}"] if hidden else list(visible)


def _describe_diff_rows(parsed: ParsedDiff, named: bool) -> Iterator[str]:
    if not parsed.rows:
        return
    if not named:
        kinds = [row.kind for row in parsed.rows]
        yield _count_changed_lines(kinds.count("added"), kinds.count("removed"))
    for index, row in enumerate(parsed.rows):
        match row.kind:
            case "file" if named:
                yield f"{speak_line(row.text)}: {_count_changed_lines(*parsed.counts[index])}"
            case "added" | "removed":
                yield ExactLine(
                    tr("line {number} {kind}: {line}", number=row.number, kind=row.kind, line=_describe_line(row))
                )
            case "note":
                yield speak_line(row.text.removeprefix("\\ "))
            case _:
                pass


def _count_changed_lines(added: int, removed: int) -> str:
    """Return the counts: "2 lines added, 1 line removed"."""
    parts = [tr("{lines} added", lines=tr_count(added, "line"))] * bool(added) + [
        tr("{lines} removed", lines=tr_count(removed, "line"))
    ] * bool(removed)
    return ", ".join(parts) or tr("no line changed")


def _describe_line(row: DiffRow) -> str:
    """Return the line with its indentation; a line a screen reader would skip is described."""
    text = row.text.expandtabs(4)
    stripped = text.rstrip(" ")
    if not stripped:
        return tr("only {blanks}", blanks=tr_count(len(text), "space")) if text else tr("empty")
    omitted = (
        tr(" ... {count:,} more characters", count=len(stripped) - _MAX_CHARS) if len(stripped) > _MAX_CHARS else ""
    )
    blanks = (
        tr(" (then {blanks})", blanks=tr_count(len(text) - len(stripped), "space")) if len(text) > len(stripped) else ""
    )
    return remove_drawn(stripped[:_MAX_CHARS]) + omitted + blanks


_MAX_PENDING_LINES = 100
"""Lines of code collected until the block's length is known, which is read out first; of a longer block it is not."""
_SENTENCE = LazyRegex(r"""[.!?]["')\]*_`]*\s+(?=\S)""")
_NO_SENTENCE = LazyRegex(r"\b(?:[A-Za-z]|e\.g|i\.e|etc|vs|cf|approx|no|fig|\d+)\.\s+$", re.I)
_NO_PARAGRAPH = LazyRegex(r"\s*(?:[#>|]|[-*+]\s|\d+[.)]\s)")


class SpokenMarkdown:
    """Converts a streamed answer to lines: `feed` returns finished ones, of a paragraph sentence by sentence.

    Control characters must have been removed before.
    """

    def __init__(self) -> None:
        self._splitter = BlockSplitter()
        self._spoken_chars = 0
        """Characters of the open paragraph that were returned already."""
        self._code: list[str] = []
        self._language = ""
        self._code_lines = 0
        self._in_code = False

    def feed(self, text: str) -> list[str]:
        """Return the lines completed by this text."""
        lines = [line for piece in self._splitter.feed(text) for line in self._speak_piece(piece)]
        if self._in_code and not self._splitter.in_code:
            lines += self._end_code()
        tail = self._splitter.tail
        return [*lines, *self._pop_sentences(tail.text)] if tail is not None and tail.kind == "prose" else lines

    def finish(self) -> list[str]:
        """Return the rest at the end of the answer; the object can then take another one."""
        lines = [line for piece in self._splitter.finish() for line in self._speak_piece(piece)]
        return [*lines, *self._end_code()]

    def _speak_piece(self, piece: MarkdownPiece) -> Iterator[str]:
        if piece.kind == "code":
            yield from self._add_code_line(piece)
            return
        yield from self._end_code()
        yield from self._pop_sentences(piece.text)
        text, self._spoken_chars = piece.text[self._spoken_chars :], 0
        yield from speak_prose(text)

    def _add_code_line(self, piece: MarkdownPiece) -> Iterator[str]:
        if not piece.joined:
            yield from self._end_code()
            self._language, self._in_code = piece.language, True
        self._code_lines += 1
        self._code.append(ExactLine(remove_drawn(piece.text.expandtabs(4)).rstrip()))
        if self._code_lines == _MAX_PENDING_LINES:
            yield _announce_code(
                self._language, tr("{max_pending_lines} lines or more", max_pending_lines=_MAX_PENDING_LINES)
            )
        if self._code_lines >= _MAX_PENDING_LINES:
            yield from self._code
            self._code.clear()

    def _end_code(self) -> Iterator[str]:
        if not self._in_code:
            return
        if self._code_lines < _MAX_PENDING_LINES:
            yield from _speak_code_block(self._language, self._code)
        else:
            yield tr("end of code, {lines}", lines=tr_count(self._code_lines, "line"))
        self._code, self._code_lines, self._in_code = [], 0, False

    def _pop_sentences(self, block: str) -> list[str]:
        """Return the whole new sentences of a paragraph, except one that may still continue."""
        if _NO_PARAGRAPH.match(block):
            return []
        lines: list[str] = []
        for found in _SENTENCE.finditer(block, self._spoken_chars):
            sentence = block[self._spoken_chars : found.end()]
            if not _NO_SENTENCE.search(sentence) and _is_closed(sentence):
                lines += speak_prose(sentence)
                self._spoken_chars = found.end()
        return lines


def speak_text(text: str) -> list[str]:
    """Return the lines of a whole Markdown text, such as the result of a slash command."""
    stream = SpokenMarkdown()
    return [*stream.feed(text), *stream.finish()]


def speak_prose(text: str) -> list[str]:
    """Return the lines of a piece of Markdown."""
    return list(_TokenSpeaker(parse_markdown_tokens(text)).speak_tokens()) if text.strip() else []


class _TokenSpeaker:
    """Converts the parser's tokens to lines in one pass."""

    def __init__(self, tokens: "Sequence[Token]") -> None:
        self._tokens = tokens
        self._lists: list[int | None] = []  # the next item number of each open list, None for lists without numbers
        self._prefix = ""
        self._quotes = 0

    def speak_tokens(self) -> Iterator[str]:
        """Yield the tokens as text."""
        index = 0
        while index < len(self._tokens):
            token = self._tokens[index]
            match token.type:
                case "heading_open":
                    self._prefix = tr("heading {tag}: ", tag=token.tag.removeprefix("h"))
                case "blockquote_open":
                    self._quotes += 1
                case "blockquote_close":
                    self._quotes -= 1
                case "bullet_list_open":
                    self._lists.append(None)
                case "ordered_list_open":
                    self._lists.append(int(token.attrs.get("start", 1)))
                case "bullet_list_close" | "ordered_list_close":
                    self._lists.pop()
                case "list_item_open":
                    self._begin_item(token)
                case "fence" | "code_block":
                    yield from _speak_code_block(token.info.split(" ")[0], token.content.rstrip("\n").split("\n"))
                case "hr":
                    yield tr("end of section")
                case "table_open":
                    end = next(
                        other for other in range(index, len(self._tokens)) if self._tokens[other].type == "table_close"
                    )
                    yield from _speak_token_table(self._tokens[index:end])
                    index = end
                case "inline":
                    yield from self._speak_inline(token)
                case _:
                    pass
            index += 1

    def _begin_item(self, token: "Token") -> None:
        number = self._lists[-1]
        depth = tr(", level {count}", count=len(self._lists)) if len(self._lists) > 1 else ""
        if number is None:
            self._prefix = f"item{depth}: "
        else:
            shown_number = token.info or str(number)
            self._prefix = f"{shown_number}{depth or '.'}{':' if depth else ''} "
            self._lists[-1] = number + 1

    def _speak_inline(self, token: "Token") -> Iterator[str]:
        prefix, self._prefix = self._prefix, ""
        if self._quotes:
            prefix = tr("quote: {prefix}", prefix=prefix)
        for number, line in enumerate(_extract_text(token.children or ()).split("\n")):
            if line.strip():
                yield (prefix if number == 0 else "") + remove_drawn(line).strip()


def _extract_text(children: "Sequence[Token]") -> str:
    """Return the text without markup, the target after a link; a hard break is a newline."""
    text = ""
    target, since = "", 0
    for token in children:
        match token.type:
            case "softbreak":
                text += " "
            case "hardbreak":
                text += "\n"
            case "link_open":
                target, since = str(token.attrs.get("href", "")), len(text)
            case "link_close":
                if text[since:].strip() not in (target, target.removeprefix("mailto:")):
                    text += tr(" (link: {target})", target=target)
            case "image":
                text += tr("image: {content} (link: {attrs})", content=token.content, attrs=token.attrs.get("src", ""))
            case "s_open":
                text += tr("(struck out: ")
            case "s_close":
                text += ")"
            case _:
                text += token.content
    return text


def _speak_token_table(tokens: "Sequence[Token]") -> Iterator[str]:
    rows: list[list[str]] = []
    for token in tokens:
        if token.type == "tr_open":
            rows.append([])
        elif token.type == "inline":
            rows[-1].append(" ".join(remove_drawn(_extract_text(token.children or ())).split()))
    head, *body = rows or [[]]
    yield tr("table, {columns}, {rows}", columns=tr_count(len(head), "column"), rows=tr_count(len(body), "row"))
    for number, row in enumerate(body, 1):
        cells = (f"{title}: {cell}" if title else cell for title, cell in zip(head, row, strict=False) if cell)
        yield tr("row {number}: {cells}", number=number, cells="; ".join(cells))
    yield tr("end of table")


def _speak_code_block(language: str, lines: Sequence[str]) -> Iterator[str]:
    yield _announce_code(language, tr_count(len(lines), "line"))
    yield from (ExactLine(remove_drawn(line.expandtabs(4)).rstrip()) for line in lines)
    yield tr("end of code")


def _announce_code(language: str, length: str) -> str:
    return ", ".join(part for part in ("code", remove_drawn(language).strip(), length) if part)


def _is_closed(sentence: str) -> bool:
    """Whether a sentence closes all marks it opens and is not the heading of a table."""
    pairs = (("(", ")"), ("[", "]"))
    marks = ("`", "**", "__", "~~", "*")
    return (
        "|" not in sentence
        and all(sentence.count(mark) % 2 == 0 for mark in marks)
        and all(sentence.count(begin) <= sentence.count(end) for begin, end in pairs)
    )
