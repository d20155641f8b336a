"""Chat Completions: encodes requests and decodes events, in the dialect of each server."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from operator import itemgetter
from typing import Literal

import msgspec
from msgspec import structs

from clio.messages import AssistantMessage, Message, ReasoningItem, SystemMessage, ToolMessage, Usage, UserMessage
from clio.providers.base import (
    ChatRequest,
    Chunk,
    Lessons,
    ProtocolName,
    ToolCallDelta,
    ToolSpec,
    append_image_names,
    encode_result_pictures,
    encode_user_content,
    join_user_messages,
)
from clio.providers.effort import EffortLevels
from clio.providers.failure import Failure, TransportFailed
from clio.providers.profiles import EXTRA_FIELDS, ServerQuirks, find_refused_field, learn_quirks
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
from clio.text.lazy_regex import LazyRegex

THINK_OPEN, THINK_CLOSE = "<think>", "</think>"
_FENCES = "`~"
_MAX_FENCE_CHARS = 200  # characters of a line that are stored to see whether it opens or closes a code block
_MAX_HELD_CHARS = 32_000  # a later block longer than this is ordinary text


AnswerPiece = tuple[Literal["text", "reasoning"], str]
"""A piece of an answer, and what it is."""


class ThinkSplitter:
    """Separates the text of one answer from reasoning between <think> tags. The text may be split anywhere.

    A block counts as reasoning if it is at the beginning of the answer, or if it starts a line outside a code block and
    is closed. A block at the beginning is passed on at once and may stay open. Later blocks are held back until they
    are closed; if that never happens, they are ordinary text.
    """

    def __init__(self) -> None:
        self._held = ""  # undecided text: the beginning of a tag, or a later block that is still open
        self._inside = False  # whether this is inside a block that is passed on
        self._began = False  # whether the answer has had text other than white space
        self._blank = True  # whether the current line has only white space so far
        self._line = ""  # the current line if it may open or close a code block
        self._fence = ""  # the characters that opened the current code block

    def feed(self, text: str) -> list[AnswerPiece]:
        """Return the pieces that are certain after this text, in the order of the answer."""
        if not (self._held or self._inside or self._blank or self._line or "\n" in text):
            return [("text", text)]  # nearly every piece of an answer
        data, self._held = self._held + text, ""
        pieces: list[AnswerPiece] = []
        while data:
            data = self._take_reasoning(data, pieces) if self._inside else self._take_line(data, pieces)
        return [
            (kind, joined)
            for kind, run in groupby(pieces, itemgetter(0))
            if (joined := "".join(piece for _, piece in run))
        ]

    def end(self) -> list[AnswerPiece]:
        """Return what was held back, at the end of the answer."""
        held, self._held = self._held, ""
        return [("reasoning" if self._inside else "text", held)] if held else []

    def _take_reasoning(self, data: str, pieces: list[AnswerPiece]) -> str:
        """Append reasoning up to the end tag; return the text after it."""
        before, closed, after = data.partition(THINK_CLOSE)
        if closed:
            pieces.append(("reasoning", before))
            self._inside, self._blank, self._line = False, True, ""
            return after
        keep = _count_tag_overlap(data, THINK_CLOSE)
        pieces.append(("reasoning", data[: len(data) - keep]))
        self._held = data[len(data) - keep :]
        return ""

    def _take_line(self, data: str, pieces: list[AnswerPiece]) -> str:
        """Append text up to the end of the line at most; return the rest."""
        line, newline, rest = data.partition("\n")
        if self._blank:
            bare = line.lstrip()
            if bare and not self._fence:
                space = line[: len(line) - len(bare)]
                if bare.startswith(THINK_OPEN):
                    pieces.append(("text", space))
                    return self._open_block(data[len(space) :], pieces)
                if not newline and THINK_OPEN.startswith(bare):
                    pieces.append(("text", space))
                    self._held = bare
                    return ""
            self._blank = not bare
            self._line = bare if bare[:1] and bare[0] in _FENCES else ""
        elif self._line:
            self._line = (self._line + line)[:_MAX_FENCE_CHARS]
        self._began = self._began or not self._blank
        pieces.append(("text", line + newline))
        if newline:
            self._end_line()
        return rest

    def _open_block(self, data: str, pieces: list[AnswerPiece]) -> str:
        """Begin a block; return the text that is still to be read."""
        if not self._began:
            self._inside = True
            return data[len(THINK_OPEN) :]
        end = data.find(THINK_CLOSE, 0, _MAX_HELD_CHARS)
        if end >= 0:
            pieces.append(("reasoning", data[len(THINK_OPEN) : end]))
            return data[end + len(THINK_CLOSE) :]
        if len(data) < _MAX_HELD_CHARS:
            self._held = data
            return ""
        pieces.append(("text", THINK_OPEN))
        self._blank = False
        return data[len(THINK_OPEN) :]

    def _end_line(self) -> None:
        """Open or close a code block if the finished line is a fence."""
        line, self._line, self._blank = self._line.rstrip(), "", True
        run = line[: len(line) - len(line.lstrip(line[:1]))] if line else ""
        if len(run) < 3:
            return
        if not self._fence:
            self._fence = run
        elif run == line and run.startswith(self._fence):
            self._fence = ""


def _count_tag_overlap(text: str, tag: str) -> int:
    """Return how many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-size:])), 0)


