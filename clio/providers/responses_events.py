"""Reads the events of OpenAI Responses. Source: https://developers.openai.com/api/reference/resources/responses"""

from clio.messages import ReasoningItem, Usage
from clio.providers.base import Chunk, ToolCallDelta
from clio.providers.failure import Failure, TransportFailed
from clio.providers.json_text import encode_json
from clio.providers.lenient import as_count, as_dict, as_list, as_text, is_absurd

MESSAGE_START = "message_start"
"""Marks in the stored reasoning items where a message with a phase began; never sent as it is."""
_INCOMPLETE = {"max_output_tokens": "length"}


class ResponsesDecoder:
    """See `Decoder`."""

    def __init__(self, origin: str = "") -> None:
        self._origin = origin
        self.has_content = False
        self.finish_reason = ""
        self.is_finished = False
        self._usage: Usage | None = None
        self._items: list[ReasoningItem] = []
        self._text = 0  # characters of text so far
        self._calls: dict[object, int] = {}  # the server's output index -> number of the call
        self._with_arguments: set[int] = set()
        self._spoken: set[object] = set()  # output indexes of messages whose text came in pieces
        self._thought: set[object] = set()  # output indexes of reasoning items that were shown

    def take(self, event: object) -> Chunk | None:
        """See `Decoder`."""
        data = as_dict(event)
        kind = as_text(data.get("type"))
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._spoken.add(data.get("output_index"))
                return self._say(as_text(data.get("delta")))
            case "response.reasoning_summary_text.delta" | "response.reasoning_text.delta":
                return self._think(data)
            case "response.function_call_arguments.delta":
                return self._argue(data, as_text(data.get("delta")))
            case "response.output_item.added":
                return self._begin(data.get("output_index"), as_dict(data.get("item")))
            case "response.output_item.done":
                return self._finish(data.get("output_index"), as_dict(data.get("item")))
            case "response.completed" | "response.incomplete" | "response.failed":
                return self._conclude(as_dict(data.get("response")))
            case "error":
                raise _failure(data)
            case _:
                pass
        if data.get("error") and not kind:
            raise _failure(data)
        return self._whole(data) if data.get("object") == "response" else None

    @property
    def is_whole(self) -> bool:
        """See `Decoder`: the last event names the status."""
        return self.is_finished

    def ending(self) -> Chunk:
        """See `Decoder`."""
        items = tuple(self._items)
        origin = self._origin if items else ""
        return Chunk(finish_reason=self.finish_reason, usage=self._usage, reasoning_items=items, origin=origin)

    def _say(self, text: str) -> Chunk | None:
        if not text:
            return None
        self.has_content = True
        self._text += len(text)
        return Chunk(text=text)

    def _think(self, data: dict[str, object]) -> Chunk | None:
        text = as_text(data.get("delta"))
        if not text:
            return None
        self.has_content = True
        place = (data.get("output_index"), data.get("summary_index"), data.get("content_index"))
        gap = "\n\n" if self._thought and place not in self._thought else ""
        self._thought.add(place)
        return Chunk(reasoning=gap + text)

    def _argue(self, data: dict[str, object], piece: str) -> Chunk | None:
        number = self._calls.get(data.get("output_index"))
        if number is None or not piece:
            return None
        self._with_arguments.add(number)
        return Chunk(tool_calls=(ToolCallDelta(index=number, arguments=piece),))

    def _begin(self, place: object, item: dict[str, object]) -> Chunk | None:
        match as_text(item.get("type")):
            case "function_call":
                return self._call(place, item)
            case "message":
                if phase := as_text(item.get("phase")):
                    self._keep({"type": MESSAGE_START, "phase": phase})
            case _:
                pass
        return None

    def _call(self, place: object, item: dict[str, object]) -> Chunk:
        number = self._calls.setdefault(place, len(self._calls))
        self.has_content = True
        arguments = as_text(item.get("arguments"))
        if arguments:
            self._with_arguments.add(number)
        call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
        return Chunk(
            tool_calls=(ToolCallDelta(index=number, id=call_id, name=as_text(item.get("name")), arguments=arguments),)
        )

    def _finish(self, place: object, item: dict[str, object]) -> Chunk | None:
        """A whole item: what had not come in pieces is taken from it."""
        match as_text(item.get("type")):
            case "reasoning":
                if item.get("encrypted_content") or item.get("content"):
                    self._keep({name: value for name, value in item.items() if name != "status"})
            case "function_call":
                if place not in self._calls:
                    return self._call(place, item)
                if self._calls[place] not in self._with_arguments:
                    return self._argue({"output_index": place}, as_text(item.get("arguments")))
            case "message":
                if place not in self._spoken:
                    return self._say(_text_of(item))
            case _:
                pass
        return None

    def _keep(self, item: dict[str, object]) -> None:
        data = encode_json(item).decode("utf-8")
        self._items.append(ReasoningItem(data=data, text=self._text, calls=len(self._calls)))

    def _conclude(self, response: dict[str, object]) -> None:
        self.is_finished = True
        self._usage = read_usage(response.get("usage")) or self._usage
        status = as_text(response.get("status"))
        if status == "failed" or response.get("error"):
            raise _failure(response)
        if status == "incomplete":
            reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
            self.finish_reason = _INCOMPLETE.get(reason, reason or "length")
        else:
            self.finish_reason = "tool_calls" if self._calls else "stop"

    def _whole(self, response: dict[str, object]) -> Chunk | None:
        """A whole answer that was not streamed."""
        text: list[str] = []
        thoughts: list[str] = []
        calls: list[ToolCallDelta] = []
        for place, item in enumerate(map(as_dict, as_list(response.get("output")))):
            self._begin(place, item) if item.get("type") == "message" else None
            thoughts += _thoughts_of(item)
            chunk = self._finish(place, item)
            if chunk is not None:
                text.append(chunk.text)
                calls += chunk.tool_calls
        self._conclude(response)
        self.has_content = self.has_content or bool(thoughts)
        return Chunk(text="".join(text), reasoning="\n\n".join(thoughts), tool_calls=tuple(calls))


def _text_of(item: dict[str, object]) -> str:
    parts = map(as_dict, as_list(item.get("content")))
    return "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)


def _thoughts_of(item: dict[str, object]) -> list[str]:
    if item.get("type") != "reasoning":
        return []
    parts = as_list(item.get("summary")) or as_list(item.get("content"))
    return [text for part in parts if (text := as_text(as_dict(part).get("text")))]


def _failure(data: dict[str, object]) -> TransportFailed:
    return TransportFailed(Failure(kind="in_stream", body=encode_json(data).decode("utf-8")))


def read_usage(value: object) -> Usage | None:
    """The tokens billed; None where they are missing, all zero, or more than any model can take."""
    data = as_dict(value)
    if not data or any(map(is_absurd, data.values())):
        return None
    prompt, completion = as_count(data.get("input_tokens")), as_count(data.get("output_tokens"))
    if not prompt and not completion:
        return None
    details = as_dict(data.get("input_tokens_details"))
    cached = min(as_count(details.get("cached_tokens")), prompt)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=min(as_count(details.get("cache_write_tokens")), prompt - cached),
        reasoning_tokens=as_count(as_dict(data.get("output_tokens_details")).get("reasoning_tokens")),
    )
