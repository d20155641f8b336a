"""The whole session as Markdown: what was said as it was said, and nothing in it can run into what follows."""

from collections.abc import Iterator
from functools import cache
from html import escape
from typing import TYPE_CHECKING, Any, cast

from clio.export.document import TITLE_CHARS, Call, Cut, Export, Said, call_title, cut_line, minute, plain, tokens
from clio.export.html_page import allowed_link, is_renderable, markdown_cost
from clio.text.formatting import block, describe_cache_use, format_count, span, truncate_line
from clio.text.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from markdown_it import MarkdownIt

_END = "the end of this text"
_LANGUAGES = {"patch": "diff", "command": "sh"}
_SPECIAL = LazyRegex(r"[\\`*_\[\]<>|~&]|^[-+#=]|(?<=^\d)[.)]")
_SHORT = 80
MAX_ALL = 10_000_000
"""What looking at the Markdown of one session may cost, in characters of prose; what comes later is fenced."""


def markdown(export: Export) -> str:
    """The text."""
    return "".join(f"{block}\n\n" for block in _blocks(export)).rstrip("\n") + "\n"


def fenced(text: str, language: str = "") -> str:
    """The text in a fence longer than any run of backticks in it."""
    return block(text.removesuffix("\n"), language)


class Words:
    """Words as they were written, where their Markdown ends with them; else in a fence.

    An open fence, an open comment or a tag would swallow what comes after. What would take long to look at is fenced.
    """

    def __init__(self) -> None:
        self._left = MAX_ALL

    def contained(self, text: str) -> str:
        """The words of one message."""
        text = text.strip("\n")
        cost = markdown_cost(text)
        if cost > self._left or not is_renderable(text):
            return fenced(text, "markdown")
        self._left -= cost
        return text if _ends_by_itself(text) else fenced(text, "markdown")


def _blocks(export: Export) -> Iterator[str]:
    words = Words()
    yield f"# {_heading(export.title)}"
    yield "\n".join(f"- {name}: {text}" for name, text in _facts(export))
    if export.todos:
        yield "## Todos"
        yield "\n".join(
            f"- [{'x' if todo.status == 'completed' else ' '}] {_heading(todo.title)}"
            + (f" ({todo.status.replace('_', ' ')})" if todo.status in ("in_progress", "blocked") else "")
            + (f": {_heading(todo.note)}" if todo.note else "")
            for todo in export.todos
        )
    turn = 0
    for entry in export.entries:
        if isinstance(entry, Cut):
            yield from _cut(entry)
            continue
        turn += entry.role == "user" and entry.origin == "user"
        yield from _said(entry, turn, words)


def _facts(export: Export) -> Iterator[tuple[str, str]]:
    totals = export.totals
    yield "session", f"`{export.id}`"
    if export.project:
        yield "project", _heading(export.project)
    if export.created:
        yield "when", f"{minute(export.created)} UTC"
    if export.models:
        yield "model", _heading(", ".join(export.models))
    yield (
        "talk",
        f"{format_count(totals.turns, 'turn')}, {format_count(totals.messages, 'message')}, "
        f"{format_count(totals.calls, 'call')}",
    )
    if totals.requests:
        cached = describe_cache_use(totals.cached_tokens, totals.cache_write_tokens)
        yield "tokens", f"{totals.prompt_tokens:,} in{cached}, {totals.completion_tokens:,} out"
    yield "exported", f"{minute(export.exported_at)} UTC"


def _said(entry: Said, turn: int, words: Words) -> Iterator[str]:
    when = f" · {minute(entry.created)}" if minute(entry.created) else ""
    match entry.role:
        case "user" if entry.origin == "user":
            yield f"## {turn}. User{when}"
            if entry.context.strip():
                yield _folded("what clio told the model beside these words", [fenced(entry.context)])
            yield words.contained(entry.text)
        case "user":
            yield _folded(f"clio, to the model ({entry.origin})", [fenced(entry.text)])
        case "system":
            yield _folded("system prompt", [fenced(entry.text)])
        case "assistant":
            about = [f"step {entry.step}", entry.model, tokens(entry.usage) if entry.usage else ""]
            finish = entry.finish_reason if entry.finish_reason in ("interrupted", "length", "content_filter") else ""
            yield f"### clio{when} · {_heading(' · '.join(filter(None, [*about, finish])))}"
            if entry.reasoning.strip():
                yield _folded("thinking", [fenced(entry.reasoning)])
            if entry.text.strip():
                yield words.contained(entry.text)
            yield from map(_call, entry.calls)
        case "tool":
            yield from map(_call, entry.calls)


def _call(call: Call) -> str:
    result = call.result
    state = "no result" if result is None else result.summary if result.ok else f"failed: {result.summary}"
    title = " · ".join(filter(None, [f"{call.name} {call_title(call)}".strip(), truncate_line(state, TITLE_CHARS)]))
    parts = list(_arguments(call.arguments))
    if result is not None and result.output.strip():
        parts += ["Output:", fenced(result.output, "text")]
    return _folded(title, parts)


def _arguments(arguments: Any) -> Iterator[str]:
    if not isinstance(arguments, dict):
        if plain(arguments).strip():
            yield fenced(plain(arguments))
        return
    texts = {key: plain(value) for key, value in cast("dict[str, Any]", arguments).items()}
    short = {key: text for key, text in texts.items() if text.strip() and len(text) <= _SHORT and "\n" not in text}
    if short:
        yield "\n".join(f"- {_heading(key)}: {span(text)}" for key, text in short.items())
    for key, text in texts.items():
        if key not in short:
            yield f"{_heading(key)}:"
            yield fenced(text, _LANGUAGES.get(key, ""))


def _cut(cut: Cut) -> Iterator[str]:
    yield f"> **{_heading(cut_line(cut))}** ({_heading(cut.handle)})"
    if cut.summary:
        yield _folded("the summary the model read from here on", [fenced(cut.summary)])


def _folded(title: str, parts: list[str]) -> str:
    line = escape(" ".join(title.split()), quote=False)
    return "\n\n".join([f"<details><summary>{line}</summary>", *parts, "</details>"])


def _heading(text: str) -> str:
    """Text on one line that means nothing in Markdown."""
    return _SPECIAL.sub(r"\\\g<0>", " ".join(text.split()))


def _ends_by_itself(text: str) -> bool:
    """Whether a paragraph put behind the text is a paragraph of its own, and nothing in it is loaded or run."""
    tokens = _parser().parse(f"{text}\n\n{_END}")
    inline = [child for token in tokens for child in token.children or ()]
    if any(token.type in ("html_block", "html_inline", "image") for token in [*tokens, *inline]):
        return False
    if not all(allowed_link(str(token.attrGet("href"))) for token in inline if token.type == "link_open"):
        return False
    end = tokens[-2] if len(tokens) > 1 else None
    return end is not None and end.type == "inline" and end.content == _END and end.level == 1


@cache
def _parser() -> "MarkdownIt":
    from markdown_it import MarkdownIt

    class Credulous(MarkdownIt):
        def validateLink(self, url: str) -> bool:
            return True  # a viewer may think so

    return Credulous("commonmark").enable("table")
