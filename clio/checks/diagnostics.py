"""Diagnostics: the problems that checkers and parsers report, parsed from their output, and which of them are new."""

import asyncio
import json
import re
import sys
import warnings
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol, cast

from msgspec import Struct

from clio.lsp.catalog import is_grammar_installed
from clio.lsp.outline import parse_with_grammar
from clio.text.translation import tr

if TYPE_CHECKING:
    from tree_sitter import Node


# ruff, mypy, go, cargo: "path:line:column: text". tsc: "path(line,column): text". bash: "path: line 3: text".
_DIAGNOSTIC_LINE = re.compile(
    r"(?P<path>[^\s:(][^:(]*?)(?::| ?\(|: line )(?P<line>\d+)(?:[:,]\d+)?(?:\)?: ?|\) )(?P<text>\S.*)"
)
_SEVERITY = re.compile(r"(?i)(?P<word>fatal error|error|warning|note|info|help)(?:\[(?P<code>[\w-]+)\])?(?::\s*|\s+)")
_CODE_FIRST = re.compile(r"(?P<code>[A-Z]{1,6}\d{1,5}|invalid-syntax)(?::|\s)\s*(?P<rest>\S.*)")
_CODE_LAST = re.compile(r"(?P<rest>.*\S)\s+\[(?P<code>[\w@/-]+)\]")
_FIXABLE = re.compile(r"\[\*\]\s*")
# Positions inside a message are ignored, because they change when lines above are added or removed.
_POSITIONS = re.compile(r"(?i)\b(lines?|columns?|col|char|offset|position)([ :]+)\d+|\b\d+:\d+\b")
_STYLE_CODE = re.compile(r"(?!F\d|E9|PLE|TS)[A-Z]{1,6}\d{1,5}")
"""Codes of style rules; F (pyflakes), E9, PLE and TS are errors."""
_MODULE_ERROR = re.compile(r"outside a module|Unexpected token 'export'|await is only valid")
_NODE_ERROR = re.compile(r"(?m)^(?P<path>\S.*?):(?P<line>\d+)\n(?:.*\n)*?(?P<code>\w*Error): (?P<text>.+)$")


class CheckerFailed(Exception):
    """A checker could not check the files; the text is the reason."""


class Diagnostic(Struct, frozen=True, kw_only=True):
    """One problem that a checker reported.

    Attributes:
        path: relative to the project, with forward slashes; "" if it is not about a single file.
        line: counted from 1; 0 if unknown.
        code: name of the rule, or "".
        detail: further text to show, which is not part of its identity.
        is_error: False for warnings and style rules, which are shown last.
    """

    path: str
    line: int
    code: str
    message: str
    detail: str = ""
    is_error: bool = True

    @property
    def key(self) -> tuple[str, str, str]:
        """Its identity, which does not change when its line moves."""
        return self.path, self.code, _POSITIONS.sub(r"\1\2#", self.message)

    @property
    def place(self) -> str:
        """Its position, "path:line", as far as it is known."""
        return f"{self.path}:{self.line}" if self.path and self.line else self.path


class Checker(Protocol):
    """Finds problems in files: a program or a parser."""

    @property
    def name(self) -> str:
        """Its name in settings and messages."""
        ...

    @property
    def checks_project(self) -> bool:
        """Whether `check` covers the whole project, whichever files it is given."""
        ...

    def can_check(self, path: Path) -> bool:
        """Whether a change of this file is a reason to run it."""
        ...

    async def check(self, paths: Sequence[Path]) -> list[Diagnostic]:
        """Return the present problems. Cancelling ends every process it has started. Raises CheckerFailed."""
        ...


def parse_lines(output: str, root: Path) -> list[Diagnostic]:
    """Return the diagnostics of a program that prints one per line; other lines and notes are ignored."""
    found: list[Diagnostic] = []
    for line in output.splitlines():
        match = _DIAGNOSTIC_LINE.fullmatch(line.rstrip().removeprefix("vet: "))
        if match and (root / match["path"]).is_file():
            text = match["text"]
            severity = _SEVERITY.match(text)
            severity_name = severity["word"].lower() if severity else ""
            if severity_name in ("note", "help", "info"):
                continue
            code, message = _split_code(text[severity.end() :] if severity else text)
            code = (severity["code"] if severity else "") or code
            is_error = "error" in severity_name or (not severity_name and not _STYLE_CODE.fullmatch(code))
            found.append(_make_diagnostic(match["path"], root, int(match["line"]), code, message, is_error=is_error))
    return found


