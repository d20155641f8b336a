"""The whole session as one HTML page: no network, no style or script but its own, readable with scripts off."""

import base64
import hashlib
from collections.abc import Iterator
from html import escape
from pathlib import Path

from clio.export.document import (
    Cut,
    Entry,
    Export,
    Said,
    clock,
    count,
    cut_line,
    machine_time,
    minute,
    one_line,
    span,
    tokens,
)
from clio.export.html_parts import Calls, Colours, Diffs, Prose
from clio.sessions.state import Todo
from clio.text.formatting import describe_cache_use

_TOC_CHARS = 90
_TODO_MARKS = {"pending": "○", "in_progress": "◐", "completed": "●", "blocked": "⊘"}


def head(export: Export) -> Iterator[str]:
    """The title and the facts."""
    kicker = f"clio session{' · ' + escape(export.project) if export.project else ''}"
    yield f'<header class="head"><p class="kicker">{kicker}</p><h1 dir="auto">{escape(export.title)}</h1>\n'
    rows = "".join(f"<div><dt>{name}</dt><dd>{escape(text)}</dd></div>" for name, text in _facts(export))
    yield f'<dl class="facts">{rows}</dl>\n</header>\n'


def state(export: Export) -> Iterator[str]:
    """The list of work and the bills, as far as there are any."""
    yield '<div class="state">\n'
    if export.todos:
        done = sum(todo.status == "completed" for todo in export.todos)
        items = "".join(map(_todo, export.todos))
        yield f'<section class="todos"><h2>Todos <small>{done} of {len(export.todos)} done</small></h2>'
        yield f"<ul>{items}</ul></section>\n"
    if export.bills:
        yield from _bills(export)
    yield "</div>\n"


def _facts(export: Export) -> Iterator[tuple[str, str]]:
    totals = export.totals
    if export.created:
        yield "When (UTC)", minute(export.created)
    if export.last_active > export.created > 0:
        yield "Lasted", span(export.last_active - export.created)
    if export.models:
        yield "Model" if len(export.models) == 1 else "Models", ", ".join(export.models)
    failed = f", {totals.failed_calls:,} failed" if totals.failed_calls else ""
    yield "Talk", f"{count(totals.turns, 'turn')}, {count(totals.messages, 'message')}"
    yield "Tools", f"{count(totals.calls, 'call')}{failed}"
    if totals.prompt_tokens or totals.completion_tokens:
        cached = describe_cache_use(totals.cached_tokens, totals.cache_write_tokens)
        yield "Tokens", f"{totals.prompt_tokens:,} in{cached}, {totals.completion_tokens:,} out"


def _todo(todo: Todo) -> str:
    note = f'<span class="note">{escape(todo.note)}</span>' if todo.note else ""
    status = todo.status.replace("_", " ")
    return (
        f'<li class="{todo.status}"><span class="mark" role="img" aria-label="{status}" title="{status}">'
        f"{_TODO_MARKS[todo.status]}</span><span>{escape(todo.title)}{note}</span></li>"
    )


def _bills(export: Export) -> Iterator[str]:
    """What each request cost, and all together."""
    totals = export.totals
    yield f'<details class="bills"><summary>Tokens of {count(len(export.bills), "request")}</summary>'
    yield '<div class="wide"><table><thead><tr><th>#</th><th>time</th><th>model</th>'
    names = ("in", "cached", "written", "out")
    yield "".join(f'<th class="right">{name}</th>' for name in names) + "</tr></thead><tbody>"
    for number, bill in enumerate(export.bills, 1):
        yield f"<tr><td>{number}</td><td>{minute(bill.timestamp)}</td><td>{escape(bill.model)}</td>"
        for tokens_ in (bill.prompt_tokens, bill.cached_tokens, bill.cache_write_tokens, bill.completion_tokens):
            yield f'<td class="right">{tokens_:,}</td>'
        yield "</tr>"
    yield "</tbody><tfoot><tr><td></td><td></td><td>all</td>"
    for tokens_ in (totals.prompt_tokens, totals.cached_tokens, totals.cache_write_tokens, totals.completion_tokens):
        yield f'<td class="right">{tokens_:,}</td>'
    yield "</tr></tfoot></table></div></details>\n"


