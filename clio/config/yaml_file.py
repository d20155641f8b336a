"""Read a YAML file into values with line numbers. The only module that imports yaml, and only if a file exists.

The tree is built from the parser's events instead of its composer: a hostile file then costs neither deep recursion
nor the memory that aliases multiply, and every value keeps its text and position.
"""

import errno
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any, Literal, Protocol, cast

from msgspec import Struct

from clio.errors import ConfigError
from clio.storage.files import LeavesProject, NotAFile, TooLarge, read_project_file, read_regular
from clio.text.formatting import truncate
from clio.text.lazy_regex import LazyRegex
from clio.text.translation import tr

MAX_CONFIG_BYTES = 1_000_000
_MAX_DEPTH = 8

ScalarKind = Literal["null", "bool", "number", "text"]
Position = tuple[int, int]
"""Line and column, both from 0."""

_NULL_WORDS = frozenset(("", "~", "null", "Null", "NULL"))
TRUE_WORDS = frozenset(("yes", "on", "true"))
_BOOL_WORDS = TRUE_WORDS | frozenset(("no", "off", "false"))
_NUMBER = LazyRegex(r"[-+]?(\d[\d_]*(\.\d*)?|\.\d+)([eE][-+]?\d+)?|0x[0-9a-fA-F]+")


class ErrorMark(Protocol):
    """The parser's position of an error, from 0."""

    line: int
    column: int


class Scalar(Struct, frozen=True, kw_only=True):
    """One value. `text` is as written, without quotes; `kind` is the YAML 1.1 type of an unquoted one."""

    text: str
    kind: ScalarKind
    start: Position
    end: Position


class Items(Struct, frozen=True, kw_only=True):
    """A list. flow: written in brackets; `end` is then after the closing one."""

    items: tuple["Node", ...]
    flow: bool
    start: Position
    end: Position


class Entry(Struct, frozen=True, kw_only=True):
    """A key's line (from 1) and value."""

    line: int
    node: "Node"


class Table(Struct, frozen=True, kw_only=True):
    """A mapping."""

    entries: dict[str, Entry]
    flow: bool
    start: Position
    end: Position


Node = Scalar | Items | Table


class FileIgnored(ConfigError):
    """Not a configuration file: a directory, a pipe, too large, a link to itself or a link out of the project."""


def read_config_bytes(
    path: Path, display_name: str, *, root: Path | None = None, trusted: Iterable[Path] = ()
) -> bytes | None:
    """Return the file's bytes; None if it does not exist. Raises FileIgnored, or ConfigError if it cannot be read.

    display_name: the file's name in messages.
    root: the directory that must contain its real path, unless that is one of the trusted targets; None for any.
    """
    try:
        if root is None:
            return read_regular(path, MAX_CONFIG_BYTES)
        return read_project_file(path, root, MAX_CONFIG_BYTES, trusted=trusted)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except NotAFile as error:
        kind = str(error.strerror).removeprefix("it ")
        raise FileIgnored(f"{display_name} {kind}; clio's settings go into a text file of that name") from None
    except TooLarge:
        raise FileIgnored(
            f"{display_name} is larger than {MAX_CONFIG_BYTES:,} bytes, too large for a configuration file"
        ) from None
    except LeavesProject:
        raise FileIgnored(f"{display_name} is behind a link that points out of the project; it was not read") from None
    except OSError as error:
        if error.errno == errno.ELOOP:
            raise FileIgnored(f"{display_name} is a link that points to itself; it was not read") from None
        raise ConfigError(
            tr(
                "{display_name} cannot be read: {strerror}; check its permissions",
                display_name=display_name,
                strerror=error.strerror,
            )
        ) from None


def parse_yaml(data: bytes, display_name: str) -> Table:
    """Parse the file's mapping; an empty one if it contains only comments. Raises ConfigError with file and line."""
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data.count(b"\n", 0, error.start) + 1
        raise ConfigError(
            tr(
                "{display_name}:{line}: the text is not UTF-8; save the file as UTF-8",
                display_name=display_name,
                line=line,
            )
        ) from None
    node = _Builder(display_name).build(_parse_events(text, display_name))
    if node is None or (isinstance(node, Scalar) and node.kind == "null"):
        return Table(entries={}, flow=False, start=(0, 0), end=(0, 0))
    if not isinstance(node, Table):
        raise ConfigError(
            tr(
                "{display_name}:{start}: expected lines such as '{example_line}', not {node}",
                display_name=display_name,
                start=node.start[0] + 1,
                example_line=_get_example_line(display_name),
                node=describe_node(node),
            )
        )
    return node


def _get_example_line(display_name: str) -> str:
    """Return an example line for the file of that name."""
    examples = {"mcp.yaml": "mcpServers:", "hooks.yaml": "hooks:", "prices.yaml": "openai:"}
    return examples.get(display_name.rpartition("/")[2], "approve: ask")


def describe_node(node: Node) -> str:
    """Return the value for an error message, truncated and with control characters escaped."""
    if isinstance(node, Items):
        return "a list"
    if isinstance(node, Table):
        return "a mapping"
    if node.kind == "null":
        return tr("nothing")
    return repr(truncate(node.text, 60))


