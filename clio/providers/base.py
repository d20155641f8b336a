"""What the loop asks of a model, whoever answers, and what the three protocols have in common."""

import base64
from collections.abc import AsyncIterator, Iterator, Mapping, MutableMapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from msgspec import Raw, Struct

from clio.messages import AssistantMessage, ImagePart, Message, ReasoningItem, ToolCall, Usage

AUTO = "auto"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""How hard a model can be asked to think, from the least to the most. No model takes all of them."""


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as the model sees it. `parameters` is its JSON Schema, encoded once, so that its bytes never change."""

    name: str
    description: str
    parameters: Raw


class ChatRequest(Struct, frozen=True, kw_only=True):
    """One request. `system` comes before `messages`; both it and `tools` are the same in a whole session.

    images: the bytes of the pictures the messages name, by handle; one that is missing is sent as its name.
    effort: how hard the model is to think, one of EFFORTS, or "auto" for the server's default.
    cache_key: what the requests of one session share, so that a server sends them to the same prompt cache.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    images: Mapping[str, bytes] = {}
    effort: str = AUTO
    cache_key: str = ""


class ToolCallDelta(Struct, frozen=True, kw_only=True):
    """A piece of a tool call. `name` and `id` are whole where given, `arguments` is to be appended."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Chunk(Struct, frozen=True, kw_only=True):
    """One piece of an answer, free of any server's habits. `finish_reason` and `usage` come once, near the end.

    cost: what the server says the answer cost, in micro-dollars; None where it does not.
    reasoning_items, origin: see `AssistantMessage`; they come once, near the end.
    notice: a sentence for the user about how the request was changed so that the server took it.
    """

    text: str = ""
    reasoning: str = ""
    tool_calls: tuple[ToolCallDelta, ...] = ()
    finish_reason: str = ""
    usage: Usage | None = None
    cost: int | None = None
    reasoning_items: tuple[ReasoningItem, ...] = ()
    origin: str = ""
    notice: str = ""


LIMIT_NAMED, LIMIT_REFUSED = "named", "refused"
"""Who said how large a window is: a server that refused a request and named its limit, or one that only refused."""
SMALLEST_WINDOW = 512
"""Fewer tokens are no window of a chat model: a bug, a placeholder, or another number in a refusal's sentence."""


class ModelLimits(Struct, frozen=True, kw_only=True):
    """What a model can take. `source` says who said so: "config", "server", "profile", "default", NAMED or REFUSED."""

    context_window: int
    max_output_tokens: int
    source: str


class Provider(Protocol):
    """One model behind one server (or none at all)."""

    @property
    def name(self) -> str:
        """The preset's or the host's name, for the screen."""
        ...

    @property
    def model(self) -> str:
        """The model's name as the server knows it."""
        ...

    async def limits(self) -> ModelLimits:
        """The window and the output cap; a server is asked at most once, and one that does not say is no error."""
        ...

    def stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """The answer in pieces; closing the iterator closes the connection.

        Raises ProviderRefused, RateLimited, ServerFailed, StreamBroken or ContextOverflow.
        A stream without one chunk of content raises StreamBroken: some servers report an overflow that way.
        """
        ...

    async def close(self) -> None:
        """Let go of connections."""
        ...


OFFLINE = "offline"
"""The name of the provider that needs no model."""


class OfferedModel(Struct, frozen=True, kw_only=True):
    """A model a server lists, with what it says of it.

    window: in tokens, 0 where it does not say. efforts: the levels it takes, () for none. images: whether it takes
    pictures. None where the server does not say.
    """

    name: str
    window: int = 0
    efforts: tuple[str, ...] | None = None
    images: bool | None = None


@runtime_checkable
class ListsModels(Protocol):
    """A provider whose server can be asked which models it has."""

    async def offered(self) -> tuple[OfferedModel, ...]:
        """The models in the server's order. Takes a few seconds at most; raises ClioError where none can be had."""
        ...

    async def models(self) -> tuple[str, ...]:
        """Their names as the server knows them; none where it does not say."""
        ...


ProtocolName = Literal["chat", "responses", "messages"]
Lessons = MutableMapping[str, object]
"""What a server's refusals taught about one model, as JSON values by name; kept for later runs."""


