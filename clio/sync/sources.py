"""The stores that are synchronized: what they contain now as records, and changes of other machines written into them.

Everything that comes from the remote is data: values are checked as if the user had typed them, secrets and control
characters are removed, and settings, hooks, servers and trust are in no store. A change replaces a record only if
that is still as it was read; otherwise it waits for the next time.
"""

import json
import re
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from contextlib import suppress
from pathlib import Path
from typing import Any, Protocol, cast

import msgspec
from msgspec import Struct, structs

from clio.config.memory_seal import seal_memory
from clio.config.paths import FOLDER_NAME
from clio.errors import UserError
from clio.memory.store.change_log import LOG_NAME, ChangeLog, ScopeLogs, list_record_ids, new_change
from clio.memory.store.ltm_codec import (
    SHAPES,
    LtmDocument,
    get_handle,
    get_identity,
    get_main_text,
    is_ltm_object,
    make_handle,
    set_handle,
    to_number,
)
from clio.memory.store.ltm_store import LongTermMemory
from clio.memory.store.notes import Notes, make_note_change
from clio.memory.store.record import (
    MAX_CHARS,
    PROGRESS_KEY,
    REASONS_OF_VERSIONS,
    Kind,
    MemoryRecord,
    Redact,
    check_record,
    redact_json,
    redact_record,
    without_use,
)
from clio.memory.store.typed_store import TypedStore
from clio.memory.store.versions import capture_state, find_ends
from clio.memory.styles.style_state import Earned, StyleFile, StyleState
from clio.storage.files import make_folder, make_ignored_folder, read_regular, write_atomic
from clio.sync.records import MAX_STAMP, Json, Key, compute_digest

_CONTROLS = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u202a-\u202e\u2066-\u2069]")
_STYLE_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,63}")
_MAX_STYLE_BYTES = 64_000
_MAX_ID_CHARS = 200
_MAX_REWARDS = 1_000_000.0
_MAX_DIMENSIONS = 100
_MAX_NOTE_CHARS = 200_000


class Item(Struct, frozen=True, kw_only=True):
    """A record as a store has it now.

    Attributes:
        created: when it was made, in seconds since the epoch; 0.0 if unknown.
        changed: when it got its present text, in seconds since the epoch; 0.0 if that is `created`, or unknown.
        load: returns the value, if it is not kept in memory.
    """

    value: Any
    digest: str
    created: float = 0.0
    changed: float = 0.0
    load: Callable[[], Any] | None = None

    def get_value(self) -> Any:
        """Return the value."""
        return self.load() if self.load is not None else self.value


class Change(Struct, frozen=True, kw_only=True):
    """What another machine changed: from the item as it was read here, None if there was none, to a value or None."""

    key: Key
    before: Item | None
    value: Any


class Source(Protocol):
    """One store of one scope."""

    scope: str
    store: str

    def exists(self) -> bool:
        """Return whether its files exist. Without them nothing was deleted: they were lost, and are filled again."""
        ...

    def read(self) -> dict[Key, Item]:
        """Return all its records. Raises StorageError, OSError."""
        ...

    def find_ended(self, keys: Collection[Key], known: int) -> Collection[Key]:
        """Return which of these records, of so many known ones, were deleted rather than lost with a damaged file."""
        ...

    def has_ended(self, key: Key, since: float) -> bool | None:
        """Return whether the change log says that a record was deleted at this time or later; None without a log."""
        ...

    def write(self, changes: Sequence[Change]) -> set[Key]:
        """Carry out changes; return those left out: invalid ones, and those of a record that was changed meanwhile."""
        ...


def make_item(value: Any, created: float = 0.0, changed: float = 0.0) -> Item:
    """Return an item with the hash of its value."""
    return Item(value=value, digest=compute_digest(value), created=created, changed=changed)


