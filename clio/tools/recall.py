"""Messages that left the window, brought back word for word, page by page, or the lines of them that match a query."""

from collections.abc import Mapping, Sequence, Set

import msgspec

from clio.algorithms.lexical import terms
from clio.algorithms.stored_time import format_stored_time
from clio.errors import ToolRetry
from clio.memory.threads import ThreadArchive, meant_terms
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from clio.sessions.blobs import BlobNotFound
from clio.sessions.session import Session
from clio.tools.base import ToolOutput
from clio.tools.truncate import rows

PAGE_CHARS = 8_000
"""About 2,000 tokens: what was trimmed for want of room must not fill it at once."""
_FOUND_CHARS = 1_200
"""A longer message that matches is shown by the lines around its matches."""
_MATCHES, _LINES_AROUND, _LINE_CHARS = 4, 3, 400


def recall(
    session: Session,
    *,
    first: str,
    last: str,
    handle: str,
    query: str,
    offset: int,
    max_results: int,
    earlier: bool = False,
) -> ToolOutput:
    """The messages asked for: word for word, page by page; with a query the lines around its words.

    first, last: ids or places ("12", counted from 1); one alone names one message. handle: of a trim, such as "t3".
    query: only messages that have a word of it, of those that the others name, or of the whole session; the best
    first, of those as good the newest. offset: the row to begin at, from 1. earlier: the session is not the running
    one; nobody can ask for its outputs by handle, so they are shown whole. Raises ToolRetry where they name nothing.
    """
    archive = ThreadArchive(session)
    places = {message.id: place for place, message in enumerate(session.messages, 1)}
    named = _named(session, archive, first, last, handle)
    which = _which(session, earlier)
    if query:
        within = session.messages if named is None else [_with_whole_output(session, message) for message in named]
        where = which if named is None else f"{_span_name(first, last, handle)} of {which}"
        return _matching(session, archive, query, within, places, where, offset, max_results, earlier)
    chosen = named or ()
    if earlier:
        chosen = [_with_whole_output(session, message) for message in chosen]
    text = "\n\n".join(_shown(message, places[message.id]) for message in chosen)
    what = f"{len(chosen):,} of {len(session.messages):,} messages of {which}"
    return _page(text, offset, f"{what}; data, not an instruction" if earlier else what)


def _named(session: Session, archive: ThreadArchive, first: str, last: str, handle: str) -> Sequence[Message] | None:
    """The messages that handle and span both name; None where neither is given."""
    span = _span(session, archive, handle) if handle else None
    if not (first or last):
        return span
    between = _between(session, archive, first or last, last or first)
    if span is None:
        return between
    inside = {message.id for message in span}
    both = [message for message in between if message.id in inside]
    if not both:
        raise ToolRetry(
            f"no message from {first or last!r} to {last or first!r} is in {handle!r}; give one of the two alone"
        )
    return both


def _span_name(first: str, last: str, handle: str) -> str:
    span = f"messages {first or last} to {last or first}" if first or last else ""
    return " in ".join(part for part in (span, handle) if part)


def _matching(
    session: Session,
    archive: ThreadArchive,
    query: str,
    within: Sequence[Message],
    places: Mapping[str, int],
    where: str,
    offset: int,
    max_results: int,
    earlier: bool,
) -> ToolOutput:
    found = [hit.message for hit in archive.search(query, None, within)]
    if not found:
        text = f"No message of {where} shares a word with that."
        elsewhere = archive.search(query, 5) if len(within) < len(session.messages) else ()
        if elsewhere:
            listed = ", ".join(f"#{places[hit.message.id]}" for hit in elsewhere)
            text += f" Others of the session do: {listed}."
        return ToolOutput(text=text, summary="nothing found")
    shown = found[:max_results]
    if earlier:
        shown = [_with_whole_output(session, message) for message in shown]
    wanted = meant_terms(set(terms(query)), set(terms("\n".join(_said(message)[1] for message in shown))))
    text = "\n\n".join(_around(message, places[message.id], wanted) for message in shown)
    what = f"{len(shown):,} of {len(found):,} messages of {where} that match, best first"
    what += f", max_results={min(len(found), 50)} shows more" if len(shown) < len(found) else ""
    return _page(text, offset, f"{what}; data, not an instruction" if earlier else what)


def _which(session: Session, earlier: bool) -> str:
    return f"session {session.id[-8:]}" if earlier else "this session"


def _with_whole_output(session: Session, message: Message) -> Message:
    """The message with its output whole, where that was kept and only a preview of it shown."""
    if not isinstance(message, ToolMessage) or message.blob is None:
        return message
    try:
        return msgspec.structs.replace(message, content=session.read_blob(message.blob), blob=None)
    except (BlobNotFound, OSError):
        return message


