"""What servers offer and answer, as clio's own values: the SDK's types stay behind `wire`."""

from collections.abc import Callable
from typing import Literal

from msgspec import Raw, Struct

from clio.images import Picture

Progress = Callable[[str], None]
"""Called with a short line of news while a call runs."""
State = Literal["not started", "starting", "running", "failed"]
"""Of one server."""


class OfferedTool(Struct, frozen=True, kw_only=True):
    """One tool as its server describes it. schema: of its arguments, as JSON. reads: a hint, and nothing more."""

    name: str
    title: str = ""
    description: str = ""
    schema: Raw = Raw(b"{}")
    reads: bool = False


class OfferedResource(Struct, frozen=True, kw_only=True):
    """One text or file a server gives. template: the URI holds `{names}` to fill in."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""
    template: bool = False


class PromptArgument(Struct, frozen=True, kw_only=True):
    """What a prompt may be given."""

    name: str
    description: str = ""
    required: bool = False


class OfferedPrompt(Struct, frozen=True, kw_only=True):
    """A text with blanks that a server offers to the person."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class Catalog(Struct, frozen=True, kw_only=True):
    """All that a server offers. listed_at: when, in seconds since 1970."""

    server: str = ""
    version: str = ""
    tools: tuple[OfferedTool, ...] = ()
    resources: tuple[OfferedResource, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    listed_at: float = 0.0


class Reply(Struct, frozen=True, kw_only=True):
    """What a call, a resource or a prompt gave, as one text. ok: False where the server calls it an error.

    images: the pictures of a call's answer; the text names them.
    """

    text: str
    ok: bool = True
    images: tuple[Picture, ...] = ()


class Question(Struct, frozen=True, kw_only=True):
    """One thing a server asks the person for. options: what to choose from. kind: of the answer, as JSON names it."""

    name: str
    text: str
    options: tuple[str, ...] = ()
    kind: str = "string"
    default: str | None = None
    required: bool = False


class ServerDown(Exception):
    """A server cannot be used. The text is the end of a sentence: why, and what to do."""


class CallFailed(Exception):
    """A server that runs did not do what it was asked; why, as the end of a sentence."""
