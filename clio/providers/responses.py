"""OpenAI Responses: encodes requests and decodes events.

Source: https://developers.openai.com/api/reference/resources/responses
"""

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
    CitedSources,
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

_SEARCH_LESSON = "web_search"
MESSAGE_START = "message_start"
"""Type of a stored reasoning item that marks where a message with a phase began; never sent to a server."""
_INCOMPLETE_REASONS = {"max_output_tokens": "length"}
_TEMPORARY = ("server_error", "internal", "rate_limit", "timeout", "overload", "unavailable", "capacity", "try_again")
"""Parts of the codes of failures that a retry may avoid; all others are about the request."""


class ResponsesDecoder:
    """See `AnswerDecoder`. An item is identified by its position in the output: some servers change its id midway."""

    def __init__(self, origin: str = "") -> None:
        self._origin = origin
        self.has_content = False
        self.finish_reason = ""
        self.is_finished = False
        self._usage: Usage | None = None
        self._searches: set[str] = set()  # ids of the server's own searches
        self._items: list[ReasoningItem] = []
        self._text = 0  # characters of text so far
        self._sources = CitedSources()
        self._open: set[object] = set()  # positions of items that have not ended
        self._calls: dict[object, int] = {}  # position -> number of the call
        self._call_ids: list[str] = []  # by number
        self._with_arguments: set[int] = set()
        self._with_text: set[object] = set()  # positions of messages whose text was received
        self._with_reasoning: set[object] = set()  # positions of reasoning items that were emitted, and of their parts

    def take(self, event: object) -> Sequence[Chunk]:
        """See `AnswerDecoder`."""
        data = as_dict(event)
        kind = data.get("type")
        chunk = None
        match kind:
            case "response.output_text.delta" | "response.refusal.delta":
                self._with_text.add(_find_position(data))
                chunk = self._emit_text(as_text(data.get("delta")))
            case (
                "response.reasoning_summary_text.delta"
                | "response.reasoning_text.delta"
                | "response.reasoning_summary.delta"
                | "response.reasoning.delta"
            ):
                chunk = self._emit_reasoning(data)
            case "response.output_text.annotation.added":
                self._sources.add(as_dict(data.get("annotation")))
            case "response.function_call_arguments.delta":
                chunk = self._emit_arguments(_find_position(data), as_text(data.get("delta")))
            case "response.function_call_arguments.done":
                chunk = self._emit_arguments(_find_position(data), as_text(data.get("arguments")), whole=True)
            case "response.output_item.added":
                chunk = self._begin_item(_find_position(data), as_dict(data.get("item")))
            case "response.output_item.done":
                chunk = self._finish_item(_find_position(data), as_dict(data.get("item")))
            case "response.completed" | "response.incomplete" | "response.failed" | "response.done":
                return self._finish_answer(as_dict(data.get("response")))
            case "error":
                raise _failure(_read_error(data))
            case _ if data.get("error") and not kind:
                raise _failure(_read_error(data))
            case _ if data.get("object") == "response":
                return self._finish_answer(data)
            case _:
                pass
        return () if chunk is None else (chunk,)

    @property
    def is_whole(self) -> bool:
        """See `AnswerDecoder`. The last event has the status; without it, every item must have ended."""
        return self.is_finished or (self.has_content and not self._open and bool(self._with_text or self._calls))

    def ending(self) -> Chunk:
        """See `AnswerDecoder`."""
        items = tuple(self._items)
        origin = self._origin if items else ""
        return Chunk(
            text=self._sources.render(),
            finish_reason=self.finish_reason,
            usage=msgspec.structs.replace(self._usage, searches=len(self._searches)) if self._usage else None,
            reasoning_items=items,
            origin=origin,
        )

    def _emit_text(self, text: str) -> Chunk | None:
        if not text:
            return None
        self.has_content = True
        self._text += len(text)
        return Chunk(text=text)

    def _emit_reasoning(self, data: dict[str, object]) -> Chunk | None:
        text = as_text(data.get("delta"))
        if not text:
            return None
        self.has_content = True
        item = _find_position(data)
        part = (
            item,
            data.get("type"),
            as_token_count(data.get("summary_index")),
            as_token_count(data.get("content_index")),
        )
        gap = "\n\n" if self._with_reasoning and part not in self._with_reasoning else ""
        self._with_reasoning.update((item, part))
        return Chunk(reasoning=gap + text)

    def _emit_arguments(self, position: object, piece: str, *, whole: bool = False) -> Chunk | None:
        number = self._calls.get(position)
        if number is None or not piece or (whole and number in self._with_arguments):
            return None
        self._with_arguments.add(number)
        return Chunk(tool_calls=(ToolCallDelta(index=number, arguments=piece),))

    def _begin_item(self, position: object, item: dict[str, object]) -> Chunk | None:
        self._open.add(position)
        match item.get("type"):
            case "function_call":
                return self._begin_call(position, item)
            case "message":
                self._with_text.discard(position)  # servers that do not number the items use one position for all
                if phase := as_text(item.get("phase")):
                    self._store_item({"type": MESSAGE_START, "phase": phase})
            case "reasoning":
                self._with_reasoning.discard(position)
            case _:
                pass
        return None

    def _begin_call(self, position: object, item: dict[str, object]) -> Chunk:
        number = self._calls[position] = len(self._call_ids)
        call_id = as_text(item.get("call_id")) or as_text(item.get("id"))
        self._call_ids.append(call_id)
        self.has_content = True
        arguments = as_text(item.get("arguments"))
        if arguments:
            self._with_arguments.add(number)
        return Chunk(
            tool_calls=(ToolCallDelta(index=number, id=call_id, name=as_text(item.get("name")), arguments=arguments),)
        )

    def _finish_item(self, position: object, item: dict[str, object]) -> Chunk | None:
        """Emit the parts of a finished item that were not streamed."""
        begun = position in self._open
        self._open.discard(position)
        match item.get("type"):
            case "reasoning":
                if item.get("encrypted_content") or item.get("content"):
                    self._store_item({name: value for name, value in item.items() if name != "status"})
                return None if position in self._with_reasoning else self._emit_whole_reasoning(position, item)
            case "function_call":
                if not begun:
                    return self._begin_call(position, item)
                return self._emit_arguments(position, as_text(item.get("arguments")), whole=True)
            case "message":
                for part in map(as_dict, as_list(item.get("content"))):
                    for annotation in map(as_dict, as_list(part.get("annotations"))):
                        self._sources.add(annotation)
                if not begun:
                    self._begin_item(position, item)
                    self._open.discard(position)
                if position not in self._with_text:
                    self._with_text.add(position)
                    return self._emit_text(_read_message_text(item))
            case "web_search_call":
                self._count_search(item)
            case _:
                pass
        return None

    def _emit_whole_reasoning(self, position: object, item: dict[str, object]) -> Chunk | None:
        parts = as_list(item.get("summary")) or as_list(item.get("content"))
        texts = (as_text(as_dict(part).get("text")) for part in parts)
        return self._emit_reasoning({"output_index": position, "delta": "\n\n".join(filter(None, texts))})

    def _count_search(self, item: dict[str, object]) -> None:
        """Count a search that the server bills: opening a page, and a search that failed, cost nothing more."""
        action = as_text(as_dict(item.get("action")).get("type")) or "search"
        if action == "search" and as_text(item.get("status")) in ("", "completed"):
            self._searches.add(as_text(item.get("id")) or f"search {len(self._searches)}")

    def _store_item(self, item: dict[str, object]) -> None:
        data = encode_json(item).decode("utf-8")
        self._items.append(ReasoningItem(data=data, text=self._text, calls=len(self._call_ids)))

    def _finish_answer(self, response: dict[str, object]) -> Sequence[Chunk]:
        """Decode the end of a stream, or a whole answer that was not streamed. Emits what was not received before."""
        self._usage = read_usage(response.get("usage")) or self._usage
        status = as_text(response.get("status"))
        if status in ("failed", "cancelled") or response.get("error"):
            self.is_finished = True
            raise _failure(_read_error(response) if response.get("error") else {}, status)
        if not self._searches:  # some servers send such items only in the last event
            for item in map(as_dict, as_list(response.get("output"))):
                if item.get("type") == "web_search_call":
                    self._count_search(item)
        chunks = self._emit_missing(response)
        self.is_finished = True
        if status == "incomplete":
            reason = as_text(as_dict(response.get("incomplete_details")).get("reason"))
            self.finish_reason = _INCOMPLETE_REASONS.get(reason, reason or "length")
        else:
            self.finish_reason = "tool_calls" if self._calls else "stop"
        return chunks

    def _emit_missing(self, response: dict[str, object]) -> Sequence[Chunk]:
        """Emit the kinds of items that were received only in the last event: some servers send calls only there."""
        received = {
            "message": bool(self._with_text),
            "function_call": bool(self._call_ids),
            "reasoning": bool(self._with_reasoning) or any(MESSAGE_START not in item.data for item in self._items),
        }
        chunks = (
            self._finish_item(("last", number), item)
            for number, item in enumerate(map(as_dict, as_list(response.get("output"))))
            if not received.get(as_text(item.get("type")), True)
        )
        return [chunk for chunk in chunks if chunk is not None]


