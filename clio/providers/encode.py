"""Writes requests: each message is encoded once, and two requests of a session share every byte they can."""

from collections.abc import Mapping
from typing import Any, cast

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from clio.providers.base import ChatRequest, ToolSpec
from clio.providers.encode_images import join_parts, with_images
from clio.providers.lenient import as_dict, as_list
from clio.providers.profiles import Quirks

# Google's word for "this call was made without a signature", for calls of other models or of an earlier run.
NO_SIGNATURE = "skip_thought_signature_validator"
_SURROGATES = LatePattern("[\ud800-\udfff]")
_USER_HEAD, _ROW_END, _BLANK_LINE = b'{"role":"user","content":"', b'"}', b"\\n\\n"
_SPARE_ENTRIES = 200  # how far the memory of encoded messages may outgrow a request before it is swept


def encode_json(value: object) -> bytes:
    """JSON in the order the keys were given. Lone surrogates, which UTF-8 cannot carry, become U+FFFD."""
    try:
        return msgspec.json.encode(value)
    except UnicodeEncodeError:
        return msgspec.json.encode(_scrub(value))


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


def _scrub(value: object) -> object:
    if isinstance(value, str):
        return _SURROGATES.sub("\ufffd", value)
    if isinstance(value, dict):
        return {key: _scrub(item) for key, item in as_dict(cast("object", value)).items()}
    if isinstance(value, list):
        return [_scrub(item) for item in as_list(cast("object", value))]
    return value


class Encoder:
    """Encodes the requests of one model. `signatures` are looked up by tool call id while encoding.

    images: whether the model takes pictures; where it does not, the words alone are sent.
    """

    def __init__(
        self, model: str, *, tools: bool = True, images: bool = False, signatures: Mapping[str, str] | None = None
    ) -> None:
        self._model = model
        self._images = images
        self._tools = tools
        self._signatures: Mapping[str, str] = signatures if signatures is not None else {}
        self._known: dict[str, tuple[Message, Quirks, bytes]] = {}
        self._known_tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    def request(self, request: ChatRequest, quirks: Quirks) -> bytes:
        """The body. What stays the same stands first: model, options, tools, system; then the messages in order."""
        options: dict[str, object] = {"model": self._model, "stream": True}
        if quirks.stream_usage:
            options["stream_options"] = {"include_usage": True}
        if request.max_output_tokens is not None:
            options[quirks.max_tokens_field] = request.max_output_tokens
        tools = request.tools if self._tools else ()
        if tools and quirks.effort_none_with_tools:
            options["reasoning_effort"] = "none"
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
        calls: list[dict[str, object]] = []
        for number, call in enumerate(message.tool_calls):
            function = {"name": call.name, "arguments": _valid_arguments(call.arguments)}
            written: dict[str, object] = {"id": call.id, "type": "function", "function": function}
            signature = self._signatures.get(call.id, "" if number else NO_SIGNATURE)
            if quirks.thought_signatures and signature:
                written["extra_content"] = {"google": {"thought_signature": signature}}
            calls.append(written)
        row["tool_calls"] = calls
        return row

    def _sweep(self, messages: tuple[Message, ...]) -> None:
        if len(self._known) > len(messages) + _SPARE_ENTRIES:
            kept = {message.id for message in messages}
            self._known = {key: entry for key, entry in self._known.items() if key in kept}


def _valid_arguments(text: str) -> str:
    """The arguments, or an object that quotes them: several servers parse the history and refuse what is not JSON."""
    try:
        decode_json(text, dict[str, Any])
    except msgspec.DecodeError:
        return encode_json({"invalid_json": text}).decode("utf-8")
    return text