def find_end(log: ChangeLog, id: str, since: float) -> bool:
    """Return whether a log says that a record was deleted at this time or later."""
    for one in log.read_changes():
        change, end = one.change, one.change.ended.get(id)
        is_deleted_note = change.store == "note" and change.key == id and bytes(change.after) in (b"", b"null")
        if change.at >= since and (is_deleted_note or (end is not None and end.because not in REASONS_OF_VERSIONS)):
            return True
    return False


def find_ended_keys(log: ChangeLog, store: str, keys: Collection[Key], known: int) -> Collection[Key]:
    """Return which missing records of project memory or of the notes were deleted: by a change, or by hand if few."""
    if not keys:
        return ()
    ended: set[str] = set()
    for logged in log.read_changes():
        change = logged.change
        if change.store != store:
            continue
        sides = (change.before, change.after)
        if store == "note":
            before, after = ({change.key} if bytes(side) not in (b"", b"null") else set[str]() for side in sides)
            left = before - after
        else:
            before, after = (set(list_record_ids(side)) for side in sides)
            ends = change.ended.items()
            left = {id for id, end in ends if end.because not in REASONS_OF_VERSIONS and not end.is_version} - after
        if logged.undone_at is not None:
            left, after = after - before, before
        ended = (ended - after - set(change.restored)) | left
    deleted = {key for key in keys if key.id in ended}
    by_hand = [key for key in keys if key not in deleted]
    return deleted.union(by_hand) if is_plausible_loss(len(by_hand), known) else deleted


def is_plausible_loss(gone: int, known: int) -> bool:
    """Return whether so many records may have been deleted by hand; a larger part is taken for a lost file."""
    return gone <= 3 or 2 * gone <= known


def _get_text(value: Any, name: str) -> str | None:
    """Return a text of a value; None if the value has none."""
    text = cast(Json, value).get(name) if isinstance(value, dict) else None
    return text if isinstance(text, str) else None


def _is_id(id: str) -> bool:
    """Return whether an id of another machine can be shown and typed; those of clio always can."""
    return 0 < len(id) <= _MAX_ID_CHARS and id.isprintable() and not any(map(str.isspace, id))


def make_cleaner(redact: Redact) -> Redact:
    """Return a function that removes secrets and characters that could control a terminal."""

    def clean(text: str) -> str:
        if not (text.isascii() and text.isprintable()):
            text = _CONTROLS.sub("", text.encode("utf-8", "replace").decode("utf-8"))
        return redact(text) if text else ""

    return clean


class TypedSource:
    """Facts, events, notes and preferences: `memories.json`. Uses are not synchronized, they differ by machine."""

    store = "memory"

    def __init__(self, scope: str, typed: TypedStore, log: ChangeLog, clean: Redact) -> None:
        self.scope = scope
        self._log = log
        self._typed = typed
        self._clean = clean

    def exists(self) -> bool:
        """See `Source`."""
        return self._typed.path.exists() or self._typed.path.with_suffix(".journal.jsonl").exists()

    def read(self) -> dict[Key, Item]:
        """See `Source`."""
        found = self._typed.records(superseded=True)
        return {Key(self.scope, self.store, record.id): self._item(record) for record in found}

    def find_ended(self, keys: Collection[Key], known: int) -> Collection[Key]:
        """See `Source`."""
        ended = self._typed.ended_ids() if keys else frozenset[str]()
        return {key for key in keys if key.id in ended}

    def has_ended(self, key: Key, since: float) -> bool:
        """See `Source`."""
        return find_end(self._log, key.id, since)

    def write(self, changes: Sequence[Change]) -> set[Key]:
        """See `Source`."""
        left: set[Key] = set()
        wanted: dict[str, tuple[str, MemoryRecord | None]] = {}
        for change in changes:
            digest = change.before.digest if change.before else ""
            try:
                wanted[change.key.id] = digest, self._decode(change)
            except (msgspec.ValidationError, UserError, ValueError):
                left.add(change.key)

        def is_unchanged(id: str, now: MemoryRecord | None) -> bool:
            return (self._item(now).digest if now else "") == wanted[id][0]

        done = self._typed.adopt({id: record for id, (_, record) in wanted.items()}, is_unchanged)
        return left | {change.key for change in changes if change.key.id not in done}

    def _item(self, record: MemoryRecord) -> Item:
        value = msgspec.to_builtins(without_use(redact_record(record, self._clean)))
        return make_item(value, record.created, record.since)

    def _decode(self, change: Change) -> MemoryRecord | None:
        if change.value is None:
            return None
        record = msgspec.convert(change.value, MemoryRecord)
        if record.id != change.key.id or not _is_id(record.id):
            raise ValueError("the id is not that of the key, or none that clio gives")
        return redact_record(check_record(record), self._clean)


