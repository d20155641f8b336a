"""Access to every message of a session, including those that trimming removed from the window. Read-only.

The window is the part of a session that is sent to the model. A trim is one removal of messages from it.

The specification calls the archive "YaRN" (yet another recurrence navigation). It is unrelated to YaRN, the method of
extending rotary position embeddings.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

from clio.memory.transcripts.session_text import extract_searchable_text
from clio.messages import Message, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.text.vocabulary import (
    compute_coverage,
    compute_rarity,
    expand_query_word,
    extract_terms,
    has_phrase,
    is_misspelling,
    list_members_of_kind,
    tokenize,
)

_PHRASE_BONUS = 1.0
"""Bonus for the exact phrase. Other scores are at most 1.0, so a message with the phrase always comes first."""
_POSITION_BONUS = 1e-6
"""Bonus per position in the session: it only decides between equal scores."""


class ArchiveHit(Struct, frozen=True, kw_only=True):
    """A message found by a search. Scores are comparable only within one search; higher is better."""

    message: Message
    score: float


class ArchiveStats(Struct, frozen=True, kw_only=True):
    """The number of messages, of archived messages, and of trims; times of the first and the last message."""

    messages: int
    archived: int
    trims: int
    first_created: float = 0.0
    last_created: float = 0.0


class ThreadArchive:
    """All messages of one session, accessible by id, by span and by search."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._positions_by_id: dict[str, int] = {}
        self._indexed = 0

    def get(self, ids: Iterable[str]) -> tuple[Message, ...]:
        """Return the messages with these ids, in the order of the ids; unknown ids are ignored."""
        positions = self._update_index()
        return tuple(self._session.messages[positions[id]] for id in ids if id in positions)

    def trim(self, handle: str) -> Trim | None:
        """Return the trim with a handle such as "t3", or None."""
        folded = handle.strip().casefold()
        return next((trim for trim in self._session.trims if trim.handle.casefold() == folded), None)

    def list_messages_of_trim(self, handle: str) -> tuple[Message, ...]:
        """Return the messages that a trim removed from the window, oldest first; for the session's id, all messages."""
        if handle.strip() == self._session.id:
            return tuple(self._session.messages)
        found = self.trim(handle)
        return self.get(found.dropped) if found else ()

    def list_messages_between(self, first_id: str, last_id: str) -> tuple[Message, ...]:
        """Return the messages from one id to the other, inclusive; the ids may be given in any order.

        An id may be abbreviated to a unique beginning of at least four characters, or a unique end of at least eight.
        The result is empty if one of them is unknown.
        """
        ends = [self._find_position(id.strip()) for id in (first_id, last_id)]
        if None in ends:
            return ()
        first, last = sorted(position for position in ends if position is not None)
        return tuple(self._session.messages[first : last + 1])

    def search(
        self, query: str, limit: int | None = 10, within: Sequence[Message] | None = None
    ) -> tuple[ArchiveHit, ...]:
        """Return the messages that fit the query best: those with the exact phrase, then by rare words, then newest.

        Messages without a word of the query, and texts that clio inserted, are not found. A word that no message
        contains is replaced by a synonym or a similarly spelt word.

        Args:
            limit: maximum number of messages; None for all.
            within: search only these messages.
        """
        found = _rank_messages(query, self._session.messages if within is None else within)
        return found if limit is None else found[: max(limit, 0)]

    def compute_stats(self) -> ArchiveStats:
        """Return the size of the archive."""
        messages = self._session.messages
        times = [message.created for message in messages if message.created]
        return ArchiveStats(
            messages=len(messages),
            archived=len(messages) - len(set(self._session.window_ids) & self._update_index().keys()),
            trims=len(self._session.trims),
            first_created=min(times, default=0.0),
            last_created=max(times, default=0.0),
        )

    def _find_position(self, start: str) -> int | None:
        """Return the position of the message with this id or abbreviated id; None if unknown or ambiguous."""
        positions = self._update_index()
        if start in positions:
            return positions[start]
        found = [position for id, position in positions.items() if id.startswith(start)] if len(start) >= 4 else []
        if not found and len(start) >= 8:
            found = [position for id, position in positions.items() if id.endswith(start)]
        return found[0] if len(found) == 1 else None

    def _update_index(self) -> dict[str, int]:
        """Return the position of each message by id, after adding messages that are new since the last call."""
        messages = self._session.messages
        for position in range(self._indexed, len(messages)):
            self._positions_by_id.setdefault(messages[position].id, position)
        self._indexed = len(messages)
        return self._positions_by_id


def _rank_messages(query: str, messages: Sequence[Message]) -> tuple[ArchiveHit, ...]:
    texts = [(message, extract_searchable_text(message)) for message in messages]
    terms_of_texts = [set(extract_terms(text)) if text else set[str]() for _, text in texts]
    phrase = tokenize(query)
    terms = replace_unknown_terms(set(extract_terms(query)), set[str]().union(*terms_of_texts))
    matched_terms = [terms & terms_of_text for terms_of_text in terms_of_texts]
    weights = compute_rarity(matched_terms, terms)
    found: list[tuple[float, ArchiveHit]] = []
    for position, ((message, text), matched) in enumerate(zip(texts, matched_terms, strict=True)):
        score = compute_coverage(weights, matched)
        if score > 0:
            score += _PHRASE_BONUS if len(phrase) > 1 and has_phrase(tokenize(text), phrase) else 0.0
            found.append((score + _POSITION_BONUS * position, ArchiveHit(message=message, score=round(score, 6))))
    return tuple(hit for _, hit in sorted(found, key=lambda pair: -pair[0]))


def replace_unknown_terms(terms: set[str], known: set[str]) -> set[str]:
    """Return the stems of a query, with each stem that is not in `known` replaced by stems that are.

    Synonyms are preferred to similarly spelt stems. A stem that has neither is returned unchanged.
    """
    replaced: set[str] = set()
    for term in terms:
        same = {term} & known or (expand_query_word(term) | list_members_of_kind(term)) & known
        candidates = known if term.isalpha() and not same else set[str]()
        similar = {word for word in candidates if word.isalpha() and is_misspelling(word, term)}
        replaced |= same or similar or {term}
    return replaced


def extract_first_user_text(messages: Sequence[Message]) -> str:
    """Return the first 80 characters of the first of these messages that the user typed; "" if there is none."""
    for message in messages:
        if isinstance(message, UserMessage) and message.origin == "user" and message.content.strip():
            return " ".join(message.content[:400].split())[:80]
    return ""
