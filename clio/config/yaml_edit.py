"""Changes one value or rule in a configuration file without touching any other character."""

import json
import re
from collections.abc import Callable
from pathlib import Path

from clio.config.schema import CONFIG_FIELDS, iter_settings, parse_setting_text
from clio.config.yaml_file import Entry, Items, Node, Position, Scalar, Table, parse_yaml, read_config_bytes
from clio.errors import ConfigError, UserError
from clio.storage.files import make_ignored_folder, write_atomic
from clio.storage.locks import FileLock, error_reason, suggest_fix
from clio.text.translation import tr

BOM = b"\xef\xbb\xbf"
_PLAIN_TEXT = re.compile(r"[A-Za-z/~][\w./@+-]*")


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
        raise ConfigError(
            tr(
                "{name} cannot be stored in {path}: {error_reason}; {suggest_fix}",
                name=name,
                path=path,
                error_reason=error_reason(error),
                suggest_fix=suggest_fix(error),
            )
        ) from None


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
    raise ConfigError(
        tr(
            "{name} could not be set in {display_name}; add this line by hand: {name}: {text}",
            name=name,
            display_name=display_name,
            text=text,
        )
    )


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
            tr(
                "the rule {rule!r} cannot be stored in {path}: {error_reason}; {suggest_fix}",
                rule=rule,
                path=path,
                error_reason=error_reason(error),
                suggest_fix=suggest_fix(error),
            )
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
        tr(
            "the rule could not be added to {display_name}; add it by hand under 'allow:' as - {rule}",
            display_name=display_name,
            rule=json.dumps(rule),
        )
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


def format_yaml_value(value: object) -> str:
    """Return a value on one line as it is written into a file; a list is written in brackets."""
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, list | tuple):
        entries: list[object] = list(value)  # pyright: ignore[reportUnknownArgumentType]
        return f"[{', '.join(map(format_yaml_value, entries))}]"
    if isinstance(value, str):
        is_plain = _PLAIN_TEXT.fullmatch(value) and value.lower() not in _BARE_WORDS
        return value if is_plain else json.dumps(value, ensure_ascii=False)
    return str(value)


_BARE_WORDS = frozenset("y n yes no on off true false null".split())
Edit = Callable[[list[str], Table, str], str | None]
"""Returns the changed text from its lines, its mapping and its line ending; None if the layout does not allow it."""


def set_yaml_path(data: bytes, key: tuple[str, ...], value: str, display_name: str) -> bytes:
    """Return the file's bytes with the value, as formatted by `format_yaml_value`, under the key.

    key: the setting, or the setting and what it is about: ("models", "gpt-5", "effort").
    Raises ConfigError if the file is already wrong, if the value is not valid, or if it cannot be set without
    touching other lines.
    """

    def edit(lines: list[str], table: Table, newline: str) -> str | None:
        return _set_path(lines, table, key, value, newline)

    line = f"{key[0]}: {_format_flow(key[1:], value)}"
    return _edit_checked(data, key, edit, display_name, tr("write this by hand: {line}", line=line))


def remove_yaml_path(data: bytes, key: tuple[str, ...], display_name: str) -> bytes:
    """Return the file's bytes without what is under the key. Raises ConfigError as `set_yaml_path`."""

    def edit(lines: list[str], table: Table, newline: str) -> str | None:
        return _remove_path(lines, table, key)

    return _edit_checked(data, key, edit, display_name, tr("remove it by hand"))


def _edit_checked(data: bytes, key: tuple[str, ...], edit: Edit, display_name: str, remedy: str) -> bytes:
    table = parse_yaml(data, display_name)
    others = _list_other_settings(table, key, display_name)
    bom, text = split_bom(data)
    lines, newline = split_lines_keeping_ends(text)
    changed_text = edit(lines, table, newline)
    if changed_text is not None:
        changed = bom + changed_text.encode("utf-8")
        # Whatever the file's layout: parsed again, it must contain the same as before, but for the one setting.
        if _list_other_settings(parse_yaml(changed, display_name), key, display_name) == others:
            return changed
    raise ConfigError(
        tr(
            "{name} could not be changed in {display_name} because of its layout; {remedy}",
            name=".".join(key),
            display_name=display_name,
            remedy=remedy,
        )
    )


