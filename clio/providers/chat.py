"""Chat Completions: writes requests and reads their events, whatever the habits of the server."""

import re
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

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
_MOST_FENCE = 200  # characters of a line that are kept to see whether it opens or closes a code block
_MOST_HELD = 32_000  # characters of a later block; a longer one is ordinary text


class ThinkSplitter:
    """Reads the text of one answer in order, cut anywhere.

    A block counts where it begins the answer, or begins a line outside a code block and is closed. At the beginning
    of an answer it is passed on at once and may stay open; later ones are held back until they are closed, and are
    ordinary text if that never happens.
    """

    def __init__(self) -> None:
        self._held = ""  # what cannot be told yet: the beginning of a tag, or a later block that is still open
        self._inside = False  # in a block that is passed on
        self._began = False  # whether the answer has had text other than white space
        self._blank = True  # whether the present line has only white space so far
        self._line = ""  # the present line, where it may open or close a code block
        self._fence = ""  # what opened the present code block

    def feed(self, text: str) -> tuple[str, str]:
        """The text and the reasoning that are certain now."""
        if not (self._held or self._inside or self._blank or self._line or "\n" in text):
            return text, ""  # nearly every piece of an answer
        data, self._held = self._held + text, ""
        said: list[str] = []
        thought: list[str] = []
        while data:
            data = self._think(data, thought) if self._inside else self._say(data, said, thought)
        return "".join(said), "".join(thought)

    def end(self) -> tuple[str, str]:
        """What was held back, now that nothing follows."""
        held, self._held = self._held, ""
        return ("", held) if self._inside else (held, "")

    def _think(self, data: str, thought: list[str]) -> str:
        """Pass on reasoning; returns what follows it."""
        before, closed, after = data.partition(THINK_CLOSE)
        if closed:
            thought.append(before)
            self._inside, self._blank, self._line = False, True, ""
            return after
        keep = _overlap(data, THINK_CLOSE)
        thought.append(data[: len(data) - keep])
        self._held = data[len(data) - keep :]
        return ""

    def _say(self, data: str, said: list[str], thought: list[str]) -> str:
        """Pass on text to the end of the line at most; returns what follows it."""
        line, newline, rest = data.partition("\n")
        if self._blank:
            bare = line.lstrip()
            if bare and not self._fence:
                space = line[: len(line) - len(bare)]
                if bare.startswith(THINK_OPEN):
                    said.append(space)
                    return self._open(data[len(space) :], said, thought)
                if not newline and THINK_OPEN.startswith(bare):
                    said.append(space)
                    self._held = bare
                    return ""
            self._blank = not bare
            self._line = bare if bare[:1] and bare[0] in _FENCES else ""
        elif self._line:
            self._line = (self._line + line)[:_MOST_FENCE]
        self._began = self._began or not self._blank
        said.append(line + newline)
        if newline:
            self._end_line()
        return rest

    def _open(self, data: str, said: list[str], thought: list[str]) -> str:
        """Begin a block; returns what is to be read next."""
        if not self._began:
            self._inside = True
            return data[len(THINK_OPEN) :]
        end = data.find(THINK_CLOSE, 0, _MOST_HELD)
        if end >= 0:
            thought.append(data[len(THINK_OPEN) : end])
            return data[end + len(THINK_CLOSE) :]
        if len(data) < _MOST_HELD:
            self._held = data
            return ""
        said.append(THINK_OPEN)
        self._blank = False
        return data[len(THINK_OPEN) :]

    def _end_line(self) -> None:
        line, self._line, self._blank = self._line.rstrip(), "", True
        run = line[: len(line) - len(line.lstrip(line[:1]))] if line else ""
        if len(run) < 3:
            return
        if not self._fence:
            self._fence = run
        elif run == line and run.startswith(self._fence):
            self._fence = ""


def _overlap(text: str, tag: str) -> int:
    """How many characters at the end of the text may be the beginning of the tag."""
    return next((size for size in range(min(len(tag) - 1, len(text)), 0, -1) if tag.startswith(text[-size:])), 0)


