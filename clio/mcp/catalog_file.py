"""What servers offered last, in `.clio/cache/mcp.json`: a session knows its tools before any server runs."""

import hashlib
from pathlib import Path

import msgspec
from msgspec import Struct, structs

from clio.config.server import Server
from clio.errors import StorageError
from clio.mcp.values import Catalog
from clio.storage.documents import Format, load, update

MAX_KEPT = 60
"""Catalogs in one file; those listed longest ago go first."""


class Catalogs(Struct, frozen=True, kw_only=True):
    """By the mark of a server's configuration."""

    catalogs: dict[str, Catalog] = {}


CATALOGS = Format(schema="clio.mcp_catalogs", version=1, type=Catalogs)


def mark_of(server: Server) -> str:
    """Of everything that decides what a server offers. Variables stay as written: their values are secrets."""
    plain = structs.replace(server, where="", own=True, enabled=True, timeout_s=1.0, tools=None, read_only=())
    return hashlib.sha256(msgspec.json.encode(plain, order="deterministic")).hexdigest()[:24]


def read_catalogs(path: Path | None) -> dict[str, Catalog]:
    """What is kept; nothing where the file is missing, damaged (it is then set aside) or from a newer clio."""
    if path is None:
        return {}
    try:
        document = load(path, CATALOGS)
    except (StorageError, OSError):  # a cache: the servers are asked again
        return {}
    return document.value.catalogs if document else {}


def keep_catalog(path: Path | None, server: Server, catalog: Catalog) -> None:
    """Store what a server offers. Without success it is asked again next time."""

    def change(old: Catalogs) -> Catalogs:
        merged = old.catalogs | {mark_of(server): catalog}
        newest = sorted(merged.items(), key=lambda item: -item[1].listed_at)[:MAX_KEPT]
        return Catalogs(catalogs=dict(newest))

    if path is not None:
        try:
            update(path, CATALOGS, change)
        except (StorageError, OSError, TimeoutError):
            return