class LtmSource:
    """The project memory in `ltm.json`, without what a team shares through the project's own repository."""

    store = "ltm"

    def __init__(self, scope: str, ltm: LongTermMemory, clean: Redact) -> None:
        self.scope = scope
        self._ltm = ltm
        self._clean = clean

    def exists(self) -> bool:
        """See `Source`."""
        return self._ltm.path.exists()

    def read(self) -> dict[Key, Item]:
        """See `Source`."""
        return {self._key(handle): self._item(*one) for handle, one in self._private(self._ltm.document()).items()}

    def find_ended(self, keys: Collection[Key], known: int) -> Collection[Key]:
        """See `Source`. A few may also have been deleted from the file by hand."""
        return find_ended_keys(self._ltm.log, self.store, keys, known)

    def has_ended(self, key: Key, since: float) -> bool:
        """See `Source`."""
        return find_end(self._ltm.log, key.id, since)

    def write(self, changes: Sequence[Change]) -> set[Key]:
        """See `Source`."""
        left: set[Key] = set()
        with self._ltm.changing() as (document, now):
            known = document.by_handle()
            private = self._private(document)
            before, after = list[Any](), list[Any]()
            for change in changes:
                handle = change.key.id
                kind, raw = private.get(handle, (None, None))
                digest = self._item(kind, raw).digest if kind and raw is not None else ""
                wanted = self._decode(change)
                if (
                    digest != (change.before.digest if change.before else "")
                    or (wanted is None and change.value is not None)
                    or (kind is None and handle in known)  # a memory that the team shares has this id
                    or (wanted is not None and kind is not None and wanted[0] != kind)
                ):
                    left.add(change.key)
                    continue
                if kind and raw is not None:
                    before.append(capture_state(document, kind, handle, raw))
                if wanted is None:
                    if kind and raw is not None:
                        del document.section(kind)[document.place(kind, raw)]
                    continue
                if kind and raw is not None:
                    raw.clear()
                    raw.update(wanted[1])
                    after.append(capture_state(document, kind, handle, raw))
                else:
                    document.section(wanted[0]).append(wanted[1])
                    document.private[id(wanted[1])] = wanted[1]
                    after.append(capture_state(document, wanted[0], handle, wanted[1]))
            if before or after:
                # Without a title /memory undo passes it over; earlier versions are found through the log.
                entry = new_change(
                    "ltm", "", at=now, before=before or None, after=after or None, ended=find_ends(before, after)
                )
                with self._ltm.log.write_ahead(entry):
                    self._ltm.put(document, now)
        return left

    def rename(self, others: Mapping[Key, Any]) -> int:
        """Give a new id to memories whose id another machine uses for another memory; return how many there were.

        Ids are short hashes, and two machines that have not met may choose one for two texts. A memory with another
        text may still be the same one: it was changed while a team shared it, and so was not synchronized.

        Args:
            others: the values that the remote has under these keys.
        """
        count = 0
        with self._ltm.changing() as (document, now):
            private, taken = self._private(document), set(document.by_handle()) | self._ltm.archive.handles()
            before, after = list[Any](), list[Any]()
            for key, value in others.items():
                kind, raw = private.get(key.id, (None, None))
                wanted = self._decode(Change(key=key, before=None, value=value))
                if kind is None or raw is None or wanted is None:
                    continue
                if wanted[0] == kind and _is_same_memory(kind, wanted[1], raw):
                    continue
                before.append(capture_state(document, kind, key.id, raw))
                handle = make_handle(kind, raw, taken)
                taken.add(handle)
                set_handle(raw, handle)
                after.append(capture_state(document, kind, handle, raw))
                count += 1
            if after:
                entry = new_change("ltm", "", at=now, before=before, after=after)
                with self._ltm.log.write_ahead(entry):
                    self._ltm.put(document, now)
        return count

    def _key(self, handle: str) -> Key:
        return Key(self.scope, self.store, handle)

    def _private(self, document: LtmDocument) -> dict[str, tuple[Kind, Json]]:
        shared = document.shared
        return {handle: one for handle, one in document.by_handle().items() if id(one[1]) not in shared}

    def _item(self, kind: Kind, raw: Json) -> Item:
        value = {"kind": kind, "entry": redact_json(raw, self._clean)}
        return make_item(value, to_number(raw.get("timestamp"), 0.0), to_number(raw.get("since"), 0.0))

    def _decode(self, change: Change) -> tuple[Kind, Json] | None:
        """Return kind and object of a value; None if it is not one that clio would store."""
        value = change.value
        if not isinstance(value, dict):
            return None
        kind, raw = cast(Json, value).get("kind"), cast(Json, value).get("entry")
        if kind not in SHAPES or not is_ltm_object(kind, raw) or not change.key.id.startswith(kind[0]):
            return None
        # With another one the memory would get an id made from its text, and count as deleted under this one.
        if not _is_id(change.key.id) or get_handle({"id": change.key.id}) != change.key.id:
            return None
        if len(get_main_text(kind, cast(Json, raw))) > MAX_CHARS:
            return None
        entry = cast(Json, redact_json(raw, self._clean))
        set_handle(entry, change.key.id)
        return kind, entry


