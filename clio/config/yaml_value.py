"""Sets one value in a configuration file and leaves every other character of it as it was."""

from pathlib import Path

from clio.config.fields import CONFIG_FIELDS, from_text
from clio.config.yaml_file import Scalar, Table, parse
from clio.config.yaml_settings import settings_of
from clio.config.yaml_write import insert, lines_of, rewrite, split_bom
from clio.errors import ConfigError, UserError
from clio.storage.locks import next_step, reason


def set_value(path: Path, name: str, text: str) -> None:
    """Set the field `name`, which is no list or mapping, to what `text` says; a missing file is made.

    Raises UserError for a value the field does not take; ConfigError where the file is wrong already, cannot be changed
    without touching more, or cannot be written.
    """
    try:
        from_text(CONFIG_FIELDS[name], text)
    except ValueError as error:
        raise UserError(f"{name} {error}") from None
    try:
        rewrite(path, lambda before: with_value(before, name, text.strip(), str(path)))
    except OSError as error:
        raise ConfigError(f"{name} cannot be stored in {path}: {reason(error)}; {next_step(error)}") from None


def with_value(data: bytes, name: str, text: str, shown: str) -> bytes:
    """The file's bytes with the value in it. Raises ConfigError as `set_value`."""
    table = parse(data, shown)
    before = _meaning(table, shown)
    bom, whole = split_bom(data)
    changed = bom + _edit(whole, table, name, text).encode("utf-8")
    expected = before | {name: from_text(CONFIG_FIELDS[name], text)}
    # Whatever the file looks like: what it says now is what it said before, and the value.
    if _said(changed, shown) == expected:
        return changed
    raise ConfigError(f"{name} could not be set in {shown}; write it there by hand: {name}: {text}")


def _said(data: bytes, shown: str) -> dict[str, object] | None:
    try:
        return _meaning(parse(data, shown), shown)
    except ConfigError:
        return None


def _edit(text: str, table: Table, name: str, value: str) -> str:
    lines, newline = lines_of(text)
    entry = table.entries.get(name)
    if entry is None and table.flow:
        line, column = table.end[0], table.end[1] - 1
        return insert(lines, (line, column), f"{', ' if table.entries else ''}{name}: {value}")
    if entry is None:
        return "".join(lines) + f"{name}: {value}{newline}"
    if not isinstance(entry.node, Scalar):
        return text
    start, end = entry.node.start, entry.node.end
    if start[0] != end[0]:
        return text
    gap = " " if start == end else ""  # nothing stands behind the colon yet
    return insert(lines, start, gap + value, drop=end[1] - start[1])


def _meaning(table: Table, shown: str) -> dict[str, object]:
    """The value of each setting; of a list, each entry by itself."""
    lists = {name for name, field in CONFIG_FIELDS.items() if field.kind == "texts"}
    return {
        f"{setting.name}={setting.value}" if setting.name in lists else setting.name: setting.value
        for setting in settings_of(table, shown)
    }
