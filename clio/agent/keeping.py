"""Writes what a turn comes to into its session, message by message, and tells it: what is told is kept."""

from collections.abc import Callable

from clio.agent.events import Emit, MessageAdded, Notice
from clio.agent.stream import Answer, whole_message
from clio.messages import AssistantMessage, Message, ToolCall, UserMessage, answer_open_calls
from clio.security.redaction.redactor import Redactor
from clio.sessions.session import Session

_RECENT = 200
"""Messages that hold the calls of the newest step."""


class Keeping:
    """Of one session and one model. What the session has to say of its own storage is said once."""

    def __init__(
        self, session: Session, redactor: Redactor, emit: Emit, *, model: str, now: Callable[[], float]
    ) -> None:
        self._session = session
        self._redactor = redactor
        self._emit = emit
        self._model = model
        self._now = now
        self._call_ids = {
            call.id
            for message in session.messages
            if isinstance(message, AssistantMessage)
            for call in message.tool_calls
        }
        self._warned = ""
        self._warnings_told = len(session.warnings)

    def add(self, message: Message) -> None:
        """A message that is whole."""
        self._session.append(message)
        self._emit(MessageAdded(message=message))

    def answer(self, answer: Answer) -> tuple[AssistantMessage, tuple[ToolCall, ...]]:
        """What the model said, as it was kept, and its calls as they are to be run: with the secrets they may name.

        No two calls of a session have the same id.
        """
        calls = answer.calls(f"call_{len(self._session.messages)}", self._call_ids)
        model = answer.model or self._model
        message = whole_message(answer, calls, self._redactor, model=model, now=self._now())
        self._call_ids.update(call.id for call in calls)
        self.add(message)
        return message, calls

    def broken_off(self, partial: Answer | None) -> None:
        """The words of an answer that broke off, without its unfinished calls; calls left open are answered."""
        if partial is not None and partial.text.strip():
            model = partial.model or self._model
            self.add(
                whole_message(partial, (), self._redactor, model=model, now=self._now(), finish_reason="interrupted")
            )
        self.close_calls("interrupted")

    def interrupted(self, partial: Answer | None) -> None:
        """As `broken_off` by the user, and a note that tells the model so in the next request."""
        running = {message.tool_call_id for message in answer_open_calls(self._session.messages, "", 0.0)}
        calls = [call for one in self._session.messages[-_RECENT:] for call in _calls_of(one)]
        names = list(dict.fromkeys(call.name for call in calls if call.id in running))
        self.broken_off(partial)
        if names:
            what = f"while {', '.join(names)} ran; what was done until then stays done"
        elif partial is not None and partial.text.strip():
            what = "while you were answering; your answer ends where it was cut off"
        else:
            what = "while you were thinking; nothing of that answer was kept"
        text = f"[The user interrupted you {what}. Do not take up that work again unless the next message asks for it.]"
        self.add(UserMessage(content=text, origin="interrupt", created=self._now()))

    def close_calls(self, reason: str) -> None:
        """Answer the calls that will not be run any more."""
        for message in answer_open_calls(self._session.messages, reason, self._now()):
            self.add(message)

    def sync(self) -> None:
        """Returns when all of it is on disk; says so where it cannot be."""
        self._session.sync()
        reason = self._session.unsaved or ""
        if reason and reason != self._warned:
            self._emit(Notice(text=f"this session is not saved: {reason}", level="warning"))
        self._warned = reason
        for warning in self._session.warnings[self._warnings_told :]:
            self._emit(Notice(text=warning, level="warning"))
        self._warnings_told = len(self._session.warnings)


def _calls_of(message: Message) -> tuple[ToolCall, ...]:
    return message.tool_calls if isinstance(message, AssistantMessage) else ()