def _is_same_memory(kind: Kind, one: Json, other: Json) -> bool:
    """Return whether two objects with the same id are versions of one memory.

    Their texts are equal, or one was changed since both were first stated, at the same moment.
    """
    if get_identity(kind, one) == get_identity(kind, other):
        return True
    stated_at = to_number(one.get("timestamp"), 0.0)
    is_changed = any(to_number(each.get("version"), 1.0) > 1.0 for each in (one, other))
    return is_changed and stated_at > 0.0 and stated_at == to_number(other.get("timestamp"), 0.0)


class NoteSource:
    """The keyed notes. `session_progress` is the state of one machine's work and stays there."""

    store = "note"

    def __init__(self, scope: str, folder: Path, logs: ScopeLogs, clean: Redact) -> None:
        self.scope = scope
        self._folder = folder
        self._notes = Notes(folder)
        self._logs = logs
        self._clean = clean

    def exists(self) -> bool:
        """See `Source`."""
        return self._folder.is_dir()

    def read(self) -> dict[Key, Item]:
        """See `Source`."""
        return {
            Key(self.scope, self.store, note.key): make_item({"content": self._clean(note.content)}, note.timestamp)
            for note in self._notes.newest_first()
            if note.key != PROGRESS_KEY and self._clean(note.key) == note.key
        }

    def find_ended(self, keys: Collection[Key], known: int) -> Collection[Key]:
        """See `Source`. A few files may also have been deleted by hand."""
        return find_ended_keys(self._logs.project, self.store, keys, known)

    def has_ended(self, key: Key, since: float) -> bool:
        """See `Source`."""
        return find_end(self._logs.project, key.id, since)

    def write(self, changes: Sequence[Change]) -> set[Key]:
        """See `Source`."""
        left: set[Key] = set()
        for change in changes:
            key = change.key.id
            text = _get_text(change.value, "content")
            known = self._notes.retrieve(key)
            digest = make_item({"content": self._clean(known.content)}).digest if known else ""
            is_valid = change.value is None or (text is not None and len(text) <= _MAX_NOTE_CHARS)
            if not is_valid or digest != (change.before.digest if change.before else "") or self._clean(key) != key:
                left.add(change.key)
                continue
            content = None if text is None else self._clean(text)
            try:
                entry = make_note_change(key, known, content, at=time.time())
                with self._logs.project.write_ahead(structs.replace(entry, what="")):
                    if content is None:
                        self._notes.delete(key)
                    else:
                        self._notes.store(key, content)
            except ValueError:
                left.add(change.key)
        return left


