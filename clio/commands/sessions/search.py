"""What was said in earlier sessions, and the way back into the one that fits best."""

import re
import time
from typing import TYPE_CHECKING

from clio.algorithms.late_pattern import LatePattern
from clio.commands.arguments import read
from clio.commands.command import Shell, Suggestion
from clio.commands.follow_ups import Prefill
from clio.commands.markdown_code import code
from clio.commands.result import CommandResult, refuse
from clio.commands.sessions.table import id_length, last_used, short_title, shortened
from clio.commands.tables import Table

if TYPE_CHECKING:
    from collections.abc import Iterable

    from clio.memory.recall.docs import Recall, Recalled
    from clio.sessions.state import SessionInfo

MAX_SESSIONS = 10
_TITLE_CHARS = 26
_SNIPPET_CHARS = 120
_WORD = LatePattern(r"\w+")
_SCOPES = LatePattern(r"(?<!\S)in:\w+(?!\S)", re.IGNORECASE)


def search(shell: Shell, argument: str) -> CommandResult:
    """The sessions that answer a query, the best first; the next line then holds the command that resumes it."""
    given = read(argument, switches=("--all",))
    query = (
        given.typed if given.typed.startswith('"') else given.text
    )  # double quotes mean that the words stand together
    if not query.strip():
        return refuse("What was said? Write /session search with a few words of it; in:output looks at tools' output")
    if shell.config.incognito:
        return refuse("An incognito clio reads no earlier session; start without --incognito to search.")
    recall = shell.memory.recall_sessions(
        query,
        current=shell.session.id or None,
        include_current="--all" in given.options,
        max_sessions=MAX_SESSIONS,
        max_results=MAX_SESSIONS,
    )
    best = [session.passages[0] for session in recall.sessions if session.passages]
    data = _data(query, recall)
    if not best:
        return CommandResult(text=f"No session says {code(query)}.{_missed(recall)}", data=data)
    infos = shell.store.list()
    places = {info.id: place for place, info in enumerate(infos)}
    first = next((hit for hit in best if hit.session_id != shell.session.id), None)
    # Without a running session nothing holds a next line.
    resume = f"Enter resumes “{code(_title(first))}”." if first and shell.session.id else ""
    return CommandResult(
        text=f"{_points(best[0])}{_missed(recall)} {resume}".strip(),
        table=Table(
            columns=("#", "session", "last used", "said", "id"),
            rows=tuple(_row(hit, infos, places, query, shell.session.id) for hit in best),
            wide=3,
        ),
        follow_up=Prefill(text=f"/session switch {first.session_id[: id_length(places)]}") if first else None,
        data=data,
    )


def suggest_scope(shell: Shell, argument: str) -> "Iterable[Suggestion]":
    """What may stand beside the words of a query."""
    yield Suggestion(text="in:output", note="look at whole outputs of tools")
    yield Suggestion(text="in:title", note="look at the sessions' titles")
    yield Suggestion(text="--all", note="look at the running session too")


def _row(
    hit: "Recalled", infos: "list[SessionInfo]", places: dict[str, int], query: str, running: str
) -> tuple[str, str, str, str, str]:
    place = places.get(hit.session_id)
    length = id_length(places)
    said = around(hit.snippet, query, _SNIPPET_CHARS)
    if place is None:  # deleted since it was indexed
        return ("–", shortened(_title(hit), _TITLE_CHARS), "–", said, hit.session_id[:length])
    info = infos[place]
    used = last_used(info, running, time.time())
    return (str(place + 1), short_title(info, _TITLE_CHARS), used, said, info.id[:length])


def around(text: str, query: str, chars: int) -> str:
    """At most about `chars` characters of a text, with the query's words among them where it has them."""
    text = " ".join(text.split())
    if len(text) <= chars:
        return text
    centre = _place_of(query, text.casefold())
    start = max(0, min(centre - chars // 3, len(text) - chars))
    if start:
        start = text.find(" ", start - 1, centre) + 1 or start
    end = start + chars
    if end < len(text) and " " in text[centre + 1 : end]:
        end = text.rfind(" ", centre + 1, end)
    before = "… " if start and not text[start:].startswith("…") else ""
    return before + text[start:end].strip() + ("…" if end < len(text) else "")


def _place_of(query: str, folded: str) -> int:
    """Where the whole query stands, else its longest word, which may stand there with another ending."""
    words = _WORD.findall(_SCOPES.sub(" ", query).casefold())
    wanted = [" ".join(words), *(word[: max(4, len(word) - 3)] for word in sorted(words, key=len, reverse=True))]
    return next((place for text in wanted if text and (place := folded.find(text)) >= 0), 0)


def _points(hit: "Recalled") -> str:
    """Why the best one is first."""
    signals = hit.signals
    named = {
        "exact words": signals.exact,
        "words": signals.keywords,
        "density": signals.density,
        "title": signals.title,
    }
    parts = ", ".join(f"{what} {round(points, 1):g}" for what, points in named.items() if round(points, 1))
    return f"Best first; the first one's points: {parts}." if parts else "Best first."


def _missed(recall: "Recall") -> str:
    parts: list[str] = []
    if recall.unreadable:
        parts.append(f"{_sessions(len(recall.unreadable))} cannot be read")
    if recall.unsearched:
        parts.append(f"{_sessions(recall.unsearched)} not looked at yet, search again in a moment")
    return f" ({'; '.join(parts)})" if parts else ""


def _sessions(count: int) -> str:
    return f"{count:,} session{'s' * (count != 1)}"


def _title(hit: "Recalled") -> str:
    return " ".join(hit.session_name.split()) or "(no words yet)"


def _data(query: str, recall: "Recall") -> dict[str, object]:
    return {
        "query": query,
        "sessions": [
            {
                "id": session.session_id,
                "name": session.session_name,
                "updated_at": session.updated,
                "score": session.score,
                "passages": [_passage_data(passage) for passage in session.passages],
            }
            for session in recall.sessions
        ],
        "unreadable": list(recall.unreadable),
        "unsearched": recall.unsearched,
    }


def _passage_data(passage: "Recalled") -> dict[str, object]:
    return {
        "message_id": passage.message_id,
        "role": passage.role,
        "created": passage.created,
        "score": passage.score,
        "exact": passage.signals.exact,
        "keywords": passage.signals.keywords,
        "density": passage.signals.density,
        "title": passage.signals.title,
        "snippet": passage.snippet,
    }
