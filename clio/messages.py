"""The message types of a conversation, and the record of what tool calls did."""

from typing import Literal, assert_never

from msgspec import Struct, field

from clio.ids import new_id

Origin = Literal["user", "continue", "recovery", "hook", "interrupt"]


UNCHANGED = "unchanged"
"""Summary of a result that only refers to an earlier one, and therefore does not supersede it."""


class ToolCall(Struct, frozen=True, kw_only=True):
    """One call requested by the model. `arguments` is the JSON text as the model wrote it, valid or not."""

    id: str
    name: str
    arguments: str = "{}"


class Usage(Struct, frozen=True, kw_only=True):
    """Tokens a server billed for one request, or for several added up.

    Attributes:
        cached_tokens: part of `prompt_tokens` that was read from the server's prompt cache.
        cache_write_tokens: part of `prompt_tokens` that was written to it, at a higher price.
        cache_write_1h_tokens: part of `cache_write_tokens` that was written for an hour, at a still higher price.
        reasoning_tokens: part of `completion_tokens`.
        searches: searches of the web that the server made itself and bills apart from tokens.
    """

    prompt_tokens: int = 0
    completion_tokens: int = 0
    cached_tokens: int = 0
    cache_write_tokens: int = 0
    cache_write_1h_tokens: int = 0
    reasoning_tokens: int = 0
    searches: int = 0

    def __add__(self, other: "Usage") -> "Usage":
        return Usage(
            prompt_tokens=self.prompt_tokens + other.prompt_tokens,
            completion_tokens=self.completion_tokens + other.completion_tokens,
            cached_tokens=self.cached_tokens + other.cached_tokens,
            cache_write_tokens=self.cache_write_tokens + other.cache_write_tokens,
            cache_write_1h_tokens=self.cache_write_1h_tokens + other.cache_write_1h_tokens,
            reasoning_tokens=self.reasoning_tokens + other.reasoning_tokens,
            searches=self.searches + other.searches,
        )


class SystemMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="system"):
    """Text that frames the conversation. `created` is in seconds since the epoch, as in all messages."""

    content: str
    id: str = field(default_factory=new_id)
    created: float = 0.0


class ImagePart(Struct, frozen=True, kw_only=True):
    """A picture in a message. blob: the handle under which its bytes are stored in the session.

    media_type: "image/png" and the like. name: as the user named it. size: in bytes.
    """

    blob: str
    media_type: str
    name: str
    size: int


class UserMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="user"):
    """A message from the user.

    Attributes:
        context: what clio put before the text for this turn (date, git state, recalled memories). It is stored
            separately, so that later requests repeat it byte for byte and it is never mistaken for the user's own
            text.
        images: pictures the user named or pasted.
        blob: the handle of the whole text if `content` is only its beginning and end.
        origin: "user" for the user's text; other values if clio wrote it to keep the conversation going.
        steers: sent during a running turn, to which it belongs.
        memory_off: memory was off when it was sent, so nothing is learned from its turn later either.
    """

    content: str
    context: str = ""
    images: tuple[ImagePart, ...] = ()
    blob: str | None = None
    origin: Origin = "user"
    steers: bool = False
    memory_off: bool = False
    id: str = field(default_factory=new_id)
    created: float = 0.0


class ReasoningItem(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A reasoning item as the server sent it, to be returned unchanged with its answer.

    data: the JSON text of the item. text: how many characters of the answer's text preceded it.
    calls: how many of the answer's tool calls preceded it.
    """

    data: str
    text: int = 0
    calls: int = 0


class AssistantMessage(Struct, frozen=True, kw_only=True, omit_defaults=True, tag_field="role", tag="assistant"):
    """One answer of the model. `finish_reason` is the server's value, or "interrupted".

    Attributes:
        reasoning: the model's reasoning as text for the screen.
        reasoning_items: what its server requires with this answer in later requests, in order.
        reasoning_origin: the protocol, host and model they are from; they are sent to no other.
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


class ChangedFile(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A file changed by a tool. Paths as they are displayed; `moved_to` is set for a move.

    lines: first and last line of each changed place, numbered as after the change; empty for a whole file.
    """

    path: str
    kind: Literal["add", "update", "delete", "move"]
    moved_to: str = ""
    lines: tuple[tuple[int, int], ...] = ()


class Commit(Struct, frozen=True, kw_only=True):
    """A commit made by a tool: its abbreviated hash and the first line of its message."""

    hash: str
    subject: str


class ChangedMemory(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """A memory that a call changed. before, after: its texts; "" if it did not exist then."""

    id: str
    before: str = ""
    after: str = ""


class SideEffects(Struct, frozen=True, kw_only=True, omit_defaults=True):
    """The side effects of a call, recorded by the tool itself for session summaries, independent of its text.

    command, exit_code: of a shell command that has finished; None while it runs in the background or if it was
    killed.
    question, answer: of a question to the user.
    """

    changed: tuple[ChangedFile, ...] = ()
    read: tuple[str, ...] = ()
    commits: tuple[Commit, ...] = ()
    command: str = ""
    exit_code: int | None = None
    question: str = ""
    answer: str = ""
    memories: tuple[ChangedMemory, ...] = ()


class ToolMessage(
    Struct,
    frozen=True,
    kw_only=True,
    omit_defaults=True,
    tag_field="role",
    tag="tool",
    rename={"side_effects": "deeds"},  # the name in session files
):
    """The result of one tool call. `blob` is the handle of the whole output if `content` is only a preview.

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
    side_effects: SideEffects | None = None
    id: str = field(default_factory=new_id)
    created: float = 0.0


Message = SystemMessage | UserMessage | AssistantMessage | ToolMessage


def is_turn_start(message: Message) -> bool:
    """Whether the user began a turn with this message."""
    return isinstance(message, UserMessage) and message.origin == "user" and not message.steers


def message_text(message: Message) -> str:
    """Return all text of a message that a user or a search would read, including tool arguments but not reasoning."""
    match message:
        case AssistantMessage():
            calls = [f"{call.name} {call.arguments}" for call in message.tool_calls]
            return "\n".join([message.content, *calls]).strip()
        case SystemMessage() | UserMessage() | ToolMessage():
            return message.content
        case _:
            assert_never(message)


def blob_handles(message: Message) -> tuple[str, ...]:
    """Return the handles of everything stored separately from a message."""
    pictures = tuple(part.blob for part in message.images) if isinstance(message, UserMessage | ToolMessage) else ()
    output_handle = message.blob if isinstance(message, UserMessage | ToolMessage) else None
    return (*pictures, output_handle) if output_handle else pictures


def answer_open_calls(messages: list[Message], reason: str, now: float) -> list[ToolMessage]:
    """Return results for the calls without one, in the order of the calls, because servers reject unanswered calls.

    Only the last assistant message is examined: earlier steps were completed when they ended.
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


MISSING_TOOLS = "missing_tools"
"""Name of the fragment that lists tools which a small window has no space for."""


class Fragment(Struct, frozen=True, kw_only=True):
    """Text for the model that is not conversation, with its source, its reason and its token limit.

    Attributes:
        name: the tag it is wrapped in, such as "environment"; lower case, no spaces.
        source: a path or a store, for a user who asks where it is from.
        cap_tokens: the builder truncates the text to this many estimated tokens.
        whole: never truncate it or leave it out, however small the window is.
    """

    name: str
    text: str
    source: str
    reason: str
    cap_tokens: int = 1000
    whole: bool = False
