"""The context window of a session: what the next request contains, and how it is trimmed without losing messages."""

import math
import time
from collections.abc import Awaitable, Callable, Generator, Iterator, Sequence
from contextlib import contextmanager
from typing import TYPE_CHECKING

from msgspec import structs

from clio.context.compaction import (
    REACTIVE_SHARES,
    RECENT_STEPS,
    TrimGoal,
    TrimPlan,
    WindowRoom,
    make_nothing_smaller_error,
    plan_smaller_window,
    weigh_untrimmable,
)
from clio.context.message_views import Unit, find_tail_start, find_task_index, split_units
from clio.context.request_builder import BuiltRequest, ContextBuilder, Stage, TrimReport, render_fragment
from clio.context.summary import RunningJob, ThreadSummary
from clio.context.summary_message import SummaryMessage
from clio.context.window_messages import SentMessages, WindowMessages
from clio.errors import ContextOverflow, UserError
from clio.messages import MISSING_TOOLS, Fragment, UserMessage
from clio.providers.base import ModelLimits
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.text.translation import tr
from clio.tokens import BilledEstimate, message_units

if TYPE_CHECKING:
    from clio.context.window_report import NextTrim, WindowUsage

_NOTE_SHARE = 0.3  # of the summary's tokens
_LARGE_SHARE = 0.2  # of the window; local servers often allow a quarter of what the model supports
_MIN_TAIL = 0.125  # of the room, if one user message takes most of it
_VERBATIM = 0.4  # of the room: the newest units up to this weight stay unchanged
_FORESEEN_TAIL = 0.85  # of the weight that stays: units older than this part are expected to leave the window
_MIN_GAP = 0.125  # of the room, left free so that the next step does not cause the next trim
_MIN_HEAD_TOKENS = 220  # for summary, todos and recovery note in the smallest request
_MAX_HEAD_SHARE = 0.6  # of the smallest request: the most that summary, todos and note take from the result
_MIN_RESULT = 300.0  # weight of the newest call with its result cut to the minimum
_MAX_LAST_RETRY_SHARE = 0.9  # of the refused conversation: the most that the smallest request may have
_MIN_KEPT_SUMMARY_TOKENS = 120  # minimum for the summary beside the results of the last steps


async def _no_note(budget_tokens: int) -> str:
    return ""


