"""What a request says already: what is in it need not be brought back."""

from collections.abc import Sequence
from functools import cached_property

from clio.memory.brain.ranker import Candidate
from clio.messages import AssistantMessage, UserMessage, text_of
from clio.sessions.session import Session
from clio.text.vocabulary import words

_SHINGLE = 4
_HAS = 0.8
"""Of the runs of four words of a text, in another one: then that says the same, though a word differs or it was cut."""


class RequestText:
    """The text of the next request: the messages in the window, and what else stands in it, such as the summary.

    Reading it costs what the window holds, however long the session is, and only when something may be brought back.
    """

    def __init__(self, session: Session | None, others: Sequence[str]) -> None:
        self._session = session
        self._others = others

    def has(self, candidate: Candidate) -> bool:
        """Whether the request says it already: its text, or the message that it was made from."""
        if candidate.message and candidate.message in self._whole_ids:
            return True
        wanted = " ".join(candidate.text.split()).casefold()
        if not wanted:
            return True
        longest = max(wanted.split(), key=len)
        if any(longest in text and wanted in " ".join(text.split()) for text in self._window):
            return True
        runs = _runs(candidate.text)
        return any(sum(run in other for run in runs) >= _HAS * len(runs) for other in self._other_runs)

    @cached_property
    def _whole_ids(self) -> set[str]:
        """The ids of the messages that the window shows whole."""
        session = self._session
        if session is None:
            return set()
        return set(session.stm).difference(*(trim.shrunk for trim in session.trims))

    @cached_property
    def _window(self) -> list[str]:
        session = self._session
        if session is None:
            return []
        texts: list[str] = []
        left = len(self._whole_ids)
        for message in reversed(session.messages):  # the window is the end of the session
            if not left:
                break
            if message.id in self._whole_ids:
                left -= 1
                texts.append(text_of(message).casefold())
                if isinstance(message, UserMessage) and message.context:
                    texts.append(message.context.casefold())
                if isinstance(message, AssistantMessage):
                    texts += [call.arguments.casefold() for call in message.tool_calls]
        return texts

    @cached_property
    def _other_runs(self) -> list[set[tuple[str, ...]]]:
        return [set(_runs(text)) for text in self._others if text]


def _runs(text: str) -> list[tuple[str, ...]]:
    said = words(text)
    if len(said) <= _SHINGLE:
        return [tuple(said)] if said else []
    return [tuple(said[at : at + _SHINGLE]) for at in range(len(said) - _SHINGLE + 1)]
