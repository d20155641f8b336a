"""Adds a rule to `allow:` in a configuration file and leaves every other character of it as it was."""

import json
from pathlib import Path

from clio.config.yaml_file import Entry, Items, Scalar, Table, parse
from clio.config.yaml_settings import settings_of
from clio.config.yaml_write import insert, lines_of, rewrite, split_bom
from clio.errors import ConfigError
from clio.storage.locks import next_step, reason


def add_rule(path: Path, rule: str) -> None:
    """Append `rule` to the file's `allow:` list; a file or list that is missing is made, a rule that is there stays.

    Raises ConfigError where the file is wrong already, cannot be changed without touching more, or cannot be written.
    """
    try:
        rewrite(path, lambda before: with_rule(before, rule, str(path)))
    except OSError as error:
        raise ConfigError(
            f"the rule {rule!r} cannot be stored in {path}: {reason(error)}; {next_step(error)}"
        ) from None


def with_rule(data: bytes, rule: str, shown: str) -> bytes:
    """The file's bytes with the rule in its list. Raises ConfigError as `add_rule`."""
    table = parse(data, shown)
    before = _meaning(table, shown)
    if ("allow", rule) in before:
        return data
    bom, text = split_bom(data)
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
    lines, newline = lines_of(text)
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
        return insert(lines, (line, column), f"{comma}allow: [{quoted}]")
    return "".join(lines) + f"allow:{newline}  - {quoted}{newline}"


def _into_brackets(lines: list[str], node: Items, quoted: str) -> str:
    if not node.items:
        return insert(lines, (node.start[0], node.start[1] + 1), quoted)
    return insert(lines, node.items[-1].end, f", {quoted}")


def _below_last(lines: list[str], node: Items, quoted: str, newline: str) -> str:
    last = node.items[-1]
    indent = lines[last.start[0]][: node.start[1]]
    below = last.end[0] + (1 if last.end[1] else 0)  # a block text (`|`, `>`) ends at the start of the next line
    return insert(lines, (below, 0), f"{indent}- {quoted}{newline}")


def _below_key(lines: list[str], entry: Entry, quoted: str, newline: str) -> str:
    """The list is empty: nothing, or a null, stands behind the key."""
    node, row = entry.node, entry.line - 1
    if isinstance(node, Scalar) and node.text and node.start[0] == row:
        return insert(lines, node.start, f"[{quoted}]", drop=len(node.text))
    return insert(lines, (row + 1, 0), f"  - {quoted}{newline}")
