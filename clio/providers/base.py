"""The interface between the loop and any model, and what the three protocols share."""

import base64
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Iterator, Mapping, MutableMapping, Sequence
from typing import Literal, Protocol, runtime_checkable

from msgspec import Raw, Struct

from clio.messages import AssistantMessage, ImagePart, Message, ReasoningItem, ToolCall, Usage
from clio.text.translation import mark

AUTO = "auto"
EFFORTS = ("none", "minimal", "low", "medium", "high", "xhigh", "max")
"""Levels of reasoning effort, from least to most. No model supports all of them."""


class ToolSpec(Struct, frozen=True, kw_only=True):
    """A tool as the model sees it.

    parameters: its JSON Schema, encoded once: identical bytes keep the server's prompt cache valid.
    """

    name: str
    description: str
    parameters: Raw


class ChatRequest(Struct, frozen=True, kw_only=True):
    """One request to a model.

    Attributes:
        system: the system prompt; like `tools`, it is the same in all requests of a session.
        images: bytes of the images in the messages, by handle; a missing image is sent as its name.
        stop: texts at which the server ends the answer, at most four; not sent over /v1/responses, which has no such
            field.
        effort: reasoning effort, one of EFFORTS, or "auto" for the server's default.
        cache_key: the same for all requests of a session, so that a server routes them to the same prompt cache.
    """

    system: str
    messages: tuple[Message, ...]
    tools: tuple[ToolSpec, ...] = ()
    max_output_tokens: int | None = None
    images: Mapping[str, bytes] = {}
    stop: tuple[str, ...] = ()
    effort: str = AUTO
    cache_key: str = ""


class ToolCallDelta(Struct, frozen=True, kw_only=True):
    """A part of a tool call. `name` and `id` are complete if not empty; `arguments` is appended to earlier parts."""

    index: int
    id: str = ""
    name: str = ""
    arguments: str = ""


class Chunk(Struct, frozen=True, kw_only=True):
    """One part of an answer, independent of the protocol. Its reasoning comes before its text.

    Attributes:
        finish_reason, usage: only in the last chunk.
        cost: the cost of the answer according to the server, in micro-dollars; None if it does not say.
        reasoning_items, origin: see `AssistantMessage`; only in the last chunk.
        notice: a sentence for the user about a change to the request that made the server accept it; "" for none.
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
"""Sources of a window size: a server that rejected a request and named its limit, or one that only rejected it."""
SMALLEST_WINDOW = 512
"""Smaller numbers are ignored as window sizes: they are bugs, placeholders, or other numbers in an error message."""


class ModelLimits(Struct, frozen=True, kw_only=True):
    """A model's token limits.

    source: where the window size is from: "config", "server", "profile", "default", LIMIT_NAMED or LIMIT_REFUSED.
    """

    context_window: int
    max_output_tokens: int
    source: str


WatchStream = Callable[["Provider", ChatRequest, AsyncIterator[Chunk]], AsyncGenerator[Chunk]]
"""Observes one request of a provider, and yields the chunks of its answer unchanged."""


class Provider(Protocol):
    """One model on one server, or a provider that needs no server."""

    @property
    def name(self) -> str:
        """The server's display name: the preset's name or the host."""
        ...

    @property
    def model(self) -> str:
        """The model's name as the server knows it."""
        ...

    async def limits(self) -> ModelLimits:
        """Return the window and the output limit.

        The server is asked at most once. If it does not answer, profiles and defaults are used.
        """
        ...

    def stream(self, request: ChatRequest) -> AsyncIterator[Chunk]:
        """Yield the answer in chunks; closing the iterator closes the connection.

        Raises ProviderRefused, RateLimited, ServerFailed, StreamBroken or ContextOverflow. A stream without any
        content raises StreamBroken: some servers report an overflow that way.
        """
        ...

    async def close(self) -> None:
        """Close all connections."""
        ...


OFFLINE = "offline"
"""The name of the provider that answers by rules, without a model."""
NO_MODEL = mark("no model is connected")
CONNECT_MODEL = mark("set OPENAI_API_KEY or start Ollama, then restart clio")
"""What to do where no model is connected. Both texts are used wherever that is said."""


class OfferedModel(Struct, frozen=True, kw_only=True):
    """A model in a server's list, with the server's data about it.

    Attributes:
        window: in tokens; 0 if the server does not say.
        efforts: the supported levels of reasoning effort, () for none; None if the server does not say.
        images: whether it accepts images; None if the server does not say.
    """

    name: str
    window: int = 0
    efforts: tuple[str, ...] | None = None
    images: bool | None = None


@runtime_checkable
class ListsModels(Protocol):
    """A provider whose server can list its models."""

    async def offered(self) -> tuple[OfferedModel, ...]:
        """Return the models in the server's order. Takes a few seconds at most. Raises ClioError if that fails."""
        ...

    async def models(self) -> tuple[str, ...]:
        """Return the models' names; () if the server does not list them."""
        ...


ProtocolName = Literal["chat", "responses", "messages"]
Lessons = MutableMapping[str, object]
"""What was learned about one model from rejected requests, as JSON values by name; stored for later runs."""


