"""Adds a rule to `allow:` in a configuration file and leaves every other character of it as it was."""

import json
from pathlib import Path

from clio.config.yaml_file import Entry, Items, Place, Scalar, Table, parse, read_bytes
from clio.config.yaml_settings import settings_of
from clio.errors import ConfigError
from clio.storage.atomic import write_atomic
from clio.storage.filelock import FileLock
from clio.storage.folders import make_ignored_folder

_BOM = b"\xef\xbb\xbf"


def add_rule(path: Path, rule: str) -> None:
    """Append `rule` to the file's `allow:` list; a file or list that is missing is made, a rule that is there stays.

    Raises ConfigError where the file is wrong already, cannot be changed without touching more, or cannot be written.
    """
    target = path.resolve()  # a link stays a link
    try:
        make_ignored_folder(path.parent, path.parent)
        with FileLock(target.with_name(target.name + ".lock")):
            before = read_bytes(target, str(path)) or b""
            after = with_rule(before, rule, str(path))
            if after != before:
                write_atomic(target, after, target.stat().st_mode & 0o777 if before else 0o600)
    except OSError as error:
        raise ConfigError(f"the rule {rule!r} cannot be stored in {path}: {error}") from None


def with_rule(data: bytes, rule: str, shown: str) -> bytes:
    """The file's bytes with the rule in its list. Raises ConfigError as `add_rule`."""
    table = parse(data, shown)
    before = _meaning(table, shown)
    if ("allow", rule) in before:
        return data
    bom = _BOM if data.startswith(_BOM) else b""
    text = data[len(bom) :].decode("utf-8")
    changed = bom + _edit(text, table, json.dumps(rule, ensure_ascii=False)).encode("utf-8")
    # Whatever the file looks like: what it says now is what it said before, and the rule.
    if _same(changed, [*before, ("allow", rule)], shown):
        return changed
    raise ConfigError(f"the rule could not be added to {shown}; add it by hand under 'allow:' as - {json.dumps(rule)}")


def _same(data: bytes, expected: list[tuple[str, object]], shown: str) -> bool:
    try:
        found = _meaning(parse(data, shown), shown)
    except ConfigError:
        return False
    return sorted(found, key=repr) == sorted(expected, key=repr)


def _meaning(table: Table, shown: str) -> list[tuple[str, object]]:
    return [(setting.name, setting.value) for setting in settings_of(table, shown)]


def _edit(text: str, table: Table, quoted: str) -> str:
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
    entry = table.entries.get("allow")
    if entry is None:
        return _append_key(lines, table, quoted, newline)
    if isinstance(entry.node, Items) and entry.node.flow:
        return _into_brackets(lines, entry.node, quoted)
    if isinstance(entry.node, Items):
        return _below_last(lines, entry.node, quoted, newline)
    return _below_key(lines, entry, quoted, newline)


def _append_key(lines: list[str], table: Table, quoted: str, newline: str) -> str:
    if table.flow:
        line, column = table.end[0], table.end[1] - 1
        comma = ", " if table.entries else ""
        return _insert(lines, (line, column), f"{comma}allow: [{quoted}]")
    return "".join(lines) + f"allow:{newline}  - {quoted}{newline}"


def _into_brackets(lines: list[str], node: Items, quoted: str) -> str:
    if not node.items:
        return _insert(lines, (node.start[0], node.start[1] + 1), quoted)
    return _insert(lines, node.items[-1].end, f", {quoted}")


def _below_last(lines: list[str], node: Items, quoted: str, newline: str) -> str:
    last = node.items[-1]
    indent = lines[last.start[0]][: node.start[1]]
    below = last.end[0] + (1 if last.end[1] else 0)  # a block text (`|`, `>`) ends at the start of the next line
    return _insert(lines, (below, 0), f"{indent}- {quoted}{newline}")


def _below_key(lines: list[str], entry: Entry, quoted: str, newline: str) -> str:
    """The list is empty: nothing, or a null, stands behind the key."""
    node, row = entry.node, entry.line - 1
    if isinstance(node, Scalar) and node.text and node.start[0] == row:
        return _insert(lines, node.start, f"[{quoted}]", drop=len(node.text))
    return _insert(lines, (row + 1, 0), f"  - {quoted}{newline}")


def _insert(lines: list[str], place: Place, text: str, drop: int = 0) -> str:
    row, column = place
    head, tail = "".join(lines[:row]), "".join(lines[row + 1 :])
    line = lines[row] if row < len(lines) else ""
    return head + line[:column] + text + line[column + drop :] + tail