def _split_code(text: str) -> tuple[str, str]:
    if match := _CODE_FIRST.fullmatch(text):
        return match["code"], _FIXABLE.sub("", match["rest"])
    if match := _CODE_LAST.fullmatch(text):
        return match["code"], match["rest"]
    return "", text


def parse_node(output: str, root: Path) -> list[Diagnostic]:
    """Return the diagnostic that `node --check` printed for one file.

    If the file was read from standard input, its path is the first line of the output, followed by the results for the
    file as a script and as a module.
    """
    found = list(_NODE_ERROR.finditer(output))
    if not found or any("Unexpected token '<'" in match["text"] for match in found):
        return []  # JSX, which node cannot parse
    chosen = next((match for match in found if not _MODULE_ERROR.search(match["text"])), found[-1])
    path = output.partition("\n")[0] if chosen["path"] == "[stdin]" else chosen["path"]
    return [_make_diagnostic(path, root, int(chosen["line"]), chosen["code"], chosen["text"])]


def parse_gofmt(output: str, root: Path) -> list[Diagnostic]:
    """Return the diagnostics of `gofmt -l -e`: errors, and names of files that are not formatted."""
    unformatted = (line for line in output.splitlines() if line.endswith(".go"))
    style = [_make_diagnostic(name, root, 0, "gofmt", "not formatted", is_error=False) for name in unformatted]
    return [*parse_lines(output, root), *style]


def parse_eslint(output: str, root: Path) -> list[Diagnostic]:
    """Return the diagnostics of `eslint --format json`. Raises CheckerFailed."""
    return [
        _make_diagnostic(
            str(file.get("filePath", "")),
            root,
            _parse_line_number(entry.get("line")),
            str(entry.get("ruleId") or "syntax"),
            str(entry.get("message", "")),
            is_error=entry.get("severity") == 2,
        )
        for file in _iter_objects(_decode_output(output, "["))
        for entry in _iter_objects(file.get("messages"))
    ]


def parse_pyright(output: str, root: Path) -> list[Diagnostic]:
    """Return the diagnostics of `pyright --outputjson`. Raises CheckerFailed."""
    report = _decode_output(output, "{")
    found: list[Diagnostic] = []
    for entry in _iter_objects(cast("dict[str, Any]", report).get("generalDiagnostics")):
        line = entry.get("range", {}).get("start", {}).get("line", -1)
        if entry.get("severity") in ("error", "warning"):
            found.append(
                _make_diagnostic(
                    str(entry.get("file", "")),
                    root,
                    _parse_line_number(line) + 1,
                    str(entry.get("rule", "")),
                    str(entry.get("message", "")).partition("\n")[0],
                    is_error=entry["severity"] == "error",
                )
            )
    return found


def _decode_output(output: str, opening: str) -> object:
    """Return the first JSON value that begins with this character at the start of a line."""
    start = 0 if output.startswith(opening) else output.find(f"\n{opening}") + 1
    try:
        value: object = json.JSONDecoder().raw_decode(output, start)[0]
    except (ValueError, RecursionError):
        raise CheckerFailed(tr("its output could not be parsed")) from None
    if not isinstance(value, list | dict):
        raise CheckerFailed(tr("its output could not be parsed"))
    return cast(object, value)


def _iter_objects(value: object) -> Iterator[dict[str, Any]]:
    entries = cast("list[object]", value) if isinstance(value, list) else []
    return (cast("dict[str, Any]", entry) for entry in entries if isinstance(entry, dict))


def _parse_line_number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _make_diagnostic(
    path: str, root: Path, line: int, code: str, message: str, *, is_error: bool = True
) -> Diagnostic:  # fmt: skip
    return Diagnostic(path=to_project_path(Path(path), root), line=line, code=code, message=message, is_error=is_error)


def to_project_path(path: Path, root: Path) -> str:
    """Return the path as diagnostics show it: relative to the project, absolute outside it."""
    full_path = root / path
    try:
        return full_path.resolve().relative_to(root).as_posix()
    except (ValueError, OSError, RuntimeError):
        return full_path.as_posix()


