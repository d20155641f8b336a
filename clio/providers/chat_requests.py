"""Writes requests: each message is encoded once, and two requests of a session share every byte they can."""

from collections.abc import Mapping

from msgspec import structs

from clio.algorithms.json_data import decode_json
from clio.algorithms.late_pattern import LatePattern
from clio.messages import AssistantMessage, Message, SystemMessage, ToolMessage, UserMessage
from clio.providers.base import ChatRequest, ToolSpec
from clio.providers.chat_events import REASONING_FIELD, REASONING_FIELDS, SIGNATURE, ChatDecoder
from clio.providers.effort import EffortLevels
from clio.providers.encode_images import join_parts, name_images, show_results, with_images
from clio.providers.json_text import encode_json, valid_arguments
from clio.providers.lenient import as_dict, as_list, as_text
from clio.providers.profiles import EXTRA_FIELDS, Quirks, refused_field, taught
from clio.providers.wire import Lessons, ProtocolName

# Google's word for "this call was made without a signature", for calls of other models or of an earlier run.
NO_SIGNATURE = "skip_thought_signature_validator"
_USER_HEAD, _ROW_END, _BLANK_LINE = b'{"role":"user","content":"', b'"}', b"\\n\\n"
_PLAIN = Quirks()
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
_WANTS_REASONING = LatePattern(r"reasoning_content|thought_signature")
_SPARE_ENTRIES = 200  # how far the memory of encoded messages may outgrow a request before it is swept


def add_row(rows: list[bytes], row: bytes) -> None:
    """Append an encoded message. Words of the user behind words of the user become one message.

    Chat templates of several model families refuse two user messages in a row, and they come: an interrupted turn, a
    summary before a question. Joined as bytes, the beginning stays what an earlier request has sent.
    """
    if rows and row.startswith(_USER_HEAD) and rows[-1].startswith(_USER_HEAD):
        rows[-1] = rows[-1][: -len(_ROW_END)] + _BLANK_LINE + row[len(_USER_HEAD) :]
    elif rows and (joined := join_parts(rows[-1], row)):
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
        quirks: Quirks = _PLAIN,
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
        self._known: dict[str, tuple[Message, Quirks, bytes]] = {}
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
        field = refused_field(self._quirks, refusal)
        if field is not None and field in self._sent:
            self._quirks = structs.replace(self._quirks, refused=(*self._quirks.refused, field))
            self._lessons[_REFUSED] = list(self._quirks.refused)
            return ""
        if not _WANTS_REASONING.search(refusal) and (said := self._efforts.adapt(refusal)) is not None:
            return said
        taught_quirks = taught(self._quirks, refusal)
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

    def _rows(self, request: ChatRequest, quirks: Quirks) -> list[bytes]:
        """The messages, encoded. Pictures that belong to results come behind all results of their step."""
        rows = [encode_json({"role": "system", "content": request.system})] if request.system else []
        first = len(rows)
        ends: list[int] = []  # where a run of messages that are not the model's ends
        pictures: list[bytes] = []
        for message in request.messages:
            if pictures and not isinstance(message, ToolMessage):
                add_row(rows, show_results(pictures))
                pictures = []
            if isinstance(message, AssistantMessage) and len(rows) > first:
                ends.append(len(rows) - 1)
            add_row(rows, self._message(message, quirks, request.images))
            if isinstance(message, ToolMessage) and message.images and self._images:
                pictures.append(self._pictures_of(message, request.images))
        if pictures:
            add_row(rows, show_results(pictures))
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
        parts = as_list(with_images(f"Pictures of the result of {message.name or 'a tool'}:", message.images, images))
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

    def _message(self, message: Message, quirks: Quirks, images: Mapping[str, bytes]) -> bytes:
        """The message on the wire, b"" for one that would say nothing. A trimmed copy keeps the id of its original."""
        known = self._known.get(message.id)
        if known is not None and known[0] is message and known[1] is quirks:
            return known[2]
        row = self._row(message, quirks, images)
        encoded = encode_json(row) if row else b""
        self._known[message.id] = (message, quirks, encoded)
        return encoded

    def _row(self, message: Message, quirks: Quirks, images: Mapping[str, bytes]) -> dict[str, object]:
        match message:
            case SystemMessage():
                return {"role": "system", "content": message.content}
            case UserMessage():
                text = f"{message.context}\n\n{message.content}" if message.context else message.content
                if not self._images:
                    return {"role": "user", "content": name_images(text, message.images)}
                return {"role": "user", "content": with_images(text, message.images, images)}
            case ToolMessage():
                text = message.content if self._images else name_images(message.content, message.images)
                return {"role": "tool", "tool_call_id": message.tool_call_id, "content": text}
            case AssistantMessage():
                return self._answer(message, quirks)

    def _answer(self, message: AssistantMessage, quirks: Quirks) -> dict[str, object]:
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
        if SIGNATURE not in quirks.refused:
            signatures = {number: as_text(item[SIGNATURE]) for number, item in items if SIGNATURE in item}
        calls: list[dict[str, object]] = []
        for number, call in enumerate(message.tool_calls):
            function = {"name": call.name, "arguments": valid_arguments(call.arguments)}
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


def _reasoning(message: AssistantMessage, items: list[dict[str, object]], quirks: Quirks) -> dict[str, object]:
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
