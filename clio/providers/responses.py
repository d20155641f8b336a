"""OpenAI Responses: requests and events. Source: https://developers.openai.com/api/reference/resources/responses"""

import base64
import re
from collections.abc import Mapping, Sequence

import msgspec

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
from clio.providers.failure import Failure, TransportFailed, extract_complaint, names_field, says_unsupported
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

MESSAGE_START = "message_start"
"""Marks in the stored reasoning items where a message with a phase began; never sent as it is."""
_INCOMPLETE = {"max_output_tokens": "length"}
_PASSING = ("server_error", "internal", "rate_limit", "timeout", "overload", "unavailable", "capacity", "try_again")
"""What is in the codes of failures that another try may not meet; all others are about the request."""


class ResponsesDecoder:
    """See `AnswerDecoder`. An item is known by its place in the output: some servers change its id on the way."""

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
        """See `AnswerDecoder`."""
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
        """See `AnswerDecoder`: the last event names the status; without it, every item must have ended."""
        return self.is_finished or (self.has_content and not self._open and bool(self._spoken or self._calls))

    def ending(self) -> Chunk:
        """See `AnswerDecoder`."""
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
        part = (
            item,
            data.get("type"),
            as_token_count(data.get("summary_index")),
            as_token_count(data.get("content_index")),
        )
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
    if not data or any(map(is_absurd_token_count, data.values())):
        return None
    prompt, completion = as_token_count(data.get("input_tokens")), as_token_count(data.get("output_tokens"))
    if not prompt and not completion:
        return None
    details = as_dict(data.get("input_tokens_details"))
    cached = min(as_token_count(details.get("cached_tokens")), prompt)
    return Usage(
        prompt_tokens=prompt,
        completion_tokens=completion,
        cached_tokens=cached,
        cache_write_tokens=min(as_token_count(details.get("cache_write_tokens")), prompt - cached),
        reasoning_tokens=as_token_count(as_dict(data.get("output_tokens_details")).get("reasoning_tokens")),
    )


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
    "reasoning.summary": re.compile(r"reasoning summar", re.IGNORECASE),
    "include": re.compile(r"encrypted[_ ]content\W+is not|reasoning\.encrypted_content", re.IGNORECASE),
}
"""Wordings that mean a field without naming it."""
_DEVELOPER = "developer"
_ROLE_REFUSED = re.compile(r"developer\b", re.IGNORECASE)
_ITEM_REFUSED = re.compile(
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
        words = extract_complaint(refusal)
        if _ITEM_REFUSED.search(words) and self._with_items:
            self._returns_items = not self._dropped  # where those that followed are refused too, none is sent again
            self._dropped |= self._with_items
            self._forget()
            return ""
        if says_unsupported(words) and (field := self._refused_field(words)):
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
            return append_image_names(text, parts)
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
        for part in iter_answer_parts(message, self._origin if returned else _NOWHERE):
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
                    arguments = make_valid_arguments(part.arguments)
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