SIGNATURE_FIELD = "thought_signature"
_TICKS_PER_DOLLAR = 1e10  # the unit of xAI's costs
_MAX_DOLLARS = 10_000.0  # no single answer costs more, so a larger number is not an amount in dollars
_USAGE_FIELDS = ("usage", "x_groq", "timings")
REASONING_FIELD = "reasoning_field"
"""Key of a stored reasoning item that says which field the reasoning was received in; never sent to a server."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
_JOINED_FIELDS = ("text", "summary", "data", "signature")  # fields of a reasoning detail that arrive in pieces
_FINISH_REASONS = {
    "end_turn": "stop",
    "eos": "stop",
    "eos_token": "stop",
    "stop_sequence": "stop",
    "function_call": "tool_calls",
    "tool_use": "tool_calls",
    "max_tokens": "length",
    "model_length": "length",
    "sensitive": "content_filter",
}
"""Finish reasons of some servers, and their equivalents in Chat Completions."""
_OUTPUT_LIMIT = LazyRegex(r"^token limit reached|(?:output|completion) tokens? limit", re.IGNORECASE)
_FAILURE_REASONS = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
"""Finish reasons of an answer that the server could not complete. Some come without an error message."""


class ChatDecoder:
    """Decodes the events of one answer in order.

    The finish reason and the usage are returned only by `ending`, because servers repeat, correct or delay them.
    """

    def __init__(self, origin: str = "") -> None:
        self.events = 0
        self._origin = origin
        self.has_content = False
        self.finish_reason = ""
        self.usage: Usage | None = None
        self.cost: int | None = None
        self._signatures: dict[int, str] = {}  # Gemini's thought signatures, by index of the tool call
        self._details: list[dict[str, object]] = []  # in OpenRouter's format, with their pieces joined
        self._field = ""  # the field in which reasoning was received
        self._tags = ThinkSplitter()
        self._ids: list[str] = []  # the id of each call, by clio's index; "" if it has none
        self._named: list[bool] = []
        self._indexes: dict[int, int] = {}  # the server's index -> clio's index
        self._arguments: list[list[str]] = []

    def take(self, event: object) -> Sequence[Chunk]:
        """Decode one event: a chunk, or a whole answer that was not streamed."""
        self.events += 1
        data = as_dict(event)
        if any(field in data for field in _USAGE_FIELDS):
            self.usage = _find_usage(data) or self.usage
            self.cost = read_cost(data.get("usage"), self.cost)
        if error := data.get("error"):
            if self.has_content and _OUTPUT_LIMIT.search(as_text(as_dict(error).get("message"))):
                self.finish_reason = "length"  # OpenRouter repeats the output limit as an error
            raise _failure(data)
        if as_token_count(as_dict(data.get("base_resp")).get("status_code")):  # MiniMax reports errors with status 200
            raise _failure(data)
        choices = as_list(data.get("choices"))
        if not choices or not (choice := as_dict(choices[0])):
            return ()
        if choice.get("error"):
            raise _failure(choice)
        if "usage" in choice:
            self.usage = read_usage(choice["usage"]) or self.usage
        delta = as_dict(choice.get("delta")) or as_dict(choice.get("message"))
        chunks = self._read_content(delta)
        calls = tuple(map(self._decode_call, _list_call_items(delta)))
        if reason := as_text(choice.get("finish_reason")):
            self._take_finish_reason(reason)
            chunks += _make_chunks(self._tags.end())
        if calls:
            last = chunks.pop() if chunks else Chunk()
            chunks.append(structs.replace(last, tool_calls=calls))
        self.has_content = self.has_content or bool(chunks)
        return chunks

    def ending(self) -> Chunk:
        """See `AnswerDecoder`."""
        items = [encode_json(detail) for detail in self._details]
        if self._field:
            items.append(encode_json({REASONING_FIELD: self._field}))
        reasoning_items = [ReasoningItem(data=item.decode("utf-8")) for item in items]
        reasoning_items += [
            ReasoningItem(data=encode_json({SIGNATURE_FIELD: signature}).decode("utf-8"), calls=number)
            for number, signature in sorted(self._signatures.items())
        ]
        held = dict(self._tags.end())
        return Chunk(
            text=held.get("text", ""),
            reasoning=held.get("reasoning", ""),
            finish_reason=self.finish_reason,
            usage=self.usage,
            cost=self.cost,
            reasoning_items=tuple(reasoning_items),
            origin=self._origin if reasoning_items else "",
        )

    @property
    def is_finished(self) -> bool:
        """See `AnswerDecoder`. Always False: the end, "[DONE]", is read by the transport and is not an event."""
        return False

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete. Some servers send no finish reason; then every call must be valid JSON."""
        if self.finish_reason:
            return True
        return self.has_content and all(_is_json("".join(pieces)) for pieces in self._arguments)

    def _take_finish_reason(self, reason: str) -> None:
        if reason in _FAILURE_REASONS:
            message = f"the answer ended with the finish reason {reason!r}"
            raise _failure({"error": {"message": message, "type": "server_error"}})
        # Gemini appends its own reason: "content_filter: PROHIBITED_CONTENT".
        reason = reason.partition(":")[0].strip() if reason.startswith("content_filter") else reason
        self.finish_reason = _FINISH_REASONS.get(reason, reason)

    def _read_content(self, delta: dict[str, object]) -> list[Chunk]:
        """Return the text and reasoning of a delta in order. Mistral sends both as a list of parts."""
        content = delta.get("content")
        if details := as_list(delta.get("reasoning_details")):
            self._add_details(details)
        field = next((field for field in REASONING_FIELDS if as_text(delta.get(field))), "")
        reasoning = as_text(delta.get(field)) if field else "".join(map(_read_detail_text, details))
        if field:
            self._field = field
        pieces: list[AnswerPiece] = []
        if isinstance(content, str) and content:
            pieces = self._tags.feed(content)
            if self._field or self._details:
                # MiniMax repeats in the text, between tags, the reasoning that it has already sent.
                pieces = [piece for piece in pieces if piece[0] == "text"]
        elif refusal := as_text(delta.get("refusal")):
            pieces = [("text", refusal)]
        for part in map(as_dict, as_list(content)):
            thinking = part.get("thinking")
            thought = as_text(thinking) or "".join(as_text(as_dict(item).get("text")) for item in as_list(thinking))
            pieces.append(("text", as_text(part.get("text"))))
            pieces.append(("reasoning", thought))
        chunks = _make_chunks(pieces)
        if not reasoning:
            return chunks
        if chunks and not chunks[0].reasoning:
            return [structs.replace(chunks[0], reasoning=reasoning), *chunks[1:]]
        return [Chunk(reasoning=reasoning), *chunks]

    def _add_details(self, details: list[object]) -> None:
        """Join the pieces of reasoning details: those with the same type and index, unless their ids differ."""
        for piece in map(as_dict, details):
            whole = next((detail for detail in reversed(self._details) if _is_same_detail(piece, detail)), None)
            if whole is None:
                self._details.append(dict(piece))
                continue
            for name, value in piece.items():
                before = whole.get(name)
                if name in _JOINED_FIELDS and isinstance(before, str) and isinstance(value, str):
                    whole[name] = before + value
                elif value is not None:
                    whole[name] = value

    def _decode_call(self, item: object) -> ToolCallDelta:
        call = as_dict(item)
        function = as_dict(call.get("function")) or call
        call_id, name = as_text(call.get("id")), as_text(function.get("name"))
        arguments = _read_arguments(function.get("arguments"))
        index = self._find_call_index(call.get("index"), call_id, name)
        self._ids[index] = self._ids[index] or call_id
        self._named[index] = self._named[index] or bool(name)
        self._arguments[index].append(arguments)
        if signature := _read_signature(call):
            self._signatures[index] = signature
        return ToolCallDelta(index=index, id=self._ids[index], name=name, arguments=arguments)

    def _find_call_index(self, wire_index: object, call_id: str, name: str) -> int:
        """Return clio's index of a call. Some servers send no index; some send 0 for every call, with different ids."""
        if not isinstance(wire_index, int) or isinstance(wire_index, bool):
            wire_index = self._guess_wire_index(call_id, name)
        known = self._indexes.get(wire_index)
        if known is not None:
            is_other_call = bool(call_id and self._ids[known] and call_id != self._ids[known])
            if not (is_other_call and name and self._named[known]):
                return known
        self._indexes[wire_index] = len(self._ids)
        self._ids.append("")
        self._named.append(False)
        self._arguments.append([])
        return len(self._ids) - 1

    def _guess_wire_index(self, call_id: str, name: str) -> int:
        """Return an index for a part of a call without one: that of the call with its id, else of the newest call."""
        if call_id and call_id in self._ids:
            return next(wire for wire, ours in self._indexes.items() if self._ids[ours] == call_id)
        begins = bool(name) or not self._indexes
        return -len(self._ids) - 1 if begins else next(reversed(self._indexes))


