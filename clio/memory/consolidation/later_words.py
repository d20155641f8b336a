"""What the user corrects or takes back later in a replayed session, so that consolidation does not learn it.

While the user types, the same rules (`forget_requests`, `withdrawals`, `value_corrections`) change what is in memory. A
statement that was not saved then is only in the session, and so is the request to forget it.
"""

from collections.abc import Iterator, Sequence
from functools import cached_property

from clio.memory.consolidation.experiences import Finding
from clio.memory.consolidation.forget_requests import (
    find_forget_requests,
    is_meant,
    is_stated_in,
    needs_confirmation,
)
from clio.memory.consolidation.live_corrections import find_corrected_statements
from clio.memory.consolidation.withdrawals import find_withdrawals, is_lifted, widen_limit
from clio.memory.store.record import has_same_text
from clio.messages import AssistantMessage, Message, UserMessage, is_turn_start

_MAX_CHARS = 2_500
"""A longer message is mostly pasted text, and takes nothing back."""
_MAX_CHANGES = 5
"""How often one statement is followed through corrections."""


class LaterWords:
    """The user's messages of one session, in order, as far as they change what earlier ones state.

    Each is read at most once, and only after a turn from which something is to be learned.
    """

    def __init__(self, messages: Sequence[Message]) -> None:
        self._messages = messages

    @cached_property
    def _places(self) -> list[int]:
        """The indexes of the user's own messages; what was typed while memory was off changes nothing."""
        return [
            place
            for place, message in enumerate(self._messages)
            if isinstance(message, UserMessage) and message.origin == "user" and not message.memory_off
        ]

    @cached_property
    def _withdrawing(self) -> list[int]:
        """The indexes of the messages that take back the one before: "scratch that"; not one that is taken back."""
        found: list[int] = []
        for before, place in zip(self._places, self._places[1:], strict=False):
            points = any(one.kind == "pointing" for one in find_forget_requests(self._read(place)))
            if points and before not in found:
                found.append(place)
        return found

    def _read(self, place: int) -> str:
        text = self._messages[place].content
        return text if len(text) <= _MAX_CHARS else ""

    def find_final(self, finding: Finding) -> str:
        """Return what a statement of a turn says at the end of the session, "" if the user took it back."""
        own = [place for place in self._places if place in self._turn(finding.message)]
        if not own:
            return finding.text
        stating = [place for place in own if is_stated_in(finding.quote, self._messages[place].content)]
        place, text = (stating or own)[-1], finding.text
        for _ in range(_MAX_CHANGES):
            if self._is_taken_back(text, place):
                return ""
            changed = next(self._list_changes(text, place), None)
            if changed is None:
                return text
            place, text = changed
        return text

    def is_taken_back(self, message: str) -> bool:
        """Whether the message after the one that began a turn takes it back, so that it corrects nothing."""
        return any(self._is_itself_taken_back(place) for place in self._places if self._messages[place].id == message)

    def _turn(self, message: str) -> range:
        """Return the indexes of the messages of the turn that began with a message."""
        start = next((place for place, one in enumerate(self._messages) if one.id == message), 0)
        end = next(
            (place for place in range(start + 1, len(self._messages)) if is_turn_start(self._messages[place])),
            len(self._messages),
        )
        return range(start, end)

    def _is_taken_back(self, text: str, place: int) -> bool:
        """Whether the user took back a text that is stated at a place."""
        later = [one for one in self._places if one > place]
        if later and later[0] in self._withdrawing:
            return True
        for one in later:
            message = self._read(one)
            context = "\n".join(before.content for before in self._list_before(one))
            named = (request for request in find_forget_requests(message) if request.kind != "pointing")
            if any(is_meant(text, request) and not needs_confirmation(request, text, context) for request in named):
                return True
            if any(is_lifted(text, lifted) for lifted in find_withdrawals(message)):
                return True
        return False

    def _list_changes(self, text: str, place: int) -> Iterator[tuple[int, str]]:
        """Yield what the next message of the user makes of a text that is stated at a place, with its index."""
        following = next((one for one in self._places if one > place), None)
        if following is None or self._is_itself_taken_back(following):
            return
        for lifted in find_withdrawals(self._read(following)):
            if widened := widen_limit(text, lifted):
                yield following, widened
        for one in find_corrected_statements(self._read(following), self._list_before(following), also=text):
            if has_same_text(one.statement, text):
                yield following, one.content

    def _is_itself_taken_back(self, place: int) -> bool:
        return next((one for one in self._places if one > place), -1) in self._withdrawing

    def _list_before(self, place: int) -> list[Message]:
        """Return the user's message before one, and the model's last answer to it."""
        own = [one for one in self._places if one < place]
        start = own[-1] if own else 0
        said = [one for one in self._messages[start:place] if isinstance(one, UserMessage | AssistantMessage)]
        return [*said[:1], *said[1:][-1:]]
