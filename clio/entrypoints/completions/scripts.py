"""The scripts by which bash, zsh and fish complete clio's words: the text beside this file, with the tables put in."""

from collections.abc import Callable, Mapping
from pathlib import Path

from clio.entrypoints.completions.places import Place, Row, aliases, places, valued

SHELLS = ("bash", "zsh", "fish")


def script(shell: str) -> str:
    """The whole script. shell: one of SHELLS."""
    text = Path(__file__).with_name(f"clio.{shell}").read_text(encoding="utf-8")
    always, maybe = valued()
    parts = {
        "PLACES": "\n".join(_WRITERS[shell](key, place) for key, place in places().items()),
        "ALIASES": "\n".join(_alias(shell, alias, name) for alias, name in aliases().items()),
        "VALUED": " ".join(always),
        "OPTIONAL": " ".join(maybe),
    }
    for name, part in parts.items():
        text = text.replace(f"@{name}@", part)
    return text


def _bash(key: str, place: Place) -> str:
    what = f"kind={place.kind}" if place.kind else f"list={_quoted(' '.join(row.word for row in place.rows))}"
    return f"        {_quoted(key)}) {what} ;;"


def _zsh(key: str, place: Place) -> str:
    if place.kind:
        return f"        {_quoted(key)}) kind={place.kind} ;;"
    return f"        {_quoted(key)}) list=({' '.join(_quoted(_zsh_row(row)) for row in place.rows)}) ;;"


def _zsh_row(row: Row) -> str:
    word = row.word.replace(":", "\\:")
    return f"{word}:{row.note}" if row.note else word


def _fish(key: str, place: Place) -> str:
    what = f"set kind {place.kind}" if place.kind else f"set list {' '.join(map(_fish_row, place.rows))}"
    return f"        case {_fish_quoted(key)}\n            {what}"


def _fish_row(row: Row) -> str:
    return f"{_fish_quoted(row.word)}" + (f"\\t{_fish_quoted(row.note)}" if row.note else "")


def _alias(shell: str, alias: str, name: str) -> str:
    space = " " * 24
    return f"{space}case {alias}\n{space}    set head {name}" if shell == "fish" else f"{space}{alias}) head={name} ;;"


def _quoted(text: str) -> str:
    return "'" + text.replace("'", "'\\''") + "'"


def _fish_quoted(text: str) -> str:
    return "'" + text.replace("\\", "\\\\").replace("'", "\\'") + "'"


_WRITERS: Mapping[str, Callable[[str, Place], str]] = {"bash": _bash, "zsh": _zsh, "fish": _fish}
