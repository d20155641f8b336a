"""/memory add, edit and undo: what changes project memory, on the line or in an editor."""

import re
from collections.abc import Callable
from typing import Any, Literal

import msgspec
from msgspec import Struct

from clio.commands.arguments import Text, as_number, nearest, read_text
from clio.commands.command import CommandResult, EditText, Shell, code, refuse
from clio.commands.memory.memory_text import by_user, entry_data, kind_named, remembers, short_id
from clio.commands.memory.verbs import OWNERS, record_data
from clio.errors import ClioError, UsageError, UserError
from clio.memory.records import Added, Entry, Kind
from clio.memory.typed.record import MemoryRecord, short
from clio.storage.locks import cause
from clio.text.lazy_regex import LazyRegex

Fields = dict[str, Any]

_ARROWS = (LazyRegex(r"\s*=>\s*"), LazyRegex(r"\s*→\s*"), LazyRegex(r"\s+->\s+|^->\s+|\s+->$"))
_NAMED = LazyRegex(r"([^:,>→'\"`]{1,60}):\s+(\S.*)", re.DOTALL)
_PATHLIKE = LazyRegex(r"[^\s:]*[/.*][^\s:]*")

FORMS: dict[Kind, str] = {
    "discovery": "TEXT",
    "solution": "ERROR => SOLUTION",
    "pattern": "TEXT",
    "workflow": "[NAME:] STEP -> STEP -> …",
    "failure": "WHAT FAILED => PREVENTION",
    "rule": "[PATH:] TEXT",
}


def fields_of(kind: Kind, text: str, *, is_path: Callable[[str], bool]) -> Fields:
    """The fields of a new entry, by the names `Entry` gives them.

    is_path: whether a word without a slash or a dot names something in the project. Raises UsageError where a part is
    missing, with the form that would be right.
    """
    fields = changes_of(kind, text, is_path=is_path)
    for part in ("text", "solution") if kind == "solution" else ("text",):
        if not str(fields.get(part, "")).strip():
            raise UsageError(f"A {kind} needs {_NEEDS.get(kind, 'words')}: write /memory add {kind} {FORMS[kind]}")
    if kind == "workflow" and len(fields["steps"]) < 2:
        raise UsageError(f"A workflow needs two steps or more: write /memory add workflow {FORMS[kind]}")
    return fields


def changes_of(kind: Kind, text: str, *, is_path: Callable[[str], bool]) -> Fields:
    """The fields a text gives; a side of an arrow that is left empty is left out, so it changes nothing."""
    match kind:
        case "solution" | "failure":
            before, after = _two_sides(text)
            return {name: part for name, part in (("text", before), ("solution", after)) if part}
        case "workflow":
            return _workflow(text)
        case "rule":
            context, rule = _scoped(text, is_path)
            return {"text": rule} if context is None else {"text": rule, "context": context}
        case _:
            return {"text": text.strip()}


_NEEDS: dict[Kind, str] = {"solution": "the error and what helped", "failure": "what failed"}


def _two_sides(text: str) -> tuple[str, str]:
    """What stands before and behind the first arrow; "=>" counts before the others, which errors may hold."""
    for arrow in _ARROWS:
        if found := arrow.search(text):
            return text[: found.start()].strip(), text[found.end() :].strip()
    return text.strip(), ""


def _workflow(text: str) -> Fields:
    name, rest = "", text.strip()
    if (found := _NAMED.fullmatch(rest)) and len(_steps(found[2])) > 1:
        name, rest = found[1].strip(), found[2]
    steps = _steps(rest)
    return {"text": name or " → ".join(steps), "steps": steps}


def _steps(text: str) -> tuple[str, ...]:
    """The steps between arrows; between commas where there is no arrow."""
    for arrow in _ARROWS:
        if arrow.search(text):
            return tuple(step.strip() for step in arrow.split(text) if step.strip())
    return tuple(step.strip() for step in text.split(",") if step.strip())


def _scoped(text: str, is_path: Callable[[str], bool]) -> tuple[str | None, str]:
    """The path a rule names before its first colon, and the rule; None where it names none."""
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


def memory_named(shell: Shell, word: str) -> MemoryRecord | None:
    """The memory of that id, where it is none of an entry's."""
    if word[1:2] == "-":
        return None
    try:
        return shell.memory.memories.find(word)
    except UserError:
        return None


def reword(shell: Shell, record: MemoryRecord, text: str, *, options: bool) -> CommandResult:
    """Say it in other words: those given, or those that come from the editor.

    options: some were given, which an entry of the project knowledge has and a memory has not.
    """
    if record.type == "preference":
        return refuse(f"{short_id(record)} is a preference; write /prefs update {short_id(record)} --item TEXT")
    if options:
        return refuse("A memory has neither confidence nor examples to set; write /memory edit ID TEXT")
    if not text.strip():
        return CommandResult(follow_up=EditText(text=record.content, then=lambda new: _from_editor(shell, record, new)))
    memories = shell.memory.memories
    scope = memories.scope_of(record.id)
    store = memories.project if scope == "project" else memories.user
    new = store.update(record.id, content=shell.memory.redacted(text), provenance=by_user(shell))
    return CommandResult(
        text=f"{short_id(new)} is now {code(short(new))}, {OWNERS[scope]}. `/memory undo` takes that back.",
        data={"memory": record_data(new, scope), "before": record_data(record, scope)},
    )


