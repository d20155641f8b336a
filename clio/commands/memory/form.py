"""An entry as a text a person changes in an editor, and that text read back.

`name: value` lines; what belongs to the line above is set in by two spaces. Lines that begin with "#" do not count.
"""

from typing import Any, Literal

from msgspec import Struct

from clio.commands.free_text import as_number
from clio.commands.matching import nearest
from clio.errors import UserError
from clio.memory.records import Entry, Kind

Fields = dict[str, Any]
_INDENT = "  "


class _Field(Struct, frozen=True):
    """A line of the form: its name there, the field of `Entry`, and how its value is written."""

    name: str
    field: str
    form: Literal["text", "list", "share"] = "text"
    needed: bool = False


_TAIL = (_Field("confidence", "confidence", "share", True), _Field("examples", "examples", "list"))
_FIELDS: dict[Kind, tuple[_Field, ...]] = {
    "discovery": (_Field("text", "text", needed=True), *_TAIL),
    "solution": (_Field("error", "text", needed=True), _Field("solution", "solution", needed=True), *_TAIL),
    "pattern": (_Field("text", "text", needed=True), *_TAIL),
    "workflow": (
        _Field("name", "text"),
        _Field("steps", "steps", "list", True),
        _Field("success", "success_rate", "share"),
        *_TAIL,
    ),
    "failure": (
        _Field("what", "text", needed=True),
        _Field("impact", "impact"),
        _Field("prevention", "solution"),
        *_TAIL,
    ),
    "rule": (_Field("path", "context"), _Field("rule", "text", needed=True), *_TAIL),
}


class FormError(UserError):
    """The form cannot be read; the message names the line and the cause."""


def write_form(entry: Entry) -> str:
    """The entry as such a text; `read_form` reads it back as the same entry."""
    lines = [
        f"# {entry.id}, a {entry.kind} of the project knowledge. Lines that begin with # do not count;",
        "# what belongs to the line above is set in by two spaces. Saved unchanged, nothing happens.",
    ]
    for field in _FIELDS[entry.kind]:
        value = _shown(entry, field.field)
        if field.form == "list":
            lines += [f"{field.name}:", *(f"{_INDENT}{' '.join(item.split())}" for item in value)]
        elif field.form == "share":
            lines.append(f"{field.name}: {'' if value is None else format(value, 'g')}".rstrip())
        else:
            first, *rest = value.split("\n")
            lines += [f"{field.name}: {first}".rstrip(), *(f"{_INDENT}{line}".rstrip() for line in rest)]
    return "\n".join(lines) + "\n"


def read_form(text: str, entry: Entry) -> Fields:
    """What the person changed of the entry, by the names of `Entry`'s fields; empty where nothing.

    Raises FormError.
    """
    before, after = _values(write_form(entry), entry.kind), _values(text, entry.kind)
    fields = [field for field in _FIELDS[entry.kind] if field.field in after]
    changes = {field.field: after[field.field] for field in fields if after[field.field] != before[field.field]}
    if entry.kind == "workflow" and changes.get("text") == "":
        changes["text"] = " → ".join(after["steps"])
    return changes


def with_problem(text: str, problem: str) -> str:
    """The text as it was edited, the problem in its first line, which does not count.

    It takes the place of the heading, so that the lines keep their numbers.
    """
    first, _, rest = text.partition("\n")
    return f"# NOT SAVED: {' '.join(problem.split())}\n{rest if first.startswith('#') else text}"


def _shown(entry: Entry, field: str) -> Any:
    nameless = entry.kind == "workflow" and field == "text" and entry.text == " → ".join(entry.steps)
    return "" if nameless else getattr(entry, field)


def _values(text: str, kind: Kind) -> Fields:
    """The values of the lines, by the names of `Entry`'s fields."""
    fields = {field.name: field for field in _FIELDS[kind]}
    found = _lines(text, fields)
    for field in fields.values():
        if field.needed and field.name not in found:
            raise FormError(f"there is no line {field.name + ':'!r} any more; put it back, or leave without saving")
    return {fields[name].field: _value(fields[name], number, lines) for name, (number, lines) in found.items()}


def _lines(text: str, fields: dict[str, _Field]) -> dict[str, tuple[int, list[str]]]:
    """The lines of each field, and the number of its first one."""
    found: dict[str, tuple[int, list[str]]] = {}
    current: list[str] | None = None
    for number, line in enumerate(text.replace("\r\n", "\n").split("\n"), start=1):
        if line.startswith("#"):
            continue
        if not line.strip() or line[0].isspace():
            if current is not None:
                current.append(line.removeprefix(_INDENT) if line.startswith(_INDENT) else line.lstrip())
            elif line.strip():
                raise FormError(f"line {number} is set in, and there is no field above it: {line.strip()!r}")
            continue
        name, colon, value = line.partition(":")
        if not colon:
            raise FormError(f"line {number} has no colon: {line!r}; what belongs to the line above is set in")
        field = fields.get(name.strip().lower())
        if field is None:
            raise FormError(f"line {number} names no field: {name.strip()!r}; {nearest(name.strip(), fields)}")
        if field.name in found:
            raise FormError(f"line {number} gives {field.name!r} again; line {found[field.name][0]} has it already")
        current = [value.strip()]
        found[field.name] = (number, current)
    return found


def _value(field: _Field, number: int, lines: list[str]) -> Any:
    whole = "\n".join(lines).strip()
    if field.needed and not whole:
        raise FormError(f"line {number}: {field.name!r} must not be empty; /memory forget takes the whole entry out")
    if field.form == "text":
        return whole
    if field.form == "list":
        return tuple(item for line in lines if (item := line.strip()))
    try:
        return as_number(whole, field.name, low=0, high=1) if whole else None
    except UserError as error:
        raise FormError(f"line {number}: {error}") from error
