"""The sliding window: the messages the next request is built from, in a form every server takes.

Messages come from old files, from other writers and from models that wrote their own chat template into their words.
The store keeps them as they were; what is put right here is only the copy that is sent.
"""

import re

import msgspec

from clio.messages import AssistantMessage, Message, SystemMessage, ToolCall, ToolMessage
from clio.sessions.session import Session
from clio.text.lazy_regex import LazyRegex

# Tokens of chat templates. Seen inside an answer they end it early on local servers, or open a turn nobody took.
_TOKEN = LazyRegex(
    r"<\|(?:im_start|im_end|endoftext|eot_id|end_of_text|begin_of_text|start_header_id|end_header_id|eom_id|python_tag|"
    r"assistant|user|system|end|return|message|channel)\|>|\[/?INST\]|<</?SYS>>|<(?:start|end)_of_turn>|</s>|<s>"
)
_HEADER = LazyRegex(
    r"(?:<\|im_start\|>|<start_of_turn>|<\|start_header_id\|>)[ \t]*(?:assistant|model|user|system)?"
    r"(?:<\|end_header_id\|>)?[ \t]*\n?"
)
_ROLE = LazyRegex(r"\A\s*(?:assistant|Assistant|ASSISTANT|AI)[ \t]*:[ \t]*\n?(?=\S)")
_TRACES = ("<|", "INST]", "<SYS>", "</SYS>", "_of_turn>", "s>")
_FENCE = LazyRegex(r"(```.*?(?:```|\Z)|`[^`\n]*`)", re.S)


class ShortTerm:
    """The window of one session, read afresh at every call. A message costs its cleaning once."""

    def __init__(self, session: Session) -> None:
        self._session = session
        self._index: dict[str, int] = {}
        self._indexed = 0
        self._clean: dict[str, Message] = {}

    def messages(self) -> list[Message]:
        """The messages of the window, oldest first, each as it may be sent.

        Ids that no message has and those named twice are passed over, and so are system messages: a request has one,
        and it is clio's. The same message comes back as the same object.
        """
        store = self._session.messages
        found = [store[place] for place in self.places()]
        return [self._cleaned(message) for message in found if not isinstance(message, SystemMessage)]

    def places(self) -> list[int]:
        """Where the messages of the window stand in the session, ascending."""
        self._extend()
        places = [self._index[id] for id in self._session.window_ids if id in self._index]
        if places != (ordered := sorted(set(places))):
            return ordered
        return places

    def place_of(self, message_id: str) -> int | None:
        """Where a message stands in the session; None where there is none of that id."""
        if self._indexed != len(self._session.messages):
            self._extend()
        return self._index.get(message_id)

    def forget(self) -> None:
        """Drop the copies of messages that have left the window."""
        window = set(self._session.window_ids)
        self._clean = {id: message for id, message in self._clean.items() if id in window}

    def _extend(self) -> None:
        store = self._session.messages
        for place in range(self._indexed, len(store)):
            self._index.setdefault(store[place].id, place)
        self._indexed = len(store)

    def _cleaned(self, message: Message) -> Message:
        known = self._clean.get(message.id)
        if known is None:
            known = self._clean[message.id] = clean(message)
        return known


def clean(message: Message) -> Message:
    """The message as it may be sent; the same object where nothing is wrong with it.

    Of an answer, template tokens and a leading "Assistant:" go, outside of code; calls without a name get one, since
    servers refuse an empty one. What the user said and what tools gave is never touched.
    """
    if isinstance(message, ToolMessage) and message.tool_call_id.strip() != message.tool_call_id:
        return msgspec.structs.replace(message, tool_call_id=message.tool_call_id.strip())
    if not isinstance(message, AssistantMessage):
        return message
    content = strip_markup(message.content)
    calls = tuple(_named(call) for call in message.tool_calls)
    if content == message.content and calls == message.tool_calls:
        return message
    return msgspec.structs.replace(message, content=content, tool_calls=calls)


def strip_markup(text: str) -> str:
    """An answer without what belongs to the chat template around it; code stays as it is."""
    text = _ROLE.sub("", text)
    if not any(trace in text for trace in _TRACES):
        return text
    parts = _FENCE.split(text)
    parts[::2] = [_TOKEN.sub("", _HEADER.sub("", part)) for part in parts[::2]]
    return "".join(parts).strip() if "".join(parts) != text else text


def _named(call: ToolCall) -> ToolCall:
    if call.name.strip() and call.id == call.id.strip():
        return call
    return ToolCall(id=call.id.strip(), name=call.name.strip() or "unknown", arguments=call.arguments)
