"""Taking a bundle in: each part is merged under the lock of its files, and all of it is one change to undo."""

import itertools
from collections.abc import Callable, Sequence

from clio.errors import UserError
from clio.memory.control.bundle import Bundle, MemoriesPart, RecordsPart
from clio.memory.control.places import Places
from clio.memory.control.take_memories import check_knowledge, take_knowledge, take_memories
from clio.memory.control.take_rest import take_feedback, take_notes, take_scenarios, take_styles
from clio.memory.control.taken import Taken
from clio.memory.control.texts import Clean
from clio.memory.memories import SCOPES
from clio.memory.records import Provenance
from clio.memory.typed.store import Scope
from clio.memory.undo import UndoLog
from clio.text.listeners import Tell, never, to_nobody


def take_in(
    places: Places,
    bundle: Bundle,
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    undo: UndoLog,
    name: str,
    scope: Scope | None = None,
    dry_run: bool = False,
    stop: Callable[[], bool] = never,
    tell: Tell = to_nobody,
) -> tuple[Taken, ...]:
    """Merge a bundle into what is here; what was done to each part that has anything in it.

    by: whom nobody in it is trusted more than. name: of the file, for the undo log. scope: only what is the project's,
    or the user's. dry_run: only count. What cannot be undone: archives, scenarios, styles and ratings, which only grow.
    stop: ends it; the parts taken in by then stay, and are one change all the same. tell: told of how many of the
    memories are merged, and of how many there are: nothing else takes long.
    Raises UserError where a part is not what it should be, before anything is changed, and where it was stopped;
    StorageError, OSError.
    """
    scopes: Sequence[Scope] = (scope,) if scope else SCOPES
    if bundle.knowledge:
        check_knowledge(bundle.knowledge)  # before the first change
    with undo.group(f"the import of {name}"):
        each = _each(bundle, scopes, stop, tell)
        found = _take(places, bundle, scopes, by=by, now=now, clean=clean, undo=undo, dry_run=dry_run, each=each)
    return tuple(taken for taken in found if _anything(taken))


def _take(
    places: Places,
    bundle: Bundle,
    scopes: Sequence[Scope],
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    undo: UndoLog,
    dry_run: bool,
    each: Callable[[], None],
) -> list[Taken]:
    found: list[Taken] = []
    if "project" in scopes:
        if bundle.knowledge:
            found += take_knowledge(places, bundle.knowledge, by=by, now=now, clean=clean, undo=undo, dry_run=dry_run)
        if bundle.notes:
            found.append(take_notes(places, bundle.notes, now=now, clean=clean, undo=undo, dry_run=dry_run))
        if bundle.feedback:
            found.append(take_feedback(places, bundle.feedback, clean=clean, dry_run=dry_run))
    if "user" in scopes and bundle.scenarios is not None:
        found.append(take_scenarios(places, bundle.scenarios, clean=clean, dry_run=dry_run))
    memories = bundle.memories or MemoriesPart()
    for scope in scopes:
        part = _part(memories, scope)
        if part == RecordsPart():
            continue
        found += take_memories(places, part, scope, by=by, now=now, clean=clean, undo=undo, dry_run=dry_run, each=each)
    if bundle.styles:
        found += take_styles(places, bundle.styles, scopes, now=now, clean=clean, dry_run=dry_run)
    return found


def _part(memories: MemoriesPart, scope: Scope) -> RecordsPart:
    return memories.project if scope == "project" else memories.user


def _each(bundle: Bundle, scopes: Sequence[Scope], stop: Callable[[], bool], tell: Tell) -> Callable[[], None]:
    """What is done at every memory: it is counted, and where somebody stops it, that is the last one."""
    memories = bundle.memories or MemoriesPart()
    total = sum(len(_part(memories, scope).records) for scope in scopes)
    numbers = itertools.count()

    def each() -> None:
        if stop():
            raise UserError("stopped; what was taken in by then stays, and the same import again adds the rest")
        tell(next(numbers), total)

    return each


def _anything(taken: Taken) -> bool:
    return any((taken.changes, taken.known, taken.kept, taken.forgotten, taken.unusable))
