"""Requests of Anthropic Messages. Source: https://platform.claude.com/docs/en/api/messages

What stays the same comes first: tools, system prompt, then the conversation. Cache points stand behind the tools, the
system prompt, and the two newest places where a request ended, so that each request reads what the last one wrote.
"""

import base64
import re
from collections.abc import Mapping, Sequence
from typing import Any

from msgspec import Raw

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
from clio.providers.base import AUTO, ChatRequest, ToolSpec
from clio.providers.effort import EffortLevels
from clio.providers.encode_images import name_images
from clio.providers.interleaving import parts_in_order
from clio.providers.json_text import encode_json, valid_arguments
from clio.providers.messages_events import MessagesDecoder
from clio.providers.wire import Lessons, ProtocolName

HEADERS = {"anthropic-version": "2023-06-01"}
EFFORTS = ("none", "low", "medium", "high", "xhigh", "max")
_SPARE_ENTRIES = 200
_SMALLEST_BUDGET = 1_024
_THINKING = "thinking"
"""The lesson about thinking: "adaptive", "enabled" with a budget, or "" for a model that does not think."""
_BUDGET_MODELS = LatePattern(r"claude-(3[-.]7|(opus|sonnet)-4(-[015]|-2|$|\.[15])|haiku-4)")
_WITHOUT_THINKING = LatePattern(r"claude-(2|instant|3(-|\.5))(?!.*3[-.]7)")
_BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 10_000, "high": 24_000, "xhigh": 32_000, "max": 48_000}


