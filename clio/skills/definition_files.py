"""Markdown files with properties at the top: where projects and users keep them, and how they are read."""

import re
import stat
from collections.abc import Sequence
from pathlib import Path

from msgspec import Struct

from clio.config.yaml_file import Items, Node, Scalar, Table, parse_yaml
from clio.errors import ConfigError
from clio.text.lazy_regex import LazyRegex

_FENCE = "---"
_PLAIN = LazyRegex(r"([A-Za-z][\w-]*)\s*:\s*(.*)")
_MAX_HEAD = 16_384
"""Characters of properties; more is no property of anything."""


class Unreadable(Exception):
    """Why a file is not used, as the end of a sentence."""


class FrontMatter(Struct, frozen=True, kw_only=True):
    """A file's properties and its words.

    values: text by key; a list is joined with blanks, a mapping below a key has a value for each "key.name".
    problem: what was wrong with the properties, which were then read line by line; "" where nothing was.
    """

    values: dict[str, str]
    body: str
    problem: str = ""


def read_text(path: Path, *, inside: Path | None, max_bytes: int) -> str:
    """The text of a file; bytes that are no UTF-8 are replaced.

    inside: the folder its real place must lie in, with links resolved; None takes it wherever it lies.
    Raises Unreadable.
    """
    try:
        real = path.resolve(strict=True)
        if inside is not None and not real.is_relative_to(inside):
            raise Unreadable("it is a link that leads out of the project")
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait for ever
            raise Unreadable("it is not a file")
        with real.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: links in a circle
        raise Unreadable(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > max_bytes:
        raise Unreadable(f"it is larger than {max_bytes:,} bytes")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def split_front_matter(text: str, shown: str) -> FrontMatter:
    """The properties of a text and what follows them. A text without any is all body.

    shown: the file's name in `problem`. Never raises: what is not YAML, as an unquoted "Use when: …" is not, is read
    line by line.
    """
    head, body = _split(text)
    if head is None:
        return FrontMatter(values={}, body=text.strip())
    try:
        if len(head) > _MAX_HEAD:
            raise ConfigError(f"{shown}: the properties have more than {_MAX_HEAD:,} characters")
        # One line is put in the place of the first fence, so that messages name the file's own lines.
        return FrontMatter(values=_values(parse_yaml(f"\n{head}".encode("utf-8", "replace"), shown)), body=body)
    except ConfigError as error:
        plain = (_PLAIN.fullmatch(line.rstrip()) for line in head[:_MAX_HEAD].split("\n"))
        values = {found[1]: _unquoted(found[2]) for found in plain if found}
        return FrontMatter(values=values, body=body, problem=str(error))


def words_of(value: str) -> tuple[str, ...]:
    """A list of tools as it is written: `Read, Bash(git add:*)` or with blanks between; brackets hold together."""
    return tuple(found.strip() for found in re.findall(r"[^\s,()]+(?:\([^)]*\))?", value))


def _split(text: str) -> tuple[str | None, str]:
    lines = text.split("\n")
    if lines[0].rstrip() != _FENCE:
        return None, text
    for number, line in enumerate(lines[1:], 1):
        if line.rstrip() == _FENCE:
            return "\n".join(lines[1:number]), "\n".join(lines[number + 1 :]).strip()
    return None, text


def _values(table: Table) -> dict[str, str]:
    found: dict[str, str] = {}
    for key, entry in table.entries.items():
        if isinstance(entry.node, Table):
            found.update({f"{key}.{name}": _text(inner.node) for name, inner in entry.node.entries.items()})
        else:
            found[key] = _text(entry.node)
    return found


def _text(node: Node) -> str:
    match node:
        case Scalar():
            return "" if node.kind == "null" else node.text
        case Items():
            return " ".join(_text(item) for item in node.items)
        case Table():
            return ""


def _unquoted(text: str) -> str:
    text = text.strip()
    return text[1:-1] if len(text) > 1 and text[0] == text[-1] and text[0] in "\"'" else text


class Place(Struct, frozen=True, kw_only=True):
    """A folder of such files. root: what a project's must lie in, links resolved; None for the person's own."""

    folder: Path
    root: Path | None = None


def places_of(names: Sequence[str], *, project: Path, home: Path, person: Path) -> tuple[Place, ...]:
    """The project's folders of these names, then the person's.

    names: below the project, in their order, the first in `.clio`; below the home folder `person` likewise, with
    clio's own folder, `home`, in the place of `.clio`.
    """
    root = project.resolve()
    own = (home / Path(names[0]).name, *(person / name for name in names[1:]))
    places = [*(Place(folder=project / name, root=root) for name in names), *(Place(folder=one) for one in own)]
    found: dict[Path, Place] = {}
    for place in places:
        if place.root is None or place.folder not in own:  # in the home folder both are one: the person's
            found.setdefault(place.folder, place)
    return tuple(found.values())
