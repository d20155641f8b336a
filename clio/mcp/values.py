"""Values that MCP servers send (tools, resources, prompts, replies), and the stored catalog of each server's offer."""

import hashlib
from collections.abc import Callable, Coroutine
from pathlib import Path
from typing import Any, Literal

import msgspec
from msgspec import Raw, Struct, structs

from clio.config.loaded import McpServer
from clio.errors import StorageError
from clio.images import Picture
from clio.storage.documents import DocumentFormat, load_document, update_document
from clio.storage.files import make_ignored_folder
from clio.text.translation import mark

ShowProgress = Callable[[str], None]
"""Shows one line for each progress notification of a running call."""
Ask = Callable[[str, tuple[str, ...]], Coroutine[Any, Any, str]]
"""Asks the user: question, choices → answer; "" for no answer."""
ServerState = Literal["not started", "starting", "running", "failed"]
"""The state of a server."""
STATE_LABELS: dict[ServerState, str] = {
    "not started": mark("not started"),
    "starting": mark("starting"),
    "running": mark("running"),
    "failed": mark("failed"),
}


class OfferedTool(Struct, frozen=True, kw_only=True):
    """A tool as its server describes it.

    Attributes:
        schema: JSON Schema of its arguments.
        reads: whether the server claims that the tool changes nothing; the claim is not trusted.
    """

    name: str
    title: str = ""
    description: str = ""
    schema: Raw = Raw(b"{}")
    reads: bool = False


class OfferedResource(Struct, frozen=True, kw_only=True):
    """A resource that a server offers. template: whether the URI contains placeholders such as `{name}`."""

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
    """Everything that a server offers.

    Attributes:
        server, version: name and version that the server reports.
        listed_at: time of the request, in seconds since the epoch.
    """

    server: str = ""
    version: str = ""
    tools: tuple[OfferedTool, ...] = ()
    resources: tuple[OfferedResource, ...] = ()
    prompts: tuple[OfferedPrompt, ...] = ()
    listed_at: float = 0.0


class McpReply(Struct, frozen=True, kw_only=True):
    """What a server returned for a tool call, a resource or a prompt, as one text.

    Attributes:
        ok: False if the server marks the result as an error.
        images: images in the result of a tool call; the text contains a line for each.
    """

    text: str
    ok: bool = True
    images: tuple[Picture, ...] = ()


class ElicitationQuestion(Struct, frozen=True, kw_only=True):
    """One field of a form by which a server asks the user for information (an MCP "elicitation").

    Attributes:
        options: the choices; () for any text.
        kind: the JSON type of the answer.
    """

    name: str
    text: str
    options: tuple[str, ...] = ()
    kind: str = "string"
    default: str | None = None
    required: bool = False


class ServerDown(Exception):
    """A server cannot be used. The message says why and what to do; it is the end of a sentence, as in "NAME: …"."""


class CallFailed(Exception):
    """A running server answered a request with an error, or too late. The message is the end of a sentence."""


MAX_STORED_CATALOGS = 60
"""Maximum number of catalogs in the file; the oldest are removed first."""


class Catalogs(Struct, frozen=True, kw_only=True):
    """The stored catalogs, by the server's `hash_server_config`."""

    catalogs: dict[str, Catalog] = {}


CATALOG_FORMAT = DocumentFormat(schema="clio.mcp_catalogs", version=1, type=Catalogs)


def hash_server_config(server: McpServer) -> str:
    """Return a hash of the configuration that determines what a server offers.

    Variables are hashed as written, as `${NAME}`: their values may be secrets.
    """
    # Settings that do not change the server's offer are left out, so that editing them keeps the stored catalog.
    relevant = structs.replace(server, where="", own=True, enabled=True, timeout_s=1.0, tools=None, read_only=())
    fields = msgspec.to_builtins(relevant)
    for later in ("oauth", "sampling"):  # not in the hashes of catalogs that earlier versions stored
        del fields[later]
    return hashlib.sha256(msgspec.json.encode(fields, order="deterministic")).hexdigest()[:24]


def read_catalogs(path: Path | None) -> dict[str, Catalog]:
    """Return the stored catalogs; {} if there is no readable file. A damaged file is set aside."""
    if path is None:
        return {}
    try:
        document = load_document(path, CATALOG_FORMAT)
    except (StorageError, OSError):  # a cache: the servers are asked again
        return {}
    return document.value.catalogs if document else {}


def store_catalog(path: Path | None, server: McpServer, catalog: Catalog) -> None:
    """Store a server's catalog. Errors are ignored: the server is then asked again next time."""

    def add_catalog(old: Catalogs) -> Catalogs:
        merged = old.catalogs | {hash_server_config(server): catalog}
        # The limit also removes the catalogs of servers that are no longer configured.
        newest = sorted(merged.items(), key=lambda item: -item[1].listed_at)[:MAX_STORED_CATALOGS]
        return Catalogs(catalogs=dict(newest))

    if path is not None:
        try:
            make_ignored_folder(path.parent, path.parents[1])
            update_document(path, CATALOG_FORMAT, add_catalog)
        except (StorageError, OSError, TimeoutError):
            return
