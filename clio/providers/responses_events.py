"""Reads the events of OpenAI Responses. Source: https://developers.openai.com/api/reference/resources/responses"""

from clio.messages import ReasoningItem, Usage
from clio.providers.base import Chunk, ToolCallDelta
from clio.providers.failure import Failure, TransportFailed
from clio.providers.json_text import encode_json
from clio.providers.lenient import as_count, as_dict, as_list, as_text, is_absurd

MESSAGE_START = "message_start"
"""Marks in the stored reasoning items where a message with a phase began; never sent as it is."""
_INCOMPLETE = {"max_output_tokens": "length"}
_PASSING = ("server_error", "internal", "rate_limit", "timeout", "overload", "unavailable", "capacity", "try_again")
"""What is in the codes of failures that another try may not meet; all others are about the request."""


class ResponsesDecoder:
    """See `Decoder`. An item is known by its place in the output: some servers change its id on the way."""

    def __init__(self, origin: str = "") -> None:
        self._origin = origin
        self.has_content = False
        self.finish_reason = ""
        self.is_finished = False
        self._usage: Usage | None = None
        self._items: list[ReasoningItem] = []
        self._text = 0  # characters of text so far
        self._open: set[object] = set()  # places of items whose end has not come
        self._calls: dict[object, int] = {}  # place -> number of the call
        self._call_ids: list[str] = []  # by number
        self._with_arguments: set[int] = set()
        self._spoken: set[object] = set()  # places of messages whose text has come
        self._thought: set[object] = set()  # places of reasoning items that were shown, and of their parts

    def take(self, event: object) -> Chunk | None:
        """See `Decoder`."""
        data = as_dict(event)
        kind = data.get("type")
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._spoken.add(_place(data))
                return self._say(as_text(data.get("delta")))
            case (
                "response.reasoning_summary_text.delta"
                | "response.reasoning_text.delta"
                | "response.reasoning_summary.delta"
                | "response.reasoning.delta"
            ):
                return self._think(data)
            case "response.function_call_arguments.delta":
                return self._argue(_place(data), as_text(data.get("delta")))
            case "response.function_call_arguments.done":
                return self._argue(_place(data), as_text(data.get("arguments")), whole=True)
            case "response.output_item.added":
                return self._begin(_place(data), as_dict(data.get("item")))
            case "response.output_item.done":
                return self._finish(_place(data), as_dict(data.get("item")))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.done":
                return self._conclude(as_dict(data.get("response")))
            case "error":
                raise _failure(_error_in(data))
            case _:
                pass
        if data.get("error") and not kind:
            raise _failure(_error_in(data))
        return self._conclude(data) if data.get("object") == "response" else None

    @property
    def is_whole(self) -> bool:
        """See `Decoder`: the last event names the status; without it, every item must have ended."""
        return self.is_finished or (self.has_content and not self._open and bool(self._spoken or self._calls))

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
        item = _place(data)
        part = (item, data.get("type"), as_count(data.get("summary_index")), as_count(data.get("content_index")))
        gap = "\n\n" if self._thought and part not in self._thought else ""
        self._thought.update((item, part))
        return Chunk(reasoning=gap + text)

    def _argue(self, place: object, piece: str, *, whole: bool = False) -> Chunk | None:
        number = self._calls.get(place)
        if number is None or not piece or (whole and number in self._with_arguments):
            return None
        self._with_arguments.add(number)
        return Chunk(tool_calls=(ToolCallDelta(index=number, arguments=piece),))

    def _begin(self, place: object, item: dict[str, object]) -> Chunk | None:
        self._open.add(place)
        match item.get("type"):
            case "function_call":
                return self._call(place, item)
            case "message":
                self._spoken.discard(place)  # servers that number no item give all the same place
                if phase := as_text(item.get("phase")):
                    self._keep({"type": MESSAGE_START, "phase": phase})
            case "reasoning":
                self._thought.discard(place)
            case _:
                pass
        return None

    def _call(self, place: object, item: dict[str, object]) -> Chunk:
        number = self._calls[place] = len(self._call_ids)
        call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
        self._call_ids.append(call_id)
        self.has_content = True
        arguments = as_text(item.get("arguments"))
        if arguments:
            self._with_arguments.add(number)
        return Chunk(
            tool_calls=(ToolCallDelta(index=number, id=call_id, name=as_text(item.get("name")), arguments=arguments),)
        )

    def _finish(self, place: object, item: dict[str, object]) -> Chunk | None:
        """A whole item: what had not come in pieces is taken from it."""
        begun = place in self._open
        self._open.discard(place)
        match item.get("type"):
            case "reasoning":
                if item.get("encrypted_content") or item.get("content"):
                    self._keep({name: value for name, value in item.items() if name != "status"})
                return None if place in self._thought else self._think_whole(place, item)
            case "function_call":
                if not begun:
                    return self._call(place, item)
                return self._argue(place, as_text(item.get("arguments")), whole=True)
            case "message":
                if not begun:
                    self._begin(place, item)
                    self._open.discard(place)
                if place not in self._spoken:
                    self._spoken.add(place)
                    return self._say(_text_of(item))
            case _:
                pass
        return None

    def _think_whole(self, place: object, item: dict[str, object]) -> Chunk | None:
        parts = as_list(item.get("summary")) or as_list(item.get("content"))
        text = "\n\n".join(said for part in parts if (said := as_text(as_dict(part).get("text"))))
        return self._think({"output_index": place, "delta": text})

    def _keep(self, item: dict[str, object]) -> None:
        data = encode_json(item).decode("utf-8")
        self._items.append(ReasoningItem(data=data, text=self._text, calls=len(self._call_ids)))

    def _conclude(self, response: dict[str, object]) -> Chunk | None:
        """The end of a stream, or a whole answer that was not streamed: what has not come by now is taken from it."""
        self._usage = read_usage(response.get("usage")) or self._usage
        status = as_text(response.get("status"))
        if status in ("failed", "cancelled") or response.get("error"):
            self.is_finished = True
            raise _failure(_error_in(response) if response.get("error") else {}, status)
        chunk = self._missing(response)
        self.is_finished = True
        if status == "incomplete":
            reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
            self.finish_reason = _INCOMPLETE.get(reason, reason or "length")
        else:
            self.finish_reason = "tool_calls" if self._calls else "stop"
        return chunk

    def _missing(self, response: dict[str, object]) -> Chunk | None:
        """What the last event holds of a kind that none before it held: some servers send calls nowhere else."""
        had = {
            "message": bool(self._spoken),
            "function_call": bool(self._call_ids),
            "reasoning": bool(self._thought) or any(MESSAGE_START not in item.data for item in self._items),
        }
        text: list[str] = []
        thoughts: list[str] = []
        calls: list[ToolCallDelta] = []
        for number, item in enumerate(map(as_dict, as_list(response.get("output")))):
            if had.get(as_text(item.get("type")), True):
                continue
            chunk = self._finish(("last", number), item)
            if chunk is not None:
                text.append(chunk.text)
                thoughts.append(chunk.reasoning)
                calls += chunk.tool_calls
        if not (any(text) or any(thoughts) or calls):
            return None
        return Chunk(text="".join(text), reasoning="".join(thoughts), tool_calls=tuple(calls))


def _place(data: dict[str, object]) -> object:
    """Where in the output an event belongs; by the item's id where the server does not number them."""
    index = data.get("output_index")
    if index is None:
        return as_text(data.get("item_id")) or as_text(as_dict(data.get("item")).get("id"))
    return index if isinstance(index, int) else as_text(index)


def _text_of(item: dict[str, object]) -> str:
    parts = map(as_dict, as_list(item.get("content")))
    return "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)


def _error_in(data: dict[str, object]) -> dict[str, object]:
    """The error object of an event, which may be the event itself."""
    error = data.get("error")
    return {"message": error} if isinstance(error, str) else as_dict(error) or data


def _failure(error: dict[str, object], status: str = "") -> TransportFailed:
    """An error within an answer. The rest of the response is left out: it quotes the whole request."""
    code = as_text(error.get("code")) or as_text(error.get("type"))
    told = error or {"message": f"the response {status or 'failed'} without a reason"}
    passing = code in ("", "error") or any(word in code for word in _PASSING)
    body = encode_json({"error": told}).decode("utf-8")
    return TransportFailed(Failure(kind="in_stream", status=0 if passing else 400, body=body))


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
