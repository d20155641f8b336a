"""The messages of a conversation, and text for the model that is not conversation."""

from typing import Literal, assert_never

from msgspec import Struct, field

from clio.ids import new_id

Origin = Literal["user", "continue", "recovery", "hook", "interrupt"]


UNCHANGED = "unchanged"
"""Summary of a result that only points at an earlier one, which it therefore does not supersede."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call the model asked for. `arguments` is the JSON text as the model wrote it, repaired or not."""

    id: str
    name: str
    arguments: str = "{}"


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens a server billed for one request, or for several added up.

    cached_tokens: part of `prompt_tokens` that was read from the server's prompt cache.
    cache_write_tokens: part of `prompt_tokens` that was written to it, at a higher price.
    cache_write_1h_tokens: part of `cache_write_tokens` that was written for an hour, at a higher price still.
    reasoning_tokens: part of `completion_tokens`.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cache_write_1h_tokens=self.cache_write_1h_tokens + other.cache_write_1h_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
        )


class SystemMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="system"):
    """Text that frames the conversation. `created` is in seconds since the epoch, as in all messages."""

    content: str
    id: str = field(default_factory=new_id)
    created: float = 0.0


class ImagePart(Struct, frozen=True, kw_only=True):
    """A picture beside the words. blob: the handle its bytes are stored under in the session.

    media_type: "image/png" and the like. name: as the person named it. size: in bytes.
    """

    blob: str
    media_type: str
    name: str
    size: int


class UserMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="user"):
    """What the person said.

    context: what clio put before the words for this turn (date, git state, recalled memories). It is kept beside the
        words, so that later requests repeat it byte for byte and nothing injected is ever taken for the user's own.
    images: pictures they named or pasted.
    blob: the handle of the whole words, where `content` is only their beginning and their end.
    origin: "user" for a person's words; else clio wrote it to keep the conversation going.
    steers: said into a turn that was running, which it is a part of.
    """

    content: str
    context: str = ""
    images: tuple[ImagePart, ...] = ()
    blob: str | None = None
    origin: Origin = "user"
    steers: bool = False
    id: str = field(default_factory=new_id)
    created: float = 0.0


class ReasoningItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A piece of reasoning as the server sent it, to be returned unchanged with the answer it belongs to.

    data: the JSON text of the item. text: how many characters of the answer's text came before it.
    calls: how many of the answer's tool calls came before it.
    """

    data: str
    text: int = 0
    calls: int = 0


class AssistantMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="assistant"):
    """One answer of the model. `finish_reason` is the server's word, or "interrupted".

    reasoning: what the model thought, as text for the screen.
    reasoning_items: what its server wants back with this answer in later requests, in order.
    reasoning_origin: the protocol, host and model they came from; no other gets them.
    """

    content: str = ""
    reasoning: str = ""
    reasoning_items: tuple[ReasoningItem, ...] = ()
    reasoning_origin: str = ""
    tool_calls: tuple[ToolCall, ...] = ()
    model: str = ""
    finish_reason: str = ""
    usage: Usage | None = None
    id: str = field(default_factory=new_id)
    created: float = 0.0


class FileDeed(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file a tool changed. Paths as they are shown; `moved_to` is set for a move.

    lines: first and last line of each place that changed, as they are numbered after the change; none for a whole file.
    """

    path: str
    kind: Literal["add", "update", "delete", "move"]
    moved_to: str = ""
    lines: tuple[tuple[int, int], ...] = ()


class Commit(Struct, frozen=True, kw_only=True):
    """A commit a tool made: its abbreviated hash and the first line of its message."""

    hash: str
    subject: str


class Deeds(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """What a call really did, for whoever sums up the session: not what it was asked to do, nor what its text says.

    command, exit_code: of a shell command that ran to its end; None while it runs in the background or was killed.
    question, answer: of an exchange with the person.
    """

    changed: tuple[FileDeed, ...] = ()
    read: tuple[str, ...] = ()
    commits: tuple[Commit, ...] = ()
    command: str = ""
    exit_code: int | None = None
    question: str = ""
    answer: str = ""


class ToolMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="tool"):
    """The result of one tool call. `blob` is the handle of the whole output where `content` is only a preview.

    images: pictures that belong to the result.
    """

    tool_call_id: str
    content: str
    images: tuple[ImagePart, ...] = ()
    name: str = ""
    ok: bool = True
    summary: str = ""
    seconds: float = 0.0
    blob: str | None = None
    deeds: Deeds | None = None
    id: str = field(default_factory=new_id)
    created: float = 0.0


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def begins_turn(message: Message) -> bool:
    """Whether a person began a turn with this message."""
    return isinstance(message, UserMessage) and message.origin == "user" and not message.steers


def text_of(message: Message) -> str:
    """All words of a message a person or a search would read; tool arguments included, reasoning left out."""
    match message:
        case AssistantMessage():
            calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
            return "\n".join([message.content, *calls]).strip()
        case SystemMessage() | UserMessage() | ToolMessage():
            return message.content
        case _:
            assert_never(message)


def blobs_of(message: Message) -> tuple[str, ...]:
    """The handles of everything stored beside a message."""
    pictures = tuple(part.blob for part in message.images) if isinstance(message, UserMessage | ToolMessage) else ()
    whole = message.blob if isinstance(message, UserMessage | ToolMessage) else None
    return (*pictures, whole) if whole else pictures


def answer_open_calls(messages: list[Message], reason: str, now: float) -> list[ToolMessage]:
    """Results for the calls nobody answered, so that the next request is accepted; in the order of the calls.

    Only the last assistant message is looked at: earlier rounds were closed when they ended.
    """
    answered = {message.tool_call_id for message in messages if isinstance(message, ToolMessage)}
    for message in reversed(messages):
        if isinstance(message, AssistantMessage):
            return [
                ToolMessage(tool_call_id=call.id, name=call.name, content=reason, ok=False, summary=reason, created=now)
                for call in message.tool_calls
                if call.id not in answered
            ]
    return []


class Fragment(Struct, frozen=True, kw_only=True):
    """One piece of context with its account: what it is, where it came from, why it is here, how much it may cost.

    name: the tag it is wrapped in, such as "environment"; lower case, no spaces.
    source: a path or a store, for the person who asks why.
    cap_tokens: the builder cuts the text to this many estimated tokens.
    whole: no limit cuts it or leaves it out, however small the window is.
    """

    name: str
    text: str
    source: str
    reason: str
    cap_tokens: int = 1000
    whole: bool = False
