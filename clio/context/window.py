"""The context window of a session: what the next request contains, and how it is trimmed without losing messages."""

import math
import re
import time
from collections.abc import Awaitable, Callable, Generator, Mapping, Sequence
from contextlib import contextmanager
from itertools import accumulate
from typing import TYPE_CHECKING

import msgspec
from msgspec import structs
from msgspec.structs import replace

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
from clio.context.message_views import Unit, apply_cuts, find_tail_start, find_task_index, is_substantive, split_units
from clio.context.request_builder import (
    BuiltRequest,
    ContextBuilder,
    Stage,
    TrimReport,
    render_fragment,
    wrap_context,
)
from clio.context.summary import RunningJob, ThreadSummary, TrimmedSpan, merge_summaries, summarize_messages
from clio.errors import ContextOverflow, UserError
from clio.messages import (
    MISSING_TOOLS,
    AssistantMessage,
    Fragment,
    Message,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.providers.base import ModelLimits
from clio.sessions.session import Session
from clio.sessions.state import Trim, find_first_words
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr
from clio.tokens import BilledEstimate, TokenEstimator, message_units

if TYPE_CHECKING:
    from clio.context.window_report import NextTrim, WindowUsage


# Tokens of chat templates. Inside an answer they end it early on local servers, or begin a turn that never happened.
_TOKEN = LazyRegex(
    r"<\|(?:im_start|im_end|endoftext|eot_id|end_of_text|begin_of_text|start_header_id|end_header_id|eom_id|python_tag|"
    r"assistant|user|system|end|return|message|channel)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</s>|<s>"
)
_HEADER = LazyRegex(
    r"(?:<\|im_start\|>|<start_of_turn>|<\|start_header_id\|>)[ \t]*(?:assistant|model|user|system)?"
    r"(?:<\|end_header_id\|>)?[ \t]*\n?"
)
_ROLE = LazyRegex(r"\A\s*(?:assistant|Assistant|ASSISTANT|AI)[ \t]*:[ \t]*\n?(?=\S)")
_MARKUP_TRACES = ("<|", "INST]", "<SYS>", "</SYS>", "_of_turn>", "s>")
_LIMITS = LazyRegex(r"<(hard|lifted)_limits [^\n]*>\n(?P<text>.*?)\n</\1_limits>\n?", re.S, needs="_limits")
_FENCE = LazyRegex(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.S)


class ShortTerm:
    """The messages of a session's window, in a form that every server accepts. Each message is cleaned once.

    Old session files, other programs and models that repeat their chat template produce messages that servers refuse.
    The session stores them unchanged; only the copy that is sent is cleaned. Messages that are older than the prompt
    neither repeat nor lift the hard limits that the prompt contains.
    """

    def __init__(self, session: Session, prompt: str = "") -> None:
        self._session = session
        limits = _LIMITS.search(prompt)
        self._limits = frozenset(limits["text"].split("\n")) if limits else frozenset[str]()
        self._older = frozenset(message.id for message in session.messages) if limits else frozenset[str]()
        self._index: dict[str, int] = {}
        self._indexed = 0
        self._clean: dict[str, Message] = {}

    def messages(self) -> list[Message]:
        """Return the messages of the window as they may be sent, oldest first; the same message as the same object.

        Unknown and repeated ids are skipped, and so are system messages, because a request has only clio's own.
        """
        store = self._session.messages
        found = [store[index] for index in self.places()]
        return [self._cleaned(message) for message in found if not isinstance(message, SystemMessage)]

    def places(self) -> list[int]:
        """Return the indexes of the window's messages in the session, ascending."""
        self._extend()
        indexes = [self._index[id] for id in self._session.window_ids if id in self._index]
        # A session file edited by hand or by another program may list its window out of order.
        if indexes != (ascending := sorted(set(indexes))):
            return ascending
        return indexes

    def place_of(self, message_id: str) -> int | None:
        """Return the index of a message in the session; None if there is none with that id."""
        if self._indexed != len(self._session.messages):
            self._extend()
        return self._index.get(message_id)

    def forget(self) -> None:
        """Drop the copies of messages that have left the window."""
        window = set(self._session.window_ids)
        self._clean = {id: message for id, message in self._clean.items() if id in window}

    def _extend(self) -> None:
        store = self._session.messages
        for index in range(self._indexed, len(store)):
            self._index.setdefault(store[index].id, index)
        self._indexed = len(store)

    def _cleaned(self, message: Message) -> Message:
        clean = self._clean.get(message.id)
        if clean is None:
            clean = clean_message(message)
            if isinstance(clean, UserMessage) and clean.context and clean.id in self._older:
                context = _LIMITS.sub(self._drop_known_limits, clean.context)
                clean = msgspec.structs.replace(clean, context=context) if context != clean.context else clean
            self._clean[message.id] = clean
        return clean

    def _drop_known_limits(self, block: re.Match[str]) -> str:
        """Return a block of limits without those of the prompt; "" if it has no other ones."""
        heading, *limits = block["text"].split("\n")
        others = [limit for limit in limits if limit not in self._limits]
        return block[0].replace(block["text"], "\n".join((heading, *others))) if others else ""


def clean_message(message: Message) -> Message:
    """Return the message as it may be sent; the same object if nothing is wrong with it.

    Template tokens and a leading "Assistant:" are removed from an answer, except in code; calls without a name get one,
    because servers refuse an empty name. The user's text and the output of tools are never changed.
    """
    if isinstance(message, ToolMessage) and message.tool_call_id.strip() != message.tool_call_id:
        return msgspec.structs.replace(message, tool_call_id=message.tool_call_id.strip())
    if not isinstance(message, AssistantMessage):
        return message
    content = strip_markup(message.content)
    calls = tuple(_repair_call(call) for call in message.tool_calls)
    if content == message.content and calls == message.tool_calls:
        return message
    return msgspec.structs.replace(message, content=content, tool_calls=calls)


def strip_markup(text: str) -> str:
    """Remove the marks of a chat template from an answer, except in code."""
    # Small models repeat their chat template and begin an answer with their role.
    text = _ROLE.sub("", text)
    if not any(trace in text for trace in _MARKUP_TRACES):
        return text
    # Code may be about chat templates itself, so nothing inside a fence or backquotes is removed.
    parts = _FENCE.split(text)
    parts[::2] = [_TOKEN.sub("", _HEADER.sub("", part)) for part in parts[::2]]
    return "".join(parts).strip() if "".join(parts) != text else text


def _repair_call(call: ToolCall) -> ToolCall:
    # A call and its result must keep the same id, or servers refuse the request; both are stripped alike.
    if call.name.strip() and call.id == call.id.strip():
        return call
    return ToolCall(id=call.id.strip(), name=call.name.strip() or "unknown", arguments=call.arguments)


class SentMessages:
    """Shortens and weighs the messages of a session, each once while it is unchanged and in the window."""

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
        """Clear the caches and read again from the session which messages are cut.

        Needed after messages came back into the window.
        """
        self._shrunk = {id: chars for trim in self._session.trims for id, chars in trim.shrunk.items()}
        self._cut = {id.partition("#")[0] for id in self._shrunk} | self._shrunk.keys()
        self._views.clear()
        self._weights.clear()

    def view(self, message: Message) -> Message:
        """Return the message as it is sent; the same object each time."""
        # Most messages are not cut; this keeps a request of a thousand messages at one lookup each.
        if message.id not in self._cut:
            return message
        cached = self._views.get(message.id)
        # The same object each time, so that its weight and its encoded form can be cached as well.
        if cached is None or cached[0] is not message:
            cached = self._views[message.id] = (message, apply_cuts(message, self._shrunk))
        return cached[1]

    def whole(self, view: Message) -> Message:
        """Return the stored message of a view."""
        cached = self._views.get(view.id)
        return cached[0] if cached is not None and cached[1] is view else view

    def weigh(self, message: Message) -> float:
        """Return the weight of a message exactly as given here, in units (see clio.tokens)."""
        cached = self._weights.get(message.id)
        if cached is None or cached[0] is not message:
            cached = self._weights[message.id] = (message, message_units(message))
        return cached[1]

    def trimmed(self, shrunk: Mapping[str, int]) -> None:
        """Add the cuts of a trim that the session already contains; forget messages that left the window."""
        self._shrunk |= shrunk
        cut = {id.partition("#")[0] for id in shrunk} | shrunk.keys()
        self._cut |= cut
        window = set(self._session.window_ids)
        self._weights = {id: entry for id, entry in self._weights.items() if id in window}
        self._views = {id: view for id, view in self._views.items() if id in window and id not in cut}


_HEAD_NOTE_SHARE = 0.3  # of the tokens for summary and note together
_STANDING_SHARE = 0.5  # of the tokens for summary, note and standing texts
_HEADING_LINES = 3  # two blank lines and the heading, which are useless without a further line
_HEADING = re.compile(r":$|\| ##|^  \| *$")
_BUDGET_STEP = 0.85  # factor by which the budget is reduced if the text is too long
_GROWTH, _GROWN_UNITS, _FEW_MESSAGES = 1.1, 300.0, 300
_MIN_SUMMARY_TOKENS = 60
"""A shorter summary would contain little more than its fixed text."""


class SummaryMessage:
    """The summary of the messages before a session's window, extended with each trim; not stored.

    It covers every message before the newest one that left the window, including the task's message even if that is
    still in the window. So another trim only has to merge the summary of the messages it removed.
    """

    def __init__(
        self,
        session: Session,
        short_term: ShortTerm,
        estimator: TokenEstimator,
        running_jobs: Callable[[], Sequence[RunningJob]] = tuple,
    ) -> None:
        self._session = session
        self._short_term = short_term
        self._estimator = estimator
        self._running_jobs = running_jobs
        self._note = ""
        self._standing: tuple[str, ...] = ()
        self.start_over()

    @property
    def note(self) -> str:
        """The note below the summary."""
        return self._note

    @note.setter
    def note(self, text: str) -> None:
        if text != self._note:
            self._note, self._message = text, None

    def set_standing(self, parts: Sequence[str]) -> None:
        """Put texts below the summary that the messages of the last trim contained and that still apply.

        parts: the most important first; those that leave too little space for the summary are left out, the last first.
        """
        if tuple(parts) != self._standing:
            self._standing, self._message = tuple(parts), None

    def start_over(self) -> None:
        """Forget the summary, so that it is computed again, after messages came back into the window."""
        self._covered_until = 0
        self._summary = ThreadSummary()
        self._spans: list[TrimmedSpan] = []
        self._listed: set[str] = set()
        self._message: UserMessage | None = None
        self._jobs = tuple(self._running_jobs())
        self._is_stale = True

    def extend(self) -> None:
        """Add the newest trim. The cost depends only on the messages it dropped, not on the number of earlier trims."""
        if not self._is_stale:
            self._add_trim(self._session.trims[-1], len(self._session.messages))
        self._jobs = tuple(self._running_jobs())  # once after each trim, so that the summary keeps its bytes until then
        self._message = None

    def message(self, cap_tokens: int, most_tokens: int) -> UserMessage | None:
        """Return the summary as a message of at most `cap_tokens`; None if nothing left the window or nothing fits.

        It is rendered once after each trim; a smaller cap shortens it later only if it is too long.

        Args:
            most_tokens: limit for a summary if there is enough space.
        """
        self._catch_up()
        if (self._covered_until == 0 and not self._note) or cap_tokens < _MIN_SUMMARY_TOKENS:
            return None
        rendered = self._message
        if rendered is None or self._tokens(rendered) > cap_tokens:
            rendered = self._message = self._write_within(cap_tokens, most_tokens)
        return rendered if rendered.content else None

    def weight(self, cap_tokens: int, most_tokens: int) -> float:
        """Return the weight of the summary message; `cap_tokens` matters only if it is not rendered yet."""
        self._catch_up()
        message = self._message
        if message is None or self._tokens(message) > most_tokens:
            message = self.message(cap_tokens, most_tokens)
        return message_units(message) if message and message.content else 0.0

    def foresee_weight(self, most_tokens: int, first_id: str) -> float:
        """Estimate the weight of the summary if every message before this one, except the task, left the window now.

        The first summary of a few messages is rendered to weigh it; a later one is estimated from the present summary.
        """
        message, most = self._message, most_tokens * self._estimator.ratio
        if message is not None and message.content:
            return min(message_units(message) * _GROWTH + _GROWN_UNITS, most)
        self._catch_up()
        end = max(self._short_term.place_of(first_id) or 0, self._covered_until)
        if end - self._covered_until > _FEW_MESSAGES:
            return most
        whole = merge_summaries(self._summary, self._summarize_until(end))
        still_in_window = [index for index in self._short_term.places() if index < end][:1]
        return message_units(self._as_message(self._render(whole, most_tokens, still_in_window)))

    def _write_within(self, cap_tokens: int, most_tokens: int) -> UserMessage:
        """Return summary and note within the cap; the summary alone if both are too long.

        The budget is reduced in fixed steps until the text fits, so a smaller cap gives the same text again if
        that fits.
        """
        budget = max(most_tokens, _MIN_SUMMARY_TOKENS)
        while budget >= _MIN_SUMMARY_TOKENS:
            message = self._as_message(self._compose(budget))
            if self._tokens(message) <= cap_tokens:
                return message
            # The same steps each time: between two trims the summary must keep its bytes, or the server's prompt cache
            # is lost.
            budget = int(budget * _BUDGET_STEP)
        return self._as_message("")

    def _compose(self, budget_tokens: int) -> str:
        standing = self._select_standing(budget_tokens * _STANDING_SHARE)
        budget_tokens -= self._tokens(self._as_message(standing)) if standing else 0
        return (self._compose_summary(budget_tokens) + standing).strip()

    def _select_standing(self, most_tokens: float) -> str:
        """Return the standing texts that fit, the first in any case."""
        text = ""
        for number in range(1, len(self._standing) + 1):
            more = f"\n\n{wrap_context(self._standing[:number])}"
            # The first one is the most important, such as a hard limit; it is told even if the summary must give way.
            if number > 1 and self._tokens(self._as_message(more)) > most_tokens:
                break
            text = more
        return text

    def _compose_summary(self, budget_tokens: int) -> str:
        note = f"\n\n{self._note}" if self._note else ""
        if note and self._covered_until:
            note = self._shorten_note(note, budget_tokens * _HEAD_NOTE_SHARE)
        left = budget_tokens - self._tokens(self._as_message(note))
        if not self._covered_until or left < _MIN_SUMMARY_TOKENS:
            return note.strip()
        still_in_window = [index for index in self._short_term.places() if index < self._covered_until]
        later = self._summarize_until(len(self._session.messages))
        return (self._render(self._summary, left, still_in_window, later) + note).strip()

    def _shorten_note(self, note: str, most_tokens: float) -> str:
        """Return as many of the note's first lines as fit, without a heading at the end; "" if only headings fit."""
        if self._tokens(self._as_message(note)) <= most_tokens:
            return note
        lines, is_long = note.split("\n"), True
        while len(lines) > _HEADING_LINES and is_long:
            lines.pop()
            is_long = self._tokens(self._as_message("\n".join(lines))) > most_tokens or bool(_HEADING.search(lines[-1]))
        return "\n".join(lines) if len(lines) > _HEADING_LINES else ""

    def _render(
        self,
        summary: ThreadSummary,
        budget_tokens: int,
        still_in_window: Sequence[int],
        later: ThreadSummary | None = None,
    ) -> str:
        """Render the summary.

        Args:
            still_in_window: indexes of summarized messages that are also in the window.
            later: summary of the window.
        """
        from clio.context.summary_text import render_summary

        return render_summary(
            summary,
            budget_tokens=budget_tokens,
            estimator=self._estimator,
            todos=self._session.todos,
            jobs=self._jobs,
            spans=self._spans,
            shown={self._session.messages[index].id for index in still_in_window},
            archived=max(summary.messages - len(still_in_window), 0),
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
        self._cover_until(self._end_of(coming))
        return merge_summaries(self._summary, self._summarize_until(len(self._session.messages)))

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
        # Trim by trim, as the first run did: a resumed session must get the same text, or its first request misses the
        # prompt cache.
        window = set(self._short_term.places())
        covered = max((index for index in range(len(self._session.messages)) if index not in window), default=-1) + 1
        ends = accumulate((self._end_of(trim) for trim in self._session.trims), max)
        for trim, end in zip(self._session.trims, ends, strict=True):
            self._add_trim(trim, min(end, covered))
        self._cover_until(covered)

    def _add_trim(self, trim: Trim, limit: int) -> None:
        self._cover_until(min(self._end_of(trim), limit))
        if trim.dropped:
            indexes = (self._short_term.place_of(id) for id in trim.dropped)
            own_from = self._session.own_from
            dropped = [self._session.messages[at] for at in indexes if at is not None and at >= own_from]
            first_words = find_first_words([message for message in dropped if message.content.strip()])
            again = sum(id in self._listed for id in trim.dropped)
            self._listed.update(trim.dropped)
            span = TrimmedSpan(handle=trim.handle, messages=len(trim.dropped), again=again, first_words=first_words)
            self._spans.append(span)

    def _end_of(self, trim: Trim) -> int:
        indexes = map(self._short_term.place_of, trim.dropped)
        return max((index + 1 for index in indexes if index is not None), default=0)

    def _cover_until(self, end: int) -> None:
        if end > self._covered_until:
            self._summary = merge_summaries(self._summary, self._summarize_until(end))
            self._covered_until = end

    def _summarize_until(self, end: int) -> ThreadSummary:
        """Summarize the messages from the covered part up to index `end`.

        Only file changes, commands and the like are used of messages that came with the repository, because their
        requests and answers are not the user's.
        """
        messages = self._session.messages
        own_from = max(self._covered_until, min(self._session.own_from, end))
        imported_summary = summarize_messages(messages[self._covered_until : own_from])
        return merge_summaries(
            replace(imported_summary, requests=(), decisions=(), answers=(), notes=()),
            summarize_messages(messages[own_from:end]),
        )


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
        before_trim: called before messages leave the window, with the summary of the whole session and the text of
            the task.
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
        self._short_term = ShortTerm(session, builder.prefix.system)
        self._head = SummaryMessage(session, self._short_term, builder.estimator, running_jobs)
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
        return await self._builder.make_turn_context(now, text)

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
        units = split_units([sent.view(message) for message in self._short_term.messages()], sent.weigh)
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
        messages, place_of = self._session.messages, self._short_term.place_of
        tail = len(messages) if plan.start == len(units) else place_of(units[plan.start].first_id) or 0
        task_id = units[plan.task].first_id if plan.task is not None else ""
        before = (messages[index].id for index in self._short_term.places() if index < tail)
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
        self._short_term.forget()
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
        told = [message.context for message in self._short_term.messages() if isinstance(message, UserMessage)]
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
