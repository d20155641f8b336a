"""How a project memory is typed: the text of `/memory add` and `/memory edit`, and the form for the editor."""

import re
from collections.abc import Callable
from typing import Any, Literal

from msgspec import Struct

from clio.commands.arguments import (
    parse_number,
    strip_quotes,
    suggest_name,
)
from clio.errors import UsageError, UserError
from clio.memory.store.record import (
    Kind,
    MemoryRecord,
    get_kind_label,
)
from clio.text.translation import mark, tr

Fields = dict[str, Any]

# In order of precedence: "->" and "→" also occur inside error messages and types, "=>" hardly ever.
_ARROWS = (re.compile(r"\s*=>\s*"), re.compile(r"\s*→\s*"), re.compile(r"\s+->\s+|^->\s+|\s+->$"))
_NAMED = re.compile(r"([^:,>→'\"`]{1,60}):\s+(\S.*)", re.DOTALL)
_PATHLIKE = re.compile(r"[^\s:]*[/.*][^\s:]*")

ADD_SYNTAX: dict[Kind, str] = {
    "discovery": "TEXT",
    "solution": "ERROR => SOLUTION",
    "pattern": "TEXT",
    "workflow": "[NAME:] STEP -> STEP -> …",
    "failure": "WHAT FAILED => PREVENTION",
    "rule": "[PATH:] TEXT",
}


def format_add_command(kind: Kind) -> str:
    """Return the command that adds a memory of this kind."""
    return f"/memory add {'fact' if kind == 'discovery' else kind} {ADD_SYNTAX[kind]}"


def parse_new_fields(kind: Kind, text: str, *, is_path: Callable[[str], bool]) -> Fields:
    """Return the fields of a new project memory, by the names of the fields of `MemoryRecord`.

    Args:
        is_path: tells whether a word without a slash or a dot is the name of a file or folder in the project.

    Raises:
        UsageError: a part is missing; the message contains the correct syntax.
    """
    fields = parse_changed_fields(kind, text, is_path=is_path)
    for part in ("content", "solution") if kind == "solution" else ("content",):
        if not str(fields.get(part, "")).strip():
            raise UsageError(
                tr(
                    "A {kind_label} needs {needs}: write {add}",
                    kind_label=tr(get_kind_label(kind)),
                    needs=tr(_REQUIRED_PARTS.get(kind, mark("a text"))),
                    add=format_add_command(kind),
                )
            )
    if kind == "workflow" and len(fields["steps"]) < 2:
        raise UsageError(tr("A workflow needs two steps or more: write {add}", add=format_add_command(kind)))
    return fields


def parse_changed_fields(kind: Kind, text: str, *, is_path: Callable[[str], bool]) -> Fields:
    """Return the fields in a text. If one side of an arrow is empty, its field is left out and stays unchanged."""
    match kind:
        case "solution" | "failure":
            before, after = _split_at_arrow(text)
            return {name: part for name, part in (("content", before), ("solution", after)) if part}
        case "workflow":
            return _parse_workflow(text)
        case "rule":
            context, rule = _split_rule_path(text, is_path)
            return {"content": rule} if context is None else {"content": rule, "context": context}
        case _:
            return {"content": text.strip()}


_REQUIRED_PARTS: dict[Kind, str] = {"solution": mark("the error and its solution"), "failure": mark("what failed")}


def _split_at_arrow(text: str) -> tuple[str, str]:
    """Return the text before and after the first arrow; "=>" takes precedence: errors may contain the others.

    Each part loses the quotes around all of it: in a shell it has to be quoted.
    """
    for arrow in _ARROWS:
        if found := arrow.search(text):
            return strip_quotes(text[: found.start()].strip()), strip_quotes(text[found.end() :].strip())
    return strip_quotes(text.strip()), ""


def _parse_workflow(text: str) -> Fields:
    name, rest = "", text.strip()
    # "run: make" has no name: what follows the colon must be several steps.
    if (found := _NAMED.fullmatch(rest)) and len(_split_steps(found[2])) > 1:
        name, rest = found[1].strip(), found[2]
    steps = _split_steps(rest)
    return {"content": name or " → ".join(steps), "steps": steps}


def _split_steps(text: str) -> tuple[str, ...]:
    """Return the steps between arrows, or between commas if there is no arrow."""
    for arrow in _ARROWS:
        if arrow.search(text):
            return tuple(strip_quotes(step.strip()) for step in arrow.split(text) if step.strip())
    return tuple(step.strip() for step in text.split(",") if step.strip())


def _split_rule_path(text: str, is_path: Callable[[str], bool]) -> tuple[str | None, str]:
    """Return the path before a rule's first colon, None if there is none, and the rule.

    A word before the colon counts as a path only if it looks like one or exists: "Note: use tabs" has no path.
    """
    head, colon, rest = text.strip().partition(":")
    head = head.strip().strip("'\"`")
    if not colon or not rest.strip():
        return None, text.strip()
    if head.lower() in ("everywhere", "*"):
        return "", rest.strip()
    if rest[0].isspace() and (_PATHLIKE.fullmatch(head) or is_path(head)):
        return head, rest.strip()
    return None, text.strip()


_INDENT = "  "


class _Field(Struct, frozen=True):
    """One line of the form: its name, its field of `MemoryRecord`, and how its value is written.

    needed: whether the form must contain the line, with a value.
    """

    name: str
    field: str
    form: Literal["text", "list", "share"] = "text"
    needed: bool = False


