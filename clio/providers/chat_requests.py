"""Writes requests: each message is encoded once, and two requests of a session share every byte they can."""

from collections.abc import Mapping

from msgspec import structs

from clio.algorithms.json_data import decode_json
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from clio.providers.base import ChatRequest, ToolSpec
from clio.providers.chat_events import SIGNATURE, Normaliser
from clio.providers.effort import EffortLevels
from clio.providers.encode_images import join_parts, with_images
from clio.providers.json_text import encode_json, valid_arguments
from clio.providers.lenient import as_dict, as_text
from clio.providers.profiles import Quirks, taught
from clio.providers.wire import Lessons, ProtocolName

# Google's word for "this call was made without a signature", for calls of other models or of an earlier run.
NO_SIGNATURE = "skip_thought_signature_validator"
_USER_HEAD, _ROW_END, _BLANK_LINE = b'{"role":"user","content":"', b'"}', b"\\n\\n"
_PLAIN = Quirks()
_NONE_WITH_TOOLS, _NONE_REFUSED = "none_with_tools", "none_refused"
_SPARE_ENTRIES = 200  # how far the memory of encoded messages may outgrow a request before it is swept


def add_row(rows: list[bytes], row: bytes) -> None:
    """Append an encoded message. Words of the user behind words of the user become one message.

    Chat templates of several model families refuse two user messages in a row, and they come: an interrupted turn, a
    summary before a question. Joined as bytes, the beginning stays what an earlier request has sent.
    """
    if rows and row.startswith(_USER_HEAD) and rows[-1].startswith(_USER_HEAD):
        rows[-1] = rows[-1][: -len(_ROW_END)] + _BLANK_LINE + row[len(_USER_HEAD) :]
    elif rows and (joined := join_parts(rows[-1], row)):
        rows[-1] = joined
    elif row:
        rows.append(row)


class ChatProtocol:
    """See `WireProtocol`. quirks: how the server's dialect differs. images: whether the model takes pictures.

    origin: names protocol, host and model; reasoning items of another origin are not sent.
    """

    name: ProtocolName = "chat"
    path = "/chat/completions"
    needs_output_limit = False

    def __init__(
        self,
        model: str,
        quirks: Quirks = _PLAIN,
        *,
        tools: bool = True,
        images: bool = False,
        origin: str = "",
        lessons: Lessons | None = None,
    ) -> None:
        self._model = model
        self._images = images
        self._tools = tools
        self._origin = origin
        self._lessons: Lessons = {} if lessons is None else lessons
        self._quirks = structs.replace(
            quirks,
            effort_none_with_tools=self._lessons.get(_NONE_WITH_TOOLS, quirks.effort_none_with_tools) is True,
            effort_none_refused=self._lessons.get(_NONE_REFUSED, quirks.effort_none_refused) is True,
        )
        self._efforts = EffortLevels(model, self._lessons)
        self._known: dict[str, tuple[Message, Quirks, bytes]] = {}
        self._known_tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted

    def decoder(self) -> Normaliser:
        """See `WireProtocol`."""
        return Normaliser(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`."""
        if (said := self._efforts.adapt(refusal)) is not None:
            return said
        taught_quirks = taught(self._quirks, refusal)
        if taught_quirks is None:
            return None
        self._quirks = taught_quirks
        self._lessons[_NONE_WITH_TOOLS] = taught_quirks.effort_none_with_tools
        self._lessons[_NONE_REFUSED] = taught_quirks.effort_none_refused
        return ""

    def encode(self, request: ChatRequest) -> bytes:
        """The body. What stays the same stands first: model, options, tools, system; then the messages in order."""
        quirks = self._quirks
        options: dict[str, object] = {"model": self._model, "stream": True}
        if quirks.stream_usage:
            options["stream_options"] = {"include_usage": True}
        if request.max_output_tokens is not None:
            options[quirks.max_tokens_field] = request.max_output_tokens
        tools = request.tools if self._tools else ()
        effort = self._efforts.choose(request.effort)
        if not effort and tools and quirks.effort_none_with_tools:
            effort = "none"
        if effort:
            options["reasoning_effort"] = effort
        parts = [encode_json(options)[:-1]]
        if tools:
            parts.append(b',"tools":' + self._encoded_tools(tools))
        messages = [encode_json({"role": "system", "content": request.system})] if request.system else []
        for message in request.messages:
            add_row(messages, self._message(message, quirks, request.images))
        self._sweep(request.messages)
        return b"".join((*parts, b',"messages":[', b",".join(messages), b"]}"))

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._known_tools[0] is not tools:
            rows = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in tools
            ]
            self._known_tools = (tools, encode_json(rows))
        return self._known_tools[1]

    def _message(self, message: Message, quirks: Quirks, images: Mapping[str, bytes]) -> bytes:
        """The message on the wire, b"" for one that would say nothing. A trimmed copy keeps the id of its original."""
        known = self._known.get(message.id)
        if known is not None and known[0] is message and known[1] is quirks:
            return known[2]
        row = self._row(message, quirks, images)
        encoded = encode_json(row) if row else b""
        self._known[message.id] = (message, quirks, encoded)
        return encoded

    def _row(self, message: Message, quirks: Quirks, images: Mapping[str, bytes]) -> dict[str, object]:
        match message:
            case SystemMessage():
                return {"role": "system", "content": message.content}
            case UserMessage():
                text = f"{message.context}\n\n{message.content}" if message.context else message.content
                return {"role": "user", "content": with_images(text, message.images, images) if self._images else text}
            case ToolMessage():
                return {"role": "tool", "tool_call_id": message.tool_call_id, "content": message.content}
            case AssistantMessage():
                return self._answer(message, quirks)

    def _answer(self, message: AssistantMessage, quirks: Quirks) -> dict[str, object]:
        if not message.content and not message.tool_calls:
            return {}  # an interrupted answer without a word; servers refuse empty content
        nothing = None if quirks.null_content else ""
        row: dict[str, object] = {"role": "assistant", "content": message.content or nothing}
        if not message.tool_calls:
            return row
        if quirks.echo_reasoning:
            row["reasoning_content"] = message.reasoning
        signatures = self._signatures(message) if quirks.thought_signatures else {}
        calls: list[dict[str, object]] = []
        for number, call in enumerate(message.tool_calls):
            function = {"name": call.name, "arguments": valid_arguments(call.arguments)}
            written: dict[str, object] = {"id": call.id, "type": "function", "function": function}
            signature = signatures.get(number, "" if number else NO_SIGNATURE)
            if quirks.thought_signatures and signature:
                written["extra_content"] = {"google": {"thought_signature": signature}}
            calls.append(written)
        row["tool_calls"] = calls
        return row

    def _signatures(self, message: AssistantMessage) -> dict[int, str]:
        """Gemini's signatures by the number of the call they came with."""
        if message.reasoning_origin != self._origin:
            return {}
        return {item.calls: as_text(as_dict(decode_json(item.data)).get(SIGNATURE)) for item in message.reasoning_items}

    def _sweep(self, messages: tuple[Message, ...]) -> None:
        if len(self._known) > len(messages) + _SPARE_ENTRIES:
            kept = {message.id for message in messages}
            self._known = {key: entry for key, entry in self._known.items() if key in kept}
