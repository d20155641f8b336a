"""Anthropic Messages: requests and events. Source: https://platform.claude.com/docs/en/api/messages"""

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
"""The finish reason of an answer that goes on when it is sent back."""
_WINDOW_FULL = "model_context_window_exceeded"
_FINISH = {
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
        self._inputs: dict[object, object] = {}  # of calls that came whole and not in pieces
        self._blocks: dict[object, dict[str, object]] = {}  # open blocks that go back as they came
        self._pieces: dict[object, list[str]] = {}  # of the input of such blocks
        self._server_blocks: set[int] = set()  # places in `_items` of what the server's own tools did
        self._thought = self._gap = False  # whether there was thinking before, and more of it begins

    def take(self, event: object) -> Chunk | None:
        """See `AnswerDecoder`."""
        data = as_dict(event)
        kind = as_text(data.get("type"))
        match kind:
            case "content_block_delta":
                return self._delta(data.get("index"), as_dict(data.get("delta")))
            case "content_block_start":
                return self._start(data.get("index"), as_dict(data.get("content_block")))
            case "content_block_stop":
                return self._stop(data.get("index"))
            case "message_start":
                self._count(as_dict(data.get("message")).get("usage"))
            case "message_delta":
                self._conclude(as_dict(data.get("delta")), data.get("usage"))
            case "message_stop":
                self.is_finished = True
            case "error":
                raise _failure(data)
            case "message":
                return self._whole(data)
            case _:
                if data.get("error"):
                    raise _failure(data)
        return None

    @property
    def is_whole(self) -> bool:
        """See `AnswerDecoder`."""
        return bool(self.finish_reason) or self.is_finished

    def ending(self) -> Chunk:
        """See `AnswerDecoder`."""
        paused = self.finish_reason == PAUSED_REASON
        items = tuple(item for place, item in enumerate(self._items) if paused or place not in self._server_blocks)
        origin = self._origin if items else ""
        usage = read_usage(self._usage)
        return Chunk(finish_reason=self.finish_reason, usage=usage, reasoning_items=items, origin=origin)

    def _start(self, index: object, block: dict[str, object]) -> Chunk | None:
        match as_text(block.get("type")):
            case "tool_use":
                number = self._calls.setdefault(index, len(self._calls))
                self.has_content = True
                if block.get("input"):
                    self._inputs[index] = block["input"]
                call = ToolCallDelta(index=number, id=as_text(block.get("id")), name=as_text(block.get("name")))
                return Chunk(tool_calls=(call,))
            case "text":
                return self._say(as_text(block.get("text")))
            case "":
                return None
            case kind:
                self._blocks[index] = dict(block)
                return self._think(as_text(block.get("thinking")), begins=True) if kind in THINKING_BLOCKS else None

    def _delta(self, index: object, delta: dict[str, object]) -> Chunk | None:
        match as_text(delta.get("type")):
            case "text_delta":
                return self._say(as_text(delta.get("text")))
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
                return self._think(piece)
            case "signature_delta":
                block = self._blocks.setdefault(index, {"type": "thinking", "thinking": "", "signature": ""})
                block["signature"] = as_text(block.get("signature")) + as_text(delta.get("signature"))
            case _:
                pass
        return None

    def _stop(self, index: object) -> Chunk | None:
        """Close a block: keep it where it goes back unchanged, give the input of a call that came in one piece."""
        given = self._inputs.pop(index, None)
        if given is not None:
            call = ToolCallDelta(index=self._calls[index], arguments=encode_json(given).decode("utf-8"))
            return Chunk(tool_calls=(call,))
        block = self._blocks.pop(index, None)
        if block is None:
            return None
        kind = as_text(block.get("type"))
        if kind == "thinking":
            block.setdefault("signature", "")  # servers of other makers sign nothing
            if not (block.get("thinking") or block.get("signature")):
                return None
        elif kind not in THINKING_BLOCKS:
            self._server_blocks.add(len(self._items))
            if pieces := "".join(self._pieces.pop(index, ())):
                block["input"] = decode_json_object(pieces)
        data = encode_json(block).decode("utf-8")
        self._items.append(ReasoningItem(data=data, text=self._text, calls=len(self._calls)))
        return None

    def _say(self, text: str) -> Chunk | None:
        if not text:
            return None
        self.has_content = True
        self._text += len(text)
        return Chunk(text=text)

    def _think(self, text: str, *, begins: bool = False) -> Chunk | None:
        self._gap = self._gap or (begins and self._thought)
        if not text:
            return None
        gap, self._gap = "\n\n" if self._gap else "", False
        self.has_content = self._thought = True
        return Chunk(reasoning=gap + text)

    def _conclude(self, delta: dict[str, object], usage: object) -> None:
        reason = as_text(delta.get("stop_reason"))
        self.finish_reason = _FINISH.get(reason, reason) or self.finish_reason
        self._count(usage)
        if reason == _WINDOW_FULL and not self.has_content:
            raise _failure({"error": {"code": "context_length_exceeded", "message": reason}})

    def _count(self, usage: object) -> None:
        """Take in what a message says of its tokens; what comes later replaces what came before."""
        self._usage.update({name: value for name, value in as_dict(usage).items() if value is not None})

    def _whole(self, message: dict[str, object]) -> Chunk | None:
        """A whole answer that was not streamed."""
        text: list[str] = []
        thoughts: list[str] = []
        calls: list[ToolCallDelta] = []
        for index, block in enumerate(map(as_dict, as_list(message.get("content")))):
            for chunk in (self._start(index, block), self._stop(index)):
                if chunk is not None:
                    text.append(chunk.text)
                    thoughts.append(chunk.reasoning)
                    calls += chunk.tool_calls
        self._conclude(message, message.get("usage"))
        self.is_finished = True
        return Chunk(text="".join(text), reasoning="".join(thoughts), tool_calls=tuple(calls))


def _failure(data: dict[str, object]) -> TransportFailed:
    return TransportFailed(Failure(kind="in_stream", body=encode_json(data).decode("utf-8")))


def decode_json_object(text: str) -> dict[str, object]:
    """The JSON object in a text, an empty one where it holds none."""
    try:
        return as_dict(decode_json(text))
    except msgspec.DecodeError:
        return {}


def read_usage(data: dict[str, object]) -> Usage | None:
    """The tokens billed, of which the server counts those read from and written to the cache apart from the input."""
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
    )


