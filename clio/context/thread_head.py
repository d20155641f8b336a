"""What stands for the messages that left the window: one message with their summary, written once a trim."""

from collections.abc import Sequence
from itertools import accumulate

from msgspec.structs import replace

from clio.context.summary import SpanInfo, ThreadSummary, merge, summarise
from clio.context.units import is_substantive
from clio.memory.short_term import ShortTerm
from clio.messages import UserMessage
from clio.sessions.session import Session
from clio.sessions.state import Trim
from clio.tokens import TokenEstimator, message_units

_NOTE_SHARE = 0.5  # of the tokens for both
_SMALLER = 0.7  # how much less it is given where it is too long
_GROWTH, _GROWN_UNITS, _FEW_MESSAGES = 1.1, 300.0, 300
_LEAST_TOKENS = 60
"""A shorter summary would be a frame around nothing."""


class ThreadHead:
    """The summary of a session up to its window, kept trim by trim; nothing of it is stored.

    It covers every message before the newest that left, the task's message too, which then stands in the window as
    well: so the summary of one trim more is always a merge, never a new beginning.
    """

    def __init__(self, session: Session, short_term: ShortTerm, estimator: TokenEstimator) -> None:
        self._session = session
        self._short_term = short_term
        self._estimator = estimator
        self._note = ""
        self.start_over()

    @property
    def note(self) -> str:
        """What stands below the summary."""
        return self._note

    @note.setter
    def note(self, text: str) -> None:
        if text != self._note:
            self._note, self._message = text, None

    def start_over(self) -> None:
        """Forget all that was derived; for messages that came back into the window."""
        self._covered = 0
        self._summary = ThreadSummary()
        self._spans: list[SpanInfo] = []
        self._listed: set[str] = set()
        self._message: UserMessage | None = None
        self._is_stale = True

    def extend(self) -> None:
        """Take in the newest trim. Costs what the messages it dropped cost, however many trims there were before."""
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
        """Weight of that message; the cap counts only where it is not written yet."""
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
        if note and self._tokens(self._as_message(note)) > budget_tokens * _NOTE_SHARE and self._covered:
            note = ""
        left = budget_tokens - self._tokens(self._as_message(note))
        if not self._covered or left < _LEAST_TOKENS:
            return note.strip()
        kept = [place for place in self._short_term.places() if place < self._covered]
        return (self._render(self._summary, left, kept) + note).strip()

    def _render(self, summary: ThreadSummary, budget_tokens: int, kept: Sequence[int]) -> str:
        """kept: places of messages that it sums up and that are in the window as well."""
        from clio.context.summary_text import render_summary

        return render_summary(
            summary,
            budget_tokens=budget_tokens,
            estimator=self._estimator,
            todos=self._session.todos,
            spans=self._spans,
            shown={self._session.messages[place].id for place in kept},
            archived=max(summary.messages - len(kept), 0),
        )

    def _as_message(self, text: str) -> UserMessage:
        return UserMessage(content=text, origin="recovery", id=f"{self._session.id}-summary")

    def _tokens(self, message: UserMessage) -> int:
        return self._estimator.tokens(message_units(message))

    def whole(self, coming: Trim) -> ThreadSummary:
        """The summary of the session so far, the window included; what the coming trim drops is looked at once."""
        self._catch_up()
        self._cover(self._end_of(coming))
        return merge(self._summary, self._summarise_until(len(self._session.messages)))

    def task(self) -> str:
        """The newest words that say what is being worked on."""
        for message in reversed(self._session.messages[self._session.own_from :]):
            if isinstance(message, UserMessage) and message.origin == "user" and is_substantive(message.content):
                return message.content
        return ""

    def _catch_up(self) -> None:
        """Sum up what left the window in earlier runs, in the pieces it left in."""
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