def _make_chunks(pieces: Iterable[AnswerPiece]) -> list[Chunk]:
    """Return one chunk for each piece that is not empty."""
    return [Chunk(text=piece) if kind == "text" else Chunk(reasoning=piece) for kind, piece in pieces if piece]


def merge_chunks(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """Yield the same answer in fewer chunks: neighbouring text chunks are joined, and so are reasoning chunks."""
    for kind, run in groupby(chunks, _classify_chunk):
        if kind == "text":
            yield Chunk(text="".join(chunk.text for chunk in run))
        elif kind == "reasoning":
            yield Chunk(reasoning="".join(chunk.reasoning for chunk in run))
        else:
            yield from run


def _classify_chunk(chunk: Chunk) -> str:
    """Return "text" or "reasoning" for a chunk with only that, else ""."""
    if chunk.tool_calls or (chunk.text and chunk.reasoning):
        return ""
    return "text" if chunk.text else "reasoning"


def _list_call_items(delta: dict[str, object]) -> list[object]:
    calls = as_list(delta.get("tool_calls"))
    old = as_dict(delta.get("function_call"))  # the predecessor of tool_calls; a few servers still send it
    return calls or ([{"index": 0, "function": old}] if old else [])


def _is_same_detail(piece: dict[str, object], detail: dict[str, object]) -> bool:
    if piece.get("type") != detail.get("type") or piece.get("index") != detail.get("index"):
        return False
    return not (piece.get("id") and detail.get("id") and piece["id"] != detail["id"])


def _read_detail_text(detail: object) -> str:
    data = as_dict(detail)
    return as_text(data.get("text")) or as_text(data.get("summary"))


def _failure(data: dict[str, object]) -> TransportFailed:
    return TransportFailed(Failure(kind="in_stream", body=encode_json(data).decode("utf-8")))


def _read_arguments(value: object) -> str:
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode("utf-8")
    return as_text(value)


def _read_signature(call: dict[str, object]) -> str:
    extra = as_dict(call.get("extra_content"))
    vendors = [as_dict(extra.get(vendor)) for vendor in ("google", "vertex")]
    return next((as_text(vendor.get("thought_signature")) for vendor in vendors if vendor), "")


def _find_usage(data: dict[str, object]) -> Usage | None:
    """Return the usage from its usual field, or from those of Groq and llama.cpp."""
    return (
        read_usage(data.get("usage"))
        or read_usage(as_dict(data.get("x_groq")).get("usage"))
        or _read_timings(as_dict(data.get("timings")))
    )


def _read_timings(timings: dict[str, object]) -> Usage | None:
    """Return usage from llama.cpp's timings. `prompt_n` excludes cached tokens, so it needs `cache_n` beside it."""
    if "cache_n" not in timings:
        return None
    cached = as_token_count(timings.get("cache_n"))
    prompt = as_token_count(timings.get("prompt_n")) + cached
    completion = as_token_count(timings.get("predicted_n"))
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached) if prompt else None