def contents(export: Export) -> Iterator[str]:
    """The user's turns, each a link."""
    turns = [entry for entry in export.entries if _is_turn(entry)]
    if not turns:
        return
    yield '<nav class="toc" aria-label="Contents"><h2>Contents</h2><ol>\n'
    for entry in turns:
        words = one_line(entry.text, _TOC_CHARS) if isinstance(entry, Said) else ""
        yield f'<li><a href="#{entry.anchor}">{escape(words) or "(no words)"}</a></li>\n'
    yield "</ol></nav>\n"


def _is_turn(entry: Entry) -> bool:
    return isinstance(entry, Said) and entry.role == "user" and entry.origin == "user"


_ORIGINS = {
    "continue": "clio, to go on",
    "recovery": "clio, after a shortening",
    "interrupt": "clio, after an interruption",
}
_FINISHES = {
    "interrupted": "interrupted",
    "length": "cut off by the output limit",
    "content_filter": "ended by the server's content filter",
}


class Talk:
    """Renders the entries of one page, in their order."""

    def __init__(self, prose: Prose, calls: Calls) -> None:
        self._prose = prose
        self._calls = calls
        self._turn = 0
        self._day = ""

    def html(self, entry: Entry) -> str:
        """One message or trim."""
        if isinstance(entry, Cut):
            return self._cut(entry)
        match entry.role:
            case "user" if entry.origin == "user":
                return self._user(entry)
            case "user":
                return self._aside(entry, _ORIGINS[entry.origin], "note")
            case "system":
                return self._aside(entry, "system prompt", "note")
            case "assistant":
                return self._answer(entry)
            case "tool":
                return self._tool(entry)

    def _user(self, entry: Said) -> str:
        self._turn += 1
        return (
            f'<article class="m user" id="{entry.anchor}"><h2><span class="who">User</span>'
            f'<span class="number">{self._turn}</span>{self._time(entry)}{_link(entry)}</h2>'
            f"{_folded('what clio told the model beside these words', entry.context)}"
            f'<div class="words" dir="auto">{self._prose.as_written(entry.text)}</div></article>\n'
        )

    def _answer(self, entry: Said) -> str:
        words = f'<div class="words" dir="auto">{self._prose.markdown(entry.text)}</div>' if entry.text.strip() else ""
        finish = _FINISHES.get(entry.finish_reason, "")
        about = [f"step {entry.step}", tokens(entry.usage) if entry.usage else "", finish]
        return (
            f'<article class="m clio{" first" if entry.step == 1 else ""}" id="{entry.anchor}">'
            f'<h3><span class="who">clio</span><span class="model">{escape(entry.model)}</span>'
            f'<span class="about">{" · ".join(filter(None, about))}</span>{self._time(entry)}{_link(entry)}</h3>'
            f"{_folded('thinking', entry.reasoning)}{words}{''.join(map(self._calls.html, entry.calls))}</article>\n"
        )

    def _tool(self, entry: Said) -> str:
        calls = "".join(map(self._calls.html, entry.calls))
        return f'<article class="m clio" id="{entry.anchor}">{calls}</article>\n'

    def _aside(self, entry: Said, label: str, kind: str) -> str:
        return (
            f'<article class="m {kind}" id="{entry.anchor}"><details><summary>{label}'
            f"{self._time(entry)}{_link(entry)}</summary>"
            f'<div class="said" dir="auto">{escape(entry.text)}</div></details></article>\n'
        )

    def _cut(self, cut: Cut) -> str:
        handle = f' <span class="handle">{escape(cut.handle)}</span>'
        line = f"{escape(cut_line(cut))}{handle}{self._time(cut)}{_link(cut)}"
        ends = ""
        if cut.first_anchor:
            ends = (
                f'<p class="ends">From <a href="#{cut.first_anchor}">the first</a> to '
                f'<a href="#{cut.last_anchor}">the last</a> of them; they stay in the session and in this page. '
                "From here on the model read a summary of them:</p>"
            )
        body = f'{ends}<div class="said" dir="auto">{escape(cut.summary)}</div>' if cut.summary else ends
        inner = f"<details><summary>{line}</summary>{body}</details>" if body else f"<p>{line}</p>"
        return f'<aside class="m trim" id="{cut.anchor}">{inner}</aside>\n'

    def _time(self, entry: Entry) -> str:
        """The time of the day; the first of a day has its date."""
        when = minute(entry.created)
        if not when:
            return ""
        shown = clock(entry.created) if when[:10] == self._day else when
        self._day = when[:10]
        return f'<time datetime="{machine_time(entry.created)}" title="{when} UTC">{shown}</time>'