_COMMON_FIELDS = (_Field("confidence", "confidence", "share", True), _Field("examples", "examples", "list"))
_FIELDS: dict[Kind, tuple[_Field, ...]] = {
    "discovery": (_Field("text", "content", needed=True), *_COMMON_FIELDS),
    "solution": (_Field("error", "content", needed=True), _Field("solution", "solution", needed=True), *_COMMON_FIELDS),
    "pattern": (_Field("text", "content", needed=True), *_COMMON_FIELDS),
    "workflow": (
        _Field("name", "content"),
        _Field("steps", "steps", "list", True),
        _Field("success", "success_rate", "share"),
        *_COMMON_FIELDS,
    ),
    "failure": (
        _Field("what", "content", needed=True),
        _Field("impact", "impact"),
        _Field("prevention", "solution"),
        *_COMMON_FIELDS,
    ),
    "rule": (_Field("path", "context"), _Field("rule", "content", needed=True), *_COMMON_FIELDS),
}


class FormError(UserError):
    """The form cannot be read; the message names the line and the cause."""


def write_form(entry: MemoryRecord) -> str:
    """Return the memory as a form for the editor; `read_form` parses it."""
    lines = [
        tr(
            "# {id}, a {kind_label} in project memory. Lines that begin with # are ignored;",
            id=entry.id,
            kind_label=tr(get_kind_label(entry.kind)),
        ),
        tr("# continuation lines are indented by two spaces. Save it unchanged to cancel."),
    ]
    for field in _FIELDS[entry.kind]:
        value = _get_form_value(entry, field.field)
        if field.form == "list":
            lines += [f"{field.name}:", *(f"{_INDENT}{' '.join(item.split())}" for item in value)]
        elif field.form == "share":
            lines.append(f"{field.name}: {'' if value is None else format(value, 'g')}".rstrip())
        else:
            first, *rest = value.split("\n")
            lines += [f"{field.name}: {first}".rstrip(), *(f"{_INDENT}{line}".rstrip() for line in rest)]
    return "\n".join(lines) + "\n"


def read_form(text: str, entry: MemoryRecord) -> Fields:
    """Return what the user changed, by the names of the fields of `MemoryRecord`; empty if nothing.

    Raises FormError.
    """
    # Compared with the form as it was written, so that a value which the form cannot express exactly counts as
    # unchanged.
    before, after = _read_values(write_form(entry), entry.kind), _read_values(text, entry.kind)
    fields = [field for field in _FIELDS[entry.kind] if field.field in after]
    changes = {field.field: after[field.field] for field in fields if after[field.field] != before[field.field]}
    if entry.kind == "workflow" and changes.get("content") == "":
        changes["content"] = " → ".join(after["steps"])
    return changes


def add_problem_line(text: str, problem: str) -> str:
    """Return the edited text with the problem in its first line, which is a comment.

    It replaces the heading, so that the lines keep their numbers.
    """
    first, _, rest = text.partition("\n")
    return f"# NOT SAVED: {' '.join(problem.split())}\n{rest if first.startswith('#') else text}"


def _get_form_value(entry: MemoryRecord, field: str) -> Any:
    nameless = entry.kind == "workflow" and field == "content" and entry.content == " → ".join(entry.steps)
    return "" if nameless else getattr(entry, field)


def _read_values(text: str, kind: Kind) -> Fields:
    """Return the values of the lines, by the names of the fields of `MemoryRecord`."""
    fields = {field.name: field for field in _FIELDS[kind]}
    found = _read_lines(text, fields)
    for field in fields.values():
        if field.needed and field.name not in found:
            raise FormError(
                tr("the line {field!r} is missing; add it again, or close without saving", field=field.name + ":")
            )
    return {fields[name].field: _parse_value(fields[name], number, lines) for name, (number, lines) in found.items()}


def _read_lines(text: str, fields: dict[str, _Field]) -> dict[str, tuple[int, list[str]]]:
    """Return the lines of each field, and the number of its first line."""
    found: dict[str, tuple[int, list[str]]] = {}
    current: list[str] | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.startswith("#"):
            continue
        if not line.strip() or line[0].isspace():
            if current is not None:
                current.append(line.removeprefix(_INDENT) if line.startswith(_INDENT) else line.lstrip())
            elif line.strip():
                raise FormError(
                    tr(
                        "line {number} is indented, but there is no field above it: {line!r}",
                        number=number,
                        line=line.strip(),
                    )
                )
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise FormError(
                tr(
                    "line {number} has no colon: {line!r}; indent a line that continues the one above",
                    number=number,
                    line=line,
                )
            )
        field = fields.get(name.strip().lower())
        if field is None:
            raise FormError(
                tr(
                    "line {number} names no field: {name!r}; {suggest_name}",
                    number=number,
                    name=name.strip(),
                    suggest_name=suggest_name(name.strip(), fields),
                )
            )
        if field.name in found:
            raise FormError(
                tr(
                    "line {number} gives {field!r} again; line {found} has it already",
                    number=number,
                    field=field.name,
                    found=found[field.name][0],
                )
            )
        current = [value.strip()]
        found[field.name] = (number, current)
    return found


def _parse_value(field: _Field, number: int, lines: list[str]) -> Any:
    whole = "\n".join(lines).strip()
    if field.needed and not whole:
        raise FormError(
            tr(
                "line {number}: {field!r} must not be empty; /memory forget removes the whole memory",
                number=number,
                field=field.name,
            )
        )
    if field.form == "text":
        return whole
    if field.form == "list":
        return tuple(item for line in lines if (item := line.strip()))
    try:
        return parse_number(whole, field.name, low=0, high=1) if whole else None
    except UserError as error:
        raise FormError(tr("line {number}: {error}", number=number, error=error)) from error
