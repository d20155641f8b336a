"""/memory import: takes in a bundle of another clio, or an ltm.json; nothing here is overwritten that is worth more."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import cast

import msgspec

from clio.algorithms.bands import HARD_LIMIT
from clio.algorithms.stored_time import format_stored_time
from clio.commands.arguments import Given, read
from clio.commands.command import Shell
from clio.commands.long_work import Track
from clio.commands.markdown_code import code
from clio.commands.memory.access import remembers
from clio.commands.memory.export import places_of
from clio.commands.memory.words import count, size
from clio.commands.result import CommandResult, LongWork, refuse
from clio.commands.tables import Table
from clio.errors import UsageError, UserError
from clio.memory.control.bundle import Bundle, KnowledgePart, decode_bundle, is_bundle
from clio.memory.control.intake import take_in
from clio.memory.control.taken import Taken
from clio.memory.ltm.imports import read_foreign
from clio.memory.memories import SCOPES
from clio.memory.records import Provenance
from clio.memory.typed.record import MemoryRecord
from clio.memory.typed.store import Scope
from clio.memory.undo import UndoLog

MAX_IMPORT_BYTES = 500_000_000


@remembers
def import_(shell: Shell, argument: str) -> CommandResult:
    """Take in everything of a bundle, or the entries of another ltm.json, also one of the Perl CLIO's.

    Nobody at this clio has said them: where the file names no one, the model has.
    """
    given = read(argument, switches=("--dry-run",), valued=("--scope",))
    if len(given.words) != 1:
        return refuse("Which file? Write /memory import PATH; quotes go around a path with blanks in it")
    path, scope, dry_run = Path(given.words[0]).expanduser(), _scope(given), "--dry-run" in given.options
    shell.memory.knowledge()  # refuses where memory is off
    data = _data_of(path)
    if is_bundle(data):
        bundle = decode_bundle(data, path)
        return _long(lambda track: _bundle(shell, path, bundle, scope, dry_run=dry_run, track=track))
    if scope == "user":
        return refuse(f"{str(path)!r} is an ltm.json, and all of it is the project's; leave out --scope user")
    return _long(lambda track: _knowledge(shell, path, data, dry_run=dry_run, track=track))


def _long(work: Callable[[Track], CommandResult]) -> CommandResult:
    return CommandResult(follow_up=LongWork(label="importing", work=work))


def _bundle(
    shell: Shell, path: Path, bundle: Bundle, scope: Scope | None, *, dry_run: bool, track: Track
) -> CommandResult:
    taken = _take(shell, path, bundle, scope, dry_run=dry_run, track=track)
    data = {
        "path": str(path),
        "dry_run": dry_run,
        "parts": [msgspec.to_builtins(one) for one in taken],
    }
    if not taken:
        whose = "" if scope is None else f" of the {scope}'s"
        return CommandResult(text=f"There is nothing{whose} in {code(str(path))}.", data=data)
    changes = sum(one.changes for one in taken)
    head = bundle.head
    origin = f", written {format_stored_time('%Y-%m-%d', head.at)} in {code(head.project or '?')}"
    verb = "Would change" if dry_run else "Changed"
    text = f"{verb} {count(changes, 'thing', 'things')} from {code(str(path))}{origin if head.at else ''}."
    if not changes:
        nothing = "Nothing would change" if dry_run else "Nothing changed"
        text = f"{nothing}: all of {code(str(path))} is known, or stays as it is here."
    tastes = sum(one.changes for one in taken if one.section == "memories" and one.scope == "user")
    if tastes and (rules := _rules(bundle, scope)):
        text += (
            f" {count(rules, 'rule or hard limit in it reaches', 'rules and hard limits in it reach')} every prompt."
        )
    if changes and not dry_run:
        text += (
            " `/memory undo` takes memories, knowledge and notes back as one change; archives, scenarios, styles "
            "and ratings only grow."
        )
    return CommandResult(text=text, table=_table(taken), data=data)


def _knowledge(shell: Shell, path: Path, data: bytes, *, dry_run: bool, track: Track) -> CommandResult:
    text = data.decode("utf-8-sig", "replace")
    read_foreign(text)
    part = KnowledgePart(ltm=msgspec.Raw(text.encode("utf-8", "replace")))
    taken = _take(shell, path, Bundle(knowledge=part), None, dry_run=dry_run, track=track)
    one = taken[0] if taken else Taken(section="knowledge", scope="project", what="")
    parts = [f"{one.new:,} new", f"{one.changed:,} confirmed", f"{one.known:,} skipped, being known already"]
    undo = " `/memory undo` takes that back." if one.changes and not dry_run else ""
    would = "It would be from" if dry_run else "From"
    return CommandResult(
        text=f"{would} {code(str(path))}: {', '.join(parts)}.{undo}",
        data={"path": str(path), "added": one.new, "confirmed": one.changed, "skipped": one.known}
        | ({"dry_run": True} if dry_run else {}),
    )


def _take(
    shell: Shell, path: Path, bundle: Bundle, scope: Scope | None, *, dry_run: bool, track: Track
) -> tuple[Taken, ...]:
    places = places_of(shell)
    return take_in(
        places,
        bundle,
        by=Provenance(session=shell.session.id),
        now=time.time(),
        clean=lambda text: shell.redactor.redact(text).text,
        undo=UndoLog(places.undo),
        name=path.name,
        scope=scope,
        dry_run=dry_run,
        stop=track.stop,
        tell=track.tell,
    )


def _table(taken: tuple[Taken, ...]) -> Table:
    """What became of each part, and only the columns that have anything to say."""
    names = ("new", "changed", "known", "kept", "forgotten", "unusable")
    heads = {"changed": "newer", "kept": "stays as here", "forgotten": "forgotten here", "unusable": "not readable"}
    used = [name for name in names if any(getattr(one, name) for one in taken)]
    rows = tuple((one.what, *(f"{getattr(one, name):,}" for name in used)) for one in taken)
    return Table(columns=("what", *(heads.get(name, name) for name in used)), rows=rows)


def _rules(bundle: Bundle, scope: Scope | None) -> int:
    """How many of the preferences in it are rules or hard limits that hold."""
    part = bundle.memories.user.records if bundle.memories and scope != "project" else ()
    return sum(record.is_live and _is_rule(record) for record in part)


def _is_rule(record: MemoryRecord) -> bool:
    return record.type == "preference" and (
        record.explicit or (record.score is not None and record.score <= HARD_LIMIT)
    )


def _scope(given: Given) -> Scope | None:
    name = given.options.get("--scope")
    if name is None:
        return None
    if name.lower() not in SCOPES:
        raise UsageError(f"A bundle holds what is the project's and what is the user's: project or user, not {name!r}")
    return cast(Scope, name.lower())


def _data_of(path: Path) -> bytes:
    if not path.exists():
        raise UserError(f"There is no file {str(path)!r} to import; give the path of a bundle or an ltm.json")
    if not path.is_file():
        raise UserError(f"{str(path)!r} is no file; give the path of a bundle or an ltm.json")
    if path.stat().st_size > MAX_IMPORT_BYTES:
        large = size(path.stat().st_size)
        raise UserError(f"{str(path)!r} has {large}, which nothing clio exports has; is it another file?")
    try:
        return path.read_bytes()
    except OSError as error:
        raise UserError(f"{str(path)!r} cannot be read ({error.strerror}); nothing was imported") from error
