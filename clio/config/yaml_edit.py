"""Changes one value or rule in a configuration file without touching any other character."""

import json
from collections.abc import Callable
from pathlib import Path

from clio.config.schema import CONFIG_FIELDS, iter_settings, parse_setting_text
from clio.config.yaml_file import Entry, Items, Position, Scalar, Table, parse_yaml, read_config_bytes
from clio.errors import ConfigError, UserError
from clio.storage.files import make_ignored_folder, write_atomic
from clio.storage.locks import FileLock, error_reason, suggest_fix

BOM = b"\xef\xbb\xbf"


def rewrite_file(path: Path, change: Callable[[bytes], bytes]) -> None:
    """Pass the file's bytes to `change` and write its result; a missing file is created.

    Raises what `change` raises, ConfigError if the file cannot be read, and OSError.
    """
    target = path.resolve()  # write to the target, so that a link stays a link
    make_ignored_folder(path.parent, path.parent)
    # Two clios may store a setting at the same time; the second must change what the first has written.
    with FileLock(target.with_name(target.name + ".lock")):
        before = read_config_bytes(target, str(path)) or b""
        after = change(before)
        if after != before:
            # A file the user made readable for others stays so; a new one may contain a key.
            write_atomic(target, after, target.stat().st_mode & 0o777 if before else 0o600)


def split_bom(data: bytes) -> tuple[bytes, str]:
    """Split off the byte order mark that some editors put before the text."""
    bom = BOM if data.startswith(BOM) else b""
    return bom, data[len(bom) :].decode("utf-8")


def split_lines_keeping_ends(text: str) -> tuple[list[str], str]:
    """Return the lines with their ends, also for the last one, and the line ending used."""
    lines = text.splitlines(keepends=True)
    newline = "\r\n" if lines and lines[0].endswith("\r\n") else "\n"
    if lines and not lines[-1].endswith(("\n", "\r")):
        lines[-1] += newline
    return lines, newline


def insert_text(lines: list[str], position: Position, text: str, drop: int = 0) -> str:
    """Return the whole text with `text` inserted at a position, replacing `drop` characters."""
    row, column = position
    head, tail = "".join(lines[:row]), "".join(lines[row + 1 :])
    line = lines[row] if row < len(lines) else ""
    return head + line[:column] + text + line[column + drop :] + tail


def store_setting(path: Path, name: str, text: str) -> None:
    """Set the field `name`, which is not a list or mapping, to the value in `text`; a missing file is created.

    Raises UserError for an invalid value; ConfigError if the file is already wrong, cannot be changed without
    touching other lines, or cannot be written.
    """
    try:
        parse_setting_text(CONFIG_FIELDS[name], text)
    except ValueError as error:
        raise UserError(f"{name} {error}") from None
    try:
        rewrite_file(path, lambda before: set_yaml_value(before, name, text.strip(), str(path)))
    except OSError as error:
        raise ConfigError(f"{name} cannot be stored in {path}: {error_reason(error)}; {suggest_fix(error)}") from None


def set_yaml_value(data: bytes, name: str, text: str, display_name: str) -> bytes:
    """Return the file's bytes with the value set. Raises ConfigError as `store_setting`."""
    table = parse_yaml(data, display_name)
    before = _collect_values(table, display_name)
    bom, old_text = split_bom(data)
    changed = bom + _insert_value(old_text, table, name, text).encode("utf-8")
    expected = before | {name: parse_setting_text(CONFIG_FIELDS[name], text)}
    # Whatever the file's layout: parsed again, it must contain the same as before, and the value.
    if _parse_values(changed, display_name) == expected:
        return changed
    raise ConfigError(f"{name} could not be set in {display_name}; write it there by hand: {name}: {text}")


def _parse_values(data: bytes, display_name: str) -> dict[str, object] | None:
    try:
        return _collect_values(parse_yaml(data, display_name), display_name)
    except ConfigError:
        return None


def _insert_value(text: str, table: Table, name: str, value: str) -> str:
    lines, newline = split_lines_keeping_ends(text)
    entry = table.entries.get(name)
    if entry is None and table.flow:
        line, column = table.end[0], table.end[1] - 1
        return insert_text(lines, (line, column), f"{', ' if table.entries else ''}{name}: {value}")
    if entry is None:
        return "".join(lines) + f"{name}: {value}{newline}"
    if not isinstance(entry.node, Scalar):
        return text
    start, end = entry.node.start, entry.node.end
    if start[0] != end[0]:
        return text
    gap = " " if start == end else ""  # there is no blank after the colon yet
    return insert_text(lines, start, gap + value, drop=end[1] - start[1])