class StyleSource:
    """What was learned about response styles: `styles.json`. Whether styles are on, and which one, is a setting."""

    store = "style"

    def __init__(self, home: Path) -> None:
        self.scope = "user"
        self._file = StyleFile(home / "styles.json")

    def exists(self) -> bool:
        """See `Source`."""
        return self._file.path.exists()

    def read(self) -> dict[Key, Item]:
        """See `Source`."""
        return self._items(self._file.read())

    def find_ended(self, keys: Collection[Key], known: int) -> Collection[Key]:
        """See `Source`."""
        return keys

    def has_ended(self, key: Key, since: float) -> None:
        """See `Source`."""

    def write(self, changes: Sequence[Change]) -> set[Key]:
        """See `Source`."""
        left: set[Key] = set()

        def change_state(state: StyleState) -> StyleState:
            left.clear()
            known = self._items(state)
            contexts = {place: dict(arms) for place, arms in state.contexts.items()}
            vectors = dict(state.vectors)
            for change in changes:
                item = known.get(change.key)
                if (item.digest if item else "") != (change.before.digest if change.before else ""):
                    left.add(change.key)
                    continue
                try:
                    part, place, style = _split_style_id(change.key.id)
                    if part == "earned":
                        arms = contexts.setdefault(place, {})
                        if change.value is None:
                            arms.pop(style, None)
                        else:
                            arms[style] = _check_earned(msgspec.convert(change.value, Earned))
                    elif change.value is None:
                        vectors.pop(place, None)
                    else:
                        vectors[place] = _check_vector(msgspec.convert(change.value, tuple[float, ...]))
                except (ValueError, msgspec.ValidationError):
                    left.add(change.key)
            return structs.replace(
                state, contexts={place: arms for place, arms in contexts.items() if arms}, vectors=vectors
            )

        self._file.change(change_state)
        return left

    def _items(self, state: StyleState) -> dict[Key, Item]:
        found: dict[Key, Item] = {}
        for place, arms in state.contexts.items():
            for style, earned in arms.items():
                found[self._key("earned", place, style)] = make_item(msgspec.to_builtins(earned))
        for place, vector in state.vectors.items():
            found[self._key("vector", place, "")] = make_item(list(vector))
        return found

    def _key(self, *parts: str) -> Key:
        return Key(self.scope, self.store, json.dumps(parts))


def _check_earned(earned: Earned) -> Earned:
    """Return rewards that can be calculated with. Raises ValueError: a negative number ends the choice of a style."""
    counts = (earned.ups, earned.downs, earned.ratings)
    # Written this way, a comparison with a value that is no number is false.
    if not all(0.0 <= count <= _MAX_REWARDS for count in counts) or not 0.0 <= earned.confidence <= 1.0:
        raise ValueError("not rewards of a style")
    if not 0.0 <= earned.last <= MAX_STAMP:
        raise ValueError("not a time")
    return earned


def _check_vector(vector: tuple[float, ...]) -> tuple[float, ...]:
    # Another version may have another number of dimensions; a reader passes over such a vector.
    if len(vector) > _MAX_DIMENSIONS or not all(0.0 <= value <= 1.0 for value in vector):
        raise ValueError("not a vector of the user's taste")
    return vector


