"""Turns a configuration file into settings, or says in which line it is wrong."""

from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import TypeVar

from clio.algorithms.bounded_pattern import BoundedPattern, PatternRefused
from clio.config.fields import CONFIG_FIELDS, MODEL_FIELDS, Field, from_node, text_items
from clio.config.nearest import did_you_mean
from clio.config.setting import Setting
from clio.config.yaml_file import Entry, Node, Scalar, Table, describe, parse, read_bytes
from clio.errors import ConfigError

T = TypeVar("T")


def read_settings(
    path: Path, shown: str, *, root: Path | None = None, trusted: Iterable[Path] = ()
) -> tuple[Setting, ...] | None:
    """The settings of a file; None where there is no file.

    shown: the file's name in messages and origins. root, trusted: see `read_bytes`.
    Raises ConfigError with file and line.
    """
    data = read_bytes(path, shown, root=root, trusted=trusted)
    return None if data is None else tuple(settings_of(parse(data, shown), shown))


def settings_of(table: Table, shown: str) -> Iterator[Setting]:
    """The settings a file's mapping holds. Raises ConfigError with file and line."""
    for name, entry in table.entries.items():
        field = _known(name, CONFIG_FIELDS, f"{shown}:{entry.line}")
        if field.kind == "models":
            yield from _models(field, entry, shown)
        elif field.kind == "texts":
            for item in _converted(text_items, field, name, entry, shown):
                if name == "redact_patterns":
                    _check_pattern(item.text.strip(), f"{shown}:{item.start[0] + 1}")
                yield Setting(key=(name,), value=item.text.strip(), origin=f"{shown}:{item.start[0] + 1}")
        else:
            value = _converted(from_node, field, name, entry, shown)
            yield Setting(key=(name,), value=value, origin=f"{shown}:{entry.line}")


def _models(field: Field, entry: Entry, shown: str) -> Iterator[Setting]:
    for model, own in _table(entry, field.name, field.wanted, shown).entries.items():
        prefix = f"{field.name}.{model}"
        for name, value in _table(own, prefix, "a mapping such as 'context_window: 32000'", shown).entries.items():
            known = _known(name, MODEL_FIELDS, f"{shown}:{value.line}", f"{prefix}: ")
            yield Setting(
                key=(field.name, model, name),
                value=_converted(from_node, known, f"{prefix}.{name}", value, shown),
                origin=f"{shown}:{value.line}",
            )


def _table(entry: Entry, name: str, wanted: str, shown: str) -> Table:
    node = entry.node
    if isinstance(node, Scalar) and node.kind == "null":
        return Table(entries={}, flow=False, start=node.start, end=node.end)
    if not isinstance(node, Table):
        raise ConfigError(f"{shown}:{entry.line}: {name} must be {wanted}, not {describe(node)}")
    return node


def _known(name: str, fields: dict[str, Field], where: str, prefix: str = "") -> Field:
    if name in fields:
        return fields[name]
    hint = did_you_mean(name, fields) or "; known are " + ", ".join(fields)
    raise ConfigError(f"{where}: {prefix}unknown key {name!r}{hint}")


def _check_pattern(pattern: str, where: str) -> None:
    try:
        BoundedPattern(pattern)
    except PatternRefused as error:
        raise ConfigError(f"{where}: the pattern {_named(pattern)} is not used: {error}; change or remove it") from None


def _named(pattern: str) -> str:
    short = pattern if len(pattern) <= 60 else pattern[:57] + "..."
    return f"'{short}'" if short.isprintable() else repr(short)


def _converted(convert: Callable[[Field, Node], T], field: Field, name: str, entry: Entry, shown: str) -> T:
    try:
        return convert(field, entry.node)
    except ValueError as error:
        raise ConfigError(f"{shown}:{entry.line}: {name} {error}") from None
