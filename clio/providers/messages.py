"""Anthropic Messages: encodes requests and decodes events.

Source: https://platform.claude.com/docs/en/api/messages
"""

import base64
import re
import zlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import msgspec
from msgspec import Raw, structs

from clio.messages import (
    AssistantMessage,
    ImagePart,
    Message,
    ReasoningItem,
    SystemMessage,
    ToolCall,
    ToolMessage,
    Usage,
    UserMessage,
)
from clio.providers.base import (
    AUTO,
    EFFORTS,
    ChatRequest,
    Chunk,
    CitedSources,
    Lessons,
    ProtocolName,
    ToolCallDelta,
    ToolSpec,
    append_image_names,
    iter_answer_parts,
)
from clio.providers.effort import EffortLevels
from clio.providers.failure import Failure, TransportFailed
from clio.text.json_data import (
    as_dict,
    as_list,
    as_text,
    as_token_count,
    decode_json,
    encode_json,
    is_absurd_token_count,
    make_valid_arguments,
)

THINKING_BLOCKS = ("thinking", "redacted_thinking")
PAUSED_REASON = "pause_turn"
_SEARCH_TOOL = "web_search_20250305"
_SEARCH_LESSON = "web_search"
"""Finish reason of an answer that continues when it is sent back."""
_WINDOW_FULL = "model_context_window_exceeded"
_FINISH_REASONS = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
}