def read_usage(value: object) -> Usage | None:
    """Return the tokens of an answer; None if missing, all zero, or more than any model supports."""
    data = as_dict(value)
    if not data:  # as in nearly every chunk
        return None
    if any(is_absurd_token_count(count) for name, count in data.items() if name.endswith("_tokens")):
        return None
    prompt = as_token_count(data.get("prompt_tokens")) or as_token_count(data.get("input_tokens"))
    completion = as_token_count(data.get("completion_tokens")) or as_token_count(data.get("output_tokens"))
    if not prompt and not completion:
        return None
    details = as_dict(data.get("prompt_tokens_details"))
    cached = max(
        as_token_count(details.get("cached_tokens")),
        as_token_count(data.get("prompt_cache_hit_tokens")),
        as_token_count(data.get("cache_read_input_tokens")),
        as_token_count(data.get("cached_tokens")),
    )
    cached = min(cached, prompt)
    written = as_token_count(details.get("cache_write_tokens")) or as_token_count(
        data.get("cache_creation_input_tokens")
    )
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=min(written, prompt - cached),
        reasoning_tokens=as_token_count(as_dict(data.get("completion_tokens_details")).get("reasoning_tokens")),
    )


def read_cost(value: object, before: int | None = None) -> int | None:
    """Return the cost of an answer in micro-dollars, or `before` if the server does not report it.

    OpenRouter sends dollars as `cost`. If the user's own key for the maker was used (`is_byok`), `cost` is only
    OpenRouter's fee, and a second field has the maker's price. xAI sends ticks: 10,000,000,000 per dollar.
    """
    data = as_dict(value)
    paid = _read_amount(data.get("cost"))
    ticks = _read_amount(data.get("cost_in_usd_ticks"), _MAX_DOLLARS * _TICKS_PER_DOLLAR)
    if paid is None and ticks is not None:
        paid = ticks / _TICKS_PER_DOLLAR
    if paid is None:
        return before
    upstream = _read_amount(as_dict(data.get("cost_details")).get("upstream_inference_cost"))
    return round((paid + (upstream or 0.0 if data.get("is_byok") is True else 0.0)) * 1_000_000)