ANTHROPIC_HEADERS = {"anthropic-version": "2023-06-01"}
_INTERLEAVED = "interleaved-thinking-2025-05-14"
_SPARE_ENTRIES = 200
_SMALLEST_BUDGET = 1_024
_SMALLEST_ANSWER = 8_192
"""Tokens of output: where a window leaves less, the conversation is to be trimmed instead."""
_BUDGETS = {"minimal": 1_024, "low": 4_096, "medium": 10_000, "high": 24_000, "xhigh": 32_000, "max": 48_000}
_ADAPTIVE, _ENABLED = "adaptive", "enabled"

# Names of lessons.
_REFUSED_KINDS, _DISPLAYS, _MOST_OUTPUT = "refused_thinking", "displays", "most_output"
_CACHES, _LIVES = "caches", "cache_ttl"

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
"""The lesson that is False where the server refused the header."""
_REFUSES_BETA = re.compile(
    r"anthropic[-_]beta|interleaved[-_]thinking|\bbeta (?:flag|header|feature)s?\b", re.IGNORECASE
)


def make_headers(model: str, lessons: Lessons) -> dict[str, str]:
    """The headers of every request for a model: Claude 4 to 4.5 think between tool calls only when asked by header."""
    version = _version(model)
    interleaves = version is not None and (4, 0) <= version < (4, 6) and lessons.get(TAKES_BETA, True)
    return {**ANTHROPIC_HEADERS, BETA_HEADER: _INTERLEAVED} if interleaves else ANTHROPIC_HEADERS