class MessagesDecoder:
    """See `AnswerDecoder`."""

    def __init__(self, origin: str = "") -> None:
        self._origin = origin
        self.has_content = False
        self.finish_reason = ""
        self.is_finished = False
        self._usage: dict[str, object] = {}
        self._items: list[ReasoningItem] = []
        self._text = 0
        self._calls: dict[object, int] = {}
        self._inputs: dict[object, object] = {}  # inputs of calls that were received whole, by block index
        self._blocks: dict[object, dict[str, object]] = {}  # open blocks that are sent back unchanged, by block index
        self._pieces: dict[object, list[str]] = {}  # pieces of the input of such blocks
        self._server_blocks: set[int] = set()  # indexes in `_items` of blocks by the server's own tools
        self._sources = CitedSources()
        self._has_reasoning = False
        self._needs_gap = False  # whether a further thinking block has begun and a blank line is due

    def take(self, event: object) -> Sequence[Chunk]:
        """See `AnswerDecoder`."""
        data = as_dict(event)
        event_type = as_text(data.get("type"))
        chunk = None
        match event_type:
            case "content_block_delta":
                chunk = self._decode_delta(data.get("index"), as_dict(data.get("delta")))
            case "content_block_start":
                chunk = self._start_block(data.get("index"), as_dict(data.get("content_block")))
            case "content_block_stop":
                chunk = self._stop_block(data.get("index"))
            case "message_start":
                self._store_usage(as_dict(data.get("message")).get("usage"))
            case "message_delta":
                self._take_finish_reason(as_dict(data.get("delta")), data.get("usage"))
            case "message_stop":
                self.is_finished = True
            case "error":
                raise _failure(data)
            case "message":
                return self._decode_whole(data)
            case _:
                if data.get("error"):
                    raise _failure(data)
        return () if chunk is None else (chunk,)

    @property
    def is_whole(self) -> bool:
        """See `AnswerDecoder`."""
        return bool(self.finish_reason) or self.is_finished

    def ending(self) -> Chunk:
        """See `AnswerDecoder`."""
        paused = self.finish_reason == PAUSED_REASON
        items = tuple(item for index, item in enumerate(self._items) if paused or index not in self._server_blocks)
        origin = self._origin if items else ""
        usage = read_usage(self._usage)
        return Chunk(
            text="" if paused else self._sources.render(),
            finish_reason=self.finish_reason,
            usage=usage,
            reasoning_items=items,
            origin=origin,
        )

    def _start_block(self, index: object, block: dict[str, object]) -> Chunk | None:
        match as_text(block.get("type")):
            case "tool_use":
                number = self._calls.setdefault(index, len(self._calls))
                self.has_content = True
                if block.get("input"):
                    self._inputs[index] = block["input"]
                call = ToolCallDelta(index=number, id=as_text(block.get("id")), name=as_text(block.get("name")))
                return Chunk(tool_calls=(call,))
            case "text":
                for citation in map(as_dict, as_list(block.get("citations"))):
                    self._sources.add(citation)
                return self._emit_text(as_text(block.get("text")))
            case "":
                return None
            case kind:
                self._blocks[index] = dict(block)
                return (
                    self._emit_reasoning(as_text(block.get("thinking")), begins=True)
                    if kind in THINKING_BLOCKS
                    else None
                )

    def _decode_delta(self, index: object, delta: dict[str, object]) -> Chunk | None:
        match as_text(delta.get("type")):
            case "text_delta":
                return self._emit_text(as_text(delta.get("text")))
            case "citations_delta":
                self._sources.add(as_dict(delta.get("citation")))
            case "input_json_delta":
                number, piece = self._calls.get(index), as_text(delta.get("partial_json"))
                if number is None:
                    self._pieces.setdefault(index, []).append(piece)
                    return None
                if not piece:
                    return None
                self._inputs.pop(index, None)
                return Chunk(tool_calls=(ToolCallDelta(index=number, arguments=piece),))
            case "thinking_delta":
                piece = as_text(delta.get("thinking"))
                block = self._blocks.setdefault(index, {"type": "thinking", "thinking": "", "signature": ""})
                block["thinking"] = as_text(block.get("thinking")) + piece
                return self._emit_reasoning(piece)
            case "signature_delta":
                block = self._blocks.setdefault(index, {"type": "thinking", "thinking": "", "signature": ""})
                block["signature"] = as_text(block.get("signature")) + as_text(delta.get("signature"))
            case _:
                pass
        return None

    def _stop_block(self, index: object) -> Chunk | None:
        """Store a finished block that is sent back unchanged, or return the input of a call received in one piece."""
        whole_input = self._inputs.pop(index, None)
        if whole_input is not None:
            call = ToolCallDelta(index=self._calls[index], arguments=encode_json(whole_input).decode("utf-8"))
            return Chunk(tool_calls=(call,))
        block = self._blocks.pop(index, None)
        if block is None:
            return None
        kind = as_text(block.get("type"))
        if kind == "thinking":
            block.setdefault("signature", "")  # other makers' servers do not sign
            if not (block.get("thinking") or block.get("signature")):
                return None
        elif kind not in THINKING_BLOCKS:
            self._server_blocks.add(len(self._items))
            if pieces := "".join(self._pieces.pop(index, ())):
                block["input"] = decode_json_object(pieces)
        data = encode_json(block).decode("utf-8")
        self._items.append(ReasoningItem(data=data, text=self._text, calls=len(self._calls)))
        return None

    def _emit_text(self, text: str) -> Chunk | None:
        if not text:
            return None
        self.has_content = True
        self._text += len(text)
        return Chunk(text=text)

    def _emit_reasoning(self, text: str, *, begins: bool = False) -> Chunk | None:
        self._needs_gap = self._needs_gap or (begins and self._has_reasoning)
        if not text:
            return None
        gap, self._needs_gap = "\n\n" if self._needs_gap else "", False
        self.has_content = self._has_reasoning = True
        return Chunk(reasoning=gap + text)

    def _take_finish_reason(self, delta: dict[str, object], usage: object) -> None:
        reason = as_text(delta.get("stop_reason"))
        self.finish_reason = _FINISH_REASONS.get(reason, reason) or self.finish_reason
        self._store_usage(usage)
        if reason == _WINDOW_FULL and not self.has_content:
            raise _failure({"error": {"code": "context_length_exceeded", "message": reason}})

    def _store_usage(self, usage: object) -> None:
        """Store the token counts of an event; later counts replace earlier ones."""
        self._usage.update({name: value for name, value in as_dict(usage).items() if value is not None})

    def _decode_whole(self, message: dict[str, object]) -> Sequence[Chunk]:
        """Decode an answer that was not streamed."""
        chunks: list[Chunk] = []
        for index, block in enumerate(map(as_dict, as_list(message.get("content")))):
            chunks += filter(None, (self._start_block(index, block), self._stop_block(index)))
        self._take_finish_reason(message, message.get("usage"))
        self.is_finished = True
        return chunks


def _failure(data: dict[str, object]) -> TransportFailed:
    return TransportFailed(Failure(kind="in_stream", body=encode_json(data).decode("utf-8")))


