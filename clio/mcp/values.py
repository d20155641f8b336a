"""Values for what MCP servers offer and answer, and the cache of what they offered last."""

import hashlib
from collections.abc import Callable
from pathlib import Path
from typing import Literal

import msgspec
from msgspec import Raw, Struct, structs

from clio.config.loaded import McpServer
from clio.errors import StorageError
from clio.images import Picture
from clio.storage.documents import DocumentFormat, load_document, update_document

Progress = Callable[[str], None]
"""Called with one line for each progress notification of a running call."""
State = Literal["not started", "starting", "running", "failed"]
"""The state of a server."""


class OfferedTool(Struct, frozen=True, kw_only=True):
    """A tool as its server describes it.

    schema: JSON Schema of its arguments. reads: whether the server claims that it changes nothing; not trusted.
    """

    name: str
    title: str = ""
    description: str = ""
    schema: Raw = Raw(b"{}")
    reads: bool = False


class OfferedResource(Struct, frozen=True, kw_only=True):
    """A resource that a server offers. template: whether the URI contains `{names}` to fill in."""

    uri: str
    name: str = ""
    description: str = ""
    media_type: str = ""
    template: bool = False


class PromptArgument(Struct, frozen=True, kw_only=True):
    """An argument of a prompt."""

    name: str
    description: str = ""
    required: bool = False


class OfferedPrompt(Struct, frozen=True, kw_only=True):
    """A prompt with arguments that a server offers to the user."""

    name: str
    description: str = ""
    arguments: tuple[PromptArgument, ...] = ()


class Catalog(Struct, frozen=True, kw_only=True):
    """Everything that a server offers. listed_at: time of the request, in seconds since the epoch."""

    server: str = ""
    version: str = ""
    tools: tuple[OfferedTool, ...] = ()
    resources: tuple[OfferedResource, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    listed_at: float = 0.0


class McpReply(Struct, frozen=True, kw_only=True):
    """The result of a call, a resource or a prompt, as one text.

    ok: False if the server marks it as an error. images: the images in the answer of a call; the text names them.
    """

    text: str
    ok: bool = True
    images: tuple[Picture, ...] = ()


class ElicitationQuestion(Struct, frozen=True, kw_only=True):
    """One field that a server asks the user for.

    options: the choices; () for any text. kind: the JSON type of the answer.
    """

    name: str
    text: str
    options: tuple[str, ...] = ()
    kind: str = "string"
    default: str | None = None
    required: bool = False


class ServerDown(Exception):
    """A server cannot be used. The message is the end of a sentence: the reason and the next step."""


class CallFailed(Exception):
    """A running server answered a request with an error or not in time. The message is the end of a sentence."""


MAX_STORED_CATALOGS = 60
"""Maximum number of catalogs in the file; the oldest are removed first."""


class Catalogs(Struct, frozen=True, kw_only=True):
    """The stored catalogs, by fingerprint of the server's configuration."""

    catalogs: dict[str, Catalog] = {}


CATALOGS = DocumentFormat(schema="clio.mcp_catalogs", version=1, type=Catalogs)


def server_fingerprint(server: McpServer) -> str:
    """Return a hash of the configuration that determines what a server offers.

    Variables are hashed as written, as `${NAME}`: their values may be secrets.
    """
    # Without what does not change the server's offer: moving its entry must not discard the stored catalog.
    plain = structs.replace(server, where="", own=True, enabled=True, timeout_s=1.0, tools=None, read_only=())
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:24]


def read_catalogs(path: Path | None) -> dict[str, Catalog]:
    """Return the stored catalogs; {} if the file is missing, from a newer clio, or damaged and thus set aside."""
    if path is None:
        return {}
    try:
        document = load_document(path, CATALOGS)
    except (StorageError, OSError):  # a cache: the servers are asked again
        return {}
    return document.value.catalogs if document else {}


def store_catalog(path: Path | None, server: McpServer, catalog: Catalog) -> None:
    """Store a server's catalog. Errors are ignored: the server is then asked again next time."""

    def change(old: Catalogs) -> Catalogs:
        merged = old.catalogs | {server_fingerprint(server): catalog}
        # Entries of removed servers are never deleted otherwise.
        newest = sorted(merged.items(), key=lambda item: -item[1].listed_at)[:MAX_STORED_CATALOGS]
        return Catalogs(catalogs=dict(newest))

    if path is not None:
        try:
            update_document(path, CATALOGS, change)
        except (StorageError, OSError, TimeoutError):
            return
