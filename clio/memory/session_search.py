"""What was said in earlier sessions, found by its words. Reads the session files; keeps no index."""

import re
from collections.abc import Sequence
from typing import assert_never

from msgspec import Struct

from clio.algorithms.lexical import coverage, has_phrase, rarity, stem, terms, words
from clio.errors import StorageError, UserError
from clio.memory.ranking import PHRASE_BONUS
from clio.memory.recall.transcripts import searchable_text
from clio.memory.records import Recall, Recalled
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from clio.sessions.state import SessionInfo
from clio.sessions.store import SessionStore

TITLE_SHARE = 0.1
SNIPPET_CHARS = 300
_WORD = re.compile(r"\w+")


class _Passage(Struct, frozen=True, kw_only=True):
    info: SessionInfo
    message: Message
    text: str
    bag: frozenset[str]


def search_sessions(
    store: SessionStore, query: str, *, exclude: str | None, max_sessions: int, max_results: int
) -> Recall:
    """The messages of earlier sessions that fit the query best: exact phrase, then rare words, then newest.

    exclude: the id of the session that asks. max_sessions: how many to look at, newest first.
    What shares no word with the query is no answer. Reads every message of those sessions.
    """
    wanted, phrase = set(terms(query)), words(query)
    passages: list[_Passage] = []
    unreadable: list[str] = []
    total = 0
    for info in [info for info in store.list() if info.id != exclude][: max(max_sessions, 0)]:
        try:
            messages = store.read(info.id)
        except (UserError, StorageError, OSError):  # deleted meanwhile, damaged, or of a newer clio
            unreadable.append(info.id)
            continue
        total += len(messages)
        passages.extend(_passages(info, messages, wanted))
    without_any = [frozenset[str]()] * (total - len(passages))
    weights = rarity([*(passage.bag for passage in passages), *without_any], wanted)
    best = sorted(((_score(passage, weights, phrase), passage) for passage in passages), key=_order)
    found: dict[str, Recalled] = {}
    for score, passage in best:
        if len(found) >= max_results:
            break
        snippet = _snippet(passage.text, phrase, wanted)
        found.setdefault(snippet, _recalled(snippet, score, passage))
    return Recall(passages=tuple(found.values()), unreadable=tuple(unreadable))


def _order(pair: tuple[float, _Passage]) -> tuple[float, float]:
    return -pair[0], -_created(pair[1])


def _passages(info: SessionInfo, messages: Sequence[Message], wanted: set[str]) -> list[_Passage]:
    """The messages of a session that have a wanted word."""
    beginnings = [term[:-1] if term.endswith("y") else term for term in wanted]
    # Only words that begin like a wanted one are stemmed: ten times faster than taking every text to its words.
    candidates = re.compile(rf"(?<![^\W_])(?:{'|'.join(map(re.escape, beginnings))})[^\W_]*")
    spaced = all(term.isascii() for term in wanted)
    found: list[_Passage] = []
    for message in messages:
        text = searchable_text(message)
        folded = text.casefold()
        if not any(beginning in folded for beginning in beginnings):
            continue
        bag = {stem(word) for word in set(candidates.findall(folded))} if spaced else set(terms(text))
        if wanted & bag:
            found.append(_Passage(info=info, message=message, text=text, bag=frozenset(wanted & bag)))
    return found


def _score(passage: _Passage, weights: dict[str, float], phrase: Sequence[str]) -> float:
    """Coverage, a little for the title, and more than both for the exact phrase."""
    possible = len(phrase) > 1 and len(passage.bag) == len(weights)
    exact = possible and has_phrase(words(passage.text), phrase)
    title = coverage(weights, set(terms(_title(passage.info))))
    return round(coverage(weights, passage.bag) + TITLE_SHARE * title + (PHRASE_BONUS if exact else 0.0), 6)


def _title(info: SessionInfo) -> str:
    return info.name or info.first_words


def _created(passage: _Passage) -> float:
    return passage.message.created or passage.info.updated_at


def _recalled(snippet: str, score: float, passage: _Passage) -> Recalled:
    return Recalled(
        session_id=passage.info.id,
        session_name=_title(passage.info),
        message_id=passage.message.id,
        role=_role(passage.message),
        created=_created(passage),
        snippet=snippet,
        score=score,
    )


def _role(message: Message) -> str:
    match message:
        case UserMessage():
            return "user"
        case AssistantMessage():
            return "assistant"
        case ToolMessage():
            return f"tool {message.name}".strip()
        case SystemMessage():
            return "system"
        case _:
            assert_never(message)


def _snippet(text: str, phrase: Sequence[str], wanted: set[str]) -> str:
    """Up to 300 characters around the exact phrase, else where the most different wanted words are near each other."""
    centre = _phrase_at(text, phrase)
    if centre is None:
        centre = _densest(text, wanted)
    start = max(min(centre - SNIPPET_CHARS // 3, len(text) - SNIPPET_CHARS), 0)
    end = start + SNIPPET_CHARS
    shown = " ".join(text[start:end].split())
    return ("… " if start else "") + shown + (" …" if end < len(text) else "")


def _phrase_at(text: str, phrase: Sequence[str]) -> int | None:
    pattern = r"[\W_]*".join(re.escape(word) for word in phrase)
    found = re.search(pattern, text, re.IGNORECASE) if pattern else None
    return found.start() if found else None


def _densest(text: str, wanted: set[str]) -> int:
    places = [(match.start(), hits) for match in _WORD.finditer(text) if (hits := wanted & _stems(match[0]))]
    best, centre = 0, 0
    for number, (start, _) in enumerate(places):
        near = [hits for at, hits in places[number : number + 50] if at < start + SNIPPET_CHARS * 2 // 3]
        count = len(set[str]().union(*near))
        if count > best:
            best, centre = count, start
    return centre


def _stems(word: str) -> set[str]:
    return {stem(part) for part in words(word)}
