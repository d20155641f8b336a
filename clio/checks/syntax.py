"""Parse errors, found inside of clio where no program checks a file: Python, JSON, TOML, YAML, installed grammars."""

import asyncio
import importlib
import json
import sys
import warnings
from collections.abc import Callable, Iterator, Mapping, Sequence
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

from clio.checks.diagnostics import Diagnostic, relative
from clio.text.lazy_regex import LazyRegex

if TYPE_CHECKING:
    from tree_sitter import Node

_MAX_BYTES = 1_000_000
_MAX_SHOWN = 40
_COMMENTED = LazyRegex(r"(?m)^\s*(//|/\*)")
_TEMPLATE = LazyRegex(r"\{\{|\{%")
_JSON_WITH_COMMENTS = LazyRegex(r"(ts|js)config.*\.json|\.eslintrc\.json|api-extractor\.json|devcontainer\.json")
_GRAMMARS: Mapping[str, tuple[str, str]] = {
    ".bash": ("tree_sitter_bash", "language"),
    ".c": ("tree_sitter_c", "language"),
    ".cc": ("tree_sitter_cpp", "language"),
    ".cpp": ("tree_sitter_cpp", "language"),
    ".cs": ("tree_sitter_c_sharp", "language"),
    ".cjs": ("tree_sitter_javascript", "language"),
    ".css": ("tree_sitter_css", "language"),
    ".go": ("tree_sitter_go", "language"),
    ".hpp": ("tree_sitter_cpp", "language"),
    ".java": ("tree_sitter_java", "language"),
    ".js": ("tree_sitter_javascript", "language"),
    ".jsx": ("tree_sitter_javascript", "language"),
    ".lua": ("tree_sitter_lua", "language"),
    ".mjs": ("tree_sitter_javascript", "language"),
    ".mts": ("tree_sitter_typescript", "language_typescript"),
    ".php": ("tree_sitter_php", "language_php"),
    ".rb": ("tree_sitter_ruby", "language"),
    ".rs": ("tree_sitter_rust", "language"),
    ".scala": ("tree_sitter_scala", "language"),
    ".sh": ("tree_sitter_bash", "language"),
    ".ts": ("tree_sitter_typescript", "language_typescript"),
    ".tsx": ("tree_sitter_typescript", "language_tsx"),
}
"""The package and the function that give the grammar of a file's ending; used where the package is installed."""


class SyntaxChecker:
    """Parses files and runs nothing."""

    name = "syntax"
    is_whole = False

    def __init__(self, root: Path) -> None:
        self._root = root

    def concerns(self, path: Path) -> bool:
        """Whether there is a parser for files of this ending."""
        return path.suffix in _PARSERS or is_grammar_installed(path.suffix)

    async def check(self, paths: Sequence[Path]) -> list[Diagnostic]:
        """The first parse error of each file; a file that cannot be read has none."""
        return await asyncio.to_thread(lambda: list(self._parse_all(paths)))

    def _parse_all(self, paths: Sequence[Path]) -> Iterator[Diagnostic]:
        for path in paths:
            if (found := find_syntax_error(path)) is not None:
                line, message = found
                yield Diagnostic(path=relative(path, self._root), line=line, code="syntax", message=message)


def is_grammar_installed(suffix: str) -> bool:
    """Whether tree-sitter can parse files of this ending here."""
    return suffix in _GRAMMARS and find_spec("tree_sitter") is not None and find_spec(_GRAMMARS[suffix][0]) is not None


def find_syntax_error(path: Path) -> tuple[int, str] | None:
    """Line and message of the first parse error; None where there is none, or the file cannot be judged."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_BYTES:
            return None
        data = path.read_bytes()
        text = data.decode("utf-8-sig")
    except (OSError, UnicodeDecodeError):
        return None
    try:
        if parse := _PARSERS.get(path.suffix):
            return parse(text, path)
        return _parse_by_grammar(data, path.suffix)
    except (RecursionError, MemoryError, SystemError):
        # Nested too deep for this parser. SystemError is what the one of Python 3.11 raises at times when memory is
        # collected meanwhile. Neither says anything about the file.
        return None


def _parse_python(text: str, path: Path) -> tuple[int, str] | None:
    import ast

    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            ast.parse(text)
    except SyntaxError as error:
        version = f"{sys.version_info.major}.{sys.version_info.minor}"
        return error.lineno or 1, f"{error.msg} (parsed by Python {version})"
    except ValueError as error:  # a NUL character
        return 1, str(error)
    return None


def _parse_json(text: str, path: Path) -> tuple[int, str] | None:
    comments = path.parent.name in (".vscode", ".devcontainer") or _JSON_WITH_COMMENTS.fullmatch(path.name)
    if not text.strip() or comments or _COMMENTED.search(text) or _TEMPLATE.search(text):
        return None
    try:
        json.loads(text)
    except json.JSONDecodeError as error:
        return error.lineno, error.msg
    return None


def _parse_toml(text: str, path: Path) -> tuple[int, str] | None:
    import tomllib

    try:
        tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        message, _, place = str(error).partition(" (at ")
        words = place.removeprefix("line ").split(",")
        line = int(words[0]) if words[0].isdigit() else text.count("\n") + 1
        return line, message
    return None


def _parse_yaml(text: str, path: Path) -> tuple[int, str] | None:
    if _TEMPLATE.search(text):
        return None
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for _ in cast(Any, yaml).parse(text, Loader=loader):  # events only: nothing is built of them
            pass
    except yaml.MarkedYAMLError as error:
        mark = error.problem_mark or error.context_mark
        return (mark.line + 1 if mark else 1), str(error.problem or error.context)
    except yaml.YAMLError as error:
        return 1, str(error).partition("\n")[0]
    return None


_PARSERS: Mapping[str, Callable[[str, Path], tuple[int, str] | None]] = {
    ".json": _parse_json,
    ".py": _parse_python,
    ".pyi": _parse_python,
    ".toml": _parse_toml,
    ".yaml": _parse_yaml,
    ".yml": _parse_yaml,
}


def _parse_by_grammar(data: bytes, suffix: str) -> tuple[int, str] | None:
    if not is_grammar_installed(suffix):
        return None
    import tree_sitter

    package, function = _GRAMMARS[suffix]
    language = tree_sitter.Language(getattr(importlib.import_module(package), function)())  # pyright: ignore[reportDeprecated]
    root = tree_sitter.Parser(language).parse(data).root_node
    node = _first_error(root) if root.has_error else None
    if node is None:
        return None
    line = node.start_point[0] + 1
    if node.is_missing:
        return line, f"{node.type!r} is missing"
    text = " ".join((node.text or b"").decode("utf-8", "replace").split())
    return line, f"cannot be parsed: {text[:_MAX_SHOWN]}{'…' if len(text) > _MAX_SHOWN else ''}"


def _first_error(root: "Node") -> "Node | None":
    """The innermost error node that begins first."""
    node: Node | None = root
    found: Node | None = None
    while node is not None:
        found = node if node.is_error or node.is_missing else found
        node = next((child for child in node.children if child.has_error or child.is_missing), None)
    return found
