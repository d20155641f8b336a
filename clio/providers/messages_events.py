"""Reads the events of Anthropic Messages. Source: https://platform.claude.com/docs/en/build-with-claude/streaming"""

import msgspec

from clio.algorithms.json_data import decode_json
from clio.messages import ReasoningItem, Usage
from clio.providers.base import Chunk, ToolCallDelta
from clio.providers.failure import Failure, TransportFailed
from clio.providers.json_text import encode_json
from clio.providers.lenient import as_count, as_dict, as_list, as_text, is_absurd

THINKING_BLOCKS = ("thinking", "redacted_thinking")
PAUSED = "pause_turn"
"""The finish reason of an answer that goes on when it is sent back."""
_WINDOW_FULL = "model_context_window_exceeded"
_FINISH = {
    "end_turn": "stop",
    "stop_sequence": "stop",
    "tool_use": "tool_calls",
    "max_tokens": "length",
}


class MessagesDecoder:
    """See `Decoder`."""

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
        """See `Decoder`."""
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
        """See `Decoder`."""
        return bool(self.finish_reason) or self.is_finished

    def ending(self) -> Chunk:
        """See `Decoder`."""
        paused = self.finish_reason == PAUSED
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
                block["input"] = read_object(pieces)
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


def read_object(text: str) -> dict[str, object]:
    """The JSON object in a text, an empty one where it holds none."""
    try:
        return as_dict(decode_json(text))
    except msgspec.DecodeError:
        return {}


def read_usage(data: dict[str, object]) -> Usage | None:
    """The tokens billed, of which the server counts those read from and written to the cache apart from the input."""
    if not data or any(map(is_absurd, data.values())):
        return None
    read, written = as_count(data.get("cache_read_input_tokens")), as_count(data.get("cache_creation_input_tokens"))
    prompt = as_count(data.get("input_tokens")) + read + written
    completion = as_count(data.get("output_tokens"))
    if not prompt and not completion:
        return None
    by_life = as_dict(data.get("cache_creation"))
    details = as_dict(data.get("output_tokens_details"))
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=read,
        cache_write_tokens=written,
        cache_write_1h_tokens=min(as_count(by_life.get("ephemeral_1h_input_tokens")), written),
        reasoning_tokens=as_count(details.get("reasoning_tokens")) or as_count(details.get("thinking_tokens")),
    )