def _find_position(data: dict[str, object]) -> object:
    """Return an event's position in the output, or the item's id if the server does not number the items."""
    index = data.get("output_index")
    if index is None:
        return as_text(data.get("item_id")) or as_text(as_dict(data.get("item")).get("id"))
    return index if isinstance(index, int) else as_text(index)


def _read_message_text(item: dict[str, object]) -> str:
    parts = map(as_dict, as_list(item.get("content")))
    return "".join(as_text(part.get("text")) or as_text(part.get("refusal")) for part in parts)


def _read_error(data: dict[str, object]) -> dict[str, object]:
    """Return the error object of an event, which may be the event itself."""
    error = data.get("error")
    return {"message": error} if isinstance(error, str) else as_dict(error) or data


def _failure(error: dict[str, object], status: str = "") -> TransportFailed:
    """Return an error within an answer. It leaves out the rest of the response, which quotes the whole request."""
    code = as_text(error.get("code")) or as_text(error.get("type"))
    shown = error or {"message": f"the response {status or 'failed'} without a reason"}
    is_temporary = code in ("", "error") or any(part in code for part in _TEMPORARY)
    body = encode_json({"error": shown}).decode("utf-8")
    return TransportFailed(Failure(kind="in_stream", status=0 if is_temporary else 400, body=body))


