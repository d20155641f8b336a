"""The messages of a session's window as they are sent: cleaned for the server, shortened by trims, and weighed."""

import re
from collections.abc import Mapping

import msgspec

from clio.context.message_views import apply_cuts
from clio.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage, UserMessage
from clio.sessions.session import Session
from clio.text.lazy_regex import LazyRegex
from clio.tokens import message_units

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


class WindowMessages:
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