def _parse_events(text: str, display_name: str) -> Iterator[Any]:
    import yaml

    # Some builds of PyYAML lack the parser in C, which is about ten times as fast.
    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    parse = cast(Any, yaml).parse  # the package has no type annotations
    try:
        yield from parse(text, Loader=loader)
    except yaml.MarkedYAMLError as error:
        is_unterminated = any(
            words in str(error.problem) for words in ("end of stream", "expected ','", "expected ':'")
        )
        mark = error.context_mark if is_unterminated and error.context_mark else error.problem_mark
        where = f"{display_name}:{mark.line + 1}" if mark else display_name
        raise ConfigError(f"{where}: {_explain_problem(text, mark, str(error.problem))}") from None
    except yaml.reader.ReaderError as error:
        line = text.count("\n", 0, error.position) + 1
        raise ConfigError(
            tr(
                "{display_name}:{line}: control characters are not allowed in YAML; remove them",
                display_name=display_name,
                line=line,
            )
        ) from None


def _explain_problem(text: str, mark: ErrorMark | None, problem: str) -> str:
    """Return the parser's message, with the usual cause if it is hard to understand."""
    if mark and "cannot start any token" in problem:
        character = text.splitlines()[mark.line][mark.column :][:1]
        if character == "\t":
            return "a tab at the start of the text; YAML is indented with spaces"
        return f"a text that starts with {character!r} must be in quotes"
    if "nesting depth" in problem:  # PyYAML 6.0.4 has a limit of its own, which may be lower than _MAX_DEPTH
        return tr("too deeply nested")
    if "end of stream" in problem:
        return "a quotation mark or bracket that opens here is never closed"
    if "expected ','" in problem:
        return tr("a comma or the closing bracket is missing after this opening bracket")
    if any(words in problem for words in ("expected key", "expected '-' indicator", "expected <block end>")):
        return tr("the indentation of this line does not match the lines around it")
    if "mapping values are not allowed" in problem:
        return "a colon too many, or a line indented too far; put a text that contains ': ' in quotes"
    if "alphabetic or numeric character" in problem:
        return "a text that starts with '*' or '&' must be in quotes"
    if "could not find expected ':'" in problem:
        return "a key without a colon; write 'key: value'"
    return f"this is not valid YAML: {problem}"


class _OpenCollection:
    """A list or mapping that has not ended yet."""

    def __init__(self, event: Any, is_table: bool) -> None:
        self.start = _get_position(event.start_mark)
        self.flow = bool(event.flow_style)
        self.is_table = is_table
        self.items: list[Node] = []
        self.entries: dict[str, Entry] = {}
        self.key: Scalar | None = None


class _Builder:
    """Builds nodes from the parser's events."""

    def __init__(self, display_name: str) -> None:
        self._display_name = display_name
        self._stack: list[_OpenCollection] = []
        self._root: Node | None = None

    def build(self, events: Iterator[Any]) -> Node | None:
        documents = 0
        for event in events:
            kind = type(event).__name__
            if kind == "DocumentStartEvent":
                documents += 1
                if documents > 1:
                    raise self._error(event, "a second document begins here; keep one, without '---' between")
            elif kind == "AliasEvent":
                raise self._error(event, "aliases ('*name') are not used here; write the value out")
            elif kind == "ScalarEvent":
                if event.tag and event.tag != "tag:yaml.org,2002:str":
                    raise self._error(event, f"the tag {event.tag!r} is not supported; remove it")
                self._add(_make_scalar(event))
            elif kind in ("SequenceStartEvent", "MappingStartEvent"):
                if len(self._stack) >= _MAX_DEPTH:
                    raise self._error(event, "too deeply nested")
                self._stack.append(_OpenCollection(event, kind == "MappingStartEvent"))
            elif kind in ("SequenceEndEvent", "MappingEndEvent"):
                self._close(event)
        return self._root

    def _close(self, event: Any) -> None:
        collection, end = self._stack.pop(), _get_position(event.end_mark)
        if collection.is_table:
            self._add(Table(entries=collection.entries, flow=collection.flow, start=collection.start, end=end))
        else:
            self._add(Items(items=tuple(collection.items), flow=collection.flow, start=collection.start, end=end))

    def _add(self, node: Node) -> None:
        if not self._stack:
            self._root = node
            return
        parent = self._stack[-1]
        if not parent.is_table:
            parent.items.append(node)
        elif parent.key is None:
            parent.key = self._check_key(node, parent)
        else:
            parent.entries[parent.key.text] = Entry(line=parent.key.start[0] + 1, node=node)
            parent.key = None

    def _check_key(self, node: Node, parent: _OpenCollection) -> Scalar:
        line = node.start[0] + 1
        if not isinstance(node, Scalar):
            raise ConfigError(
                tr(
                    "{display_name}:{line}: a key must be a word, not {node}",
                    display_name=self._display_name,
                    line=line,
                    node=describe_node(node),
                )
            )
        if node.text in parent.entries:
            first = parent.entries[node.text].line
            raise ConfigError(
                tr(
                    "{display_name}:{line}: {text!r} is already set on line {first}; keep one of them",
                    display_name=self._display_name,
                    line=line,
                    text=node.text,
                    first=first,
                )
            )
        return node

    def _error(self, event: Any, cause: str) -> ConfigError:
        return ConfigError(f"{self._display_name}:{event.start_mark.line + 1}: {cause}")


def _make_scalar(event: Any) -> Scalar:
    return Scalar(
        text=event.value,
        kind=_classify_scalar(event.value) if event.implicit[0] else "text",
        start=_get_position(event.start_mark),
        end=_get_position(event.end_mark),
    )


def _classify_scalar(text: str) -> ScalarKind:
    if text in _NULL_WORDS:
        return "null"
    if text.lower() in _BOOL_WORDS:
        return "bool"
    return "number" if _NUMBER.fullmatch(text) else "text"


def _get_position(mark: Any) -> Position:
    return mark.line, mark.column