def _read_amount(value: object, max_value: float = _MAX_DOLLARS) -> float | None:
    """Return an amount of money; None if the value is not a number, negative, or too large."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < max_value else None


def _is_json(text: str) -> bool:
    try:
        decode_json(text or "{}")
    except msgspec.DecodeError:
        return False
    return True


# Google's placeholder for a call without a signature, such as one of another model or of an earlier run.
NO_SIGNATURE = "skip_thought_signature_validator"
_USER_HEAD, _ROW_END, _BLANK_LINE = b'{"role":"user","content":"', b'"}', b"\\n\\n"
_DEFAULT_QUIRKS = ServerQuirks()
_REFUSED = "refused"
_LEARNED_QUIRKS: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("max_tokens_field", ("max_tokens", "max_completion_tokens")),
    ("stream_usage", (True, False)),
    ("effort_none_with_tools", (True, False)),
    ("effort_none_refused", (True, False)),
    ("echo_reasoning", (True, False)),
    ("thought_signatures", (True, False)),
    ("null_content", (True, False)),
)
"""Quirks that are learned from rejected requests, and their possible values; stored as lessons under these names."""
_NO_REASONING = " "  # for servers that reject a call without reasoning; some treat empty text as missing
_MAX_CACHE_POINTS = 2  # in the conversation; together with the system prompt's, below the limit of four
_WANTS_REASONING = LazyRegex(r"reasoning_content|thought_signature")
_SPARE_ENTRIES = 200  # how many more encoded messages than a request has may be stored before old ones are removed


def append_message(rows: list[bytes], row: bytes) -> None:
    """Append an encoded message. A user message after a user message is joined with it.

    Chat templates of several model families reject two user messages in a row, and they occur: after an interrupted
    turn, or when a summary precedes a question. The bytes are joined so that the beginning stays the same as in an
    earlier request, as the server's prompt cache requires.
    """
    if rows and row.startswith(_USER_HEAD) and rows[-1].startswith(_USER_HEAD):
        rows[-1] = rows[-1][: -len(_ROW_END)] + _BLANK_LINE + row[len(_USER_HEAD) :]
    elif rows and (joined := join_user_messages(rows[-1], row)):
        rows[-1] = joined
    elif row:
        rows.append(row)


class ChatProtocol:
    """See `WireProtocol`.

    Args:
        quirks: how the server's dialect differs.
        images: whether the model accepts images.
        origin: names protocol, host and model; reasoning items of another origin are not sent.
        lifetime: how long a cache point is valid, "5m" or "1h", on servers that support cache points.
    """

    name: ProtocolName = "chat"
    path = "/chat/completions"
    needs_output_limit = False

    def __init__(
        self,
        model: str,
        quirks: ServerQuirks = _DEFAULT_QUIRKS,
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
        known = {name: self._lessons[name] for name, values in _LEARNED_QUIRKS if self._lessons.get(name) in values}
        refused = tuple(map(as_text, as_list(self._lessons.get(_REFUSED))))
        self._quirks = structs.replace(quirks, **known, refused=refused)
        self._efforts = EffortLevels(model, self._lessons, quirks.effort.levels)
        self._cache_point = {"type": "ephemeral", **({"ttl": lifetime} if lifetime != "5m" else {})}
        self._sent: frozenset[str] = frozenset()  # the EXTRA_FIELDS in the last request
        self._encoded_messages: dict[str, tuple[Message, ServerQuirks, bytes]] = {}
        self._encoded_tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted

    def decoder(self) -> ChatDecoder:
        """See `WireProtocol`."""
        return ChatDecoder(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`."""
        field = find_refused_field(self._quirks, refusal)
        if field is not None and field in self._sent:
            self._quirks = structs.replace(self._quirks, refused=(*self._quirks.refused, field))
            self._lessons[_REFUSED] = list(self._quirks.refused)
            return ""
        if not _WANTS_REASONING.search(refusal) and (notice := self._efforts.adapt(refusal)) is not None:
            return notice
        taught_quirks = learn_quirks(self._quirks, refusal)
        if taught_quirks is None:
            return None
        changed = [name for name, _ in _LEARNED_QUIRKS if getattr(taught_quirks, name) != getattr(self._quirks, name)]
        self._lessons.update({name: getattr(taught_quirks, name) for name in changed})
        self._quirks = taught_quirks
        return ""

    def encode(self, request: ChatRequest) -> bytes:
        """Return the body. What stays the same in a session comes first: model, options, tools, system prompt."""
        quirks = self._quirks
        options: dict[str, object] = {"model": self._model, "stream": True}
        if quirks.stream_usage:
            options["stream_options"] = {"include_usage": True}
        if request.max_output_tokens is not None:
            options[quirks.max_tokens_field] = request.max_output_tokens
        if request.stop and "stop" not in quirks.refused:  # some reasoning models refuse it
            options["stop"] = request.stop
        tools = request.tools if self._tools else ()
        effort = self._efforts.choose(request.effort)
        if not effort and tools and quirks.effort_none_with_tools:
            effort = "none"
        options |= self._remove_refused(quirks.effort.options(effort))
        if quirks.cache_key and request.cache_key and "prompt_cache_key" not in quirks.refused:
            options["prompt_cache_key"] = request.cache_key
        parts = [encode_json(options)[:-1]]
        self._note_sent_fields(parts[0])
        if tools:
            parts.append(b',"tools":' + self._encode_tools(tools))
        return b"".join((*parts, b',"messages":[', b",".join(self._encode_messages(request, quirks)), b"]}"))

    def _remove_refused(self, fields: dict[str, object]) -> dict[str, object]:
        """Return the fields, and the fields within them, that the server has not rejected."""
        refused = self._quirks.refused
        remaining: dict[str, object] = {}
        for name, value in fields.items():
            if name not in refused:
                inner = {key: each for key, each in as_dict(value).items() if key not in refused}
                remaining[name] = inner or value
        return remaining

    def _note_sent_fields(self, options: bytes) -> None:
        quirks = self._quirks
        sent = {field for field in EXTRA_FIELDS if b'"' + field.encode() + b'"' in options}
        sent |= {"cache_control"} if quirks.cache_points else set()
        sent |= {"reasoning_details"} if quirks.echo_details else set()
        sent |= {"thought_signature"} if quirks.thought_signatures else set()
        sent |= {"reasoning_content"} if quirks.echo_reasoning or quirks.echo_field else set()
        self._sent = frozenset(sent)

    def _encode_messages(self, request: ChatRequest, quirks: ServerQuirks) -> list[bytes]:
        """Return the encoded messages. Images of tool results follow all results of their step."""
        rows = [encode_json({"role": "system", "content": request.system})] if request.system else []
        first = len(rows)
        ends: list[int] = []  # where a run of user and tool messages ends
        images_of_results: list[bytes] = []
        for message in request.messages:
            if images_of_results and not isinstance(message, ToolMessage):
                append_message(rows, encode_result_pictures(images_of_results))
                images_of_results = []
            if isinstance(message, AssistantMessage) and len(rows) > first:
                ends.append(len(rows) - 1)
            append_message(rows, self._encode_message(message, quirks, request.images))
            if isinstance(message, ToolMessage) and message.images and self._images:
                images_of_results.append(self._encode_result_images(message, request.images))
        if images_of_results:
            append_message(rows, encode_result_pictures(images_of_results))
        self._drop_old_encodings(request.messages)
        if quirks.cache_points and "cache_control" not in quirks.refused:
            indexes = dict.fromkeys([*ends, len(rows) - 1])
            for index in [*range(first), *list(indexes)[-_MAX_CACHE_POINTS:]]:
                rows[index] = self._add_cache_point(rows[index])
        return rows

    def _add_cache_point(self, row: bytes) -> bytes:
        """Return the encoded message with a cache point at the end of its text."""
        data = as_dict(decode_json(row))
        content = data.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else as_list(content)
        texts = [part for part in map(as_dict, parts) if part.get("type") == "text"]
        if not texts:
            return row
        texts[-1]["cache_control"] = self._cache_point
        return encode_json({**data, "content": parts})

    def _encode_result_images(self, message: ToolMessage, images: Mapping[str, bytes]) -> bytes:
        """Return the images of a tool result as encoded parts."""
        key = f"{message.id} pictures"
        known = self._encoded_messages.get(key)
        if known is not None and known[0] is message:
            return known[2]
        parts = as_list(
            encode_user_content(f"Pictures of the result of {message.name or 'a tool'}:", message.images, images)
        )
        encoded = encode_json(parts)[1:-1]
        self._encoded_messages[key] = (message, self._quirks, encoded)
        return encoded

    def _encode_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._encoded_tools[0] is not tools:
            rows = [
                {
                    "type": "function",
                    "function": {"name": tool.name, "description": tool.description, "parameters": tool.parameters},
                }
                for tool in tools
            ]
            self._encoded_tools = (tools, encode_json(rows))
        return self._encoded_tools[1]

    def _encode_message(self, message: Message, quirks: ServerQuirks, images: Mapping[str, bytes]) -> bytes:
        """Return the encoded message; b"" for one without content. A trimmed copy has the id of its original."""
        known = self._encoded_messages.get(message.id)
        if known is not None and known[0] is message and known[1] is quirks:
            return known[2]
        row = self._build_row(message, quirks, images)
        encoded = encode_json(row) if row else b""
        self._encoded_messages[message.id] = (message, quirks, encoded)
        return encoded

    def _build_row(self, message: Message, quirks: ServerQuirks, images: Mapping[str, bytes]) -> dict[str, object]:
        match message:
            case SystemMessage():
                return {"role": "system", "content": message.content}
            case UserMessage():
                text = f"{message.context}\n\n{message.content}" if message.context else message.content
                if not self._images:
                    return {"role": "user", "content": append_image_names(text, message.images)}
                return {"role": "user", "content": encode_user_content(text, message.images, images)}
            case ToolMessage():
                text = message.content if self._images else append_image_names(message.content, message.images)
                return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
            case AssistantMessage():
                return self._build_answer(message, quirks)

    def _build_answer(self, message: AssistantMessage, quirks: ServerQuirks) -> dict[str, object]:
        if not message.content and not message.tool_calls:
            return {}  # an answer that was interrupted before its first word; servers reject empty content
        nothing = None if quirks.null_content else ""
        row: dict[str, object] = {"role": "assistant", "content": message.content or nothing}
        own = message.reasoning_items if message.reasoning_origin == self._origin else ()
        items = [(item.calls, as_dict(decode_json(item.data))) for item in own]
        row |= _build_reasoning_fields(message, [item for _, item in items], quirks)
        if not message.tool_calls:
            return row
        signatures: dict[int, str] = {}
        if SIGNATURE_FIELD not in quirks.refused:
            signatures = {number: as_text(item[SIGNATURE_FIELD]) for number, item in items if SIGNATURE_FIELD in item}
        calls: list[dict[str, object]] = []
        for number, call in enumerate(message.tool_calls):
            function = {"name": call.name, "arguments": make_valid_arguments(call.arguments)}
            written: dict[str, object] = {"id": call.id, "type": "function", "function": function}
            signature = signatures.get(number, "" if number else NO_SIGNATURE)
            if quirks.thought_signatures and signature:
                written["extra_content"] = {"google": {"thought_signature": signature}}
            calls.append(written)
        row["tool_calls"] = calls
        return row

    def _drop_old_encodings(self, messages: tuple[Message, ...]) -> None:
        if len(self._encoded_messages) > len(messages) + _SPARE_ENTRIES:
            remaining = {key for message in messages for key in (message.id, f"{message.id} pictures")}
            self._encoded_messages = {key: entry for key, entry in self._encoded_messages.items() if key in remaining}


def _build_reasoning_fields(
    message: AssistantMessage, items: list[dict[str, object]], quirks: ServerQuirks
) -> dict[str, object]:
    """Return the fields with the reasoning of an answer. items: those of this server and model."""
    details = [item for item in items if as_text(item.get("type")).startswith("reasoning.")]
    if details and quirks.echo_details and "reasoning_details" not in quirks.refused:
        return {"reasoning_details": details}
    fields = [as_text(item.get(REASONING_FIELD)) for item in items]
    field = next((field for field in fields if field in REASONING_FIELDS), "")
    if "reasoning_content" in quirks.refused:
        return {}
    if quirks.echo_reasoning:
        text = message.reasoning if field or details else ""
        return {"reasoning_content": text or _NO_REASONING} if text or message.tool_calls else {}
    return {field: message.reasoning} if quirks.echo_field and field and message.reasoning else {}
