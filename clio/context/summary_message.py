"""The message that stands for everything before a session's window."""

import re
from collections.abc import Callable, Sequence
from itertools import accumulate

from msgspec.structs import replace

from clio.context.message_views import is_substantive
from clio.context.request_builder import wrap_context
from clio.context.summary import RunningJob, ThreadSummary, TrimmedSpan, merge_summaries, summarize_messages
from clio.context.window_messages import WindowMessages
from clio.messages import AssistantMessage, ToolCall, UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim, find_first_words
from clio.text.formatting import shorten_to_weight
from clio.tokens import TokenEstimator, message_units

_HEAD_NOTE_SHARE = 0.3  # of the tokens for summary and note together
_STANDING_SHARE = 0.5  # of the tokens for summary, note and standing texts
_HEADING_LINES = 3  # two blank lines and the heading, which are useless without a further line
_HEADING = re.compile(r":$|\| ##|^  \| *$")
_BUDGET_STEP = 0.85  # factor by which the budget is reduced if the text is too long
_GROWTH, _GROWN_UNITS, _FEW_MESSAGES = 1.1, 300.0, 300
_TASK_UNITS = 1_000.0
_MIN_SUMMARY_TOKENS = 60
"""A shorter summary would contain little more than its fixed text."""


def _begins_todos(call: ToolCall) -> bool:
    """Whether a call writes a new list of todos, none of which is done."""
    return call.name == "todo_operations" and '"write"' in call.arguments and "completed" not in call.arguments


class SummaryMessage:
    """The summary of the messages before a session's window, extended with each trim; not stored.

    It covers every message before the newest one that left the window, including the task's message even if that is
    still in the window. So another trim only has to merge the summary of the messages it removed.
    """

    def __init__(
        self,
        session: Session,
        window: WindowMessages,
        estimator: TokenEstimator,
        running_jobs: Callable[[], Sequence[RunningJob]] = tuple,
    ) -> None:
        self._session = session
        self._window = window
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
        end = max(self._window.place_of(first_id) or 0, self._covered_until)
        if end - self._covered_until > _FEW_MESSAGES:
            return most
        whole = merge_summaries(self._summary, self._summarize_until(end))
        still_in_window = [index for index in self._window.places() if index < end][:1]
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
        still_in_window = [index for index in self._window.places() if index < self._covered_until]
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
        """Return the request for which the open todos were written, else the first one, and the newest request."""
        first = newest = planned = ""
        for message in self._session.messages[self._session.own_from :]:
            if isinstance(message, UserMessage) and message.origin == "user" and is_substantive(message.content):
                newest = message.content
                first = first or newest
            elif isinstance(message, AssistantMessage) and any(map(_begins_todos, message.tool_calls)):
                planned = newest
        is_open = any(todo.status != "completed" for todo in self._session.todos)
        task = planned if planned and is_open else first
        return task if newest == task else f"{shorten_to_weight(task, _TASK_UNITS)}\n\nNewest request: {newest}"

    def _catch_up(self) -> None:
        """Summarize what left the window in earlier runs, trim by trim."""
        if not self._is_stale:
            return
        self._is_stale = False
        # Trim by trim, as the first run did: a resumed session must get the same text, or its first request misses the
        # prompt cache.
        window = set(self._window.places())
        covered = max((index for index in range(len(self._session.messages)) if index not in window), default=-1) + 1
        ends = accumulate((self._end_of(trim) for trim in self._session.trims), max)
        for trim, end in zip(self._session.trims, ends, strict=True):
            self._add_trim(trim, min(end, covered))
        self._cover_until(covered)

    def _add_trim(self, trim: Trim, limit: int) -> None:
        self._cover_until(min(self._end_of(trim), limit))
        if trim.dropped:
            indexes = (self._window.place_of(id) for id in trim.dropped)
            own_from = self._session.own_from
            dropped = [self._session.messages[at] for at in indexes if at is not None and at >= own_from]
            first_words = find_first_words([message for message in dropped if message.content.strip()])
            again = sum(id in self._listed for id in trim.dropped)
            self._listed.update(trim.dropped)
            span = TrimmedSpan(handle=trim.handle, messages=len(trim.dropped), again=again, first_words=first_words)
            self._spans.append(span)

    def _end_of(self, trim: Trim) -> int:
        indexes = map(self._window.place_of, trim.dropped)
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