class AnswerDecoder(Protocol):
    """Reads the events of one answer in order."""

    @property
    def has_content(self) -> bool:
        """Whether text, reasoning or a tool call was received."""
        ...

    @property
    def finish_reason(self) -> str:
        """Why the model stopped, as a finish reason of Chat Completions; "" if the server has not said."""
        ...

    @property
    def is_whole(self) -> bool:
        """Whether the answer is complete, as opposed to cut off."""
        ...

    @property
    def is_finished(self) -> bool:
        """Whether the server has sent its last event."""
        ...

    def take(self, event: object) -> Sequence[Chunk]:
        """Decode one event into chunks, in the order of the answer; empty if it has no content.

        Raises TransportFailed for an error in the stream.
        """
        ...

    def ending(self) -> Chunk:
        """Return the finish reason, usage and reasoning items of the whole answer, and content still held back."""
        ...


class WireProtocol(Protocol):
    """Encodes requests to one model, and decodes its answers, in one protocol."""

    @property
    def name(self) -> ProtocolName:
        """The protocol's name."""
        ...

    @property
    def path(self) -> str:
        """The path of requests, below the base URL."""
        ...

    @property
    def needs_output_limit(self) -> bool:
        """Whether every request must contain the maximum of output tokens."""
        ...

    @property
    def efforts(self) -> tuple[str, ...]:
        """The levels of reasoning effort that may be requested, from least to most, without rejected ones."""
        ...

    def encode(self, request: ChatRequest) -> bytes:
        """Return the request's body."""
        ...

    def decoder(self) -> AnswerDecoder:
        """Return a new decoder for the answer to one request."""
        ...

    def adapt(self, refusal: str) -> str | None:
        """Change later requests so that the server accepts them.

        refusal: the body of the rejection, such as of status 400 or 422.

        Returns a sentence for the user; "" if nothing that the user chose has changed; None if nothing could be
        learned from the rejection.
        """
        ...


_USER, _TEXT, _PARTS = b'{"role":"user","content":', b'{"role":"user","content":"', b'{"role":"user","content":['


class CitedSources:
    """The pages that an answer cites, found by the search tool of the model's own server."""

    def __init__(self) -> None:
        self._titles: dict[str, str] = {}

    def add(self, citation: Mapping[str, object]) -> None:
        """Add the page of a citation; anything but a web address is ignored."""
        url, title = citation.get("url"), citation.get("title")
        if isinstance(url, str) and url.startswith(("https://", "http://")) and not any(map(str.isspace, url)):
            name = " ".join(title.split()) if isinstance(title, str) else ""
            self._titles.setdefault(url, name.replace("[", "(").replace("]", ")") or url)

    def render(self) -> str:
        """Return the end of the answer that lists them; "" if it cites nothing."""
        rows = [f"- [{title}]({url})" for url, title in self._titles.items()]
        return "\n".join(["\n\nSources:", *rows]) if rows else ""


def encode_user_content(text: str, parts: Sequence[ImagePart], images: Mapping[str, bytes]) -> object:
    """Return the content of a user message: a string, or a list of text and image parts if there are images.

    images: the bytes by handle. A missing image is replaced by a text with its name.
    """
    if not parts:
        return text
    rows: list[dict[str, object]] = [{"type": "text", "text": text}]
    for part in parts:
        data = images.get(part.blob)
        if data is None:
            rows.append({"type": "text", "text": f"[the image {part.name} is no longer stored]"})
        else:
            url = f"data:{part.media_type};base64,{base64.b64encode(data).decode('ascii')}"
            rows.append({"type": "image_url", "image_url": {"url": url}})
    return rows


def append_image_names(text: str, parts: Sequence[ImagePart]) -> str:
    """Return the text followed by the names of its images, for a model that does not support images."""
    named = [f"[the image {part.name} is not shown: this model does not support images]" for part in parts]
    return "\n\n".join([text, *named] if text else named)


def encode_result_pictures(pictures: Sequence[bytes]) -> bytes:
    """Return an encoded user message with the images of tool results. pictures: encoded parts."""
    return _PARTS + b",".join(pictures) + b"]}"


def join_user_messages(before: bytes, row: bytes) -> bytes:
    """Join two encoded user messages, at least one of them with images; b"" if they are anything else."""
    if not (before.startswith(_USER) and row.startswith(_USER)):
        return b""
    if not (before.startswith(_PARTS) or row.startswith(_PARTS)):
        return b""
    return _PARTS + _parts(before) + b"," + _parts(row) + b"]}"


def _parts(row: bytes) -> bytes:
    """Return the content of an encoded user message as encoded parts."""
    if row.startswith(_PARTS):
        return row[len(_PARTS) : -2]
    return b'{"type":"text","text":"' + row[len(_TEXT) : -1] + b"}"


def iter_answer_parts(message: AssistantMessage, origin: str) -> Iterator[str | ReasoningItem | ToolCall]:
    """Yield the text, reasoning items and tool calls of one answer in order.

    Text comes before the calls, except where a reasoning item was between them. Reasoning items of another origin
    than `origin` are skipped, because only the server and model that made them accept them.
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
