"""Marketplaces: lists of plugins in `.claude-plugin/marketplace.json` of a repository."""

import re
from collections.abc import Mapping
from typing import Any, cast

import msgspec
from msgspec import Struct
from msgspec.structs import replace

from clio.config.installed_plugins import MARKETPLACE_PATH, MAX_MANIFEST_BYTES, clean_line
from clio.errors import ClioError, UsageError
from clio.plugins.repositories import PluginSource, check_ref, clean_path, parse_source
from clio.text.json_data import decode_json
from clio.text.translation import tr

_NAME = re.compile(r"[A-Za-z0-9][\w.-]{0,63}", re.ASCII)
_MAX_LISTED = 500
_MAX_ENTRY_BYTES = 100_000
_PART_FIELDS = ("skills", "commands", "agents", "themes", "hooks", "mcpServers", "strict", "version", "description")


class MarketplaceEntry(Struct, frozen=True, kw_only=True):
    """One plugin of a marketplace.

    Attributes:
        source: None if clio cannot fetch it; `problem` is then the reason.
        parts: what the entry says about the plugin's parts.
    """

    name: str
    description: str
    source: PluginSource | None
    problem: str = ""
    parts: dict[str, Any] = {}


class Marketplace(Struct, frozen=True, kw_only=True):
    """A list of plugins."""

    name: str
    entries: tuple[MarketplaceEntry, ...]

    def get(self, name: str) -> MarketplaceEntry:
        """Return the plugin of that name. Raises ClioError."""
        found = next((entry for entry in self.entries if entry.name.lower() == name.lower()), None)
        if found is None:
            raise ClioError(
                tr("The marketplace {marketplace!r} has no plugin {name!r}", marketplace=self.name, name=name)
            )
        return found


def parse_marketplace(data: bytes, source: PluginSource) -> Marketplace:
    """Parse a marketplace's list. source: the repository it is in. Raises ClioError."""
    try:
        if len(data) > MAX_MANIFEST_BYTES:
            raise ValueError("it is too large")
        document = decode_json(data.removeprefix(b"\xef\xbb\xbf"), type=dict[str, Any])
    except (msgspec.DecodeError, ValueError, RecursionError) as error:
        raise ClioError(
            tr("{path} of {source} is not valid: {error}", path=MARKETPLACE_PATH, source=source.text, error=error)
        ) from None
    name = document.get("name")
    if not isinstance(name, str) or not _NAME.fullmatch(name):
        name = source.base_name
    if not _NAME.fullmatch(name):
        raise ClioError(tr("the marketplace {source} has no valid name", source=source.text))
    metadata = document.get("metadata")
    root = cast("dict[str, Any]", metadata).get("pluginRoot", "") if isinstance(metadata, dict) else ""
    listed = document.get("plugins")
    rows = cast("list[Any]", listed)[:_MAX_LISTED] if isinstance(listed, list) else []
    entries = [
        _parse_entry(cast("dict[str, Any]", row), source, root if isinstance(root, str) else "")
        for row in rows
        if isinstance(row, dict) and isinstance(cast("dict[str, Any]", row).get("name"), str)
    ]
    return Marketplace(name=name, entries=tuple(entry for entry in entries if _NAME.fullmatch(entry.name)))


def _parse_entry(row: Mapping[str, Any], source: PluginSource, root: str) -> MarketplaceEntry:
    parts = {key: row[key] for key in ("name", *_PART_FIELDS) if key in row}
    found, problem = None, ""
    try:
        found = _parse_entry_source(row.get("source"), source, root)
        if len(msgspec.json.encode(parts)) > _MAX_ENTRY_BYTES:
            found, problem = None, tr("its entry is too large")
    except UsageError as error:
        problem = str(error)
    return MarketplaceEntry(
        name=row["name"],
        description=clean_line(row.get("description"), 300),
        source=found,
        problem=clean_line(problem, 300),
        parts=parts,
    )


def _parse_entry_source(value: Any, source: PluginSource, root: str) -> PluginSource:
    """Return where a plugin is. Raises UsageError for a place that a list from elsewhere may not name."""
    if isinstance(value, str):
        path = value if value.startswith("./") or not root else f"{root.rstrip('/')}/{value}"
        return replace(source, path="/".join(filter(None, (source.path, clean_path(path)))))
    fields = cast("dict[str, Any]", value) if isinstance(value, dict) else {}
    kind = fields.get("source")
    address = fields.get("repo") if kind == "github" else fields.get("url")
    if kind not in ("github", "url", "git-subdir") or not isinstance(address, str):
        raise UsageError(tr("clio does not fetch plugins from {kind!r}", kind=clean_line(kind, 40) or "?"))
    path, ref = fields.get("path", ""), fields.get("sha") or fields.get("ref") or ""
    if not isinstance(path, str) or not isinstance(ref, str):
        raise UsageError(tr("its path or commit is not text"))
    found = parse_source(address, path=path) if not address.startswith((".", "/", "~")) else None
    is_local = found is None or found.url.startswith(("file:", "http:"))
    # A list from the network must not make clio read folders and servers of this machine.
    if found is None or (is_local and not (source.is_folder or source.url.startswith(("file:", "http:")))):
        raise UsageError(tr("it is in a place that only a marketplace on this machine may name"))
    return replace(found, ref=check_ref(ref) or found.ref)