def read_usage(value: object) -> Usage | None:
    """Return the tokens of an answer; None if missing, all zero, or more than any model supports."""
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
_NO_ORIGIN = "-"
"""An origin that no reasoning item has."""
_MIN_OUTPUT = 16
"""The server rejects a smaller output limit."""
_MAX_KEY_CHARS = 64
_FIELDS_LESSON = "responses_without"
"""Name of the lesson that lists the fields which the server does not accept."""
_OPTIONAL_FIELDS = (
    "reasoning.summary", "include", "prompt_cache_key", "store", "strict", "phase", "instructions",
    "max_output_tokens", "reasoning",
)  # fmt: skip
"""Fields that a request can do without, as named in a rejection."""
_OTHER_NAMES = {
    "reasoning.summary": re.compile(r"reasoning summar", re.IGNORECASE),
    "include": re.compile(r"encrypted[_ ]content\W+is not|reasoning\.encrypted_content", re.IGNORECASE),
}
"""Wordings that mean a field without naming it."""
_DEVELOPER_LESSON = "developer"
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
"""The server rejects the reasoning items of earlier answers: they have expired, or belong to another key."""


class ResponsesProtocol:
    """See `WireProtocol`. Each message is encoded once, so that later requests of a session begin with the same bytes.

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
        web_search: bool = False,
    ) -> None:
        self._model = model
        self._images = images
        self._tools = tools
        self._web_search = web_search
        self._origin = origin
        self._lessons: Lessons = {} if lessons is None else lessons
        self._efforts = EffortLevels(model, self._lessons)
        self._encoded_messages: dict[str, tuple[Message, bytes]] = {}
        self._encoded_tools: tuple[tuple[ToolSpec, ...], bytes] = ((), b"")
        self._messages_with_items: set[str] = set()  # messages whose reasoning items are sent
        self._returns_items = True
        self._without_items: set[str] = set()  # messages whose reasoning items were refused

    @property
    def efforts(self) -> tuple[str, ...]:
        """See `WireProtocol`."""
        return self._efforts.accepted if self._accepts_field("reasoning") else ()

    def decoder(self) -> ResponsesDecoder:
        """See `WireProtocol`."""
        return ResponsesDecoder(self._origin)

    def adapt(self, refusal: str) -> str | None:
        """See `WireProtocol`. A rejected field is left out from now on; reasoning items only those that were sent."""
        complaint = extract_complaint(refusal)
        if _ITEM_REFUSED.search(complaint) and self._messages_with_items:
            self._returns_items = not self._without_items  # at a second rejection, stop sending reasoning items at all
            self._without_items |= self._messages_with_items
            self._discard_encodings()
            return ""
        if self._web_search and "web_search" in refusal and self._lessons.get(_SEARCH_LESSON, True):
            self._lessons[_SEARCH_LESSON] = False
            self._encoded_tools = ((), b"")
            return "the server offers no web search to this model; it is left out"
        if says_unsupported(complaint) and (field := self._find_refused_field(complaint)):
            return self._leave_out(field)
        if (notice := self._efforts.adapt(refusal)) is not None:
            return notice
        if (
            self._lessons.get(_DEVELOPER_LESSON, True)
            and _ROLE_REFUSED.search(complaint)
            and "role" in complaint.lower()
        ):
            self._lessons[_DEVELOPER_LESSON] = False
            self._discard_encodings()
            return ""
        return None

    def _find_refused_field(self, complaint: str) -> str:
        """Return the sent field that the server does not accept, "" if there is none that can be left out."""
        for field in _OPTIONAL_FIELDS:
            other = _OTHER_NAMES.get(field)
            if self._accepts_field(field) and (names_field(complaint, field) or (other and other.search(complaint))):
                return field
        return ""

    def _leave_out(self, field: str) -> str:
        self._lessons[_FIELDS_LESSON] = [*as_list(self._lessons.get(_FIELDS_LESSON)), field]
        self._discard_encodings()
        if field != "reasoning":
            return ""
        had_effort = self._efforts.sent
        notice = self._efforts.give_up()
        return notice if had_effort else ""

    def _accepts_field(self, field: str) -> bool:
        return field not in as_list(self._lessons.get(_FIELDS_LESSON))

    def _discard_encodings(self) -> None:
        """Discard all encoded messages and tools."""
        self._encoded_messages.clear()
        self._messages_with_items.clear()
        self._encoded_tools = ((), b"")

    def encode(self, request: ChatRequest) -> bytes:
        """See `WireProtocol`."""
        options: dict[str, object] = {"model": self._model, "stream": True}
        if self._accepts_field("store"):
            options["store"] = False
        if request.max_output_tokens is not None and self._accepts_field("max_output_tokens"):
            options["max_output_tokens"] = max(request.max_output_tokens, _MIN_OUTPUT)
        if self._accepts_field("include"):
            options["include"] = ["reasoning.encrypted_content"]
        if reasoning := self._build_reasoning_options(request.effort):
            options["reasoning"] = reasoning
        if request.cache_key and self._accepts_field("prompt_cache_key"):
            options["prompt_cache_key"] = request.cache_key[:_MAX_KEY_CHARS]
        items: list[bytes] = []
        if request.system and self._accepts_field("instructions"):
            options["instructions"] = request.system
        elif request.system:
            items.append(encode_json(self._build_system_item(request.system)))
        parts = [encode_json(options)[:-1]]
        if self._tools and request.tools:
            parts.append(b',"tools":' + self._encode_tools(request.tools))
        items += [row for message in request.messages if (row := self._encode_message(message, request.images))]
        self._drop_old_encodings(request.messages)
        return b"".join((*parts, b',"input":[', b",".join(items), b"]}"))

    def _build_reasoning_options(self, effort: str) -> dict[str, object]:
        chosen = self._efforts.choose(effort)
        if not self._accepts_field("reasoning"):
            return {}
        options: dict[str, object] = {"effort": chosen} if chosen else {}
        if self._accepts_field("reasoning.summary"):
            options["summary"] = "auto"
        return options

    def _build_system_item(self, text: str) -> dict[str, object]:
        return {"role": "developer" if self._lessons.get(_DEVELOPER_LESSON, True) else "system", "content": text}

    def _encode_tools(self, tools: tuple[ToolSpec, ...]) -> bytes:
        if self._encoded_tools[0] is not tools:
            rows = [
                {
                    "type": "function",
                    "name": tool.name,
                    "description": tool.description,
                    "parameters": tool.parameters,
                    **({"strict": False} if self._accepts_field("strict") else {}),
                }
                for tool in tools
            ]
            if self._web_search and self._lessons.get(_SEARCH_LESSON, True):
                rows.append({"type": "web_search"})
            self._encoded_tools = (tools, encode_json(rows))
        return self._encoded_tools[1]

    def _encode_message(self, message: Message, images: Mapping[str, bytes]) -> bytes:
        known = self._encoded_messages.get(message.id)
        if known is not None and known[0] is message:
            return known[1]
        encoded = b",".join(map(encode_json, self._build_items(message, images)))
        self._encoded_messages[message.id] = (message, encoded)
        return encoded

    def _build_items(self, message: Message, images: Mapping[str, bytes]) -> list[object]:
        match message:
            case SystemMessage():
                return [self._build_system_item(message.content)]
            case UserMessage():
                text = f"{message.context}\n\n{message.content}" if message.context else message.content
                return [{"role": "user", "content": self._build_content(text, message.images, images)}]
            case ToolMessage():
                output = self._build_content(message.content, message.images, images)
                return [{"type": "function_call_output", "call_id": message.tool_call_id, "output": output}]
            case AssistantMessage():
                return self._build_answer(message)

    def _build_content(self, text: str, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> object:
        if not parts or not self._images:
            return append_image_names(text, parts)
        rows: list[dict[str, object]] = [{"type": "input_text", "text": text}]
        for part in parts:
            data = images.get(part.blob)
            if data is None:
                rows.append({"type": "input_text", "text": f"[the image {part.name} is no longer stored]"})
            else:
                url = f"data:{part.media_type};base64,{base64.b64encode(data).decode('ascii')}"
                rows.append({"type": "input_image", "image_url": url, "detail": "auto"})
        return rows

    def _build_answer(self, message: AssistantMessage) -> list[object]:
        """Return the text, reasoning items and calls in the order in which they were received.

        A reasoning item without a following item is left out, because the server rejects it.
        """
        rows: list[object] = []
        waiting: list[object] = []  # reasoning items whose following item is not known yet
        phase = ""
        has_items = False
        returned = self._returns_items and message.id not in self._without_items
        for part in iter_answer_parts(message, self._origin if returned else _NO_ORIGIN):
            match part:
                case ReasoningItem():
                    item = _read_item(part)
                    if item.get("type") == MESSAGE_START:
                        phase = as_text(item.get("phase")) if self._accepts_field("phase") else ""
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
            self._messages_with_items.add(message.id)
        return rows

    def _drop_old_encodings(self, messages: tuple[Message, ...]) -> None:
        if len(self._encoded_messages) > len(messages) + _SPARE_ENTRIES:
            current = {message.id for message in messages}
            self._encoded_messages = {key: entry for key, entry in self._encoded_messages.items() if key in current}


def _read_item(stored: ReasoningItem) -> dict[str, object]:
    """Return a reasoning item as it is sent, or the mark of a message; {} if the stored data is damaged."""
    try:
        item = as_dict(decode_json(stored.data))
    except msgspec.DecodeError:
        return {}
    known = {name: value for name, value in item.items() if value is not None}
    return {"summary": [], **known} if item.get("type") == "reasoning" else known