class AnswerDecoder(Protocol):
    """Reads the events of one answer in order."""

    @property
    def has_content(self) -> bool:
        """Whether text, reasoning or a tool call has come."""
        ...

    @property
    def finish_reason(self) -> str:
        """Why the model stopped, in the words of Chat Completions; "" where the server has not said."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the answer ended by itself, rather than being cut off."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether the server said that no event follows."""
        ...

    def take(self, event: object) -> Chunk | None:
        """The content of one event, None where it holds none. Raises TransportFailed for an error in the stream."""
        ...

    def ending(self) -> Chunk:
        """Finish reason, usage and reasoning items of the whole answer."""
        ...


class WireProtocol(Protocol):
    """Speaks one protocol to one model."""

    @property
    def name(self) -> ProtocolName:
        """The protocol's name."""
        ...

    @property
    def path(self) -> str:
        """Where requests go, below the base URL."""
        ...

    @property
    def needs_output_limit(self) -> bool:
        """Whether every request must name the most tokens the answer may have."""
        ...

    @property
    def efforts(self) -> tuple[str, ...]:
        """The levels of effort worth asking for, from the least to the most, without those that were refused."""
        ...

    def encode(self, request: ChatRequest) -> bytes:
        """The request's body."""
        ...

    def decoder(self) -> AnswerDecoder:
        """A reader for the answer to one request."""
        ...

    def adapt(self, refusal: str) -> str | None:
        """Change later requests so that the server takes them.

        refusal: the body of an answer of status 400 or 422. Returns a sentence for the user, "" where nothing they
        asked for has changed, None where the refusal teaches nothing.
        """
        ...


_USER, _TEXT, _PARTS = b'{"role":"user","content":', b'{"role":"user","content":"', b'{"role":"user","content":['


def encode_user_content(text: str, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> object:
    """The content of a user message: the text alone where no picture is there, else text and pictures.

    images: the bytes by handle. One that is gone is named in its place.
    """
    if not parts:
        return text
    rows: list[dict[str, object]] = [{"type": "text", "text": text}]
    for part in parts:
        data = images.get(part.blob)
        if data is None:
            rows.append({"type": "text", "text": f"[the picture {part.name} is not stored any more]"})
        else:
            url = f"data:{part.media_type};base64,{base64.b64encode(data).decode('ascii')}"
            rows.append({"type": "image_url", "image_url": {"url": url}})
    return rows


def append_image_names(text: str, parts: Sequence[ImagePart]) -> str:
    """The text with the names of its pictures, for a model that takes none."""
    named = [f"[the picture {part.name} is not shown: this model takes no pictures]" for part in parts]
    return "\n\n".join([text, *named] if text else named)


def encode_result_pictures(pictures: Sequence[bytes]) -> bytes:
    """An encoded message of the user with the pictures of tool results, each given as encoded parts."""
    return _PARTS + b",".join(pictures) + b"]}"


def join_user_messages(before: bytes, row: bytes) -> bytes:
    """Two encoded messages of the user, at least one of them with pictures, as one; b"" where they are not that."""
    if not (before.startswith(_USER) and row.startswith(_USER)):
        return b""
    if not (before.startswith(_PARTS) or row.startswith(_PARTS)):
        return b""
    return _PARTS + _parts(before) + b"," + _parts(row) + b"]}"


def _parts(row: bytes) -> bytes:
    """What is in an encoded message, as parts."""
    if row.startswith(_PARTS):
        return row[len(_PARTS) : -2]
    return b'{"type":"text","text":"' + row[len(_TEXT) : -1] + b"}"


def iter_answer_parts(message: AssistantMessage, origin: str) -> Iterator[str | ReasoningItem | ToolCall]:
    """Pieces of text, reasoning items and calls of one answer, in order.

    Reasoning items of another origin are left out.
    Text comes before the calls unless a reasoning item stood between them.
    """
    text, calls = 0, 0
    for item in message.reasoning_items if message.reasoning_origin == origin else ():
        if item.text > text:
            yield message.content[text : item.text]
            text = item.text
        yield from message.tool_calls[calls : item.calls]
        calls = max(calls, item.calls)
        yield item
    if message.content[text:]:
        yield message.content[text:]
    yield from message.tool_calls[calls:]