def _from_editor(shell: Shell, record: MemoryRecord, text: str) -> CommandResult:
    if text.strip() == record.content:
        return CommandResult(text=f"{short_id(record)} is as it was.")
    if not text.strip():
        return CommandResult(ok=False, text=f"{short_id(record)} is as it was: a memory needs words.")
    try:
        return reword(shell, record, text, options=False)
    except (ClioError, OSError) as error:
        return CommandResult(ok=False, text=f"{short_id(record)} is not changed: {cause(error)}", verbatim=text)


_OPTIONS = ("--confidence", "--example")


@remembers
def add(shell: Shell, argument: str) -> CommandResult:
    """Remember something because the person says so."""
    given = read_text(argument, heads=1, valued=_OPTIONS)
    if not given.heads:
        forms = ", ".join(f"{kind} {form}" for kind, form in FORMS.items())
        return refuse(f"What kind of knowledge? Write /memory add with one of: {forms}")
    kind = kind_named(given.heads[0])
    draft = Entry(kind=kind, **fields_of(kind, given.text, is_path=_is_path(shell)), **_options(given))
    added = shell.memory.add(draft, by_user(shell))
    state = shell.memory.freshness((added.entry,))[added.entry.id]
    data = {
        "entry": entry_data(added.entry, state),
        "new": added.new,
        "restored": added.restored,
        "beside": [entry_data(other) for other in added.beside],
    }
    return CommandResult(text=_added(added), data=data)


@remembers
def edit(shell: Shell, argument: str) -> CommandResult:
    """Change an entry or a memory: to the text and the options given, or in the editor where there are none."""
    given = read_text(argument, heads=1, valued=_OPTIONS)
    if not given.heads:
        return refuse("Which entry? Write /memory edit ID; /memory list shows the ids")
    if record := memory_named(shell, given.heads[0]):
        return reword(shell, record, given.text, options=bool(given.options))
    entry = shell.memory.find(given.heads[0])
    changes = _options(given)
    if given.text.strip():
        changes |= changes_of(entry.kind, given.text, is_path=_is_path(shell))
    if not changes:
        return CommandResult(follow_up=EditText(text=write_form(entry), then=_edited(shell, entry), suffix=".txt"))
    return _update(shell, entry, changes)


@remembers
def undo(shell: Shell, argument: str) -> CommandResult:
    """Take the last change back; asked again, the one before it."""
    if argument:
        return refuse("/memory undo takes nothing; it takes the last change back, asked again the one before it")
    said = shell.memory.undo()
    return CommandResult(text=said, data={"undone": said})


def _options(given: Text) -> dict[str, Any]:
    found: dict[str, Any] = {}
    raw = given.one("--confidence")
    if raw is not None:
        found["confidence"] = as_number(raw, "--confidence", low=0, high=1)
    if examples := given.options.get("--example"):
        found["examples"] = examples
    return found


def _is_path(shell: Shell) -> Callable[[str], bool]:
    def check(word: str) -> bool:
        try:
            return bool(word) and len(word.split()) == 1 and (shell.loaded.project / word).exists()
        except (OSError, ValueError):
            return False

    return check


def _edited(shell: Shell, entry: Entry) -> Callable[[str], CommandResult]:
    """What becomes of the text that comes back from the editor; one that is wrong is opened again."""

    def take(text: str) -> CommandResult:
        try:
            changes = read_form(text, entry)
            return _update(shell, entry, changes) if changes else CommandResult(text=f"{entry.id} is as it was.")
        except (ClioError, OSError) as error:
            again = EditText(text=with_problem(text, cause(error)), then=take, suffix=".txt")
            return CommandResult(
                ok=False, text=f"{entry.id} is not changed: {cause(error)}", verbatim=text, follow_up=again
            )

    return take


def _update(shell: Shell, entry: Entry, changes: dict[str, Any]) -> CommandResult:
    new = shell.memory.update(entry.id, **changes, provenance=by_user(shell))
    state = shell.memory.freshness((new,))[new.id]
    return CommandResult(
        text=f"{new.id} is now {code(new.line)}, {new.confidence:.0%} sure. `/memory undo` takes that back.",
        data={"entry": entry_data(new, state), "before": entry_data(entry)},
    )


def _added(added: Added) -> str:
    entry = added.entry
    held = _held(entry)
    if not added.new:
        times = f", said {entry.times} times" if entry.times > 1 else ""
        return f"Confirmed {entry.id}, {entry.confidence:.0%} sure{times}: {held}"
    came = "Back from the archive as" if added.restored else "Remembered as"
    text = f"{came} {entry.id}: {held}"
    if added.beside:
        others = ", ".join(f"{other.id} {code(other.solution)}" for other in added.beside[:3])
        text += f" Kept beside {'another solution' if len(added.beside) == 1 else 'other solutions'}: {others}."
    return text


def _held(entry: Entry) -> str:
    """The entry as it was understood, so that a slip is seen at once."""
    bare = msgspec.structs.replace(entry, context="")
    where = "" if entry.kind != "rule" else f", for {code(entry.context)}" if _is_bound(entry) else ", everywhere"
    return f"{code(bare.line)}{where}."


def _is_bound(entry: Entry) -> bool:
    return entry.context not in ("", "*")
