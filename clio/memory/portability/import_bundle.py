"""A bundle taken in, section by section."""

import itertools
import re
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import msgspec
from msgspec import Raw, structs

from clio.config.yaml_file import parse_yaml
from clio.errors import ConfigError, UserError
from clio.memory.portability.export import (
    MAX_STYLE_BYTES,
    Bundle,
    FeedbackPart,
    MemoriesPart,
    RecordsPart,
    StylesPart,
    is_nothing,
)
from clio.memory.portability.import_records import Taken, check_knowledge, take_knowledge, take_memories
from clio.memory.portability.inventory import Places
from clio.memory.preferences.task_types import parse_task_types
from clio.memory.store.change_log import ScopeLogs
from clio.memory.store.memories import SCOPES
from clio.memory.store.notes import Notes, note_change
from clio.memory.store.record import Clean, Note, Provenance, clean_json, clean_note
from clio.memory.store.typed_store import Scope
from clio.memory.styles.feedback import Line, Trajectories
from clio.memory.styles.style_state import FORMAT, StyleState
from clio.storage.documents import load_document, update_document
from clio.storage.files import make_folder, make_ignored_folder, write_atomic
from clio.storage.jsonl import read_lines
from clio.text.json_data import decode_json
from clio.threads import ProgressCallback, ignore_progress, never_stop

HOW_THE_WORK_STANDS = "session_progress"
"""A page about the work on another machine, which is none of this one's."""
_FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_.-]{0,99}\.md")


def take_notes(
    places: Places, notes: Sequence[Note], *, now: float, clean: Clean, logs: ScopeLogs, dry_run: bool
) -> Taken:
    """Store notes whose key is free, or whose note here is older. Raises OSError."""
    taken = Taken(section="notes", scope="project", what="notes")
    for foreign in notes:
        note = structs.replace(clean_note(foreign, clean), timestamp=min(max(foreign.timestamp, 0.0), now))
        if note.key == HOW_THE_WORK_STANDS:
            continue
        here = Notes(places.notes, clock=lambda at=note.timestamp: at)
        old = here.retrieve(note.key)
        if old is not None and old.content == note.content:
            taken = taken.more(known=1)
        elif old is not None and old.timestamp >= note.timestamp:
            taken = taken.more(kept=1)
        else:
            try:
                if not dry_run:
                    with logs.project.making(note_change(note.key, old, note.content, at=now)):
                        here.store(note.key, note.content)
                taken = taken.more(changed=1) if old else taken.more(new=1)
            except ValueError:
                taken = taken.more(unusable=1)
    return taken


def take_scenarios(places: Places, text: str, *, clean: Clean, dry_run: bool) -> Taken:
    """Write `scenarios.yaml` where there is none; a person's own stays as it is. Raises OSError."""
    taken = Taken(section="scenarios", scope="user", what="scenarios.yaml")
    text = clean(text)
    if places.scenarios.exists():
        same = places.scenarios.read_text(encoding="utf-8", errors="replace") == text
        return taken.more(known=1) if same else taken.more(kept=1)
    try:
        parse_task_types(parse_yaml(text.encode("utf-8"), "scenarios"), "scenarios")
    except ConfigError:
        return taken.more(unusable=1)
    if not dry_run:
        make_folder(places.home)
        write_atomic(places.scenarios, text.encode("utf-8"))
    return taken.more(new=1)


def take_learned_styles(places: Places, learned: Raw, *, now: float, dry_run: bool) -> Taken:
    """What was learned of a style in a context where nothing is known here. Whether styles are on stays as it is."""
    taken = Taken(section="styles", scope="user", what="contexts of styles")
    if is_nothing(learned):
        return taken
    try:
        theirs = decode_json(learned, type=StyleState)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return taken.more(unusable=1)
    if dry_run:
        document = load_document(places.styles, FORMAT)
        return _count(taken, document.value if document else StyleState(), theirs)
    ours: list[StyleState] = []

    def merge(state: StyleState) -> StyleState:
        ours.append(state)
        new = _merged(state, theirs, now)
        return state if new == state else new

    update_document(places.styles, FORMAT, merge)
    return _count(taken, ours[0], theirs)


def take_style_files(places: Places, files: Mapping[str, str], owner: Scope, *, clean: Clean, dry_run: bool) -> Taken:
    """Write the style files whose names are free. Raises OSError."""
    taken = Taken(section="styles", scope=owner, what="style files")
    folder = places.own_styles(owner)
    for name, text in files.items():
        path, text = folder / name, clean(text)
        if not _FILE_NAME.fullmatch(name) or len(text) > MAX_STYLE_BYTES:
            taken = taken.more(unusable=1)
        elif path.exists() or path.is_symlink():
            same = path.is_file() and path.read_text(encoding="utf-8", errors="replace") == text
            taken = taken.more(known=1) if same else taken.more(kept=1)
        else:
            taken = taken.more(new=1)
            if not dry_run:
                make_ignored_folder(folder, folder.parent) if owner == "project" else make_folder(folder)
                write_atomic(path, text.encode("utf-8", "replace"))
    return taken