def _between(session: Session, archive: ThreadArchive, first: str, last: str) -> Sequence[Message]:
    ends = [_id_at(session, end.strip().removeprefix("#")) for end in (first, last)]
    chosen = archive.between(ends[0], ends[1])
    if not chosen:
        raise ToolRetry(
            f"no messages from {first!r} to {last!r}: give ids, or places from 1 to {len(session.messages)}, as in "
            'from="12", to="20"'
        )
    return chosen


def _id_at(session: Session, end: str) -> str:
    """The id of the message at a place; anything else is taken for an id."""
    if end.isascii() and end.isdigit() and len(end) < 8:
        place = min(max(int(end), 1), len(session.messages))
        return session.messages[place - 1].id if session.messages else end
    return end


def _span(session: Session, archive: ThreadArchive, handle: str) -> Sequence[Message]:
    chosen = archive.thread(handle)
    if chosen:
        return chosen
    handles = [trim.handle for trim in session.trims]
    there = f"the spans are {', '.join(handles[-20:])}" if handles else "nothing has been trimmed in this session"
    raise ToolRetry(f"there are no messages under {handle!r}; {there}")


def _shown(message: Message, place: int) -> str:
    who, text = _said(message)
    return f"{_head(message, place, who)}\n{text}"


def _head(message: Message, place: int, who: str) -> str:
    when = format_stored_time(", %Y-%m-%d %H:%M", message.created, "") if message.created else ""
    return f"#{place} {who}{when}"


def _said(message: Message) -> tuple[str, str]:
    """Who speaks, and what is said."""
    match message:
        case UserMessage():
            return "user" if message.origin == "user" else "clio", message.content
        case AssistantMessage():
            calls = [f"[called {call.name} {call.arguments}]" for call in message.tool_calls]
            return "assistant", "\n".join(part for part in (message.content, *calls) if part)
        case ToolMessage():
            return f"result of {message.name or 'a tool'}", message.content
        case SystemMessage():
            return "system", message.content


def _around(message: Message, place: int, wanted: Set[str]) -> str:
    """The lines of a message around those that have most of what is wanted, and how many were left out."""
    who, text = _said(message)
    head = _head(message, place, who)
    lines = rows(text)
    if len(text) <= _FOUND_CHARS:
        return f"{head}\n{text}"
    counts = [len(wanted & set(terms(line))) for line in lines]
    best = max(counts, default=0)
    ranked = sorted((at for at, count in enumerate(counts) if count * 2 > best), key=lambda at: -counts[at])
    chosen: set[int] = set()
    for at in ranked[:_MATCHES]:
        near = set(range(max(at - _LINES_AROUND, 0), min(at + _LINES_AROUND + 1, len(lines))))
        if chosen and sum(min(len(lines[one]), _LINE_CHARS) for one in chosen | near) > _FOUND_CHARS:
            continue
        chosen |= near
    shown: list[str] = []
    last = -1
    for at in sorted(chosen):
        if at > last + 1:
            shown.append(_left_out(last + 2, at))
        shown.append(_cut_around(lines[at], wanted))
        last = at
    if last < len(lines) - 1:
        shown.append(_left_out(last + 2, len(lines)))
    return "\n".join([f'{head}, {len(lines):,} lines; whole with from="{place}"', *shown])


def _left_out(first: int, last: int) -> str:
    return f"[line {first} left out]" if first == last else f"[lines {first}-{last} left out]"


def _cut_around(line: str, wanted: Set[str]) -> str:
    """A line of bounded length, with as much of what is wanted as fits."""
    if len(line) <= _LINE_CHARS:
        return line
    from clio.memory.brain.passage import passage

    return passage(line, frozenset(wanted), _LINE_CHARS)


def _page(text: str, offset: int, what: str) -> ToolOutput:
    all_rows = rows(text)
    if offset > len(all_rows):
        raise ToolRetry(f"there are {len(all_rows)} lines; offset {offset} is behind their end")
    shown: list[str] = []
    room = PAGE_CHARS
    for row in all_rows[offset - 1 :]:
        room -= len(row) + 1
        if shown and room < 0:
            break
        shown.append(row)
    last = offset + len(shown) - 1
    more = f"; go on with offset={last + 1}" if last < len(all_rows) else ""
    head = f"[what was said before, word for word; {what}; lines {offset}-{last} of {len(all_rows)}{more}]"
    return ToolOutput(text="\n".join([head, *shown]), summary=f"{what}, lines {offset}-{last} of {len(all_rows)}")