def _collect_values(table: Table, display_name: str) -> dict[str, object]:
    """Return the value of each setting; each entry of a list separately."""
    lists = {name for name, field in CONFIG_FIELDS.items() if field.kind == "texts"}
    return {
        f"{setting.name}={setting.value}" if setting.name in lists else setting.name: setting.value
        for setting in iter_settings(table, display_name)
    }


def store_rule(path: Path, rule: str) -> None:
    """Append `rule` to the file's `allow:` list unless it is in it; a missing file or list is created.

    Raises ConfigError if the file is already wrong, cannot be changed without touching other lines, or cannot be
    written.
    """
    try:
        rewrite_file(path, lambda before: add_yaml_rule(before, rule, str(path)))
    except OSError as error:
        raise ConfigError(
            f"the rule {rule!r} cannot be stored in {path}: {error_reason(error)}; {suggest_fix(error)}"
        ) from None


def add_yaml_rule(data: bytes, rule: str, display_name: str) -> bytes:
    """Return the file's bytes with the rule in its list. Raises ConfigError as `store_rule`."""
    table = parse_yaml(data, display_name)
    before = _list_settings(table, display_name)
    if ("allow", rule) in before:
        return data
    bom, text = split_bom(data)
    changed = bom + _insert_rule(text, table, json.dumps(rule, ensure_ascii=False)).encode("utf-8")
    # Whatever the file's layout: parsed again, it must contain the same as before, and the rule.
    if _has_settings(changed, [*before, ("allow", rule)], display_name):
        return changed
    raise ConfigError(
        f"the rule could not be added to {display_name}; add it by hand under 'allow:' as - {json.dumps(rule)}"
    )


def _has_settings(data: bytes, expected: list[tuple[str, object]], display_name: str) -> bool:
    try:
        found = _list_settings(parse_yaml(data, display_name), display_name)
    except ConfigError:
        return False
    return sorted(found, key=repr) == sorted(expected, key=repr)


def _list_settings(table: Table, display_name: str) -> list[tuple[str, object]]:
    return [(setting.name, setting.value) for setting in iter_settings(table, display_name)]


def _insert_rule(text: str, table: Table, quoted: str) -> str:
    lines, newline = split_lines_keeping_ends(text)
    entry = table.entries.get("allow")
    if entry is None:
        return _append_allow_key(lines, table, quoted, newline)
    if isinstance(entry.node, Items) and entry.node.flow:
        return _insert_into_brackets(lines, entry.node, quoted)
    if isinstance(entry.node, Items):
        return _insert_below_last(lines, entry.node, quoted, newline)
    return _insert_below_key(lines, entry, quoted, newline)


def _append_allow_key(lines: list[str], table: Table, quoted: str, newline: str) -> str:
    if table.flow:
        line, column = table.end[0], table.end[1] - 1
        comma = ", " if table.entries else ""
        return insert_text(lines, (line, column), f"{comma}allow: [{quoted}]")
    return "".join(lines) + f"allow:{newline}  - {quoted}{newline}"


def _insert_into_brackets(lines: list[str], node: Items, quoted: str) -> str:
    if not node.items:
        return insert_text(lines, (node.start[0], node.start[1] + 1), quoted)
    return insert_text(lines, node.items[-1].end, f", {quoted}")


def _insert_below_last(lines: list[str], node: Items, quoted: str, newline: str) -> str:
    last = node.items[-1]
    indent = lines[last.start[0]][: node.start[1]]
    below = last.end[0] + (1 if last.end[1] else 0)  # a block text (`|`, `>`) ends at the start of the next line
    return insert_text(lines, (below, 0), f"{indent}- {quoted}{newline}")


def _insert_below_key(lines: list[str], entry: Entry, quoted: str, newline: str) -> str:
    """Return the text for an empty list, which has no value or a null after the key."""
    node, row = entry.node, entry.line - 1
    if isinstance(node, Scalar) and node.text and node.start[0] == row:
        return insert_text(lines, node.start, f"[{quoted}]", drop=len(node.text))
    return insert_text(lines, (row + 1, 0), f"  - {quoted}{newline}")
