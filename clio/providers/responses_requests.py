"""Requests of OpenAI Responses. Source: https://developers.openai.com/api/reference/resources/responses

Nothing is stored at the server: the whole conversation is sent each time, with the reasoning items, encrypted, in
the places they came in.
"""

import base64
import re
from collections.abc import Mapping, Sequence

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
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
from clio.providers.lenient import as_dict, as_list, as_text
from clio.providers.refusal import complaint, is_unwanted, names_field
from clio.providers.responses_events import MESSAGE_START, ResponsesDecoder
from clio.providers.wire import Lessons, ProtocolName

_SPARE_ENTRIES = 200
_NOWHERE = "-"
"""The origin of no reasoning item."""
_LEAST_OUTPUT = 16
"""Fewer tokens than these are refused as an answer's limit."""
_LONGEST_KEY = 64
_LEFT_OUT = "responses_without"
"""The lesson about fields that the server does not take: their names."""
_FIELDS = (
    "reasoning.summary", "include", "prompt_cache_key", "store", "strict", "phase", "instructions",
    "max_output_tokens", "reasoning",
)  # fmt: skip
"""What a request can do without, as a refusal names it."""
_OTHER_NAMES = {
    "reasoning.summary": LatePattern(r"reasoning summar", re.IGNORECASE),
    "include": LatePattern(r"encrypted[_ ]content\W+is not|reasoning\.encrypted_content", re.IGNORECASE),
}
"""Wordings that mean a field without naming it."""
_DEVELOPER = "developer"
_ROLE_REFUSED = LatePattern(r"developer\b", re.IGNORECASE)
_ITEM_REFUSED = LatePattern(
    r"\bitem(?: with id)?\W+\w+\W+(?:was |is )?not found|items are not persisted|invalid_encrypted_content"
    r"|encrypted[_ ]content\b.{0,300}?(?:verified|decrypted|parsed|expired|malformed|corrupt|invalid)"
    r"|(?:decrypt|verify|parse|invalid)\w*\b.{0,80}?encrypted[_ ]content"
    r"|of type\W+reasoning\W+was provided without|without its required\W+reasoning"
    r"|(?:invalid value|unknown variant|invalid type|unsupported item|unknown item)\W+(?:type\W+)?reasoning\W"
    r"|ResponseReasoningItem",
    re.IGNORECASE | re.DOTALL,
)
"""The reasoning items of earlier answers are refused: they have expired, or belong to another key."""


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
        self._with_items: set[str] = set()  # messages whose reasoning items are sent
        self._returns_items = True
        self._dropped: set[str] = set()  # messages whose reasoning items were refused

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted if self._sends("reasoning") else ()

    def decoder(self) -> ResponsesDecoder:
        """See `WireProtocol`."""
        return ResponsesDecoder(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`. Each field is left out once and for all; reasoning items only those that were sent."""
        words = complaint(refusal)
        if _ITEM_REFUSED.search(words) and self._with_items:
            self._returns_items = not self._dropped  # where those that followed are refused too, none is sent again
            self._dropped |= self._with_items
            self._forget()
            return ""
        if is_unwanted(words) and (field := self._refused_field(words)):
            return self._leave_out(field)
        if (said := self._efforts.adapt(refusal)) is not None:
            return said
        if self._lessons.get(_DEVELOPER, True) and _ROLE_REFUSED.search(words) and "role" in words.lower():
            self._lessons[_DEVELOPER] = False
            self._forget()
            return ""
        return None

    def _refused_field(self, words: str) -> str:
        """The field of the last request that the server does not take, "" where it is none that can be left out."""
        for field in _FIELDS:
            other = _OTHER_NAMES.get(field)
            if self._sends(field) and (names_field(words, field) or (other and other.search(words))):
                return field
        return ""

    def _leave_out(self, field: str) -> str:
        self._lessons[_LEFT_OUT] = [*as_list(self._lessons.get(_LEFT_OUT)), field]
        self._forget()
        if field != "reasoning":
            return ""
        wanted = self._efforts.sent
        said = self._efforts.give_up()
        return said if wanted else ""

    def _sends(self, field: str) -> bool:
        return field not in as_list(self._lessons.get(_LEFT_OUT))

    def _forget(self) -> None:
        """Encode all messages and tools again."""
        self._known.clear()
        self._with_items.clear()
        self._known_tools = ((), b"")

    def encode(self, request: ChatRequest) -> bytes:
        """See `WireProtocol`."""
        options: dict[str, object] = {"model": self._model, "stream": True}
        if self._sends("store"):
            options["store"] = False
        if request.max_output_tokens is not None and self._sends("max_output_tokens"):
            options["max_output_tokens"] = max(request.max_output_tokens, _LEAST_OUTPUT)
        if self._sends("include"):
            options["include"] = ["reasoning.encrypted_content"]
        if reasoning := self._reasoning(request.effort):
            options["reasoning"] = reasoning
        if request.cache_key and self._sends("prompt_cache_key"):
            options["prompt_cache_key"] = request.cache_key[:_LONGEST_KEY]
        items: list[bytes] = []
        if request.system and self._sends("instructions"):
            options["instructions"] = request.system
        elif request.system:
            items.append(encode_json(self._system(request.system)))
        parts = [encode_json(options)[:-1]]
        if self._tools and request.tools:
            parts.append(b',"tools":' + self._encoded_tools(request.tools))
        items += [row for message in request.messages if (row := self._message(message, request.images))]
        self._sweep(request.messages)
        return b"".join((*parts, b',"input":[', b",".join(items), b"]}"))

    def _reasoning(self, effort: str) -> dict[str, object]:
        chosen = self._efforts.choose(effort)
        if not self._sends("reasoning"):
            return {}
        options: dict[str, object] = {"effort": chosen} if chosen else {}
        if self._sends("reasoning.summary"):
            options["summary"] = "auto"
        return options

    def _system(self, text: str) -> dict[str, object]:
        return {"role": "developer" if self._lessons.get(_DEVELOPER, True) else "system", "content": text}

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._known_tools[0] is not tools:
            rows = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    **({"strict": False} if self._sends("strict") else {}),
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
                return [self._system(message.content)]
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
        """Text, reasoning items and calls in the order they came in. An item that led to nothing is left out: it is
        refused without what follows it."""
        rows: list[object] = []
        waiting: list[object] = []  # reasoning items, until what they led to
        phase = ""
        has_items = False
        returned = self._returns_items and message.id not in self._dropped
        for part in parts_in_order(message, self._origin if returned else _NOWHERE):
            match part:
                case ReasoningItem():
                    item = _read_item(part)
                    if item.get("type") == MESSAGE_START:
                        phase = as_text(item.get("phase")) if self._sends("phase") else ""
                    elif item:
                        waiting.append(item)
                    continue
                case str():
                    row: dict[str, object] = {
                        "role": "assistant",
                        "content": part,
                        **({"phase": phase} if phase else {}),
                    }
                case ToolCall():
                    arguments = valid_arguments(part.arguments)
                    row = {"type": "function_call", "call_id": part.id, "name": part.name, "arguments": arguments}
            has_items = has_items or bool(waiting)
            rows += [*waiting, row]
            waiting = []
        if has_items:
            self._with_items.add(message.id)
        return rows

    def _sweep(self, messages: tuple[Message, ...]) -> None:
        if len(self._known) > len(messages) + _SPARE_ENTRIES:
            kept = {message.id for message in messages}
            self._known = {key: entry for key, entry in self._known.items() if key in kept}


def _read_item(stored: ReasoningItem) -> dict[str, object]:
    """A reasoning item as it is sent, or the mark of a message; {} where a session file was damaged."""
    try:
        item = as_dict(decode_json(stored.data))
    except msgspec.DecodeError:
        return {}
    given = {name: value for name, value in item.items() if value is not None}
    return {"summary": [], **given} if item.get("type") == "reasoning" else given
