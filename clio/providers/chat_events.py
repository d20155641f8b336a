"""Reads the events of Chat Completions, whatever the habits of the server. One `ChatDecoder` an answer; pure."""

import re
from collections.abc import Iterable, Iterator
from itertools import groupby

import msgspec

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.messages import ReasoningItem, Usage
from clio.providers.base import Chunk, ToolCallDelta
from clio.providers.failure import Failure, TransportFailed
from clio.providers.json_text import encode_json
from clio.providers.lenient import as_count, as_dict, as_list, as_text, is_absurd
from clio.providers.think_tags import ThinkSplitter

SIGNATURE = "thought_signature"
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
_OUTPUT_LIMIT = LatePattern(r"^token limit reached|(?:output|completion) tokens? limit", re.IGNORECASE)
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
        if as_count(as_dict(data.get("base_resp")).get("status_code")):  # MiniMax, with status 200
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
        """See `Decoder`."""
        items = [encode_json(detail) for detail in self._details]
        if self._field:
            items.append(encode_json({REASONING_FIELD: self._field}))
        kept = [ReasoningItem(data=item.decode("utf-8")) for item in items]
        kept += [
            ReasoningItem(data=encode_json({SIGNATURE: signature}).decode("utf-8"), calls=number)
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
        """See `Decoder`: the transport sees the end, "[DONE]", which is no event."""
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


def joined(chunks: Iterable[Chunk]) -> Iterator[Chunk]:
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
    cached = as_count(timings.get("cache_n"))
    prompt = as_count(timings.get("prompt_n")) + cached
    completion = as_count(timings.get("predicted_n"))
    return Usage(prompt_tokens=prompt, completion_tokens=completion, cached_tokens=cached) if prompt else None


def read_usage(value: object) -> Usage | None:
    """The bill, or None where there is none, it is all zero, or it counts more than any model can."""
    data = as_dict(value)
    if not data:  # as in nearly every chunk
        return None
    if any(is_absurd(count) for name, count in data.items() if name.endswith("_tokens")):
        return None
    prompt = as_count(data.get("prompt_tokens")) or as_count(data.get("input_tokens"))
    completion = as_count(data.get("completion_tokens")) or as_count(data.get("output_tokens"))
    if not prompt and not completion:
        return None
    details = as_dict(data.get("prompt_tokens_details"))
    cached = max(
        as_count(details.get("cached_tokens")),
        as_count(data.get("prompt_cache_hit_tokens")),
        as_count(data.get("cache_read_input_tokens")),
        as_count(data.get("cached_tokens")),
    )
    cached = min(cached, prompt)
    written = as_count(details.get("cache_write_tokens")) or as_count(data.get("cache_creation_input_tokens"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=min(written, prompt - cached),
        reasoning_tokens=as_count(as_dict(data.get("completion_tokens_details")).get("reasoning_tokens")),
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