def decode_json_object(text: str) -> dict[str, object]:
    """Return the JSON object in a text, or an empty one if there is none."""
    try:
        return as_dict(decode_json(text))
    except msgspec.DecodeError:
        return {}


def read_usage(data: dict[str, object]) -> Usage | None:
    """Return the tokens of an answer. The server counts cache reads and writes separately from the input."""
    if not data or any(map(is_absurd_token_count, data.values())):
        return None
    read, written = (
        as_token_count(data.get("cache_read_input_tokens")),
        as_token_count(data.get("cache_creation_input_tokens")),
    )
    prompt = as_token_count(data.get("input_tokens")) + read + written
    completion = as_token_count(data.get("output_tokens"))
    if not prompt and not completion:
        return None
    by_life = as_dict(data.get("cache_creation"))
    details = as_dict(data.get("output_tokens_details"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=min(as_token_count(by_life.get("ephemeral_1h_input_tokens")), written),
        reasoning_tokens=as_token_count(details.get("reasoning_tokens"))
        or as_token_count(details.get("thinking_tokens")),
        searches=as_token_count(as_dict(data.get("server_tool_use")).get("web_search_requests")),
    )


ANTHROPIC_HEADERS = {"anthropic-version": "2023-06-01"}
_INTERLEAVED_THINKING = "interleaved-thinking-2025-05-14"
_SPARE_ENTRIES = 200
_MIN_BUDGET = 1_024
_MIN_ANSWER = 8_192
"""If the window leaves fewer output tokens than this, the conversation must be trimmed instead."""
_BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 10_000, "high": 24_000, "xhigh": 32_000, "max": 48_000}
_ADAPTIVE, _ENABLED = "adaptive", "enabled"

# Names of lessons; they are stored.
_KIND_LESSON, _DISPLAY_LESSON, _OUTPUT_LESSON = "refused_thinking", "displays", "most_output"
_CACHE_LESSON, _LIFETIME_LESSON = "caches", "cache_ttl"

_CLAUDE = re.compile(r"claude|opus|sonnet|haiku|fable|mythos")
_VERSION = re.compile(r"(?<![v\d])\d{1,2}(?!\d)")
_NEWEST: tuple[int, int] = (99, 0)
_ALWAYS_THINKS = re.compile(r"fable|mythos")
_MISSES_BLOCKS = re.compile(r"expected \W{0,3}(?:redacted_)?thinking|(?:thinking|reasoning).{0,60}(?:passed|sent) back")
_REFUSES_BLOCKS = re.compile(
    r"signature|redacted_thinking|thinking\W{0,3}(?:content )?blocks?\b|not a thinking block"
    r"|messages\.\d+\.content.{0,40}thinking"
)
_WINDOW_SUM = re.compile(r"exceeds? (?:the )?context limit\D{0,10}([\d,]+) \+ ([\d,]+) > ([\d,]+)")
_OUTPUT_NUMBERS = re.compile(r"max_tokens(.{0,200})", re.DOTALL)


BETA_HEADER = "anthropic-beta"
TAKES_BETA = "takes_beta_header"
"""Name of the lesson that is False if the server rejected the header."""
_REFUSES_BETA = re.compile(
    r"anthropic[-_]beta|interleaved[-_]thinking|\bbeta (?:flag|header|feature)s?\b", re.IGNORECASE
)


def make_headers(model: str, lessons: Lessons) -> dict[str, str]:
    """Return the headers of every request. Claude 4 to 4.5 think between tool calls only if a header asks for it."""
    version = _read_claude_version(model)
    interleaves = version is not None and (4, 0) <= version < (4, 6) and lessons.get(TAKES_BETA, True)
    return {**ANTHROPIC_HEADERS, BETA_HEADER: _INTERLEAVED_THINKING} if interleaves else ANTHROPIC_HEADERS


def refuses_beta_header(refusal: str) -> bool:
    """Whether a rejection is about the header that asks for thinking between tool calls."""
    return bool(_REFUSES_BETA.search(refusal))


