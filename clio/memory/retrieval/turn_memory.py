"""What memory adds to one turn: the user's limits and preferences, and the few memories that answer the question.

What the model was told stays in its window with the turn it came with, so nothing is said twice until a trim lets it
go.
"""

import math
import time
from collections.abc import Callable, Container, Iterable, Sequence

from clio.memory.preferences.preferences import (
    Preferences,
    hard_limits_fragment,
    lifted_limits_fragment,
    select_for_turn,
    stated_limits_fragment,
    tastes_fragment,
)
from clio.memory.preferences.task_types import TaskTypes, detect_task_type
from clio.memory.retrieval.candidate import Candidate
from clio.memory.retrieval.candidates import of_document, of_memories, of_record, of_turn
from clio.memory.retrieval.recalled_memories import Brain, RequestText
from clio.memory.retrieval.scoring import Scored, rank, without_query
from clio.memory.retrieval.why import WhyItem
from clio.memory.store.memories import Memories
from clio.memory.store.record import MemoryRecord
from clio.memory.vectors.meaning import Meaning
from clio.messages import Fragment
from clio.sessions.session import Session
from clio.text.formatting import format_stored_time
from clio.text.scoring import MAX_DISTANCE, compute_recall_budget
from clio.tokens import DEFAULT_RATIO, text_units

MAX_RECALLED = 8
MAX_ACCOUNTED = 24
"""What fits a question beyond those recalled is named in the account as left out, up to so many in all."""
MAX_HELD = 20
"""Limits that hold for the session without being remembered; the oldest leave first."""