def _list_other_settings(table: Table, key: tuple[str, ...], display_name: str) -> list[tuple[tuple[str, ...], object]]:
    found = [(setting.key, setting.value) for setting in iter_settings(table, display_name)]
    return [(name, value) for name, value in found if name[: len(key)] != key]


def _set_path(lines: list[str], table: Table, key: tuple[str, ...], value: str, newline: str) -> str | None:
    name, rest = key[0], key[1:]
    entry = table.entries.get(name)
    if entry is None:
        return _insert_entry(lines, table, key, value, newline)
    if not rest:
        return _replace_node(lines, entry, value)
    if isinstance(entry.node, Table):
        return _set_path(lines, entry.node, rest, value, newline)
    if isinstance(entry.node, Scalar) and entry.node.kind == "null":
        return _replace_node(lines, entry, _format_flow(rest, value))
    return None


def _insert_entry(lines: list[str], table: Table, key: tuple[str, ...], value: str, newline: str) -> str:
    if table.flow:
        inner = f"{key[0]}: {_format_flow(key[1:], value)}"
        comma = ", " if table.entries else ""
        return insert_text(lines, (table.end[0], table.end[1] - 1), f"{comma}{inner}")
    indent = " " * table.start[1] if table.entries else ""
    step = "  "
    rows = [f"{indent}{step * depth}{_format_key(part)}:" for depth, part in enumerate(key)]
    rows[-1] += f" {value}"
    row = max(map(_find_end_row, (entry.node for entry in table.entries.values())), default=len(lines))
    # Comments at the end of the file stay above a new setting: they may be about the one before.
    row = len(lines) if table.start[1] == 0 else row
    return insert_text(lines, (row, 0), newline.join(rows) + newline)


def _format_key(name: str) -> str:
    return format_yaml_value(name)


def _format_flow(key: tuple[str, ...], value: str) -> str:
    return f"{{{_format_key(key[0])}: {_format_flow(key[1:], value)}}}" if key else value


def _replace_node(lines: list[str], entry: Entry, value: str) -> str | None:
    node = entry.node
    start, end = node.start, node.end
    if isinstance(node, Scalar) or node.flow:
        if start[0] != end[0]:
            return None
        gap = " " if start == end else ""  # there is no blank after the colon yet
        return insert_text(lines, start, gap + value, drop=end[1] - start[1])
    head = lines[entry.line - 1]
    if start[0] == entry.line - 1:
        return None
    kept, colon, _ = head.partition(":")
    line_end = head[len(head.rstrip("\r\n")) :]
    return "".join([*lines[: entry.line - 1], f"{kept}{colon} {value}{line_end}", *lines[_find_end_row(node) :]])


def _remove_path(lines: list[str], table: Table, key: tuple[str, ...]) -> str | None:
    """Remove the entry, and the mappings that it leaves empty."""
    entry = table.entries.get(key[0])
    if entry is None:
        return None
    inner = entry.node
    if key[1:] and not isinstance(inner, Table):
        return None
    if isinstance(inner, Table) and key[1:] and (_count_values(inner) > 1 or key[1] not in inner.entries):
        return _remove_path(lines, inner, key[1:])
    if table.flow:
        return None
    return "".join([*lines[: entry.line - 1], *lines[max(_find_end_row(inner), entry.line) :]])


def _count_values(node: Node) -> int:
    return sum(_count_values(entry.node) for entry in node.entries.values()) if isinstance(node, Table) else 1


def _find_end_row(node: Node) -> int:
    """Return the number of the row below the node's last one, from 0; comments below it are not part of it."""
    if isinstance(node, Table) and not node.flow and node.entries:
        return max(_find_end_row(entry.node) for entry in node.entries.values())
    if isinstance(node, Items) and not node.flow and node.items:
        return _find_end_row(node.items[-1])
    return node.end[0] + (1 if node.end[1] or node.start == node.end else 0)