class MessagesProtocol:
    """See `WireProtocol`.

    Args:
        origin: names protocol, host and model; reasoning items of another origin are not sent.
        lifetime: how long a cache point is valid, "5m" or "1h".
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
        web_search: bool = False,
    ) -> None:
        self._model = model
        self._images = images
        self._tools = tools
        self._web_search = web_search
        self._origin = origin
        self._lessons: Lessons = {} if lessons is None else lessons
        self._lifetime = lifetime
        # Claude thinks only if asked to; the servers of other makers think by default.
        self._asks_by_default = bool(_CLAUDE.search(model.lower()))
        self._kinds, efforts = _find_thinking_kinds(model)
        self._efforts = EffortLevels(model, self._lessons, efforts)
        self._encoded_messages: dict[str, tuple[Message, bytes]] = {}
        self._encoded_tools: tuple[tuple[ToolSpec, ...], bytes, bytes] = ((), b"", b"")
        # The last request, for interpreting its rejection.
        self._last_request = ChatRequest(system="", messages=())
        self._sent_kind = self._sent_level = ""
        self._sent_output = 0
        # Left out of later requests because the server rejected it.
        self._without_reasoning = frozenset[str]()
        self._loop_without_thinking = ""
        self._window_output_cap = 0

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted if self._choose_thinking_kind() else ()

    def decoder(self) -> MessagesDecoder:
        """See `WireProtocol`."""
        return MessagesDecoder(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`. Each rejection removes something that was sent, so this ends."""
        text = refusal.lower()
        if self._web_search and "web_search" in text and self._lessons.get(_SEARCH_LESSON, True):
            self._lessons[_SEARCH_LESSON] = False
            self._encoded_tools = ((), b"", b"")
            return "the server offers no web search to this model; it is left out"
        if "cache_control" in text:
            return self._adapt_caching(text)
        if found := _WINDOW_SUM.search(text):
            return self._adapt_to_window(*(int(number.replace(",", "")) for number in found.groups()))
        if "max_tokens" in text and "budget" not in text and self._adapt_output(text):
            return ""
        if _MISSES_BLOCKS.search(text) and (self._stop_thinking() or self._drop_reasoning()):
            return ""
        if _REFUSES_BLOCKS.search(text) and (self._drop_reasoning() or self._stop_thinking()):
            return ""
        names_level = self._sent_level and re.search(rf"\b{self._sent_level}\b", text)
        if names_level and (notice := self._efforts.adapt(refusal)) is not None:
            return notice
        if "display" in text and self._sent_kind == _ADAPTIVE and self._lessons.get(_DISPLAY_LESSON, True):
            self._lessons[_DISPLAY_LESSON] = False
            return ""
        if "thinking" in text and self._sent_kind:
            return self._adapt_thinking_kind()
        return self._efforts.adapt(refusal) if self._sent_level else None

    def encode(self, request: ChatRequest) -> bytes:
        """See `WireProtocol`."""
        if len(request.messages) < len(self._last_request.messages):
            self._window_output_cap = 0  # trimming has freed space
        self._last_request = request
        self._sent_output = self._choose_output_limit(request)
        options: dict[str, object] = {
            "model": self._model,
            "max_tokens": self._sent_output,
            "stream": True,
            **self._build_thinking_fields(request, self._sent_output),
        }
        if request.stop:
            options["stop_sequences"] = request.stop
        point = self._encode_cache_point()
        parts = [encode_json(options)[:-1]]
        if self._tools and request.tools:
            parts.append(b',"tools":' + self._encode_tools(request.tools, point))
        if request.system.strip():
            block = encode_json({"type": "text", "text": request.system})
            parts.append(b',"system":[' + _add_cache_point(block, point) + b"]")
        return b"".join((*parts, b',"messages":[', b",".join(self._encode_turns(request, point)), b"]}"))

    # Output limit and thinking

    def _choose_output_limit(self, request: ChatRequest) -> int:
        requested = request.max_output_tokens or _MIN_BUDGET
        caps = (as_token_count(self._lessons.get(_OUTPUT_LESSON)), self._window_output_cap)
        return min(requested, *(cap for cap in caps if cap)) if any(caps) else requested

    def _build_thinking_fields(self, request: ChatRequest, max_tokens: int) -> dict[str, object]:
        """Return the fields that request thinking. They stay the same in a session: a change invalidates the cache."""
        kind = self._choose_thinking_kind()
        level = self._efforts.choose(request.effort if kind else AUTO)
        self._sent_kind, self._sent_level = "", level
        asks = self._asks_by_default or level
        if not kind or not asks:
            return self._disable_thinking() if kind and self._is_loop_without_thinking(request.messages) else {}
        if level == "none" or self._is_loop_without_thinking(request.messages):
            return self._disable_thinking()
        if kind == _ADAPTIVE:
            self._sent_kind = _ADAPTIVE
            display = {"display": "summarized"} if self._lessons.get(_DISPLAY_LESSON, True) else {}
            options: dict[str, object] = {"thinking": {"type": "adaptive", **display}}
            return {**options, "output_config": {"effort": level}} if level else options
        budget = min(_BUDGETS[level or "medium"], max_tokens - max(_MIN_BUDGET, max_tokens // 4))
        if budget < _MIN_BUDGET:
            return {}
        if self._asks_by_default and _begins_without_thinking(_find_open_loop(request.messages), self._sends_reasoning):
            return self._disable_thinking()
        self._sent_kind = _ENABLED
        options = {"thinking": {"type": "enabled", "budget_tokens": budget}}
        if level and "deepseek" in self._model.lower():  # DeepSeek ignores the budget
            options["output_config"] = {"effort": "low" if level == "minimal" else level}
        return options

    def _disable_thinking(self) -> dict[str, object]:
        return {"thinking": {"type": "disabled"}}

    def _choose_thinking_kind(self) -> str:
        refused = as_list(self._lessons.get(_KIND_LESSON))
        return next((kind for kind in self._kinds if kind not in refused), "")

    def _is_loop_without_thinking(self, messages: Sequence[Message]) -> bool:
        """Whether the server refused to think in this tool loop because the reasoning at its start is missing."""
        loop = _find_open_loop(messages)
        return bool(loop) and loop[0].id == self._loop_without_thinking

    def _sends_reasoning(self, message: AssistantMessage) -> bool:
        return (
            bool(message.reasoning_items)
            and message.reasoning_origin == self._origin
            and message.id not in self._without_reasoning
        )

    # Learning from rejections

    def _adapt_caching(self, text: str) -> str | None:
        lesson = (
            _LIFETIME_LESSON
            if "ttl" in text and self._lifetime != "5m" and self._lessons.get(_LIFETIME_LESSON, True)
            else _CACHE_LESSON
        )
        if not self._lessons.get(lesson, True):
            return None
        self._lessons[lesson] = False
        return (
            f"{self._model} accepts no cache lifetime: using the server's default" if lesson == _LIFETIME_LESSON else ""
        )

    def _adapt_to_window(self, sent: int, _: int, window: int) -> str | None:
        """Request a shorter answer if input and answer together exceed the window; None if that does not help."""
        left = (window - sent) * 3 // 4  # a quarter is reserved for the input of the next steps
        if not _MIN_ANSWER <= left < self._sent_output:
            return None
        self._window_output_cap = left
        return ""

    def _adapt_output(self, text: str) -> bool:
        """Learn a model's output limit from the rejection of a larger one."""
        from clio.providers.error_meaning import find_overflow  # needed only after a rejection

        if find_overflow(text) is not None:
            return False
        digits = " ".join(_OUTPUT_NUMBERS.findall(text)).replace(",", "")
        numbers = [int(number) for number in re.findall(r"\b\d+\b", digits) if len(number) < 9]
        most = max((number for number in numbers if 256 <= number < self._sent_output), default=0)
        if most:
            self._lessons[_OUTPUT_LESSON] = most
        return bool(most)

    def _drop_reasoning(self) -> bool:
        """Stop sending the reasoning of the last request; False if it had none."""
        answers = [message for message in self._last_request.messages if isinstance(message, AssistantMessage)]
        refused = {message.id for message in answers if self._sends_reasoning(message)}
        self._without_reasoning |= refused
        for key in refused:
            self._encoded_messages.pop(key, None)
        return bool(refused)

    def _stop_thinking(self) -> bool:
        """Disable thinking until the tool loop ends whose reasoning the server misses; False if no loop is open."""
        loop = _find_open_loop(self._last_request.messages)
        if not loop or self._is_loop_without_thinking(self._last_request.messages):
            return False
        self._loop_without_thinking = loop[0].id
        return True

    def _adapt_thinking_kind(self) -> str | None:
        self._lessons[_KIND_LESSON] = [*as_list(self._lessons.get(_KIND_LESSON)), self._sent_kind]
        if not self._choose_thinking_kind() and self._sent_level:
            return f"{self._model} does not support reasoning effort: using its default"
        return ""

    # Parts of a request

    def _encode_cache_point(self) -> bytes:
        """Return the field that is appended to the last block of a cached prefix; b"" without support for caching."""
        if not self._lessons.get(_CACHE_LESSON, True):
            return b""
        has_lifetime = self._lifetime != "5m" and self._lessons.get(_LIFETIME_LESSON, True)
        lifetime = {"ttl": self._lifetime} if has_lifetime else {}
        return b',"cache_control":' + encode_json({"type": "ephemeral", **lifetime})

    def _encode_tools(self, tools: tuple[ToolSpec, ...], point: bytes) -> bytes:
        if self._encoded_tools[0] is not tools or self._encoded_tools[1] != point:
            rows = [
                encode_json({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
                for tool in tools
            ]
            if self._web_search and self._lessons.get(_SEARCH_LESSON, True):
                rows.append(encode_json({"type": _SEARCH_TOOL, "name": "web_search", "max_uses": 8}))
            rows[-1] = _add_cache_point(rows[-1], point)
            self._encoded_tools = (tools, point, b"[" + b",".join(rows) + b"]")
        return self._encoded_tools[2]

    def _encode_turns(self, request: ChatRequest, point: bytes) -> list[bytes]:
        """Return the messages. Neighbours of one role are joined; the last two user turns end with a cache point.

        User turns have only text, images and tool results, all of which may carry a cache point.
        """
        turns: list[tuple[str, list[bytes]]] = []
        for message in request.messages:
            if message is request.messages[-1] and isinstance(message, AssistantMessage):
                # A paused answer that is sent back to be continued. The server rejects one that ends with white space.
                message = structs.replace(message, content=message.content.rstrip())
            blocks = self._encode_message(message, request.images)
            if not blocks:
                continue
            role = "assistant" if isinstance(message, AssistantMessage) else "user"
            if turns and turns[-1][0] == role:
                turns[-1][1].append(blocks)
            else:
                turns.append((role, [blocks]))
        self._drop_old_encodings(request.messages)
        if turns and turns[0][0] == "assistant":
            turns.insert(0, ("user", [encode_json({"type": "text", "text": "(the beginning was left out)"})]))
        user_turns = [blocks for role, blocks in turns if role == "user"]
        for blocks in user_turns[-2:]:
            blocks[-1] = _add_cache_point(blocks[-1], point)
        return [b'{"role":"' + role.encode() + b'","content":[' + b",".join(blocks) + b"]}" for role, blocks in turns]

    def _encode_message(self, message: Message, images: Mapping[str, bytes]) -> bytes:
        """Return the encoded blocks of a message, separated by commas; b"" for one without content."""
        known = self._encoded_messages.get(message.id)
        if known is not None and known[0] is message:
            return known[1]
        encoded = b",".join(map(encode_json, self._build_blocks(message, images)))
        self._encoded_messages[message.id] = (message, encoded)
        return encoded

    def _build_blocks(self, message: Message, images: Mapping[str, bytes]) -> list[object]:
        match message:
            case SystemMessage():
                return _build_text_blocks(message.content)
            case UserMessage():
                text = f"{message.context}\n\n{message.content}" if message.context else message.content
                return [*_build_text_blocks(text), *self._build_image_blocks(message.images, images)]
            case ToolMessage():
                content = [*_build_text_blocks(message.content), *self._build_image_blocks(message.images, images)]
                row: dict[str, object] = {"type": "tool_result", "tool_use_id": _make_valid_id(message.tool_call_id)}
                if content:
                    row["content"] = content
                if not message.ok:
                    row["content"] = content or _build_text_blocks(
                        "(no output)"
                    )  # the server rejects an error without content
                    row["is_error"] = True
                return [row]
            case AssistantMessage():
                return self._build_answer(message)

    def _build_image_blocks(self, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> list[object]:
        if not self._images:
            return _build_text_blocks(append_image_names("", parts))
        rows: list[object] = []
        for part in parts:
            data = images.get(part.blob)
            if data is None:
                rows += _build_text_blocks(f"[the image {part.name} is no longer stored]")
                continue
            encoded = base64.b64encode(data).decode("ascii")
            source = {"type": "base64", "media_type": part.media_type, "data": encoded}
            rows.append({"type": "image", "source": source})
        return rows

    def _build_answer(self, message: AssistantMessage) -> list[object]:
        rows: list[object] = []
        for part in iter_answer_parts(message, self._origin):
            match part:
                case str():
                    rows += _build_text_blocks(part)
                case ToolCall():
                    arguments = Raw(make_valid_arguments(part.arguments).encode("utf-8", "replace"))
                    rows.append(
                        {
                            "type": "tool_use",
                            "id": _make_valid_id(part.id),
                            "name": _make_valid_name(part.name),
                            "input": arguments,
                        }
                    )
                case ReasoningItem():
                    if message.id not in self._without_reasoning:
                        rows.append(decode_json(part.data, dict[str, Any]))
        while rows and as_text(as_dict(rows[-1]).get("type")) in THINKING_BLOCKS:
            rows.pop()  # the answer was cut off; the server rejects a message that ends with reasoning
        return rows

    def _drop_old_encodings(self, messages: tuple[Message, ...]) -> None:
        if len(self._encoded_messages) > len(messages) + _SPARE_ENTRIES:
            current = {message.id for message in messages}
            self._encoded_messages = {key: entry for key, entry in self._encoded_messages.items() if key in current}


def _build_text_blocks(text: str) -> list[object]:
    """Return a text block; none for blank text, which the server rejects."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _add_cache_point(block: bytes, point: bytes) -> bytes:
    return block[:-1] + point + b"}" if point else block


def _make_valid_id(call_id: str) -> str:
    """Return the id of a call in the characters that this protocol allows; different ids stay different."""
    allowed = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
    if allowed and allowed == call_id:
        return call_id
    return f"{allowed}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"


def _make_valid_name(tool: str) -> str:
    """Return a tool's name in the characters that this protocol allows; other models call tools by any name."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:64] or "unknown"


def _read_claude_version(model: str) -> tuple[int, int] | None:
    """Return the version in a Claude model's name: (4, 5) for "claude-sonnet-4-5-20250929"; None without one."""
    name = model.lower()
    if not _CLAUDE.search(name):
        return None
    numbers = [int(number) for number in _VERSION.findall(name)]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else None


def _find_thinking_kinds(model: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """Return the ways to request thinking, preferred one first, and the supported levels of effort.

    Claude 3.7 to 4.5 have a thinking budget. Later models decide for themselves. Earlier ones do not think.
    """
    if not _CLAUDE.search(model.lower()):
        return (_ENABLED, _ADAPTIVE), EFFORTS
    version = _read_claude_version(model) or _NEWEST
    if version < (3, 7):
        return (), ()
    if version < (4, 6):
        return (_ENABLED, _ADAPTIVE), EFFORTS
    unsupported = {"minimal"}
    if version < (4, 7):
        unsupported.add("xhigh")
    if _ALWAYS_THINKS.search(model.lower()):
        unsupported.add("none")
    return (_ADAPTIVE, _ENABLED), tuple(level for level in EFFORTS if level not in unsupported)


def _find_open_loop(messages: Sequence[Message]) -> list[AssistantMessage]:
    """Return the answers of the tool loop with the newest tool result, oldest first; [] if no loop is open."""
    index = len(messages)
    has_result = False
    loop: list[AssistantMessage] = []
    while index:
        index -= 1
        message = messages[index]
        if isinstance(message, ToolMessage):
            has_result = True
        elif isinstance(message, AssistantMessage):
            if not has_result:  # only user messages follow it, so they begin a new turn
                break
            loop.append(message)
            has_result = False
    return loop[::-1]


def _begins_without_thinking(
    loop: Sequence[AssistantMessage], sends_reasoning: Callable[[AssistantMessage], bool]
) -> bool:
    """Whether the first answer of a loop is sent without the thinking block that it must begin with."""
    if not loop:
        return False
    first = loop[0]
    return not sends_reasoning(first) or first.reasoning_items[0].text > 0 or first.reasoning_items[0].calls > 0