class MessagesProtocol:
    """See `WireProtocol`. lifetime: how long a cache point lives, "5m" or "1h".

    origin: names protocol, host and model; reasoning items of another origin are not sent.
    """

    name: ProtocolName = "messages"
    path = "/messages"
    needs_output_limit = True

    def __init__(
        self,
        model: str,
        *,
        tools: bool = True,
        images: bool = False,
        origin: str = "",
        lessons: Lessons | None = None,
        lifetime: str = "5m",
    ) -> None:
        self._model = model
        self._images = images
        self._tools = tools
        self._origin = origin
        self._lessons: Lessons = {} if lessons is None else lessons
        self._efforts = EffortLevels(model, self._lessons, EFFORTS)
        self._cache_point = encode_json({"type": "ephemeral", **({"ttl": lifetime} if lifetime != "5m" else {})})
        self._known: dict[str, tuple[Message, bytes]] = {}
        self._known_tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted if self._thinking() else ()

    def decoder(self) -> MessagesDecoder:
        """See `WireProtocol`."""
        return MessagesDecoder(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`."""
        words, thinking = refusal.lower(), self._thinking()
        if "thinking" in words and "adaptive" in words and thinking == "adaptive":
            self._lessons[_THINKING] = "enabled"
            return ""
        if "thinking" in words and thinking == "enabled" and "adaptive" in words:
            self._lessons[_THINKING] = "adaptive"
            return ""
        said = self._efforts.adapt(refusal)
        if said is None and "thinking" in words and thinking:
            self._lessons[_THINKING] = ""
            return ""
        return said

    def encode(self, request: ChatRequest) -> bytes:
        """See `WireProtocol`."""
        options: dict[str, object] = {
            "model": self._model,
            "max_tokens": request.max_output_tokens or _SMALLEST_BUDGET,
            "stream": True,
            **self._effort(request),
        }
        parts = [encode_json(options)[:-1]]
        if self._tools and request.tools:
            parts.append(b',"tools":' + self._encoded_tools(request.tools))
        if request.system:
            block = encode_json({"type": "text", "text": request.system})
            parts.append(b',"system":[' + self._with_point(block) + b"]")
        return b"".join((*parts, b',"messages":[', b",".join(self._turns(request)), b"]}"))

    def _thinking(self) -> str:
        known = "" if _WITHOUT_THINKING.search(self._model) else "adaptive"
        return str(self._lessons.get(_THINKING, "enabled" if _BUDGET_MODELS.search(self._model) else known))

    def _effort(self, request: ChatRequest) -> dict[str, object]:
        kind = self._thinking()
        level = self._efforts.choose(request.effort)
        if not kind:
            return {}
        if level == "none":
            return {"thinking": {"type": "disabled"}}
        if kind == "adaptive":
            options: dict[str, object] = {"thinking": {"type": "adaptive", "display": "summarized"}}
            return {**options, "output_config": {"effort": level}} if level else options
        if request.effort == AUTO:
            return {}
        budget = min(_BUDGETS[level or "medium"], (request.max_output_tokens or 0) - _SMALLEST_BUDGET)
        return {"thinking": {"type": "enabled", "budget_tokens": budget}} if budget >= _SMALLEST_BUDGET else {}

    def _encoded_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._known_tools[0] is not tools:
            rows = [
                encode_json({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
                for tool in tools
            ]
            rows[-1] = self._with_point(rows[-1])
            self._known_tools = (tools, b"[" + b",".join(rows) + b"]")
        return self._known_tools[1]

    def _with_point(self, block: bytes) -> bytes:
        return block[:-1] + b',"cache_control":' + self._cache_point + b"}"

    def _turns(self, request: ChatRequest) -> list[bytes]:
        """The messages: neighbours of one role as one, the last two of the user with a cache point at their end."""
        turns: list[tuple[str, list[bytes]]] = []
        for message in request.messages:
            blocks = self._message(message, request.images)
            if not blocks:
                continue
            role = "assistant" if isinstance(message, AssistantMessage) else "user"
            if turns and turns[-1][0] == role:
                turns[-1][1].append(blocks)
            else:
                turns.append((role, [blocks]))
        self._sweep(request.messages)
        if turns and turns[0][0] == "assistant":
            turns.insert(0, ("user", [encode_json({"type": "text", "text": "(the beginning was left out)"})]))
        users = [blocks for role, blocks in turns if role == "user"]
        for blocks in users[-2:]:
            blocks[-1] = self._with_point(blocks[-1])
        return [b'{"role":"' + role.encode() + b'","content":[' + b",".join(blocks) + b"]}" for role, blocks in turns]

    def _message(self, message: Message, images: Mapping[str, bytes]) -> bytes:
        """The blocks of a message, joined by commas; b"" for one that would say nothing."""
        known = self._known.get(message.id)
        if known is not None and known[0] is message:
            return known[1]
        encoded = b",".join(map(encode_json, self._blocks(message, images)))
        self._known[message.id] = (message, encoded)
        return encoded

    def _blocks(self, message: Message, images: Mapping[str, bytes]) -> list[object]:
        match message:
            case SystemMessage():
                return _text(message.content)
            case UserMessage():
                text = f"{message.context}\n\n{message.content}" if message.context else message.content
                return [*_text(text), *self._pictures(message.images, images)]
            case ToolMessage():
                content = [*_text(message.content), *self._pictures(message.images, images)]
                row: dict[str, object] = {"type": "tool_result", "tool_use_id": _id(message.tool_call_id)}
                if content:
                    row["content"] = content
                if not message.ok:
                    row["is_error"] = True
                return [row]
            case AssistantMessage():
                return self._answer(message)

    def _pictures(self, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> list[object]:
        if not self._images:
            return _text(name_images("", parts))
        rows: list[object] = []
        for part in parts:
            data = images.get(part.blob)
            if data is None:
                rows += _text(f"[the picture {part.name} is not stored any more]")
                continue
            encoded = base64.b64encode(data).decode("ascii")
            source = {"type": "base64", "media_type": part.media_type, "data": encoded}
            rows.append({"type": "image", "source": source})
        return rows

    def _answer(self, message: AssistantMessage) -> list[object]:
        rows: list[object] = []
        for part in parts_in_order(message, self._origin):
            match part:
                case str():
                    rows += _text(part)
                case ToolCall():
                    given = Raw(valid_arguments(part.arguments).encode("utf-8", "replace"))
                    rows.append({"type": "tool_use", "id": _id(part.id), "name": part.name, "input": given})
                case ReasoningItem():
                    rows.append(decode_json(part.data, dict[str, Any]))
        return rows

    def _sweep(self, messages: tuple[Message, ...]) -> None:
        if len(self._known) > len(messages) + _SPARE_ENTRIES:
            kept = {message.id for message in messages}
            self._known = {key: entry for key, entry in self._known.items() if key in kept}


def _text(text: str) -> list[object]:
    """A text block; none for text that is empty or blank, which the server refuses."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _id(call_id: str) -> str:
    """The id of a call in the letters this protocol allows."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", call_id) or "call"