def find_new_diagnostics(
    before: Iterable[Diagnostic], after: Iterable[Diagnostic], is_changed: Callable[[Diagnostic], bool]
) -> list[Diagnostic]:
    """Return the diagnostics of `after` that are not in `before`, compared by path, code and message.

    If `after` has three equal ones and `before` two, one is new: one on a changed line if there is any.

    Args:
        is_changed: whether a diagnostic is on a line that was changed.
    """
    known = Counter(diagnostic.key for diagnostic in before)
    new: list[Diagnostic] = []
    for diagnostic in sorted(after, key=is_changed):  # unchanged lines first: they account for the known ones
        if known[diagnostic.key] > 0:
            known[diagnostic.key] -= 1
        else:
            new.append(diagnostic)
    return new


_MAX_PARSED_BYTES = 1_000_000
_MAX_EXCERPT_CHARS = 40
_COMMENT = re.compile(r"(?m)^\s*(//|/\*)")
_TEMPLATE = re.compile(r"\{\{|\{%")
_JSON_WITH_COMMENTS = re.compile(r"(ts|js)config.*\.json|\.eslintrc\.json|api-extractor\.json|devcontainer\.json")


class SyntaxChecker:
    """Parses files without running anything."""

    name = "syntax"
    checks_project = False

    def __init__(self, root: Path) -> None:
        self._root = root

    def can_check(self, path: Path) -> bool:
        """Whether there is a parser for files with this suffix."""
        return path.suffix in _PARSERS or is_grammar_installed(path.suffix)

    async def check(self, paths: Sequence[Path]) -> list[Diagnostic]:
        """Return the first parse error of each file; none for a file that cannot be read."""
        return await asyncio.to_thread(lambda: list(self._parse_all(paths)))

    def _parse_all(self, paths: Sequence[Path]) -> Iterator[Diagnostic]:
        for path in paths:
            if (found := find_syntax_error(path)) is not None:
                line, message = found
                yield Diagnostic(path=to_project_path(path, self._root), line=line, code="syntax", message=message)


def find_syntax_error(path: Path) -> tuple[int, str] | None:
    """Return line and message of the first parse error; None if there is none or the file cannot be parsed at all."""
    try:
        if not path.is_file() or path.stat().st_size > _MAX_PARSED_BYTES:
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
        # Nested too deeply for this parser. Python 3.11's parser sometimes raises SystemError if memory is collected
        # meanwhile. Neither says anything about the file.
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
    may_have_comments = path.parent.name in (".vscode", ".devcontainer") or _JSON_WITH_COMMENTS.fullmatch(path.name)
    if not text.strip() or may_have_comments or _COMMENT.search(text) or _TEMPLATE.search(text):
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
        message, _, position = str(error).partition(" (at ")
        position_parts = position.removeprefix("line ").split(",")
        line = int(position_parts[0]) if position_parts[0].isdigit() else text.count("\n") + 1
        return line, message
    return None


def _parse_yaml(text: str, path: Path) -> tuple[int, str] | None:
    if _TEMPLATE.search(text):
        return None
    import yaml

    loader = getattr(yaml, "CSafeLoader", yaml.SafeLoader)
    try:
        for _ in cast(Any, yaml).parse(text, Loader=loader):  # parse events only; no objects are built
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
    if (root := parse_with_grammar(data, suffix)) is None:
        return None
    node = _find_first_error(root) if root.has_error else None
    if node is None:
        return None
    line = node.start_point[0] + 1
    if node.is_missing:
        return line, f"{node.type!r} is missing"
    text = " ".join((node.text or b"").decode("utf-8", "replace").split())
    return line, f"cannot be parsed: {text[:_MAX_EXCERPT_CHARS]}{'…' if len(text) > _MAX_EXCERPT_CHARS else ''}"


def _find_first_error(root: "Node") -> "Node | None":
    """Return the innermost of the error nodes that begin first."""
    node: Node | None = root
    found: Node | None = None
    while node is not None:
        found = node if node.is_error or node.is_missing else found
        node = next((child for child in node.children if child.has_error or child.is_missing), None)
    return found