SIGNATURE_FIELD = "thought_signature"
_TICKS = 1e10  # of xAI to a dollar
_MOST_DOLLARS = 10_000.0  # no single answer costs more, so a larger number is no amount of dollars
_BILLS = ("usage", "x_groq", "timings")
REASONING_FIELD = "reasoning_field"
"""Marks in the stored reasoning items which field the reasoning came in; never sent as it is."""
REASONING_FIELDS = ("reasoning_content", "reasoning")
_JOINED = ("text", "summary", "data", "signature")  # what of a reasoning detail comes in pieces
_FINISH = {
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
"""Other words for the finish reasons of Chat Completions."""
_OUTPUT_LIMIT = LazyRegex(r"^token limit reached|(?:output|completion) tokens? limit", re.IGNORECASE)
_FAILED = frozenset({"error", "network_error", "insufficient_system_resource", "abort"})
"""Finish reasons of an answer that the server could not end; no other word of the server comes with some of them."""


class ChatDecoder:
    """Reads the events of one answer in order.

    finish_reason and usage are held back until `ending`, because servers repeat them, correct them, or send them late.
    """

    def __init__(self, origin: str = "") -> None:
        self.events = 0
        self._origin = origin
        self.has_content = False
        self.finish_reason = ""
        self.usage: Usage | None = None
        self.cost: int | None = None
        self._signatures: dict[int, str] = {}  # Gemini's, by the number of the call they came with
        self._details: list[dict[str, object]] = []  # reasoning details as OpenRouter sends them, pieces joined
        self._field = ""  # which field the reasoning came in
        self._tags = ThinkSplitter()
        self._ids: list[str] = []  # the id of each call, by our own index; "" where it has none
        self._named: list[bool] = []
        self._places: dict[int, int] = {}  # the server's index -> ours
        self._arguments: list[list[str]] = []

    def take(self, event: object) -> Chunk | None:
        """The content of one event (a chunk, or a whole answer not streamed), or None where it holds none."""
        self.events += 1
        data = as_dict(event)
        if any(place in data for place in _BILLS):
            self.usage = _find_usage(data) or self.usage
            self.cost = read_cost(data.get("usage"), self.cost)
        if error := data.get("error"):
            if self.has_content and _OUTPUT_LIMIT.search(as_text(as_dict(error).get("message"))):
                self.finish_reason = "length"  # OpenRouter repeats it as an error
            raise _failure(data)
        if as_token_count(as_dict(data.get("base_resp")).get("status_code")):  # MiniMax, with status 200
            raise _failure(data)
        choices = as_list(data.get("choices"))
        if not choices or not (choice := as_dict(choices[0])):
            return None
        if choice.get("error"):
            raise _failure(choice)
        if "usage" in choice:
            self.usage = read_usage(choice["usage"]) or self.usage
        delta = as_dict(choice.get("delta")) or as_dict(choice.get("message"))
        text, thoughts = self._read_content(delta)
        calls = tuple(map(self._call, _call_items(delta)))
        if reason := as_text(choice.get("finish_reason")):
            text, thoughts = self._end(reason, text, thoughts)
        if not (text or thoughts or calls):
            return None
        self.has_content = True
        return Chunk(text=text, reasoning=thoughts, tool_calls=calls)

    def ending(self) -> Chunk:
        """See `AnswerDecoder`."""
        items = [encode_json(detail) for detail in self._details]
        if self._field:
            items.append(encode_json({REASONING_FIELD: self._field}))
        kept = [ReasoningItem(data=item.decode("utf-8")) for item in items]
        kept += [
            ReasoningItem(data=encode_json({SIGNATURE_FIELD: signature}).decode("utf-8"), calls=number)
            for number, signature in sorted(self._signatures.items())
        ]
        text, thoughts = self._tags.end()
        return Chunk(
            text=text,
            reasoning=thoughts,
            finish_reason=self.finish_reason,
            usage=self.usage,
            cost=self.cost,
            reasoning_items=tuple(kept),
            origin=self._origin if kept else "",
        )

    @property
    def is_finished(self) -> bool:
        """See `AnswerDecoder`: the transport sees the end, "[DONE]", which is no event."""
        return False

    @property
    def is_whole(self) -> bool:
        """Whether the answer ended by itself. Some servers name no reason; then half a tool call gives it away."""
        if self.finish_reason:
            return True
        return self.has_content and all(_is_json("".join(pieces)) for pieces in self._arguments)

    def _end(self, reason: str, text: str, thoughts: str) -> tuple[str, str]:
        """Take the reason the model stopped for; returns text and reasoning with what was held back of them."""
        if reason in _FAILED:
            message = f"the answer ended with the finish reason {reason!r}"
            raise _failure({"error": {"message": message, "type": "server_error"}})
        # Gemini adds its own word: "content_filter: PROHIBITED_CONTENT".
        reason = reason.partition(":")[0].strip() if reason.startswith("content_filter") else reason
        self.finish_reason = _FINISH.get(reason, reason)
        more_text, more_thoughts = self._tags.end()
        return text + more_text, thoughts + more_thoughts

    def _read_content(self, delta: dict[str, object]) -> tuple[str, str]:
        """Text and reasoning of a delta; Mistral sends both as a list of parts."""
        content = delta.get("content")
        if details := as_list(delta.get("reasoning_details")):
            self._add_details(details)
        field = next((field for field in REASONING_FIELDS if as_text(delta.get(field))), "")
        thoughts = as_text(delta.get(field)) if field else "".join(map(_text_of_detail, details))
        if field:
            self._field = field
        if isinstance(content, str):
            if not content:
                return as_text(delta.get("refusal")), thoughts
            text, more = self._tags.feed(content)
            # MiniMax repeats in the text, between tags, what it has sent as reasoning.
            return text, thoughts if self._field or self._details else thoughts + more
        text = as_text(delta.get("refusal"))
        for part in map(as_dict, as_list(content)):
            text += as_text(part.get("text"))
            thinking = part.get("thinking")
            thoughts += as_text(thinking) or "".join(as_text(as_dict(item).get("text")) for item in as_list(thinking))
        return text, thoughts

    def _add_details(self, details: list[object]) -> None:
        """Join the pieces of reasoning details: those of one type and index, unless their ids differ."""
        for piece in map(as_dict, details):
            whole = next((detail for detail in reversed(self._details) if _belongs_to(piece, detail)), None)
            if whole is None:
                self._details.append(dict(piece))
                continue
            for name, value in piece.items():
                before = whole.get(name)
                if name in _JOINED and isinstance(before, str) and isinstance(value, str):
                    whole[name] = before + value
                elif value is not None:
                    whole[name] = value

    def _call(self, item: object) -> ToolCallDelta:
        call = as_dict(item)
        function = as_dict(call.get("function")) or call
        call_id, name = as_text(call.get("id")), as_text(function.get("name"))
        arguments = _read_arguments(function.get("arguments"))
        index = self._place(call.get("index"), call_id, name)
        self._ids[index] = self._ids[index] or call_id
        self._named[index] = self._named[index] or bool(name)
        self._arguments[index].append(arguments)
        signature = _signature(call)
        if signature:
            self._signatures[index] = signature
        return ToolCallDelta(index=index, id=self._ids[index], name=name, arguments=arguments)

    def _place(self, wire_index: object, call_id: str, name: str) -> int:
        """Our index. Some servers send none, some send 0 for every call and tell them apart by id alone."""
        if not isinstance(wire_index, int) or isinstance(wire_index, bool):
            wire_index = self._unnumbered(call_id, name)
        known = self._places.get(wire_index)
        if known is not None:
            another = bool(call_id and self._ids[known] and call_id != self._ids[known])
            if not (another and name and self._named[known]):
                return known
        self._places[wire_index] = len(self._ids)
        self._ids.append("")
        self._named.append(False)
        self._arguments.append([])
        return len(self._ids) - 1

    def _unnumbered(self, call_id: str, name: str) -> int:
        if call_id and call_id in self._ids:
            return next(wire for wire, ours in self._places.items() if self._ids[ours] == call_id)
        begins = bool(name) or not self._places
        return -len(self._ids) - 1 if begins else next(reversed(self._places))


def merge_chunks(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
    """The same answer in fewer chunks: words that follow words are one piece, thoughts that follow thoughts too."""
    for kind, run in groupby(chunks, _kind):
        if kind == "words":
            yield Chunk(text="".join(chunk.text for chunk in run))
        elif kind == "thoughts":
            yield Chunk(reasoning="".join(chunk.reasoning for chunk in run))
        else:
            yield from run


def _kind(chunk: Chunk) -> str:
    if chunk.tool_calls or (chunk.text and chunk.reasoning):
        return ""
    return "words" if chunk.text else "thoughts"


def _call_items(delta: dict[str, object]) -> list[object]:
    calls = as_list(delta.get("tool_calls"))
    old = as_dict(delta.get("function_call"))  # what came before tool_calls; a few servers still speak it
    return calls or ([{"index": 0, "function": old}] if old else [])


def _belongs_to(piece: dict[str, object], detail: dict[str, object]) -> bool:
    if piece.get("type") != detail.get("type") or piece.get("index") != detail.get("index"):
        return False
    return not (piece.get("id") and detail.get("id") and piece["id"] != detail["id"])


def _text_of_detail(detail: object) -> str:
    data = as_dict(detail)
    return as_text(data.get("text")) or as_text(data.get("summary"))


def _failure(data: dict[str, object]) -> TransportFailed:
    return TransportFailed(Failure(kind="in_stream", body=encode_json(data).decode("utf-8")))


def _read_arguments(value: object) -> str:
    if isinstance(value, dict | list):
        return msgspec.json.encode(value).decode("utf-8")
    return as_text(value)


def _signature(call: dict[str, object]) -> str:
    extra = as_dict(call.get("extra_content"))
    vendors = [as_dict(extra.get(vendor)) for vendor in ("google", "vertex")]
    return next((as_text(vendor.get("thought_signature")) for vendor in vendors if vendor), "")


def _find_usage(data: dict[str, object]) -> Usage | None:
    """The bill where most put it, or where Groq and llama.cpp do."""
    return (
        read_usage(data.get("usage"))
        or read_usage(as_dict(data.get("x_groq")).get("usage"))
        or _read_timings(as_dict(data.get("timings")))
    )


def _read_timings(timings: dict[str, object]) -> Usage | None:
    """llama.cpp's measurements: `prompt_n` leaves out what was cached, so they are a bill only beside `cache_n`."""
    if "cache_n" not in timings:
        return None
    cached = as_token_count(timings.get("cache_n"))
    prompt = as_token_count(timings.get("prompt_n")) + cached
    completion = as_token_count(timings.get("predicted_n"))
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached) if prompt else None


def read_usage(value: object) -> Usage | None:
    """The bill, or None where there is none, it is all zero, or it counts more than any model can."""
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
    """What the bill says was paid, in micro-dollars; `before` where it says nothing.

    OpenRouter gives dollars as `cost`. With the user's own key of the maker (`is_byok`) that is its fee alone, and a
    second field holds the maker's share. xAI counts in ticks; a dollar has 10,000,000,000 of them.
    """
    data = as_dict(value)
    paid = _dollars(data.get("cost"))
    if paid is None and (ticks := _dollars(data.get("cost_in_usd_ticks"), _TICKS)) is not None:
        paid = ticks / _TICKS
    if paid is None:
        return before
    upstream = _dollars(as_dict(data.get("cost_details")).get("upstream_inference_cost"))
    return round((paid + (upstream or 0.0 if data.get("is_byok") is True else 0.0)) * 1_000_000)


def _dollars(value: object, parts: float = 1.0) -> float | None:
    """An amount of money, None where it is none; parts: how many of its unit make a dollar."""
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    return float(value) if 0 <= value < _MOST_DOLLARS * parts else None


def _is_json(text: str) -> bool:
    try:
        decode_json(text or "{}")
    except msgspec.DecodeError:
        return False
    return True


# Google's word for "this call was made without a signature", for calls of other models or of an earlier run.
NO_SIGNATURE = "skip_thought_signature_validator"
_USER_HEAD, _ROW_END, _BLANK_LINE = b'{"role":"user","content":"', b'"}', b"\\n\\n"
_PLAIN = ServerQuirks()
_REFUSED = "refused"
_LEARNED: tuple[tuple[str, tuple[object, ...]], ...] = (
    ("max_tokens_field", ("max_tokens", "max_completion_tokens")),
    ("stream_usage", (True, False)),
    ("effort_none_with_tools", (True, False)),
    ("effort_none_refused", (True, False)),
    ("echo_reasoning", (True, False)),
    ("thought_signatures", (True, False)),
    ("null_content", (True, False)),
)
"""What refusals teach about the dialect, and the values it may have; kept as lessons by these names."""
_NO_REASONING = " "  # for servers that refuse a call without reasoning; some take empty text for none
_POINTS = 2  # cache points within the conversation; with the system prompt's, fewer than the four that are allowed
_WANTS_REASONING = LazyRegex(r"reasoning_content|thought_signature")
_SPARE_ENTRIES = 200  # how far the memory of encoded messages may outgrow a request before it is swept


def append_message(rows: list[bytes], row: bytes) -> None:
    """Append an encoded message. Words of the user behind words of the user become one message.

    Chat templates of several model families refuse two user messages in a row, and they come: an interrupted turn, a
    summary before a question. Joined as bytes, the beginning stays what an earlier request has sent.
    """
    if rows and row.startswith(_USER_HEAD) and rows[-1].startswith(_USER_HEAD):
        rows[-1] = rows[-1][: -len(_ROW_END)] + _BLANK_LINE + row[len(_USER_HEAD) :]
    elif rows and (joined := join_user_messages(rows[-1], row)):
        rows[-1] = joined
    elif row:
        rows.append(row)


class ChatProtocol:
    """See `WireProtocol`. quirks: how the server's dialect differs. images: whether the model takes pictures.

    origin: names protocol, host and model; reasoning items of another origin are not sent.
    lifetime: how long a cache point lives, "5m" or "1h", where the server takes cache points.
    """

    name: ProtocolName = "chat"
    path = "/chat/completions"
    needs_output_limit = False

    def __init__(
        self,
        model: str,
        quirks: ServerQuirks = _PLAIN,
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
        known = {name: self._lessons[name] for name, values in _LEARNED if self._lessons.get(name) in values}
        refused = tuple(map(as_text, as_list(self._lessons.get(_REFUSED))))
        self._quirks = structs.replace(quirks, **known, refused=refused)
        self._efforts = EffortLevels(model, self._lessons, quirks.effort.levels)
        self._cache_point = {"type": "ephemeral", **({"ttl": lifetime} if lifetime != "5m" else {})}
        self._sent: frozenset[str] = frozenset()  # those of EXTRA_FIELDS that the last request had
        self._known: dict[str, tuple[Message, ServerQuirks, bytes]] = {}
        self._known_tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")

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
        if not _WANTS_REASONING.search(refusal) and (said := self._efforts.adapt(refusal)) is not None:
            return said
        taught_quirks = learn_quirks(self._quirks, refusal)
        if taught_quirks is None:
            return None
        changed = [name for name, _ in _LEARNED if getattr(taught_quirks, name) != getattr(self._quirks, name)]
        self._lessons.update({name: getattr(taught_quirks, name) for name in changed})
        self._quirks = taught_quirks
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
        options |= self._without_refused(quirks.effort.options(effort))
        if quirks.cache_key and request.cache_key and "prompt_cache_key" not in quirks.refused:
            options["prompt_cache_key"] = request.cache_key
        parts = [encode_json(options)[:-1]]
        self._note_extras(parts[0])
        if tools:
            parts.append(b',"tools":' + self._encoded_tools(tools))
        return b"".join((*parts, b',"messages":[', b",".join(self._rows(request, quirks)), b"]}"))

    def _without_refused(self, fields: dict[str, object]) -> dict[str, object]:
        """The fields, and those within them, that the server has not refused."""
        refused = self._quirks.refused
        kept: dict[str, object] = {}
        for name, value in fields.items():
            if name not in refused:
                inner = {key: each for key, each in as_dict(value).items() if key not in refused}
                kept[name] = inner or value
        return kept

    def _note_extras(self, options: bytes) -> None:
        quirks = self._quirks
        sent = {field for field in EXTRA_FIELDS if b'"' + field.encode() + b'"' in options}
        sent |= {"cache_control"} if quirks.cache_points else set()
        sent |= {"reasoning_details"} if quirks.echo_details else set()
        sent |= {"thought_signature"} if quirks.thought_signatures else set()
        sent |= {"reasoning_content"} if quirks.echo_reasoning or quirks.echo_field else set()
        self._sent = frozenset(sent)

    def _rows(self, request: ChatRequest, quirks: ServerQuirks) -> list[bytes]:
        """The messages, encoded. Pictures that belong to results come behind all results of their step."""
        rows = [encode_json({"role": "system", "content": request.system})] if request.system else []
        first = len(rows)
        ends: list[int] = []  # where a run of messages that are not the model's ends
        pictures: list[bytes] = []
        for message in request.messages:
            if pictures and not isinstance(message, ToolMessage):
                append_message(rows, encode_result_pictures(pictures))
                pictures = []
            if isinstance(message, AssistantMessage) and len(rows) > first:
                ends.append(len(rows) - 1)
            append_message(rows, self._message(message, quirks, request.images))
            if isinstance(message, ToolMessage) and message.images and self._images:
                pictures.append(self._pictures_of(message, request.images))
        if pictures:
            append_message(rows, encode_result_pictures(pictures))
        self._sweep(request.messages)
        if quirks.cache_points and "cache_control" not in quirks.refused:
            places = dict.fromkeys([*ends, len(rows) - 1])
            for place in [*range(first), *list(places)[-_POINTS:]]:
                rows[place] = self._with_point(rows[place])
        return rows

    def _with_point(self, row: bytes) -> bytes:
        """The encoded message with a cache point at the end of its text."""
        data = as_dict(decode_json(row))
        content = data.get("content")
        parts = [{"type": "text", "text": content}] if isinstance(content, str) and content else as_list(content)
        texts = [part for part in map(as_dict, parts) if part.get("type") == "text"]
        if not texts:
            return row
        texts[-1]["cache_control"] = self._cache_point
        return encode_json({**data, "content": parts})

    def _pictures_of(self, message: ToolMessage, images: Mapping[str, bytes]) -> bytes:
        """The pictures of a result as encoded parts."""
        key = f"{message.id} pictures"
        known = self._known.get(key)
        if known is not None and known[0] is message:
            return known[2]
        parts = as_list(
            encode_user_content(f"Pictures of the result of {message.name or 'a tool'}:", message.images, images)
        )
        encoded = encode_json(parts)[1:-1]
        self._known[key] = (message, self._quirks, encoded)
        return encoded

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

    def _message(self, message: Message, quirks: ServerQuirks, images: Mapping[str, bytes]) -> bytes:
        """The message on the wire, b"" for one that would say nothing. A trimmed copy keeps the id of its original."""
        known = self._known.get(message.id)
        if known is not None and known[0] is message and known[1] is quirks:
            return known[2]
        row = self._row(message, quirks, images)
        encoded = encode_json(row) if row else b""
        self._known[message.id] = (message, quirks, encoded)
        return encoded

    def _row(self, message: Message, quirks: ServerQuirks, images: Mapping[str, bytes]) -> dict[str, object]:
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
                return self._answer(message, quirks)

    def _answer(self, message: AssistantMessage, quirks: ServerQuirks) -> dict[str, object]:
        if not message.content and not message.tool_calls:
            return {}  # an interrupted answer without a word; servers refuse empty content
        nothing = None if quirks.null_content else ""
        row: dict[str, object] = {"role": "assistant", "content": message.content or nothing}
        own = message.reasoning_items if message.reasoning_origin == self._origin else ()
        items = [(item.calls, as_dict(decode_json(item.data))) for item in own]
        row |= _reasoning(message, [item for _, item in items], quirks)
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

    def _sweep(self, messages: tuple[Message, ...]) -> None:
        if len(self._known) > len(messages) + _SPARE_ENTRIES:
            kept = {key for message in messages for key in (message.id, f"{message.id} pictures")}
            self._known = {key: entry for key, entry in self._known.items() if key in kept}


def _reasoning(message: AssistantMessage, items: list[dict[str, object]], quirks: ServerQuirks) -> dict[str, object]:
    """What goes back of the reasoning of an answer. items: those that came from this server and model."""
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
