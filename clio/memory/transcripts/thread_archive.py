"""The thread archive ("YaRN", yet another recurrence navigation): every message of a session, whatever was trimmed.

Unrelated to YaRN, the method of extending rotary position embeddings. Read-only: trimming never touches it.
"""

from collections.abc import Iterable, Sequence

from msgspec import Struct

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

PHRASE_BONUS = 1.0
"""More than any coverage, so that an exact phrase always comes first."""
_LATER = 1e-6  # what a later place adds to the score: enough for ties, too little for anything else


class Found(Struct, frozen=True, kw_only=True):
    """A message a search found. `score` is comparable within one search only."""

    message: Message
    score: float


class ArchiveStats(Struct, frozen=True, kw_only=True):
    """How many messages there are, how many of them left the window, in how many trims."""

    messages: int
    archived: int
    trims: int
    first_created: float = 0.0
    last_created: float = 0.0


class ThreadArchive:
    """All messages of one session, by id, by span and by their words."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._places: dict[str, int] = {}
        self._indexed = 0

    def get(self, ids: Iterable[str]) -> tuple[Message, ...]:
        """The messages with these ids, in the order asked; unknown ids are passed over."""
        places = self._index()
        return tuple(self._session.messages[places[id]] for id in ids if id in places)

    def trim(self, handle: str) -> Trim | None:
        """The trim of that handle, such as "t3"; None where there is none."""
        wanted = handle.strip().casefold()
        return next((trim for trim in self._session.trims if trim.handle.casefold() == wanted), None)

    def thread(self, handle: str) -> tuple[Message, ...]:
        """The messages a trim took out of the window, oldest first; the session's own id names all of them."""
        if handle.strip() == self._session.id:
            return tuple(self._session.messages)
        found = self.trim(handle)
        return self.get(found.dropped) if found else ()

    def between(self, first_id: str, last_id: str) -> tuple[Message, ...]:
        """The messages from one to the other, both included, in whichever order they are given.

        Ids may be shortened to a beginning, or an end of eight characters, that only one message has.
        Empty where one of them is unknown.
        """
        ends = [self._place(id.strip()) for id in (first_id, last_id)]
        if None in ends:
            return ()
        first, last = sorted(place for place in ends if place is not None)
        return tuple(self._session.messages[first : last + 1])

    def search(self, query: str, limit: int | None = 10, within: Sequence[Message] | None = None) -> tuple[Found, ...]:
        """The messages that fit the query best: exact phrase, then rare words, then the newest.

        within: only of these. limit: how many at most; None for all. A word that none of them has counts as another
        word for the same, or as the word it was misspelt for. What shares no word with the query is no answer, nor is
        what clio itself put into the conversation.
        """
        found = _rank(query, self._session.messages if within is None else within)
        return found if limit is None else found[: max(limit, 0)]

    def stats(self) -> ArchiveStats:
        """Its size."""
        messages = self._session.messages
        times = [message.created for message in messages if message.created]
        return ArchiveStats(
            messages=len(messages),
            archived=len(messages) - len(set(self._session.window_ids) & self._index().keys()),
            trims=len(self._session.trims),
            first_created=min(times, default=0.0),
            last_created=max(times, default=0.0),
        )

    def _place(self, start: str) -> int | None:
        places = self._index()
        if start in places:
            return places[start]
        found = [place for id, place in places.items() if id.startswith(start)] if len(start) >= 4 else []
        if not found and len(start) >= 8:
            found = [place for id, place in places.items() if id.endswith(start)]
        return found[0] if len(found) == 1 else None

    def _index(self) -> dict[str, int]:
        messages = self._session.messages
        for place in range(self._indexed, len(messages)):
            self._places.setdefault(messages[place].id, place)
        self._indexed = len(messages)
        return self._places


def _rank(query: str, messages: Sequence[Message]) -> tuple[Found, ...]:
    from clio.memory.transcripts.session_text import extract_searchable_text

    texts = [(message, extract_searchable_text(message)) for message in messages]
    wanted, phrase = set(extract_terms(query)), tokenize(query)
    said = [set(extract_terms(text)) if text else set[str]() for _, text in texts]
    wanted = meant_terms(wanted, set[str]().union(*said))
    bags = [wanted & bag for bag in said]
    weights = compute_rarity(bags, wanted)
    found: list[tuple[float, Found]] = []
    for place, ((message, text), bag) in enumerate(zip(texts, bags, strict=True)):
        score = compute_coverage(weights, bag)
        if score > 0:
            score += PHRASE_BONUS if len(phrase) > 1 and has_phrase(tokenize(text), phrase) else 0.0
            found.append((score + _LATER * place, Found(message=message, score=round(score, 6))))
    return tuple(hit for _, hit in sorted(found, key=lambda pair: -pair[0]))


def meant_terms(wanted: set[str], known: set[str]) -> set[str]:
    """The stems asked for; in the place of one that is not known other words for it, else what it was misspelt for."""
    meant: set[str] = set()
    for term in wanted:
        same = {term} & known or (expand_query_word(term) | list_members_of_kind(term)) & known
        slips = known if term.isalpha() and not same else set[str]()
        like = {word for word in slips if word.isalpha() and is_misspelling(word, term)}
        meant |= same or like or {term}
    return meant


def first_user_words(messages: Sequence[Message]) -> str:
    """How the person's first words in a span begin; empty where the span has none."""
    for message in messages:
        if isinstance(message, UserMessage) and message.origin == "user" and message.content.strip():
            return " ".join(message.content[:400].split())[:80]
    return ""
