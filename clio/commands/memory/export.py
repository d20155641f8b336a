"""/memory export: everything that was learned as one JSON document, or the project knowledge as an ltm.json."""

import time
from collections.abc import Collection
from pathlib import Path

import msgspec

from clio.commands.arguments import read
from clio.commands.command import Shell
from clio.commands.markdown_code import code
from clio.commands.matching import nearest
from clio.commands.memory.access import remembers
from clio.commands.memory.words import count, entries_of, size
from clio.commands.result import CommandResult, refuse
from clio.errors import UsageError
from clio.memory.control.bundle import SECTIONS, Section, encode_bundle
from clio.memory.control.export import entries_in, knowledge_alone, make_bundle
from clio.memory.control.places import Places
from clio.storage.files import write_atomic

WHAT = {
    "all": "everything that was learned",
    "knowledge": "the project knowledge, as an ltm.json",
    "memories": "facts, events, notes, preferences",
    "notes": "the notes by their keys",
    "scenarios": "your kinds of work",
    "styles": "what was learned about styles, and your own ones",
    "feedback": "what was said of answers",
}
SHOWN = "-"
_NAMES = {
    "knowledge": ("entry of project knowledge", "entries of project knowledge"),
    "knowledge_archived": ("archived", "archived"),
    "project_memories": ("memory of the project", "memories of the project"),
    "project_replaced": ("replaced", "replaced"),
    "project_archived": ("archived", "archived"),
    "user_memories": ("memory of yours", "memories of yours"),
    "user_replaced": ("replaced", "replaced"),
    "user_archived": ("archived", "archived"),
    "notes": ("note", "notes"),
    "style_files": ("style of your own", "styles of your own"),
    "feedback": ("line of feedback", "lines of feedback"),
}


@remembers
def export(shell: Shell, argument: str) -> CommandResult:
    """Everything that was learned, secrets replaced: into a file, or shown."""
    given = read(argument, switches=("--force",), valued=("--what",))
    if len(given.words) > 1:
        return refuse(f"/memory export takes one path, not {given.text!r}; put quotes around one with blanks in it")
    path = Path(given.words[0]).expanduser() if given.words and given.words[0] != SHOWN else None
    what = _what(given.options.get("--what"), path)
    if path is not None and (reason := _unwritable(path, force="--force" in given.options)):
        return refuse(reason)
    shell.memory.knowledge()  # refuses where memory is off
    data, counts = _written(shell, what)
    if path is None:
        return CommandResult(verbatim=data.decode("utf-8"), data=msgspec.json.decode(data))
    try:
        write_atomic(path, data)
    except OSError as error:
        return refuse(f"{str(path)!r} cannot be written ({error.strerror}); name a place you may write to")
    if what == ("knowledge",):
        number = counts.get("knowledge", 0)
        told, more = entries_of(number), {"entries": number}
    else:
        told, more = in_words(counts) or "nothing, since nothing was learned yet", {"counts": counts}
    return CommandResult(
        text=f"Wrote {code(str(path))} ({size(len(data))}): {told}.",
        data={"path": str(path), "bytes": len(data)} | more,
    )


def places_of(shell: Shell) -> Places:
    """Where this shell's project and person keep what was learned."""
    return Places(project=shell.loaded.owner, home=shell.loaded.home)


def in_words(counts: dict[str, int]) -> str:
    """What there is how much of, such as "12 entries of project knowledge, 3 notes"."""
    return ", ".join(count(number, *_NAMES[name]) for name, number in counts.items() if number and name in _NAMES)


def _written(shell: Shell, what: Collection[Section]) -> tuple[bytes, dict[str, int]]:
    def clean(text: str) -> str:
        return shell.redactor.redact(text).text

    places = places_of(shell)
    if what == ("knowledge",):
        data = knowledge_alone(places, clean)
        return data, {"knowledge": entries_in(msgspec.Raw(data))}
    bundle = make_bundle(places, clean=clean, now=time.time(), what=what)
    return encode_bundle(bundle), bundle.head.counts


def _what(name: str | None, path: Path | None) -> tuple[Section, ...]:
    """The sections that are meant; a file whose name ends in ltm.json is one, unless somebody says otherwise."""
    if name is None:
        return ("knowledge",) if path and path.name.endswith("ltm.json") else SECTIONS
    wanted = name.strip().lower()
    if wanted == "all":
        return SECTIONS
    for section in SECTIONS:
        if wanted == section:
            return (section,)
    raise UsageError(f"There is no part {name!r} to export; {nearest(wanted, WHAT)}")


def _unwritable(path: Path, *, force: bool) -> str:
    """Why nothing can be written there; empty where it can."""
    if path.is_dir():
        return f"{str(path)!r} is a folder; name a file in it, such as {str(path / 'all.json')!r}"
    if path.exists() and not force:
        return f"{str(path)!r} exists; --force replaces it"
    if not path.parent.is_dir():
        return f"There is no folder {str(path.parent)!r} to write {path.name!r} into; make it first"
    return ""
