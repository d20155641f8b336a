"""Requests of OpenAI Responses. Source: https://developers.openai.com/api/reference/resources/responses

Nothing is stored at the server: the whole conversation is sent each time, with the reasoning items, encrypted, in
the places they came in.
"""

import base64
from collections.abc import Mapping, Sequence

from clio.algorithms.json_data import decode_json
from clio.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ReasoningItem,
    SystemMessage,
    ToolCall,
    ToolMessage,
    UserMessage,
)
from clio.providers.base import ChatRequest, ToolSpec
from clio.providers.effort import EffortLevels
from clio.providers.encode_images import name_images
from clio.providers.interleaving import parts_in_order
from clio.providers.json_text import encode_json, valid_arguments
from clio.providers.lenient import as_dict, as_text
from clio.providers.responses_events import MESSAGE_START, ResponsesDecoder
from clio.providers.wire import Lessons, ProtocolName

_SPARE_ENTRIES = 200
_REASONS, _SUMMARISES, _ENCRYPTS = "reasons", "summarises", "encrypts"


class ResponsesProtocol:
    """See `WireProtocol`. Each message is encoded once, and later requests of a session begin with the same bytes.

    origin: names protocol, host and model; reasoning items of another origin are not sent.
    """

    name: ProtocolName = "responses"
    path = "/responses"
    needs_output_limit = False

    def __init__(
        self,
        model: str,
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
        self._efforts = EffortLevels(model, self._lessons)
        self._known: dict[str, tuple[Message, bytes]] = {}
        self._known_tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted if self._lessons.get(_REASONS, True) else ()

    def decoder(self) -> ResponsesDecoder:
        """See `WireProtocol`."""
        return ResponsesDecoder(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`."""
        said = self._efforts.adapt(refusal)
        if said is not None:
            return said
        for lesson, words in (
            (_SUMMARISES, ("reasoning.summary", "reasoning summar")),
            (_ENCRYPTS, ("encrypted",)),
            (_REASONS, ("reasoning",)),
        ):
            if self._lessons.get(lesson, True) and any(word in refusal.lower() for word in words):
                self._lessons[lesson] = False
                return ""
        return None

    def encode(self, request: ChatRequest) -> bytes:
        """See `WireProtocol`."""
        options: dict[str, object] = {"model": self._model, "stream": True, "store": False}
        if request.max_output_tokens is not None:
            options["max_output_tokens"] = request.max_output_tokens
        if self._lessons.get(_ENCRYPTS, True):
            options["include"] = ["reasoning.encrypted_content"]
        reasoning = self._reasoning(request.effort)
        if reasoning:
            options["reasoning"] = reasoning
        if request.cache_key:
            options["prompt_cache_key"] = request.cache_key
        if request.system:
            options["instructions"] = request.system
        parts = [encode_json(options)[:-1]]
        if self._tools and request.tools:
            parts.append(b',"tools":' + self._encoded_tools(request.tools))
        items = [row for message in request.messages if (row := self._message(message, request.images))]
        self._sweep(request.messages)
        return b"".join((*parts, b',"input":[', b",".join(items), b"]}"))

    def _reasoning(self, effort: str) -> dict[str, object]:
        if not self._lessons.get(_REASONS, True):
            return {}
        chosen = self._efforts.choose(effort)
        options: dict[str, object] = {"effort": chosen} if chosen else {}
        if self._lessons.get(_SUMMARISES, True):
            options["summary"] = "auto"
        return options

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._known_tools[0] is not tools:
            rows = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    "strict": False,
                }
                for tool in tools
            ]
            self._known_tools = (tools, encode_json(rows))
        return self._known_tools[1]

    def _message(self, message: Message, images: Mapping[str, bytes]) -> bytes:
        known = self._known.get(message.id)
        if known is not None and known[0] is message:
            return known[1]
        encoded = b",".join(map(encode_json, self._items(message, images)))
        self._known[message.id] = (message, encoded)
        return encoded

    def _items(self, message: Message, images: Mapping[str, bytes]) -> list[object]:
        match message:
            case SystemMessage():
                return [{"role": "developer", "content": message.content}]
            case UserMessage():
                text = f"{message.context}\n\n{message.content}" if message.context else message.content
                return [{"role": "user", "content": self._parts(text, message.images, images)}]
            case ToolMessage():
                output = self._parts(message.content, message.images, images)
                return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": output}]
            case AssistantMessage():
                return self._answer(message)

    def _parts(self, text: str, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> object:
        if not parts or not self._images:
            return name_images(text, parts)
        rows: list[dict[str, object]] = [{"type": "input_text", "text": text}]
        for part in parts:
            data = images.get(part.blob)
            if data is None:
                rows.append({"type": "input_text", "text": f"[the picture {part.name} is not stored any more]"})
            else:
                url = f"data:{part.media_type};base64,{base64.b64encode(data).decode('ascii')}"
                rows.append({"type": "input_image", "image_url": url, "detail": "auto"})
        return rows

    def _answer(self, message: AssistantMessage) -> list[object]:
        """Text, reasoning items and calls in the order they came in."""
        rows: list[object] = []
        phase = ""
        for part in parts_in_order(message, self._origin):
            match part:
                case str():
                    rows.append({"role": "assistant", "content": part, **({"phase": phase} if phase else {})})
                case ToolCall():
                    arguments = valid_arguments(part.arguments)
                    rows.append(
                        {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
                    )
                case ReasoningItem():
                    item = as_dict(decode_json(part.data))
                    if item.get("type") == MESSAGE_START:
                        phase = as_text(item.get("phase"))
                    else:
                        rows.append(item)
        return rows

    def _sweep(self, messages: tuple[Message, ...]) -> None:
        if len(self._known) > len(messages) + _SPARE_ENTRIES:
            kept = {message.id for message in messages}
            self._known = {key: entry for key, entry in self._known.items() if key in kept}