def take_feedback(places: Places, part: FeedbackPart, *, clean: Clean, dry_run: bool) -> Taken:
    """Add the turns and ratings that are not here. They taught the styles elsewhere, and teach nothing again."""
    taken = Taken(section="feedback", scope="project", what="rated turns and ratings")
    known = set(_lines(places.ratings)) | set(_lines(places.ratings_archive))
    new: dict[Line, None] = {}
    for raw in (*part.archive, *part.lines):
        line = _rating(msgspec.json.encode(clean_json(decode_json(raw), clean)))
        if line is None:
            taken = taken.more(unusable=1)
        elif line in known or line in new:
            taken = taken.more(known=1)
        else:
            new[line] = None
    if new and not dry_run:
        Trajectories(places.ratings).add(*new)
    return taken.more(new=len(new))


def take_styles(
    places: Places, part: StylesPart, scopes: Sequence[Scope], *, now: float, clean: Clean, dry_run: bool
) -> list[Taken]:
    """What was learned, and the style files of these scopes."""
    found: list[Taken] = []
    if "user" in scopes:
        found.append(take_learned_styles(places, part.learned, now=now, dry_run=dry_run))
        found.append(take_style_files(places, part.user, "user", clean=clean, dry_run=dry_run))
    if "project" in scopes:
        found.append(take_style_files(places, part.project, "project", clean=clean, dry_run=dry_run))
    return found


def _merged(ours: StyleState, theirs: StyleState, now: float) -> StyleState:
    contexts = dict(ours.contexts)
    for context, arms in theirs.contexts.items():
        sound = {id: structs.replace(arm, last=min(max(arm.last, 0.0), now)) for id, arm in arms.items()}
        contexts[context] = sound | contexts.get(context, {})
    uses = {id: structs.replace(use, last=min(max(use.last, 0.0), now)) for id, use in theirs.uses.items()}
    return structs.replace(ours, contexts=contexts, vectors=theirs.vectors | ours.vectors, uses=uses | ours.uses)


def _count(taken: Taken, ours: StyleState, theirs: StyleState) -> Taken:
    pairs = {(context, id) for context, arms in theirs.contexts.items() for id in arms}
    known = sum(id in ours.contexts.get(context, {}) for context, id in pairs)
    return taken.more(new=len(pairs) - known, known=known)


def _lines(path: Path) -> list[Line]:
    return [line for raw in read_lines(path).lines if (line := _rating(raw))]


def _rating(line: bytes) -> Line | None:
    try:
        return decode_json(line, type=Line)
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError):
        return None


def take_in(
    places: Places,
    bundle: Bundle,
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    logs: ScopeLogs,
    name: str,
    scope: Scope | None = None,
    dry_run: bool = False,
    stop: Callable[[], bool] = never_stop,
    tell: ProgressCallback = ignore_progress,
) -> tuple[Taken, ...]:
    """Merge a bundle into the existing data and return what was done to each part that is not empty.

    by: the most trusted author that an imported memory may have. name: of the bundle file, shown by undo. scope: import
    only the project's data, or only the user's. dry_run: only count. Archives, task types, styles and ratings cannot be
    undone, because they only grow. stop: asked whether to end; the parts imported by then stay and are one change.
    tell: called with the number of memories merged so far and in all.
    Raises UserError where a part is not what it should be, before anything is changed, and where it was stopped;
    StorageError, OSError.
    """
    scopes: Sequence[Scope] = (scope,) if scope else SCOPES
    if bundle.knowledge:
        check_knowledge(bundle.knowledge)  # before the first change
    with logs.group(f"the import of {name}"):
        each = _each(bundle, scopes, stop, tell)
        found = _take(places, bundle, scopes, by=by, now=now, clean=clean, logs=logs, dry_run=dry_run, each=each)
    return tuple(taken for taken in found if _anything(taken))


def _take(
    places: Places,
    bundle: Bundle,
    scopes: Sequence[Scope],
    *,
    by: Provenance,
    now: float,
    clean: Clean,
    logs: ScopeLogs,
    dry_run: bool,
    each: Callable[[], None],
) -> list[Taken]:
    found: list[Taken] = []
    if "project" in scopes:
        if bundle.knowledge:
            found += take_knowledge(places, bundle.knowledge, by=by, now=now, clean=clean, logs=logs, dry_run=dry_run)
        if bundle.notes:
            found.append(take_notes(places, bundle.notes, now=now, clean=clean, logs=logs, dry_run=dry_run))
        if bundle.feedback:
            found.append(take_feedback(places, bundle.feedback, clean=clean, dry_run=dry_run))
    if "user" in scopes and bundle.scenarios is not None:
        found.append(take_scenarios(places, bundle.scenarios, clean=clean, dry_run=dry_run))
    memories = bundle.memories or MemoriesPart()
    for scope in scopes:
        part = _part(memories, scope)
        if part == RecordsPart():
            continue
        found += take_memories(places, part, scope, by=by, now=now, clean=clean, logs=logs, dry_run=dry_run, each=each)
    if bundle.styles:
        found += take_styles(places, bundle.styles, scopes, now=now, clean=clean, dry_run=dry_run)
    return found


def _part(memories: MemoriesPart, scope: Scope) -> RecordsPart:
    return memories.project if scope == "project" else memories.user


def _each(
    bundle: Bundle, scopes: Sequence[Scope], stop: Callable[[], bool], tell: ProgressCallback
) -> Callable[[], None]:
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