class TurnMemory:
    """The part of a session's memory that changes from turn to turn.

    is_foreign: what is remembered of the project came with it and is not trusted: none of it comes back by itself.
    project_preferences: the project's own rules; None where they are not trusted.
    near_distance: the vector distance below which a turn or document may come back by meaning alone.
    window_tokens: of the model, which bounds the brain. all_sessions: whether turns of other sessions may come back.
    """

    def __init__(
        self,
        memories: Memories,
        preferences: Preferences,
        scenarios: TaskTypes,
        meaning: Meaning,
        *,
        window_tokens: int,
        all_sessions: bool,
        near_distance: float = MAX_DISTANCE,
        clock: Callable[[], float] = time.time,
        is_foreign: bool = False,
        project_preferences: Preferences | None = None,
    ) -> None:
        self._project_preferences = project_preferences
        self._is_foreign = is_foreign
        self._memories = memories
        self._preferences = preferences
        self._scenarios = scenarios
        self._meaning = meaning
        self._all_sessions = all_sessions
        self._near_distance = near_distance
        self._clock = clock
        self._brain = Brain(compute_recall_budget(window_tokens), _tokens)
        self._told_tastes: set[str] = set()
        self._limits: dict[str, MemoryRecord] = {}
        self._new: dict[str, MemoryRecord] = {}
        self._lifted: set[str] = set()
        self._held: dict[str, bool] = {}  # limit → whether the model was told
        self._unheld: list[str] = []
        self._indexed_trims = -1
        self._words = ""
        self._scenario: str | None = None
        self._is_told = True
        self.items: list[WhyItem] = []

    @property
    def held(self) -> tuple[str, ...]:
        """The limits that hold for this session without being remembered, oldest first."""
        return tuple(self._held)

    def hold(self, limits: Iterable[str]) -> None:
        """Let limits hold for this session; the model is told with the next turn, and again after a trim."""
        for limit in limits:
            self._held.pop(limit, None)
            self._held[limit] = False
        for limit in list(self._held)[:-MAX_HELD]:
            del self._held[limit]

    def unhold(self, limits: Iterable[str], *, tell: bool) -> None:
        """Let limits hold no longer. tell: whether the model is told so, where it knows of them."""
        for limit in limits:
            if self._held.pop(limit, False) and tell:
                self._unheld.append(limit)

    def _hard_limits(self) -> list[MemoryRecord]:
        own = self._project_preferences.hard_limits() if self._project_preferences else []
        return [*self._preferences.hard_limits(), *own]

    def _news_of_held(self) -> Fragment | None:
        new = [limit for limit, told in self._held.items() if not told]
        lifted, self._unheld = self._unheld, []
        self._held.update(dict.fromkeys(new, True))
        return stated_limits_fragment(new, lifted, "this conversation")

    @property
    def scenario(self) -> str | None:
        """The kind of work of this turn, inferred from its text when it is first needed: it takes some milliseconds."""
        if not self._is_told:
            self._scenario, self._is_told = detect_task_type(self._words, self._scenarios), True
        return self._scenario

    @property
    def scenario_used(self) -> str | None:
        """The same, where what the turn was given depended on it; else None."""
        return self._scenario

    def prefix_fragments(self) -> list[Fragment]:
        """The hard limits, for the prompt of the whole session."""
        self._limits = {record.id: record for record in self._hard_limits()}
        fragment = hard_limits_fragment(tuple(self._limits.values()), str(self._memories.user.path))
        return [fragment] if fragment else []

    def turn_fragments(
        self, text: str, session: Session | None, scenario: str | None, shown: Sequence[str] = ()
    ) -> list[Fragment]:
        """What is put before the user's text in this turn.

        scenario: the task type that was set; None: it is inferred from the text. shown: what the request says beside
            the conversation, such as the summary: it is not said again.
        """
        self.items = []
        self._words, self._scenario, self._is_told = text, scenario, scenario is not None
        found = [*self._news_of_limits(), self._news_of_held(), self._tastes(), self._recalled(text, session, shown)]
        return [fragment for fragment in found if fragment]

    def window_trimmed(self) -> None:
        """What was told may have left the window."""
        self._brain.window_trimmed()
        self._new = {}
        self._held = dict.fromkeys(self._held, False)
        self._lifted = set()
        self._told_tastes.clear()

    def _news_of_limits(self) -> list[Fragment]:
        """Hard limits set or lifted since the prompt was made, each told once until a trim."""
        now = {record.id: record for record in self._hard_limits()}
        self.items += [self._why_record(record, "a hard limit: in every prompt") for record in now.values()]
        told = self._limits | self._new
        new = [record for id, record in now.items() if id not in told or told[id].content != record.content]
        gone = [record for id, record in told.items() if id not in now and id not in self._lifted]
        self._new |= {record.id: record for record in new}
        self._lifted = (self._lifted | {record.id for record in gone}) - now.keys()
        path = str(self._memories.user.path)
        found = [lifted_limits_fragment(gone, path), hard_limits_fragment(new, path)]
        return [fragment for fragment in found if fragment]

    def _tastes(self) -> Fragment | None:
        """The heaviest preferences for this kind of work, where they are others than told before."""
        known = [*self._preferences.all(), *(self._project_preferences.all() if self._project_preferences else [])]
        tagged = any(one.record.scenarios for one in known)
        fitting = select_for_turn(known, self.scenario if tagged else None)
        if not fitting:
            return None
        fragment = tastes_fragment(fitting, self.scenario, str(self._memories.user.path))
        if fragment is None:
            return None
        reason = f"a preference for {self.scenario or 'any work'}"
        self.items += [self._why_record(one.record, reason, one.weight) for one in fitting]
        if fragment.text in self._told_tastes:
            return None
        self._told_tastes.add(fragment.text)
        return fragment

    def _recalled(self, text: str, session: Session | None, shown: Sequence[str]) -> Fragment | None:
        if self._is_foreign:
            return None
        now = self._clock()
        documents = self._meaning.documents.search(text) if self._meaning.has_documents else ()
        candidates = [
            *of_memories(self._memories, text, now),
            *self._of_turns(text, session),
            *(of_document(hit) for hit in documents),
        ]
        found, _ = rank(text, candidates, now=now, limit=MAX_ACCOUNTED, near_distance=self._near_distance)
        window = RequestText(session, [*shown, text])
        held = [one for one in found if not self._brain.is_told(one.candidate.id) and window.has(one.candidate)]
        new = [one for one in found if one not in held]
        best, rest = new[:MAX_RECALLED], new[MAX_RECALLED:]
        best += self._changed({one.candidate.id for one in found}, now)
        kept, cut = self._brain.push(best, _date)
        self.items += [self._why_recalled(one, now, included=True) for one in kept]
        self.items += [self._why_recalled(one, now, included=False) for one in (*cut, *rest)]
        self.items += [self._why_recalled(one, now, included=False, but="; the request has it already") for one in held]
        used = [one.candidate.id for one in kept if one.candidate.source == "memory"]
        if used:
            self._memories.apply(used)
        return self._brain.fragment()

    def _changed(self, found: Container[str], now: float) -> list[Scored]:
        """What memories the model was told have become, so that it does not go on from the old words."""
        held = self._brain.texts("memory")
        live = {record.id: record for record in self._memories.live(tuple(held))}
        stale = [id for id, text in held.items() if id not in live or live[id].content != text]
        told = [id for id in stale if self._brain.was_told(id)]
        self._brain.drop(stale)
        new = [live[id] if id in live else self._memories.successor(id) for id in told]
        return [
            without_query(of_record(record, self._memories, now), "takes the place of what was told before", now)
            for record in new
            if record is not None and record.id not in found
        ]

    def _of_turns(self, text: str, session: Session | None) -> Iterable[Candidate]:
        """Turns that left the window and mean something like the question."""
        if session is not None and len(session.trims) != self._indexed_trims:
            self._indexed_trims = len(session.trims)
            self._meaning.ejected.index(session)
        if not self._meaning.ejected.exist:
            return
        own = session.id if session is not None else ""
        sessions = None if self._all_sessions else [own]
        for turn in self._meaning.ejected.search(text, sessions=sessions, session=session, limit=self._near_distance):
            yield of_turn(turn, own)

    def _why_recalled(self, one: Scored, now: float, *, included: bool, but: str = "") -> WhyItem:
        candidate = one.candidate
        before = "; told before" if included and self._brain.is_told(candidate.id) else ""
        return WhyItem(
            source=candidate.source,
            id=candidate.id,
            text=candidate.text,
            reason=one.reason + before + but,
            signals=one.signals | {"rank": one.score},
            age_s=max(now - candidate.when, 0.0) if candidate.when else None,
            tokens=self._brain.cost(candidate.id) or _tokens(candidate.text),
            included=included,
        )

    def _why_record(self, record: MemoryRecord, reason: str, weight: float | None = None) -> WhyItem:
        return WhyItem(
            source="preference",
            id=record.id,
            text=record.content,
            reason=reason,
            signals={"score": record.score or 0.0} | ({} if weight is None else {"weight": round(weight, 3)}),
            age_s=max(self._clock() - record.seen, 0.0),
            tokens=_tokens(record.content),
        )


def _tokens(text: str) -> int:
    return math.ceil(text_units(text) / DEFAULT_RATIO)


def _date(timestamp: float) -> str:
    return format_stored_time("%Y-%m-%d", timestamp)
