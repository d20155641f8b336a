"""What the transcript index stores and what it answers; times are seconds since the epoch."""

from typing import Literal

from msgspec import Struct

from clio.messages import Commit

Role = Literal["user", "assistant", "tool"]


class TurnDoc(Struct, frozen=True, kw_only=True):
    """One message as recall knows it.

    text: what was said; for an assistant also one summary line per tool call. Never a system prompt, never what clio
        put there itself, never an earlier recall.
    output: the whole output of a tool, found only by a query with `in:output`.
    commits: those its tool calls made.
    """

    message_id: str
    role: Role
    created: float
    text: str
    output: str = ""
    commits: tuple[Commit, ...] = ()


class SessionDoc(Struct, frozen=True, kw_only=True):
    """A session as recall knows it. stamp: changes whenever its files do; equal stamps mean nothing is to be read."""

    id: str
    title: str
    updated: float
    stamp: str
    turns: tuple[TurnDoc, ...]


class Signals(Struct, frozen=True, kw_only=True):
    """Why a passage was found, in the points people are shown.

    exact: 3 where the words of the query stand in it next to each other and in order.
    keywords: one for each query word it has, a rare word more and a common one less.
    density: up to 1.5 for the share of its words that were asked for.
    title: up to 0.5 for the share of the query in the session's title.
    """

    exact: float = 0.0
    keywords: float = 0.0
    density: float = 0.0
    title: float = 0.0


class Said(Struct, frozen=True, kw_only=True):
    """A message near a passage: who said it when, and how it begins."""

    message_id: str
    role: str
    created: float
    text: str


class Recalled(Struct, frozen=True, kw_only=True):
    """A passage of an earlier session: the snippet around the hit, and where it stands.

    asked: the user's message that began its turn; None where the passage is that one. concluded: the last message of
        its turn; None where the passage is that one. between: the answers of its turn that are nearest to it.
    is_older: a newer passage of the same answer is about the same things.
    """

    session_id: str
    session_name: str
    message_id: str
    role: str
    created: float
    snippet: str
    score: float
    signals: Signals = Signals()
    asked: Said | None = None
    between: tuple[Said, ...] = ()
    concluded: Said | None = None
    is_older: bool = False


class SessionHit(Struct, frozen=True, kw_only=True):
    """A session that answers a query: its best passages, the best first; of those as good, the newest first.

    handle: the end of its id, long enough to name it alone. commits: those made in it, the oldest first, around the
        passages where there are many; more_commits: how many others there are.
    """

    session_id: str
    session_name: str
    updated: float
    score: float
    passages: tuple[Recalled, ...]
    current: bool = False
    handle: str = ""
    commits: tuple[Commit, ...] = ()
    more_commits: int = 0


class TurnHit(Struct, frozen=True, kw_only=True):
    """One turn that answers a query, as the index ranks it. text: its best passage, up to about 700 characters.

    share: of the best turn's score, 0.0 to 1.0. covered: the share of the query, by weight, that the turn and those
    next to it have; words: how many words of it. is_dated: it is of a date that the query names. title: the share of
    the query that the session's title has. only_asks: the user asks in it, and states nothing.
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
    """The turns that answer a query, the best first. unreadable, unsearched: see `Recall`."""

    turns: tuple[TurnHit, ...] = ()
    unreadable: tuple[str, ...] = ()
    unsearched: int = 0


class Having(Struct, frozen=True, kw_only=True):
    """How common words are: how many passages there are, and in how many of them each word of a query stands."""

    passages: int = 0
    words: dict[str, int] = {}


class Recall(Struct, frozen=True, kw_only=True):
    """What a search of earlier sessions gave, the best session first.

    unreadable: ids of sessions that could not be read. unsearched: how many sessions were not yet looked at when the
        time was up; asking again a little later looks at them.
    """

    sessions: tuple[SessionHit, ...] = ()
    unreadable: tuple[str, ...] = ()
    unsearched: int = 0

    @property
    def passages(self) -> tuple[Recalled, ...]:
        """The passages of all sessions, in the order of the sessions."""
        return tuple(passage for session in self.sessions for passage in session.passages)
