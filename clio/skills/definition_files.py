"""Read Markdown files with properties at the top (skills, sub-agents, commands), and list the folders they are kept
in.
"""

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
"""Characters; a longer block at the top of a file is not read as properties."""


class UnreadableFile(Exception):
    """The reason, as the end of a sentence, why a file is not used."""


class FrontMatter(Struct, frozen=True, kw_only=True):
    """The properties at the top of a file, and the text below them.

    Attributes:
        values: text by key. A list is joined with spaces; a mapping below a key has one entry for each
            "key.name".
        problem: why the properties were not valid YAML and were read line by line; "" if they were valid.
    """

    values: dict[str, str]
    body: str
    problem: str = ""


def read_text(path: Path, *, inside: Path | None, max_bytes: int) -> str:
    """Return the text of a file; bytes that are not UTF-8 are replaced.

    Args:
        inside: folder that must contain the file after links are resolved; None allows any place.

    Raises:
        UnreadableFile: it cannot be read, is not a regular file, is too large, or is outside `inside`.
    """
    try:
        real = path.resolve(strict=True)
        if inside is not None and not real.is_relative_to(inside):
            raise UnreadableFile("it is a link that leads out of the project")
        status = real.stat()
        if not stat.S_ISREG(status.st_mode):  # opening a pipe would wait forever
            raise UnreadableFile("it is not a file")
        with real.open("rb") as file:
            data = file.read(max_bytes + 1)
    except (OSError, RuntimeError) as error:  # RuntimeError: a cycle of links
        raise UnreadableFile(f"it cannot be read: {getattr(error, 'strerror', None) or error}") from None
    if len(data) > max_bytes:
        raise UnreadableFile(f"it is larger than {max_bytes:,} bytes")
    return data.decode("utf-8-sig", "replace").replace("\r\n", "\n").replace("\r", "\n")


def split_front_matter(text: str, shown: str) -> FrontMatter:
    """Split a text into its properties and the text below them. Never raises; a text without properties is all body.

    Invalid YAML, such as an unquoted "Use when: …", is read line by line.

    Args:
        shown: name of the file, for `FrontMatter.problem`.
    """
    head, body = _split(text)
    if head is None:
        return FrontMatter(values={}, body=text.strip())
    try:
        if len(head) > _MAX_HEAD:
            raise ConfigError(f"{shown}: the properties have more than {_MAX_HEAD:,} characters")
        # An empty line replaces the first fence, so that line numbers in messages are those of the file.
        return FrontMatter(values=_values(parse_yaml(f"\n{head}".encode("utf-8", "replace"), shown)), body=body)
    except ConfigError as error:
        plain = (_PLAIN.fullmatch(line.rstrip()) for line in head[:_MAX_HEAD].split("\n"))
        values = {found[1]: _unquoted(found[2]) for found in plain if found}
        return FrontMatter(values=values, body=body, problem=str(error))


def split_tool_list(value: str) -> tuple[str, ...]:
    """Split a list of tools such as `Read, Bash(git add:*)` at commas and spaces outside parentheses."""
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


class DefinitionFolder(Struct, frozen=True, kw_only=True):
    """A folder that may contain definitions.

    root: folder that must contain its files after links are resolved, for a project's; None for the user's own.
    """

    folder: Path
    root: Path | None = None


def list_definition_folders(
    names: Sequence[str], *, project: Path, home: Path, user_home_folder: Path
) -> tuple[DefinitionFolder, ...]:
    """Return the project's folders with these names, then the user's.

    Args:
        names: paths below the project; the first is in `.clio`.
        home: clio's own folder, which replaces `.clio` for the user's folders.
        user_home_folder: the user's home directory, in which the user's other folders are.
    """
    root = project.resolve()
    own = (home / Path(names[0]).name, *(user_home_folder / name for name in names[1:]))
    places = [
        *(DefinitionFolder(folder=project / name, root=root) for name in names),
        *(DefinitionFolder(folder=one) for one in own),
    ]
    found: dict[Path, DefinitionFolder] = {}
    for place in places:
        if (
            place.root is None or place.folder not in own
        ):  # if the project is the home directory, both are the user's own
            found.setdefault(place.folder, place)
    return tuple(found.values())
