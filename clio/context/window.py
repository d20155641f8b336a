"""The context window of a session: what the next request contains, and how it is trimmed without losing messages."""

import math
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING

from msgspec import structs
from msgspec.structs import replace

from clio.context.compaction import (
    REACTIVE,
    RECENT_STEPS,
    Goal,
    Plan,
    WindowRoom,
    make_smaller,
    must_weigh,
    nothing_smaller,
)
from clio.context.message_views import Unit, apply_cuts, is_substantive, split_units, tail_start, task_index
from clio.context.request_builder import Built, ContextBuilder, Stage, Trimmed
from clio.context.summary import SpanInfo, ThreadSummary, merge, summarise
from clio.errors import ContextOverflow, UserError
from clio.memory.short_term import ShortTerm
from clio.messages import Message, UserMessage
from clio.providers.base import ModelLimits
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.tokens import BilledEstimate, TokenEstimator, message_units

if TYPE_CHECKING:
    from clio.context.window_report import NextTrim, WindowUse


class SentMessages:
    """Shortens and weighs each message of a session once, as long as it is unchanged and in the window."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._views: dict[str, tuple[Message, Message]] = {}
        self._weights: dict[str, tuple[Message, float]] = {}
        self.start_over()

    @property
    def shrunk(self) -> Mapping[str, int]:
        """How far outputs are cut, by message id, in the format of `Trim.shrunk`."""
        return self._shrunk

    def start_over(self) -> None:
        """Clear the caches and read from the session what is cut, after messages came back into the window."""
        self._shrunk = {id: chars for trim in self._session.trims for id, chars in trim.shrunk.items()}
        self._cut = {id.partition("#")[0] for id in self._shrunk} | self._shrunk.keys()
        self._views.clear()
        self._weights.clear()

    def view(self, message: Message) -> Message:
        """Return the message as it is sent; the same object each time."""
        if message.id not in self._cut:
            return message
        known = self._views.get(message.id)
        if known is None or known[0] is not message:
            known = self._views[message.id] = (message, apply_cuts(message, self._shrunk))
        return known[1]

    def whole(self, view: Message) -> Message:
        """Return the stored message of a view."""
        known = self._views.get(view.id)
        return known[0] if known is not None and known[1] is view else view

    def weigh(self, message: Message) -> float:
        """Return the weight of a message exactly as given here, in units (see clio.tokens)."""
        known = self._weights.get(message.id)
        if known is None or known[0] is not message:
            known = self._weights[message.id] = (message, message_units(message))
        return known[1]

    def trimmed(self, shrunk: Mapping[str, int]) -> None:
        """Add the cuts of a trim that the session already contains; drop caches of messages that left the window."""
        self._shrunk |= shrunk
        cut = {id.partition("#")[0] for id in shrunk} | shrunk.keys()
        self._cut |= cut
        window = set(self._session.stm)
        self._weights = {id: entry for id, entry in self._weights.items() if id in window}
        self._views = {id: view for id, view in self._views.items() if id in window and id not in cut}


_HEAD_NOTE_SHARE = 0.5  # of the tokens for both
_SMALLER = 0.7  # how much less it is given where it is too long
_GROWTH, _GROWN_UNITS, _FEW_MESSAGES = 1.1, 300.0, 300
_LEAST_TOKENS = 60
"""A shorter summary would consist of little more than its frame."""


class ThreadHead:
    """The summary of a session up to its window, extended with each trim; nothing of it is stored.

    It covers every message before the newest one that left the window, including the task's message, which is then
    in the
    window as well. So the summary after another trim is always a merge, never a new start.
    """

    def __init__(self, session: Session, short_term: ShortTerm, estimator: TokenEstimator) -> None:
        self._session = session
        self._short_term = short_term
        self._estimator = estimator
        self._note = ""
        self.start_over()

    @property
    def note(self) -> str:
        """The note below the summary."""
        return self._note

    @note.setter
    def note(self, text: str) -> None:
        if text != self._note:
            self._note, self._message = text, None

    def start_over(self) -> None:
        """Clear everything that was derived, after messages came back into the window."""
        self._covered = 0
        self._summary = ThreadSummary()
        self._spans: list[SpanInfo] = []
        self._listed: set[str] = set()
        self._message: UserMessage | None = None
        self._is_stale = True

    def extend(self) -> None:
        """Add the newest trim. The cost depends only on the messages it dropped, not on the number of earlier trims."""
        if not self._is_stale:
            self._take(self._session.trims[-1], len(self._session.messages))
        self._message = None

    def message(self, cap_tokens: int, most_tokens: int) -> UserMessage | None:
        """The summary as a message of at most `cap_tokens`; None where nothing left the window, or nothing fits.

        most_tokens: what a summary may take where there is room for it. It is written once after each trim; a later cap
        makes it shorter only if it has become too long for that.
        """
        self._catch_up()
        if (self._covered == 0 and not self._note) or cap_tokens < _LEAST_TOKENS:
            return None
        known = self._message
        if known is None or self._tokens(known) > cap_tokens:
            known = self._message = self._write(cap_tokens, most_tokens)
        return known if known.content else None

    def weight(self, cap_tokens: int, most_tokens: int) -> float:
        """Return the weight of that message; the cap matters only if it is not written yet."""
        self._catch_up()
        known = self._message
        if known is None or self._tokens(known) > most_tokens:
            known = self.message(cap_tokens, most_tokens)
        return message_units(known) if known and known.content else 0.0

    def foresee_weight(self, most_tokens: int, first_id: str) -> float:
        """Weight of the summary if everything before this message left the window now, but for the task; about.

        Rendered only where it is the first and sums up little: what is there already tells how long the next one gets.
        """
        known, most = self._message, most_tokens * self._estimator.ratio
        if known is not None and known.content:
            return min(message_units(known) * _GROWTH + _GROWN_UNITS, most)
        self._catch_up()
        end = max(self._short_term.place_of(first_id) or 0, self._covered)
        if end - self._covered > _FEW_MESSAGES:
            return most
        whole = merge(self._summary, self._summarise_until(end))
        kept = [place for place in self._short_term.places() if place < end][:1]
        return message_units(self._as_message(self._render(whole, most_tokens, kept)))

    def _write(self, cap_tokens: int, most_tokens: int) -> UserMessage:
        """Summary and note within the cap; where they are too long for both, the summary alone.

        The budget goes down in fixed steps until the text fits, so that one that fits a later, smaller cap is the one
        that was written before.
        """
        budget = max(most_tokens, _LEAST_TOKENS)
        while budget >= _LEAST_TOKENS:
            message = self._as_message(self._written(budget))
            if self._tokens(message) <= cap_tokens:
                return message
            budget = int(budget * _SMALLER)
        return self._as_message("")

    def _written(self, budget_tokens: int) -> str:
        note = f"\n\n{self._note}" if self._note else ""
        if note and self._tokens(self._as_message(note)) > budget_tokens * _HEAD_NOTE_SHARE and self._covered:
            note = ""
        left = budget_tokens - self._tokens(self._as_message(note))
        if not self._covered or left < _LEAST_TOKENS:
            return note.strip()
        kept = [place for place in self._short_term.places() if place < self._covered]
        later = self._summarise_until(len(self._session.messages))
        return (self._render(self._summary, left, kept, later) + note).strip()

    def _render(
        self, summary: ThreadSummary, budget_tokens: int, kept: Sequence[int], later: ThreadSummary | None = None
    ) -> str:
        """kept: places of messages that it sums up and that are in the window as well. later: what the window holds."""
        from clio.context.summary_text import render_summary

        return render_summary(
            summary,
            budget_tokens=budget_tokens,
            estimator=self._estimator,
            todos=self._session.todos,
            spans=self._spans,
            shown={self._session.messages[place].id for place in kept},
            archived=max(summary.messages - len(kept), 0),
            later=later,
        )

    def _as_message(self, text: str) -> UserMessage:
        return UserMessage(content=text, origin="recovery", id=f"{self._session.id}-summary")

    def _tokens(self, message: UserMessage) -> int:
        return self._estimator.convert_units(message_units(message))

    def whole(self, coming: Trim) -> ThreadSummary:
        """Return the summary of the whole session including the window.

        Messages of the coming trim are read only once.
        """
        self._catch_up()
        self._cover(self._end_of(coming))
        return merge(self._summary, self._summarise_until(len(self._session.messages)))

    def task(self) -> str:
        """Return the newest text of the user that states the task."""
        for message in reversed(self._session.messages[self._session.own_from :]):
            if isinstance(message, UserMessage) and message.origin == "user" and is_substantive(message.content):
                return message.content
        return ""

    def _catch_up(self) -> None:
        """Summarize what left the window in earlier runs, trim by trim."""
        if not self._is_stale:
            return
        self._is_stale = False
        window = set(self._short_term.places())
        covered = max((place for place in range(len(self._session.messages)) if place not in window), default=-1) + 1
        ends = accumulate((self._end_of(trim) for trim in self._session.trims), max)
        for trim, end in zip(self._session.trims, ends, strict=True):
            self._take(trim, min(end, covered))
        self._cover(covered)

    def _take(self, trim: Trim, limit: int) -> None:
        self._cover(min(self._end_of(trim), limit))
        if trim.dropped:
            from clio.memory.threads import first_user_words

            places = (self._short_term.place_of(id) for id in trim.dropped)
            own = [self._session.messages[one] for one in places if one is not None and one >= self._session.own_from]
            words = first_user_words(own)
            again = sum(id in self._listed for id in trim.dropped)
            self._listed.update(trim.dropped)
            span = SpanInfo(handle=trim.handle, messages=len(trim.dropped), again=again, first_words=words)
            self._spans.append(span)

    def _end_of(self, trim: Trim) -> int:
        places = map(self._short_term.place_of, trim.dropped)
        return max((place + 1 for place in places if place is not None), default=0)

    def _cover(self, end: int) -> None:
        if end > self._covered:
            self._summary = merge(self._summary, self._summarise_until(end))
            self._covered = end

    def _summarise_until(self, end: int) -> ThreadSummary:
        """From what is covered so far. What came with the project holds nothing that the user asked or decided."""
        messages = self._session.messages
        own_from = max(self._covered, min(self._session.own_from, end))
        theirs = summarise(messages[self._covered : own_from])
        return merge(replace(theirs, asks=(), decisions=(), answers=(), notes=()), summarise(messages[own_from:end]))


_NOTE_SHARE = 0.4  # of the summary's tokens
_LARGE = 0.2  # of the window; local servers often run with a quarter of what a model could take
_LEAST_TAIL = 0.125  # of the room, where one message of the user's takes most of it
_VERBATIM = 0.4  # of the room: the newest units of so much together stay as they are
_FORESEEN_TAIL = 0.85  # of what is to stay: what is before that leaves
_LEAST_GAP = 0.125  # of the room, left free beside them: the next step must not bring the next trim
_LEAST_SUMMARY_TOKENS = 120  # what the results of the last steps leave the summary in any case


async def _no_note(budget_tokens: int) -> str:
    return ""


class ContextWindow:
    """Builds the requests of one session for one model.

    limits: of the model; what a server says later, when it refuses, counts from then on.
    before_trim: called before messages leave the window, with the summary of the whole session and the task's words.
    recovery: gives the note that stands below the summary after an overflow or a resumption, in at most so many tokens.
    """

    def __init__(
        self,
        session: Session,
        builder: ContextBuilder,
        limits: ModelLimits,
        *,
        before_trim: Callable[[ThreadSummary, str], None] | None = None,
        recovery: Callable[[int], Awaitable[str]] = _no_note,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._session = session
        self._builder = builder
        self._estimator = builder.estimator
        self._room = WindowRoom(limits, builder)
        self._before_trim = before_trim
        self._recovery = recovery
        self._now = now
        self._short_term = ShortTerm(session)
        self._head = ThreadHead(session, self._short_term, builder.estimator)
        self._sent = SentMessages(session)
        self._may_fill = False  # the user brought messages back: the next trim waits until the room is full
        self._first_refused = 0.0

    @property
    def ratio(self) -> float:
        """Units per token, as learned so far."""
        return self._estimator.ratio

    @property
    def limits(self) -> ModelLimits:
        """Limits of the model, as far as they are known."""
        return self._room.limits

    @contextmanager
    def fitted_to(self, limits: ModelLimits | None) -> Generator[None]:
        """Build requests that another model takes as well, meanwhile; None changes nothing.

        What its server says about its window is forgotten afterwards: it says nothing about this window's model.
        """
        before = self._room.copy_state()
        if limits is not None:
            self._room.narrow(limits)
        try:
            yield
        finally:
            if limits is not None:
                self._room.restore_state(before)

    @property
    def last_billed(self) -> BilledEstimate | None:
        """The newest request with a bill, and its estimate; None if there is none."""
        return self._estimator.last

    async def turn_context(self, now: float, text: str) -> str:
        """Return what is put before the user's text of this turn."""
        return await self._builder.turn_context(now, text)

    async def steering_context(self, text: str, of: int) -> str:
        """What is put before words said into a running turn, `text`, one of so many; "" where they name nothing."""
        return await self._builder.steering_context(text, of)

    async def recover(self) -> None:
        """Put how things stand now below the summary; for after a refusal, and for a resumed session."""
        self._head.note = await self._recovery(int(self._room.summary_tokens * _NOTE_SHARE))

    @property
    def summary(self) -> str:
        """What the next request contains in place of the trimmed messages; empty if nothing was trimmed."""
        if not self.is_trimmed:
            return ""
        cap = self._summary_cap(_weight(self._units()), self._room.size)
        message = self._head.message(cap, self._room.summary_tokens)
        return message.content if message else ""

    @property
    def is_trimmed(self) -> bool:
        """Whether any message of this session has left its window."""
        return bool(self._session.trims)

    def build(self) -> Built:
        """The request for the conversation so far, trimmed where it must be.

        Raises ContextOverflow, with the numbers, where the user's own words do not fit beside prompt and tools.
        """
        units = self._units()
        self._room.make_for(units)
        trimmed = None
        total, room = self._total(units), self._room.size
        if total > self._trigger(units):
            stage: Stage = "validation" if total > room else "proactive"
            trimmed, units = self._trim(stage, units, self._room.target, room)
        return self._assemble(units, trimmed, room)

    def free_room(self) -> tuple[float, float]:
        """Return the free part of the conversation's room and the whole room, as weights (see clio.tokens)."""
        size = self._room.size
        return max(size - self._total(self._units()), 0.0), size

    def will_trim(self) -> bool:
        """Whether messages must leave the window before the next request."""
        units = self._units()
        return self._total(units) > self._trigger(units)

    def is_large(self, built: Built) -> bool:
        """Whether a request may be too large for a server that gives its models less than they could take."""
        return built.prompt_tokens >= self.limits.context_window * _LARGE and len(built.request.messages) > 1

    def reactive(self, attempt: int, refused: Built, error: ContextOverflow) -> Built:
        """The request to send after a server refused one: half of its conversation, a quarter, the least possible.

        attempt: 1 to 3. Raises ContextOverflow where nothing smaller can be sent.
        """
        self._room.refused(refused, error)
        self._room.make_for(self._units())
        if attempt == 1:
            self._first_refused = refused.conversation
        share = REACTIVE[attempt - 1]
        keep = min(self._first_refused * share, self._room.target)
        hard = keep if share else min(refused.conversation / 2, self._room.size)
        trimmed, _ = self._trim("reactive", self._units(), keep, hard, least=not share)
        built = self._assemble(self._units(), trimmed, hard)
        while built.units >= refused.units:
            if not self._builder.use_smaller():
                raise nothing_smaller(error, self._room.budget, self._estimator.convert_units(built.conversation))
            built = self._assemble(self._units(), trimmed, hard)
        return built

    def filled(self, tokens: int) -> None:
        """Record that an answer ended because request and answer filled the whole window with this many tokens."""
        self._room.filled(tokens)

    def accepted(self, built: Built, prompt_tokens: int = 0) -> bool:
        """Learn from a request a server took, and from its bill; says whether the ratio changed."""
        return self._room.accepted(built, prompt_tokens)

    def trim_now(self) -> Trimmed | None:
        """Trim to the target, or to half of what there is where that is less; None where nothing can go.

        The user asked for it, so the last steps go as well, except for the newest unit.
        """
        units = self._units()
        keep = min(self._room.target, self._total(units) / 2)
        return self._trim("manual", units, keep, self._room.size)[0]

    def undo(self) -> Trim:
        """Reverse the last trim. Raises UserError where there is none, or its messages do not fit any more."""
        if not self._session.trims:
            raise UserError("nothing was trimmed in this session, so there is nothing to undo")
        last = self._session.trims[-1]
        self._check_return(last, tuple(last.shrunk))
        self._session.undo_trim()
        self._start_over()
        return last

    def expand(self, handle: str) -> Trim:
        """Bring the messages of a trim back into the window until the next trim.

        Raises UserError for an unknown handle, or where they do not fit.
        """
        found = next((trim for trim in self._session.trims if trim.handle == handle.strip().lower()), None)
        if found is None:
            known = ", ".join(trim.handle for trim in self._session.trims[-10:]) or "none; nothing was trimmed"
            raise UserError(f"there is no trim {handle!r}; the last ones are: {known}")
        self._check_return(found, ())
        wanted = {*self._session.stm, *found.dropped}
        self._session.set_stm(tuple(message.id for message in self._session.messages if message.id in wanted))
        self._start_over()
        return found

    def usage(self) -> "WindowUse":
        """Return what fills the window now."""
        from clio.context.window_report import PartUse, WindowUse

        tokens, prefix, units = self._estimator.convert_units, self._builder.prefix, self._units()
        return WindowUse(
            window=self.limits.context_window,
            system=tokens(prefix.system_units - prefix.memory),
            memory=tokens(prefix.memory),
            tools=tokens(prefix.tools_units),
            summary=tokens(self._total(units) - _weight(units)),
            history=tokens(_weight(units)),
            reserve=self._room.budget.reserve,
            trim_above=tokens(self._trigger(units)),
            parts=tuple(
                PartUse(source=part.source, reason=part.reason, tokens=tokens(part.units), cut=part.cut)
                for part in prefix.parts
            ),
            problems=prefix.problems,
        )

    def next_trim(self) -> "NextTrim":
        """Return what the next trim will remove and when. Changes nothing."""
        from clio.context.window_report import NextTrim, foresee

        units, room = self._units(), self._room.size
        above, keep = self._trigger(units), self._room.target
        more, sent = max(above - self._total(units), 0.0), self._sent
        seen = foresee(units, more, lambda ahead: self._goal(ahead, keep, room), sent.shrunk, sent.whole)
        return NextTrim(
            at_share=above / room if room else 1.0,
            left=self._estimator.convert_units(more),
            messages=sum(len(unit.messages) for unit in seen.leaving),
            tokens=self._estimator.convert_units(seen.weight),
            shortened=len(seen.shrunk),
        )

    # Contents of a request

    def _units(self) -> list[Unit]:
        """The units of the window as they would be sent; the task's message is fetched where the window lost it."""
        sent = self._sent
        units = split_units([sent.view(message) for message in self._short_term.messages()], sent.weigh)
        if units and task_index(units) is None:
            said = [m for m in self._session.messages if isinstance(m, UserMessage) and m.origin == "user"]
            asked = split_units(said, sent.weigh)
            task = task_index(asked)
            units[:0] = [asked[task]] if task is not None else []
        return units

    def _total(self, units: Sequence[Unit]) -> float:
        """Weight of the units and of the summary, which gets what they leave of the room, at most its own share."""
        weight = _weight(units)
        return weight + self._head.weight(self._summary_cap(weight, self._room.size), self._room.summary_tokens)

    def _summary_cap(self, weight: float, limit: float) -> int:
        left = math.floor(max(limit - weight, 0.0) / self._estimator.ratio)
        return min(self._room.summary_tokens, left)

    def _assemble(self, units: Sequence[Unit], trimmed: Trimmed | None, limit: float) -> Built:
        """The request; the summary gets what `limit` leaves beside the history, at most its own share."""
        weight = _weight(units)
        head = self._head.message(self._summary_cap(weight, limit), self._room.summary_tokens)
        messages = [message for unit in units for message in unit.messages]
        if head is not None:
            messages.insert(0, head)
            weight += message_units(head)
        return self._builder.assemble(messages, weight, trimmed)

    # Trimming

    def _trigger(self, units: Sequence[Unit]) -> float:
        return self._room.size if self._may_fill else self._room.trigger(units)

    def _trim(
        self, stage: Stage, units: Sequence[Unit], keep: float, hard: float, *, least: bool = False
    ) -> tuple[Trimmed | None, Sequence[Unit]]:
        """Make the window, now `units`, smaller (see `Goal`) and write down how; None where nothing could go.

        Also gives the units that stay, as they are sent from now on.
        """
        goal = self._goal(units, keep, hard)
        if stage == "manual":
            goal = structs.replace(goal, steps=0, verbatim=0.0)
        elif stage == "reactive":
            goal = structs.replace(goal, least=least, least_summary=min(goal.summary, hard / 4), verbatim=0.0)
        smaller = make_smaller(units, goal, self._sent.shrunk, self._sent.whole)
        dropped = self._leaving(units, smaller.plan)
        if not dropped and not smaller.shrunk:
            return None, units
        freed = self._estimator.convert_units(_weight(units)) - self._estimator.convert_units(_weight(smaller.kept))
        return self._record(stage, dropped, smaller.shrunk, freed), self._units()

    def _goal(self, units: Sequence[Unit], keep: float, hard: float) -> Goal:
        size, must = self._room.size, must_weigh(units)
        tail = units[tail_start(units, _FORESEEN_TAIL * keep)].first_id if units else ""
        foreseen = self._head.foresee_weight(self._room.summary_tokens, tail)
        summary = min(self._room.summary, keep / 4, foreseen)
        most = hard - must - summary - _LEAST_GAP * size
        return Goal(
            keep=keep,
            hard=hard,
            head=self._total(units) - _weight(units),
            summary=summary,
            least_summary=min(self._room.summary, _LEAST_SUMMARY_TOKENS * self._estimator.ratio),
            tail=max(min(_LEAST_TAIL * size, hard - must - summary), 0.0),
            steps=RECENT_STEPS,
            verbatim=max(min(_VERBATIM * size, most), 0.0),
        )

    def _leaving(self, units: Sequence[Unit], plan: Plan) -> tuple[str, ...]:
        """Ids of the window that stand before the tail, in a unit or not, without the task's message."""
        if not plan.start:
            return ()
        messages, place_of = self._session.messages, self._short_term.place_of
        tail = len(messages) if plan.start == len(units) else place_of(units[plan.start].first_id) or 0
        stays = units[plan.task].first_id if plan.task is not None else ""
        before = (messages[place].id for place in self._short_term.places() if place < tail)
        return tuple(id for id in before if id != stays)

    def _record(self, stage: Stage, dropped: tuple[str, ...], shrunk: dict[str, int], freed: int) -> Trimmed:
        trims = self._session.trims
        trim = Trim(
            handle=f"t{len(trims) + 1}", dropped=dropped, shrunk=shrunk, freed_tokens=freed, created=self._now()
        )
        if dropped and self._before_trim is not None:
            self._before_trim(self._head.whole(trim), self._head.task())
        self._session.add_trim(trim)
        self._sent.trimmed(shrunk)
        self._short_term.forget()
        self._head.extend()
        if stage != "reactive":
            self._head.note = ""  # it describes a state that is past
        self._may_fill = False
        return Trimmed(
            handle=trim.handle,
            stage=stage,
            messages=len(dropped),
            shrunk=trim.shortened_count,
            freed_tokens=max(freed, 0),
        )

    # Messages that come back

    def _check_return(self, trim: Trim, shrunk: Sequence[str]) -> None:
        """Raise UserError where the messages of a trim, and those it cut, do not fit whole beside the rest."""
        window, message_of = set(self._session.stm), {message.id: message for message in self._session.messages}
        more = sum(message_units(message_of[id]) for id in trim.dropped if id in message_of and id not in window)
        cut = {id.partition("#")[0] for id in shrunk} | set(shrunk)
        more += sum(message_units(message_of[id]) for id in cut if id in message_of and id in window)
        needed, room = self._total(self._units()) + more, self._room.size
        if needed > room:
            tokens = self._estimator.convert_units
            raise UserError(
                f"{trim.handle} does not fit: it would take {tokens(needed):,} tokens where {tokens(room):,} are free "
                f'for the conversation; ask for parts of it with read_messages(handle="{trim.handle}")'
            )

    def _start_over(self) -> None:
        self._may_fill = True
        self._sent.start_over()
        self._head.start_over()


def _weight(units: Sequence[Unit]) -> float:
    return sum(unit.weight for unit in units)
