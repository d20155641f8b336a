"""What servers offer and answer, as clio's own values, and what they offered last, cached on disk."""

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


class McpReply(Struct, frozen=True, kw_only=True):
    """What a call, a resource or a prompt gave, as one text. ok: False where the server calls it an error.

    images: the pictures of a call's answer; the text names them.
    """

    text: str
    ok: bool = True
    images: tuple[Picture, ...] = ()


class ElicitationQuestion(Struct, frozen=True, kw_only=True):
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


MAX_KEPT = 60
"""Catalogs in one file; those listed longest ago go first."""


class Catalogs(Struct, frozen=True, kw_only=True):
    """By the mark of a server's configuration."""

    catalogs: dict[str, Catalog] = {}


CATALOGS = DocumentFormat(schema="clio.mcp_catalogs", version=1, type=Catalogs)


def server_fingerprint(server: McpServer) -> str:
    """Of everything that decides what a server offers. Variables stay as written: their values are secrets."""
    plain = structs.replace(server, where="", own=True, enabled=True, timeout_s=1.0, tools=None, read_only=())
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:24]


def read_catalogs(path: Path | None) -> dict[str, Catalog]:
    """What is kept; nothing where the file is missing, damaged (it is then set aside) or from a newer clio."""
    if path is None:
        return {}
    try:
        document = load_document(path, CATALOGS)
    except (StorageError, OSError):  # a cache: the servers are asked again
        return {}
    return document.value.catalogs if document else {}


def store_catalog(path: Path | None, server: McpServer, catalog: Catalog) -> None:
    """Store what a server offers. Without success it is asked again next time."""

    def change(old: Catalogs) -> Catalogs:
        merged = old.catalogs | {server_fingerprint(server): catalog}
        newest = sorted(merged.items(), key=lambda item: -item[1].listed_at)[:MAX_KEPT]
        return Catalogs(catalogs=dict(newest))

    if path is not None:
        try:
            update_document(path, CATALOGS, change)
        except (StorageError, OSError, TimeoutError):
            return
