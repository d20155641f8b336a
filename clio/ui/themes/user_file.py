"""Reads a person's own theme, `~/.clio/themes/NAME.yaml`: looks by meaning, on top of one of clio's own."""

from collections.abc import Iterator, Sequence
from pathlib import Path

from msgspec import Struct

from clio.config.command_line import did_you_mean
from clio.config.theme_names import FOLDER, THEMES, is_theme_name, theme_names
from clio.config.yaml_file import Entry, Scalar, describe, parse, read_bytes
from clio.errors import ConfigError
from clio.text.lazy_regex import LazyRegex
from clio.ui.themes.look import Look, parse_look
from clio.ui.themes.palette import MEANINGS

_CUT_OFF = LazyRegex(r"\s+#[0-9a-fA-F]{3,8}(?:\s+on\b.*)?\s*")


class UserTheme(Struct, frozen=True, kw_only=True):
    """What such a file says. extends: one of THEMES."""

    extends: str
    looks: dict[str, Look]


def read_user_theme(home: Path, name: str) -> UserTheme:
    """The theme of that name. Raises ConfigError with file and line."""
    shown = f"{FOLDER}/{name}.yaml"
    data = read_bytes(home / FOLDER / f"{name}.yaml", shown) if is_theme_name(name) else None
    if data is None:
        known = theme_names(home)
        raise ConfigError(
            f"there is no theme {name[:64]!r}{did_you_mean(name, known) or '; there are ' + ', '.join(known)}"
        )
    lines = data.decode("utf-8-sig", "replace").splitlines()
    extends, looks = "auto", dict[str, Look]()
    for key, entry in parse(data, shown).entries.items():
        where = f"{shown}:{entry.line}"
        if key == "extends":
            extends = _base(entry, where)
        elif key in MEANINGS:
            looks[key] = _look(key, entry, where, lines)
        else:
            known = ("extends", *MEANINGS)
            raise ConfigError(f"{where}: unknown key {key[:64]!r}{did_you_mean(key, known) or _known(known)}")
    return UserTheme(extends=extends, looks=looks)


def _base(entry: Entry, where: str) -> str:
    node = entry.node
    if isinstance(node, Scalar) and node.text in THEMES:
        return node.text
    raise ConfigError(f"{where}: extends must be one of {', '.join(THEMES)}, not {describe(node)}")


def _look(key: str, entry: Entry, where: str, lines: Sequence[str]) -> Look:
    node = entry.node
    if isinstance(node, Scalar) and _CUT_OFF.fullmatch("".join(lines[node.end[0] : node.end[0] + 1])[node.end[1] :]):
        raise ConfigError(f"{where}: {key} ends before the #, which begins a comment; put the whole in quotes")
    if isinstance(node, Scalar) and node.kind == "null":
        raise ConfigError(f"{where}: {key} has no value; write a look such as 'bold red', or plain")
    if not isinstance(node, Scalar) or node.kind in ("bool", "number"):
        raise ConfigError(f"{where}: {key} must be words such as 'bold red', not {describe(node)}")
    try:
        return parse_look(node.text)
    except ValueError as error:
        raise ConfigError(f"{where}: {key} {error}") from None


def _known(names: tuple[str, ...]) -> str:
    return "; known are " + ", ".join(_shortened(names))


def _shortened(names: tuple[str, ...]) -> Iterator[str]:
    yield from names[:6]
    yield "… (docs/themes.md has all)"