def refuses_beta_header(refusal: str) -> bool:
    """Whether a refusal is about the header that asks for thinking between tool calls."""
    return bool(_REFUSES_BETA.search(refusal))


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
        self._lifetime = lifetime
        self._volunteers = bool(_CLAUDE.search(model.lower()))  # other makers' servers think by default
        self._kinds, efforts = _thinking_of(model)
        self._efforts = EffortLevels(model, self._lessons, efforts)
        self._known: dict[str, tuple[Message, bytes]] = {}
        self._known_tools: tuple[tuple[ToolSpec, ...], bytes, bytes] = ((), b"", b"")
        # About the last request, for reading its refusal.
        self._last = ChatRequest(system="", messages=())
        self._sent_kind = self._sent_level = ""
        self._sent_output = 0
        # What later requests leave out because the server refused it.
        self._without_reasoning = frozenset[str]()
        self._loop_without_thinking = ""
        self._most_output = 0

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted if self._kind() else ()

    def decoder(self) -> MessagesDecoder:
        """See `WireProtocol`."""
        return MessagesDecoder(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`. Each refusal takes something away that was sent, so this ends."""
        words = refusal.lower()
        if "cache_control" in words:
            return self._adapt_caching(words)
        if found := _WINDOW_SUM.search(words):
            return self._adapt_to_window(*(int(number.replace(",", "")) for number in found.groups()))
        if "max_tokens" in words and "budget" not in words and self._adapt_output(words):
            return ""
        if _MISSES_BLOCKS.search(words) and (self._stop_thinking() or self._drop_reasoning()):
            return ""
        if _REFUSES_BLOCKS.search(words) and (self._drop_reasoning() or self._stop_thinking()):
            return ""
        names_level = self._sent_level and re.search(rf"\b{self._sent_level}\b", words)
        if names_level and (said := self._efforts.adapt(refusal)) is not None:
            return said
        if "display" in words and self._sent_kind == _ADAPTIVE and self._lessons.get(_DISPLAYS, True):
            self._lessons[_DISPLAYS] = False
            return ""
        if "thinking" in words and self._sent_kind:
            return self._refuse_kind(words)
        return self._efforts.adapt(refusal) if self._sent_level else None

    def encode(self, request: ChatRequest) -> bytes:
        """See `WireProtocol`."""
        if len(request.messages) < len(self._last.messages):
            self._most_output = 0  # a trim made room
        self._last = request
        self._sent_output = self._output_limit(request)
        options: dict[str, object] = {
            "model": self._model,
            "max_tokens": self._sent_output,
            "stream": True,
            **self._thinking(request, self._sent_output),
        }
        point = self._cache_point()
        parts = [encode_json(options)[:-1]]
        if self._tools and request.tools:
            parts.append(b',"tools":' + self._encoded_tools(request.tools, point))
        if request.system.strip():
            block = encode_json({"type": "text", "text": request.system})
            parts.append(b',"system":[' + _with_point(block, point) + b"]")
        return b"".join((*parts, b',"messages":[', b",".join(self._turns(request, point)), b"]}"))

    # How much the answer may hold, and how hard the model thinks

    def _output_limit(self, request: ChatRequest) -> int:
        wanted = request.max_output_tokens or _SMALLEST_BUDGET
        caps = (as_token_count(self._lessons.get(_MOST_OUTPUT)), self._most_output)
        return min(wanted, *(cap for cap in caps if cap)) if any(caps) else wanted

    def _thinking(self, request: ChatRequest, max_tokens: int) -> dict[str, object]:
        """The fields that ask for thinking. They stay the same in a session: to change them voids the cache."""
        kind = self._kind()
        level = self._efforts.choose(request.effort if kind else AUTO)
        self._sent_kind, self._sent_level = "", level
        asks = self._volunteers or level
        if not kind or not asks:
            return self._disabled() if kind and self._is_silent(request.messages) else {}
        if level == "none" or self._is_silent(request.messages):
            return self._disabled()
        if kind == _ADAPTIVE:
            self._sent_kind = _ADAPTIVE
            display = {"display": "summarized"} if self._lessons.get(_DISPLAYS, True) else {}
            options: dict[str, object] = {"thinking": {"type": "adaptive", **display}}
            return {**options, "output_config": {"effort": level}} if level else options
        budget = min(_BUDGETS[level or "medium"], max_tokens - max(_SMALLEST_BUDGET, max_tokens // 4))
        if budget < _SMALLEST_BUDGET:
            return {}
        if self._volunteers and _begins_without_thinking(_open_loop(request.messages), self._sends_items):
            return self._disabled()
        self._sent_kind = _ENABLED
        options = {"thinking": {"type": "enabled", "budget_tokens": budget}}
        if level and "deepseek" in self._model.lower():  # which ignores the budget
            options["output_config"] = {"effort": "low" if level == "minimal" else level}
        return options

    def _disabled(self) -> dict[str, object]:
        return {"thinking": {"type": "disabled"}}

    def _kind(self) -> str:
        refused = as_list(self._lessons.get(_REFUSED_KINDS))
        return next((kind for kind in self._kinds if kind not in refused), "")

    def _is_silent(self, messages: Sequence[Message]) -> bool:
        """Whether the server refused to think in this tool loop, for lack of the reasoning that began it."""
        loop = _open_loop(messages)
        return bool(loop) and loop[0].id == self._loop_without_thinking

    def _sends_items(self, message: AssistantMessage) -> bool:
        return (
            bool(message.reasoning_items)
            and message.reasoning_origin == self._origin
            and message.id not in self._without_reasoning
        )

    # What refusals teach

    def _adapt_caching(self, words: str) -> str | None:
        lesson = _LIVES if "ttl" in words and self._lifetime != "5m" and self._lessons.get(_LIVES, True) else _CACHES
        if not self._lessons.get(lesson, True):
            return None
        self._lessons[lesson] = False
        return f"{self._model} takes no cache lifetime: its own is used" if lesson == _LIVES else ""

    def _adapt_to_window(self, sent: int, _: int, window: int) -> str | None:
        """Ask for a shorter answer where input and answer together are too long; None where that does not help."""
        left = (window - sent) * 3 // 4  # the next steps add to the input
        if not _SMALLEST_ANSWER <= left < self._sent_output:
            return None
        self._most_output = left
        return ""

    def _adapt_output(self, words: str) -> bool:
        """Learn the longest answer a model gives, from a refusal of a longer one."""
        from clio.providers.error_meaning import find_overflow  # only refusals need it

        if find_overflow(words) is not None:
            return False
        text = " ".join(_OUTPUT_NUMBERS.findall(words)).replace(",", "")
        numbers = [int(number) for number in re.findall(r"\b\d+\b", text) if len(number) < 9]
        most = max((number for number in numbers if 256 <= number < self._sent_output), default=0)
        if most:
            self._lessons[_MOST_OUTPUT] = most
        return bool(most)

    def _drop_reasoning(self) -> bool:
        """Leave out the reasoning that was just sent; False where none was."""
        answers = [message for message in self._last.messages if isinstance(message, AssistantMessage)]
        refused = {message.id for message in answers if self._sends_items(message)}
        self._without_reasoning |= refused
        for key in refused:
            self._known.pop(key, None)
        return bool(refused)

    def _stop_thinking(self) -> bool:
        """Ask for no thinking until the tool loop ends whose reasoning the server misses; False where none is open."""
        loop = _open_loop(self._last.messages)
        if not loop or self._is_silent(self._last.messages):
            return False
        self._loop_without_thinking = loop[0].id
        return True

    def _refuse_kind(self, words: str) -> str | None:
        self._lessons[_REFUSED_KINDS] = [*as_list(self._lessons.get(_REFUSED_KINDS)), self._sent_kind]
        if not self._kind() and self._sent_level:
            return f"{self._model} does not take an effort: its own default is used"
        return ""

    # The parts

    def _cache_point(self) -> bytes:
        """What follows the last field of a block that ends a cached prefix; b"" where the server takes no points."""
        if not self._lessons.get(_CACHES, True):
            return b""
        lives = self._lifetime != "5m" and self._lessons.get(_LIVES, True)
        return b',"cache_control":' + encode_json({"type": "ephemeral", **({"ttl": self._lifetime} if lives else {})})

    def _encoded_tools(self, tools: tuple[ToolSpec, ...], point: bytes) -> bytes:
        if self._known_tools[0] is not tools or self._known_tools[1] != point:
            rows = [
                encode_json({"name": tool.name, "description": tool.description, "input_schema": tool.parameters})
                for tool in tools
            ]
            rows[-1] = _with_point(rows[-1], point)
            self._known_tools = (tools, point, b"[" + b",".join(rows) + b"]")
        return self._known_tools[2]

    def _turns(self, request: ChatRequest, point: bytes) -> list[bytes]:
        """The messages: neighbours of one role as one, the last two of the user with a cache point at their end.

        User messages hold text, pictures and tool results only, all of which may carry a cache point.
        """
        turns: list[tuple[str, list[bytes]]] = []
        for message in request.messages:
            if message is request.messages[-1] and isinstance(message, AssistantMessage):
                # A paused answer that goes back to be continued; its end must not be blank.
                message = structs.replace(message, content=message.content.rstrip())
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
            blocks[-1] = _with_point(blocks[-1], point)
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
                    row["content"] = content or _text("(no output)")  # an error without content is refused
                    row["is_error"] = True
                return [row]
            case AssistantMessage():
                return self._answer(message)

    def _pictures(self, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> list[object]:
        if not self._images:
            return _text(append_image_names("", parts))
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
        for part in iter_answer_parts(message, self._origin):
            match part:
                case str():
                    rows += _text(part)
                case ToolCall():
                    given = Raw(make_valid_arguments(part.arguments).encode("utf-8", "replace"))
                    rows.append({"type": "tool_use", "id": _id(part.id), "name": _name(part.name), "input": given})
                case ReasoningItem():
                    if message.id not in self._without_reasoning:
                        rows.append(decode_json(part.data, dict[str, Any]))
        while rows and as_text(as_dict(rows[-1]).get("type")) in THINKING_BLOCKS:
            rows.pop()  # an answer that was cut off; no message may end with its reasoning
        return rows

    def _sweep(self, messages: tuple[Message, ...]) -> None:
        if len(self._known) > len(messages) + _SPARE_ENTRIES:
            kept = {message.id for message in messages}
            self._known = {key: entry for key, entry in self._known.items() if key in kept}


def _text(text: str) -> list[object]:
    """A text block; none for text that is empty or blank, which the server refuses."""
    return [{"type": "text", "text": text}] if text.strip() else []


def _with_point(block: bytes, point: bytes) -> bytes:
    return block[:-1] + point + b"}" if point else block


def _id(call_id: str) -> str:
    """The id of a call in the letters this protocol allows, and different for every id."""
    allowed = re.sub(r"[^a-zA-Z0-9_-]", "_", call_id)
    if allowed and allowed == call_id:
        return call_id
    return f"{allowed}_{zlib.crc32(call_id.encode('utf-8', 'replace')):08x}"


def _name(tool: str) -> str:
    """The name of a called tool in the letters this protocol allows; other models make up names with any."""
    return re.sub(r"[^a-zA-Z0-9_-]", "_", tool)[:64] or "unknown"


def _version(model: str) -> tuple[int, int] | None:
    """The version in the name of a Claude model, (4, 5) for "claude-sonnet-4-5-20250929"; None where there is none."""
    name = model.lower()
    if not _CLAUDE.search(name):
        return None
    numbers = [int(number) for number in _VERSION.findall(name)]
    return (numbers[0], numbers[1] if len(numbers) > 1 else 0) if numbers else None


def _thinking_of(model: str) -> tuple[tuple[str, ...], tuple[str, ...]]:
    """The ways to ask a model for thinking, the one to begin with first, and the efforts it takes.

    Claude 3.7 to 4.5 think within a budget, later ones as far as they find it worthwhile; earlier ones not at all.
    """
    if not _CLAUDE.search(model.lower()):
        return (_ENABLED, _ADAPTIVE), EFFORTS
    version = _version(model) or _NEWEST
    if version < (3, 7):
        return (), ()
    if version < (4, 6):
        return (_ENABLED, _ADAPTIVE), EFFORTS
    without = {"minimal"}
    if version < (4, 7):
        without.add("xhigh")
    if _ALWAYS_THINKS.search(model.lower()):
        without.add("none")
    return (_ADAPTIVE, _ENABLED), tuple(level for level in EFFORTS if level not in without)


def _open_loop(messages: Sequence[Message]) -> list[AssistantMessage]:
    """The answers of the tool loop that the newest tool result belongs to, oldest first; none where none is open."""
    place = len(messages)
    has_result = False
    loop: list[AssistantMessage] = []
    while place:
        place -= 1
        message = messages[place]
        if isinstance(message, ToolMessage):
            has_result = True
        elif isinstance(message, AssistantMessage):
            if not has_result:  # what follows it are the user's words alone: they begin a new turn
                break
            loop.append(message)
            has_result = False
    return loop[::-1]


def _begins_without_thinking(loop: Sequence[AssistantMessage], sends_items: Callable[[AssistantMessage], bool]) -> bool:
    """Whether the first answer of a loop goes back without the thinking it must begin with."""
    if not loop:
        return False
    first = loop[0]
    return not sends_items(first) or first.reasoning_items[0].text > 0 or first.reasoning_items[0].calls > 0