def _folded(label: str, text: str) -> str:
    if not text.strip():
        return ""
    return (
        f'<details class="more"><summary>{label}</summary><div class="said" dir="auto">{escape(text)}</div></details>'
    )


def _link(entry: Entry) -> str:
    return f'<a class="link" href="#{entry.anchor}" aria-label="Link to this place">#</a>'


_TOOLS = (
    '<div class="tools" role="search">'
    '<input type="search" id="find" placeholder="Search this session" aria-label="Search this session" '
    'autocomplete="off" spellcheck="false">'
    '<output id="hits" aria-live="polite"></output>'
    '<span class="steps">'
    '<button type="button" id="previous" title="Previous (Shift+Enter)" aria-label="Previous hit">↑</button>'
    '<button type="button" id="next" title="Next (Enter)" aria-label="Next hit">↓</button>'
    '<label title="Hide what has no hit"><input type="checkbox" id="only"> only hits</label></span>'
    '<button type="button" id="fold" aria-pressed="false">Unfold</button>'
    '<button type="button" id="theme" aria-label="Light or dark" title="Light or dark">◑</button>'
    "</div>"
)


def page(export: Export) -> str:
    """The page. The same export gives the same bytes."""
    colours, diffs = Colours(), Diffs()
    prose = Prose(colours, diffs)
    talk = Talk(prose, Calls(prose, colours, diffs))
    style, script = _asset("page.css"), _asset("page.js")
    policy = (
        f"default-src 'none'; style-src '{_hash(style)}'; script-src '{_hash(script)}'; "
        "base-uri 'none'; form-action 'none'"
    )
    parts = [
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n',
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n',
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n',
        '<meta name="referrer" content="no-referrer">\n<meta name="color-scheme" content="light dark">\n',
        f"<title>{escape(one_line(export.title, 120))}</title>\n",
        f"<style>{style}</style>\n<script>{script}</script>\n</head>\n<body>\n",
        f'<a class="skip" href="#talk">To the conversation</a>\n{_TOOLS}\n<main class="page">\n',
        *head(export),
        *contents(export),
        *state(export),
        '<div id="talk">\n',
        *map(talk.html, export.entries),
        f"</div>\n{_foot(export)}</main>\n</body>\n</html>\n",
    ]
    return "".join(parts)


def _asset(name: str) -> str:
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _hash(text: str) -> str:
    digest = hashlib.sha256(text.encode("utf-8")).digest()
    return f"sha256-{base64.b64encode(digest).decode('ascii')}"


def _foot(export: Export) -> str:
    return (
        f"<footer><p>Session {escape(export.id)}, exported {minute(export.exported_at)} UTC by clio. Times are in UTC. "
        "Secrets clio knows are replaced; look through the page before you hand it on.</p></footer>\n"
    )
