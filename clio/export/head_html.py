"""What stands before the conversation: title and facts, the list of work, the bills, the contents."""

from collections.abc import Iterator
from html import escape

from clio.algorithms.counts import describe_cache_use
from clio.export.document import Entry, Export, Said
from clio.export.wording import count, minute, one_line, span
from clio.sessions.state import Todo

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
