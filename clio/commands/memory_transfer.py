"""/memory export and import: the project knowledge as a file to hand on."""

from pathlib import Path
from typing import TYPE_CHECKING, Any, cast

import msgspec

from clio.commands.arguments import read
from clio.commands.base import CommandResult, Shell, code, refuse
from clio.commands.memory_access import remembers
from clio.commands.memory_words import (
    entries_of,
    size,
)
from clio.errors import UserError
from clio.memory.records import Provenance
from clio.storage.atomic import write_atomic

if TYPE_CHECKING:
    pass

MAX_IMPORT_BYTES = 50_000_000


@remembers
def export(shell: Shell, argument: str) -> CommandResult:
    """The project knowledge as an ltm.json, secrets replaced: into a file, or shown."""
    given = read(argument, switches=("--force",))
    if len(given.words) > 1:
        return refuse(f"/memory export takes one path, not {given.text!r}; put quotes around one with blanks in it")
    document = _redacted(shell, msgspec.json.decode(shell.memory.export_knowledge()))
    text = msgspec.json.format(msgspec.json.encode(document), indent=2).decode("utf-8")
    if not given.words:
        return CommandResult(verbatim=text, data=document)
    path = Path(given.words[0]).expanduser()
    if path.is_dir():
        return refuse(f"{str(path)!r} is a folder; name a file in it, such as {str(path / 'ltm.json')!r}")
    if path.exists() and "--force" not in given.options:
        return refuse(f"{str(path)!r} exists; --force replaces it")
    if not path.parent.is_dir():
        return refuse(f"There is no folder {str(path.parent)!r} to write {path.name!r} into; make it first")
    written = text.encode("utf-8") + b"\n"
    try:
        write_atomic(path, written)
    except OSError as error:
        return refuse(f"{str(path)!r} cannot be written ({error.strerror}); name a place you may write to")
    number = len(shell.memory.knowledge().entries)
    return CommandResult(
        text=f"Wrote {entries_of(number)} to {code(str(path))} ({size(len(written))}).",
        data={"path": str(path), "entries": number, "bytes": len(written)},
    )


@remembers
def import_(shell: Shell, argument: str) -> CommandResult:
    """Take in the entries of another ltm.json, also one of the Perl CLIO's.

    Nobody at this clio has said them: where the file names no one, the model has.
    """
    given = read(argument)
    if len(given.words) != 1:
        return refuse("Which file? Write /memory import PATH; quotes go around a path with blanks in it")
    path = Path(given.words[0]).expanduser()
    text = _text_of(path)
    added, confirmed = shell.memory.import_knowledge(text, Provenance(session=shell.session.id))
    skipped = max(_items(text) - added - confirmed, 0)
    parts = [f"{added:,} new", f"{confirmed:,} confirmed", f"{skipped:,} skipped, being known already"]
    undo = " `/memory undo` takes that back." if added or confirmed else ""
    return CommandResult(
        text=f"From {code(str(path))}: {', '.join(parts)}.{undo}",
        data={"path": str(path), "added": added, "confirmed": confirmed, "skipped": skipped},
    )


def _redacted(shell: Shell, value: object) -> Any:
    """A JSON value with the secrets in its texts replaced, entries being older than what redacts them today."""
    if isinstance(value, str):
        return shell.redactor.redact(value).text
    if isinstance(value, list):
        return [_redacted(shell, item) for item in cast(list[object], value)]
    if isinstance(value, dict):
        pairs = cast(dict[str, object], value).items()
        return {shell.redactor.redact(name).text: _redacted(shell, item) for name, item in pairs}
    return value


def _text_of(path: Path) -> str:
    if not path.exists():
        raise UserError(f"There is no file {str(path)!r} to import; give the path of an ltm.json")
    if not path.is_file():
        raise UserError(f"{str(path)!r} is no file; give the path of an ltm.json")
    if path.stat().st_size > MAX_IMPORT_BYTES:
        raise UserError(f"{str(path)!r} has {size(path.stat().st_size)}, which no ltm.json needs; is it another file?")
    try:
        return path.read_text(encoding="utf-8-sig", errors="replace")
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read ({error.strerror}); nothing was imported") from error


def _items(text: str) -> int:
    """How many entries a document that was imported without an error names, whatever their kind."""
    patterns: dict[str, Any] = msgspec.json.decode(text.encode("utf-8", "replace")).get("patterns", {})
    return sum(
        sum(
            len(cast(list[object], rules)) for rules in cast(dict[str, object], one).values() if isinstance(rules, list)
        )
        if isinstance(one, dict)
        else len(cast(list[object], one))
        for one in patterns.values()
        if isinstance(one, list | dict)
    )
