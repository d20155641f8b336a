"""Adds and removes servers in an `mcp.yaml` without touching any other character of the file."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from clio.config.extension_files import SERVERS_KEY, parse_server_entries
from clio.config.loaded import McpServer
from clio.config.yaml_edit import rewrite_file, split_bom, split_lines_keeping_ends
from clio.config.yaml_file import Entry, Items, Node, Table, parse_yaml
from clio.errors import ConfigError
from clio.storage.locks import error_reason, suggest_fix

_PLAIN = re.compile(r"[A-Za-z./][\w./@~-]*")
_WORDS = frozenset("y n yes no on off true false null".split())


def add_server(path: Path, server: McpServer) -> None:
    """Add an entry; a missing file is created.

    Raises ConfigError if the name exists already, or the file cannot be changed without touching other lines.
    """
    _rewrite(path, lambda data: _with(data, server, str(path)), f"the MCP server {server.name!r} cannot be stored")


def remove_server(path: Path, name: str) -> bool:
    """Remove an entry; return whether it existed. Raises ConfigError as `add_server`."""
    removed = False

    def change(data: bytes) -> bytes:
        nonlocal removed
        changed = _without(data, name, str(path))
        removed = changed != data
        return changed

    _rewrite(path, change, f"the MCP server {name!r} cannot be removed")
    return removed


def _rewrite(path: Path, change: Callable[[bytes], bytes], what: str) -> None:
    try:
        rewrite_file(path, change)
    except OSError as error:
        raise ConfigError(f"{what}: {path}: {error_reason(error)}; {suggest_fix(error)}") from None


def _with(data: bytes, server: McpServer, shown: str) -> bytes:
    before, _ = parse_server_entries(data, shown)
    table = _table(data, shown)
    if table is not None and server.name in table.entries:
        raise ConfigError(f"the MCP server {server.name!r} already exists in {shown}; remove it first")
    bom, text = split_bom(data)
    lines, newline = split_lines_keeping_ends(text)
    if table is None or not table.entries:
        kept = "".join(line for line in lines if not re.match(rf"{SERVERS_KEY}\s*:", line))
        text = kept + newline.join([f"{SERVERS_KEY}:", *_rows(server, "  "), ""])
    else:
        row = _last_row(table)
        indent = " " * table.start[1]
        rows = [line + newline for line in _rows(server, indent)]
        text = "".join([*lines[: row + 1], *rows, *lines[row + 1 :]])
    changed = bom + text.encode("utf-8")
    return _checked(changed, {*before, server.name}, shown, f"add {server.name!r} to {shown} by hand")


def _without(data: bytes, name: str, shown: str) -> bytes:
    before, _ = parse_server_entries(data, shown)
    table = _table(data, shown)
    if table is None or name not in table.entries:
        return data
    bom, text = split_bom(data)
    lines, newline = split_lines_keeping_ends(text)
    entry = table.entries[name]
    rest = lines[: entry.line - 1] + lines[_last_row(entry.node, entry) + 1 :]
    if len(table.entries) == 1:
        rest = [f"{SERVERS_KEY}: {{}}{newline}" if re.match(rf"{SERVERS_KEY}\s*:", line) else line for line in rest]
    changed = bom + "".join(rest).encode("utf-8")
    return _checked(changed, {*before} - {name}, shown, f"remove {name!r} from {shown} by hand")


def _checked(changed: bytes, expected: set[str], shown: str, otherwise: str) -> bytes:
    """Check that the changed file, whatever its layout, differs only in the expected names."""
    try:
        found, _ = parse_server_entries(changed, shown)
    except ConfigError:
        found = {}
    if set(found) != expected:
        raise ConfigError(f"this file cannot be changed without touching more of it; {otherwise}")
    return changed


def _table(data: bytes, shown: str) -> Table | None:
    """Return the mapping of servers; None if there is none yet."""
    entry = parse_yaml(data, shown).entries.get(SERVERS_KEY)
    return entry.node if entry is not None and isinstance(entry.node, Table) else None


def _last_row(node: Node, entry: Entry | None = None) -> int:
    """Return the last row of a value, from 0; the parser itself includes comments and blank lines after it."""
    if isinstance(node, Table) and not node.flow and node.entries:
        return max(_last_row(one.node, one) for one in node.entries.values())
    if isinstance(node, Items) and not node.flow and node.items:
        return max(_last_row(one) for one in node.items)
    row, column = node.end
    least = entry.line - 1 if entry else node.start[0]
    return max(row if column else row - 1, least)


def _rows(server: McpServer, indent: str) -> list[str]:
    """Return the entry in YAML, below `mcpServers:`."""
    rows = [f"{indent}{_scalar(server.name)}:"]
    inner = indent + "  "
    if server.kind == "sse":
        rows.append(f"{inner}type: sse")
    if server.command:
        rows.append(f"{inner}command: {_scalar(server.command)}")
    if server.args:
        rows.append(f"{inner}args: [{', '.join(map(_scalar, server.args))}]")
    if server.url:
        rows.append(f"{inner}url: {_scalar(server.url)}")
    for name, pairs in (("env", server.env), ("headers", server.headers)):
        if pairs:
            rows.append(f"{inner}{name}:")
            rows += [f"{inner}  {_scalar(key)}: {_scalar(value)}" for key, value in pairs.items()]
    return rows


def _scalar(text: str) -> str:
    return text if _PLAIN.fullmatch(text) and text.lower() not in _WORDS else json.dumps(text, ensure_ascii=False)