class ContextWindow:
    """Builds the requests of one session for one model.

    Args:
        limits: of the model; limits that a server states in a refusal replace them.
        before_trim: called before messages leave the window, with the summary of the whole session and the texts of
            its task and newest request.
        recovery: returns the note below the summary after an overflow or a resume, within a number of tokens.
        standing: called after messages left the window; returns the limits and preferences that earlier turns were
            told and that still apply, the most important first. The requests contain them until the next trim.
        running_jobs: returns the background commands that still run, which the summary names.
        on_trim: called after each trim, by hand too, with the time at which it began in nanoseconds.
    """

    def __init__(
        self,
        session: Session,
        builder: ContextBuilder,
        limits: ModelLimits,
        *,
        before_trim: Callable[[ThreadSummary, str], None] | None = None,
        recovery: Callable[[int], Awaitable[str]] = _no_note,
        standing: Callable[[], Sequence[Fragment]] | None = None,
        running_jobs: Callable[[], Sequence[RunningJob]] = tuple,
        on_trim: Callable[[TrimReport, int], None] | None = None,
        now: Callable[[], float] = time.time,
    ) -> None:
        self._session = session
        self._builder = builder
        self._estimator = builder.estimator
        self._room = WindowRoom(limits, builder)
        self._before_trim = before_trim
        self._recovery = recovery
        self._standing = standing
        self._on_trim = on_trim
        self._now = now
        self._messages = WindowMessages(session, builder.prefix.system)
        self._head = SummaryMessage(session, self._messages, builder.estimator, running_jobs)
        self._sent = SentMessages(session)
        self._may_fill = False  # after the user brought messages back, the next trim waits until the room is full
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
    def fit_to(self, limits: ModelLimits | None) -> Generator[None]:
        """Build requests that another model accepts as well, for the duration of the context; None changes nothing.

        Window sizes learned meanwhile are forgotten afterwards, because they belong to the other model.
        """
        before = self._room.copy_state()
        if limits is not None:
            self._room.reduce_limits(limits)
        try:
            yield
        finally:
            if limits is not None:
                self._room.restore_state(before)

    @property
    def last_billed(self) -> BilledEstimate | None:
        """The newest request with a bill, and its estimate; None if there is none."""
        return self._estimator.last

    @property
    def is_memory_off(self) -> bool:
        """Whether the user has turned memory off for now."""
        return self._builder.is_memory_off()

    async def make_turn_context(self, now: float, text: str) -> str:
        """Return what is put before the user's text of this turn."""
        return await self._builder.make_turn_context(now, text, self._list_contexts())

    def _list_contexts(self) -> Iterator[str]:
        """Yield what precedes the user's texts in the window, the newest first."""
        window = set(self._session.window_ids)
        for message in reversed(self._session.messages):
            if isinstance(message, UserMessage) and message.id in window:
                yield message.context

    async def make_steering_context(self, text: str, message_count: int) -> str:
        """Return what precedes a text entered during a turn; "" if it mentions nothing."""
        return await self._builder.make_steering_context(text, message_count)

    async def add_recovery_note(self) -> None:
        """Put the present state of the work below the summary, after a refusal or for a resumed session."""
        self._head.note = await self._recovery(int(self._room.max_summary_tokens * _NOTE_SHARE))

    @property
    def summary(self) -> str:
        """What the next request contains in place of the trimmed messages; "" if nothing was trimmed."""
        if not self.is_trimmed:
            return ""
        cap = self._summary_cap(_weight(self._units()), self._room.size)
        message = self._head.message(cap, self._room.max_summary_tokens)
        return message.content if message else ""

    @property
    def is_trimmed(self) -> bool:
        """Whether any message of this session has left its window."""
        return bool(self._session.trims)

    def build(self) -> BuiltRequest:
        """Return the request for the conversation so far, trimmed if necessary.

        Raises ContextOverflow, with numbers, if the user's own text does not fit beside prompt and tools.
        """
        units = self._units()
        self._room.make_fit(units)
        trimmed = None
        total, room = self._total(units), self._room.size
        # Half of the room is freed at once, because each trim changes the beginning of the request and costs the prompt
        # cache.
        if total > self._trigger(units):
            stage: Stage = "validation" if total > room else "proactive"
            trimmed, units = self._trim(stage, units, self._room.target, room)
        return self._assemble(units, trimmed, room)

    def free_room(self) -> tuple[float, float]:
        """Return the free part of the conversation's room and the whole room, as weights (see clio.tokens)."""
        size = self._room.size
        return max(size - self._total(self._units()), 0.0), size

    def is_trim_due(self) -> bool:
        """Whether messages must leave the window before the next request."""
        units = self._units()
        return self._total(units) > self._trigger(units)

    def is_large_request(self, built: BuiltRequest) -> bool:
        """Whether a request may be too large for a server that gives its models less than they support."""
        return built.prompt_tokens >= self.limits.context_window * _LARGE_SHARE and len(built.request.messages) > 1

    def build_smaller(self, attempt: int, refused: BuiltRequest, error: ContextOverflow) -> BuiltRequest:
        """Return the request to send after a refusal: half of its conversation, a quarter, the least possible.

        Args:
            attempt: 1 to 3.

        Raises:
            ContextOverflow: nothing smaller can be sent.
        """
        self._room.learn_from_refusal(refused, error)
        self._room.make_fit(self._units())
        # Shares are of the first refused conversation: a later retry must not be measured by an earlier, smaller one.
        if attempt == 1:
            self._first_refused = refused.conversation
        share = REACTIVE_SHARES[attempt - 1]
        keep = min(self._first_refused * share, self._room.target)
        hard = keep if share else self._weigh_smallest(refused.conversation)
        trimmed, _ = self._trim("reactive", self._units(), keep, hard, least=not share)
        built = self._assemble(self._units(), trimmed, hard)
        # Each retry must be smaller than the last, or the same refusal would come back.
        while built.units >= refused.units:
            if not self._builder.use_smaller_prefix():
                raise make_nothing_smaller_error(
                    error, self._room.budget, self._estimator.convert_units(built.conversation)
                )
            built = self._assemble(self._units(), trimmed, hard)
        return built

    def _weigh_smallest(self, refused: float) -> float:
        """Return the maximum weight of the last retry.

        It is half of the refused conversation, or more if the user's text, a short summary and a short result need it.
        """
        needed = weigh_untrimmable(self._units()) + self._min_head + _MIN_RESULT
        return min(max(refused / 2, min(needed, refused * _MAX_LAST_RETRY_SHARE)), self._room.size)

    @property
    def _min_head(self) -> float:
        """Weight for summary, todos and recovery note in the smallest request."""
        return min(self._room.max_summary, _MIN_HEAD_TOKENS * self._estimator.ratio)

    def learn_full_window(self, tokens: int) -> None:
        """Record that an answer ended because request and answer filled the whole window with this many tokens."""
        self._room.learn_full_window(tokens)

    def learn_from_acceptance(self, built: BuiltRequest, prompt_tokens: int = 0) -> bool:
        """Learn from a request that a server accepted, and from its bill; return whether the token ratio changed."""
        return self._room.learn_from_acceptance(built, prompt_tokens)

    def trim_now(self) -> TrimReport | None:
        """Trim to the target, or to half of the present conversation if that is less; None if nothing can be removed.

        Unlike an automatic trim, it may remove all recent steps except the newest unit.
        """
        units = self._units()
        # The user asked for space, so at least half of the conversation goes even where the target is already reached.
        keep = min(self._room.target, self._total(units) / 2)
        return self._trim("manual", units, keep, self._room.size)[0]

    def undo_trim(self) -> Trim:
        """Reverse the last trim. Raises UserError if there is none, or its messages no longer fit."""
        if not self._session.trims:
            raise UserError(tr("nothing was trimmed in this session, so there is nothing to undo"))
        last = self._session.trims[-1]
        self._check_return(last, tuple(last.shrunk))
        self._session.undo_trim()
        self._start_over()
        return last

    def expand_trim(self, handle: str) -> Trim:
        """Bring the messages of a trim back into the window until the next trim.

        Raises UserError for an unknown handle, or if they do not fit.
        """
        found = next((trim for trim in self._session.trims if trim.handle == handle.strip().lower()), None)
        if found is None:
            known = ", ".join(trim.handle for trim in self._session.trims[-10:]) or "none; nothing was trimmed"
            raise UserError(tr("there is no trim {handle!r}; the last ones are: {known}", handle=handle, known=known))
        self._check_return(found, ())
        wanted = {*self._session.window_ids, *found.dropped}
        self._session.set_stm(tuple(message.id for message in self._session.messages if message.id in wanted))
        self._start_over()
        return found

    def measure_usage(self) -> "WindowUsage":
        """Return what fills the window now."""
        from clio.context.window_report import PromptPartUsage, WindowUsage

        tokens, prefix, units = self._estimator.convert_units, self._builder.prefix, self._units()
        parts = tuple(
            PromptPartUsage(
                name=part.name, source=part.source, reason=part.reason, tokens=tokens(part.units), cut=part.cut
            )
            for part in prefix.parts
        )
        about_tools = sum(part.tokens for part in parts if part.name == MISSING_TOOLS)
        return WindowUsage(
            window=self.limits.context_window,
            system=tokens(prefix.system_units - prefix.memory),
            # The sum of the parts that are listed below it, but for the names of tools without space.
            memory=sum(part.tokens for part in parts) - about_tools,
            tools=tokens(prefix.tools_units) + about_tools,
            summary=tokens(self._total(units) - _weight(units)),
            history=tokens(_weight(units)),
            reserve=self._room.budget.reserve,
            trim_above=tokens(self._trigger(units)),
            parts=parts,
            problems=prefix.problems,
        )

    def foresee_next_trim(self) -> "NextTrim":
        """Return what the next trim will remove and when. Changes nothing."""
        from clio.context.window_report import NextTrim, foresee_trim

        units, room = self._units(), self._room.size
        above, keep = self._trigger(units), self._room.target
        more, sent = max(above - self._total(units), 0.0), self._sent
        foreseen = foresee_trim(units, more, lambda ahead: self._goal(ahead, keep, room), sent.shrunk, sent.whole)
        return NextTrim(
            at_share=above / room if room else 1.0,
            left=self._estimator.convert_units(more),
            messages=sum(len(unit.messages) for unit in foreseen.leaving),
            tokens=self._estimator.convert_units(foreseen.weight),
            shortened=len(foreseen.shrunk),
        )

    # Contents of a request

    def _units(self) -> list[Unit]:
        """Return the units of the window as they would be sent, with the task's message even if it left the window."""
        sent = self._sent
        units = split_units([sent.view(message) for message in self._messages.messages()], sent.weigh)
        # After several trims the message with the task may be gone; without it a model takes the newest "yes, go on"
        # for its task.
        if units and find_task_index(units) is None:
            user_messages = [m for m in self._session.messages if isinstance(m, UserMessage) and m.origin == "user"]
            user_units = split_units(user_messages, sent.weigh)
            task = find_task_index(user_units)
            units[:0] = [user_units[task]] if task is not None else []
        return units

    def _total(self, units: Sequence[Unit]) -> float:
        """Return the weight of the units and the summary, which gets the rest of the room up to its own limit."""
        weight = _weight(units)
        return weight + self._head.weight(self._summary_cap(weight, self._room.size), self._room.max_summary_tokens)

    def _summary_cap(self, weight: float, limit: float) -> int:
        left = math.floor(max(limit - weight, 0.0) / self._estimator.ratio)
        return min(self._room.max_summary_tokens, left)

    def _assemble(self, units: Sequence[Unit], trimmed: TrimReport | None, limit: float) -> BuiltRequest:
        """Return the request; the summary gets what `limit` leaves beside the history, up to its own limit."""
        weight = _weight(units)
        head = self._head.message(self._summary_cap(weight, limit), self._room.max_summary_tokens)
        messages = [message for unit in units for message in unit.messages]
        if head is not None:
            # First, because it changes only with a trim: everything after it may still be in the server's cache.
            messages.insert(0, head)
            weight += message_units(head)
        return self._builder.assemble(messages, weight, trimmed)

    # Trimming

    def _trigger(self, units: Sequence[Unit]) -> float:
        return self._room.size if self._may_fill else self._room.get_trim_threshold(units)

    def _trim(
        self, stage: Stage, units: Sequence[Unit], keep: float, hard: float, *, least: bool = False
    ) -> tuple[TrimReport | None, Sequence[Unit]]:
        """Make the window, now `units`, smaller (see `TrimGoal`) and record it; None if nothing could be removed.

        Also returns the units that stay, as they are sent from now on.
        """
        started_ns = time.time_ns()
        goal = self._goal(units, keep, hard)
        # A trim by hand may take the last steps too; the automatic ones spare them, as a model reads them again
        # otherwise.
        if stage == "manual":
            goal = structs.replace(goal, recent_steps=0, verbatim=0.0)
        elif stage == "reactive":
            summary = (
                max(hard / 4, min(self._min_head, hard * _MAX_HEAD_SHARE)) if least else min(goal.max_summary, hard / 4)
            )
            goal = structs.replace(goal, is_minimal=least, min_summary=summary, verbatim=0.0)
        smaller = plan_smaller_window(units, goal, self._sent.shrunk, self._sent.whole)
        dropped = self._list_dropped_ids(units, smaller.plan)
        if not dropped and not smaller.shrunk:
            return None, units
        freed = self._estimator.convert_units(_weight(units)) - self._estimator.convert_units(_weight(smaller.kept))
        report = self._record(stage, dropped, smaller.shrunk, freed)
        if self._on_trim is not None:
            self._on_trim(report, started_ns)
        return report, self._units()

    def _goal(self, units: Sequence[Unit], keep: float, hard: float) -> TrimGoal:
        size, must = self._room.size, weigh_untrimmable(units)
        tail = units[find_tail_start(units, _FORESEEN_TAIL * keep)].first_id if units else ""
        foreseen = self._head.foresee_weight(self._room.max_summary_tokens, tail)
        summary = min(self._room.max_summary, keep / 4, foreseen)
        most = hard - must - summary - _MIN_GAP * size
        return TrimGoal(
            keep=keep,
            hard=hard,
            current_summary=self._total(units) - _weight(units),
            max_summary=summary,
            min_summary=min(self._room.max_summary, _MIN_KEPT_SUMMARY_TOKENS * self._estimator.ratio),
            min_tail=max(min(_MIN_TAIL * size, hard - must - summary), 0.0),
            recent_steps=RECENT_STEPS,
            verbatim=max(min(_VERBATIM * size, most), 0.0),
        )

    def _list_dropped_ids(self, units: Sequence[Unit], plan: TrimPlan) -> tuple[str, ...]:
        """Return the ids of all messages before the tail except the task's, whether in a unit or not."""
        if not plan.start:
            return ()
        messages, place_of = self._session.messages, self._messages.place_of
        tail = len(messages) if plan.start == len(units) else place_of(units[plan.start].first_id) or 0
        task_id = units[plan.task].first_id if plan.task is not None else ""
        before = (messages[index].id for index in self._messages.places() if index < tail)
        return tuple(id for id in before if id != task_id)

    def _record(self, stage: Stage, dropped: tuple[str, ...], shrunk: dict[str, int], freed: int) -> TrimReport:
        trims = self._session.trims
        trim = Trim(
            handle=f"t{len(trims) + 1}", dropped=dropped, shrunk=shrunk, freed_tokens=freed, created=self._now()
        )
        if dropped and self._before_trim is not None:
            self._before_trim(self._head.whole(trim), self._head.task())
        self._session.add_trim(trim)
        self._sent.trimmed(shrunk)
        self._messages.forget()
        self._head.extend()
        if dropped and self._standing is not None:
            self._head.set_standing(self._render_standing(self._standing()))
        if stage != "reactive":
            self._head.note = ""  # it is out of date
        self._may_fill = False
        return TrimReport(
            handle=trim.handle,
            stage=stage,
            messages=len(dropped),
            shrunk=trim.shortened_count,
            freed_tokens=max(freed, 0),
        )

    def _render_standing(self, fragments: Sequence[Fragment]) -> list[str]:
        """Return the texts of these fragments that no message in the window contains."""
        told = [message.context for message in self._messages.messages() if isinstance(message, UserMessage)]
        texts = (render_fragment(fragment, self._estimator) for fragment in fragments)
        return [text for text in texts if text and not any(text in context for context in told)]

    # Messages that come back

    def _check_return(self, trim: Trim, shrunk: Sequence[str]) -> None:
        """Raise UserError if the messages of a trim, and those it shortened, do not fit beside the rest."""
        window, message_of = set(self._session.window_ids), {message.id: message for message in self._session.messages}
        more = sum(message_units(message_of[id]) for id in trim.dropped if id in message_of and id not in window)
        cut = {id.partition("#")[0] for id in shrunk} | set(shrunk)
        more += sum(message_units(message_of[id]) for id in cut if id in message_of and id in window)
        needed, room = self._total(self._units()) + more, self._room.size
        if needed > room:
            tokens = self._estimator.convert_units
            raise UserError(
                tr(
                    "{handle} does not fit: it needs {needed:,} tokens, and {free:,} are free for the "
                    'conversation; ask the model to read parts of it with read_messages(handle="{handle}")',
                    handle=trim.handle,
                    needed=tokens(needed),
                    free=tokens(room),
                )
            )

    def _start_over(self) -> None:
        self._may_fill = True
        self._sent.start_over()
        self._head.start_over()


def _weight(units: Sequence[Unit]) -> float:
    return sum(unit.weight for unit in units)
