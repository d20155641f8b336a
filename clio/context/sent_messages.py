"""The messages of a window as they are sent: tool outputs that a trim cut are shorter, all else is as it was said."""

from collections.abc import Mapping

from clio.context.shrink import apply_cuts
from clio.messages import Message
from clio.sessions.session import Session
from clio.tokens import message_units


class SentMessages:
    """Shortens and weighs each message of one session once, for as long as it is the same message and in the window."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._views: dict[str, tuple[Message, Message]] = {}
        self._weights: dict[str, tuple[Message, float]] = {}
        self.start_over()

    @property
    def shrunk(self) -> Mapping[str, int]:
        """How far outputs are cut, by the ids of their messages, as `Trim.shrunk` has it."""
        return self._shrunk

    def start_over(self) -> None:
        """Forget all that was derived, and read from the session what is cut; for messages that came back."""
        self._shrunk = {id: chars for trim in self._session.trims for id, chars in trim.shrunk.items()}
        self._cut = {id.partition("#")[0] for id in self._shrunk} | self._shrunk.keys()
        self._views.clear()
        self._weights.clear()

    def view(self, message: Message) -> Message:
        """The message as it is sent; the same object each time."""
        if message.id not in self._cut:
            return message
        known = self._views.get(message.id)
        if known is None or known[0] is not message:
            known = self._views[message.id] = (message, apply_cuts(message, self._shrunk))
        return known[1]

    def whole(self, view: Message) -> Message:
        """The message of which this is the view."""
        known = self._views.get(view.id)
        return known[0] if known is not None and known[1] is view else view

    def weigh(self, message: Message) -> float:
        """Weight of a message that is sent as it is given here, in units (see clio.tokens)."""
        known = self._weights.get(message.id)
        if known is None or known[0] is not message:
            known = self._weights[message.id] = (message, message_units(message))
        return known[1]

    def trimmed(self, shrunk: Mapping[str, int]) -> None:
        """Take in a trim that is in the session already, with what it cut; forget messages that left the window."""
        self._shrunk |= shrunk
        cut = {id.partition("#")[0] for id in shrunk} | shrunk.keys()
        self._cut |= cut
        window = set(self._session.stm)
        self._weights = {id: entry for id, entry in self._weights.items() if id in window}
        self._views = {id: view for id, view in self._views.items() if id in window and id not in cut}
