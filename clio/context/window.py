"""The window of a session: what the next request holds, and how it gets smaller without anything being lost.

Stage 1, proactive: above 75 % of the room worthless results become one line each, then the oldest units leave, down to
50 %; the results of the last three steps stay while they fit. Stage 2, validation: calls and results pair up, and what
is still too large is cut inside tool outputs. Stage 3, reactive: a server that refuses a request gets a smaller one,
three times. Every trim is a record in the session; the views and the summary follow from those
records and the messages, so that a resumed session goes on with the window it had.
"""

import math
import time
from collections.abc import Awaitable, Callable, Generator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import structs

from clio.context.budget import REACTIVE, nothing_smaller
from clio.context.builder import Built, ContextBuilder, Stage, Trimmed
from clio.context.sent_messages import SentMessages
from clio.context.summary import ThreadSummary
from clio.context.thread_head import ThreadHead
from clio.context.trim import Goal, Plan, make_smaller, must_weigh
from clio.context.units import Unit, split_units, tail_start, task_index
from clio.context.window_room import RECENT_STEPS, WindowRoom
from clio.errors import ContextOverflow, UserError
from clio.memory.short_term import ShortTerm
from clio.messages import UserMessage
from clio.providers.base import Limits
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.tokens import Compared, message_units

if TYPE_CHECKING:
    from clio.context.foresight import NextTrim
    from clio.context.window_use import WindowUse

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
        limits: Limits,
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
        self._may_fill = False  # a person brought messages back: the next trim waits until the room is full
        self._first_refused = 0.0

    @property
    def ratio(self) -> float:
        """Units a token, as learned so far."""
        return self._estimator.ratio

    @property
    def limits(self) -> Limits:
        """Of the model, as far as is known by now."""
        return self._room.limits

    @contextmanager
    def fitted_to(self, limits: Limits | None) -> Generator[None]:
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
    def last_billed(self) -> Compared | None:
        """The newest request a server billed, and what it was taken for; None where none was."""
        return self._estimator.last

    async def turn_context(self, now: float, text: str) -> str:
        """What is put before the user's words of this turn, `text`."""
        return await self._builder.turn_context(now, text)

    async def steering_context(self, text: str, of: int) -> str:
        """What is put before words said into a running turn, `text`, one of so many; "" where they name nothing."""
        return await self._builder.steering_context(text, of)

    async def recover(self) -> None:
        """Put how things stand now below the summary; for after a refusal, and for a resumed session."""
        self._head.note = await self._recovery(int(self._room.summary_tokens * _NOTE_SHARE))

    @property
    def summary(self) -> str:
        """What the next request says in the place of what left the window; empty where nothing did."""
        if not self.is_trimmed:
            return ""
        cap = self._summary_cap(_weight(self._units()), self._room.size)
        message = self._head.message(cap, self._room.summary_tokens)
        return message.content if message else ""

    @property
    def is_trimmed(self) -> bool:
        """Whether anything of this session left its window."""
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
        """What the conversation leaves free of its room, and the whole room, as weights (see clio.tokens)."""
        size = self._room.size
        return max(size - self._total(self._units()), 0.0), size

    def will_trim(self) -> bool:
        """Whether the next request needs messages to leave the window."""
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
                raise nothing_smaller(error, self._room.budget, self._estimator.tokens(built.conversation))
            built = self._assemble(self._units(), trimmed, hard)
        return built

    def filled(self, tokens: int) -> None:
        """Learn from an answer that ended because request and answer together took this much, all of the window."""
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
        """What fills the window now."""
        from clio.context.window_use import PartUse, WindowUse

        tokens, prefix, units = self._estimator.tokens, self._builder.prefix, self._units()
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
        """What the next trim will let go of what is here now, and when. Changes nothing."""
        from clio.context.foresight import NextTrim, foresee

        units, room = self._units(), self._room.size
        above, keep = self._trigger(units), self._room.target
        more, sent = max(above - self._total(units), 0.0), self._sent
        seen = foresee(units, more, lambda ahead: self._goal(ahead, keep, room), sent.shrunk, sent.whole)
        return NextTrim(
            at_share=above / room if room else 1.0,
            left=self._estimator.tokens(more),
            messages=sum(len(unit.messages) for unit in seen.leaving),
            tokens=self._estimator.tokens(seen.weight),
            shortened=len(seen.shrunk),
        )

    # What the request is made of

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

    # How it gets smaller

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
        freed = self._estimator.tokens(_weight(units)) - self._estimator.tokens(_weight(smaller.kept))
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
            self._head.note = ""  # what it says is past
        self._may_fill = False
        return Trimmed(
            handle=trim.handle, stage=stage, messages=len(dropped), shrunk=trim.shortened, freed_tokens=max(freed, 0)
        )

    # What comes back

    def _check_return(self, trim: Trim, shrunk: Sequence[str]) -> None:
        """Raise UserError where the messages of a trim, and those it cut, do not fit whole beside the rest."""
        window, message_of = set(self._session.stm), {message.id: message for message in self._session.messages}
        more = sum(message_units(message_of[id]) for id in trim.dropped if id in message_of and id not in window)
        cut = {id.partition("#")[0] for id in shrunk} | set(shrunk)
        more += sum(message_units(message_of[id]) for id in cut if id in message_of and id in window)
        needed, room = self._total(self._units()) + more, self._room.size
        if needed > room:
            tokens = self._estimator.tokens
            raise UserError(
                f"{trim.handle} does not fit: it would take {tokens(needed):,} tokens where {tokens(room):,} are free "
                f'for the conversation; ask for parts of it with recall_messages(handle="{trim.handle}")'
            )

    def _start_over(self) -> None:
        self._may_fill = True
        self._sent.start_over()
        self._head.start_over()


def _weight(units: Sequence[Unit]) -> float:
    return sum(unit.weight for unit in units)