def _split_style_id(id: str) -> tuple[str, str, str]:
    """Return the parts of the id of a learned value. Raises ValueError."""
    parts = json.loads(id)
    if not isinstance(parts, list) or len(cast(list[Any], parts)) != 3 or parts[0] not in ("earned", "vector"):
        raise ValueError("not the id of a learned value")
    part, place, style = (str(one) for one in cast(list[Any], parts))
    if not all(len(one) <= _MAX_ID_CHARS and one.isprintable() for one in (place, style)):
        raise ValueError("not the id of a learned value")
    return part, place, style


class StyleFileSource:
    """The user's own styles: `styles/NAME.md`."""

    store = "style_file"

    def __init__(self, home: Path, clean: Redact) -> None:
        self.scope = "user"
        self._folder = home / "styles"
        self._clean = clean

    def exists(self) -> bool:
        """See `Source`."""
        return self._folder.is_dir()

    def read(self) -> dict[Key, Item]:
        """See `Source`."""
        names = [path.stem for path in sorted(self._folder.glob("*.md"))] if self._folder.is_dir() else []
        return {Key(self.scope, self.store, name): item for name in names if (item := self._item(name))}

    def find_ended(self, keys: Collection[Key], known: int) -> Collection[Key]:
        """See `Source`."""
        return keys if is_plausible_loss(len(keys), known) else ()

    def has_ended(self, key: Key, since: float) -> None:
        """See `Source`."""

    def write(self, changes: Sequence[Change]) -> set[Key]:
        """See `Source`."""
        left: set[Key] = set()
        for change in changes:
            name = change.key.id
            text = _get_text(change.value, "text")
            item = self._item(name)
            if (
                _STYLE_NAME.fullmatch(name) is None
                or (item.digest if item else "") != (change.before.digest if change.before else "")
                or (change.value is not None and (text is None or len(text) > _MAX_STYLE_BYTES))
            ):
                left.add(change.key)
                continue
            path = self._folder / f"{name}.md"
            if text is not None:
                make_folder(self._folder)
                write_atomic(path, self._clean(text).encode("utf-8"))
            else:
                path.unlink(missing_ok=True)
        return left

    def _item(self, name: str) -> Item | None:
        if _STYLE_NAME.fullmatch(name) is None:
            return None
        path = self._folder / f"{name}.md"
        with suppress(OSError, UnicodeDecodeError):
            if not path.is_symlink():
                text = read_regular(path, _MAX_STYLE_BYTES).decode("utf-8")
                return make_item({"text": self._clean(text)}, path.stat().st_mtime)
        return None


def open_user_sources(home: Path, clean: Redact, clock: Callable[[], float]) -> list[Source]:
    """Return the stores of the user."""
    log = ChangeLog(home / LOG_NAME, clock=clock)
    typed = TypedStore(home / "memories.json", "user", clock=clock, log=log)
    return [TypedSource("user", typed, log, clean), StyleSource(home), StyleFileSource(home, clean)]


def open_project_sources(
    project: Path, scope: str, home: Path, clean: Redact, clock: Callable[[], float]
) -> list[Source]:
    """Return the memory of a project."""
    folder = project / FOLDER_NAME

    def seal() -> None:
        make_ignored_folder(folder, folder)
        seal_memory(project, home)

    # Sealed before the first change, as in a conversation: what the user's other machines wrote is the user's own.
    logs = ScopeLogs(folder, home, clock=clock, before_change=seal)
    typed = TypedStore(folder / "memories.json", "project", clock=clock, log=logs.project)
    ltm = LongTermMemory(folder / "ltm.json", project=project, home=home, log=logs.project, clock=clock)
    return [
        LtmSource(scope, ltm, clean),
        TypedSource(scope, typed, logs.project, clean),
        NoteSource(scope, folder / "memory", logs, clean),
    ]


def group_by_source(changes: Iterable[Change]) -> Mapping[tuple[str, str], list[Change]]:
    """Return the changes by scope and store."""
    found: dict[tuple[str, str], list[Change]] = {}
    for change in changes:
        found.setdefault((change.key.scope, change.key.store), []).append(change)
    return found
