"""The documents the transcript index stores and the results it returns. Times are seconds since the epoch."""

from typing import Literal

from msgspec import Struct

from clio.messages import Commit

Role = Literal["user", "assistant", "tool"]


class TurnDoc(Struct, frozen=True, kw_only=True):
    """One message of a session, as the index stores it.

    Attributes:
        text: the message text; for an assistant also one summary line per tool call. It contains no system prompt, no
            text that clio inserted and no earlier search result.
        output: the whole output of a tool; only a query with `in:output` searches it.
        commits: the commits made by its tool calls.
    """

    message_id: str
    role: Role
    created: float
    text: str
    output: str = ""
    commits: tuple[Commit, ...] = ()


class SessionDoc(Struct, frozen=True, kw_only=True):
    """A session as the index stores it.

    Attributes:
        updated: time of the last change.
        stamp: changes whenever the session's files do, so that a session with an equal stamp need not be read again.
    """

    id: str
    title: str
    updated: float
    stamp: str
    turns: tuple[TurnDoc, ...]


class Signals(Struct, frozen=True, kw_only=True):
    """Points that explain to the user why a passage was found. The ranking does not use them.

    Attributes:
        exact: 3 if it contains the words of the query next to each other and in order.
        keywords: about one for each query word it contains, more for a rare word and less for a common one.
        density: up to 1.5 for the share of its words that are in the query.
        title: up to 0.5 for the share of the query in the session's title.
    """

    exact: float = 0.0
    keywords: float = 0.0
    density: float = 0.0
    title: float = 0.0


class MessageExcerpt(Struct, frozen=True, kw_only=True):
    """The beginning of a message that is near a passage, shown as context of the passage."""

    message_id: str
    role: str
    created: float
    text: str


class RecalledPassage(Struct, frozen=True, kw_only=True):
    """A passage of an earlier session: the text around the match, its session and its message.

    Attributes:
        snippet: the text around the match.
        asked: the user message that began its turn; None if the passage is that message.
        between: the assistant messages of its turn that are nearest to it.
        concluded: the last message of its turn; None if the passage is that message.
        is_older: whether a newer passage among the results is about the same subject.
    """

    session_id: str
    session_name: str
    message_id: str
    role: str
    created: float
    snippet: str
    score: float
    signals: Signals = Signals()
    asked: MessageExcerpt | None = None
    between: tuple[MessageExcerpt, ...] = ()
    concluded: MessageExcerpt | None = None
    is_older: bool = False


class SessionHit(Struct, frozen=True, kw_only=True):
    """A session that matches a query, with its best passages: highest score first, of equal scores the newest first.

    Attributes:
        current: whether it is the running session.
        handle: the end of its id, long enough to be unique.
        commits: commits made in it, oldest first; if there are many, those nearest in time to the passages.
        more_commits: the number of its commits that are not in `commits`.
    """

    session_id: str
    session_name: str
    updated: float
    score: float
    passages: tuple[RecalledPassage, ...]
    current: bool = False
    handle: str = ""
    commits: tuple[Commit, ...] = ()
    more_commits: int = 0


class TurnHit(Struct, frozen=True, kw_only=True):
    """One message that matches a query, as the index ranks it.

    Attributes:
        text: its best passage, up to about 700 characters.
        share: its score divided by the best score of the search, 0.0 to 1.0.
        covered: the share of the query words, by rarity, that the message and its neighbours contain, 0.0 to 1.0.
        words: the number of query words that these messages contain.
        is_dated: whether it is from a date that the query names.
        title: the share of the query that the session's title contains, 0.0 to 1.0.
        only_asks: whether it is a user message that asks something and states nothing.
    """

    session_id: str
    session_name: str
    message_id: str
    role: str
    created: float
    text: str
    share: float
    covered: float = 0.0
    words: int = 0
    is_dated: bool = False
    title: float = 0.0
    only_asks: bool = False


class TurnHits(Struct, frozen=True, kw_only=True):
    """The messages that match a query, best first. For `unreadable` and `unsearched` see `Recall`."""

    turns: tuple[TurnHit, ...] = ()
    unreadable: tuple[str, ...] = ()
    unsearched: int = 0


class WordCounts(Struct, frozen=True, kw_only=True):
    """The number of passages in the index, and the number of them that contain each word of a query."""

    passages: int = 0
    words: dict[str, int] = {}


class Recall(Struct, frozen=True, kw_only=True):
    """The result of a search of earlier sessions, best session first.

    Attributes:
        unreadable: ids of sessions that could not be read.
        unsearched: the number of sessions that were not indexed before the deadline; a later search includes them.
    """

    sessions: tuple[SessionHit, ...] = ()
    unreadable: tuple[str, ...] = ()
    unsearched: int = 0

    @property
    def passages(self) -> tuple[RecalledPassage, ...]:
        """Return the passages of all sessions, in the order of the sessions."""
        return tuple(passage for session in self.sessions for passage in session.passages)
